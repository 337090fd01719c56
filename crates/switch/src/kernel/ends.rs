//! The ends of connections: a copy of each FIN and RST of a client that comes to this host (packet(7)).
//!
//! They are copied, not asked about: the packet goes on at once, and the copy waits in a socket that wakes no process. Each
//! decision begins with a look there, so it knows the ends that came before it. Asking would cost each connection a second
//! time what its first packet costs: a process that is woken, most often on a processor that sleeps. The price: a filter that
//! sees every packet of IPv4 that comes in, and copies that are lost where some hundreds wait; the kernel's list of connections,
//! with which the books are compared, knows these ends too.

use std::io;
use std::os::fd::AsRawFd;

use nix::libc::ETH_P_IP;
use nix::sys::socket::{MsgFlags, recv};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use super::super::packet::Packet;

/// Bytes of the socket's buffer; the system may allow less.
const BUFFER: usize = 4 << 20;

/// Bytes of a packet that are copied: the largest head of IP, and that of TCP.
const HEAD: usize = 80;

/// Most that are taken at a time.
const AT_ONCE: usize = 4_096;

/// Those that have come.
pub(crate) struct Ends(Socket);

impl Ends {
    /// Copies what comes to this port from now on.
    pub(crate) fn open(port: u16) -> io::Result<Ends> {
        let protocol = Protocol::from(i32::from((ETH_P_IP as u16).to_be()));
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(protocol))?;
        socket.set_nonblocking(true)?;
        socket.attach_filter(&filter(port))?;
        socket.set_recv_buffer_size(BUFFER)?;
        Ok(Ends(socket))
    }

    /// Gives each that has come since it was last called to `heard`; before the filter was there other packets came as well.
    pub(crate) fn take(&mut self, mut heard: impl FnMut(Packet)) {
        let mut head = [0; HEAD];
        for _ in 0..AT_ONCE {
            let Ok(bytes) = recv(self.0.as_raw_fd(), &mut head, MsgFlags::empty()) else { return };
            Packet::read(&head[..bytes]).into_iter().for_each(&mut heard);
        }
    }
}

/// A program of the kernel's packet filter: whole packets of TCP to this port that have FIN or RST.
fn filter(port: u16) -> [SockFilter; 11] {
    const LOAD_BYTE: u16 = 0x30;
    const LOAD_WORD: u16 = 0x28;
    const INDEX_BY_HEAD: u16 = 0xb1;
    const LOAD_BYTE_BY_INDEX: u16 = 0x50;
    const LOAD_WORD_BY_INDEX: u16 = 0x48;
    const IF_EQUAL: u16 = 0x15;
    const IF_ANY_BIT: u16 = 0x45;
    const RETURN: u16 = 0x06;
    const PROTOCOL: u32 = 9;
    const TCP: u32 = 6;
    const FRAGMENT: u32 = 6;
    const IS_FRAGMENT: u32 = 0x3fff;
    const TO: u32 = 2;
    const FLAGS: u32 = 13;
    const FIN_OR_RST: u32 = 5;
    // After a test come the numbers of lines to pass over: if it holds, and if not.
    [
        SockFilter::new(LOAD_BYTE, 0, 0, PROTOCOL),
        SockFilter::new(IF_EQUAL, 0, 8, TCP),
        SockFilter::new(LOAD_WORD, 0, 0, FRAGMENT),
        SockFilter::new(IF_ANY_BIT, 6, 0, IS_FRAGMENT),
        SockFilter::new(INDEX_BY_HEAD, 0, 0, 0),
        SockFilter::new(LOAD_BYTE_BY_INDEX, 0, 0, FLAGS),
        SockFilter::new(IF_ANY_BIT, 0, 3, FIN_OR_RST),
        SockFilter::new(LOAD_WORD_BY_INDEX, 0, 0, TO),
        SockFilter::new(IF_EQUAL, 0, 1, u32::from(port)),
        SockFilter::new(RETURN, 0, 0, HEAD as u32),
        SockFilter::new(RETURN, 0, 0, 0),
    ]
}

#[cfg(test)]
impl Ends {
    /// Those among the datagrams that are sent to the socket beside: the kernel's filter sees each as a packet.
    pub(crate) fn of_datagrams(port: u16) -> (Ends, Socket) {
        let (ends, sender) = Socket::pair(Domain::UNIX, Type::DGRAM, None).expect("a pair of sockets");
        ends.attach_filter(&filter(port)).expect("a filter");
        ends.set_nonblocking(true).expect("it can be");
        (Ends(ends), sender)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::packet::{Kind, Packet};
    use super::*;

    const FIN: u8 = 1;
    const SYN: u8 = 2;
    const RST: u8 = 4;
    const PUSH: u8 = 8;
    const ACK: u8 = 16;

    /// A packet to this port with so many bytes of options of IP, and a thousand bytes of data.
    fn packet(protocol: u8, options: usize, fragment: u16, to: u16, flags: u8) -> Vec<u8> {
        let mut packet = vec![0; 20 + options];
        (packet[0], packet[9]) = (0x45 + (options / 4) as u8, protocol);
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 1, 100]);
        packet.extend(5000_u16.to_be_bytes());
        packet.extend(to.to_be_bytes());
        packet.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        packet.extend([0; 1000]);
        packet
    }

    /// What is heard of packets.
    fn heard(packets: &[Vec<u8>]) -> Vec<Packet> {
        let (mut ends, sender) = Ends::of_datagrams(80);
        let mut heard = Vec::new();
        for packet in packets {
            // Whether the filter throws it away is not said.
            sender.send(packet).expect("it is sent");
            ends.take(|end| heard.push(end));
        }
        heard
    }

    #[test]
    fn ends_of_whole_packets_to_the_port_are_heard_and_nothing_else() {
        const TCP: u8 = 6;
        const UDP: u8 = 17;
        let of = |flags| packet(TCP, 0, 0, 80, flags);
        for flags in [FIN, RST, FIN | ACK, RST | ACK, FIN | PUSH | ACK] {
            let ended = heard(&[of(flags)]);
            assert_eq!(ended.len(), 1, "{flags:#x}");
            assert_eq!((ended[0].client, ended[0].kind), ("10.0.0.1:5000".parse().unwrap(), Kind::Closes));
        }
        assert_eq!(heard(&[packet(TCP, 40, 0, 80, FIN)]).len(), 1, "behind the most options that there can be");
        const DO_NOT_CUT: u16 = 0x4000;
        assert_eq!(heard(&[packet(TCP, 0, DO_NOT_CUT, 80, FIN)]).len(), 1, "as every kernel sends them");
        const MORE: u16 = 0x2000;
        let others = [
            of(SYN),
            of(ACK),
            of(PUSH | ACK),
            packet(TCP, 0, 0, 81, FIN),
            packet(UDP, 0, 0, 80, FIN),
            packet(TCP, 0, MORE, 80, FIN),
            packet(TCP, 0, 100, 80, FIN),
        ];
        assert_eq!(heard(&others), []);
    }

    #[test]
    fn heads_are_copied_and_many_are_taken_at_once() {
        let (mut ends, sender) = Ends::of_datagrams(80);
        sender.send(&packet(6, 0, 0, 80, FIN)).expect("it is sent");
        let mut copied = [0; 2000];
        assert_eq!(recv(ends.0.as_raw_fd(), &mut copied, MsgFlags::empty()), Ok(HEAD));
        for _ in 0..5 {
            sender.send(&packet(6, 0, 0, 80, RST)).expect("it is sent");
        }
        let mut heard = 0;
        ends.take(|_| heard += 1);
        assert_eq!(heard, 5);
    }
}
