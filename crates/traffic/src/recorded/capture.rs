//! Captures of packets: one row per TCP connection.
//!
//! pcap and pcapng are read by `pcap-parser`, packets by `etherparse`: both byte orders, micro- and nanoseconds, gzip;
//! Ethernet with VLAN tags, Linux cooked captures, raw IP and loopback; IPv4 and IPv6. Nothing is reassembled: a
//! connection is followed by its flags and sequence numbers, so that a capture of gigabytes takes memory for its
//! connections only, and snapped packets (headers without their data) serve as well as whole ones. The price is that an
//! HTTP status is seen only where a reply begins a packet, which is where servers begin it.
//!
//! A capture has edges. A connection whose beginning or end lies beyond them is marked and counted apart: its duration
//! and bytes are lower bounds.

mod follow;
mod packet;
mod read;

use core::net::SocketAddr;
use std::io;

use thiserror::Error;

use crate::words::{count, verb};

/// What a capture holds.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    connections: Vec<Connection>,
    packets: u64,
    tcp_packets: u64,
    fragments: u64,
    snapped: u64,
    without_time: u64,
    unsorted: u64,
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
    other_links: Vec<(String, u64)>,
    cut: Option<Cut>,
}

/// Where a capture ends before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Whole packets before it.
    pub packets: u64,
    /// The first byte that belongs to no whole packet.
    pub byte: u64,
    /// What is wrong there.
    pub fault: String,
}

/// One TCP connection, from its first packet to its last.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Its first packet: nanoseconds since 1970 in UTC.
    pub start_ns: u64,
    /// Who opened it; where the capture does not say, who has the higher port.
    pub client: SocketAddr,
    /// Who was called.
    pub server: SocketAddr,
    /// From its first packet to the last (ns).
    pub duration_ns: u64,
    /// From the SYN to the answer to it (ns), where both are there.
    pub handshake_ns: Option<u64>,
    /// Bytes of data towards the server, each once however often it was sent.
    pub bytes_to_server: u64,
    /// Bytes of data towards the client.
    pub bytes_to_client: u64,
    /// Packets both ways.
    pub packets: u64,
    /// Requests in plain HTTP.
    pub requests: u32,
    /// Replies in plain HTTP.
    pub replies: u32,
    /// Status of the first of them.
    pub status: Option<u16>,
    /// SYNs sent again.
    pub syn_retransmissions: u32,
    /// Packets of data sent again.
    pub retransmissions: u32,
    /// How it began.
    pub begin: Begin,
    /// How it ended.
    pub end: End,
}

/// How a connection began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// With its SYN.
    Syn,
    /// Before the capture.
    Before,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Both sides said FIN.
    Closed,
    /// One side said RST.
    Reset,
    /// Its SYN was never answered.
    Unanswered,
    /// It did not, as far as the capture goes.
    Open,
}

/// Why a file is no capture.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// It cannot be read.
    #[error("{name}: {fault}")]
    Io {
        /// What was read.
        name: String,
        /// What the system said.
        fault: String,
    },
    /// It is something else, or damaged from its beginning.
    #[error("{name}: not a capture (pcap or pcapng, plain or gzip): {fault}")]
    NotOne {
        /// What was read.
        name: String,
        /// What is wrong.
        fault: String,
    },
    /// Its packets are of links that are not read.
    #[error(
        "{name}: its packets are of link type {found}, which is not read; Ethernet, Linux cooked (v1, v2), raw IP and \
         loopback are"
    )]
    Link {
        /// What was read.
        name: String,
        /// Number and name of the type.
        found: String,
    },
    /// Its times are in a unit in which nothing counts.
    #[error(
        "{name}: an interface of it counts time in units of 10^-{exponent} s (if_tsresol); at most 10^-38 s can be right"
    )]
    Unit {
        /// What was read.
        name: String,
        /// The exponent.
        exponent: u8,
    },
    /// There is no TCP in it.
    #[error("{name}: none of its {} is of TCP{cut}", count(*packets, "packet"))]
    NoTcp {
        /// What was read.
        name: String,
        /// Packets read.
        packets: u64,
        /// Where it is cut off, if it is.
        cut: String,
    },
}

