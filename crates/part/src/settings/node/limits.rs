//! What a client of a node may take.

use clap::Args;
use serde::{Deserialize, Serialize};
use sojourn_stats::{Bytes, Span};

use super::Wrong;
use crate::listen::{HANDSHAKE_TIMEOUT, HEAD_TIMEOUT, KEEP_ALIVE, STREAMS, WhenFull};

/// How long a body may take where nothing else is said: 64 MB in this time are less than 2 Mbit/s.
const BODY_TIMEOUT: Span = Span(300_000_000_000);

/// Sizes of a head (bytes): with less than this no usual request is served, with more each connection costs much memory.
const HEAD_SIZES: std::ops::RangeInclusive<u64> = 1_000..=1_000_000;

/// What a client may take.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NodeLimits {
    /// Most connections of clients at once; further ones wait [default: as many as file descriptors suffice for]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<usize>,
    /// What becomes of a connection when as many as may be open are open.
    #[arg(skip)]
    pub when_full: WhenFull,
    /// Most connections at once of an IPv4 address or an IPv6 network of 64 bits; further ones are closed at once.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_address: Option<usize>,
    /// Requests after which a connection ends.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Close clients' connections that are idle for this long; `0 s`: a connection per request
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub keep_alive: Span,
    /// Answer 408 where the head of a request is not complete this long after its first byte
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub head_timeout: Span,
    /// How long the head of a request may be; then the answer is 431.
    #[arg(skip)]
    pub head_size: Bytes,
    /// How long the body of a request may be; then the answer is 413.
    #[arg(skip)]
    pub body_size: Bytes,
    /// How long the body of a request may take; then the answer is 408.
    #[arg(skip)]
    pub body_timeout: Span,
    /// How long a client may take nothing of a reply; then its connection is cut.
    #[arg(skip)]
    pub send_timeout: Span,
    /// How long the handshake of TLS may take.
    #[arg(skip)]
    pub handshake_timeout: Span,
    /// Requests at once on a connection of HTTP/2.
    #[arg(skip)]
    pub streams: u32,
}

impl Default for NodeLimits {
    fn default() -> NodeLimits {
        NodeLimits {
            connections: None,
            when_full: WhenFull::Wait,
            per_address: None,
            requests: None,
            keep_alive: KEEP_ALIVE,
            head_timeout: HEAD_TIMEOUT,
            head_size: Bytes(64_000),
            body_size: Bytes(64_000_000),
            body_timeout: BODY_TIMEOUT,
            send_timeout: HEAD_TIMEOUT,
            handshake_timeout: HANDSHAKE_TIMEOUT,
            streams: STREAMS,
        }
    }
}

impl NodeLimits {
    pub(super) fn check(&self) -> Result<(), Wrong> {
        let some = |count: Option<usize>| count.is_none_or(|count| count > 0);
        for (key, is_some) in [
            ("connections", some(self.connections)),
            ("per_address", some(self.per_address)),
            ("requests", self.requests != Some(0)),
            ("streams", self.streams > 0),
        ] {
            if !is_some {
                return Err(Wrong::new(key, "it is a whole number of at least 1"));
            }
        }
        for (key, time) in [
            ("head_timeout", self.head_timeout),
            ("body_timeout", self.body_timeout),
            ("send_timeout", self.send_timeout),
            ("handshake_timeout", self.handshake_timeout),
        ] {
            if time == Span::ZERO {
                return Err(Wrong::new(key, "it is above 0, e.g. `10 s`"));
            }
        }
        match HEAD_SIZES.contains(&self.head_size.0) {
            true => Ok(()),
            false => Err(Wrong::new("head_size", "it is from `1 kB` to `1 MB`")),
        }
    }
}
