//! From samples to a number with an interval: the rows that every engine answers in.
//!
//! Independent samples ([`mean_of_samples`], [`quantile_of_samples`], [`ratio`]) and the autocorrelated series of one
//! long run ([`mean_of_series`], [`crate::parts::quantiles_of_series`]) are told apart, because the textbook interval of a series
//! is several times too short. All intervals are at 95 % ([`CONFIDENCE`]); [`crate::interval`] has any level.

use serde::{Deserialize, Serialize};

use crate::interval;
use crate::moments::Moments;

/// The chance that the interval of an [`Estimate::Sampled`] covers the truth.
pub const CONFIDENCE: f64 = 0.95;

/// Batches that a series is cut into: with more the t quantile hardly shrinks, but the batches are more correlated
/// (Schmeiser, Operations Research 30(3), 1982).
pub(crate) const BATCHES: usize = 20;
/// Samples that must lie beyond a quantile of a series on either side for an interval: with fewer it is an extreme, not a
/// quantile.
pub const BEYOND_LEAST: f64 = 10.0;
/// A quantile this far from 0 and 1 is in no tail.
const TAIL: f64 = 0.25;
/// Relative differences up to this are those of sums in another order.
const ROUNDING: f64 = 1e-12;

/// The only metrics that can be negative, but for differences: the bias of predictions.
const SIGNED: [&str; 1] = ["prediction_error_mean"];
/// What metrics begin with that are shares of each part of a system.
const SHARES: [&str; 3] = ["utilization_", "hit_ratio_", "share_"];

/// One answer of one engine about one metric.
///
/// Metric names carry no unit (`response_time_mean`, `response_time_p90`, `waiting_time_mean`, `service_time_mean`,
/// `throughput`, `utilization`, `imbalance_index`, `error_ratio`, `share` per server as `share_1`); the unit is SI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// The metric's name.
    pub metric: String,
    /// The SI unit, or `1` for a ratio.
    pub unit: String,
    /// What is known of it.
    pub estimate: Estimate,
}

/// How well a metric is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimate {
    /// From samples, with the ends of its confidence interval and the number of samples behind it.
    Sampled {
        /// The best single number.
        value: f64,
        /// Lower end of the interval.
        ci_low: f64,
        /// Upper end of the interval.
        ci_high: f64,
        /// Samples behind it.
        samples: u64,
    },
    /// From samples that give a number, but no interval that could be trusted.
    WithoutInterval {
        /// The best single number.
        value: f64,
        /// Samples behind it.
        samples: u64,
        /// Why there is no interval.
        why: NoInterval,
    },
    /// From a formula that is exact for the system asked about.
    Exact {
        /// The number.
        value: f64,
    },
    /// From a formula that is an approximation for it.
    Approximate {
        /// The number.
        value: f64,
    },
    /// Too few samples to say anything (a p99 of 71 samples is their maximum).
    TooFew {
        /// How many there are.
        samples: u64,
    },
}

/// Why a number from samples has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoInterval {
    /// There are too few samples, or too few of them beyond a quantile.
    TooFew,
    /// There are enough, but what follows one another is alike for so long that the run was too short.
    TooShort,
}

impl NoInterval {
    /// Its name in files: `too-few` or `too-short`.
    pub fn name(self) -> &'static str {
        match self {
            NoInterval::TooFew => "too-few",
            NoInterval::TooShort => "too-short",
        }
    }

    /// The same for people.
    pub fn words(self) -> &'static str {
        match self {
            NoInterval::TooFew => "too few samples",
            NoInterval::TooShort => "too short a run",
        }
    }
}

impl Estimate {
    /// `value` without an interval; where there is not even a number, too few samples.
    pub fn without_interval(value: Option<f64>, samples: u64, why: NoInterval) -> Estimate {
        match value.filter(|value| value.is_finite()) {
            Some(value) => Estimate::WithoutInterval { value, samples, why },
            None => Estimate::TooFew { samples },
        }
    }

    /// The same estimate with an interval that holds both ends, if it has one: nothing is known between them.
    pub fn widened(self, (low, high): (f64, f64)) -> Estimate {
        match self {
            Estimate::Sampled { value, ci_low, ci_high, samples } => {
                Estimate::Sampled { value, ci_low: ci_low.min(low), ci_high: ci_high.max(high), samples }
            }
            other => other,
        }
    }

