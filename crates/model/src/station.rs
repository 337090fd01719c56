//! A server's queue and processor as a sans-I/O state machine.
//!
//! One machine serves all three disciplines: at most `helpers` jobs share `cores` cores equally, a FIFO queue in front.
//! FCFS is helpers = cores, PS is helpers without bound. Sharing is kept by virtual time (Zhang 1990; for generalised
//! PS Parekh and Gallager 1993): V is the work that a job present all along would have got, a job that starts at V with
//! demand s leaves at V + s, and a heap on that finish gives O(log n) per event however many jobs share.
//!
//! V is in units of 2^-32 ns and a departure is rounded up to the next nanosecond, so that no work is lost. What V loses
//! by being rounded down at each event must not push a departure into the next nanosecond either: less than 2^-16 ns of
//! work left is none. Where a core is never shared V is the clock, no division is made, and the departure is known when
//! service starts. Cancelled jobs stay in the heap as tombstones until they surface or outnumber the living.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_stats::{Span, Time};

use crate::Discipline;

/// A job's place in a station, valid until it departs or is cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ticket {
    slot: u32,
    /// The job's arrival number, so that the ticket of a job that has left names nobody.
    sequence: u32,
}

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
pub struct Station {
    helpers: u32,
    cores: u32,
    capacity: u32,
    /// Jobs being served, not counting tombstones.
    serving: u32,
    waiting: u32,
    /// When the next departure is due; [`Time::NEVER`] when nobody is served.
    next: Time,
    /// The instant up to which `attained` and `busy` are known.
    clock: Time,
    /// Virtual time V in 2^-32 ns.
    attained: u128,
    /// Core time spent (ns).
    busy: u64,
    /// Arrivals so far.
    sequence: u64,
    jobs: Vec<Job>,
    /// Head of the list of free places in `jobs`.
    free: u32,
    /// First and last of those waiting, a list through `jobs`.
    first: u32,
    last: u32,
    /// Who leaves first (of those being served, if any), and all others. Most stations never have others, and then the
    /// heap's memory is never looked at.
    soonest: Finish,
    later: BinaryHeap<Reverse<Finish>>,
}

#[derive(Clone, Debug)]
struct Job {
    job: u64,
    arrived: Time,
    started: Time,
    service: Span,
    sequence: u64,
    /// Neighbours in the queue; `after` also links free places.
    before: u32,
    after: u32,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Free,
    Waiting,
    Served,
}

/// When a job leaves, in virtual time: compared by instant, then by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finish {
    ns: u64,
    fraction: u32,
    sequence: u64,
    slot: u32,
}

const NOBODY: u32 = u32::MAX;

/// The finish of nobody: after all others.
const NEVER: Finish = Finish { ns: u64::MAX, fraction: u32::MAX, sequence: u64::MAX, slot: NOBODY };

/// Work that counts as none, in 2^-32 ns: what rounding V down may take within 65,536 events.
const SLACK: u128 = 1 << 16;

impl Station {
    /// An empty station.
    ///
    /// # Panics
    /// Without cores or helpers: such a station would never serve anybody.
    pub fn new(discipline: Discipline, cores: u32, capacity: Option<u32>) -> Station {
        let helpers = match discipline {
            Discipline::Fcfs => cores,
            Discipline::Ps => u32::MAX,
            Discipline::LimitedPs { helpers } => helpers,
        };
        assert!(cores > 0 && helpers > 0, "a station has a core and a helper");
        Station {
            helpers,
            cores,
            capacity: capacity.unwrap_or(NOBODY - 1),
            serving: 0,
            waiting: 0,
            next: Time::NEVER,
            clock: Time::ZERO,
            attained: 0,
            busy: 0,
            sequence: 0,
            jobs: Vec::new(),
            free: NOBODY,
            first: NOBODY,
            last: NOBODY,
            soonest: NEVER,
            later: BinaryHeap::new(),
        }
    }

