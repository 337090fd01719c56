//! Least attained service on one core: the jobs with the least work done so far share it equally.
//!
//! The jobs form levels of equal attained work, the lowest on top of a stack. An arrival is a new top. The top rises as
//! it is served, and joins the next level when it reaches it (foreground-background: Kleinrock, Queueing Systems,
//! volume 2, 1976, section 4.6). A level keeps its jobs by demand, so the next departure is known. Joining appends the
//! smaller heap to the larger one: O(log^2 n) per job over its life. The next departure costs a look at the levels that
//! join before it.
//!
//! Attained work is in units of 2^-32 ns. The remainder of a division is kept with its level and given out later, so no
//! work is lost, and levels join within a nanosecond of the instant at which they meet. A departure is rounded up to
//! the next nanosecond; less than 2^-16 ns of work left counts as none, as in [`crate::Station`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_stats::{Span, Time};

use super::{Arrival, Jobs};
use crate::Departure;
use crate::station::sharing::{SLACK, ns_up};

#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    pub(super) jobs: Jobs,
    /// The level with the least attained work is last.
    stack: Vec<Level>,
    /// Empty heaps, kept for their memory.
    spare: Vec<BinaryHeap<Member>>,
}

#[derive(Clone, Debug)]
struct Level {
    /// Work done for each of its jobs (2^-32 ns).
    attained: u128,
    /// Remainder of work done that does not divide by the number of jobs; less than that number, or the sum of two
    /// joined levels.
    rest: u128,
    members: BinaryHeap<Member>,
}

/// Least demand first, and of equal ones the first arrival: demand (ns), sequence, slot.
type Member = Reverse<(u64, u64, u32)>;

impl Level {
    fn jobs(&self) -> u128 {
        self.members.len() as u128
    }
}

impl Levels {
    pub(super) fn advance(&mut self, elapsed: Span) {
        if elapsed == Span::ZERO {
            return;
        }
        let mut work = u128::from(elapsed.0) << 32;
        while let Some(top) = self.stack.last_mut() {
            work += std::mem::take(&mut top.rest);
            let (jobs, attained) = (top.jobs(), top.attained);
            if let [.., next, top] = self.stack.as_mut_slice() {
                let up = (next.attained - attained) * jobs;
                if work >= up {
                    work -= up;
                    next.members.append(&mut top.members);
                    let emptied = self.stack.pop().expect("there are two");
                    self.spare.push(emptied.members);
                    continue;
                }
            }
            let top = self.stack.last_mut().expect("seen above");
            (top.attained, top.rest) = (attained + work / jobs, work % jobs);
            return;
        }
    }

    pub(super) fn arrive(&mut self, now: Time, arrival: Arrival) -> u32 {
        let slot = self.jobs.put(now, arrival);
        self.jobs.at(slot).started = now;
        if self.stack.last().is_none_or(|top| top.attained > 0) {
            let members = self.spare.pop().unwrap_or_default();
            self.stack.push(Level { attained: 0, rest: 0, members });
        }
        let top = self.stack.last_mut().expect("just made");
        top.members.push(Reverse((arrival.service.0, arrival.sequence, slot)));
        slot
    }

    /// When the first job is finished, without further arrivals: level by level.
    pub(super) fn due(&self, now: Time) -> Time {
        let (mut jobs, mut work, mut least) = (0, 0i128, u64::MAX);
        for (place, level) in self.stack.iter().enumerate().rev() {
            let Some(Reverse((demand, ..))) = level.members.peek() else { continue };
            jobs += level.jobs();
            work -= level.rest as i128;
            least = least.min(*demand);
            let enough = (u128::from(least) << 32).saturating_sub(SLACK);
            let next = place.checked_sub(1).map(|below| self.stack[below].attained);
            let up = next.unwrap_or(u128::MAX).min(enough).saturating_sub(level.attained);
            work += (up * jobs) as i128;
            if next.is_none_or(|attained| attained >= enough) {
                return now + Span(ns_up(work.max(0) as u128));
            }
        }
        Time::NEVER
    }

    pub(super) fn depart(&mut self, at: Time) -> Departure {
        let top = self.stack.last_mut().expect("a departure is due only while a job is served");
        let Reverse((_, _, slot)) = top.members.pop().expect("a level has jobs");
        self.drop_empty_top();
        self.jobs.depart(slot, at)
    }

    /// O(n): levels do not know where their jobs are.
    pub(super) fn cancel(&mut self, slot: u32) {
        let held = |level: &Level| level.members.iter().any(|Reverse((_, _, other))| *other == slot);
        let place = self.stack.iter().position(held).expect("every job inside is in a level");
        self.stack[place].members.retain(|Reverse((_, _, other))| *other != slot);
        if self.stack[place].members.is_empty() {
            let level = self.stack.remove(place);
            self.spare.push(level.members);
        }
        self.jobs.remove(slot);
    }

    pub(super) fn occupancy(&self) -> (u32, u32) {
        (self.jobs.count(), self.stack.last().map_or(0, |top| top.members.len() as u32))
    }

    fn drop_empty_top(&mut self) {
        if self.stack.last().is_some_and(|top| top.members.is_empty()) {
            let Level { rest, members, .. } = self.stack.pop().expect("seen above");
            self.spare.push(members);
            if let Some(next) = self.stack.last_mut() {
                next.rest += rest;
            }
        }
    }
}
