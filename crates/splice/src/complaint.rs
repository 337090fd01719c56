//! What a router says of a packet that a server sent: that the way to the client takes smaller ones, for example (RFC 792,
//! 1191). It names the packet by the addresses and numbers that the client knows; the server knows others.

use std::net::{Ipv4Addr, SocketAddrV4};

use crate::segment::checksum;

const ICMP: u8 = 1;
const TCP: u8 = 6;

/// Bytes of a header of IP without options, and of ICMP.
const IP_HEAD: usize = 20;
const ICMP_HEAD: usize = 8;

/// Bytes that a router repeats at least of what the packet carried: the ports and the sequence number.
const REPEATED: usize = 8;

/// A router's complaint about a packet from the service to a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Complaint<'a> {
    packet: &'a [u8],
    /// Where the packet begins that it is about, and what that carried.
    about: usize,
    carried: usize,
}

impl<'a> Complaint<'a> {
    /// Reads a packet; none where it is no complaint about the service's.
    pub(crate) fn read(packet: &'a [u8], service: SocketAddrV4) -> Option<Complaint<'a>> {
        const ABOUT_PACKETS: [u8; 3] = [3, 11, 12];
        let head = head(packet, 0, ICMP)?;
        let about = head + ICMP_HEAD;
        let carried = self::head(packet, about, TCP)?;
        let complaint = Complaint { packet, about, carried };
        let is_whole = packet.len() >= carried + REPEATED && ABOUT_PACKETS.contains(packet.get(head)?);
        (is_whole && complaint.end(12, 0) == service).then_some(complaint)
    }

    /// Whose packet it is about.
    pub(crate) fn client(&self) -> SocketAddrV4 {
        self.end(16, 2)
    }

    /// The same for the server at `to`, which sends as `own` and has numbers that are `seq` above those of the client.
    pub(crate) fn for_server(&self, to: SocketAddrV4, own: SocketAddrV4, seq: u32) -> Vec<u8> {
        let mut packet = self.packet.to_vec();
        packet[16..20].copy_from_slice(&to.ip().octets());
        packet[self.about + 12..][..4].copy_from_slice(&own.ip().octets());
        packet[self.carried..][..2].copy_from_slice(&own.port().to_be_bytes());
        let place = self.carried + 4;
        let number = u32::from_be_bytes(packet[place..place + 4].try_into().expect("four bytes"));
        packet[place..place + 4].copy_from_slice(&number.wrapping_add(seq).to_be_bytes());
        settle(&mut packet[self.about..self.carried], 10);
        settle(&mut packet[self.about - ICMP_HEAD..], 2);
        packet
    }

    fn end(&self, address: usize, port: usize) -> SocketAddrV4 {
        let address: [u8; 4] = self.packet[self.about + address..][..4].try_into().expect("four bytes");
        let port = &self.packet[self.carried + port..][..2];
        SocketAddrV4::new(Ipv4Addr::from(address), u16::from_be_bytes([port[0], port[1]]))
    }
}

/// Where the header of IP ends that begins there, if what it carries is of this protocol.
fn head(packet: &[u8], at: usize, protocol: u8) -> Option<usize> {
    let first = *packet.get(at)?;
    let bytes = usize::from(first & 15) * 4;
    (first >> 4 == 4 && bytes >= IP_HEAD && *packet.get(at + 9)? == protocol).then_some(at + bytes)
}

/// Sets the checksum that is there.
fn settle(bytes: &mut [u8], at: usize) {
    bytes[at..at + 2].fill(0);
    let sum = checksum(bytes);
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{ACK, Draft};

    fn end(last: u8, port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, last), port)
    }

    fn complaint(from: SocketAddrV4, seq: u32) -> Vec<u8> {
        let (to, payload) = (end(1, 4000), &b"reply"[..]);
        let about = Draft { from, to, seq, ack: 9, flags: ACK, window: 1, options: &[], payload };
        let mut about = about.packet();
        settle(&mut about[..IP_HEAD], 10);
        let mut packet = vec![0x45, 0, 0, 56, 0, 0, 0, 0, 60, ICMP, 0, 0, 10, 0, 0, 9, 10, 0, 1, 100];
        packet.extend([3, 4, 0, 0, 0, 0, 5, 120]);
        packet.extend(&about[..IP_HEAD + REPEATED]);
        settle(&mut packet[IP_HEAD..], 2);
        packet
    }

    #[test]
    fn a_complaint_reaches_the_server_in_its_own_numbers() {
        let service = end(100, 80);
        let packet = complaint(service, 1_000);
        let read = Complaint::read(&packet, service).expect("a complaint");
        assert_eq!(read.client(), end(1, 4000));
        let told = read.for_server(end(11, 80), end(11, 80), u32::MAX);
        let mut expected = complaint(end(11, 80), 999);
        expected[16..20].copy_from_slice(&[10, 0, 1, 11]);
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_cut_off_or_about_something_else_is_none() {
        let service = end(100, 80);
        let packet = complaint(service, 1_000);
        for bytes in 0..packet.len() {
            assert!(Complaint::read(&packet[..bytes], service).is_none(), "{bytes}");
        }
        assert!(Complaint::read(&complaint(end(101, 80), 1), service).is_none(), "of another host");
        let mut echo = packet;
        echo[IP_HEAD] = 8;
        assert!(Complaint::read(&echo, service).is_none(), "an echo");
    }
}
