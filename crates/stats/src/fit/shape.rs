//! A fitted law by its parameters: as a [`Law`], and as a point in the space in which its likelihood is curved.

use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

use super::{Family, Sample};
use crate::{Dimension, Law};

/// Half of ln(2 pi).
const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// A member of a [`Family`], in SI units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Of this mean.
    Exponential {
        /// The mean.
        mean: f64,
    },
    /// Of this shape and scale.
    Gamma {
        /// The shape.
        shape: f64,
        /// The scale.
        scale: f64,
    },
    /// Mean and standard deviation of the logarithm.
    Lognormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// P(X > x) = exp(-(x/scale)^shape).
    Weibull {
        /// The shape.
        shape: f64,
        /// The scale.
        scale: f64,
    },
    /// P(X > x) = (min/x)^alpha.
    Pareto {
        /// The tail index.
        alpha: f64,
        /// The smallest value.
        min: f64,
    },
    /// Pareto given X <= max.
    BoundedPareto {
        /// The tail index.
        alpha: f64,
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
    },
    /// Variance mean^3/lambda.
    InverseGaussian {
        /// The mean.
        mean: f64,
        /// Lambda.
        lambda: f64,
    },
    /// Exponential of mean `fast` with chance `share`, else of mean `slow`.
    Hyperexponential {
        /// Chance of the fast one.
        share: f64,
        /// Mean of the fast one.
        fast: f64,
        /// Mean of the slow one.
        slow: f64,
    },
    /// Lognormal given X <= split with chance `share`, else Pareto from there on.
    LognormalPareto {
        /// Chance of the body.
        share: f64,
        /// Mean of the logarithm, before the cut.
        mu: f64,
        /// Standard deviation of the logarithm, before the cut.
        sigma: f64,
        /// Where the tail begins.
        split: f64,
        /// Tail index.
        alpha: f64,
    },
}

impl Shape {
    /// Whose member it is.
    pub fn family(&self) -> Family {
        match self {
            Shape::Exponential { .. } => Family::Exponential,
            Shape::Gamma { .. } => Family::Gamma,
            Shape::Lognormal { .. } => Family::Lognormal,
            Shape::Weibull { .. } => Family::Weibull,
            Shape::Pareto { .. } => Family::Pareto,
            Shape::BoundedPareto { .. } => Family::BoundedPareto,
            Shape::InverseGaussian { .. } => Family::InverseGaussian,
            Shape::Hyperexponential { .. } => Family::Hyperexponential,
            Shape::LognormalPareto { .. } => Family::LognormalPareto,
        }
    }

    /// How many parameters the sample decided, ends and split included: what the criteria charge for.
    pub fn free_parameters(&self) -> usize {
        match self {
            Shape::Exponential { .. } => 1,
            Shape::Gamma { .. }
            | Shape::Lognormal { .. }
            | Shape::Weibull { .. }
            | Shape::Pareto { .. }
            | Shape::InverseGaussian { .. } => 2,
            Shape::BoundedPareto { .. } | Shape::Hyperexponential { .. } => 3,
            Shape::LognormalPareto { .. } => 5,
        }
    }

    /// The law in the text that users write, its parameters to six significant digits (ends of the range in full); none
    /// where they are too extreme to compute with.
    pub fn law(&self, dimension: Dimension) -> Option<Law> {
        let unit = dimension.si_unit();
        let of = |value: f64| format!("{} {unit}", rounded(value));
        let lognormal = |mu: f64, sigma: f64| {
            let in_unit = if unit.is_empty() { String::new() } else { format!(", unit = {unit}") };
            format!("lognormal(mu = {}, sigma = {}{in_unit}", rounded(mu), rounded(sigma))
        };
        let text = match *self {
            Shape::Exponential { mean } => format!("exponential(mean = {})", of(mean)),
            Shape::Gamma { shape, scale } => format!("gamma(shape = {}, scale = {})", rounded(shape), of(scale)),
            Shape::Lognormal { mu, sigma } => format!("{})", lognormal(mu, sigma)),
            Shape::Weibull { shape, scale } => format!("weibull(shape = {}, scale = {})", rounded(shape), of(scale)),
            Shape::Pareto { alpha, min } => format!("pareto(alpha = {}, min = {min} {unit})", rounded(alpha)),
            Shape::BoundedPareto { alpha, min, max } => {
                format!("bounded-pareto(alpha = {}, min = {min} {unit}, max = {max} {unit})", rounded(alpha))
            }
            Shape::InverseGaussian { mean, lambda } => {
                format!("inverse-gaussian(mean = {}, lambda = {})", of(mean), of(lambda))
            }
            Shape::Hyperexponential { share, fast, slow } => {
                let (share, rest) = shares(share);
                format!("mix({share}: exponential(mean = {}), {rest}: exponential(mean = {}))", of(fast), of(slow))
            }
            Shape::LognormalPareto { share, mu, sigma, split, alpha } => {
                let (share, rest) = shares(share);
                let body = lognormal(mu, sigma);
                let alpha = rounded(alpha);
                let tail = format!("pareto(alpha = {alpha}, min = {split} {unit})");
                format!("mix({share}: {body}, max = {split} {unit}), {rest}: {tail})")
            }
        };
        Law::parse(&text, dimension).ok()
    }