    /// The same estimate with an interval that ends at these two at the latest: the truth is between them in any case. A number
    /// that is not stays within its interval.
    #[must_use]
    pub fn within(&self, (least, most): (f64, f64)) -> Estimate {
        match *self {
            Estimate::Sampled { value, ci_low, ci_high, samples } => {
                let (ci_low, ci_high) = (ci_low.max(least.min(value)), ci_high.min(most.max(value)));
                Estimate::Sampled { value, ci_low, ci_high, samples }
            }
            _ => self.clone(),
        }
    }

    /// So many times the number, and its interval with it.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Estimate {
        match *self {
            Estimate::Sampled { value, ci_low, ci_high, samples } => {
                Estimate::Sampled { value: value * factor, ci_low: ci_low * factor, ci_high: ci_high * factor, samples }
            }
            Estimate::WithoutInterval { value, samples, why } => {
                Estimate::WithoutInterval { value: value * factor, samples, why }
            }
            Estimate::Exact { value } => Estimate::Exact { value: value * factor },
            Estimate::Approximate { value } => Estimate::Approximate { value: value * factor },
            Estimate::TooFew { samples } => Estimate::TooFew { samples },
        }
    }

    /// The same estimate without its interval, if it has one.
    pub fn withheld(self, why: NoInterval) -> Estimate {
        match self {
            Estimate::Sampled { value, samples, .. } => Estimate::WithoutInterval { value, samples, why },
            other => other,
        }
    }

    /// The number, where there is one.
    pub fn value(&self) -> Option<f64> {
        match *self {
            Estimate::Sampled { value, .. }
            | Estimate::WithoutInterval { value, .. }
            | Estimate::Exact { value }
            | Estimate::Approximate { value } => Some(value),
            Estimate::TooFew { .. } => None,
        }
    }

    /// The ends of the interval, where there is one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        match *self {
            Estimate::Sampled { ci_low, ci_high, .. } => Some((ci_low, ci_high)),
            _ => None,
        }
    }

    /// Between which ends the truth is: those of the interval, or a formula's number twice; none where nothing is known
    /// of them.
    pub fn ends(&self) -> Option<(f64, f64)> {
        match *self {
            Estimate::Exact { value } | Estimate::Approximate { value } => Some((value, value)),
            _ => self.interval(),
        }
    }

    /// Half the width of the interval, where there is one; of an interval that was cut off at 0, its upper half.
    pub fn half_width(&self) -> Option<f64> {
        match *self {
            Estimate::Sampled { value, ci_low: 0.0, ci_high, .. } => Some((0.5 * ci_high).max(ci_high - value)),
            Estimate::Sampled { ci_low, ci_high, .. } => Some(0.5 * (ci_high - ci_low)),
            _ => None,
        }
    }

    /// From the number to the farther end of its interval, where there is one: so much is told behind `±`. An end that was cut
    /// off at 0 is as far as the other, or as 0.
    pub fn reach(&self) -> Option<f64> {
        match *self {
            Estimate::Sampled { value, ci_low, ci_high, .. } => Some((ci_high - value).max(value - ci_low)),
            _ => None,
        }
    }

    /// Whether the interval has no width, but for what sums of floating point are off.
    pub fn is_sharp(&self) -> bool {
        self.half_width().zip(self.value()).is_some_and(|(half, value)| half <= ROUNDING * value.abs())
    }

    /// The number of samples behind it; `None` of a formula.
    pub fn samples(&self) -> Option<u64> {
        match *self {
            Estimate::Sampled { samples, .. }
            | Estimate::WithoutInterval { samples, .. }
            | Estimate::TooFew { samples } => Some(samples),
            _ => None,
        }
    }

    /// How sharp it is: half the interval over the number. 0 of a formula and of an interval without width; infinite
    /// when nothing can be said.
    pub fn relative_half_width(&self) -> f64 {
        match *self {
            Estimate::Sampled { value, ci_low, ci_high, .. } => match 0.5 * (ci_high - ci_low) {
                0.0 => 0.0,
                half => half / value.abs(),
            },
            Estimate::Exact { .. } | Estimate::Approximate { .. } => 0.0,
            Estimate::WithoutInterval { .. } | Estimate::TooFew { .. } => f64::INFINITY,
        }
    }
}

impl Measure {
    /// A measure of `metric` in `unit`.
    pub fn new(metric: impl Into<String>, unit: impl Into<String>, estimate: Estimate) -> Measure {
        Measure { metric: metric.into(), unit: unit.into(), estimate }
    }

    /// The same measure with an interval that says nothing that its metric cannot be ([`range`]): no time is negative, and no
    /// share above 1. Whatever is told of a run has its measures so. What judges by the whole width of an interval, such as the
    /// rule that ends a simulation, comes before.
    #[must_use]
    pub fn within_range(&self) -> Measure {
        Measure::new(self.metric.as_str(), self.unit.as_str(), self.estimate.within(range(&self.metric)))
    }
}

