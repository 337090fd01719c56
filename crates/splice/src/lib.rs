#![doc = include_str!("../README.md")]

mod complaint;
mod connection;
mod cookie;
mod head;
mod joined;
mod offset;
mod opening;
mod refused;
mod segment;
mod settings;
mod splicer;
mod window;

use std::net::SocketAddrV4;

use serde::Serialize;
use sojourn_dispatch::{BackendId, Event, Request};
use sojourn_stats::{Span, Time};

pub use offset::{Offset, Teller};
pub use segment::{ACK, Change, Draft, EXPERIMENT, FIN, RST, SYN, Segment};
pub use settings::Settings;
pub use splicer::Splicer;
pub use window::Scales;

/// Who gives connections to servers, and keeps the books of them. A connection is known by its client's address.
pub trait Decider {
    /// A server for a client's connection that was not tried for it; none: it is refused.
    fn choose(&mut self, client: SocketAddrV4, request: &Request, tried: &[BackendId], now: Time) -> Option<BackendId>;

    /// The chosen server did not accept the connection: it refused, or it was silent.
    fn fail(&mut self, client: SocketAddrV4, is_refused: bool, now: Time);

    /// One of the ends closes the connection.
    fn close(&mut self, client: SocketAddrV4, now: Time);

    /// The connection is over.
    fn forget(&mut self, client: SocketAddrV4, now: Time);

    /// What replies show of a server.
    fn observe(&mut self, event: Event, now: Time);

    /// What has been done so far.
    fn counts(&mut self) -> &mut SpliceCounts;
}

/// How long a connection is remembered without a packet of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// After its first packet, before the second.
    pub opening: Span,
    /// While it is open.
    pub open: Span,
    /// After the client's FIN or RST.
    pub closing: Span,
}

/// What a switch that splices has done besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpliceCounts {
    /// Requests that are none of HTTP/1.0 or 1.1, or say two things at once (400).
    pub malformed: u64,
    /// Requests that were begun and did not come to the end of their head in time (408).
    pub slow: u64,
    /// Requests with a head that is too long (431).
    pub long: u64,
    /// Connections that began with TLS (RST).
    pub encrypted: u64,
    /// Connections of which nothing came in time (RST).
    pub silent: u64,
    /// Servers that did not accept a connection, so that another one was looked for.
    pub retried: u64,
    /// Packets dropped because they were of no connection.
    pub strays: u64,
    /// Packets passed on and not heeded: of numbers far from those that their sender uses.
    pub strange: u64,
    /// Packets of replies that came here although they should go straight to the client.
    pub detours: u64,
    /// Connections dropped because there was no room for them.
    pub full: u64,
}
