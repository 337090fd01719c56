//! How much a server does for each client.

use sojourn_stats::Span;

use crate::wire::edns::PLAIN;

/// Limits against floods and slow clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the largest message over UDP, 512 to 4096; above 1232 it may be cut into fragments on the way.
    pub udp_payload: u16,
    /// Replies per second over UDP to each network of senders without a cookie of ours, and as many at once; 0: no limit.
    pub replies_per_second: u32,
    /// Of so many queries over the limit, one is told to ask over TCP; 0: none.
    pub slip: u32,
    /// How many times longer than its query a reply over UDP may be where the sender has no cookie of ours; what is longer
    /// is to be asked for over TCP. 0: no limit.
    pub amplification: u32,
    /// Bits of a network of IPv4.
    pub prefix_v4: u8,
    /// Bits of a network of IPv6.
    pub prefix_v6: u8,
    /// Connections that may be open.
    pub tcp_connections: usize,
    /// Connections of one network that may be open.
    pub tcp_per_prefix: usize,
    /// How long a connection may take for its next query, and for taking its replies.
    pub tcp_idle: Span,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            udp_payload: 1232,
            replies_per_second: 200,
            slip: 2,
            amplification: 0,
            prefix_v4: 24,
            prefix_v6: 56,
            tcp_connections: 1000,
            tcp_per_prefix: 100,
            tcp_idle: Span(10_000_000_000),
        }
    }
}

impl Limits {
    /// # Errors
    /// One line that says what is impossible, and what would be right.
    pub fn check(&self) -> Result<(), String> {
        let Limits { udp_payload, prefix_v4, prefix_v6, .. } = self;
        match self {
            _ if !(PLAIN..=4096).contains(udp_payload) => {
                Err(format!("udp_payload = {udp_payload}: messages over UDP have 512 to 4096 bytes; 1232 is usual"))
            }
            _ if *prefix_v4 > 32 => Err(format!("prefix_v4 = {prefix_v4}: an address has 32 bits; 24 is usual")),
            _ if *prefix_v6 > 128 => Err(format!("prefix_v6 = {prefix_v6}: an address has 128 bits; 56 is usual")),
            _ if self.tcp_connections == 0 || self.tcp_per_prefix == 0 => {
                Err("tcp_connections and tcp_per_prefix are at least 1: what is truncated is asked for over TCP".into())
            }
            _ if self.tcp_idle == Span::ZERO => Err("tcp_idle is above 0, as in `10 s`".into()),
            _ => Ok(()),
        }
    }
}