impl Capture {
    /// The connections, in the order of their first packets.
    pub fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// Packets read.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Packets of TCP among them.
    pub fn tcp_packets(&self) -> u64 {
        self.tcp_packets
    }

    /// Bytes of all packets as they were on the link.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The first packet's instant: nanoseconds since 1970 in UTC.
    pub fn first_ns(&self) -> u64 {
        self.first_ns
    }

    /// From the first packet to the last (s).
    pub fn span_s(&self) -> f64 {
        (self.last_ns - self.first_ns) as f64 / 1e9
    }

    /// Packets whose data was not kept whole.
    pub fn snapped(&self) -> u64 {
        self.snapped
    }

    /// Where it ends too early, if it does.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// The instants (s from the first packet) at which connections were opened: their first SYNs.
    pub fn openings_s(&self) -> Vec<f64> {
        let opened = self.connections.iter().filter(|connection| connection.begin == Begin::Syn);
        opened.map(|connection| (connection.start_ns - self.first_ns) as f64 / 1e9).collect()
    }

    /// Gaps between openings (s): between the first SYNs, sent again or not.
    pub fn gaps_s(&self) -> Vec<f64> {
        self.openings_s().windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// What the user should know before trusting it, one line each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(Cut { packets, byte, fault }) = &self.cut {
            warnings.push(format!(
                "it ends after {}, at byte {byte}: {fault}; what was read is used",
                count(*packets, "whole packet")
            ));
        }
        for (link, packets) in &self.other_links {
            let are = verb(packets, "is", "are");
            warnings.push(format!("{} of link type {link} {are} not read", count(*packets, "packet")));
        }
        for (packets, one, several) in [
            (
                self.fragments,
                "is a fragment of another, and only first fragments are followed",
                "are fragments of others, and only first fragments are followed",
            ),
            (self.without_time, "has no time and is left out", "have no time and are left out"),
            (
                self.unsorted,
                "bears an earlier time than the one before it",
                "bear an earlier time than the one before them",
            ),
        ] {
            if packets > 0 {
                warnings.push(format!("{} {}", count(packets, "packet"), verb(&packets, one, several)));
            }
        }
        warnings
    }

    /// Writes the connections as CSV, a row for each. `at_s` counts from the first packet, so that the file is also a trace
    /// of openings (`kind = "trace"`); `size_bytes` is what the server sent.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_csv(&self, mut out: impl io::Write) -> io::Result<()> {
        // One type, so that the writer is compiled here, once and optimised.
        let mut csv = csv::Writer::from_writer(&mut out as &mut dyn io::Write);
        csv.write_record([
            "at_s",
            "client",
            "server",
            "duration_s",
            "handshake_s",
            "bytes_to_server",
            "size_bytes",
            "packets",
            "requests",
            "replies",
            "status",
            "syn_retransmissions",
            "retransmissions",
            "begin",
            "end",
        ])?;
        let seconds = |ns: u64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        for one in &self.connections {
            csv.write_record([
                seconds(one.start_ns - self.first_ns),
                one.client.to_string(),
                one.server.to_string(),
                seconds(one.duration_ns),
                one.handshake_ns.map_or(String::new(), seconds),
                one.bytes_to_server.to_string(),
                one.bytes_to_client.to_string(),
                one.packets.to_string(),
                one.requests.to_string(),
                one.replies.to_string(),
                one.status.map_or(String::new(), |status| status.to_string()),
                one.syn_retransmissions.to_string(),
                one.retransmissions.to_string(),
                one.begin.name().into(),
                one.end.name().into(),
            ])?;
        }
        csv.flush()
    }
}

impl Connection {
    /// Whether both its ends are in the capture: only then is its duration the whole one.
    pub fn is_whole(&self) -> bool {
        self.begin == Begin::Syn && matches!(self.end, End::Closed | End::Reset)
    }
}

impl Begin {
    fn name(self) -> &'static str {
        match self {
            Begin::Syn => "syn",
            Begin::Before => "before",
        }
    }
}

impl End {
    fn name(self) -> &'static str {
        match self {
            End::Closed => "closed",
            End::Reset => "reset",
            End::Unanswered => "unanswered",
            End::Open => "open",
        }
    }
}
