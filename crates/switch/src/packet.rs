//! What a switch reads of a packet: whose connection it belongs to, and whether it opens or ends it (RFC 791, 792, 9293).
//!
//! Everything here comes from outside: lengths are checked, options are passed over, and what is cut off is none.

use std::net::{Ipv4Addr, SocketAddrV4};

/// A packet of a client to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// Its connection, by the client's address and port.
    pub(super) client: SocketAddrV4,
    /// The service that the client asked.
    pub(super) service: Ipv4Addr,
    pub(super) kind: Kind,
}

/// What it is to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The first: SYN without ACK.
    Opens,
    /// One of the last: FIN or RST.
    Closes,
    /// Any other.
    Within,
    /// A router's complaint about a packet that the server sent: the way to the client takes smaller ones, for example.
    Complains,
}

const ICMP: u8 = 1;
const TCP: u8 = 6;

/// Bytes of an ICMP message before the packet that it is about.
const COMPLAINT: usize = 8;

impl Packet {
    /// Reads the head of an IPv4 packet; none where it is not one of those above.
    pub(super) fn read(head: &[u8]) -> Option<Packet> {
        let (protocol, source, service, body) = network(head)?;
        match protocol {
            TCP => {
                let flags = *body.get(13)?;
                let (fin, syn, rst, ack) = (flags & 1, flags & 2, flags & 4, flags & 16);
                let kind = match () {
                    () if fin | rst != 0 => Kind::Closes,
                    () if syn != 0 && ack == 0 => Kind::Opens,
                    () => Kind::Within,
                };
                Some(Packet { client: SocketAddrV4::new(source, port(body, 0)?), service, kind })
            }
            ICMP => {
                // What it is about went from the server to the client.
                let (protocol, service, client, body) = network(body.get(COMPLAINT..)?)?;
                let client = SocketAddrV4::new(client, port(body, 2)?);
                (protocol == TCP).then_some(Packet { client, service, kind: Kind::Complains })
            }
            _ => None,
        }
    }
}

/// The destination of a packet of TCP, or of a complaint about one.
pub(super) fn destination(packet: &[u8]) -> Option<Ipv4Addr> {
    let (protocol, _, destination, _) = network(packet)?;
    (protocol == TCP || protocol == ICMP).then_some(destination)
}

/// The protocol, source, destination and body of an IPv4 packet, or of the part of it that is there.
fn network(packet: &[u8]) -> Option<(u8, Ipv4Addr, Ipv4Addr, &[u8])> {
    let first = *packet.first()?;
    let head_bytes = usize::from(first & 15) * 4;
    if first >> 4 != 4 || head_bytes < 20 {
        return None;
    }
    let address = |at: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(at..at + 4)?).expect("four bytes")));
    Some((*packet.get(9)?, address(12)?, address(16)?, packet.get(head_bytes..)?))
}

fn port(body: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(body.get(at..at + 2)?.try_into().expect("two bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP packet from 10.0.0.1:4660 with these flags, with so many words of IP options.
    fn tcp(flags: u8, options: u8) -> Vec<u8> {
        let mut packet = vec![0; 20 + usize::from(options) * 4 + 20];
        packet[0] = 0x45 + options;
        packet[9] = TCP;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 1, 100]);
        let body = 20 + usize::from(options) * 4;
        packet[body..body + 4].copy_from_slice(&[0x12, 0x34, 0, 80]);
        packet[body + 13] = flags;
        packet
    }

    #[test]
    fn a_packet_is_of_its_connection_whatever_its_options() {
        let client = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 0x1234);
        let service = Ipv4Addr::new(10, 0, 1, 100);
        let kinds = [(2, Kind::Opens), (18, Kind::Within), (16, Kind::Within), (17, Kind::Closes), (4, Kind::Closes)];
        for (flags, kind) in kinds {
            for options in [0, 1, 10] {
                assert_eq!(
                    Packet::read(&tcp(flags, options)),
                    Some(Packet { client, service, kind }),
                    "{flags} {options}"
                );
            }
        }
        // SYN and FIN at once opens nothing.
        assert_eq!(Packet::read(&tcp(3, 0)).map(|packet| packet.kind), Some(Kind::Closes));
    }

    #[test]
    fn a_complaint_is_of_the_connection_that_it_is_about() {
        let mut about = tcp(16, 1);
        about[12..20].copy_from_slice(&[10, 0, 1, 100, 10, 0, 0, 1]);
        about[24..28].copy_from_slice(&[0, 80, 0x12, 0x34]);
        let mut complaint = tcp(0, 0)[..20].to_vec();
        complaint[9] = ICMP;
        complaint.extend([3, 4, 0, 0, 0, 0, 5, 220]);
        // A router need not repeat more than eight bytes of what it dropped.
        complaint.extend(&about[..32]);
        let client = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 0x1234);
        let service = Ipv4Addr::new(10, 0, 1, 100);
        assert_eq!(Packet::read(&complaint), Some(Packet { client, service, kind: Kind::Complains }));
    }

    #[test]
    fn what_is_cut_off_or_is_something_else_is_none() {
        let whole = tcp(2, 2);
        for bytes in 0..28 + 14 {
            assert_eq!(Packet::read(&whole[..bytes]), None, "{bytes} bytes");
        }
        let mut short = whole.clone();
        short[0] = 0x44;
        assert_eq!(Packet::read(&short), None, "a head of 16 bytes");
        let mut six = whole.clone();
        six[0] = 0x65;
        assert_eq!(Packet::read(&six), None, "another version");
        let mut udp = whole;
        udp[9] = 17;
        assert_eq!(Packet::read(&udp), None, "UDP");
    }
}
