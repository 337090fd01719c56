//! The part of a replication that is looked at for the end of its warm-up, or is its warm-up as it was asked for.

use sojourn_stats::{Batches, warm_up};

/// Response times since the start, judged by MSER-5 again and again until they have settled.
pub(crate) struct Pilot {
    response_times: Batches,
    /// Requests ended when it is next judged.
    judged_at: u64,
    longest: u64,
    /// Its length was asked for, and it ends there whatever it looks like.
    is_given: bool,
}

/// Requests in the first pilot, in all and per server. Of a lone server they are tens or hundreds of its relaxation times, unless
/// it is very busy. Where many servers share them each gets few, and MSER-5 does not see it: what it weighs is the noise of
/// single response times, which hides that all of them are still too short (`beginning`).
const FIRST: (u64, u64) = (5_000, 20);
/// The pilot is kept as so many to twice so many batch means.
const BATCHES: usize = 1_000;

impl Pilot {
    /// Of a system of so many servers; of `shortest` requests at least, and no longer than `longest`.
    pub(crate) fn new(servers: usize, shortest: u64, longest: u64) -> Pilot {
        Pilot {
            response_times: Batches::new(BATCHES, 5),
            judged_at: FIRST.0.max(FIRST.1 * servers as u64).max(shortest).min(longest),
            longest,
            is_given: false,
        }
    }

    /// Of this many requests, as was asked for.
    pub(crate) fn given(requests: u64) -> Pilot {
        Pilot { response_times: Batches::new(BATCHES, 5), judged_at: requests, longest: requests, is_given: true }
    }

    /// Adds a response time, the last of `ended` requests. At the end of the pilot: whether it has settled.
    #[inline]
    pub(crate) fn push(&mut self, response_time_s: f64, ended: u64) -> Option<bool> {
        self.response_times.push(response_time_s);
        if ended < self.judged_at {
            return None;
        }
        let settled = self.is_given || warm_up::mser(self.response_times.means()).is_some();
        if !settled && 2 * self.judged_at <= self.longest {
            self.judged_at *= 2;
            return None;
        }
        Some(settled)
    }
}