    /// Job number `job` of `service` core time arrives at `now`. Every departure due before or at `now` must have been
    /// taken with [`Station::depart`] first. O(log n).
    ///
    /// # Panics
    /// When a departure due before `now` was not taken, or time runs backwards.
    #[inline]
    pub fn arrive(&mut self, now: Time, job: u64, service: Span) -> Admission {
        self.advance(now);
        if self.serving + self.waiting >= self.capacity {
            return Admission::Denied;
        }
        let sequence = self.sequence;
        self.sequence += 1;
        let entry = Job {
            job,
            arrived: now,
            started: now,
            service,
            sequence,
            before: NOBODY,
            after: NOBODY,
            place: Place::Served,
        };
        let slot = self.keep(entry);
        if self.serving < self.helpers {
            self.start(slot, now);
            self.schedule();
        } else {
            self.enqueue(slot);
        }
        Admission::Admitted(Ticket { slot, sequence: sequence as u32 })
    }

    /// When the next departure is due, if nothing else happens before.
    #[inline]
    pub fn next_departure(&self) -> Option<Time> {
        (self.next != Time::NEVER).then_some(self.next)
    }

    /// Takes the next departure that is due at or before `now`; O(log n). Jobs finished within the same nanosecond leave
    /// in the order of their exact finishes, and in order of arrival where these are equal.
    #[inline]
    pub fn depart(&mut self, now: Time) -> Option<Departure> {
        let at = self.next;
        if at > now || at == Time::NEVER {
            return None;
        }
        self.advance(at);
        let finish = self.soonest;
        assert!(finish.slot != NOBODY, "a departure is due only while somebody is served");
        self.soonest = self.next_later();
        let job = &self.jobs[finish.slot as usize];
        let departure = Departure { job: job.job, arrived: job.arrived, started: job.started, at };
        self.release(finish.slot);
        self.serving -= 1;
        self.bury();
        if self.waiting > 0 {
            self.start_next(at);
        }
        self.schedule();
        Some(departure)
    }

    /// Removes a job that its client gave up. What was done for it is lost. A ticket that is no longer valid is ignored.
    /// O(1) for a job that waits, O(log n) for one being served.
    pub fn cancel(&mut self, now: Time, ticket: Ticket) {
        let Some(job) = self.jobs.get(ticket.slot as usize) else { return };
        if job.place == Place::Free || job.sequence as u32 != ticket.sequence {
            return;
        }
        self.advance(now);
        if self.jobs[ticket.slot as usize].place == Place::Waiting {
            self.dequeue(ticket.slot);
            self.release(ticket.slot);
            return;
        }
        self.release(ticket.slot);
        self.serving -= 1;
        self.bury();
        if self.waiting > 0 {
            self.start_next(now);
        }
        self.schedule();
    }

    /// Jobs inside, and how many of them are being served.
    #[inline]
    pub fn occupancy(&self) -> (u32, u32) {
        (self.serving + self.waiting, self.serving)
    }

    /// Core time spent so far up to `now`: utilisation is this over cores x elapsed.
    ///
    /// # Panics
    /// When `now` is before the last event.
    pub fn busy(&self, now: Time) -> Span {
        Span(self.busy + (now - self.clock).0 * u64::from(self.serving.min(self.cores)))
    }

    /// Brings V and the busy time up to `now`.
    #[inline]
    fn advance(&mut self, now: Time) {
        assert!(now >= self.clock && now <= self.next, "a station's time goes on, departure by departure");
        let elapsed = now.0 - self.clock.0;
        self.clock = now;
        if elapsed == 0 {
            return;
        }
        if self.serving <= self.cores {
            self.busy += elapsed * u64::from(self.serving);
            self.attained += u128::from(elapsed) << 32;
        } else {
            self.busy += elapsed * u64::from(self.cores);
            self.attained += share(elapsed, self.cores, self.serving);
        }
    }

    /// Says when the next departure is due, at the present number of jobs.
    #[inline]
    fn schedule(&mut self) {
        if self.soonest.slot == NOBODY {
            self.next = Time::NEVER;
            return;
        }
        let left = self.soonest.instant().saturating_sub(self.attained + SLACK);
        let wait = if self.serving <= self.cores {
            ns_up(left)
        } else {
            // ceil(ceil(x / 2^32) / cores) = ceil(x / (2^32 cores)).
            let shared = ns_up(left * u128::from(self.serving));
            if self.cores == 1 { shared } else { shared.div_ceil(u64::from(self.cores)) }
        };
        self.next = self.clock + Span(wait);
    }

