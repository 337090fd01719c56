//! A station whose rate depends on how many are there: `rates[n - 1]` units of work per unit of time while n jobs share
//! it equally, the last of them beyond.
//!
//! The same virtual time as [`sojourn_model::Station`]'s, in the same units of 2^-32 ns, with another slope. Such a
//! station is simulated only, so it is here and not among the state machines that run live.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_stats::{Span, Time};

/// See the module.
pub(super) struct Graded {
    /// Work per nanosecond in 2^-32 ns, by the number inside less 1.
    rates: Vec<u64>,
    clock: Time,
    next: Time,
    /// Virtual time in 2^-32 ns.
    attained: u128,
    /// Work done, in 2^-32 ns.
    done: u128,
    /// Finish, order of coming, job.
    serving: BinaryHeap<Reverse<(u128, u64, u32)>>,
    sequence: u64,
}

/// As in [`sojourn_model::Station`]: work that counts as none.
const SLACK: u128 = 1 << 16;

impl Graded {
    /// An empty station of these rates, of which there is at least one and all are above 0.
    pub(super) fn new(rates: &[f64]) -> Graded {
        assert!(!rates.is_empty(), "a station has a rate");
        let fixed = |rate: &f64| ((rate * (1u64 << 32) as f64) as u64).max(1);
        Graded {
            rates: rates.iter().map(fixed).collect(),
            clock: Time::ZERO,
            next: Time::NEVER,
            attained: 0,
            done: 0,
            serving: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// Job number `job` of this work comes at `now`; every departure due by then has been taken.
    pub(super) fn arrive(&mut self, now: Time, job: u32, work: Span) {
        self.advance(now);
        let finish = self.attained + (u128::from(work.0) << 32);
        self.serving.push(Reverse((finish, self.sequence, job)));
        self.sequence += 1;
        self.schedule();
    }

    /// When the next departure is due, if nothing else happens before.
    pub(super) fn next_departure(&self) -> Option<Time> {
        (self.next != Time::NEVER).then_some(self.next)
    }

    /// Takes the next departure, which is due.
    pub(super) fn depart(&mut self) -> u32 {
        self.advance(self.next);
        let Reverse((.., job)) = self.serving.pop().expect("a departure is due only while a job is served");
        self.schedule();
        job
    }

    /// Work done up to `now`.
    pub(super) fn done(&self, now: Time) -> Span {
        Span(((self.done + u128::from((now - self.clock).0) * self.rate()) >> 32) as u64)
    }

    /// Work per nanosecond (2^-32 ns) at present.
    fn rate(&self) -> u128 {
        match self.serving.len() {
            0 => 0,
            inside => u128::from(self.rates[inside.min(self.rates.len()) - 1]),
        }
    }

    fn advance(&mut self, now: Time) {
        assert!(now >= self.clock && now <= self.next, "a station's time goes on, departure by departure");
        let work = u128::from(now.0 - self.clock.0) * self.rate();
        self.clock = now;
        if work > 0 {
            self.done += work;
            self.attained += work / self.serving.len() as u128;
        }
    }

    fn schedule(&mut self) {
        self.next = match self.serving.peek() {
            None => Time::NEVER,
            Some(Reverse((finish, ..))) => {
                let left = finish.saturating_sub(self.attained + SLACK) * self.serving.len() as u128;
                let wait = left.div_ceil(self.rate());
                self.clock + Span(u64::try_from(wait).unwrap_or(u64::MAX))
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Departures (job, ns) of jobs (coming, work).
    fn departures(jobs: &[(u64, u64)]) -> Vec<(u32, u64)> {
        let mut station = Graded::new(&[1.0, 1.5]);
        let mut left = Vec::new();
        for (number, (at, work)) in jobs.iter().enumerate() {
            while let Some(due) = station.next_departure().filter(|due| due.0 <= *at) {
                left.push((station.depart(), due.0));
            }
            station.arrive(Time(*at), number as u32, Span(*work));
        }
        while let Some(due) = station.next_departure() {
            left.push((station.depart(), due.0));
        }
        let work: u64 = jobs.iter().map(|(_, work)| work).sum();
        assert_eq!(station.done(Time(1_000_000)), Span(work));
        left
    }

    #[test]
    fn the_rate_follows_the_number_inside() {
        // Alone at rate 1 for 100 ns; then two at 1.5 in all, 0.75 each: the first has 900 left, done after 1200 ns.
        // The second has 100 left by then, alone: done 100 ns later.
        assert_eq!(departures(&[(0, 1000), (100, 1000)]), [(0, 1300), (1, 1400)]);
        // Beyond the last rate nothing changes: three share 1.5.
        assert_eq!(departures(&[(0, 600), (0, 600), (0, 600)]), [(0, 1200), (1, 1200), (2, 1200)]);
    }
}
