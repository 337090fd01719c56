//! Did the requests of an open run go out with the gaps that were asked for?
//!
//! Three questions, each at one false alarm in a million (two where plan and emission are both looked at), and each only
//! where the difference is one that matters to a server. Are the emitted gaps the planned ones (two-sample
//! Kolmogorov-Smirnov)? Where a law was asked for: do they follow it (one-sample)? And are they, and those of the plan,
//! independent of one another ([`sojourn_stats::renewal`])? The last is what tells a Poisson process from many clocks
//! ticking side by side, one per connection, whose gaps taken one by one look much the same.

use serde::{Deserialize, Serialize};
use sojourn_stats::goodness::critical_distance;
use sojourn_stats::renewal::{Dependence, dependence};
use sojourn_stats::{Law, Time};

/// Chance of a false alarm of each test.
const FALSE_ALARM: f64 = 1e-6;
/// Distance between the distributions of gaps that matters, however sure it is.
const DISTANCE_MAX: f64 = 0.05;
/// Rank correlation of neighbours that matters. Lateness alone, as large as is forgiven, makes less.
const CORRELATION_MAX: f64 = 0.15;
/// Sums of gaps that spread more or less than those of independent ones by this factor.
const DISPERSION_MAX: f64 = 2.0;
/// Gaps may be off by this share of their mean: a deterministic plan is one step at one value, and the least jitter
/// would otherwise be a distance of one half.
const TOLERANCE: f64 = 0.1;
/// The order of the gaps says nothing where the law spreads less than this, against its mean: it is that of the jitter.
const SPREAD_MIN: f64 = 3.0 * TOLERANCE;

/// What the gaps between the requests of an open run were.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gaps {
    /// How many were looked at.
    pub count: u64,
    /// Kolmogorov-Smirnov distance between those that were emitted and those that were planned.
    pub from_plan: f64,
    /// The same between those emitted and the law asked for; none where none was.
    pub from_law: Option<f64>,
    /// Rank correlation of each with the next, where a law was asked for that spreads.
    pub correlation: Option<f64>,
    /// Of sums of so many gaps that follow one another, the variance over that of independent ones: the worst.
    pub dispersion: Option<(u64, f64)>,
    correlation_limit: f64,
    /// Whether that dispersion is beyond chance.
    dispersed: bool,
}

impl Gaps {
    /// Looks at (planned, begun) instants, given in runs that each hold neighbours of one another in any order, and at
    /// `asked`, the law (s) that they should be independent draws of. None below two gaps.
    pub fn of(runs: &[Vec<(Time, Time)>], asked: Option<&Law>) -> Option<Gaps> {
        let begun = gaps_of(runs, |pair| pair.1);
        let (planned, emitted) = (sorted(&gaps_of(runs, |pair| pair.0)), sorted(&begun));
        if planned.len() < 2 {
            return None;
        }
        let mean = planned.iter().sum::<u64>() as f64 / planned.len() as f64;
        let mut gaps = Gaps {
            count: planned.len() as u64,
            from_plan: distance(&planned, &emitted, (mean * TOLERANCE) as u64),
            from_law: asked.map(|law| distance_from(&emitted, law)),
            correlation: None,
            dispersion: None,
            correlation_limit: 0.0,
            dispersed: false,
        };
        if asked.is_none_or(|law| law.variance().sqrt() < SPREAD_MIN * law.mean()) {
            return Some(gaps);
        }
        // Of both: lateness may hide in what was emitted what is wrong with the plan.
        for runs in [gaps_of(runs, |pair| pair.0), begun] {
            let runs: Vec<Vec<f64>> = runs.iter().map(|run| run.iter().map(|gap| *gap as f64).collect()).collect();
            if let Some(found) = dependence(&runs, FALSE_ALARM) {
                gaps.take_in(&found);
            }
        }
        Some(gaps)
    }

