//! From the bytes of a packet to what matters of its TCP segment.

use core::net::{IpAddr, SocketAddr};

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};

/// A TCP segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'a> {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) sequence: u32,
    pub(super) syn: bool,
    pub(super) ack: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    /// Bytes of data it carried on the link.
    pub(super) length: u32,
    /// As many of them as were captured.
    pub(super) data: &'a [u8],
}

/// What a packet is.
pub(super) enum Packet<'a> {
    Tcp(Segment<'a>),
    Fragment,
    Other,
}

/// The kinds of links that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Ethernet,
    /// The packet begins with its IP header.
    Ip,
    /// Four bytes of address family stand before it. The IP version says the same in any byte order.
    Loopback,
    Cooked,
    Cooked2,
}

impl Link {
    /// By its number in the registry of tcpdump.org.
    pub(super) fn of(number: i32) -> Option<Link> {
        match number {
            0 | 108 => Some(Link::Loopback),
            1 => Some(Link::Ethernet),
            // 12 and 14 are what some systems write for raw IP.
            12 | 14 | 101 | 228 | 229 => Some(Link::Ip),
            113 => Some(Link::Cooked),
            276 => Some(Link::Cooked2),
            _ => None,
        }
    }
}

/// Number and name of a link type that is not read.
pub(super) fn link_name(number: i32) -> String {
    let name = match number {
        6 => "token ring",
        9 | 50 => "PPP",
        10 => "FDDI",
        51 => "PPPoE",
        105 => "IEEE 802.11",
        119 | 127 | 163 => "IEEE 802.11 with a radio header",
        147..=162 => "reserved for private use",
        187 | 201 => "Bluetooth",
        189 | 220 => "USB",
        195 | 230 => "IEEE 802.15.4",
        227 => "CAN",
        239 => "NFLOG",
        249 => "USB on Windows",
        252 => "Wireshark's upper protocols",
        253 => "netlink",
        _ => return format!("{number}"),
    };
    format!("{number} ({name})")
}

/// Looks into a packet of which `data` was captured and `on_link` bytes were sent.
pub(super) fn look(link: Link, data: &[u8], on_link: u32) -> Packet<'_> {
    let ether_type = |at: usize| data.get(at..at + 2).map(|bytes| EtherType(u16::from_be_bytes([bytes[0], bytes[1]])));
    let sliced = match link {
        Link::Ethernet => LaxSlicedPacket::from_ethernet(data).ok(),
        Link::Ip => LaxSlicedPacket::from_ip(data).ok(),
        Link::Loopback => data.get(4..).and_then(|data| LaxSlicedPacket::from_ip(data).ok()),
        Link::Cooked => {
            ether_type(14).zip(data.get(16..)).map(|(kind, data)| LaxSlicedPacket::from_ether_type(kind, data))
        }
        Link::Cooked2 => {
            ether_type(0).zip(data.get(20..)).map(|(kind, data)| LaxSlicedPacket::from_ether_type(kind, data))
        }
    };
    let Some(sliced) = sliced else { return Packet::Other };
    let place = |part: &[u8]| part.as_ptr() as usize - data.as_ptr() as usize;
    // The end of the IP packet on the link: by its header, which offloading network cards leave at 0.
    let (source, destination, end, fragmented) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let end = match usize::from(header.total_len()) {
                0 => on_link as usize,
                length => place(header.slice()) + length,
            };
            let (source, destination) = (header.source_addr(), header.destination_addr());
            (IpAddr::V4(source), IpAddr::V4(destination), end, ip.is_payload_fragmented())
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let end = match usize::from(header.payload_length()) {
                0 => on_link as usize,
                length => place(header.slice()) + header.slice().len() + length,
            };
            let (source, destination) = (header.source_addr(), header.destination_addr());
            (IpAddr::V6(source), IpAddr::V6(destination), end, ip.is_payload_fragmented())
        }
        _ => return Packet::Other,
    };
    match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            let header = tcp.header_slice();
            let length = end.saturating_sub(place(header) + header.len());
            let captured = tcp.payload();
            Packet::Tcp(Segment {
                from: SocketAddr::new(source, tcp.source_port()),
                to: SocketAddr::new(destination, tcp.destination_port()),
                sequence: tcp.sequence_number(),
                syn: tcp.syn(),
                ack: tcp.ack(),
                fin: tcp.fin(),
                rst: tcp.rst(),
                length: length.min(u32::MAX as usize) as u32,
                // A short packet is padded on Ethernet: the padding is no data.
                data: &captured[..captured.len().min(length)],
            })
        }
        _ if fragmented => Packet::Fragment,
        _ => Packet::Other,
    }
}
