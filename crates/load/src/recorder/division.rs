//! How what is measured falls into the windows that intervals are made from.

use serde::{Deserialize, Serialize};
use sojourn_stats::Time;

use crate::report::estimate::WINDOWS;

/// How requests fall into windows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Windowing {
    /// By planned instant, from the end of the warm-up to this instant.
    Until(Time),
    /// By request number, up to this one.
    Requests(u64),
}

/// How what is measured falls into windows: what was planned before the end of the warm-up into none.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Division {
    pub(crate) warm_up: Time,
    pub(crate) windowing: Windowing,
}

impl Division {
    /// The window of what was planned at `at` as number `k`; none while warming up.
    #[inline]
    pub(crate) fn window(&self, at: Time, k: u64) -> Option<usize> {
        if at < self.warm_up {
            return None;
        }
        let (part, all) = match self.windowing {
            Windowing::Until(end) => (at.0 - self.warm_up.0, end.0.saturating_sub(self.warm_up.0)),
            Windowing::Requests(all) => (k, all),
        };
        let index = u128::from(part) * WINDOWS as u128 / u128::from(all.max(1));
        Some((index as usize).min(WINDOWS - 1))
    }
}
