//! How concentrated is popularity? Zipf's exponent of a list of counts.
//!
//! The most likely s of a law in which rank r of n is asked for with chance proportional to r^-s, the ranks being those of
//! the counts themselves. Two things to know of it. The ranks were sorted by what was seen, which makes popularity look
//! more concentrated than it is: by some variance of a count over its square, summed, the mean logarithm of the rank falls
//! by n/(s requests). And objects never asked for are not in the list, so n is a lower bound. Both are small where requests
//! are many times the objects. The distance says whether the law fits at all.

use serde::Serialize;

use super::TOLERANCE;
use crate::interval::normal_quantile;
use crate::measure::CONFIDENCE;
use crate::root;

/// A fitted Zipf law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Zipf {
    /// The exponent.
    pub s: f64,
    /// Lower end of its 95 % interval, for independent requests.
    pub ci_low: f64,
    /// Upper end.
    pub ci_high: f64,
    /// Objects.
    pub objects: usize,
    /// Largest difference, over ranks, between the share of requests up to a rank and the law's.
    pub kolmogorov: f64,
}

/// Fits the exponent to counts of requests per object, the largest first. None where there are fewer than two objects or
/// no exponent from 0 to 20 fits.
///
/// # Panics
/// When the counts are not sorted downwards.
pub fn fit(counts: &[u64]) -> Option<Zipf> {
    assert!(counts.is_sorted_by(|one, other| one >= other), "counts, the largest first");
    let n = counts.len();
    let requests: f64 = counts.iter().map(|count| *count as f64).sum();
    if n < 2 || requests <= 0.0 {
        return None;
    }
    let logs: Vec<f64> = (1..=n).map(|rank| (rank as f64).ln()).collect();
    let seen = counts.iter().zip(&logs).map(|(count, log)| *count as f64 * log).sum::<f64>() / requests;
    // Total weight, and mean and variance of the logarithm of the rank, at this exponent.
    let law = |s: f64| {
        let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
        for log in logs.iter().rev() {
            let weight = (-s * log).exp();
            total += weight;
            first += weight * log;
            second += weight * log * log;
        }
        (total, first / total, second / total - (first / total).powi(2))
    };
    // From below 0, where no law is: rounding may put equal counts a hair beyond it.
    let s = root::find(-1.0, 20.0, TOLERANCE, |s| law(s).1 - seen)?.max(0.0);
    let (total, _, variance) = law(s);
    let half = normal_quantile(0.5 + 0.5 * CONFIDENCE) / (requests * variance).sqrt();
    let (mut up_to, mut by_law, mut kolmogorov) = (0.0, 0.0, 0.0f64);
    for (count, log) in counts.iter().zip(&logs) {
        up_to += *count as f64 / requests;
        by_law += (-s * log).exp() / total;
        kolmogorov = kolmogorov.max((up_to - by_law).abs());
    }
    Some(Zipf { s, ci_low: s - half, ci_high: s + half, objects: n, kolmogorov })
}
