//! The laws themselves: parameters in SI units, drawing, scaling, limits.

use std::sync::Arc;

use super::empirical::Empirical;
use super::gamma::Gamma;
use super::zipf::Zipf;
use crate::lanes::{LANES, Lanes, Row};
use crate::ziggurat::{exponential, exponentials, normal, normals};
use crate::{Stream, math};

/// Up to this many stages an Erlang is drawn as a sum of exponentials; beyond, Marsaglia and Tsang's gamma is faster.
const SUMMED_STAGES: u32 = 4;

/// One published law each, plus the three ways to compose them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Constant(f64),
    Uniform {
        low: f64,
        high: f64,
    },
    Exponential {
        mean: f64,
    },
    Erlang {
        k: u32,
        mean: f64,
        sampler: Gamma,
    },
    Gamma {
        shape: f64,
        scale: f64,
        sampler: Gamma,
    },
    Hyperexponential {
        mean: f64,
        cv: f64,
        fast_share: f64,
        fast_mean: f64,
        slow_mean: f64,
    },
    Lognormal {
        mu: f64,
        sigma: f64,
    },
    /// Redrawn below 0; `mean` and `sd` are of the law before that.
    Normal {
        mean: f64,
        sd: f64,
    },
    Pareto {
        alpha: f64,
        min: f64,
    },
    BoundedPareto {
        alpha: f64,
        min: f64,
        max: f64,
        /// P(X <= max) of the Pareto law without the bound.
        share: f64,
    },
    Weibull {
        shape: f64,
        scale: f64,
    },
    InverseGaussian {
        mean: f64,
        lambda: f64,
    },
    Zipf {
        n: u64,
        s: f64,
        scale: f64,
        sampler: Zipf,
    },
    Empirical {
        data: Arc<Empirical>,
        scale: f64,
    },
    Mix(Vec<Part>),
    Redrawn {
        law: Box<Kind>,
        max: f64,
    },
    Capped {
        law: Box<Kind>,
        cap: f64,
    },
}

/// A component of a mixture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) weight: f64,
    /// The weights up to and including this one.
    pub(super) until: f64,
    pub(super) law: Kind,
}

impl Kind {
    pub(super) fn erlang(k: u32, mean: f64) -> Kind {
        Kind::Erlang { k, mean, sampler: Gamma::new(f64::from(k), mean / f64::from(k)) }
    }

    pub(super) fn gamma(shape: f64, scale: f64) -> Kind {
        Kind::Gamma { shape, scale, sampler: Gamma::new(shape, scale) }
    }

    /// Two exponentials, each carrying half of the mean ("balanced means"); `cv` is at least 1.
    pub(super) fn hyperexponential(mean: f64, cv: f64) -> Kind {
        let scv = cv * cv;
        let skew = ((scv - 1.0) / (scv + 1.0)).sqrt();
        let fast_share = 0.5 * (1.0 + skew);
        // (1 - skew) / 2 without its cancellation when cv is large.
        let slow_share = 1.0 / ((scv + 1.0) * (1.0 + skew));
        Kind::Hyperexponential {
            mean,
            cv,
            fast_share,
            fast_mean: 0.5 * mean / fast_share,
            slow_mean: 0.5 * mean / slow_share,
        }
    }

    pub(super) fn bounded_pareto(alpha: f64, min: f64, max: f64) -> Kind {
        Kind::BoundedPareto { alpha, min, max, share: -math::exp_m1(alpha * math::ln(min / max)) }
    }

    pub(super) fn zipf(n: u64, s: f64, scale: f64) -> Kind {
        Kind::Zipf { n, s, scale, sampler: Zipf::new(n as f64, s) }
    }

    pub(super) fn mix(parts: impl IntoIterator<Item = (f64, Kind)>) -> Kind {
        let mut until = 0.0;
        let mut part = |(weight, law)| {
            until += weight;
            Part { weight, until, law }
        };
        Kind::Mix(parts.into_iter().map(&mut part).collect())
    }

