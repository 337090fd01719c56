//! Did the requests of an open run go out with the gaps that were asked for?
//!
//! Three questions, each at one false alarm in a million, and each only where the difference is one that matters to a
//! server. Are the emitted gaps the planned ones (two-sample Kolmogorov-Smirnov)? Where a law was asked for: do those
//! of the plan follow it, and those emitted (one-sample)? And are both independent of one another
//! ([`sojourn_stats::renewal`])? The last is what tells a Poisson process from many clocks ticking side by side, one
//! per connection, whose gaps taken one by one look much the same.
//!
//! Lateness that never matters is forgiven where emitted gaps are looked at, and the order of gaps that are shorter
//! than it is not: at 50,000 requests/s it is that of the generator's rounds. What a plan says is never forgiven
//! anything.

use serde::{Deserialize, Serialize};
use sojourn_stats::goodness::critical_distance;
use sojourn_stats::renewal::dependence;
use sojourn_stats::{Law, Span, Time};

use crate::report::doubt::{Cause, Doubt};

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
    /// The same between those planned and the law asked for; none where none was.
    pub plan_from_law: Option<f64>,
    /// The same between those emitted and the law.
    pub from_law: Option<f64>,
    /// How the planned ones depend on one another, where a law was asked for that spreads.
    pub plan_order: Option<Order>,
    /// The same of those emitted, where they are long against the lateness that is forgiven.
    pub order: Option<Order>,
}

/// How gaps depend on one another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Rank correlation of each with the next.
    pub correlation: f64,
    /// Of sums of so many gaps that follow one another, the variance over that of independent ones: the worst.
    pub dispersion: Option<(u64, f64)>,
    correlation_limit: f64,
    /// Whether that dispersion is beyond chance.
    dispersed: bool,
}

impl Gaps {
    /// Looks at (planned, begun) instants, given in runs that each hold neighbours of one another in any order, and at
    /// `asked`, the law (s) that they should be independent draws of. Emitted gaps may be off by `late`. None below two
    /// gaps.
    pub fn of(runs: &[Vec<(Time, Time)>], asked: Option<&Law>, late: Span) -> Option<Gaps> {
        let (plan, begun) = (gaps_of(runs, |pair| pair.0), gaps_of(runs, |pair| pair.1));
        let (planned, emitted) = (sorted(&plan), sorted(&begun));
        if planned.len() < 2 {
            return None;
        }
        let mean_ns = planned.iter().sum::<u64>() as f64 / planned.len() as f64;
        let forgiven_ns = (mean_ns * TOLERANCE) as u64;
        let spreads = asked.is_some_and(|law| law.variance().sqrt() >= SPREAD_MIN * law.mean());
        let from = |sample: &[u64], late: Span| {
            asked.map(|law| distance_from(sample, law, (TOLERANCE * law.mean()).max(late.as_secs_f64())))
        };
        Some(Gaps {
            count: planned.len() as u64,
            from_plan: distance(&planned, &emitted, forgiven_ns.max(late.0)),
            plan_from_law: from(&planned, Span::ZERO),
            from_law: from(&emitted, late),
            plan_order: spreads.then(|| Order::of(&plan)).flatten(),
            order: (spreads && late.0 <= forgiven_ns).then(|| Order::of(&begun)).flatten(),
        })
    }

    /// What is wrong with them. What the plan has is not told again of what was emitted.
    pub fn doubts(&self) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        // Smirnov's limit of two samples: that of one with both sizes' harmonic sum in place of the size.
        let of_plan = critical_distance((self.count as usize / 2).max(1), FALSE_ALARM);
        if self.from_plan > of_plan.max(DISTANCE_MAX) {
            doubts.push(Cause::Emission.doubt(format!(
                "the gaps between requests are not the planned ones (Kolmogorov-Smirnov distance {:.3})",
                self.from_plan
            )));
        }
        let of_law = critical_distance(self.count as usize, FALSE_ALARM).max(DISTANCE_MAX);
        let beyond = |distance: Option<f64>| distance.filter(|distance| *distance > of_law);
        let unlike = |distance: f64| {
            format!(
                "the gaps between requests do not follow the law asked for (Kolmogorov-Smirnov distance {distance:.3})"
            )
        };
        match (beyond(self.plan_from_law), beyond(self.from_law)) {
            (Some(distance), _) => doubts.push(Cause::Plan.doubt(unlike(distance))),
            (None, Some(distance)) => doubts.push(Cause::Emission.doubt(unlike(distance))),
            (None, None) => {}
        }
        let (plan, emitted) = (Order::doubts(self.plan_order.as_ref()), Order::doubts(self.order.as_ref()));
        let cause = if plan.is_empty() { Cause::Emission } else { Cause::Plan };
        let told = if plan.is_empty() { emitted } else { plan };
        doubts.extend(told.into_iter().map(|text| cause.doubt(text)));
        doubts
    }
}

impl Order {
    /// None of too few gaps to say.
    fn of(runs: &[Vec<u64>]) -> Option<Order> {
        let runs: Vec<Vec<f64>> = runs.iter().map(|run| run.iter().map(|gap| *gap as f64).collect()).collect();
        let found = dependence(&runs, FALSE_ALARM)?;
        let mut order = Order {
            correlation: found.correlation,
            dispersion: None,
            correlation_limit: found.correlation_limit.max(CORRELATION_MAX),
            dispersed: false,
        };
        let factor = |ratio: f64| ratio.max(1.0 / ratio.max(1e-9));
        for sum in &found.dispersions {
            let beyond = (sum.ratio < sum.low || sum.ratio > sum.high) && factor(sum.ratio) > DISPERSION_MAX;
            let before = order.dispersion.map_or(1.0, |(_, ratio)| factor(ratio));
            if (beyond, factor(sum.ratio)) > (order.dispersed, before) {
                (order.dispersed, order.dispersion) = (beyond, Some((sum.summands as u64, sum.ratio)));
            }
        }
        Some(order)
    }

    fn doubts(order: Option<&Order>) -> Vec<String> {
        let mut doubts = Vec::new();
        let Some(order) = order else { return doubts };
        if order.correlation.abs() > order.correlation_limit {
            doubts.push(format!(
                "the gaps between requests depend on one another (rank correlation of neighbours {:.2})",
                order.correlation
            ));
        }
        if let Some((summands, ratio)) = order.dispersion.filter(|_| order.dispersed) {
            let like = if ratio < 1.0 { "as if many schedules ran side by side" } else { "as in bursts" };
            doubts.push(format!(
                "the gaps between requests depend on one another: sums of {summands} vary {ratio:.2} times as much as \
                 those of independent ones, {like}"
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

/// The same between a sorted sample (ns) and a law (s), with a tolerance in seconds.
fn distance_from(sample: &[u64], law: &Law, tolerance: f64) -> f64 {
    let count = sample.len() as f64;
    let mut worst: f64 = 0.0;
    for (index, &value) in sample.iter().enumerate() {
        let at = value as f64 * 1e-9;
        worst = worst.max((index + 1) as f64 / count - law.cdf(at + tolerance));
        worst = worst.max(law.cdf(at - tolerance) - index as f64 / count);
    }
    worst
}
