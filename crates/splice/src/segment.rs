//! A segment of TCP in a packet of IPv4: read, made, and changed on its way (RFC 791, 2018, 7323, 9293).
//!
//! What is changed on its way keeps its checksum by differences (RFC 1624): what was damaged before stays damaged, and its
//! receiver drops it. The sum of the IP header is the kernel's work, which computes it for each packet that is sent.

use std::net::{Ipv4Addr, SocketAddrV4};

/// Flag: its sender sends nothing more.
pub const FIN: u8 = 1;
/// Flag: it opens a connection.
pub const SYN: u8 = 2;
/// Flag: the connection is reset.
pub const RST: u8 = 4;
pub(crate) const PSH: u8 = 8;
/// Flag: the acknowledgement number counts.
pub const ACK: u8 = 16;

const TCP: u8 = 6;

/// Bytes of a header of IP, and of TCP, without options.
const IP_HEAD: usize = 20;
const TCP_HEAD: usize = 20;

/// Options of TCP, by kind.
pub(crate) const MSS: u8 = 2;
pub(crate) const SCALE: u8 = 3;
pub(crate) const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
/// For experiments; the two bytes that follow its length say which (RFC 6994).
pub const EXPERIMENT: u8 = 253;

/// A segment that came.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// The whole packet, without what the link layer put behind it.
    packet: &'a [u8],
    /// Where the header of TCP begins.
    tcp: usize,
    /// Where its data begin.
    data: usize,
}

/// What becomes of a segment on its way; what is none stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    /// Its new sender.
    pub from: Option<SocketAddrV4>,
    /// Its new receiver.
    pub to: Option<SocketAddrV4>,
    /// Added to the sequence number.
    pub seq: u32,
    /// Added to the acknowledgement number, and to the blocks of SACK.
    pub ack: u32,
    /// Its new window, as it stands in the header.
    pub window: Option<u16>,
}

/// A segment to be made.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// Its sender.
    pub from: SocketAddrV4,
    /// Its receiver.
    pub to: SocketAddrV4,
    /// The sequence number.
    pub seq: u32,
    /// The acknowledgement number.
    pub ack: u32,
    /// The flags, one bit each.
    pub flags: u8,
    /// The window, as it stands in the header.
    pub window: u16,
    /// Whole words.
    pub options: &'a [u8],
    /// Its data.
    pub payload: &'a [u8],
}

impl<'a> Segment<'a> {
    /// Reads a whole packet; none where it is none of TCP, is a fragment, or is cut off.
    pub fn read(packet: &'a [u8]) -> Option<Segment<'a>> {
        let tcp = usize::from(packet.first()? & 15) * 4;
        let is_ip = packet[0] >> 4 == 4 && tcp >= IP_HEAD && *packet.get(9)? == TCP;
        let bytes = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
        let is_whole = packet[6] & 0x3f == 0 && packet[7] == 0;
        let packet = packet.get(..bytes).filter(|_| is_ip && is_whole)?;
        let words = packet.get(tcp + 12)? >> 4;
        let data = tcp + usize::from(words) * 4;
        (data >= tcp + TCP_HEAD && data <= packet.len()).then_some(Segment { packet, tcp, data })
    }

    /// Its sender.
    pub fn from(&self) -> SocketAddrV4 {
        self.end(12, 0)
    }

    /// Its receiver.
    pub fn to(&self) -> SocketAddrV4 {
        self.end(16, 2)
    }

    /// The sequence number.
    pub fn seq(&self) -> u32 {
        self.number(4)
    }

    /// The acknowledgement number.
    pub fn ack(&self) -> u32 {
        self.number(8)
    }

    /// The flags, one bit each.
    pub fn flags(&self) -> u8 {
        self.packet[self.tcp + 13]
    }

    /// Whether all of these flags are set, and none of those.
    pub fn is(&self, set: u8, unset: u8) -> bool {
        self.flags() & (set | unset) == set
    }

    /// The window, as it stands in the header.
    pub fn window(&self) -> u16 {
        u16::from_be_bytes([self.packet[self.tcp + 14], self.packet[self.tcp + 15]])
    }

    /// Its data.
    pub fn payload(&self) -> &'a [u8] {
        &self.packet[self.data..]
    }

    /// How many sequence numbers it takes.
    pub fn span(&self) -> u32 {
        let flag = |flag| u32::from(self.flags() & flag != 0);
        self.payload().len() as u32 + flag(SYN) + flag(FIN)
    }

