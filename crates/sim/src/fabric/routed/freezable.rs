//! A station whose clock stands still while its server is frozen, so that what is in it goes on where it was.

use sojourn_model::{Admission, Departure, Station, Ticket};
use sojourn_stats::{Span, Time};

/// A station, and how far its clock is behind.
pub(super) struct Freezable {
    station: Station,
    lag: Span,
    /// Since when it stands still.
    since: Option<Time>,
}

impl Freezable {
    pub(super) fn new(station: Station) -> Freezable {
        Freezable { station, lag: Span::ZERO, since: None }
    }

    /// It stands still from now on.
    pub(super) fn freeze(&mut self, now: Time) {
        self.since = self.since.or(Some(now));
    }

    /// It goes on.
    pub(super) fn thaw(&mut self, now: Time) {
        self.lag += self.since.take().map_or(Span::ZERO, |since| now - since);
    }

    /// As [`Station::arrive_of`].
    #[inline]
    pub(super) fn arrive_of(&mut self, class: u8, now: Time, job: u64, work: Span) -> Admission {
        self.station.arrive_of(class, self.own(now), job, work)
    }

    /// When the next job departs, unless it stands still.
    #[inline]
    pub(super) fn next_departure(&self) -> Option<Time> {
        let due = self.station.next_departure()?;
        self.since.is_none().then_some(due + self.lag)
    }

    /// As [`Station::depart`]; the instants are those of its own clock.
    #[inline]
    pub(super) fn depart(&mut self, now: Time) -> Option<Departure> {
        self.station.depart(self.own(now))
    }

    /// As [`Station::cancel`].
    pub(super) fn cancel(&mut self, now: Time, ticket: Ticket) {
        self.station.cancel(self.own(now), ticket);
    }

    /// As [`Station::predict`], as if it never stood still.
    pub(super) fn predict(&self, class: u8, now: Time, work: Span) -> Option<Span> {
        self.station.predict(class, self.own(now), work)
    }

    /// As [`Station::occupancy`].
    pub(super) fn occupancy(&self) -> (u32, u32) {
        self.station.occupancy()
    }

    /// As [`Station::busy`].
    pub(super) fn busy(&self, now: Time) -> Span {
        self.station.busy(self.own(now))
    }

    /// The station and the instant on its own clock, for what predicts.
    pub(super) fn at(&self, now: Time) -> (&Station, Time) {
        (&self.station, self.own(now))
    }

    /// The instant on its own clock.
    #[inline]
    fn own(&self, now: Time) -> Time {
        Time(self.since.unwrap_or(now).0 - self.lag.0)
    }
}
