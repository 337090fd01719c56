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
pub(in crate::switch) struct Ends(Socket);

impl Ends {
    /// Copies what comes to this port from now on.
    pub(in crate::switch) fn open(port: u16) -> io::Result<Ends> {
        let protocol = Protocol::from(i32::from((ETH_P_IP as u16).to_be()));
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(protocol))?;
        socket.set_nonblocking(true)?;
        socket.attach_filter(&filter(port))?;
        socket.set_recv_buffer_size(BUFFER)?;
        Ok(Ends(socket))
    }

    /// Gives each that has come since it was last called to `heard`; before the filter was there other packets came as well.
    pub(in crate::switch) fn take(&mut self, mut heard: impl FnMut(Packet)) {
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