    /// One value.
    pub(super) fn sample(&self, stream: &mut Stream) -> f64 {
        match *self {
            Kind::Constant(value) => value,
            Kind::Uniform { low, high } => low + (high - low) * stream.uniform(),
            Kind::Exponential { mean } => mean * exponential(stream),
            Kind::Erlang { k, mean, .. } if k <= SUMMED_STAGES => {
                let stages: f64 = (0..k).map(|_| exponential(stream)).sum();
                stages * (mean / f64::from(k))
            }
            Kind::Erlang { ref sampler, .. } | Kind::Gamma { ref sampler, .. } => sampler.sample(stream),
            Kind::Hyperexponential { fast_share, fast_mean, slow_mean, .. } => {
                let mean = if stream.uniform() < fast_share { fast_mean } else { slow_mean };
                mean * exponential(stream)
            }
            Kind::Lognormal { mu, sigma } => lognormal(mu, sigma, normal(stream)),
            Kind::Normal { mean, sd } => loop {
                let value = mean + sd * normal(stream);
                if value >= 0.0 {
                    return value;
                }
            },
            Kind::Pareto { alpha, min } => pareto(alpha, min, exponential(stream)),
            Kind::BoundedPareto { alpha, min, max, share } => bounded_pareto(alpha, min, max, share, stream.uniform()),
            Kind::Weibull { shape, scale } => weibull(shape, scale, exponential(stream)),
            Kind::InverseGaussian { mean, lambda } => {
                // Michael, Schucany and Haas, The American Statistician 30(2), 1976; the smaller root written
                // without the cancellation of the published form.
                let w = square(normal(stream)) * mean / lambda;
                let ratio = 1.0 + 0.5 * w + (w + 0.25 * w * w).sqrt();
                if stream.uniform() * (1.0 + ratio) < ratio { mean / ratio } else { mean * ratio }
            }
            Kind::Zipf { scale, ref sampler, .. } => scale * sampler.sample(stream),
            Kind::Empirical { ref data, scale } => scale * data.values[stream.below(data.values.len())],
            Kind::Mix(ref parts) => {
                let draw = stream.uniform();
                let (last, others) = parts.split_last().expect("a mixture has parts");
                // The last part takes what rounding leaves of the weights.
                others.iter().find(|part| draw < part.until).unwrap_or(last).law.sample(stream)
            }
            Kind::Redrawn { ref law, max } => loop {
                let value = law.sample(stream);
                if value <= max {
                    return value;
                }
            },
            Kind::Capped { ref law, cap } => law.sample(stream).min(cap),
        }
    }

    /// As many values, which are those of [`Kind::sample`] one after another. What follows the draws is a loop by itself,
    /// of which the compiler makes vector code.
    pub(super) fn fill(&self, out: &mut [f64], stream: &mut Stream) {
        match *self {
            Kind::Constant(value) => out.fill(value),
            Kind::Exponential { mean } => {
                exponentials(out, stream);
                out.iter_mut().for_each(|value| *value *= mean);
            }
            Kind::Lognormal { mu, sigma } => {
                normals(out, stream);
                out.iter_mut().for_each(|value| *value = lognormal(mu, sigma, *value));
            }
            Kind::Pareto { alpha, min } => {
                exponentials(out, stream);
                out.iter_mut().for_each(|value| *value = pareto(alpha, min, *value));
            }
            Kind::BoundedPareto { alpha, min, max, share } => {
                out.iter_mut().for_each(|value| *value = stream.uniform());
                out.iter_mut().for_each(|value| *value = bounded_pareto(alpha, min, max, share, *value));
            }
            Kind::Weibull { shape, scale } => {
                exponentials(out, stream);
                out.iter_mut().for_each(|value| *value = weibull(shape, scale, *value));
            }
            _ => out.iter_mut().for_each(|value| *value = self.sample(stream)),
        }
    }

    /// Whether [`Kind::fill_lanes`] draws it.
    pub(super) fn has_lanes(&self) -> bool {
        use Kind::{BoundedPareto, Constant, Exponential, Lognormal, Pareto, Uniform, Weibull};
        matches!(
            self,
            Constant(_)
                | Exponential { .. }
                | Uniform { .. }
                | Lognormal { .. }
                | Pareto { .. }
                | BoundedPareto { .. }
                | Weibull { .. }
        )
    }

    /// As [`Kind::fill`] does from each of several streams.
    #[inline(always)]
    pub(super) fn fill_lanes(&self, lanes: &mut Lanes, rows: &mut [Row]) {
        match *self {
            Kind::Constant(value) => rows.iter_mut().for_each(|row| *row = [value; LANES]),
            Kind::Uniform { low, high } => {
                lanes.uniforms(rows);
                rows.as_flattened_mut().iter_mut().for_each(|value| *value = low + (high - low) * *value);
            }
            Kind::Exponential { mean } => {
                lanes.exponentials(rows);
                rows.as_flattened_mut().iter_mut().for_each(|value| *value *= mean);
            }
            Kind::Lognormal { mu, sigma } => {
                lanes.normals(rows);
                rows.as_flattened_mut().iter_mut().for_each(|value| *value = lognormal(mu, sigma, *value));
            }
            Kind::Pareto { alpha, min } => {
                lanes.exponentials(rows);
                rows.as_flattened_mut().iter_mut().for_each(|value| *value = pareto(alpha, min, *value));
            }
            Kind::BoundedPareto { alpha, min, max, share } => {
                lanes.uniforms(rows);
                let transform = |value: &mut f64| *value = bounded_pareto(alpha, min, max, share, *value);
                rows.as_flattened_mut().iter_mut().for_each(transform);
            }
            Kind::Weibull { shape, scale } => {
                lanes.exponentials(rows);
                rows.as_flattened_mut().iter_mut().for_each(|value| *value = weibull(shape, scale, *value));
            }
            _ => panic!("a law without a lane form"),
        }
    }

