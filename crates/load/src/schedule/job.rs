//! What the loop is given to do.

use sojourn_stats::{Span, Time};
use sojourn_traffic::Request;

/// The place of a job that may go out on any connection.
pub(crate) const ANYWHERE: u32 = u32::MAX;

/// A request whose time has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Its number in the run; that of its object where users browse.
    pub(crate) k: u64,
    /// The thread's own number of the place of the connection that has to carry it; [`ANYWHERE`] in an open schedule.
    pub(crate) place: u32,
    pub(crate) planned: Time,
    /// The instant that says which part of the run it belongs to: its own, or that of its object.
    pub(crate) counts_at: Time,
    pub(crate) request: Request,
    /// The endpoint that it is dealt to, by its number.
    pub(crate) endpoint: u32,
    /// Which of several targets it asks for.
    pub(crate) target: u32,
    /// Which attempt at its request it is, from 0.
    pub(crate) attempt: u32,
    /// When this attempt is given up, which the server is told; [`Time::NEVER`] where nothing says so.
    pub(crate) until: Time,
}

impl Job {
    /// A request that has not been dealt to an endpoint yet.
    #[inline]
    pub(crate) fn new(k: u64, place: u32, planned: Time, counts_at: Time, request: Request) -> Job {
        Job { k, place, planned, counts_at, request, endpoint: 0, target: 0, attempt: 0, until: Time::NEVER }
    }
}

/// What a source wants done.
pub(crate) enum Due {
    /// A request is to go out.
    Ask(Job),
    /// The idle connection at this place has been kept for long enough.
    Close(u32),
}

/// A user that asks again at once has to fear a server that refuses at once: after a failure it waits this long.
pub(crate) const PAUSE_AFTER_FAILURE: Span = Span(10_000_000);
