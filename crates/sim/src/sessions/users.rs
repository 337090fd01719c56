//! Users and their connections.

use sojourn_stats::{Stream, Time};
use sojourn_traffic::{Fetch, Visit, Visitor};

/// No server.
pub(super) const NOWHERE: u32 = u32::MAX;

/// A user.
pub(super) struct User {
    pub(super) visitor: Visitor,
    /// The present object, or the one thought about: its files, the page's own first.
    pub(super) fetches: Vec<Fetch>,
    pub(super) visit: Visit,
    /// Files given to a connection, and files complete.
    pub(super) given: u32,
    pub(super) done: u32,
    /// When the present object was asked for; none while thinking.
    pub(super) asked: Option<Time>,
    /// The server of the present session, while choices are made for sessions.
    pub(super) server: u32,
    /// The server of the present object's page file.
    pub(super) page_server: u32,
    /// When the session was given its server, and bytes it has had from there.
    pub(super) chosen: Time,
    pub(super) bytes: u64,
    /// A file of the present object was refused.
    pub(super) refused: bool,
    /// What decides whether an object is denied.
    pub(super) denials: Stream,
}

/// A place for a connection: one of its user's `parallel`.
#[derive(Clone, Copy)]
pub(super) struct Lane {
    /// When its user asked for the file.
    pub(super) asked: Time,
    /// When the balancer sent the request on.
    pub(super) sent: Time,
    /// When the connection was given its server, where that is done for each.
    pub(super) chosen: Time,
    pub(super) idle_since: Time,
    /// Bytes it has had from its server.
    pub(super) bytes: u64,
    /// The file, an index into its user's fetches.
    pub(super) file: u32,
    /// Where its requests go; [`NOWHERE`] when nobody takes them.
    pub(super) server: u32,
    /// Congestion window (segments).
    pub(super) window: u32,
    pub(super) open: bool,
    /// It has a file to fetch.
    pub(super) busy: bool,
    /// Its request is at a server.
    pub(super) inside: bool,
    /// The last byte of its file is on its way to the user.
    pub(super) returning: bool,
    /// An idle entry is in the calendar.
    pub(super) watched: bool,
}

impl Lane {
    pub(super) const CLOSED: Lane = Lane {
        asked: Time::ZERO,
        sent: Time::ZERO,
        chosen: Time::ZERO,
        idle_since: Time::ZERO,
        bytes: 0,
        file: 0,
        server: NOWHERE,
        window: 0,
        open: false,
        busy: false,
        inside: false,
        returning: false,
        watched: false,
    };
}
