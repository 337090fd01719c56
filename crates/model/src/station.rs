//! A server's queue and processor as a sans-I/O state machine.
//!
//! One machine serves all disciplines that share: at most `helpers` jobs share `cores` cores equally, behind a FIFO
//! queue. FCFS is helpers = cores, PS is helpers without bound. (Disciplines that do not share in order of arrival, as
//! priorities, leave the order of service to an [`Order`]; then only the accounting is done here.) Sharing is kept by
//! virtual time (Zhang 1990; for generalised PS Parekh and Gallager 1993). V is the work that a permanent job would
//! have got. A job that starts at V with demand s leaves at V + s, and a heap on that finish gives O(log n) per event
//! for any number of jobs.
//!
//! V is in units of 2^-32 ns and a departure is rounded up to the next nanosecond, so that no work is lost. V is
//! rounded down at each event, and this loss must not push a departure into the next nanosecond either: less than 2^-16
//! ns of work left counts as none. If no core is ever shared, V is the clock, no division is made, and the departure is
//! known when service starts: V is not kept at all. A delay curve is PS with a core for each job, where the curve gives
//! the service time from the number of jobs found; it counts as busy while a job is inside, as its number of cores is
//! unknown. Cancelled jobs stay in the heap as tombstones until they reach the top or outnumber the other jobs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use sojourn_stats::{Span, Time, prefetch};

use crate::{DelayCurve, Discipline};

mod order;
mod predict;
mod queue;
mod sharing;

use self::order::{Arrival, Order};
pub use self::predict::Knowledge;

/// A job's place in a station, valid until it departs or is cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ticket {
    slot: u32,
    /// The job's arrival number, so that the ticket of a job that has left matches no job.
    sequence: u32,
}

/// The result of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Being served, or waiting.
    Admitted(Ticket),
    /// The station is full; the job is not in it.
    Denied,
}

/// A job that has just finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The caller's own number for the job.
    pub job: u64,
    /// When it arrived.
    pub arrived: Time,
    /// When its service began (it waited `started - arrived`).
    pub started: Time,
    /// When it finished: the station's own event time, never a wake-up time.
    pub at: Time,
}

/// A station: `cores` cores shared under a [`Discipline`].
///
/// With thousands of stations, the station of an event is seldom in the CPU cache. So an arrival that has to wait reads
/// two of its cache lines and only writes to `jobs`; a departure finds the leaving job in a third line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Station {
    /// When the next departure is due; [`Time::NEVER`] if no job is served.
    next: Time,
    /// The instant up to which `attained` and `busy` are known.
    clock: Time,
    /// Virtual time V in 2^-32 ns; kept only where cores are shared.
    attained: u128,
    /// Of the jobs in service, the one that leaves first, if any.
    soonest: Finish,
    /// Core time spent (ns).
    busy: u64,
    jobs: Vec<Job>,
    /// Arrivals so far.
    sequence: u64,
    /// Which of the first places in `jobs` are free, a bit each.
    free: u32,
    /// 0 if an [`Order`] decides the order of service.
    helpers: u32,
    /// [`UNSHARED`] under a delay curve.
    cores: u32,
    capacity: u32,
    /// Jobs being served, not counting tombstones.
    serving: u32,
    waiting: u32,
    /// First and last of the waiting jobs, a list through `jobs`.
    first: u32,
    last: u32,
    /// The job of `soonest`.
    leaver: Leaver,
    /// The others being served.
    later: BinaryHeap<Reverse<Finish>>,
    /// Entries, `soonest` among them, of jobs that were cancelled.
    tombstones: u32,
    /// Head of the list of the other free places in `jobs`.
    free_above: u32,
    special: Option<Box<Special>>,
}

/// Fields that few stations have; in a box, so that the other stations stay small.
#[derive(Clone, Debug)]
enum Special {
    Curve(Arc<DelayCurve>),
    Order(Order),
}

const _: () = assert!(std::mem::offset_of!(Station, leaver) == 128 && size_of::<Station>() == 192);

#[derive(Clone, Copy, Debug)]
struct Leaver {
    job: u64,
    arrived: Time,
    started: Time,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    job: u64,
    arrived: Time,
    phase: Phase,
    sequence: u32,
    /// Neighbours in the queue; `after` also links free places.
    before: u32,
    after: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Free,
    /// With this service time.
    Waiting(Span),
    /// Since this instant.
    Served(Time),
}

/// When a job leaves, in virtual time: compared by instant, then by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finish {
    ns: u64,
    fraction: u32,
    sequence: u64,
    slot: u32,
}

const NO_SLOT: u32 = u32::MAX;

/// A core for each job.
const UNSHARED: u32 = u32::MAX;

/// The finish of no job: after all others.
const NEVER: Finish = Finish { ns: u64::MAX, fraction: u32::MAX, sequence: u64::MAX, slot: NO_SLOT };

