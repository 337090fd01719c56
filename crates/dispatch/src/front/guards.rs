//! What guards the servers of a decider, and its clients, when something goes wrong: outlier ejection, a queue with a deadline,
//! circuit breakers, adaptive concurrency and slow start.
//!
//! | guard | what it hears | what it does |
//! |---|---|---|
//! | [`Ejection`] | ends of requests | puts a server aside for a while |
//! | [`Concurrency`] | ends of requests | moves the limit of each server, or of all together |
//! | [`SlowStart`] | that a server is up again | lets weight and limit grow from little to what they are |
//! | [`Queue`] | that all are full | lets requests wait, the oldest for the first server that has room |
//! | [`Breakers`] | requests and retries | refuses what is too much |
//!
//! They act on what every decider has: the standing of a server, its weight and its limit. So policies, counts, records and
//! replays know nothing of them; a record has the change, not its cause. What a breaker refuses is not asked of the policy
//! and stands in no record. Time is an argument, and nothing is drawn. A decider without guards pays one comparison per call.
//!
//! Each decider has guards of its own: several threads of a gateway with a decider each see a part of the requests each.

mod concurrency;
mod ejection;
mod queue;
mod slow_start;

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use crate::{BackendId, Event};
pub use concurrency::{Concurrency, LimitRule, Scope};
pub use ejection::{Ejection, PanicTo};
pub use queue::{Breakers, Queue};
pub use slow_start::{SlowStart, StartRule};

pub(super) use concurrency::Limiter;
pub(super) use ejection::Outliers;
pub(super) use queue::WaitingRoom;
pub(super) use slow_start::{Share, Starts, Whole};

/// The guards of a decider, as plain data; none by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Guards {
    /// What puts servers aside that are worse than the others.
    pub ejection: Option<Ejection>,
    /// How requests wait where all servers are full; none: they are refused.
    pub queue: Option<Queue>,
    /// What is refused as too much.
    pub breakers: Option<Breakers>,
    /// How limits follow response times.
    pub concurrency: Option<Concurrency>,
    /// How a server that comes back gets its share again.
    pub slow_start: Option<SlowStart>,
}

/// What the guards of a decider know.
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) outliers: Option<Outliers>,
    pub(super) limiter: Option<Limiter>,
    pub(super) starts: Option<Starts>,
    pub(super) room: Option<WaitingRoom>,
    breakers: Breakers,
    /// Requests that were sent on and have not ended, and those of them that were sent on before to another backend.
    pub(super) in_flight: u32,
    pub(super) retries: u32,
}

/// How a request has ended at a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Served, so long after it was sent.
    Served(Span),
    /// With an error, or without a reply.
    Failed,
    /// Its client went away: that says nothing of the backend.
    Cancelled,
}

impl Guards {
    /// Whether there is none.
    pub fn are_none(&self) -> bool {
        *self == Guards::default()
    }

    /// What cannot be.
    ///
    /// # Errors
    /// The key of the guard, and what is wrong with it.
    pub fn check(&self, has_limit: bool) -> Result<(), (&'static str, String)> {
        let Guards { ejection, queue, breakers, concurrency, slow_start } = self;
        let checked = [
            ("ejection", ejection.as_ref().map(Ejection::check)),
            ("queue", queue.as_ref().map(|queue| queue.check(has_limit || concurrency.is_some()))),
            ("breakers", breakers.as_ref().map(Breakers::check)),
            ("concurrency", concurrency.as_ref().map(|of| of.check(has_limit))),
            ("slow_start", slow_start.as_ref().map(SlowStart::check)),
        ];
        let wrong = checked.into_iter().find_map(|(key, checked)| Some((key, checked?.err()?)));
        wrong.map_or(Ok(()), Err)
    }
}

impl Guarded {
    /// Those of a decider; none where it has none.
    pub(super) fn new(guards: &Guards) -> Option<Box<Guarded>> {
        let Guards { ejection, queue, breakers, concurrency, slow_start } = guards.clone();
        (!guards.are_none()).then(|| {
            Box::new(Guarded {
                outliers: ejection.map(Outliers::new),
                limiter: concurrency.map(Limiter::new),
                starts: slow_start.map(Starts::new),
                room: queue.map(WaitingRoom::new),
                breakers: breakers.unwrap_or(Breakers::NONE),
                in_flight: 0,
                retries: 0,
            })
        })
    }

    /// When something is next due.
    pub(super) fn due(&self) -> Time {
        let scan = self.outliers.as_ref().map_or(Time::NEVER, Outliers::due);
        let step = self.starts.as_ref().map_or(Time::NEVER, Starts::due);
        let overdue = self.room.as_ref().map_or(Time::NEVER, WaitingRoom::due);
        scan.min(step).min(overdue)
    }

    /// Whether all backends together have as many requests as they may have.
    pub(super) fn is_at_limit_of_all(&self) -> bool {
        let of_all = self.limiter.as_ref().filter(|limiter| limiter.scope() == Scope::Tier);
        of_all.is_some_and(|limiter| self.in_flight >= limiter.of_all())
    }

    /// The count that a breaker has come to, if one is open for a request.
    pub(super) fn open_breaker(&self, is_retry: bool) -> Option<u32> {
        let Breakers { requests, retries } = self.breakers;
        let waiting = self.room.as_ref().map_or(0, WaitingRoom::waiting);
        if requests > 0 && self.in_flight + waiting >= requests {
            return Some(requests);
        }
        (is_retry && retries > 0 && self.retries >= retries).then_some(retries)
    }
}

/// How a request has ended by an event, and where; none of an event that is no end.
pub(super) fn end_of(event: &Event) -> Option<(BackendId, End)> {
    match *event {
        // 429 says that the client asks too much.
        Event::Completed { backend, status, latency, .. } => {
            Some((backend, if status >= 500 { End::Failed } else { End::Served(latency) }))
        }
        Event::Failed { backend, .. } => Some((backend, End::Failed)),
        Event::Cancelled { backend, .. } => Some((backend, End::Cancelled)),
        _ => None,
    }
}

/// Whether a share is one: above 0, at most 1.
fn is_share(share: f64) -> bool {
    share > 0.0 && share <= 1.0
}
