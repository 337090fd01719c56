//! Is B different from A, by how much, and how small a difference could have been seen?
//!
//! Runs are compared in pairs: two that stand next to each other in time, or two replications that share a seed, have
//! most of their noise in common, and the difference inside the pair is free of it. The interval of the mean difference
//! is Student's t over the pairs; that of the ratio is the same over the differences of logarithms, so that twice as
//! fast and half as fast are equally far from 1. Where there are no pairs, Welch's interval takes two samples (B. L.
//! Welch, Biometrika 34, 1947), and two bare estimates are combined as independent. All intervals are at 95 %, each for
//! itself: of twenty metrics without any difference one shows one. No difference is known better than the step in which numbers
//! are told ([`Comparison::in_steps`]).

mod advice;
mod between;
mod effort;
mod left_out;
mod numbers;
mod same;
mod settings;
mod steps;
mod verdict;
mod within;

use std::fmt;

use sojourn_stats::interval::t_quantile;
use sojourn_stats::{Estimate, Measure, Moments};

use self::effort::Stated;
use crate::answer::{Answer, VariantAnswers};
use crate::spec::Engine;

pub use self::advice::{advice, would_have_been_seen};
pub use self::between::{VariantComparison, about_pairs, hardest, judged_together, notes, runs};
pub use self::effort::{Length, Spent};
pub use self::left_out::{LeftOut, least_samples};
pub(crate) use self::numbers::{Numbers, numbers};
pub use self::same::in_common;
pub(crate) use self::same::{briefest, filled, in_common_of, keys_of_runs};
pub(crate) use self::settings::NOT_SET;
pub use self::settings::differing;
pub use self::verdict::{ALONE, FEW, legend_of_alone, legend_of_failures};
pub(crate) use self::within::{Choice, compared_but, is_of_load, is_policy, runs_without_interval, within_setting};
pub use self::within::{
    PAIRED, Within, compared_choice, compared_setting, equal_but_for, pairs, within, without_interval,
};

/// Half the chance that an interval misses.
const UPPER: f64 = 0.975;
/// The chance with which "could have been seen" would have seen it.
const POWER: f64 = 0.8;
/// The relative difference that a comparison is to see: what it takes is said where it would have missed it.
pub const WORTH_SEEING: f64 = 0.1;
/// Of more than so many pairs more, or so many times as long, no number is told.
const MOST_MORE: f64 = 10_000.0;
/// How evenly requests, connections or users are shared out. It is no mean of replications: few are shared out less evenly than
/// many, whatever the policy, so that it is larger in a short one. Two of it are compared by what they are of all requests.
const IMBALANCE: &str = "imbalance_index";
/// Relative differences up to this are those of sums in another order.
const ROUNDING: f64 = 1e-12;

/// One metric of A and B set beside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The metric.
    pub metric: String,
    /// Its SI unit.
    pub unit: String,
    /// The value of A; of two runs, as the run says it.
    pub a: f64,
    /// The value of B, likewise.
    pub b: f64,
    /// The shares (1) of the requests of A and of B that failed or were given up, of which times say nothing; none where that is
    /// not known.
    pub failed: [Option<f64>; 2],
    /// B - A, with the ends of its interval.
    pub difference: Between,
    /// B / A, with the ends of its interval; none where one of them is not above 0.
    pub ratio: Option<Between>,
    /// Mean difference over the standard deviation of the difference between pairs (Cohen's d_z); none where it was not
    /// taken from pairs, or does not vary.
    pub effect_size: Option<f64>,
    /// The smallest relative difference that would have been seen four times in five; none where there is no ratio.
    pub could_have_seen: Option<f64>,
    /// What it takes to see [`WORTH_SEEING`] so often: that many pairs more, of other comparisons how many times as much; none
    /// where it was enough, where nothing is known of it, and where it is more than 10,000.
    pub more: Option<f64>,
    /// Where the interval comes from.
    pub how: How,
    /// The step (SI) in which both numbers are told; 0 where they have none.
    pub step: f64,
    /// What both numbers were made of: more of it is what it takes.
    pub spent: Spent,
}

