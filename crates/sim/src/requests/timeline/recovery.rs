//! How long a system took to recover from the last fault.
//!
//! It has recovered at the first interval from which on [`CALM`] of them in a row are as those before the first fault: no fewer
//! good replies than [`SPREADS`] standard deviations below their mean, or one fewer than their least; no more failures than
//! their most; no p99 further above. A replication that has not recovered by the end of the run has no such time, and neither
//! has then the whole. One that ends calm, but sooner than after [`CALM`] intervals, has not shown whether it recovered. What was
//! before the first fault is told by what is past the warm-up, or where that leaves too little, as one that ends with the fault,
//! by the later half of it.

use std::ops::Range;

use sojourn_stats::Time;

use super::{CALM, Interval, OutcomesOverTime, USUAL};

/// How far from the mean before the first fault an interval is calm (standard deviations): an interval is farther off by chance
/// once in a thousand times.
const SPREADS: f64 = 3.3;

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
        let usual = Usual::new(self, before);
        let is_calm = |at: usize| usual.has(&self.get(at), self.p99(at));
        let begins = (from..=intervals - CALM).find(|begin| (*begin..begin + CALM).all(is_calm));
        match begins {
            Some(begin) => Recovery::After((begin as u64 * self.every.0).saturating_sub(last.0) as f64 * 1e-9),
            // It may have begun to recover; how that goes on is not seen.
            None if is_calm(intervals - 1) => Recovery::Unasked,
            None => Recovery::Never,
        }
    }
}

/// How intervals are before the first fault.
struct Usual {
    good_least: f64,
    failed_most: u32,
    p99_most: Option<f64>,
}

impl Usual {
    fn new(of: &OutcomesOverTime, intervals: Range<usize>) -> Usual {
        let spread = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            (mean, (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt())
        };
        let all: Vec<Interval> = intervals.clone().map(|at| of.get(at)).collect();
        let good: Vec<f64> = all.iter().map(|interval| f64::from(interval.good)).collect();
        let (mean, deviation) = spread(&good);
        let least = good.iter().copied().fold(f64::INFINITY, f64::min);
        let p99: Vec<f64> = intervals.filter_map(|at| of.p99(at)).collect();
        let p99_most = (!p99.is_empty()).then(|| {
            let (mean, deviation) = spread(&p99);
            // A bucket of the histogram is up to 1 % wide.
            p99.iter().copied().fold(mean + SPREADS * deviation, f64::max) * 1.01
        });
        Usual {
            good_least: (mean - SPREADS * deviation).min(least - 1.0),
            failed_most: all.iter().map(Interval::failed).max().unwrap_or(0),
            p99_most,
        }
    }

    fn has(&self, interval: &Interval, p99: Option<f64>) -> bool {
        let is_fast = match (p99, self.p99_most) {
            (Some(p99), Some(most)) => p99 <= most,
            (None, _) => true,
            (Some(_), None) => false,
        };
        f64::from(interval.good) >= self.good_least && interval.failed() <= self.failed_most && is_fast
    }
}
