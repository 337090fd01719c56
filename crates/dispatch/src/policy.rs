//! What a policy is.

use bitflags::bitflags;
use sojourn_stats::{Stream, Time};

use crate::{Averaging, BackendId, Decision, Event, Index, Table, Ties};

/// What a face can tell of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Request {
    /// The key of the client's address (see [`crate::policies::client_key`]).
    pub client: u64,
    /// Index of the request's class.
    pub class: u8,
    /// The backend that the client's cookie names.
    pub cookie: Option<BackendId>,
}

bitflags! {
    /// What a policy needs to know, and what a face can tell it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Signals: u32 {
        /// Requests in flight: the face sees each request end.
        const IN_FLIGHT = 1;
        /// The instant of a reply's first byte.
        const FIRST_BYTE = 1 << 1;
        /// Bytes of replies.
        const BYTES = 1 << 2;
        /// The client's address.
        const ADDRESS = 1 << 3;
        /// Cookies can be read and set.
        const COOKIE = 1 << 4;
        /// The backends report their load.
        const REPORTS = 1 << 5;
        /// The path asked for.
        const PATH = 1 << 6;
        /// The instant at which the *client* has the first byte of a reply, which no balancer can see: only a simulator
        /// can tell. It stands in for `FIRST_BYTE` at a face that the replies bypass (Zhang 2002, section 5.1.2).
        const CLIENT_FIRST_BYTE = 1 << 7;
        /// How long each backend would take for the request at hand if nobody came after it, told before it is chosen:
        /// it takes the demands of all requests there, which only a simulator knows.
        const PREDICTED_RESPONSE = 1 << 8;
    }
}

impl Signals {
    /// What an HTTP gateway sees: everything that passes it, and what the backends report.
    pub const GATEWAY: Signals = Signals::IN_FLIGHT
        .union(Signals::FIRST_BYTE)
        .union(Signals::BYTES)
        .union(Signals::ADDRESS)
        .union(Signals::COOKIE)
        .union(Signals::REPORTS)
        .union(Signals::PATH);

    /// What a packet switch sees whose replies go straight to the client: the client's address and, from the client's
    /// own packets, the end of each connection; and what the backends report. No first byte, no bytes of replies, no
    /// cookie, no path.
    pub const SWITCH: Signals = Signals::IN_FLIGHT.union(Signals::ADDRESS).union(Signals::REPORTS);

    /// In words, for messages: what a face does that provides the first of these signals.
    pub(crate) fn in_words(self) -> &'static str {
        const WORDS: [(Signals, &str); 9] = [
            (Signals::IN_FLIGHT, "the end of each request (in-flight)"),
            (
                Signals::FIRST_BYTE,
                "the first byte of each reply (first-byte, or in a simulator the client's own: client-first-byte)",
            ),
            (Signals::BYTES, "the bytes of replies (bytes)"),
            (Signals::ADDRESS, "the client's address (address)"),
            (Signals::COOKIE, "the client's cookies (cookie)"),
            (Signals::REPORTS, "the load that backends report (reports)"),
            (Signals::PATH, "the path asked for (path)"),
            (
                Signals::CLIENT_FIRST_BYTE,
                "the client's own first byte, which only a simulator can tell (client-first-byte)",
            ),
            (
                Signals::PREDICTED_RESPONSE,
                "a prediction of its response time, which only a simulator can tell (predicted-response)",
            ),
        ];
        WORDS.iter().find(|(signal, _)| self.contains(*signal)).map_or("nothing", |(_, words)| words)
    }
}

/// What a policy or its table wants done by the face.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Ask the backend for its load and feed the answer back as [`Event::Reported`].
    Poll(BackendId),
}

/// A load-distribution policy.
///
/// It must choose only among the backends that the table says are eligible and `exclude` does not name (those already
/// tried for this request), must draw only from `stream`, and may keep state of its own.
pub trait Policy: Send {
    /// What it must be told. [`Signals::FIRST_BYTE`] is also met by a face that provides
    /// [`Signals::CLIENT_FIRST_BYTE`].
    fn requires(&self) -> Signals;

    /// The averaging window whose totals it reads from the table, if any.
    fn window(&self) -> Option<Averaging> {
        None
    }

    /// The order that the table keeps for it, so that it need not scan: see [`Table::least`].
    fn index(&self) -> Index {
        Index::None
    }

    /// Who is chosen among those that are equally good in that order.
    fn ties(&self) -> Ties {
        Ties::Drawn
    }

    /// Whether [`Policy::observe`] does anything; where it says no, the dispatcher saves the calls.
    fn listens(&self) -> bool {
        true
    }

    /// Chooses.
    fn choose(
        &mut self,
        request: &Request,
        table: &Table,
        exclude: &[BackendId],
        now: Time,
        stream: &mut Stream,
    ) -> Decision;

    /// Learns. The table already knows.
    fn observe(&mut self, event: &Event, table: &Table, now: Time) {
        let _ = (event, table, now);
    }

    /// Does what is due by `now`.
    fn poll(&mut self, table: &Table, now: Time) -> Vec<Command> {
        let _ = (table, now);
        Vec::new()
    }

    /// When it next wants to be polled.
    fn next_deadline(&self) -> Option<Time> {
        None
    }
}