/// Whether `metric` is a share of the requests, which people read in per cent. Attempts at each request are a plain number, and
/// so is how many times as long a response takes as another.
pub fn is_share(metric: &str) -> bool {
    let is_of_times = metric.starts_with("response_time_");
    metric.ends_with("_ratio") && !metric.ends_with("attempts_ratio") && !is_of_times
}

/// Between which numbers `metric` is in any case, in its SI unit: shares between 0 and 1, attempts at each request 1 or more;
/// times, counts and rates are not negative, and only differences may be.
pub fn range(metric: &str) -> (f64, f64) {
    let is_part = || SHARES.iter().any(|of| metric.starts_with(of));
    match metric {
        _ if SIGNED.contains(&metric) || metric.ends_with("_difference") => (f64::NEG_INFINITY, f64::INFINITY),
        _ if is_share(metric) || metric == "utilization" || is_part() => (0.0, 1.0),
        _ if metric.ends_with("attempts_ratio") => (1.0, f64::INFINITY),
        _ => (0.0, f64::INFINITY),
    }
}

/// `value` and its `reach` on either side with so many digits behind the point, the reach rounded up, so that what is shown
/// holds all of the interval.
pub fn rounded_outwards(value: f64, reach: f64, digits: usize) -> (String, String) {
    let step = 10_f64.powi(-(digits as i32));
    let shown = (value / step).round() * step;
    // The hair keeps what is a number of steps from becoming one more.
    let steps = ((reach + (shown - value).abs()) / step * (1.0 - 1e-9)).ceil();
    (format!("{value:.digits$}"), format!("{:.digits$}", steps * step))
}

/// The mean of independent samples, or of replications' results, with Student's interval; without one below two.
pub fn mean_of_samples(moments: &Moments) -> Estimate {
    around(moments.mean(), moments, moments.count())
}

/// The probability behind `successes` in `samples` independent trials, with Wilson's interval.
pub fn ratio(successes: u64, samples: u64) -> Estimate {
    match interval::ratio(successes, samples, CONFIDENCE) {
        Some((ci_low, ci_high)) => {
            Estimate::Sampled { value: successes as f64 / samples as f64, ci_low, ci_high, samples }
        }
        None => Estimate::TooFew { samples },
    }
}

/// Whether a quantile of so many samples is more than an extreme: a sample lies beyond it.
pub fn quantile_stands(samples: u64, p: f64) -> bool {
    beyond(samples, p) >= 1.0
}

/// The `p` quantile of independent samples, with the order-statistic interval, valid for any law; without one when no
/// order statistic lies above the interval's upper end. Too few when no sample lies beyond it.
pub fn quantile_of_samples(samples: &[f64], p: f64) -> Estimate {
    let count = samples.len() as u64;
    if !quantile_stands(count, p) {
        return Estimate::TooFew { samples: count };
    }
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let value = sorted[rank(sorted.len(), p)];
    let Some((low, high)) = interval::quantile_ranks(count, p, CONFIDENCE) else {
        return Estimate::without_interval(Some(value), count, NoInterval::TooFew);
    };
    Estimate::Sampled { value, ci_low: sorted[low as usize], ci_high: sorted[high as usize], samples: count }
}

/// The mean of an autocorrelated series in its order of time, after its warm-up, by 20 batch means.
///
/// Should neighbouring batch means still be correlated beyond chance, the variance is raised by (1 + r)/(1 - r), r
/// being their lag-one correlation (as in Skart: Tafazzoli et al., INFORMS J. Computing 23(1), 2011). Without an interval
/// below 20 samples.
pub fn mean_of_series(series: &[f64]) -> Estimate {
    mean_of_batches(series, series.len() as u64)
}

/// As [`mean_of_series`], from the means of equal batches of altogether `samples` samples, which see
/// [`crate::Batches`] for a way to keep in bounded memory.
pub fn mean_of_batches(batch_means: &[f64], samples: u64) -> Estimate {
    let size = batch_means.len() / BATCHES;
    let whole: Moments = batch_means.iter().copied().collect();
    if size == 0 {
        let value = (whole.count() > 0).then(|| whole.mean());
        return Estimate::without_interval(value, samples, NoInterval::TooFew);
    }
    let means: Vec<f64> = sections(batch_means, BATCHES).map(|batch| batch.iter().sum::<f64>() / size as f64).collect();
    let batches: Moments = means.iter().copied().collect();
    let inflation = inflation(&means, &batches);
    let half = interval::mean_half_width(batches.count(), batches.variance() * inflation, CONFIDENCE)
        .expect("there are twenty batches");
    let value = whole.mean();
    Estimate::Sampled { value, ci_low: value - half, ci_high: value + half, samples }
}