/// A number between two others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// The number.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// Where an interval comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// So many pairs.
    Pairs(usize),
    /// Two samples of such sizes.
    Samples(usize, usize),
    /// The intervals of two estimates.
    Estimates,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            How::Pairs(pairs) => write!(f, "{pairs} pairs"),
            How::Samples(a, b) => write!(f, "{a} and {b} samples"),
            How::Estimates => f.write_str("two intervals"),
        }
    }
}

impl Comparison {
    /// Whether it is by the intervals of A and B even where there are replications, since these say another number.
    pub fn is_of_whole_runs(&self) -> bool {
        self.metric.ends_with(IMBALANCE)
    }

    /// A and B measured pair by pair; none below two pairs.
    pub fn of_pairs(metric: &str, unit: &str, pairs: &[(f64, f64)]) -> Option<Comparison> {
        let differences: Moments = pairs.iter().map(|(a, b)| b - a).collect();
        let difference = around(&differences)?;
        let positive = pairs.iter().all(|(a, b)| *a > 0.0 && *b > 0.0);
        let logarithms: Moments = pairs.iter().filter(|_| positive).map(|(a, b)| (b / a).ln()).collect();
        let ratio = around(&logarithms);
        let degrees = pairs.len() as u64 - 1;
        let seen = ratio.map(|_| power(degrees) * (logarithms.variance() / pairs.len() as f64).sqrt());
        let more = seen.and_then(|_| more_pairs(logarithms.variance(), pairs.len()));
        let deviation = differences.variance().sqrt();
        Some(Comparison {
            metric: metric.into(),
            unit: unit.into(),
            a: pairs.iter().map(|pair| pair.0).sum::<f64>() / pairs.len() as f64,
            b: pairs.iter().map(|pair| pair.1).sum::<f64>() / pairs.len() as f64,
            failed: [None; 2],
            difference,
            ratio: ratio.map(Between::exp),
            effect_size: (deviation > 0.0).then(|| differences.mean() / deviation),
            could_have_seen: seen.map(f64::exp_m1),
            more,
            how: How::Pairs(pairs.len()),
            step: 0.0,
            spent: Spent::Unknown,
        })
    }

    /// Two independent samples, by Welch's t; none where one has less than two.
    pub fn of_samples(metric: &str, unit: &str, a: &[f64], b: &[f64]) -> Option<Comparison> {
        let difference = welch(a.iter().copied(), b.iter().copied())?;
        let positive = a.iter().chain(b).all(|value| *value > 0.0);
        let logarithms = positive.then(|| welch(a.iter().map(|a| a.ln()), b.iter().map(|b| b.ln()))).flatten();
        Some(Comparison {
            metric: metric.into(),
            unit: unit.into(),
            a: a.iter().copied().collect::<Moments>().mean(),
            b: b.iter().copied().collect::<Moments>().mean(),
            failed: [None; 2],
            difference: difference.0,
            ratio: logarithms.map(|(between, _)| between.exp()),
            effect_size: None,
            could_have_seen: logarithms.map(|(_, seen)| seen.exp_m1()),
            more: logarithms.and_then(|(_, seen)| times_as_much(seen)),
            how: How::Samples(a.len(), b.len()),
            step: 0.0,
            spent: Spent::Unknown,
        })
    }

    /// Two estimates as independent; none where one has no interval. Each end of the difference takes the nearer ends of the
    /// two intervals (G. Zou and A. Donner, Statistics in Medicine 27(10), 2008), so that one that reaches farther to one
    /// side, as a share near 0 does, is taken as it is.
    pub fn of_estimates(metric: &str, unit: &str, a: &Estimate, b: &Estimate) -> Option<Comparison> {
        // A formula's interval is a point.
        let known = |of: &Estimate| Some((of.value()?, of.ends()?.0, of.ends()?.1));
        let (of_a, of_b) = (known(a)?, known(b)?);
        let logarithm = |(value, low, high): (f64, f64, f64)| {
            // Where the lower end reaches 0, nothing says how small it may be beside the other.
            let below = if low > 0.0 { (value / low).ln() } else { f64::INFINITY };
            (value > 0.0).then(|| (value.ln(), value.ln() - below, (high / value).ln() + value.ln()))
        };
        let logarithms = logarithm(of_a).zip(logarithm(of_b));
        let ratio =
            logarithms.map(|(a, b)| Between::apart(a, b)).filter(|of| of.low.is_finite() && of.high.is_finite());
        let half = ratio.map(|of| 0.5 * (of.high - of.low));
        let normal = power(u64::from(u32::MAX)) / t_quantile(UPPER, u64::from(u32::MAX));
        Some(Comparison {
            metric: metric.into(),
            unit: unit.into(),
            a: of_a.0,
            b: of_b.0,
            failed: [None; 2],
            difference: Between::apart(of_a, of_b),
            ratio: ratio.map(Between::exp),
            effect_size: None,
            could_have_seen: half.map(|half| (half * normal).exp_m1()),
            more: half.and_then(|half| times_as_much(half * normal)),
            how: How::Estimates,
            step: 0.0,
            spent: Spent::Unknown,
        })
    }
}

