//! How heavy is the tail? Hill's estimator, its plot, and whether there is a tail index at all.
//!
//! Of the k + 1 largest numbers, Hill's estimate of 1/alpha is the mean of ln(x/x_(k+1)) (Annals of Statistics 3(5), 1975):
//! most likely where the tail is Pareto's from there on, with the relative error 1/sqrt(k). It gives a number for any
//! sample, so three things stand beside it.
//!
//! - The plot of alpha against k.
//! - A k. It is the most of the largest numbers that pass as Pareto's by Kolmogorov's distance (at 5 %, Lilliefors, J. Am.
//!   Stat. Assoc. 64, 1969), or those that are nearest to a Pareto law (Clauset, Shalizi and Newman, SIAM Review 51(4), 2009)
//!   if they are more, as they are where values repeat and nothing passes. With it goes the range of k that agrees.
//! - The moment estimator of Dekkers, Einmahl and de Haan (Annals of Statistics 17(4), 1989), which is right for light tails
//!   too (its gamma is then at or below 0, in the limit). Where the two disagree, Hill's number is no tail index.

use serde::Serialize;

use crate::interval::normal_quantile;
use crate::measure::CONFIDENCE;

/// Places of the plot at most.
const PLACES: usize = 160;
/// Fewer numbers than this beyond a threshold are no tail.
const LEAST: usize = 25;
/// Fewer different numbers beyond a threshold have no slope; with one, the moment estimate is a division by nothing.
pub const DISTINCT_LEAST: usize = 10;
/// And no more than this share of all: with more it is no tail either.
const MOST: f64 = 0.5;
/// Of fewer numbers no tail is looked at.
pub const NUMBERS_LEAST: usize = 2 * LEAST;
/// The places between which the distance is looked for: no finer than this many numbers of a tail.
const DISTANCE_AT_MOST: usize = 4_096;
/// Kolmogorov's distance times the root of k that a Pareto tail with the fitted index passes in one sample of twenty.
const LILLIEFORS: f64 = 1.094;
/// So many standard errors are needed to say that a tail is a power of x, or that it is not.
const ERRORS_NEEDED: f64 = 4.0;

/// What is known of a tail.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tail {
    /// The tail index at the threshold chosen: P(X > x) falls as x^-alpha.
    pub alpha: f64,
    /// Lower end of its 95 % interval (for independent numbers, at this threshold).
    pub ci_low: f64,
    /// Upper end.
    pub ci_high: f64,
    /// Where the tail begins.
    pub threshold: f64,
    /// How many numbers are beyond.
    pub k: usize,
    /// Kolmogorov's distance between them and the Pareto law.
    pub kolmogorov: f64,
    /// The fewest and the most numbers beyond a threshold for which every estimate in between has this alpha in its
    /// interval.
    pub stable: (usize, usize),
    /// The moment estimate of 1/alpha; at or below 0 the tail is no power of x.
    pub moment_gamma: f64,
    /// Lower end of its 95 % interval.
    pub moment_ci_low: f64,
    /// Upper end.
    pub moment_ci_high: f64,
    /// What the two estimates come to.
    pub kind: Kind,
    /// Hill's plot, from the far tail inwards.
    pub plot: Vec<Place>,
}

/// Whether a tail is a power of x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// As far as one can see: the moment estimate agrees with Hill's and is above 0 beyond doubt.
    Power,
    /// It is lighter: the moment estimate is below Hill's beyond doubt.
    Lighter,
    /// There are too few large numbers to tell a power from a lighter tail.
    Undecided,
}

/// A point of Hill's plot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Place {
    /// Numbers beyond the threshold.
    pub k: usize,
    /// The threshold.
    pub threshold: f64,
    /// The estimate.
    pub alpha: f64,
    /// Lower end of its 95 % interval.
    pub ci_low: f64,
    /// Upper end.
    pub ci_high: f64,
}

