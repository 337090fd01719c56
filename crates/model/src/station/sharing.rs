//! Cores shared by virtual time: what V is, who leaves first, and when that is due.

use std::cmp::Reverse;

use sojourn_stats::{Span, Time};

use super::{Finish, Job, Leaver, NEVER, NO_SLOT, Phase, Station};

/// Work that counts as none, in 2^-32 ns: the most that rounding V down loses within 65,536 events.
pub(super) const SLACK: u128 = 1 << 16;

impl Station {
    /// Brings V and the busy time up to `now`.
    #[inline]
    pub(super) fn advance(&mut self, now: Time) {
        assert!(now >= self.clock && now <= self.next, "a station's time goes on, departure by departure");
        let elapsed = now.0 - self.clock.0;
        self.clock = now;
        if elapsed == 0 {
            return;
        }
        if self.serving <= self.cores {
            self.busy += elapsed * u64::from(self.busy_cores());
            if self.shares() {
                self.attained += u128::from(elapsed) << 32;
            }
        } else {
            self.busy += elapsed * u64::from(self.cores);
            self.attained += share(elapsed, self.cores, self.serving);
        }
    }

    /// Whether more jobs may be in service than there are cores.
    #[inline]
    fn shares(&self) -> bool {
        self.helpers > self.cores
    }

    /// Computes when the next departure is due, at the present number of jobs.
    #[inline]
    pub(super) fn schedule(&mut self) {
        if !self.shares() {
            self.next = Time(self.soonest.ns);
            return;
        }
        if self.soonest.slot == NO_SLOT {
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
    pub(super) fn start(&mut self, slot: u32, leaver: Leaver, service: Span, sequence: u64) {
        self.jobs[slot as usize].phase = Phase::Served(leaver.started);
        let finish = if self.shares() {
            let finish = self.attained + (u128::from(service.0) << 32);
            Finish { ns: (finish >> 32) as u64, fraction: finish as u32, sequence, slot }
        } else {
            Finish { ns: (leaver.started + service).0, fraction: 0, sequence, slot }
        };
        self.serving += 1;
        if finish < self.soonest {
            if self.soonest.slot != NO_SLOT {
                self.later.push(Reverse(self.soonest));
            }
            self.soonest = finish;
            self.leaver = leaver;
        } else {
            self.later.push(Reverse(finish));
        }
    }

    #[inline(always)]
    pub(super) fn start_next(&mut self, now: Time) {
        let slot = self.first;
        let Job { job, arrived, phase, sequence, .. } = self.jobs[slot as usize];
        let Phase::Waiting(service) = phase else { unreachable!("the first of the queue waits") };
        self.dequeue(slot);
        // The whole number again, from the number of arrivals since.
        let sequence = self.sequence - u64::from((self.sequence as u32).wrapping_sub(sequence));
        self.start(slot, Leaver { job, arrived, started: now }, service, sequence);
    }

    /// Refills `soonest`, past the tombstones that come to the top.
    #[inline]
    pub(super) fn find_soonest(&mut self) {
        self.soonest = NEVER;
        while self.serving + self.tombstones > 0 {
            let Reverse(finish) = self.later.pop().expect("one entry for each that is served, or was cancelled");
            if let Some(leaver) = leaver_of(&self.jobs, &finish) {
                self.soonest = finish;
                self.leaver = leaver;
                return;
            }
            self.tombstones -= 1;
        }
    }

    /// Removes the tombstones once they are the majority.
    pub(super) fn bury(&mut self) {
        if self.tombstones > 64 + self.serving {
            let Station { later, jobs, .. } = self;
            later.retain(|Reverse(finish)| leaver_of(jobs, finish).is_some());
            self.tombstones = 0;
        }
    }
}

impl Finish {
    #[inline]
    fn instant(&self) -> u128 {
        u128::from(self.ns) << 32 | u128::from(self.fraction)
    }
}

/// The job of an entry; none if the job was cancelled.
#[inline]
fn leaver_of(jobs: &[Job], finish: &Finish) -> Option<Leaver> {
    let Job { job, arrived, phase, sequence, .. } = jobs[finish.slot as usize];
    match phase {
        Phase::Served(started) if sequence == finish.sequence as u32 => Some(Leaver { job, arrived, started }),
        _ => None,
    }
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
pub(super) fn ns_up(fixed: u128) -> u64 {
    let ns = (fixed >> 32) + u128::from(fixed as u32 != 0);
    u64::try_from(ns).unwrap_or(u64::MAX)
}
