//! A queue that drops jobs when their turn comes: those past their deadline, those that would miss it, or by CoDel.
//!
//! What is dropped gets no answer. It leaves when its turn comes, not at its deadline: until then it is in the queue as any
//! other job. The numbers of dropped jobs are kept until the caller takes them. The deadlines are instants of the station's
//! clock; one that stood still moves them ([`Dropping::stood`]), as does the instant since which a job has waited.
//!
//! CoDel as folly has it (`folly/executors/Codel.cpp`, `Codel::overloaded`): a wait begins a new interval when the last one is
//! over; the first of an interval decides from the shortest wait of the last one whether the server is overloaded, and while
//! it is, what has waited for more than twice the target is dropped. Waits are looked at when service would begin. The first
//! interval is never one of overload.

use std::collections::VecDeque;

use sojourn_stats::{Span, Time};

use super::{Arrival, Jobs};
use crate::{Departure, Drops};

#[derive(Clone, Debug)]
pub(crate) struct Dropping {
    pub(super) jobs: Jobs,
    newest_first: bool,
    rule: Rule,
    cores: usize,
    served: Vec<Served>,
    /// In order of arrival; entries of cancelled jobs stay until their turn.
    waiting: VecDeque<Waiting>,
    /// The caller's numbers of jobs that were dropped.
    dropped: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Rule {
    Expired,
    TooLate,
    CoDel { target: Span, interval: Span, shortest: Span, until: Time, is_overloaded: bool, is_reset: bool },
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    slot: u32,
    sequence: u64,
    since: Time,
    deadline: Time,
}

#[derive(Clone, Copy, Debug)]
struct Served {
    at: Time,
    sequence: u64,
    slot: u32,
}

impl Dropping {
    pub(super) fn new(newest_first: bool, drops: Drops, cores: usize) -> Dropping {
        let rule = match drops {
            Drops::Expired => Rule::Expired,
            Drops::TooLate => Rule::TooLate,
            Drops::CoDel { target, interval } => {
                let (shortest, until) = (Span::ZERO, Time::ZERO);
                Rule::CoDel { target, interval, shortest, until, is_overloaded: false, is_reset: true }
            }
        };
        let (jobs, served, waiting, dropped) = (Jobs::default(), Vec::new(), VecDeque::new(), Vec::new());
        Dropping { jobs, newest_first, rule, cores, served, waiting, dropped }
    }

    pub(super) fn arrive(&mut self, now: Time, arrival: Arrival) -> u32 {
        let slot = self.jobs.put(now, arrival);
        let (sequence, deadline) = (arrival.sequence, arrival.deadline);
        self.waiting.push_back(Waiting { slot, sequence, since: now, deadline });
        self.start_next(now);
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

    /// The clock of the station stood still for so long: deadlines are so much nearer on it, and waits so much longer.
    pub(super) fn stood(&mut self, span: Span) {
        let earlier = |at: Time| if at == Time::NEVER { at } else { Time(at.0.saturating_sub(span.0)) };
        for waiting in &mut self.waiting {
            (waiting.since, waiting.deadline) = (earlier(waiting.since), earlier(waiting.deadline));
        }
        if let Rule::CoDel { until, .. } = &mut self.rule {
            *until = earlier(*until);
        }
    }

    /// The jobs that were dropped since this was asked last.
    pub(super) fn take_dropped(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.dropped)
    }

    /// Gives free cores to the jobs whose turn it is.
    fn start_next(&mut self, now: Time) {
        while self.served.len() < self.cores {
            let next = if self.newest_first { self.waiting.pop_back() } else { self.waiting.pop_front() };
            let Some(next) = next else { return };
            let entry = *self.jobs.at(next.slot);
            if !entry.inside || entry.sequence != next.sequence {
                continue;
            }
            if self.rule.drops(now, &next, Span(entry.left)) {
                self.dropped.push(entry.job);
                self.jobs.remove(next.slot);
                continue;
            }
            self.jobs.at(next.slot).started = now;
            let at = now + Span(entry.left);
            self.served.push(Served { at, sequence: next.sequence, slot: next.slot });
        }
    }
}

impl Rule {
    fn drops(&mut self, now: Time, waiting: &Waiting, service: Span) -> bool {
        match self {
            Rule::Expired => now > waiting.deadline,
            Rule::TooLate => waiting.deadline != Time::NEVER && now + service > waiting.deadline,
            Rule::CoDel { target, interval, shortest, until, is_overloaded, is_reset } => {
                let waited = now - waiting.since;
                if now > *until && !*is_reset {
                    *is_reset = true;
                    *until = now + *interval;
                    *is_overloaded = *shortest > *target;
                }
                if *is_reset {
                    *is_reset = false;
                    *shortest = waited;
                    return false;
                }
                *shortest = (*shortest).min(waited);
                *is_overloaded && waited > Span(2 * target.0)
            }
        }
    }
}
