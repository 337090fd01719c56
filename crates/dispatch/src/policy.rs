//! What a policy is.

use std::ops::RangeInclusive;

use sojourn_stats::{Stream, Time};

use crate::{Ask, Averaging, BackendId, Decision, Event, Explanation, Index, Signals, Table, Ties};

/// What a policy or its table wants done by the face.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Command {
    /// Ask the backend for its load and feed the answer back to [`crate::Dispatcher::report`].
    Poll(BackendId),
    /// Find out whether the backend answers, and tell [`Event::Joined`] or [`Event::Down`] if that is news.
    Probe(BackendId),
    /// Measure the round trip between a client and a backend and feed it back to
    /// [`crate::Dispatcher::tell_round_trip`].
    Measure {
        /// [`crate::Request::client`].
        client: u64,
        /// The backend at the other end.
        from: BackendId,
    },
}

impl Command {
    /// The signal of a face that obeys it; a policy that gives such commands must require it.
    pub fn needs(self) -> Signals {
        match self {
            Command::Poll(_) => Signals::REPORTS,
            Command::Probe(_) => Signals::PROBES,
            Command::Measure { .. } => Signals::ROUND_TRIPS,
        }
    }
}

/// What a plain policy does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Plain {
    /// Each backend is equally likely.
    Drawn,
    /// Each backend has its turn, in ascending order of id.
    Turns,
    /// It reads who is up, and weights; what it remembers is its own.
    Blind,
    /// The fewest requests in flight.
    Least(Ties),
    /// The fewest in flight of so many that are drawn without repetition; ties go to the one drawn first.
    LeastOf(usize),
}

/// A load-distribution policy.
///
/// It must choose only among the backends that the table says are eligible and that were not tried for this request
/// ([`Ask::candidates`]), must draw random numbers only from `draw`, and may keep state of its own.
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

    /// The weights besides 0 that it can give their share; the dispatcher refuses others.
    fn weights(&self) -> RangeInclusive<f64> {
        1e-9..=1e9
    }

    /// Whether a weight must be a whole number; the dispatcher refuses others.
    fn whole_weights(&self) -> bool {
        false
    }

    /// Whether a backend whose weight is a part of what it was gets about that part of the requests, also a part that is no whole
    /// number: then a backend can start slowly ([`crate::SlowStart`]).
    fn weighs(&self) -> bool {
        false
    }

    /// The backends that its parameters name. Where several backends are there from the beginning, the dispatcher refuses a name
    /// that none of them has; one that begins alone finds the others later.
    fn names(&self) -> &[String] {
        &[]
    }

    /// Whether [`Policy::observe`], [`Policy::reported`] and [`Policy::rated`] do anything; where it says no, the dispatcher
    /// saves the calls.
    fn listens(&self) -> bool {
        true
    }

    /// What it does, where that is one of the rules that need no dispatcher; a policy that does not say it always has one.
    fn plain(&self) -> Option<Plain> {
        None
    }

    /// The part of all requests that each backend of the table gets in the long run, by id, where neither load nor who asks
    /// decides; none where one of them does. With them it is known beforehand which server is asked for too much.
    fn shares(&self, table: &Table) -> Option<Vec<f64>> {
        matches!(self.plain()?, Plain::Drawn | Plain::Turns).then(|| table.parts(|_| 1.0))
    }

    /// Chooses.
    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision;

    /// What it would compare: each candidate with its terms. Called only for records and for those who ask why; it may
    /// look at every backend. Where a policy says nothing, these are the values of the order that the table keeps.
    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| ask.table.terms(id))
    }

    /// The further addresses of an answer ([`crate::Action::Answer`]) whose first one is `first`, best first, pushed on
    /// `list`. Where a policy says nothing, there are none.
    fn answer(&self, ask: &Ask<'_>, first: BackendId, list: &mut Vec<BackendId>) {
        let _ = (ask, first, list);
    }

    /// Learns. The table already knows.
    fn observe(&mut self, event: &Event, table: &Table, now: Time) {
        let _ = (event, table, now);
    }

    /// Learns that a backend has reported. The table already knows.
    fn reported(&mut self, backend: BackendId, table: &Table, now: Time) {
        let _ = (backend, table, now);
    }

    /// Learns that the request rate of the client of `ask` was told, and where it is. The clients already know.
    fn rated(&mut self, ask: &Ask<'_>, draw: &mut Stream) {
        let _ = (ask, draw);
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