    /// Logarithm of the likelihood of the whole sample. Where it hangs on sums alone, only those are taken.
    pub fn log_likelihood(&self, sample: &Sample) -> f64 {
        let n = sample.count();
        let (sum, logs) = (n * sample.mean(), n * sample.mean_log());
        match *self {
            Shape::Exponential { mean } => -n * mean.ln() - sum / mean,
            Shape::Gamma { shape, scale } => {
                (shape - 1.0) * logs - sum / scale - n * (shape * scale.ln() + ln_gamma(shape))
            }
            Shape::Lognormal { mu, sigma } => {
                let squares = sample.total(|_, log| (log - mu).powi(2));
                -logs - n * (sigma.ln() + HALF_LN_TWO_PI) - squares / (2.0 * sigma * sigma)
            }
            Shape::Weibull { shape, scale } => {
                let powers = sample.total(|_, log| (shape * (log - scale.ln())).exp());
                n * (shape.ln() - shape * scale.ln()) + (shape - 1.0) * logs - powers
            }
            Shape::Pareto { alpha, min } => n * (alpha.ln() + alpha * min.ln()) - (alpha + 1.0) * logs,
            Shape::BoundedPareto { alpha, min, max } => {
                let kept = -(alpha * (min / max).ln()).exp_m1();
                n * (alpha.ln() + alpha * min.ln() - kept.ln()) - (alpha + 1.0) * logs
            }
            Shape::InverseGaussian { mean, lambda } => {
                let off = sample.total(|value, _| (value / mean - 1.0).powi(2) / value);
                n * (0.5 * lambda.ln() - HALF_LN_TWO_PI) - 1.5 * logs - 0.5 * lambda * off
            }
            Shape::Hyperexponential { share, fast, slow } => {
                let (quick, late) = ((share / fast).ln(), ((1.0 - share) / slow).ln());
                sample.total(|value, _| log_sum(quick - value / fast, late - value / slow))
            }
            Shape::LognormalPareto { share, mu, sigma, split, alpha } => {
                let (ln_split, body) = (split.ln(), share.ln() - sigma.ln() - HALF_LN_TWO_PI);
                let body = body - ln_normal_cdf((ln_split - mu) / sigma);
                let tail = (1.0 - share).ln() + alpha.ln() + alpha * ln_split;
                sample.total(|value, log| {
                    if value <= split {
                        body - log - 0.5 * ((log - mu) / sigma).powi(2)
                    } else {
                        tail - (alpha + 1.0) * log
                    }
                })
            }
        }
    }