impl Station {
    /// An empty station.
    ///
    /// # Panics
    /// If [`Discipline::check`] refuses it: a station without cores could serve no job.
    pub fn new(discipline: Discipline, cores: u32, capacity: Option<u32>) -> Station {
        if let Err(fault) = discipline.check(cores) {
            panic!("{fault}");
        }
        let order = Order::of(&discipline, cores).map(Special::Order);
        let (helpers, cores, special) = match discipline {
            Discipline::Fcfs => (cores, cores, None),
            Discipline::Ps => (u32::MAX, cores, None),
            Discipline::LimitedPs { helpers } => (helpers, cores, None),
            Discipline::DelayCurve(curve) => (u32::MAX, UNSHARED, Some(Special::Curve(curve))),
            Discipline::LeastAttained
            | Discipline::RoundRobin { .. }
            | Discipline::TimeSlices { .. }
            | Discipline::Lcfs { .. }
            | Discipline::Dropping { .. }
            | Discipline::Priority { .. } => (0, cores, order),
        };
        Station {
            next: Time::NEVER,
            clock: Time::ZERO,
            attained: 0,
            soonest: NEVER,
            busy: 0,
            jobs: Vec::new(),
            sequence: 0,
            free: 0,
            helpers,
            cores,
            capacity: capacity.unwrap_or(NO_SLOT - 1),
            serving: 0,
            waiting: 0,
            first: NO_SLOT,
            last: NO_SLOT,
            leaver: Leaver { job: 0, arrived: Time::ZERO, started: Time::ZERO },
            later: BinaryHeap::new(),
            tombstones: 0,
            free_above: NO_SLOT,
            special: special.map(Box::new),
        }
    }

    /// Job number `job` of `service` core time (which a delay curve replaces) arrives at `now`. Every departure due
    /// before or at `now` must have been taken with [`Station::depart`] first. O(log n).
    ///
    /// # Panics
    /// When a departure due before `now` was not taken, or time runs backwards.
    #[inline]
    pub fn arrive(&mut self, now: Time, job: u64, service: Span) -> Admission {
        self.arrive_of(0, now, job, service)
    }

    /// The same for a job of class number `class`, which decides its priority. Every request passes here and [`Station::depart`]
    /// once, so both are always inlined.
    ///
    /// # Panics
    /// As [`Station::arrive`].
    #[inline(always)]
    pub fn arrive_of(&mut self, class: u8, now: Time, job: u64, service: Span) -> Admission {
        self.arrive_until(Time::NEVER, class, now, job, service)
    }

    /// The same for a job whose client gives it up at `deadline`, which some disciplines look at ([`crate::Drops`]).
    ///
    /// # Panics
    /// As [`Station::arrive`].
    #[inline(always)]
    pub fn arrive_until(&mut self, deadline: Time, class: u8, now: Time, job: u64, service: Span) -> Admission {
        if self.helpers == 0 {
            return self.arrive_in_order(deadline, class, now, job, service);
        }
        self.advance(now);
        if self.serving + self.waiting >= self.capacity {
            return Admission::Denied;
        }
        let service = if self.cores == UNSHARED { self.stay(service) } else { service };
        let sequence = self.sequence;
        self.sequence += 1;
        let ticket = sequence as u32;
        let phase = Phase::Waiting(service);
        let slot = self.keep(Job { job, arrived: now, phase, sequence: ticket, before: NO_SLOT, after: NO_SLOT });
        if self.serving < self.helpers {
            self.start(slot, Leaver { job, arrived: now, started: now }, service, sequence);
            self.schedule();
        } else {
            self.enqueue(slot);
        }
        Admission::Admitted(Ticket { slot, sequence: ticket })
    }

    /// Time in the station of a job that arrives now.
    fn stay(&self, service: Span) -> Span {
        match self.special.as_deref() {
            Some(Special::Curve(curve)) => curve.stay(self.serving + 1),
            _ => service,
        }
    }

    fn arrive_in_order(&mut self, deadline: Time, class: u8, now: Time, job: u64, service: Span) -> Admission {
        self.advance_order(now);
        if self.serving + self.waiting >= self.capacity {
            return Admission::Denied;
        }
        let sequence = self.sequence;
        self.sequence += 1;
        let slot = self.order().arrive(now, Arrival { job, class, service, sequence, deadline });
        self.look(now);
        Admission::Admitted(Ticket { slot, sequence: sequence as u32 })
    }

    fn depart_in_order(&mut self, at: Time) -> Departure {
        self.advance_order(at);
        let departure = self.order().depart(at);
        self.look(at);
        departure
    }

    fn order(&mut self) -> &mut Order {
        match self.special.as_deref_mut() {
            Some(Special::Order(order)) => order,
            _ => unreachable!("without helpers there is an order"),
        }
    }

    fn advance_order(&mut self, now: Time) {
        let before = self.clock;
        self.advance(now);
        self.order().advance(now - before, now);
    }