impl Between {
    fn within(value: f64, half: f64) -> Between {
        Between { value, low: value - half, high: value + half }
    }

    /// B - A, each a value with the ends of its interval.
    fn apart(a: (f64, f64, f64), b: (f64, f64, f64)) -> Between {
        let value = b.0 - a.0;
        let (below, above) = ((b.0 - b.1).hypot(a.2 - a.0), (b.2 - b.0).hypot(a.0 - a.1));
        Between { value, low: value - below, high: value + above }
    }

    fn exp(self) -> Between {
        Between { value: self.value.exp(), low: self.low.exp(), high: self.high.exp() }
    }

    fn ln(self) -> Between {
        Between { value: self.value.ln(), low: self.low.ln(), high: self.high.ln() }
    }

    /// The same with an interval so many times as wide.
    fn wider(self, times: f64) -> Between {
        let Between { value, low, high } = self;
        Between { value, low: value - times * (value - low), high: value + times * (high - value) }
    }
}

fn around(moments: &Moments) -> Option<Between> {
    let degrees = moments.count().checked_sub(1).filter(|degrees| *degrees > 0)?;
    let error = (moments.variance() / moments.count() as f64).sqrt();
    Some(Between::within(moments.mean(), t_quantile(UPPER, degrees) * error))
}

/// How many standard errors a difference has to be so that it is seen with the chance [`POWER`].
fn power(degrees: u64) -> f64 {
    t_quantile(UPPER, degrees) + t_quantile(POWER, degrees)
}

