//! The most likely member of each family.
//!
//! | family | how |
//! |---|---|
//! | exponential, lognormal, inverse Gaussian, Pareto | closed form |
//! | gamma | ln k - psi(k) = ln of the mean - mean of the logarithms |
//! | Weibull | one equation for the shape (Johnson, Kotz and Balakrishnan, vol. 1, 1994, section 21.4) |
//! | bounded Pareto | one equation for alpha (Aban, Meerschaert and Panorska, J. Am. Stat. Assoc. 101, 2006) |
//! | two exponentials | expectation and maximisation (Dempster, Laird and Rubin, J. Royal Stat. Soc. B 39, 1977) |
//! | lognormal body, Pareto tail | the likeliest split, see below |
//!
//! For each split between body and tail the cut lognormal is found by Cohen's equations (Technometrics 1, 1959) and the tail
//! by Hill's; both hang on sums that are known for every split at once.

use statrs::function::gamma::digamma;

use super::shape::ln_normal_cdf;
use super::{Family, Sample, Shape, TOLERANCE};
use crate::root;

/// Rounds of expectation and maximisation at most.
const ROUNDS: usize = 1000;
/// And they end when a round gains less than this per number.
const GAIN: f64 = 1e-10;
/// Splits between body and tail that are tried.
const SPLITS: usize = 256;
/// Numbers that a body and a tail have at least.
const LEAST_IN_PART: f64 = 25.0;
/// The tail holds at most this share of the numbers: with more it is no tail.
const TAIL_MOST: f64 = 0.5;

/// The most likely member of `family`; none where there is none.
pub(super) fn likelihood(family: Family, sample: &Sample) -> Option<Shape> {
    match family {
        Family::Exponential => Some(Shape::Exponential { mean: sample.mean() }),
        Family::Gamma => gamma(sample),
        Family::Lognormal => {
            let mu = sample.mean_log();
            let sigma = (sample.total(|_, log| (log - mu).powi(2)) / sample.count()).sqrt();
            (sigma > 0.0).then_some(Shape::Lognormal { mu, sigma })
        }
        Family::Weibull => weibull(sample),
        Family::Pareto => {
            let min = sample.min();
            Some(Shape::Pareto { alpha: 1.0 / (sample.mean_log() - min.ln()), min })
        }
        Family::BoundedPareto => bounded_pareto(sample),
        Family::InverseGaussian => {
            let mean = sample.mean();
            let off = sample.total(|value, _| 1.0 / value - 1.0 / mean) / sample.count();
            (off > 0.0).then_some(Shape::InverseGaussian { mean, lambda: 1.0 / off })
        }
        Family::Hyperexponential => hyperexponential(sample),
        Family::LognormalPareto => lognormal_pareto(sample),
    }
}

fn gamma(sample: &Sample) -> Option<Shape> {
    let excess = sample.mean().ln() - sample.mean_log();
    let log_shape = root::find(-14.0, 18.0, TOLERANCE, |log| log - digamma(log.exp()) - excess)?;
    let shape = log_shape.exp();
    Some(Shape::Gamma { shape, scale: sample.mean() / shape })
}

fn weibull(sample: &Sample) -> Option<Shape> {
    // Relative to the largest number, so that no power overflows.
    let top = sample.max().ln();
    let mean_log = sample.mean_log();
    let slope = |log_shape: f64| {
        let shape = log_shape.exp();
        let (mut powers, mut weighted) = (0.0, 0.0);
        for (log, weight) in sample.logs.iter().zip(&sample.weights) {
            let power = weight * (shape * (log - top)).exp();
            powers += power;
            weighted += power * log;
        }
        weighted / powers - 1.0 / shape - mean_log
    };
    let shape = root::find(-4.0, 7.0, TOLERANCE, slope)?.exp();
    let powers = sample.total(|_, log| (shape * (log - top)).exp()) / sample.count();
    Some(Shape::Weibull { shape, scale: (top + powers.ln() / shape).exp() })
}

fn bounded_pareto(sample: &Sample) -> Option<Shape> {
    let (min, max) = (sample.min(), sample.max());
    let width = (max / min).ln();
    let mean = sample.mean_log() - min.ln();
    // The mean of ln(X/min) falls from width/2 at alpha = 0 as alpha grows.
    let alpha =
        root::find(1e-6 / width, 1e4, TOLERANCE, |alpha| 1.0 / alpha - width / (alpha * width).exp_m1() - mean)?;
    Some(Shape::BoundedPareto { alpha, min, max })
}