    /// Copies the next departure and the numbers of jobs from an order.
    fn look(&mut self, now: Time) {
        let order = self.order();
        let ((inside, serving), next) = (order.occupancy(), order.due(now));
        (self.serving, self.waiting, self.next) = (serving, inside - serving, next);
    }

    /// When the next departure is due, if nothing else happens before.
    #[inline]
    pub fn next_departure(&self) -> Option<Time> {
        (self.next != Time::NEVER).then_some(self.next)
    }

    /// The caller's number of the job that departs next. Any number where none is served, or where the discipline does
    /// not serve in order of arrival: it is for [`sojourn_stats::prefetch`] only.
    #[inline]
    pub fn next_job(&self) -> u64 {
        self.leaver.job
    }

    /// Asks for the cache lines that [`Station::depart`] will read.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(&self.next);
        prefetch(&self.sequence);
        prefetch(&self.leaver);
    }

    /// Asks for the places of the jobs that [`Station::depart`] will move, once [`Station::prefetch`] has had its time.
    #[inline(always)]
    pub fn prefetch_jobs(&self) {
        for slot in [self.soonest.slot, self.first] {
            if let Some(job) = self.jobs.get(slot as usize) {
                prefetch(job);
            }
        }
    }

    /// Takes the next departure that is due at or before `now`; O(log n). Jobs finished within the same nanosecond
    /// leave in the order of their exact finishes, and in order of arrival where these are equal.
    #[inline(always)]
    pub fn depart(&mut self, now: Time) -> Option<Departure> {
        let at = self.next;
        if at > now || at == Time::NEVER {
            return None;
        }
        if self.helpers == 0 {
            return Some(self.depart_in_order(at));
        }
        self.advance(at);
        let slot = self.soonest.slot;
        assert!(slot != NO_SLOT, "a departure is due only while a job is served");
        let Leaver { job, arrived, started } = self.leaver;
        self.release(slot);
        self.serving -= 1;
        self.find_soonest();
        if self.waiting > 0 {
            self.start_next(at);
        }
        self.schedule();
        Some(Departure { job, arrived, started, at })
    }

    /// Removes a job that its client gave up. The work done for it is lost. A ticket that is no longer valid is
    /// ignored. O(1) for a job that waits, O(log n) for one in service, O(n) under round robin and least attained
    /// service.
    pub fn cancel(&mut self, now: Time, ticket: Ticket) {
        if self.helpers == 0 {
            if self.order().holds(ticket.slot, ticket.sequence) {
                self.advance_order(now);
                self.order().cancel(now, ticket.slot);
                self.look(now);
            }
            return;
        }
        let Some(&Job { phase, sequence, .. }) = self.jobs.get(ticket.slot as usize) else { return };
        if phase == Phase::Free || sequence != ticket.sequence {
            return;
        }
        self.advance(now);
        if matches!(phase, Phase::Waiting(_)) {
            self.dequeue(ticket.slot);
            self.release(ticket.slot);
            return;
        }
        self.release(ticket.slot);
        self.serving -= 1;
        if self.soonest.slot == ticket.slot {
            self.find_soonest();
        } else {
            self.tombstones += 1;
            self.bury();
        }
        if self.waiting > 0 {
            self.start_next(now);
        }
        self.schedule();
    }

    /// The clock that this station's caller keeps for it stood still for so long, and goes on: the deadlines of the jobs
    /// inside are so much nearer on it.
    pub fn stood(&mut self, span: Span) {
        if self.helpers == 0 {
            self.order().stood(span);
        }
    }

    /// The caller's numbers of the jobs that were dropped since this was asked last; ask after each arrival, departure and
    /// cancellation. Only [`Discipline::Dropping`] drops any.
    pub fn take_dropped(&mut self) -> Vec<u64> {
        if self.helpers == 0 { self.order().take_dropped() } else { Vec::new() }
    }

    /// Jobs inside, and how many of them are being served.
    #[inline]
    pub fn occupancy(&self) -> (u32, u32) {
        (self.serving + self.waiting, self.serving)
    }

    /// When the jobs inside came, in any order.
    pub fn arrivals(&self) -> Vec<Time> {
        match self.special.as_deref() {
            Some(Special::Order(order)) => order.arrivals(),
            _ => self.jobs.iter().filter(|job| job.phase != Phase::Free).map(|job| job.arrived).collect(),
        }
    }

    /// Its cores; 1 under a delay curve, of which nothing is known of them.
    pub fn cores(&self) -> u32 {
        if self.cores == UNSHARED { 1 } else { self.cores }
    }

    /// Core time spent so far up to `now`: utilisation is this over cores x elapsed. Under a delay curve, time with
    /// jobs inside.
    ///
    /// # Panics
    /// When `now` is before the last event.
    pub fn busy(&self, now: Time) -> Span {
        Span(self.busy + (now - self.clock).0 * u64::from(self.busy_cores()))
    }

    #[inline]
    fn busy_cores(&self) -> u32 {
        self.serving.min(self.cores())
    }
}
