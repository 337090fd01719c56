//! Users and their connections.

use sojourn_model::Ticket;
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
    /// The server where the present session began, while users are attached for sessions.
    pub(super) server: u32,
    /// The server of the present object's page file.
    pub(super) page_server: u32,
    /// When the session was given its server, and bytes it has had from there.
    pub(super) chosen: Time,
    pub(super) bytes: u64,
    /// The session has ended, and its user is attached to its server until the next has one.
    pub(super) session_over: bool,
    /// What decides whether a reply waits for a timeout.
    pub(super) losses: Stream,
    /// What decides whether an object is denied.
    pub(super) denials: Stream,
}

/// A connection slot: one of its user's `parallel`.
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
    /// Where its requests go; [`NOWHERE`] if no server takes them.
    pub(super) server: u32,
    /// Congestion window (segments).
    pub(super) window: u32,
    pub(super) open: bool,
    pub(super) stage: Stage,
    /// Its place at its station, while it is there.
    pub(super) ticket: Ticket,
    /// Its request counts at its server, where choices are made for requests.
    pub(super) inside: bool,
    /// An idle entry is in the calendar.
    pub(super) watched: bool,
    /// Raised when its file is over, so that events planned for it are passed over.
    pub(super) generation: u32,
}

/// Where a connection's file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has none.
    Free,
    /// Somewhere that only the calendar knows.
    UnderWay,
    AtStation,
    /// In the links.
    Flowing,
    /// Its last byte is on its way to the user.
    Returning,
}

impl Lane {
    /// Without a connection.
    pub(super) fn closed() -> Lane {
        Lane {
            asked: Time::ZERO,
            sent: Time::ZERO,
            chosen: Time::ZERO,
            idle_since: Time::ZERO,
            bytes: 0,
            file: 0,
            server: NOWHERE,
            window: 0,
            open: false,
            stage: Stage::Free,
            ticket: Ticket::default(),
            inside: false,
            watched: false,
            generation: 0,
        }
    }
}