    /// The value of the first option of this kind.
    pub fn option(&self, kind: u8) -> Option<&'a [u8]> {
        self.options().find(|(known, ..)| *known == kind).map(|(_, at, bytes)| &self.packet[at..at + bytes])
    }

    /// Whether its checksum is right.
    pub fn is_sound(&self) -> bool {
        sum_of_tcp(self.packet, self.tcp) == 0xffff
    }

    /// The packet, changed.
    pub fn changed(&self, change: &Change) -> Vec<u8> {
        let mut packet = Patched { bytes: self.packet.to_vec(), tcp: self.tcp };
        for (end, address, port) in [(change.from, 12, 0), (change.to, 16, 2)] {
            if let Some(end) = end {
                packet.replace(address, &end.ip().octets());
                packet.replace(self.tcp + port, &end.port().to_be_bytes());
            }
        }
        packet.replace(self.tcp + 4, &self.seq().wrapping_add(change.seq).to_be_bytes());
        if self.flags() & ACK != 0 {
            packet.replace(self.tcp + 8, &self.ack().wrapping_add(change.ack).to_be_bytes());
        }
        if let Some(window) = change.window {
            packet.replace(self.tcp + 14, &window.to_be_bytes());
        }
        if let Some((_, at, bytes)) = self.options().find(|(kind, ..)| *kind == SACK) {
            for edge in (at..at + bytes - bytes % 4).step_by(4) {
                let number = u32::from_be_bytes(self.packet[edge..edge + 4].try_into().expect("four bytes"));
                packet.replace(edge, &number.wrapping_add(change.ack).to_be_bytes());
            }
        }
        packet.bytes
    }

    /// Options by kind, with where their values are and how long; what is cut off ends them.
    fn options(&self) -> impl Iterator<Item = (u8, usize, usize)> + use<'_, 'a> {
        let mut at = self.tcp + TCP_HEAD;
        std::iter::from_fn(move || {
            const END: u8 = 0;
            const NOTHING: u8 = 1;
            while at < self.data && self.packet[at] == NOTHING {
                at += 1;
            }
            let kind = *self.packet[..self.data].get(at).filter(|kind| **kind != END)?;
            let bytes = usize::from(*self.packet[..self.data].get(at + 1)?);
            let value = at + 2;
            at += bytes;
            (bytes >= 2 && at <= self.data).then_some((kind, value, bytes.saturating_sub(2)))
        })
    }

    fn end(&self, address: usize, port: usize) -> SocketAddrV4 {
        let address: [u8; 4] = self.packet[address..address + 4].try_into().expect("four bytes");
        let port = &self.packet[self.tcp + port..][..2];
        SocketAddrV4::new(Ipv4Addr::from(address), u16::from_be_bytes([port[0], port[1]]))
    }

    fn number(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.packet[self.tcp + at..][..4].try_into().expect("four bytes"))
    }
}

impl Draft<'_> {
    /// The packet.
    pub fn packet(&self) -> Vec<u8> {
        const DO_NOT_FRAGMENT: u8 = 0x40;
        const HOPS: u8 = 64;
        assert!(self.options.len().is_multiple_of(4) && self.options.len() <= 40, "{} bytes", self.options.len());
        let bytes = IP_HEAD + TCP_HEAD + self.options.len() + self.payload.len();
        let mut packet = Vec::with_capacity(bytes);
        packet.extend([0x45, 0]);
        packet.extend((bytes as u16).to_be_bytes());
        packet.extend([0, 0, DO_NOT_FRAGMENT, 0, HOPS, TCP, 0, 0]);
        packet.extend(self.from.ip().octets());
        packet.extend(self.to.ip().octets());
        packet.extend(self.from.port().to_be_bytes());
        packet.extend(self.to.port().to_be_bytes());
        packet.extend(self.seq.to_be_bytes());
        packet.extend(self.ack.to_be_bytes());
        packet.extend([((TCP_HEAD + self.options.len()) * 4) as u8, self.flags]);
        packet.extend(self.window.to_be_bytes());
        packet.extend([0; 4]);
        packet.extend(self.options);
        packet.extend(self.payload);
        let sum = !sum_of_tcp(&packet, IP_HEAD);
        packet[IP_HEAD + 16..][..2].copy_from_slice(&sum.to_be_bytes());
        packet
    }
}

/// A packet whose checksum follows what is replaced.
struct Patched {
    bytes: Vec<u8>,
    tcp: usize,
}

