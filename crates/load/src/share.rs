//! One of several processes that put one load on a server together: which share of the plan is its own.
//!
//! Every process draws the whole of the same seeded plan and runs its share, so that it needs to be told nothing but the
//! number of the share; the price is the drawing of what others run. A report is made from all shares at once
//! ([`crate::Report::of_shares`]): histograms, windows and counts are added up, percentiles are never averaged, and
//! there is one verdict.

use serde::{Deserialize, Serialize};

/// Which share of a load a process runs: those requests of the plan (or users, or clients where cookies are kept) whose
/// number modulo `of` is `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// From 0.
    pub index: u32,
    /// How many shares there are.
    pub of: u32,
}

impl Share {
    /// All of it.
    pub const WHOLE: Share = Share { index: 0, of: 1 };

    /// The thread, of so many in this share, that has what is numbered `number`; none when another share has it.
    #[inline]
    pub(crate) fn thread(self, number: u64, threads: usize) -> Option<usize> {
        let of = u64::from(self.of);
        (number % of == u64::from(self.index)).then(|| ((number / of) % threads as u64) as usize)
    }

    /// The number of a thread among the threads of all shares, and how many those are.
    pub(crate) fn lane(self, thread: usize, threads: usize) -> (u64, u64) {
        (thread as u64 * u64::from(self.of) + u64::from(self.index), threads as u64 * u64::from(self.of))
    }
}

impl Default for Share {
    fn default() -> Share {
        Share::WHOLE
    }
}
