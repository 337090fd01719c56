//! Disciplines without a common virtual time: the order of service depends on rank ([`Ranked`]), on turns ([`Turns`]),
//! on the work already done ([`Levels`]), or on how long jobs have waited ([`Dropping`]).
//!
//! A [`crate::Station`] of such a discipline does the accounting (capacity, busy time, tickets) and leaves the order to
//! one of these. The price is a box and a branch per event there, which the sharing disciplines do not pay.

mod dropping;
mod levels;
mod ranked;
mod turns;

use sojourn_stats::{Span, Time};

use self::dropping::Dropping;
use self::levels::Levels;
use self::ranked::{Ranked, Rule};
use self::turns::Turns;
use crate::{Departure, Discipline};

/// The jobs in service, and the time of the next departure.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    Ranked(Ranked),
    Turns(Turns),
    Levels(Levels),
    Dropping(Dropping),
}

/// An arriving job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) job: u64,
    pub(crate) class: u8,
    pub(crate) service: Span,
    pub(crate) sequence: u64,
    /// When its client gives it up; [`Time::NEVER`] where that is not known.
    pub(crate) deadline: Time,
}

impl Order {
    /// The order of `discipline`; none where a virtual time describes it.
    pub(crate) fn of(discipline: &Discipline, cores: u32) -> Option<Order> {
        let ranked = |rule, preemptive| Some(Order::Ranked(Ranked::new(rule, preemptive, cores as usize)));
        match *discipline {
            Discipline::Fcfs | Discipline::Ps | Discipline::LimitedPs { .. } | Discipline::DelayCurve(_) => None,
            Discipline::LeastAttained => Some(Order::Levels(Levels::default())),
            Discipline::RoundRobin { quantum } => Some(Order::Turns(Turns::new(quantum))),
            Discipline::TimeSlices { quantum, helpers } => {
                Some(Order::Turns(Turns::with_newcomers_first(quantum, helpers)))
            }
            Discipline::Lcfs { preemptive } => ranked(Rule::NewestFirst, preemptive),
            Discipline::Dropping { newest_first, drops } => {
                Some(Order::Dropping(Dropping::new(newest_first, drops, cores as usize)))
            }
            Discipline::Priority { preemptive } => ranked(Rule::ByClass, preemptive),
        }
    }

    /// Does the work up to `now`, which is not after the next departure.
    pub(crate) fn advance(&mut self, elapsed: Span, now: Time) {
        match self {
            Order::Ranked(_) | Order::Dropping(_) => {}
            Order::Turns(turns) => turns.advance(now),
            Order::Levels(levels) => levels.advance(elapsed),
        }
    }

    /// Takes in a job; returns its place.
    pub(crate) fn arrive(&mut self, now: Time, arrival: Arrival) -> u32 {
        match self {
            Order::Ranked(ranked) => ranked.arrive(now, arrival),
            Order::Dropping(dropping) => dropping.arrive(now, arrival),
            Order::Turns(turns) => turns.arrive(now, arrival),
            Order::Levels(levels) => levels.arrive(now, arrival),
        }
    }

    /// When the next departure is due in the state at `now`; [`Time::NEVER`] if no job is served.
    pub(crate) fn due(&self, now: Time) -> Time {
        match self {
            Order::Ranked(ranked) => ranked.due(),
            Order::Dropping(dropping) => dropping.due(),
            Order::Turns(turns) => turns.due(),
            Order::Levels(levels) => levels.due(now),
        }
    }

    /// Takes the departure that is due at `at`.
    pub(crate) fn depart(&mut self, at: Time) -> Departure {
        match self {
            Order::Ranked(ranked) => ranked.depart(at),
            Order::Dropping(dropping) => dropping.depart(at),
            Order::Turns(turns) => turns.depart(at),
            Order::Levels(levels) => levels.depart(at),
        }
    }

    fn jobs(&self) -> &Jobs {
        match self {
            Order::Ranked(ranked) => &ranked.jobs,
            Order::Dropping(dropping) => &dropping.jobs,
            Order::Turns(turns) => &turns.jobs,
            Order::Levels(levels) => &levels.jobs,
        }
    }

    /// When the jobs inside came.
    pub(crate) fn arrivals(&self) -> Vec<Time> {
        self.jobs().entries.iter().filter(|entry| entry.inside).map(|entry| entry.arrived).collect()
    }

    /// Whether the job that had this number is still at this place.
    pub(crate) fn holds(&self, slot: u32, sequence: u32) -> bool {
        self.jobs().entries.get(slot as usize).is_some_and(|entry| entry.inside && entry.sequence as u32 == sequence)
    }

    /// Removes the job at a place that holds one.
    pub(crate) fn cancel(&mut self, now: Time, slot: u32) {
        match self {
            Order::Ranked(ranked) => ranked.cancel(now, slot),
            Order::Dropping(dropping) => dropping.cancel(now, slot),
            Order::Turns(turns) => turns.cancel(now, slot),
            Order::Levels(levels) => levels.cancel(slot),
        }
    }

    /// The clock of the station stood still for so long.
    pub(crate) fn stood(&mut self, span: Span) {
        if let Order::Dropping(dropping) = self {
            dropping.stood(span);
        }
    }

    /// The jobs that were dropped since this was asked last.
    pub(crate) fn take_dropped(&mut self) -> Vec<u64> {
        match self {
            Order::Dropping(dropping) => dropping.take_dropped(),
            Order::Ranked(_) | Order::Turns(_) | Order::Levels(_) => Vec::new(),
        }
    }

    /// Jobs inside, and how many of them are being served.
    pub(crate) fn occupancy(&self) -> (u32, u32) {
        match self {
            Order::Ranked(ranked) => ranked.occupancy(),
            Order::Dropping(dropping) => dropping.occupancy(),
            Order::Turns(turns) => turns.occupancy(),
            Order::Levels(levels) => levels.occupancy(),
        }
    }
}

/// The jobs inside.
#[derive(Clone, Debug, Default)]
struct Jobs {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    job: u64,
    sequence: u64,
    arrived: Time,
    /// When it was first served; [`Time::NEVER`] before.
    started: Time,
    /// Work to come (ns), in the units of the order.
    left: u64,
    inside: bool,
}

impl Jobs {
    fn put(&mut self, now: Time, arrival: Arrival) -> u32 {
        let Arrival { job, service, sequence, .. } = arrival;
        let entry = Entry { job, sequence, arrived: now, started: Time::NEVER, left: service.0, inside: true };
        match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        }
    }

    fn at(&mut self, slot: u32) -> &mut Entry {
        &mut self.entries[slot as usize]
    }

    fn remove(&mut self, slot: u32) {
        self.at(slot).inside = false;
        self.free.push(slot);
    }

    fn depart(&mut self, slot: u32, at: Time) -> Departure {
        let Entry { job, arrived, started, .. } = *self.at(slot);
        self.remove(slot);
        Departure { job, arrived, started, at }
    }

    fn count(&self) -> u32 {
        (self.entries.len() - self.free.len()) as u32
    }
}