    /// Keeps what is worse of `found` than of what was found before.
    fn take_in(&mut self, found: &Dependence) {
        if self.correlation.is_none_or(|before| found.correlation.abs() > before.abs()) {
            self.correlation = Some(found.correlation);
            self.correlation_limit = found.correlation_limit.max(CORRELATION_MAX);
        }
        let factor = |ratio: f64| ratio.max(1.0 / ratio.max(1e-9));
        for sum in &found.dispersions {
            let beyond = (sum.ratio < sum.low || sum.ratio > sum.high) && factor(sum.ratio) > DISPERSION_MAX;
            let before = self.dispersion.map_or(1.0, |(_, ratio)| factor(ratio));
            if (beyond, factor(sum.ratio)) > (self.dispersed, before) {
                (self.dispersed, self.dispersion) = (beyond, Some((sum.summands as u64, sum.ratio)));
            }
        }
    }

    /// What is wrong with them, in a sentence each.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        // Smirnov's limit of two samples: that of one with both sizes' harmonic sum in place of the size.
        let of_plan = critical_distance((self.count as usize / 2).max(1), FALSE_ALARM);
        if self.from_plan > of_plan.max(DISTANCE_MAX) {
            doubts.push(format!(
                "the gaps between requests are not the planned ones (Kolmogorov-Smirnov distance {:.3})",
                self.from_plan
            ));
        }
        let of_law = critical_distance(self.count as usize, FALSE_ALARM).max(DISTANCE_MAX);
        if let Some(distance) = self.from_law.filter(|distance| *distance > of_law) {
            doubts.push(format!(
                "the gaps between requests do not follow the law asked for (Kolmogorov-Smirnov distance {distance:.3})"
            ));
        }
        if let Some(correlation) = self.correlation.filter(|correlation| correlation.abs() > self.correlation_limit) {
            doubts.push(format!(
                "the gaps between requests depend on one another (rank correlation of neighbours {correlation:.2})"
            ));
        }
        if let Some((summands, ratio)) = self.dispersion.filter(|_| self.dispersed) {
            doubts.push(format!(
                "the gaps between requests depend on one another: sums of {summands} vary {ratio:.2} times as much as \
                 those of independent ones, as if many schedules ran side by side"
            ));
        }
        doubts
    }
}

/// The gaps of each run's instants, in their order of time.
fn gaps_of(runs: &[Vec<(Time, Time)>], of: fn(&(Time, Time)) -> Time) -> Vec<Vec<u64>> {
    let gaps = |run: &Vec<(Time, Time)>| {
        let mut instants: Vec<u64> = run.iter().map(|pair| of(pair).0).collect();
        instants.sort_unstable();
        instants.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    runs.iter().map(gaps).collect()
}

fn sorted(runs: &[Vec<u64>]) -> Vec<u64> {
    let mut all: Vec<u64> = runs.concat();
    all.sort_unstable();
    all
}

/// The largest distance between the empirical distribution functions of two sorted samples of equal size, when values
/// may be shifted by `tolerance` (the Lévy form of the distance).
fn distance(a: &[u64], b: &[u64], tolerance: u64) -> f64 {
    let one_way = |of: &[u64], over: &[u64]| {
        let mut at = 0;
        let mut worst: f64 = 0.0;
        for (index, &value) in of.iter().enumerate() {
            while at < over.len() && over[at] <= value.saturating_add(tolerance) {
                at += 1;
            }
            worst = worst.max((index + 1) as f64 / of.len() as f64 - at as f64 / over.len() as f64);
        }
        worst
    };
    one_way(a, b).max(one_way(b, a))
}

/// The same between a sorted sample (ns) and a law (s).
fn distance_from(sample: &[u64], law: &Law) -> f64 {
    let (count, tolerance) = (sample.len() as f64, TOLERANCE * law.mean());
    let mut worst: f64 = 0.0;
    for (index, &value) in sample.iter().enumerate() {
        let at = value as f64 * 1e-9;
        worst = worst.max((index + 1) as f64 / count - law.cdf(at + tolerance));
        worst = worst.max(law.cdf(at - tolerance) - index as f64 / count);
    }
    worst
}