/// How many more pairs it takes to see [`WORTH_SEEING`], where so many have logarithms of this variance.
fn more_pairs(variance: f64, pairs: usize) -> Option<f64> {
    let see = |count: u64| power(count - 1) * (variance / count as f64).sqrt() <= WORTH_SEEING.ln_1p();
    let now = pairs as u64;
    let (mut too_few, mut enough) = (now, now + MOST_MORE as u64);
    if see(too_few) || !see(enough) {
        return None;
    }
    // What more of them see is never less.
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if see(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    Some((enough - now) as f64)
}

/// How many times as much it takes to see [`WORTH_SEEING`], where the logarithm is seen from `seen` on: an error shrinks with
/// the root of what was measured.
fn times_as_much(seen: f64) -> Option<f64> {
    Some((seen / WORTH_SEEING.ln_1p()).powi(2)).filter(|times| (1.0..=MOST_MORE).contains(times))
}

/// The estimate of all of these together, which are of the same share and saw the same: none, or all. None where they differ, or
/// are no share. Each of so many is worth as much as its interval says, and the ends of none are about 3 in all of them, so that
/// the reciprocals of these ends add up.
pub fn together(metric: &str, estimates: &[&Estimate]) -> Option<Estimate> {
    let first = estimates.first()?.value()?;
    let alike = estimates.iter().all(|of| of.value() == Some(first));
    if !metric.ends_with("_ratio") || !alike || ![0.0, 1.0].contains(&first) {
        return None;
    }
    let ends: Vec<(f64, f64)> = estimates.iter().map(|of| of.interval()).collect::<Option<_>>()?;
    let worth = |reach: f64| if reach > 0.0 { 1.0 / reach } else { 0.0 };
    let (below, above) =
        ends.iter().fold((0.0, 0.0), |sum, (low, high)| (sum.0 + worth(first - low), sum.1 + worth(high - first)));
    let reach = |worth: f64| if worth > 0.0 { 1.0 / worth } else { 0.0 };
    let samples = estimates.iter().filter_map(|of| of.samples()).sum();
    Some(Estimate::Sampled { value: first, ci_low: first - reach(below), ci_high: first + reach(above), samples })
}

/// Mean of b - mean of a with Welch's interval, and what could have been seen.
fn welch(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> Option<(Between, f64)> {
    let (a, b): (Moments, Moments) = (a.collect(), b.collect());
    if a.count() < 2 || b.count() < 2 {
        return None;
    }
    let squares = [&a, &b].map(|sample| sample.variance() / sample.count() as f64);
    let sum = squares[0] + squares[1];
    let below = squares[0].powi(2) / (a.count() - 1) as f64 + squares[1].powi(2) / (b.count() - 1) as f64;
    // Rounded down, which widens the interval a little. Where nothing varies it is no number, and 1 as good as any.
    let degrees = (sum.powi(2) / below).floor().max(1.0) as u64;
    let error = sum.sqrt();
    Some((Between::within(b.mean() - a.mean(), t_quantile(UPPER, degrees) * error), power(degrees) * error))
}

/// B against A in `metric` by `engine`: replication by replication where both have them, of the same seed, else by their two
/// intervals; none where one has no interval.
pub(crate) fn variants_by(a: &VariantAnswers, b: &VariantAnswers, engine: Engine, metric: &str) -> Option<Comparison> {
    let (a, b) = (a.answer(engine)?, b.answer(engine)?);
    let measure = a.measures.iter().find(|measure| measure.metric == metric)?;
    self::metric(measure, a, b, true)
}

/// B against A in a metric, no better known than the step in which it is told.
fn metric(measure: &Measure, a: &Answer, b: &Answer, same_seed: bool) -> Option<Comparison> {
    let compared = steps::in_their_steps(as_told(measure, a, b, same_seed)?, a, b);
    Some(Comparison { failed: [a.failed(), b.failed()], ..compared })
}

fn as_told(measure: &Measure, a: &Answer, b: &Answer, same_seed: bool) -> Option<Comparison> {
    let Measure { metric, unit, estimate } = measure;
    let other = b.estimate(metric)?;
    // Where the run was too short for an interval its replications say no more.
    estimate.ends().and(other.ends())?;
    if metric.ends_with(IMBALANCE) {
        return Comparison::of_estimates(metric, unit, estimate, other);
    }
    if let (Some(of_a), Some(of_b)) = (a.replications(metric), b.replications(metric)) {
        let compared = if same_seed {
            let pairs: Vec<(f64, f64)> = of_a.iter().zip(of_b).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
            Comparison::of_pairs(metric, unit, &pairs)
        } else {
            let known = |values: &[Option<f64>]| values.iter().flatten().copied().collect::<Vec<f64>>();
            Comparison::of_samples(metric, unit, &known(of_a), &known(of_b))
        };
        // That all saw none of a share, or all, is no proof that nothing else can be.
        let is_open = |of: &Estimate| of.value().is_some_and(|of| [0.0, 1.0].contains(&of)) && !of.is_sharp();
        let is_of_none = metric.ends_with("_ratio") && (is_open(estimate) || is_open(other));
        let compared = compared.filter(|of| !is_of_none || of.difference.low != of.difference.high);
        // Of a percentile the mean of replications is another number than that of all requests, which the runs have said.
        if let (Some(compared), Some(of_a), Some(of_b)) = (compared, estimate.value(), other.value()) {
            return Some(Comparison { a: of_a, b: of_b, ..compared });
        }
    }
    Comparison::of_estimates(metric, unit, estimate, other)
}

#[cfg(test)]
mod tests {
    use sojourn_stats::Stream;
    use sojourn_stats::measure::NoInterval;

    use super::*;

    /// Pairs with a common noise of 50 %, an own noise of 1 %, and B `factor` times A.
    fn pairs(stream: &mut Stream, count: usize, factor: f64) -> Vec<(f64, f64)> {
        let mut pair = || {
            let common = 1.0 + stream.uniform();
            (common * (1.0 + 0.02 * stream.uniform()), factor * common * (1.0 + 0.02 * stream.uniform()))
        };
        (0..count).map(|_| pair()).collect()
    }

    /// That neither saw a failure is no proof that they are equal: 3 in all of the requests of both may come.
    #[test]
    fn none_on_either_side_is_not_equal() {
        let none = Estimate::Sampled { value: 0.0, ci_low: 0.0, ci_high: 0.015, samples: 200 };
        let all = together("error_ratio", &[&none, &none, &none]).unwrap();
        assert!(all.interval().is_some_and(|(low, high)| low == 0.0 && (high - 0.005).abs() < 1e-12), "{all:?}");
        let compared = Comparison::of_estimates("error_ratio", "1", &all, &all).unwrap();
        assert!(compared.verdict() == "none seen in either" && compared.difference.high > 0.004, "{compared:?}");
        let some = Estimate::Sampled { value: 0.01, ci_low: 0.0, ci_high: 0.02, samples: 200 };
        assert_eq!(together("error_ratio", &[&none, &some]), None);
        assert_eq!(together("response_time_mean", &[&none, &none]), None);
    }

    /// In short replications requests are shared out less evenly, the more so with the policy that draws: what is told is of all.
    #[test]
    fn an_index_of_all_requests_is_compared_as_a_whole() {
        let measure = |value: f64| {
            let (ci_low, ci_high) = (value - 0.01, value + 0.01);
            Measure::new("imbalance_index", "1", Estimate::Sampled { value, ci_low, ci_high, samples: 900 })
        };
        let answer = |value: f64, each: f64| Answer {
            measures: vec![measure(value)],
            replications: vec![("imbalance_index".to_owned(), [0.0, 0.01, 0.02].map(|of| Some(each + of)).to_vec())],
            ..Answer::new(Engine::Sim)
        };
        let (a, b) = (answer(1.0, 1.0), answer(1.01, 1.05));
        for same_seed in [true, false] {
            let of = metric(&measure(1.0), &a, &b, same_seed).unwrap();
            let ratio = of.ratio.unwrap();
            assert!((ratio.value - 1.01).abs() < 1e-9 && ratio.low < 1.0 && ratio.high > 1.0, "{of:?}");
            assert!(of.how == How::Estimates && of.is_of_whole_runs() && !of.differs(), "{of:?}");
        }
    }

    #[test]
    fn pairs_see_what_samples_do_not() {
        let pairs = pairs(&mut Stream::new(1, "compare", "test"), 5, 1.1);
        let paired = Comparison::of_pairs("response_time_mean", "s", &pairs).unwrap();
        assert!(paired.differs() && paired.verdict() == "B is slower", "{paired:?}");
        let ratio = paired.ratio.unwrap();
        assert!(ratio.low < 1.1 && ratio.high > 1.1 && ratio.high - ratio.low < 0.06, "{ratio:?}");
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let samples = Comparison::of_samples("response_time_mean", "s", &a, &b).unwrap();
        assert!(!samples.differs() && samples.could_have_seen.unwrap() > 0.2, "{samples:?}");
        assert!(samples.verdict().starts_with("no difference seen: to see 10 % takes "), "{}", samples.verdict());
    }

    fn assert_between(between: Between, (value, low, high): (f64, f64, f64)) {
        for (of, worked) in [(between.value, value), (between.low, low), (between.high, high)] {
            assert!((of - worked).abs() < 1e-6, "{between:?} instead of {value}, {low}, {high}");
        }
    }

    /// Worked by hand with t(0.975) and t(0.8) of 2 and 4 degrees of freedom.
    #[test]
    fn each_number_is_that_of_its_formula() {
        let paired =
            Comparison::of_pairs("response_time_mean", "s", &[(10.0, 11.0), (20.0, 23.0), (30.0, 32.0)]).unwrap();
        assert_eq!((paired.a, paired.b, paired.effect_size), (20.0, 22.0, Some(2.0)));
        assert_between(paired.difference, (2.0, -0.484_137_7, 4.484_137_7));
        assert_between(paired.ratio.unwrap(), (1.105_027_5, 1.005_941_5, 1.213_873_5));
        assert!((paired.could_have_seen.unwrap() - 0.124_237_8).abs() < 1e-6, "{paired:?}");
        // The logarithms vary by 0.00143: four pairs see 8.2 %.
        assert_eq!(paired.verdict(), "no difference seen: to see 10 % takes 1 more pair");
        let wild: Vec<(f64, f64)> = (0..4).map(|k| (1.0, if k % 2 == 0 { 1.3 } else { 0.8 })).collect();
        let wild = Comparison::of_pairs("response_time_mean", "s", &wild).unwrap();
        // 2.8 standard errors in all but the first few, of a variance of 0.0786: 0.0786 (2.8 / 0.0953)^2 = 68 pairs.
        assert!((62.0..70.0).contains(&wild.more.unwrap()), "{wild:?}");
        // The logarithms vary by 1.78, so that it takes 1.78 (2.803 / 0.0953)^2 = 1,540 pairs.
        let up_and_down = |factor: f64| {
            let pairs: Vec<(f64, f64)> =
                (0..20).map(|k| (1.0, if k % 2 == 0 { factor } else { 1.0 / factor })).collect();
            Comparison::of_pairs("response_time_mean", "s", &pairs).unwrap()
        };
        let noisy = up_and_down(3.67);
        assert!((1500.0..1540.0).contains(&noisy.more.unwrap()), "{noisy:?}");
        // By 13.6: 11,800 pairs, which is too many to tell.
        let hopeless = up_and_down(36.6);
        assert_eq!(hopeless.verdict(), "no difference seen: to see 10 % takes more than 10000 more pairs");

        let welch = Comparison::of_samples("m", "1", &[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0, 8.0]).unwrap();
        assert_eq!((welch.a, welch.b, welch.how), (2.0, 5.0, How::Samples(3, 4)));
        assert_between(welch.difference, (3.0, -0.926_486_3, 6.926_486_3));
        assert_between(welch.ratio.unwrap(), (2.436_122_1, 0.718_883_4, 8.255_429));
        assert!((welch.could_have_seen.unwrap() - 4.124_795_8).abs() < 1e-6, "{welch:?}");
        for (a, b) in [(&[1.0][..], &[1.0, 2.0][..]), (&[1.0, 2.0], &[1.0])] {
            assert!(Comparison::of_samples("m", "1", a, b).is_none(), "one number has no interval");
        }

        let of = |value: f64, half: f64| {
            let (ci_low, ci_high) = (value - half, value + half);
            Estimate::Sampled { value, ci_low, ci_high, samples: 9 }
        };
        let bare = Comparison::of_estimates("throughput", "1/s", &of(100.0, 3.0), &of(110.0, 4.0)).unwrap();
        assert_eq!((bare.a, bare.b, bare.effect_size), (100.0, 110.0, None));
        assert_between(bare.ratio.unwrap(), (1.1, 1.0490873, 1.1528673));
        assert!((bare.could_have_seen.unwrap() - 0.0697437).abs() < 1e-6, "{bare:?}");
        let sign = Comparison::of_estimates("m", "1", &of(-1.0, 0.1), &of(1.0, 0.1)).unwrap();
        assert_eq!((sign.ratio, sign.could_have_seen), (None, None), "signs have no ratio");
        assert_eq!(sign.verdict(), "B has more");
        let less = Comparison::of_estimates("m", "1", &of(1.0, 0.1), &of(-1.0, 0.1)).unwrap();
        assert_eq!(less.verdict(), "B has less");
        let constant = Comparison::of_samples("m", "1", &[1.0, 1.0], &[2.0, 2.0]).unwrap();
        assert_eq!(
            (constant.difference.low, constant.difference.high, constant.could_have_seen),
            (1.0, 1.0, Some(0.0))
        );
    }

    /// What is 0 has no ratio, and what does not vary no effect size.
    #[test]
    fn what_has_no_number_has_none() {
        let pairs = |pairs: &[(f64, f64)]| Comparison::of_pairs("m", "1", pairs).unwrap();
        for with_zero in [[(0.0, 1.0), (1.0, 2.0)], [(1.0, 0.0), (1.0, 2.0)]] {
            assert_eq!((pairs(&with_zero).ratio, pairs(&with_zero).could_have_seen), (None, None));
        }
        assert_eq!(pairs(&[(1.0, 2.0), (2.0, 3.0)]).effect_size, None);
        assert_eq!(pairs(&[(10.0, 12.0), (20.0, 26.0), (30.0, 34.0)]).effect_size, Some(2.0), "4 over 2");
        let samples = |a: &[f64], b: &[f64]| Comparison::of_samples("m", "1", a, b).unwrap().ratio;
        assert_eq!([samples(&[0.0, 1.0], &[1.0, 2.0]), samples(&[1.0, 2.0], &[0.0, 1.0])], [None; 2]);
        let of = |value: f64| Estimate::Sampled { value, ci_low: value - 0.1, ci_high: value + 0.1, samples: 9 };
        let estimates = |a, b| Comparison::of_estimates("m", "1", &of(a), &of(b)).unwrap().ratio;
        assert_eq!([estimates(0.0, 1.0), estimates(1.0, 0.0)], [None; 2]);
        assert_eq!(How::Pairs(3).to_string(), "3 pairs");
        assert_eq!(How::Samples(3, 4).to_string(), "3 and 4 samples");
        assert_eq!(How::Estimates.to_string(), "two intervals");
    }

    #[test]
    fn intervals_cover_what_they_claim() {
        // 2000 comparisons of equals: a 95 % interval misses 100 +- 10 times; 7 standard deviations is below 1e-11.
        let mut stream = Stream::new(2, "compare", "test");
        let (mut missed_pairs, mut missed_samples) = (0, 0);
        for _ in 0..2000 {
            let pairs = pairs(&mut stream, 5, 1.0);
            missed_pairs += u32::from(Comparison::of_pairs("m", "1", &pairs).unwrap().differs());
            let a: Vec<f64> = (0..8).map(|_| stream.uniform()).collect();
            let b: Vec<f64> = (0..5).map(|_| 0.25 + 0.5 * stream.uniform()).collect();
            missed_samples += u32::from(Comparison::of_samples("m", "1", &a, &b).unwrap().differs());
        }
        assert!((30..170).contains(&missed_pairs), "{missed_pairs}");
        assert!((30..170).contains(&missed_samples), "{missed_samples}");
    }

    /// 0 of 50 (0 to 7 %) and 2 of 50 (0.5 to 14 %) may well be the same, and nothing says how many times as much.
    #[test]
    fn intervals_that_reach_farther_to_one_side_are_taken_as_they_are() {
        let of = |value, ci_low, ci_high| Estimate::Sampled { value, ci_low, ci_high, samples: 50 };
        let shares = |a: &Estimate, b: &Estimate| Comparison::of_estimates("error_ratio", "1", a, b).unwrap();
        let (none, two) = (of(0.0, 0.0, 0.07), of(0.04, 0.005, 0.14));
        let more = shares(&none, &two);
        assert_between(more.difference, (0.04, 0.04 - 0.035_f64.hypot(0.07), 0.14));
        assert_eq!((more.differs(), more.ratio), (false, None));
        let less = shares(&two, &none);
        assert_between(less.difference, (-0.04, -0.14, -0.04 + 0.035_f64.hypot(0.07)));
        assert!(!less.differs(), "the half of both intervals would leave out 0: {less:?}");
        let low = shares(&of(0.04, 0.0, 0.1), &of(0.05, 0.04, 0.06));
        assert_eq!((low.ratio, low.could_have_seen), (None, None), "A may be any part of B");
    }

    #[test]
    fn estimates_combine_and_what_says_nothing_compares_with_nothing() {
        let of = |value: f64, half: f64| Estimate::Sampled {
            value,
            ci_low: value - half,
            ci_high: value + half,
            samples: 9,
        };
        let c = Comparison::of_estimates("throughput", "1/s", &of(100.0, 3.0), &of(110.0, 4.0)).unwrap();
        assert!((c.difference.low - 5.0).abs() < 1e-9 && (c.difference.high - 15.0).abs() < 1e-9, "{c:?}");
        assert_eq!(c.verdict(), "B has more");
        let bare = Estimate::WithoutInterval { value: 1.0, samples: 9, why: NoInterval::TooShort };
        assert!(Comparison::of_estimates("m", "1", &of(1.0, 0.1), &bare).is_none(), "it is no point");
        assert!(Comparison::of_estimates("m", "1", &of(1.0, 0.1), &Estimate::TooFew { samples: 1 }).is_none());
        assert!(Comparison::of_pairs("m", "1", &[(1.0, 2.0)]).is_none());
        let zeros = Comparison::of_pairs("error_ratio", "1", &[(0.0, 0.0); 3]).unwrap();
        assert!(!zeros.differs() && zeros.ratio.is_none() && zeros.verdict() == "equal");
    }
}
