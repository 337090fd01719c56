//! What a watcher of a run sees of its last moments.
//!
//! Each thread records into a pair of histograms of its own, beside those that are kept, and hands them over at its
//! sweeps (every 50 ms), unless the watcher looks at that very moment: a request costs two more array additions, a sweep
//! one merge, and no thread ever waits. Not watched, it costs nothing.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use sojourn_stats::Histogram;

use crate::outcome::Counts;

/// What has happened since the watcher last looked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recent {
    /// Response times (ns) of good replies, warm-up included.
    pub response: Histogram,
    /// The generator's lateness (ns), requests that had to wait for a connection aside.
    pub lateness: Histogram,
}

impl Recent {
    /// Adds what another saw.
    pub fn merge(&mut self, other: &Recent) {
        self.response.merge(&other.response);
        self.lateness.merge(&other.lateness);
    }

    fn clear(&mut self) {
        self.response.clear();
        self.lateness.clear();
    }

    fn is_empty(&self) -> bool {
        self.response.count() == 0 && self.lateness.count() == 0
    }
}

/// Where a thread leaves what it saw.
#[derive(Debug, Default)]
pub(crate) struct Window(Mutex<(Counts, Recent)>);

impl Window {
    /// Leaves `counts` and hands over `recent`, unless the watcher is looking; then the next time.
    pub(crate) fn hand_over(&self, counts: &Counts, recent: &mut Recent) {
        if let Ok(mut seen) = self.0.try_lock() {
            seen.0 = *counts;
            if !recent.is_empty() {
                seen.1.merge(recent);
                recent.clear();
            }
        }
    }

    /// Adds what is there to `counts` and `recent`, and leaves an empty one.
    pub(crate) fn take(&self, counts: &mut Counts, recent: &mut Recent) {
        let mut seen = self.0.lock().expect("no thread panics while it holds it");
        counts.add(&seen.0);
        recent.merge(&seen.1);
        seen.1.clear();
    }
}