fn hyperexponential(sample: &Sample) -> Option<Shape> {
    let (mean, n) = (sample.mean(), sample.count());
    let scv = sample.total(|value, _| (value / mean - 1.0).powi(2)) / n;
    if scv <= 1.0 {
        return None;
    }
    // Balanced means, which have the sample's own mean and variance, are where the climb begins.
    let skew = ((scv - 1.0) / (scv + 1.0)).sqrt();
    let mut share = 0.5 * (1.0 + skew);
    let (mut fast, mut slow) = (0.5 * mean / share, 0.5 * mean / (1.0 - share));
    let mut before = f64::NEG_INFINITY;
    for _ in 0..ROUNDS {
        let (quick, late) = ((share / fast).ln(), ((1.0 - share) / slow).ln());
        let (mut of_fast, mut of_fast_sum, mut of_slow_sum, mut log_likelihood) = (0.0, 0.0, 0.0, 0.0);
        for (value, weight) in sample.values.iter().zip(&sample.weights) {
            let (a, b) = (quick - value / fast, late - value / slow);
            let top = a.max(b);
            let (a, b) = ((a - top).exp(), (b - top).exp());
            let chance = a / (a + b);
            of_fast += weight * chance;
            of_fast_sum += weight * chance * value;
            of_slow_sum += weight * (1.0 - chance) * value;
            log_likelihood += weight * (top + (a + b).ln());
        }
        share = of_fast / n;
        fast = of_fast_sum / of_fast;
        slow = of_slow_sum / (n - of_fast);
        if log_likelihood - before < GAIN * n {
            break;
        }
        before = log_likelihood;
    }
    let apart = share > 0.0 && share < 1.0 && fast > 0.0 && slow > fast * 1.01;
    apart.then_some(Shape::Hyperexponential { share, fast, slow })
}

/// The split is a number of the sample. Sums of the logarithms below and above it make each trial O(1).
fn lognormal_pareto(sample: &Sample) -> Option<Shape> {
    let n = sample.count();
    // Deviations from the mean of the logarithms, so that squares keep their digits.
    let middle = sample.mean_log();
    let mut sums = Vec::with_capacity(sample.values.len());
    let (mut count, mut first, mut second) = (0.0, 0.0, 0.0);
    for (log, weight) in sample.logs.iter().zip(&sample.weights) {
        let off = log - middle;
        count += weight;
        first += weight * off;
        second += weight * off * off;
        sums.push((count, first, second));
    }
    let all = first;
    let trial = |index: usize| -> Option<(f64, Shape)> {
        let (count, first, second) = sums[index];
        let (above, ln_split) = (n - count, sample.logs[index]);
        let excess = (all - first) - above * (ln_split - middle);
        if count < LEAST_IN_PART || above < LEAST_IN_PART || excess <= 0.0 {
            return None;
        }
        let mean = first / count;
        let (mu, sigma) = cut_normal(mean, second / count - mean * mean, ln_split - middle)?;
        let (mu, alpha, share) = (mu + middle, above / excess, count / n);
        let shape = Shape::LognormalPareto { share, mu, sigma, split: sample.values[index], alpha };
        // The likelihood from the same sums; what hangs on no parameter is left out.
        let squares = second - 2.0 * (mu - middle) * first + count * (mu - middle).powi(2);
        let body = count * (share.ln() - sigma.ln() - 0.918_938_533_204_672_8)
            - squares / (2.0 * sigma * sigma)
            - count * ln_normal_cdf((ln_split - mu) / sigma);
        let tail = above * ((1.0 - share).ln() + alpha.ln()) - alpha * excess;
        Some((body + tail, shape))
    };
    let first_split = sums.partition_point(|(count, ..)| *count < (1.0 - TAIL_MOST) * n);
    let last_split = sums.partition_point(|(count, ..)| *count <= n - LEAST_IN_PART);
    if first_split >= last_split {
        return None;
    }
    // Evenly in the logarithm of the number above, so that far tails are tried as often as near ones.
    let (most, least) = ((n - sums[first_split].0).max(1.0), LEAST_IN_PART);
    let places = (0..SPLITS).map(|step| {
        let above = most * (least / most).powf(step as f64 / (SPLITS - 1) as f64);
        sums.partition_point(|(count, ..)| n - count > above).min(last_split - 1)
    });
    let mut places: Vec<usize> = places.collect();
    places.dedup();
    let best = places.into_iter().filter_map(trial).max_by(|one, other| one.0.total_cmp(&other.0));
    best.map(|(_, shape)| shape)
}

/// Mean and standard deviation of the normal law which, cut off above `top`, has this mean and variance: what is most
/// likely too, since the cut law is of the exponential family. None where the sample is less bent than any cut normal.
fn cut_normal(mean: f64, variance: f64, top: f64) -> Option<(f64, f64)> {
    let room = top - mean;
    if variance.is_nan() || variance <= 0.0 || room <= 0.0 {
        return None;
    }
    let hazard = |xi: f64| (-0.5 * xi * xi - 0.918_938_533_204_672_8 - ln_normal_cdf(xi)).exp();
    let wanted = variance / (room * room);
    let xi = root::find(-8.0, 40.0, TOLERANCE, |xi| {
        let hazard = hazard(xi);
        (1.0 - xi * hazard - hazard * hazard) / (xi + hazard).powi(2) - wanted
    })?;
    let sigma = room / (xi + hazard(xi));
    Some((top - sigma * xi, sigma))
}