impl Patched {
    fn replace(&mut self, at: usize, new: &[u8]) {
        // Sums are of words: the ones that are touched. Headers are whole words, so a place is odd here if it is there.
        let words = at & !1..((at + new.len() + 1) & !1).min(self.bytes.len());
        let before = sum(&self.bytes[words.clone()]);
        self.bytes[at..at + new.len()].copy_from_slice(new);
        let after = sum(&self.bytes[words]);
        let place = self.tcp + 16;
        let known = !u16::from_be_bytes([self.bytes[place], self.bytes[place + 1]]);
        let now = !folded(u32::from(known) + u32::from(!folded(before)) + u32::from(folded(after)));
        self.bytes[place..place + 2].copy_from_slice(&now.to_be_bytes());
    }
}

/// The checksum of these bytes (RFC 1071).
pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    !folded(sum(bytes))
}

/// The sum of a segment with its checksum: all ones where that is right.
fn sum_of_tcp(packet: &[u8], tcp: usize) -> u16 {
    let segment = &packet[tcp..];
    folded(sum(&packet[12..20]) + u32::from(TCP) + segment.len() as u32 + sum(segment))
}

fn sum(bytes: &[u8]) -> u32 {
    let pairs = bytes.chunks_exact(2);
    let last = pairs.remainder().first().map_or(0, |byte| u32::from(*byte) << 8);
    pairs.map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>() + last
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(last: u8, port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, last), port)
    }

    /// SACK blocks at an odd place: one that does nothing, then the option.
    const OPTIONS: [u8; 12] = [1, 5, 10, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0x10, 0, 0];

    fn draft(payload: &[u8]) -> Draft<'_> {
        let (from, to) = (end(1, 4000), end(2, 80));
        Draft { from, to, seq: 7, ack: 0xffff_fff0, flags: ACK | PSH, window: 900, options: &OPTIONS, payload }
    }

    #[test]
    fn a_change_is_what_would_have_been_made_anew() {
        for payload in [&b"GET / HTTP/1.1"[..], b"odd", b""] {
            let made = draft(payload).packet();
            let segment = Segment::read(&made).expect("a segment");
            assert!(segment.is_sound());
            assert_eq!((segment.from(), segment.to(), segment.window()), (end(1, 4000), end(2, 80), 900));
            assert_eq!((segment.payload(), segment.span()), (payload, payload.len() as u32));
            let change = Change { from: Some(end(3, 81)), to: Some(end(4, 82)), seq: 5, ack: 0x20, window: Some(17) };
            let changed = segment.changed(&change);
            let mut options = OPTIONS;
            options[3..11].copy_from_slice(&[0, 0, 0, 0x10, 0, 0, 0x10, 0x20]);
            let (from, to) = (end(3, 81), end(4, 82));
            let anew = Draft { from, to, seq: 12, ack: 0x10, window: 17, options: &options, ..draft(payload) };
            assert_eq!(changed, anew.packet());
        }
    }

    #[test]
    fn what_was_damaged_stays_damaged() {
        let mut made = draft(b"GET / HTTP/1.1").packet();
        *made.last_mut().expect("a byte") ^= 4;
        let segment = Segment::read(&made).expect("a segment");
        assert!(!segment.is_sound());
        let changed = segment.changed(&Change { seq: 99, ack: 3, ..Change::default() });
        assert!(!Segment::read(&changed).expect("a segment").is_sound());
    }

    #[test]
    fn what_is_cut_off_is_none_and_options_end_where_they_are_cut_off() {
        let made = draft(b"GET").packet();
        for bytes in 0..made.len() {
            assert!(Segment::read(&made[..bytes]).is_none(), "{bytes}");
        }
        let mut fragment = made.clone();
        fragment[6] = 0x20;
        assert!(Segment::read(&fragment).is_none());
        for options in [[5, 0, 0, 0], [5, 1, 0, 0], [5, 5, 0, 0], [0, 5, 2, 0], [1, 1, 1, 5]] {
            let made = Draft { options: &options, ..draft(b"") }.packet();
            let segment = Segment::read(&made).expect("a segment");
            assert_eq!(segment.option(SACK), None, "{options:?}");
            assert!(Segment::read(&segment.changed(&Change { ack: 9, ..Change::default() })).unwrap().is_sound());
        }
        let made = Draft { options: &[2, 4, 5, 180, 1, 3, 3, 7], ..draft(b"") }.packet();
        let segment = Segment::read(&made).expect("a segment");
        assert_eq!((segment.option(MSS), segment.option(SCALE)), (Some(&[5, 180][..]), Some(&[7][..])));
    }
}