    /// The parameters as unbounded numbers, and the step by which each is varied to see how its likelihood curves.
    /// Extremes of the sample, a split and the share below it are not among them.
    pub(super) fn coordinates(&self) -> Vec<(f64, f64)> {
        const STEP: f64 = 1e-3;
        let logs = |values: &[f64]| values.iter().map(|value| (value.ln(), STEP)).collect();
        match *self {
            Shape::Exponential { mean } => logs(&[mean]),
            Shape::Gamma { shape, scale } | Shape::Weibull { shape, scale } => logs(&[shape, scale]),
            Shape::Lognormal { mu, sigma } => vec![(mu, STEP * sigma), (sigma.ln(), STEP)],
            Shape::Pareto { alpha, .. } | Shape::BoundedPareto { alpha, .. } => logs(&[alpha]),
            Shape::InverseGaussian { mean, lambda } => logs(&[mean, lambda]),
            Shape::Hyperexponential { share, fast, slow } => {
                vec![((share / (1.0 - share)).ln(), STEP), (fast.ln(), STEP), (slow.ln(), STEP)]
            }
            Shape::LognormalPareto { mu, sigma, alpha, .. } => {
                vec![(mu, STEP * sigma), (sigma.ln(), STEP), (alpha.ln(), STEP)]
            }
        }
    }

    /// The member of the same family at these coordinates.
    pub(super) fn at(&self, coordinates: &[f64]) -> Shape {
        let e = |index: usize| coordinates[index].exp();
        match *self {
            Shape::Exponential { .. } => Shape::Exponential { mean: e(0) },
            Shape::Gamma { .. } => Shape::Gamma { shape: e(0), scale: e(1) },
            Shape::Weibull { .. } => Shape::Weibull { shape: e(0), scale: e(1) },
            Shape::Lognormal { .. } => Shape::Lognormal { mu: coordinates[0], sigma: e(1) },
            Shape::Pareto { min, .. } => Shape::Pareto { alpha: e(0), min },
            Shape::BoundedPareto { min, max, .. } => Shape::BoundedPareto { alpha: e(0), min, max },
            Shape::InverseGaussian { .. } => Shape::InverseGaussian { mean: e(0), lambda: e(1) },
            Shape::Hyperexponential { .. } => {
                Shape::Hyperexponential { share: 1.0 / (1.0 + (-coordinates[0]).exp()), fast: e(1), slow: e(2) }
            }
            Shape::LognormalPareto { share, split, .. } => {
                Shape::LognormalPareto { share, mu: coordinates[0], sigma: e(1), split, alpha: e(2) }
            }
        }
    }

    /// Names and values of the parameters in the order of [`Shape::coordinates`], then of those that are not among them.
    pub(super) fn named(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Shape::Exponential { mean } => vec![("mean", mean)],
            Shape::Gamma { shape, scale } | Shape::Weibull { shape, scale } => vec![("shape", shape), ("scale", scale)],
            Shape::Lognormal { mu, sigma } => vec![("mu", mu), ("sigma", sigma)],
            Shape::Pareto { alpha, min } => vec![("alpha", alpha), ("min", min)],
            Shape::BoundedPareto { alpha, min, max } => vec![("alpha", alpha), ("min", min), ("max", max)],
            Shape::InverseGaussian { mean, lambda } => vec![("mean", mean), ("lambda", lambda)],
            Shape::Hyperexponential { share, fast, slow } => {
                vec![("share_fast", share), ("mean_fast", fast), ("mean_slow", slow)]
            }
            Shape::LognormalPareto { share, mu, sigma, split, alpha } => {
                vec![("mu", mu), ("sigma", sigma), ("alpha", alpha), ("share_body", share), ("split", split)]
            }
        }
    }
}

/// ln Phi(z); far below 0 by its asymptotic series, where Phi itself would lose its digits.
pub(super) fn ln_normal_cdf(z: f64) -> f64 {
    if z > -12.0 {
        return (0.5 * erfc(-z / std::f64::consts::SQRT_2)).ln();
    }
    let inverse = 1.0 / (z * z);
    let series = 1.0 - inverse * (1.0 - 3.0 * inverse * (1.0 - 5.0 * inverse));
    -0.5 * z * z - HALF_LN_TWO_PI - (-z).ln() + series.ln()
}

/// ln(e^a + e^b).
fn log_sum(a: f64, b: f64) -> f64 {
    let (more, less) = if a > b { (a, b) } else { (b, a) };
    more + (less - more).exp().ln_1p()
}

/// To six significant digits, in full digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().expect("a number that was just written")
}

/// A share and its rest, which add up to 1 as written.
fn shares(share: f64) -> (f64, f64) {
    let written = (share * 1e6).round().clamp(1.0, 999_999.0);
    (written / 1e6, (1e6 - written) / 1e6)
}
