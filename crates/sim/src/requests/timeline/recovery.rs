//! How long a system took to recover from the last fault, or why that is not told.
//!
//! It has recovered at the first interval from which on [`CALM`] of them in a row are as those before the first fault: no fewer
//! good replies than [`SPREADS`] standard deviations below their mean, or one fewer than their least; no more failures than
//! their most; no p99 further above. Where fewer requests came than before, fewer good replies are no loss, as long as no more
//! requests are left inside. What was before the first fault is told by what is past the warm-up, or where that leaves too
//! little, as one that ends with the fault, by the later half of it.
//!
//! An interval in which nothing came, ended or was inside, as in a silence of a log that is replayed, says nothing, neither
//! before a fault nor after it. Nor is there anything to go back to where more than [`FAILING`] of the requests had failed
//! before the first fault: what is as bad as that is no recovery. Neither is a recovery, nor the lack of one.

use sojourn_stats::Time;
use sojourn_stats::interval::exact_ratio;
use sojourn_stats::measure::CONFIDENCE;

use super::{CALM, Interval, OutcomesOverTime, USUAL};
use crate::recovery::Recovery;

/// How far from the mean before the first fault an interval is calm (standard deviations): an interval is farther off by chance
/// once in a thousand times.
pub const SPREADS: f64 = 3.3;

/// Of a system that is well no larger share of the requests fails: the 99th percentile, which is to be as before, is of all
/// requests only where fewer fail than are beyond it.
pub const FAILING: f64 = 0.01;

impl OutcomesOverTime {
    /// How it recovered after the end of the last fault, so that all was as before the first one; `intervals` are those of the
    /// run, of which the first `warm_up` say nothing. None where there is no fault, or one that never ends.
    pub(super) fn recovery(&self, warm_up: usize, intervals: usize) -> Option<Recovery> {
        let first = self.troubles.iter().map(|of| of.0).min()?;
        let last = self.troubles.iter().map(|of| of.1).max().filter(|last| *last < Time::NEVER)?;
        // Behind the last event there is silence up to the horizon.
        let intervals = match self.horizon < Time::NEVER {
            true => (self.horizon.0 / self.every.0) as usize,
            false => intervals,
        };
        let first_at = (first.0 / self.every.0) as usize;
        let before = if warm_up + USUAL <= first_at { warm_up..first_at } else { first_at / 2..first_at };
        let from = last.0.div_ceil(self.every.0) as usize;
        let all: Vec<Interval> = (0..intervals.max(first_at)).map(|at| self.get(at)).collect();
        let inside = inside(&all);
        if let Some(untold) = untold_before(&all[before.clone()]) {
            return Some(untold);
        }
        if from + CALM > intervals {
            return Some(Recovery::EndsEarly);
        }
        let seen = |at: usize| Seen { good: all[at].good.into(), failed: all[at].failed().into(), p99_s: self.p99(at) };
        let usual = Usual::of(&before.clone().map(seen).collect::<Vec<_>>());
        let came: Vec<f64> = before.clone().map(|at| f64::from(all[at].arrived)).collect();
        let (came_least, inside_most) = (least(&came), before.map(|at| inside[at]).max());
        let is_calm = |at: usize| {
            let has_few = f64::from(all[at].arrived) < came_least && Some(inside[at]) <= inside_most;
            usual.has(&seen(at)) || has_few && usual.allows(&seen(at))
        };
        let speaks = |at: &usize| all[*at].arrived > 0 || all[*at].ended() > 0 || inside[*at] > 0;
        let lasts = |begin: &usize| {
            let mut speaking = (*begin..intervals).filter(speaks).map(is_calm);
            (0..CALM).all(|_| speaking.next() == Some(true))
        };
        if let Some(begin) = (from..intervals).find(lasts) {
            return Some(Recovery::After((begin as u64 * self.every.0).saturating_sub(last.0) as f64 * 1e-9));
        }
        // After the last interval that was not calm it may have begun to recover; how that goes on is not seen.
        let is_broken = |at: &usize| speaks(at) && !is_calm(*at);
        Some(match (from..intervals).rev().find(is_broken).filter(|at| at + CALM >= intervals) {
            Some(broken) if (broken + 1..intervals).any(|at| speaks(&at)) => Recovery::NotYet,
            Some(_) => Recovery::Never,
            None => Recovery::SilentAfter,
        })
    }
}

/// Why what was before the first fault is nothing to go back to; none where it is.
fn untold_before(before: &[Interval]) -> Option<Recovery> {
    if before.len() < USUAL {
        return Some(Recovery::LittleBefore);
    }
    let spoke = before.iter().filter(|of| of.ended() > 0).count();
    if spoke < USUAL {
        return Some(Recovery::SilentBefore { spoke, of: before.len() });
    }
    let (failed, ended) = before
        .iter()
        .fold((0.0, 0.0), |(failed, ended), of| (failed + f64::from(of.failed()), ended + f64::from(of.ended())));
    // One of few that failed is no sign of a larger share.
    let is_failing = exact_ratio(failed, ended, CONFIDENCE).0 > FAILING;
    is_failing.then(|| Recovery::FailingBefore { share: failed / ended })
}

/// How many requests are inside at the end of each interval.
fn inside(all: &[Interval]) -> Vec<i64> {
    let after = |inside: &mut i64, of: &Interval| {
        *inside += i64::from(of.arrived) - i64::from(of.ended());
        Some(*inside)
    };
    all.iter().scan(0, after).collect()
}

/// The mean of some values, and their standard deviation.
fn spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt())
}

/// Below this is a count that is not as these.
fn least(counts: &[f64]) -> f64 {
    let (mean, deviation) = spread(counts);
    let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
    (mean - SPREADS * deviation).min(least - 1.0)
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
        let good: Vec<f64> = intervals.iter().map(|seen| seen.good as f64).collect();
        let p99_s: Vec<f64> = intervals.iter().filter_map(|seen| seen.p99_s).collect();
        let p99_most_s = (!p99_s.is_empty()).then(|| {
            let (mean, deviation) = spread(&p99_s);
            // A bucket of the histogram is up to 1 % wide.
            p99_s.iter().copied().fold(mean + SPREADS * deviation, f64::max) * 1.01
        });
        Usual {
            good_least: least(&good),
            failed_most: intervals.iter().map(|seen| seen.failed).max().unwrap_or(0),
            p99_most_s,
        }
    }

    /// Whether an interval is as they are.
    pub fn has(&self, seen: &Seen) -> bool {
        seen.good as f64 >= self.good_least && self.allows(seen)
    }

    /// Whether an interval is as they are but for how many good replies it has.
    fn allows(&self, seen: &Seen) -> bool {
        let is_fast = match (seen.p99_s, self.p99_most_s) {
            (Some(p99_s), Some(most_s)) => p99_s <= most_s,
            (None, _) => true,
            (Some(_), None) => false,
        };
        seen.failed <= self.failed_most && is_fast
    }
}