/// Whether ten independent samples lie beyond the `p` quantile, where the share at or below it is known to `half_width` at 95 %
/// from 20 parts of a run: as many as independent ones would have to be for that share to be as well known. Where the longest
/// times come in few clumps they do not, and the interval is too narrow. Near the median a wide interval says enough.
pub fn tail_is_known(p: f64, half_width: f64) -> bool {
    let tail = p.min(1.0 - p);
    let error = half_width / interval::t_quantile(0.5 + 0.5 * CONFIDENCE, BATCHES as u64 - 1);
    tail >= TAIL || p * (1.0 - p) / (error * error) * tail >= BEYOND_LEAST
}

/// The `p` quantile of `samples` correlated values when the share at or below it is known to `half_width`: the ends of
/// the share's interval are mapped back through the values' own `quantile` function (Heidelberger and Lewis, Quantile
/// estimation in dependent sequences, Operations Research 32(1), 1984).
///
/// Without an interval when fewer than 10 samples lie beyond it on either side (too few), or when the interval would end
/// beyond the smallest or largest sample, where nothing is known (too short: as many independent samples would do). Too
/// few altogether when no sample lies beyond it (a p99 of 71 samples is their maximum).
pub fn quantile_by_share(p: f64, half_width: f64, samples: u64, quantile: impl Fn(f64) -> f64) -> Estimate {
    let (low, high) = (p - half_width, p + half_width);
    let value = quantile_stands(samples, p).then(|| quantile(p));
    match value {
        Some(value) if beyond(samples, p) >= BEYOND_LEAST && low > 0.0 && high < 1.0 => {
            Estimate::Sampled { value, ci_low: quantile(low), ci_high: quantile(high), samples }
        }
        _ => Estimate::without_interval(value, samples, too_few_or_too_short(samples, p)),
    }
}

/// Why the `p` quantile of so many correlated samples has no interval: with fewer than 10 samples beyond it, these are too
/// few; with more, the run was too short.
pub fn too_few_or_too_short(samples: u64, p: f64) -> NoInterval {
    if beyond(samples, p) < BEYOND_LEAST { NoInterval::TooFew } else { NoInterval::TooShort }
}

/// How many samples lie beyond the `p` quantile, on the side where there are fewer.
fn beyond(samples: u64, p: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0, "the quantile {p} is not between 0 and 1");
    // The hair makes up for 1 - 0.99 being a little less than 0.01.
    samples as f64 * p.min(1.0 - p) * (1.0 + 1e-12)
}

/// Rank (from 0) of the `p` quantile among `count` sorted samples: the smallest with at least a share p at or below.
pub(crate) fn rank(count: usize, p: f64) -> usize {
    // The hair keeps 0.9 * 10 from becoming rank 10 by rounding.
    let at_or_below = (p * count as f64 * (1.0 - 1e-12)).ceil() as usize;
    at_or_below.clamp(1, count) - 1
}

/// `count` equal stretches; what does not divide is left out at the beginning, where the warm-up is nearest.
pub(crate) fn sections(series: &[f64], count: usize) -> impl Iterator<Item = &[f64]> {
    let size = series.len() / count;
    series[series.len() - size * count..].chunks_exact(size)
}

fn around(value: f64, moments: &Moments, samples: u64) -> Estimate {
    match interval::mean_half_width(moments.count(), moments.variance(), CONFIDENCE) {
        Some(half) => Estimate::Sampled { value, ci_low: value - half, ci_high: value + half, samples },
        None => Estimate::without_interval((samples > 0).then_some(value), samples, NoInterval::TooFew),
    }
}

fn inflation(means: &[f64], moments: &Moments) -> f64 {
    let squares = moments.variance() * (means.len() - 1) as f64;
    if squares == 0.0 {
        return 1.0;
    }
    let products: f64 = means.windows(2).map(|pair| (pair[0] - moments.mean()) * (pair[1] - moments.mean())).sum();
    let correlation = products / squares;
    // One-sided 5 % point of the lag-one correlation of independent numbers.
    let by_chance = 1.645 / (means.len() as f64).sqrt();
    if correlation > by_chance { (1.0 + correlation) / (1.0 - correlation.min(0.9)) } else { 1.0 }
}
