//! Confidence intervals. `confidence` is the chance that the interval covers the truth, e.g. 0.95.

use std::cell::Cell;

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc_inv;
use statrs::function::gamma::gamma_lr;

use crate::root;

/// The `p` quantile of Student's t law with `degrees` degrees of freedom.
///
/// # Panics
/// When `degrees` is 0 or `p` is not between 0 and 1.
pub fn t_quantile(p: f64, degrees: u64) -> f64 {
    assert!(degrees > 0 && p > 0.0 && p < 1.0, "no t quantile {p} with {degrees} degrees of freedom");
    let (of_p, of_degrees, last) = LAST.get();
    if (of_p, of_degrees) == (p, degrees) {
        return last;
    }
    let found = found_t_quantile(p, degrees);
    LAST.set((p, degrees, found));
    found
}

thread_local! {
    /// What was asked last of [`t_quantile`], and the answer, which takes microseconds: a report has thousands of intervals, all
    /// from as many parts.
    static LAST: Cell<(f64, u64, f64)> = const { Cell::new((0.0, 0, 0.0)) };
}

fn found_t_quantile(p: f64, degrees: u64) -> f64 {
    if degrees > 200 {
        // Fisher's expansion about the normal quantile (Abramowitz and Stegun 26.7.5), here good to eight digits;
        // statrs is off by 1e-4 at a million degrees.
        let (z, v) = (normal_quantile(p), degrees as f64);
        let z2 = z * z;
        let first = (z2 + 1.0) / 4.0;
        let second = ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
        let third = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
        return z * (1.0 + (first + (second + third / v) / v) / v);
    }
    StudentsT::new(0.0, 1.0, degrees as f64).expect("degrees > 0").inverse_cdf(p)
}

/// The `p` quantile of the standard normal law.
pub fn normal_quantile(p: f64) -> f64 {
    -std::f64::consts::SQRT_2 * erfc_inv(2.0 * p)
}

/// Half the width of Student's interval for the mean of `samples` independent numbers of this sample variance.
/// `None` below two samples.
pub fn mean_half_width(samples: u64, variance: f64, confidence: f64) -> Option<f64> {
    let degrees = samples.checked_sub(1).filter(|degrees| *degrees > 0)?;
    Some(t_quantile(0.5 + 0.5 * confidence, degrees) * (variance / samples as f64).sqrt())
}

/// Wilson's score interval for a probability, from `successes` in `samples` independent trials (J. Am. Stat. Assoc.
/// 22, 1927); unlike the textbook one it neither leaves [0, 1] nor vanishes at 0 successes. `None` of no trial.
pub fn ratio(successes: u64, samples: u64, confidence: f64) -> Option<(f64, f64)> {
    assert!(successes <= samples, "{successes} successes in {samples} trials");
    if samples == 0 {
        return None;
    }
    let n = samples as f64;
    let p = successes as f64 / n;
    let z2 = normal_quantile(0.5 + 0.5 * confidence).powi(2);
    let centre = (p + 0.5 * z2 / n) / (1.0 + z2 / n);
    let half = (z2 * (p * (1.0 - p) + 0.25 * z2 / n) / n).sqrt() / (1.0 + z2 / n);
    // At 0 or all successes one end is exact; rounding would leave it a hair off.
    let low = if successes == 0 { 0.0 } else { centre - half };
    let high = if successes == samples { 1.0 } else { centre + half };
    Some((low, high))
}

/// Clopper and Pearson's exact interval for a probability (Biometrika 26, 1934), from `successes` in `trials`
/// independent trials. Either may be a fraction: trials that are alike count as fewer (Korn and Graubard, Survey
/// Methodology 24(2), 1998). At no success and at nothing else the truth is on one side only, and so is all of the
/// error: none of 39 allows 7.4 % at a confidence of 0.95.
///
/// # Panics
/// When there is no trial, or there are more successes.
pub fn exact_ratio(successes: f64, trials: f64, confidence: f64) -> (f64, f64) {
    assert!(trials > 0.0 && (0.0..=trials).contains(&successes), "{successes} successes in {trials} trials");
    // The chance of no more than 0 successes is (1 - p)^trials.
    let none = -((1.0 - confidence).ln() / trials).exp_m1();
    if successes == 0.0 || successes == trials {
        return if successes == 0.0 { (0.0, none) } else { (1.0 - none, 1.0) };
    }
    let outside = 0.5 * (1.0 - confidence);
    // The chance of a beta variable up to p is that of at least so many successes.
    let failures = trials - successes;
    let ratio = successes / trials;
    let reach = reach(confidence) * (ratio * (1.0 - ratio) / trials).sqrt() + REACH / trials;
    let end = |one: f64, other: f64, near: (f64, f64), level: f64| {
        crossing((near.0.max(0.0), near.1.min(1.0)), 1.0, |p| beta_reg(one, other, p), level)
    };
    let low = end(successes, failures + 1.0, (ratio - reach, ratio), outside);
    (low, end(successes + 1.0, failures, (ratio, ratio + reach), 1.0 - outside))
}