    #[inline]
    fn start(&mut self, slot: u32, now: Time) {
        let job = &mut self.jobs[slot as usize];
        job.started = now;
        job.place = Place::Served;
        let finish = self.attained + (u128::from(job.service.0) << 32);
        let finish = Finish { ns: (finish >> 32) as u64, fraction: finish as u32, sequence: job.sequence, slot };
        self.serving += 1;
        if finish < self.soonest {
            if self.soonest.slot != NOBODY {
                self.later.push(Reverse(self.soonest));
            }
            self.soonest = finish;
        } else {
            self.later.push(Reverse(finish));
        }
    }

    #[inline]
    fn next_later(&mut self) -> Finish {
        if self.later.is_empty() {
            return NEVER;
        }
        self.later.pop().map_or(NEVER, |Reverse(finish)| finish)
    }

    #[inline]
    fn start_next(&mut self, now: Time) {
        let slot = self.first;
        self.dequeue(slot);
        self.start(slot, now);
    }

    /// Removes the tombstones that have come to the top, and all of them once they are the most.
    #[inline]
    fn bury(&mut self) {
        let entries = self.later.len() + usize::from(self.soonest.slot != NOBODY);
        if entries == self.serving as usize {
            return;
        }
        if entries > 64 + 2 * self.serving as usize {
            let Station { later, jobs, .. } = self;
            later.retain(|Reverse(finish)| !is_dead(jobs, finish));
        }
        while self.soonest.slot != NOBODY && is_dead(&self.jobs, &self.soonest) {
            self.soonest = self.next_later();
        }
    }

    #[inline]
    fn keep(&mut self, job: Job) -> u32 {
        if self.free == NOBODY {
            self.jobs.push(job);
            return (self.jobs.len() - 1) as u32;
        }
        let slot = self.free;
        let place = &mut self.jobs[slot as usize];
        self.free = place.after;
        *place = job;
        slot
    }

    #[inline]
    fn release(&mut self, slot: u32) {
        let job = &mut self.jobs[slot as usize];
        job.place = Place::Free;
        job.after = self.free;
        self.free = slot;
    }

    #[inline]
    fn enqueue(&mut self, slot: u32) {
        let job = &mut self.jobs[slot as usize];
        job.place = Place::Waiting;
        job.before = self.last;
        job.after = NOBODY;
        match self.last {
            NOBODY => self.first = slot,
            last => self.jobs[last as usize].after = slot,
        }
        self.last = slot;
        self.waiting += 1;
    }

    #[inline]
    fn dequeue(&mut self, slot: u32) {
        let Job { before, after, .. } = self.jobs[slot as usize];
        match before {
            NOBODY => self.first = after,
            before => self.jobs[before as usize].after = after,
        }
        match after {
            NOBODY => self.last = before,
            after => self.jobs[after as usize].before = before,
        }
        self.waiting -= 1;
    }
}

impl Finish {
    #[inline]
    fn instant(&self) -> u128 {
        u128::from(self.ns) << 32 | u128::from(self.fraction)
    }
}

/// Whether the job of an entry has left by being cancelled.
fn is_dead(jobs: &[Job], finish: &Finish) -> bool {
    let job = &jobs[finish.slot as usize];
    job.place != Place::Served || job.sequence != finish.sequence
}

/// floor(2^32 x elapsed x cores / jobs), by two 64-bit divisions instead of one of 128 bits.
#[inline]
fn share(elapsed: u64, cores: u32, jobs: u32) -> u128 {
    let jobs = u64::from(jobs);
    match elapsed.checked_mul(u64::from(cores)) {
        Some(work) => {
            let (whole, rest) = (work / jobs, work % jobs);
            u128::from(whole) << 32 | u128::from((rest << 32) / jobs)
        }
        None => ((u128::from(elapsed) * u128::from(cores)) << 32) / u128::from(jobs),
    }
}

/// 2^-32 ns to nanoseconds, rounded up; more than 584 years is never.
#[inline]
fn ns_up(fixed: u128) -> u64 {
    let ns = (fixed >> 32) + u128::from(fixed as u32 != 0);
    u64::try_from(ns).unwrap_or(u64::MAX)
}
