//! What queueing formulas read of a law beyond its moments: its Laplace transform, its moments up to a bound, and the
//! exponential stages that it is made of, if it is.

use super::Law;
use super::kind::Kind;
use crate::{math, quadrature};

/// A branch of a mixture of Erlang laws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErlangBranch {
    /// Its probability.
    pub weight: f64,
    /// Exponential stages passed one after another.
    pub stages: u32,
    /// Mean of all of them together.
    pub mean: f64,
}

/// More stages than this make too many states to count.
const STAGES_MAX: f64 = 10_000.0;
/// Relative error of a transform that has no closed form.
const RELATIVE: f64 = 1e-12;

impl Law {
    /// 1 - E\[e^(-sX)\] for `s` >= 0, to full relative precision for small `s` too. In closed form for constant, uniform,
    /// exponential, Erlang, gamma, hyperexponential, inverse Gaussian and empirical laws and mixtures of them; else s
    /// times the integral of e^(-sx) P(X > x), computed.
    pub fn transform_complement(&self, s: f64) -> f64 {
        self.kind.transform_complement(s)
    }

    /// E\[X^k\] for k = 1, 2, 3; infinite where the integral diverges.
    pub fn moment(&self, k: i32) -> f64 {
        self.kind.partial(k, f64::INFINITY)
    }

    /// E\[X^k; X <= x\] for k = 0 to 3.
    pub fn partial_moment(&self, k: i32, x: f64) -> f64 {
        self.kind.partial(k, x)
    }

    /// E\[min(X, x)^k\] for k = 1, 2, 3: what is left of the moment where no value counts for more than `x`.
    pub fn limited_moment(&self, k: i32, x: f64) -> f64 {
        let above = self.kind.survival(x);
        self.kind.partial(k, x) + if above > 0.0 { x.powi(k) * above } else { 0.0 }
    }

    /// The law as a mixture of Erlang laws, where it is one: exponential, Erlang, hyperexponential, gamma of a whole
    /// shape, and mixtures of these.
    pub fn erlang_mixture(&self) -> Option<Vec<ErlangBranch>> {
        let mut branches = Vec::new();
        self.kind.erlang_branches(1.0, &mut branches)?;
        Some(branches)
    }
}

impl Kind {
    fn transform_complement(&self, s: f64) -> f64 {
        if s <= 0.0 {
            return 0.0;
        }
        let of_exponential = |mean: f64| s * mean / (1.0 + s * mean);
        match *self {
            Kind::Constant(value) => -math::exp_m1(-s * value),
            Kind::Uniform { low, high } => {
                let y = s * (high - low);
                -math::exp_m1(-s * low) + math::exp(-s * low) * mean_complement(y)
            }
            Kind::Exponential { mean } => of_exponential(mean),
            Kind::Erlang { k, mean, .. } => {
                let k = f64::from(k);
                -math::exp_m1(-k * math::ln_1p(s * mean / k))
            }
            Kind::Gamma { shape, scale, .. } => -math::exp_m1(-shape * math::ln_1p(s * scale)),
            Kind::Hyperexponential { fast_share, fast_mean, slow_mean, .. } => {
                fast_share * of_exponential(fast_mean) + (1.0 - fast_share) * of_exponential(slow_mean)
            }
            Kind::InverseGaussian { mean, lambda } => {
                let z = 2.0 * mean * mean * s / lambda;
                -math::exp_m1(-(lambda / mean) * z / (1.0 + (1.0 + z).sqrt()))
            }
            Kind::Empirical { ref data, scale } => {
                data.values.iter().map(|value| -math::exp_m1(-s * scale * value)).sum::<f64>()
                    / data.values.len() as f64
            }
            Kind::Mix(ref parts) => parts.iter().map(|part| part.weight * part.law.transform_complement(s)).sum(),
            _ => self.computed_complement(s),
        }
    }

    /// s times the integral of e^(-sx) P(X > x).
    fn computed_complement(&self, s: f64) -> f64 {
        let (low, high) = self.limits();
        let mean = self.mean();
        // The smallest scale on which anything happens; the stretches double from far below it.
        let scale = if mean.is_finite() { (mean - low).max(1e-9 * mean).min(1.0 / s) } else { 1.0 / s };
        let end = high.min(low + 745.0 / s);
        let beyond =
            quadrature::over_scales(low, end, scale / 1024.0, RELATIVE, |x| math::exp(-s * x) * self.survival(x));
        -math::exp_m1(-s * low) + s * beyond
    }

    fn erlang_branches(&self, weight: f64, branches: &mut Vec<ErlangBranch>) -> Option<()> {
        let mut push = |weight: f64, stages: u32, mean: f64| branches.push(ErlangBranch { weight, stages, mean });
        match *self {
            Kind::Exponential { mean } => push(weight, 1, mean),
            Kind::Erlang { k, mean, .. } => push(weight, k, mean),
            Kind::Gamma { shape, scale, .. } if shape.fract() == 0.0 && (1.0..=STAGES_MAX).contains(&shape) => {
                push(weight, shape as u32, shape * scale);
            }
            Kind::Weibull { shape: 1.0, scale } => push(weight, 1, scale),
            Kind::Hyperexponential { mean, cv: 1.0, .. } => push(weight, 1, mean),
            Kind::Hyperexponential { fast_share, fast_mean, slow_mean, .. } => {
                push(weight * fast_share, 1, fast_mean);
                push(weight * (1.0 - fast_share), 1, slow_mean);
            }
            Kind::Mix(ref parts) => {
                for part in parts {
                    part.law.erlang_branches(weight * part.weight, branches)?;
                }
            }
            _ => return None,
        }
        Some(())
    }
}

/// 1 - (1 - e^-y) / y, by its series where that would cancel.
fn mean_complement(y: f64) -> f64 {
    if y < 1e-2 {
        y * (1.0 / 2.0 - y * (1.0 / 6.0 - y * (1.0 / 24.0 - y * (1.0 / 120.0 - y * (1.0 / 720.0 - y / 5040.0)))))
    } else {
        1.0 + math::exp_m1(-y) / y
    }
}
