//! What a dispatcher is told of what reports say.

use sojourn_dispatch::{BackendId, Change, Front, News, Origin, Report, RoundTrip, key};
use sojourn_stats::Time;

use super::named::Named;
use super::wire::Outcome;

/// What a dispatcher is told.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the fields say what their names say
pub enum Told {
    /// A backend reports.
    Report { backend: BackendId, report: Box<Report>, is_overloaded: bool },
    /// A client, by its address or name, sends so many requests per second to all backends together.
    Rate { client: String, rate: f64 },
    /// What became of an order to measure the round trip between a client and a backend.
    Echoes { backend: BackendId, order: u64, client: String, probed: Probed },
    /// Nothing is heard of a backend any more, or it says that none of its servers is left.
    Lost { backend: BackendId, is_empty: bool },
    /// It is heard of again.
    Found { backend: BackendId },
}

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Probed {
    /// Echoes were sent by ICMP or TCP; without answers the round trip is not known.
    Measured { outcome: Outcome, round_trip: RoundTrip },
    /// None were sent, and why.
    Refused(Outcome),
}

impl Told {
    /// What rates of clients tell.
    pub(super) fn rates(rates: Vec<(Named, f64)>) -> impl Iterator<Item = Told> {
        rates.into_iter().map(|(client, rate)| Told::Rate { client: client.to_string(), rate })
    }

    /// The backend that it is about; a client's rate is about all.
    pub fn backend(&self) -> Option<BackendId> {
        match self {
            Told::Report { backend, .. }
            | Told::Echoes { backend, .. }
            | Told::Lost { backend, .. }
            | Told::Found { backend } => Some(*backend),
            Told::Rate { .. } => None,
        }
    }

    /// The event that says so, where a backend has fallen silent, has no server left or is heard again, and the backend.
    pub fn news(&self) -> Option<(&'static str, BackendId)> {
        match self {
            Told::Lost { backend, is_empty: false } => Some(("reports_silent", *backend)),
            Told::Lost { backend, is_empty: true } => Some(("reports_empty", *backend)),
            Told::Found { backend } => Some(("reports_heard", *backend)),
            Told::Report { .. } | Told::Rate { .. } | Told::Echoes { .. } => None,
        }
    }

    /// Why a backend is what this makes of it, in words.
    pub fn why(&self) -> &'static str {
        match self {
            Told::Lost { is_empty: true, .. } => "it has no server left",
            Told::Lost { is_empty: false, .. } => "its reports have ceased",
            Told::Report { is_overloaded: true, .. } => "it is overloaded",
            _ => "it reports",
        }
    }

    /// Lets a decider learn it; says what that changes of a backend. Where a client is is not known; of a client that has not
    /// answered there is nothing to say. That a backend is heard again its report says, which follows.
    pub fn learn(&self, front: &mut Front, now: Time) -> Option<Change> {
        match self {
            Told::Report { backend, report, is_overloaded } => {
                let load = front.learn(*backend, News::Overloaded(*is_overloaded), now);
                return Change::both(load, front.report(*backend, report, now));
            }
            Told::Lost { backend, is_empty: true } => return front.learn(*backend, News::Empty, now),
            Told::Lost { backend, is_empty: false } => return front.learn(*backend, News::Silent, now),
            Told::Rate { client, rate } => drop(front.tell_rate(key(client), Origin::default(), *rate, now)),
            Told::Echoes { backend, client, probed: Probed::Measured { round_trip, .. }, .. }
                if round_trip.answers > 0 =>
            {
                front.tell_round_trip(key(client), *backend, *round_trip, now);
            }
            Told::Found { .. } | Told::Echoes { .. } => {}
        }
        None
    }
}