/// The tail of positive numbers, sorted upwards. None where fewer than [`NUMBERS_LEAST`] are given, or fewer than
/// [`DISTINCT_LEAST`] different ones are in the upper half.
///
/// # Panics
/// When the numbers are not sorted or not above 0.
pub fn tail(sorted: &[f64]) -> Option<Tail> {
    assert!(sorted.is_sorted() && sorted.first().is_none_or(|least| *least > 0.0), "positive numbers, sorted");
    let n = sorted.len();
    let most = (MOST * n as f64) as usize;
    if most < LEAST {
        return None;
    }
    let logs: Vec<f64> = sorted.iter().rev().take(most + 1).map(|value| value.ln()).collect();
    let z = normal_quantile(0.5 + 0.5 * CONFIDENCE);
    let mut plot = Vec::new();
    let mut nearest: Option<(f64, usize, f64, f64)> = None;
    let mut passing: Option<(f64, usize, f64, f64)> = None;
    let (mut first, mut second, mut next, mut distinct) = (0.0, 0.0, 0, 0);
    for (k, &at) in logs.iter().enumerate().skip(1) {
        first += logs[k - 1];
        second += logs[k - 1] * logs[k - 1];
        // A threshold amid equal numbers would count some of them as beyond it.
        if logs[k - 1] == at {
            continue;
        }
        distinct += 1;
        if k < LEAST || k < next || distinct < DISTINCT_LEAST {
            continue;
        }
        next = 1 + (k as f64 * (most as f64 / LEAST as f64).powf(1.0 / PLACES as f64)) as usize;
        let count = k as f64;
        let gamma = first / count - at;
        let moment = second / count - 2.0 * at * first / count + at * at;
        let (alpha, relative) = (1.0 / gamma, z / count.sqrt());
        let (ci_low, ci_high) = (alpha * (1.0 - relative), alpha * (1.0 + relative));
        plot.push(Place { k, threshold: sorted[n - 1 - k], alpha, ci_low, ci_high });
        let distance = kolmogorov(&logs[..k], at, alpha);
        let here = (distance, plot.len() - 1, gamma, moment);
        if nearest.is_none_or(|(least, ..)| distance <= least) {
            nearest = Some(here);
        }
        if distance * count.sqrt() <= LILLIEFORS {
            passing = Some(here);
        }
    }
    let chosen = [nearest, passing].into_iter().flatten().max_by_key(|(_, index, ..)| *index);
    let (kolmogorov, index, gamma, moment) = chosen?;
    let Place { k, threshold, alpha, ci_low, ci_high } = plot[index];
    let agrees = |place: &&Place| place.ci_low <= alpha && alpha <= place.ci_high;
    let inner = plot[index..].iter().take_while(agrees).last().map_or(k, |place| place.k);
    let outer = plot[..=index].iter().rev().take_while(agrees).last().map_or(k, |place| place.k);
    let moment_gamma = gamma + 1.0 - 0.5 / (1.0 - gamma * gamma / moment);
    // Their asymptotic variance for gamma >= 0 (1 + gamma^2 over k); below 0 it is taken at 0.
    let error = ((1.0 + moment_gamma.max(0.0).powi(2)) / k as f64).sqrt();
    let (moment_ci_low, moment_ci_high) = (moment_gamma - z * error, moment_gamma + z * error);
    let kind = match (gamma - moment_gamma) / error {
        off if off > ERRORS_NEEDED => Kind::Lighter,
        off if off > -ERRORS_NEEDED && moment_gamma > ERRORS_NEEDED * error => Kind::Power,
        _ => Kind::Undecided,
    };
    Some(Tail {
        alpha,
        ci_low,
        ci_high,
        threshold,
        k,
        kolmogorov,
        stable: (outer, inner),
        moment_gamma,
        moment_ci_low,
        moment_ci_high,
        kind,
        plot,
    })
}

/// The distance of the tail (logarithms, downwards) from the Pareto law of this alpha above `at`.
fn kolmogorov(tail: &[f64], at: f64, alpha: f64) -> f64 {
    let k = tail.len();
    let every = k.div_ceil(DISTANCE_AT_MOST);
    let mut distance = 0.0f64;
    for index in (0..k).step_by(every) {
        let beyond = (-alpha * (tail[index] - at)).exp();
        distance = distance.max((beyond - index as f64 / k as f64).abs());
        distance = distance.max((beyond - (index + 1) as f64 / k as f64).abs());
    }
    distance
}
