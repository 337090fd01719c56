//! The stations of servers, and the links that paths share: what is in them, and which job leaves next.
//!
//! A station's clock stands still while its server is frozen, so that what is in it goes on where it was.

use sojourn_model::{Admission, Departure, Discipline, Server, Station, Ticket};
use sojourn_stats::{Span, Time};

use crate::requests::jobs::Job;
use crate::timers::Timers;

/// All stations of a system.
pub(super) struct Stations {
    /// Those of all servers, the processors first, and behind them the links that paths share.
    all: Vec<Freezable>,
    /// The stations of each server, in the order of its resources.
    of_host: Vec<Vec<usize>>,
    first_medium: usize,
    timers: Timers,
    /// Whether servers drop what has waited too long, and what they have dropped.
    may_drop: bool,
    dropped: Vec<u32>,
}

/// A station, and how far its clock is behind.
struct Freezable {
    station: Station,
    lag: Span,
    /// Since when it stands still.
    since: Option<Time>,
}

impl Stations {
    /// Those of `servers`, and of so many shared links.
    pub(super) fn new(servers: &[Server], media: usize) -> Stations {
        let processor = |server: &Server| Station::new(server.discipline.clone(), server.cores, server.capacity);
        let mut all: Vec<Station> = servers.iter().map(processor).collect();
        let mut of_host: Vec<Vec<usize>> = (0..servers.len()).map(|server| vec![server]).collect();
        for (server, stages) in servers.iter().zip(&mut of_host) {
            for resource in server.machine.iter().flat_map(|machine| &machine.resources[1..]) {
                stages.push(all.len());
                all.push(Station::new(resource.discipline.clone(), 1, None));
            }
        }
        let first_medium = all.len();
        all.extend((0..media).map(|_| Station::new(Discipline::Ps, 1, None)));
        let freezable = |station| Freezable { station, lag: Span::ZERO, since: None };
        Stations {
            may_drop: servers.iter().any(|server| matches!(server.discipline, Discipline::Dropping { .. })),
            dropped: Vec::new(),
            timers: Timers::new(all.len()),
            all: all.into_iter().map(freezable).collect(),
            of_host,
            first_medium,
        }
    }

    /// The stations of a server, in the order of its resources.
    #[inline]
    pub(super) fn of_host(&self, host: usize) -> &[usize] {
        &self.of_host[host]
    }

    /// The station that a link is which paths share.
    pub(super) fn medium(&self, medium: usize) -> usize {
        self.first_medium + medium
    }

    /// Whether a station is such a link.
    #[inline]
    pub(super) fn is_medium(&self, number: usize) -> bool {
        number >= self.first_medium
    }

    /// A job comes to a station, and its client gives it up at `until`: its place there; none where there is no room.
    #[inline]
    pub(super) fn enter(
        &mut self,
        number: usize,
        job: &Job,
        slot: u32,
        until: Time,
        work: Span,
        now: Time,
    ) -> Option<Ticket> {
        let station = &mut self.all[number];
        let due = station.next_departure();
        let (own, until) = (station.own(now), station.of_own(until));
        let admission = station.station.arrive_until(until, job.class, own, u64::from(slot), work);
        let Admission::Admitted(ticket) = admission else { return None };
        let next = station.next_departure();
        if next != due {
            self.timers.set(number, next);
        }
        self.collect(number);
        Some(ticket)
    }

    /// Takes note of what a station has dropped.
    #[inline]
    fn collect(&mut self, number: usize) {
        if self.may_drop {
            let dropped = self.all[number].station.take_dropped();
            self.dropped.extend(dropped.into_iter().map(|job| job as u32));
        }
    }

    /// A job that a station has dropped, of which nothing has been heard yet.
    pub(super) fn next_dropped(&mut self) -> Option<u32> {
        self.dropped.pop()
    }

    /// When the next job departs; [`Time::NEVER`] where all stations are idle.
    #[inline]
    pub(super) fn next_departure(&self) -> Time {
        self.timers.first_at()
    }

    /// The job that is due leaves its station, whose number is given; the instants are those of the station's own clock.
    #[inline]
    pub(super) fn depart(&mut self, now: Time) -> (usize, Departure) {
        let number = self.timers.first();
        let station = &mut self.all[number];
        let own = station.own(now);
        let departure = station.station.depart(own).expect("the timer is the station's next departure");
        self.timers.set(number, station.next_departure());
        self.collect(number);
        (number, departure)
    }

    /// A job leaves a station before its end.
    pub(super) fn cancel(&mut self, number: usize, ticket: Ticket, now: Time) {
        let station = &mut self.all[number];
        let own = station.own(now);
        station.station.cancel(own, ticket);
        self.timers.set(number, station.next_departure());
        self.collect(number);
    }

    /// The clocks of a server's stations stop, or go on.
    pub(super) fn stand_still(&mut self, host: usize, begins: bool, now: Time) {
        for &number in &self.of_host[host] {
            let station = &mut self.all[number];
            if begins {
                station.since = station.since.or(Some(now));
            } else {
                let stood = station.since.take().map_or(Span::ZERO, |since| now - since);
                station.lag += stood;
                station.station.stood(stood);
            }
            self.timers.set(number, station.next_departure());
        }
    }

    /// Requests at a server.
    pub(super) fn inside(&self, host: u32) -> u32 {
        self.inside_of(&self.of_host[host as usize])
    }

    /// Requests at some stations.
    pub(super) fn inside_of(&self, numbers: &[usize]) -> u32 {
        numbers.iter().map(|number| self.all[*number].station.occupancy().0).sum()
    }

    /// Time that a station has spent on jobs.
    pub(super) fn busy(&self, number: usize, now: Time) -> Span {
        let station = &self.all[number];
        station.station.busy(station.own(now))
    }

    /// Core time that each server's processors have spent.
    pub(super) fn busy_processors(&self, now: Time) -> Vec<Span> {
        self.of_host.iter().map(|stages| self.busy(stages[0], now)).collect()
    }

    /// A server's processors and the instant on their own clock, for what predicts as if it never stood still.
    pub(super) fn processors(&self, host: usize, now: Time) -> (&Station, Time) {
        let station = &self.all[self.of_host[host][0]];
        (&station.station, station.own(now))
    }
}

impl Freezable {
    /// When the next job departs, unless it stands still.
    #[inline]
    fn next_departure(&self) -> Option<Time> {
        let due = self.station.next_departure()?;
        self.since.is_none().then_some(due + self.lag)
    }

    /// The instant on its own clock at which it is `at`, unless it stands still again until then.
    #[inline]
    fn of_own(&self, at: Time) -> Time {
        if at == Time::NEVER { at } else { Time(at.0.saturating_sub(self.lag.0)) }
    }

    /// The instant on its own clock.
    #[inline]
    fn own(&self, now: Time) -> Time {
        Time(self.since.unwrap_or(now).0 - self.lag.0)
    }
}
