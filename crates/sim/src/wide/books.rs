//! What is counted of a replication, whichever way it is played.

use sojourn_stats::{Span, Time};

use crate::course::{Milestone, Phases};
use crate::requests::tally::Tally;

/// The books of a replication.
pub(super) struct Books {
    pub(super) phases: Phases,
    pub(super) tally: Tally,
    /// Requests that have ended, warm-up included.
    pub(super) ended: u64,
    /// When the last of them did.
    pub(super) now: Time,
    /// Requests inside for which there is room, and how many there were when there was none.
    pub(super) most: u32,
    pub(super) overflowed: Option<u32>,
    /// Response times of all that have ended, and the instants at which they left (ns, modulo 2^64).
    spent: u64,
    left: u64,
}

impl Books {
    pub(super) fn new(phases: Phases, tally: Tally, most: u32) -> Books {
        let now = Time::ZERO;
        Books { phases, tally, ended: 0, now, most, overflowed: None, spent: 0, left: 0 }
    }

    /// A request that came at `came` leaves at `left` after so long a wait and so much core time; what ends with it.
    #[inline(always)]
    pub(super) fn leave(&mut self, came: u64, waited: u64, service: u64, left: u64) -> Option<Milestone> {
        let response = left - came;
        self.now = Time(left);
        self.tally.left(Time(came), response, waited, service);
        self.ended += 1;
        self.conserve(response, left);
        self.phases.settled(Span(response), self.ended, self.now)
    }

    /// Sums of the response times of requests that have ended, and of the instants at which they left.
    #[inline(always)]
    pub(super) fn conserve(&mut self, spent: u64, left: u64) {
        self.spent = self.spent.wrapping_add(spent);
        self.left = self.left.wrapping_add(left);
    }

    /// Whether requests that leave up to `bound`, of which the first came at `first`, may be counted in any order: none of them
    /// ends a phase, a look (after `ended` have ended) or a batch of those `count` with this sum of response times.
    pub(super) fn may_count_together(
        &self,
        (first, bound): (u64, u64),
        (count, spent): (u64, u64),
        ended: u64,
    ) -> bool {
        self.phases.is_quiet_until(Time(bound))
            && self.ended + count < ended
            && count < u64::from(self.most)
            && self.tally.may_count_together(Time(first), count, spent)
    }

    /// Counts requests that leave in any order: response times and the sums of their services and of the instants at which they
    /// came; all leave by `now`.
    #[inline]
    pub(super) fn leave_together(&mut self, responses: &[u64], service: u64, came: u64, now: u64) {
        let spent = self.tally.left_together(responses, service);
        self.now = self.now.max(Time(now));
        self.ended += responses.len() as u64;
        self.conserve(spent, came.wrapping_add(spent));
    }

    /// Asserts that requests are neither made nor lost, and Little's law: the integral of the number inside, which is what
    /// each arrival adds to it from its instant on less what each departure takes, is the time spent inside. `arrived` are
    /// those that have come, and the sum of their instants (modulo 2^64), `inside` the instants of those that are here.
    pub(super) fn assert_balanced(&self, arrived: (u64, u64), inside: impl Iterator<Item = u64>) {
        let now = self.now.0;
        let (mut count, mut spent) = (0u64, self.spent);
        for came in inside {
            count += 1;
            spent = spent.wrapping_add(now - came);
        }
        assert_eq!(arrived.0, self.ended + count, "requests are neither made nor lost");
        let integral = now.wrapping_mul(arrived.0.wrapping_sub(self.ended));
        let integral = integral.wrapping_sub(arrived.1).wrapping_add(self.left);
        assert_eq!(integral, spent, "Little: the integral of the number inside is the time spent inside");
    }
}
