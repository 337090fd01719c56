//! How long a system took to recover from the last fault.
//!
//! It has recovered at the first interval from which on [`CALM`] of them in a row are as those before the first fault: no fewer
//! good replies than [`SPREADS`] standard deviations below their mean, or one fewer than their least; no more failures than
//! their most; no p99 further above. A replication that has not recovered by the end of the run has no such time, and neither
//! has then the whole. One that ends calm, but sooner than after [`CALM`] intervals, has not shown whether it recovered. What was
//! before the first fault is told by what is past the warm-up, or where that leaves too little, as one that ends with the fault,
//! by the later half of it.

use sojourn_stats::Time;

use super::{CALM, OutcomesOverTime, USUAL};

/// How far from the mean before the first fault an interval is calm (standard deviations): an interval is farther off by chance
/// once in a thousand times.
pub const SPREADS: f64 = 3.3;

/// How a replication has recovered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Recovery {
    /// There is nothing to recover from, or too little was seen of it.
    Unasked,
    /// So long after the end of the last fault (s).
    After(f64),
    /// Not by the end of the run.
    Never,
}

impl OutcomesOverTime {
    /// How long (s) it took from the end of the last fault until all was as before the first one; `intervals` are those of the
    /// run, of which the first `warm_up` say nothing. None where there is no fault that ends, too little before it, or no
    /// recovery.
    pub(super) fn recovery(&self, warm_up: usize, intervals: usize) -> Recovery {
        let (first, last) = (self.troubles.iter().map(|of| of.0).min(), self.troubles.iter().map(|of| of.1).max());
        let (Some(first), Some(last)) = (first, last.filter(|last| *last < Time::NEVER)) else {
            return Recovery::Unasked;
        };
        let first_at = (first.0 / self.every.0) as usize;
        let before = if warm_up + USUAL <= first_at { warm_up..first_at } else { first_at / 2..first_at };
        let from = last.0.div_ceil(self.every.0) as usize;
        if before.len() < USUAL || from + CALM > intervals {
            return Recovery::Unasked;
        }
        let seen = |at: usize| {
            let interval = self.get(at);
            Seen { good: interval.good.into(), failed: interval.failed().into(), p99_s: self.p99(at) }
        };
        let usual = Usual::of(&before.map(seen).collect::<Vec<_>>());
        let is_calm = |at: usize| usual.has(&seen(at));
        let begins = (from..=intervals - CALM).find(|begin| (*begin..begin + CALM).all(is_calm));
        match begins {
            Some(begin) => Recovery::After((begin as u64 * self.every.0).saturating_sub(last.0) as f64 * 1e-9),
            // It may have begun to recover; how that goes on is not seen.
            None if is_calm(intervals - 1) => Recovery::Unasked,
            None => Recovery::Never,
        }
    }
}

/// What is told of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Good replies.
    pub good: u64,
    /// Failures.
    pub failed: u64,
    /// 99th percentile of the response times (s), where there are some.
    pub p99_s: Option<f64>,
}

/// How intervals are while nothing is broken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usual {
    good_least: f64,
    failed_most: u64,
    p99_most_s: Option<f64>,
}

impl Usual {
    /// As these are.
    pub fn of(intervals: &[Seen]) -> Usual {
        let spread = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            (mean, (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt())
        };
        let good: Vec<f64> = intervals.iter().map(|seen| seen.good as f64).collect();
        let (mean, deviation) = spread(&good);
        let least = good.iter().copied().fold(f64::INFINITY, f64::min);
        let p99_s: Vec<f64> = intervals.iter().filter_map(|seen| seen.p99_s).collect();
        let p99_most_s = (!p99_s.is_empty()).then(|| {
            let (mean, deviation) = spread(&p99_s);
            // A bucket of the histogram is up to 1 % wide.
            p99_s.iter().copied().fold(mean + SPREADS * deviation, f64::max) * 1.01
        });
        Usual {
            good_least: (mean - SPREADS * deviation).min(least - 1.0),
            failed_most: intervals.iter().map(|seen| seen.failed).max().unwrap_or(0),
            p99_most_s,
        }
    }

    /// Whether an interval is as they are.
    pub fn has(&self, seen: &Seen) -> bool {
        let is_fast = match (seen.p99_s, self.p99_most_s) {
            (Some(p99_s), Some(most_s)) => p99_s <= most_s,
            (None, _) => true,
            (Some(_), None) => false,
        };
        seen.good as f64 >= self.good_least && seen.failed <= self.failed_most && is_fast
    }
}
