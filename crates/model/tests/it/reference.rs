//! Limited PS by its definition: after every event each of the n jobs served gets min(1, cores / n) of a core, in exact
//! rational arithmetic and O(n) per event. A job leaves at the first whole nanosecond at which it has all it needs.

use std::collections::HashSet;

use sojourn_model::{Admission, Departure, Discipline, Station, Ticket};
use sojourn_stats::{Span, Stream, Time};

/// Work is counted in units of 1/SCALE ns: divisible by every number of jobs up to `MOST`, so that shares are exact.
const MOST: u64 = 12;
const SCALE: u128 = 27_720; // lcm(1, ..., 12)

struct Job {
    number: u64,
    arrived: u64,
    started: u64,
    left: u128,
}

struct Reference {
    helpers: usize,
    cores: u128,
    capacity: usize,
    clock: u64,
    served: Vec<Job>,
    queue: Vec<Job>,
}

impl Reference {
    fn rate(&self) -> u128 {
        let jobs = self.served.len() as u128;
        assert!(jobs <= u128::from(MOST), "shares must be exact");
        if jobs <= self.cores { SCALE } else { SCALE * self.cores / jobs }
    }

    fn next(&self) -> Option<u64> {
        let least = self.served.iter().map(|job| job.left).min()?;
        Some(self.clock + u64::try_from(least.div_ceil(self.rate())).unwrap())
    }

    fn advance(&mut self, now: u64) {
        let got = u128::from(now - self.clock) * if self.served.is_empty() { 0 } else { self.rate() };
        for job in &mut self.served {
            job.left = job.left.saturating_sub(got);
        }
        self.clock = now;
    }

    fn fill(&mut self) {
        while self.served.len() < self.helpers && !self.queue.is_empty() {
            let mut job = self.queue.remove(0);
            job.started = self.clock;
            self.served.push(job);
        }
    }

    fn arrive(&mut self, now: u64, number: u64, service: u64) -> bool {
        self.advance(now);
        if self.served.len() + self.queue.len() >= self.capacity {
            return false;
        }
        self.queue.push(Job { number, arrived: now, started: now, left: u128::from(service) * SCALE });
        self.fill();
        true
    }

    fn depart(&mut self, now: u64) -> Option<Departure> {
        let at = self.next().filter(|at| *at <= now)?;
        self.advance(at);
        let index = self.served.iter().position(|job| job.left == 0).unwrap();
        let job = self.served.remove(index);
        self.fill();
        Some(Departure { job: job.number, arrived: Time(job.arrived), started: Time(job.started), at: Time(at) })
    }

    fn cancel(&mut self, now: u64, number: u64) {
        self.advance(now);
        self.served.retain(|job| job.number != number);
        self.queue.retain(|job| job.number != number);
        self.fill();
    }
}

/// Random small cases: few jobs with short demands, so that simultaneous arrivals, departures and both at once are common.
/// Departures within one nanosecond are compared as a set: their exact order is the station's to know.
#[test]
fn agrees_with_the_definition_on_random_small_cases() {
    let mut stream = Stream::new(1, "reference", "cases");
    for case in 0..4000 {
        let cores = 1 + stream.below(3) as u32;
        let discipline = match stream.below(3) {
            0 => Discipline::Fcfs,
            1 => Discipline::Ps,
            _ => Discipline::LimitedPs { helpers: 1 + stream.below(5) as u32 },
        };
        let capacity = if stream.below(2) == 0 { 1 + stream.below(8) as u32 } else { MOST as u32 };
        let helpers = match discipline {
            Discipline::Fcfs => cores as usize,
            Discipline::Ps => usize::MAX,
            Discipline::LimitedPs { helpers } => helpers as usize,
            _ => unreachable!("not drawn"),
        };
        let mut reference = Reference {
            helpers,
            cores: u128::from(cores),
            capacity: capacity as usize,
            clock: 0,
            served: Vec::new(),
            queue: Vec::new(),
        };
        let mut station = Station::new(discipline.clone(), cores, Some(capacity));
        let label = format!("case {case}: {discipline:?}, {cores} cores, capacity {capacity}");
        let mut tickets: Vec<(u64, Ticket)> = Vec::new();
        let mut gone = HashSet::new();
        let mut now = 0;
        for number in 0..60 {
            now += stream.below(6) as u64;
            let (mut expected, mut got) = (Vec::new(), Vec::new());
            while let Some(departure) = reference.depart(now) {
                expected.push(departure);
            }
            while let Some(departure) = station.depart(Time(now)) {
                got.push(departure);
            }
            gone.extend(got.iter().map(|departure| departure.job));
            expected.sort_by_key(|d| (d.at, d.job));
            got.sort_by_key(|d| (d.at, d.job));
            assert_eq!(got, expected, "{label}, at {now}");
            if stream.below(5) == 0 && !tickets.is_empty() {
                let (job, ticket) = tickets.swap_remove(stream.below(tickets.len()));
                station.cancel(Time(now), ticket);
                reference.cancel(now, job);
                // A ticket is good once, and never names a later job in the same place.
                station.cancel(Time(now), ticket);
                // The job that takes the place may be due at once (no work): its departure is taken first.
                continue;
            }
            let service = stream.below(20) as u64;
            let admitted = reference.arrive(now, number, service);
            match station.arrive(Time(now), number, Span(service)) {
                Admission::Admitted(ticket) => {
                    assert!(admitted, "{label}: {number} is denied by the definition");
                    tickets.push((number, ticket));
                }
                Admission::Denied => assert!(!admitted, "{label}: {number} is admitted by the definition"),
            }
            let inside = reference.served.len() + reference.queue.len();
            assert_eq!(station.occupancy(), (inside as u32, reference.served.len() as u32), "{label}");
            assert_eq!(station.next_departure().map(|at| at.0), reference.next(), "{label}, after {number}");
        }
        assert!(!gone.is_empty() || capacity == 0);
    }
}
