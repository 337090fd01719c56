//! The jobs of the best rank have a core each: last come, first served, and priority by class.
//!
//! A rank never changes, so a heap of the waiting jobs and a list of at most `cores` jobs in service are enough. Work
//! left is whole nanoseconds: nothing is ever rounded. O(log n) per event, and a look at every core.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_stats::{Span, Time};

use super::{Arrival, Jobs};
use crate::Departure;

#[derive(Clone, Debug)]
pub(crate) struct Ranked {
    pub(super) jobs: Jobs,
    rule: Rule,
    preemptive: bool,
    cores: usize,
    served: Vec<Served>,
    /// Entries of cancelled jobs stay until they reach the top.
    waiting: BinaryHeap<Reverse<(Rank, u32)>>,
}

/// How jobs are ranked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    NewestFirst,
    ByClass,
}

/// The lowest goes first; the last number is the job's sequence.
type Rank = (u8, u64, u64);

#[derive(Clone, Copy, Debug)]
struct Served {
    at: Time,
    sequence: u64,
    rank: Rank,
    slot: u32,
}

impl Ranked {
    pub(super) fn new(rule: Rule, preemptive: bool, cores: usize) -> Ranked {
        Ranked { jobs: Jobs::default(), rule, preemptive, cores, served: Vec::new(), waiting: BinaryHeap::new() }
    }

    pub(super) fn arrive(&mut self, now: Time, arrival: Arrival) -> u32 {
        let slot = self.jobs.put(now, arrival);
        let rank = self.rank(arrival.class, arrival.sequence);
        if self.served.len() < self.cores {
            self.start(now, slot, rank);
            return slot;
        }
        let last = self.served.iter().enumerate().max_by_key(|(_, served)| served.rank);
        match last {
            Some((core, last)) if self.preemptive && rank < last.rank => {
                let Served { at, rank: its, slot: its_slot, .. } = *last;
                self.served.swap_remove(core);
                self.jobs.at(its_slot).left = (at - now).0;
                self.waiting.push(Reverse((its, its_slot)));
                self.start(now, slot, rank);
            }
            _ => self.waiting.push(Reverse((rank, slot))),
        }
        slot
    }

    pub(super) fn due(&self) -> Time {
        self.served.iter().map(|served| served.at).min().unwrap_or(Time::NEVER)
    }

    pub(super) fn depart(&mut self, at: Time) -> Departure {
        let first = self.served.iter().enumerate().min_by_key(|(_, served)| (served.at, served.sequence));
        let (core, _) = first.expect("a departure is due only while a job is served");
        let slot = self.served.swap_remove(core).slot;
        let departure = self.jobs.depart(slot, at);
        self.start_next(at);
        departure
    }

    pub(super) fn cancel(&mut self, now: Time, slot: u32) {
        self.jobs.remove(slot);
        if let Some(core) = self.served.iter().position(|served| served.slot == slot) {
            self.served.swap_remove(core);
            self.start_next(now);
        }
    }

    pub(super) fn occupancy(&self) -> (u32, u32) {
        (self.jobs.count(), self.served.len() as u32)
    }

    fn rank(&self, class: u8, sequence: u64) -> Rank {
        match self.rule {
            Rule::NewestFirst => (0, u64::MAX - sequence, sequence),
            Rule::ByClass => (class, sequence, sequence),
        }
    }

    fn start(&mut self, now: Time, slot: u32, rank: Rank) {
        let entry = self.jobs.at(slot);
        entry.started = entry.started.min(now);
        let served = Served { at: now + Span(entry.left), sequence: entry.sequence, rank, slot };
        self.served.push(served);
    }

    /// Gives a free core to the first waiting job.
    fn start_next(&mut self, now: Time) {
        while let Some(Reverse((rank, slot))) = self.waiting.pop() {
            let entry = *self.jobs.at(slot);
            if entry.inside && entry.sequence == rank.2 {
                return self.start(now, slot, rank);
            }
        }
    }
}