    /// Every value multiplied by `factor`.
    pub(super) fn scaled(&self, factor: f64) -> Kind {
        match *self {
            Kind::Constant(value) => Kind::Constant(value * factor),
            Kind::Uniform { low, high } => Kind::Uniform { low: low * factor, high: high * factor },
            Kind::Exponential { mean } => Kind::Exponential { mean: mean * factor },
            Kind::Erlang { k, mean, .. } => Kind::erlang(k, mean * factor),
            Kind::Gamma { shape, scale, .. } => Kind::gamma(shape, scale * factor),
            Kind::Hyperexponential { mean, cv, .. } => Kind::hyperexponential(mean * factor, cv),
            Kind::Lognormal { mu, sigma } => Kind::Lognormal { mu: mu + math::ln(factor), sigma },
            Kind::Normal { mean, sd } => Kind::Normal { mean: mean * factor, sd: sd * factor },
            Kind::Pareto { alpha, min } => Kind::Pareto { alpha, min: min * factor },
            Kind::BoundedPareto { alpha, min, max, .. } => Kind::bounded_pareto(alpha, min * factor, max * factor),
            Kind::Weibull { shape, scale } => Kind::Weibull { shape, scale: scale * factor },
            Kind::InverseGaussian { mean, lambda } => {
                Kind::InverseGaussian { mean: mean * factor, lambda: lambda * factor }
            }
            Kind::Zipf { n, s, scale, sampler } => Kind::Zipf { n, s, scale: scale * factor, sampler },
            Kind::Empirical { ref data, scale } => Kind::Empirical { data: Arc::clone(data), scale: scale * factor },
            Kind::Mix(ref parts) => Kind::mix(parts.iter().map(|part| (part.weight, part.law.scaled(factor)))),
            Kind::Redrawn { ref law, max } => Kind::Redrawn { law: Box::new(law.scaled(factor)), max: max * factor },
            Kind::Capped { ref law, cap } => Kind::Capped { law: Box::new(law.scaled(factor)), cap: cap * factor },
        }
    }

    /// Smallest and largest possible value.
    pub(super) fn limits(&self) -> (f64, f64) {
        match *self {
            Kind::Constant(value) => (value, value),
            Kind::Uniform { low, high } => (low, high),
            Kind::Pareto { min, .. } => (min, f64::INFINITY),
            Kind::BoundedPareto { min, max, .. } => (min, max),
            Kind::Zipf { n, scale, .. } => (scale, scale * n as f64),
            Kind::Empirical { ref data, scale } => (scale * data.values[0], scale * data.values[data.values.len() - 1]),
            Kind::Mix(ref parts) => parts
                .iter()
                .map(|part| part.law.limits())
                .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), limits| (low.min(limits.0), high.max(limits.1))),
            Kind::Redrawn { ref law, max: most } | Kind::Capped { ref law, cap: most } => {
                let (low, high) = law.limits();
                (low.min(most), high.min(most))
            }
            Kind::Exponential { .. }
            | Kind::Erlang { .. }
            | Kind::Gamma { .. }
            | Kind::Hyperexponential { .. }
            | Kind::Lognormal { .. }
            | Kind::Normal { .. }
            | Kind::Weibull { .. }
            | Kind::InverseGaussian { .. } => (0.0, f64::INFINITY),
        }
    }

    pub(super) fn is_exponential(&self) -> bool {
        match *self {
            Kind::Exponential { .. } => true,
            Kind::Erlang { k, .. } => k == 1,
            Kind::Gamma { shape, .. } | Kind::Weibull { shape, .. } => shape == 1.0,
            Kind::Hyperexponential { cv, .. } => cv == 1.0,
            _ => false,
        }
    }

    /// Whether some values have a probability of their own.
    pub(super) fn has_atoms(&self) -> bool {
        match self {
            Kind::Constant(_) | Kind::Zipf { .. } | Kind::Empirical { .. } | Kind::Capped { .. } => true,
            Kind::Mix(parts) => parts.iter().any(|part| part.law.has_atoms()),
            Kind::Redrawn { law, .. } => law.has_atoms(),
            _ => false,
        }
    }
}

#[inline(always)]
fn lognormal(mu: f64, sigma: f64, normal: f64) -> f64 {
    math::exp(mu + sigma * normal)
}

/// min * U^(-1/alpha) with U = e^-E: the far tail keeps all its digits.
#[inline(always)]
fn pareto(alpha: f64, min: f64, exponential: f64) -> f64 {
    min * math::exp(exponential / alpha)
}

/// By its quantiles; what 1 - U loses to rounding is below the value's own last digit.
#[inline(always)]
fn bounded_pareto(alpha: f64, min: f64, max: f64, share: f64, uniform: f64) -> f64 {
    let value = min * math::exp(-math::ln(1.0 - uniform * share) / alpha);
    if value < max { value } else { max }
}

/// A power that takes the time of a logarithm and an exponential; its few last digits are as good as any others of a draw.
#[inline(always)]
fn weibull(shape: f64, scale: f64, exponential: f64) -> f64 {
    scale * math::exp(math::ln(exponential) / shape)
}

fn square(x: f64) -> f64 {
    x * x
}
