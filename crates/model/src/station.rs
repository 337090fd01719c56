//! A server's queue and processor as a sans-I/O state machine.

use sojourn_stats::{Span, Time};

use crate::Discipline;

/// A job's place in a station, valid until it departs or is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(u32);

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Being served, or waiting.
    Admitted(Ticket),
    /// The station is full; the job is not in it.
    Denied,
}

/// A job that has just been finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The caller's own number for the job.
    pub job: u64,
    /// When it came in.
    pub arrived: Time,
    /// When its service began (it waited `started - arrived`).
    pub started: Time,
    /// When it was finished: the station's own event time, never a wake-up time.
    pub at: Time,
}

/// A station: `cores` cores shared under a [`Discipline`].
#[derive(Clone, Debug)]
pub struct Station {}

impl Station {
    /// An empty station.
    pub fn new(discipline: Discipline, cores: u32, capacity: Option<u32>) -> Station {
        let _ = (discipline, cores, capacity);
        Station {}
    }

    /// Job number `job` of `service` core time arrives at `now`. Every departure due before or at `now` must have been
    /// taken with [`Station::depart`] first.
    pub fn arrive(&mut self, now: Time, job: u64, service: Span) -> Admission {
        let _ = (now, job, service);
        Admission::Denied
    }

    /// When the next departure is due, if nothing else happens before.
    pub fn next_departure(&self) -> Option<Time> {
        None
    }

    /// Takes the next departure that is due at or before `now`.
    pub fn depart(&mut self, now: Time) -> Option<Departure> {
        let _ = now;
        None
    }

    /// Removes a job that its client gave up. What was done for it is lost.
    pub fn cancel(&mut self, now: Time, ticket: Ticket) {
        let _ = (now, ticket);
    }

    /// Jobs inside, and how many of them are being served.
    pub fn occupancy(&self) -> (u32, u32) {
        (0, 0)
    }

    /// Core time spent so far up to `now`: utilisation is this over cores x elapsed.
    pub fn busy(&self, now: Time) -> Span {
        let _ = now;
        Span::ZERO
    }
}