/// Garwood's exact interval for the mean of a Poisson variable (Biometrika 28, 1936), of which `events` were seen. At none, all
/// of the error is on one side: 3.0 at a confidence of 0.95.
pub fn exact_count(events: u64, confidence: f64) -> (f64, f64) {
    if events == 0 {
        return (0.0, -(1.0 - confidence).ln());
    }
    let outside = 0.5 * (1.0 - confidence);
    let mean = events as f64;
    let most = mean + 20.0 * (mean + 1.0).sqrt();
    let reach = reach(confidence) * mean.sqrt() + REACH;
    // The chance that a gamma variable of shape k is up to m is that of at least k events of a mean of m.
    let end = |shape: u64, near: (f64, f64), level: f64| {
        crossing((near.0.max(f64::MIN_POSITIVE), near.1), most, |mean| gamma_lr(shape as f64, mean), level)
    };
    (end(events, (mean - reach, mean), outside), end(events + 1, (mean, mean + reach), 1.0 - outside))
}

/// What a count may be off beyond its standard errors, as the law of a small one is skewed.
const REACH: f64 = 3.0;

/// So many standard errors from what was seen an end is sought first.
fn reach(confidence: f64) -> f64 {
    normal_quantile(0.5 + 0.5 * confidence) + 1.0
}

/// Where a distribution function comes to `level`: sought `near` what was seen, which takes a few evaluations, and between 0 and
/// `most` where it is not there.
fn crossing(near: (f64, f64), most: f64, share_up_to: impl Fn(f64) -> f64, level: f64) -> f64 {
    let off = |x: f64| share_up_to(x) - level;
    root::find(near.0, near.1, 1e-12, off)
        .or_else(|| root::find(f64::MIN_POSITIVE, most, 1e-12, off))
        .expect("it goes from 0 to 1")
}

/// The ranks (from 0, ascending) of the two order statistics that cover the `p` quantile of `samples` independent
/// numbers, whatever their law (David and Nagaraja, Order Statistics, section 7.1). `None` when the samples are too
/// few for this quantile: 71 samples have no interval for their p99, 368 do.
pub fn quantile_ranks(samples: u64, p: f64, confidence: f64) -> Option<(u64, u64)> {
    assert!(p > 0.0 && p < 1.0, "the quantile {p} is not between 0 and 1");
    let outside = 0.5 * (1.0 - confidence);
    // The number of samples at or below the quantile is binomial.
    let low = binomial_quantile(samples, p, outside);
    let high = binomial_quantile(samples, p, 1.0 - outside);
    (low >= 1 && high < samples).then(|| (low - 1, high))
}

/// The smallest k with P(B <= k) >= `level`, B binomial. The chances are built by their ratios from the mode outwards
/// and normalised by their own sum, which needs no gamma function and stays exact for any number of trials.
fn binomial_quantile(trials: u64, p: f64, level: f64) -> u64 {
    const NEGLIGIBLE: f64 = 1e-20;
    let odds = p / (1.0 - p);
    let mode = (((trials + 1) as f64) * p).floor() as u64;
    let mode = mode.min(trials);
    let mut below = Vec::new();
    let (mut k, mut chance) = (mode, 1.0);
    while k > 0 && chance > NEGLIGIBLE {
        chance *= k as f64 / ((trials - k + 1) as f64 * odds);
        k -= 1;
        below.push(chance);
    }
    let first = k;
    let mut chances: Vec<f64> = below.into_iter().rev().collect();
    let (mut k, mut chance) = (mode, 1.0);
    chances.push(chance);
    while k < trials && chance > NEGLIGIBLE {
        chance *= (trials - k) as f64 * odds / (k + 1) as f64;
        k += 1;
        chances.push(chance);
    }
    let needed = level * chances.iter().sum::<f64>();
    let mut sum = 0.0;
    let before = chances.iter().take_while(|chance| {
        sum += **chance;
        sum < needed
    });
    (first + before.count() as u64).min(trials)
}
