//! How much of a closed schedule a thread plans.

use sojourn_stats::Time;

use crate::setting::Stop;

/// A thread's portion of what is to be planned: up to a number, or up to an instant.
pub(crate) struct Quota {
    taken: u64,
    budget: u64,
    pub(crate) until: Time,
    /// The thread's number among those of all shares.
    lane: u64,
    lanes: u64,
}

impl Quota {
    /// The share of one thread, given its number among the threads of all shares and how many those are.
    pub(super) fn new(stop: Stop, (lane, lanes): (u64, u64)) -> Quota {
        let (requests, end) = stop.known();
        // Shares differ by at most one request and add up.
        let budget = requests.map_or(u64::MAX, |most| (most + lanes - 1 - lane) / lanes);
        Quota { taken: 0, budget, until: end.unwrap_or(Time::NEVER), lane, lanes }
    }

    #[inline]
    pub(crate) fn spent(&self) -> bool {
        self.taken >= self.budget
    }

    /// The number of one more, where there is one.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<u64> {
        if self.spent() {
            return None;
        }
        let k = self.taken * self.lanes + self.lane;
        self.taken += 1;
        Some(k)
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }
}
