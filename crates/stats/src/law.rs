//! Probability laws written as text with units, parsed once: `lognormal(mu = 7.881, sigma = 1.339, unit = B)`.
//!
//! | law | parameters |
//! |---|---|
//! | `constant(10 ms)`, or just `10 ms` | the value |
//! | `uniform(low, high)` | |
//! | `exponential(mean)` | |
//! | `erlang(k, mean)` | k stages |
//! | `gamma(mean, cv)` or `(shape, scale)` or `(shape, mean)` | cv: standard deviation over mean |
//! | `hyperexponential(mean, cv)` | cv >= 1; two exponentials that carry half of the mean each (balanced means) |
//! | `lognormal(mean, cv)` or `(mu, sigma, unit)` or `(mean, sigma)` | mu, sigma: of the logarithm of the number of units |
//! | `normal(mean, cv)` or `(mean, sd)` | redrawn below 0; mean and sd are of the law before that |
//! | `pareto(alpha, min)` or `(alpha, mean)` | P(X > x) = (min/x)^alpha |
//! | `bounded-pareto(alpha, min, max)` | Pareto given X <= max |
//! | `weibull(shape, scale)` or `(shape, mean)` | P(X > x) = exp(-(x/scale)^shape) |
//! | `inverse-gaussian(mean, cv)` or `(mean, lambda)` | variance mean^3/lambda; also called shape |
//! | `zipf(n, s)` | rank 1 to n with chance proportional to rank^-s; a number |
//! | `empirical(file = "gaps.txt", unit = ms)` | each number of the file (one per line) equally likely |
//! | `mix(0.93: lognormal(...), 0.07: pareto(...))` | one of the laws, by weight |
//!
//! For a law of times, `rate = 374 /s` may stand wherever `mean` may. Every law takes `max = q` (draws above are
//! redrawn, so the mean falls) and `cap = q` (values above become q). The laws that have a scale of their own (uniform,
//! bounded Pareto, Zipf, empirical, mix) take a `mean` as well and are then stretched to it.
//!
//! A law is an enum, not a trait object: drawing is a match on the simulator's hottest path, and the price is that a
//! new law is an edit here. Its moments are computed once, in closed form, when it is parsed; infinite moments are said
//! (`f64::INFINITY`), not computed.

mod arguments;
mod display;
mod empirical;
mod expression;
mod gamma;
mod kind;
mod moments;
mod parse;
mod quantile;
mod sums;
mod transform;
mod zipf;

use thiserror::Error;

pub use self::expression::{Argument, Expression};
use self::kind::Kind;
pub use self::transform::ErlangBranch;
use crate::lanes::{Lanes, Row};
use crate::ziggurat::exponential;
use crate::{Dimension, Stream};

/// A probability law of a non-negative quantity, in the SI unit of its dimension.
#[derive(Clone, Debug)]
pub struct Law {
    kind: Kind,
    mean: f64,
    variance: f64,
    /// Only for display.
    dimension: Dimension,
}

/// Why a text is not a law; the message says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LawError(pub String);

impl Law {
    /// Whether a law has this name: `exponential`.
    pub fn is_name(name: &str) -> bool {
        parse::is_name(name)
    }

    /// Reads a law of `dimension`.
    ///
    /// # Errors
    /// On an unknown law, parameter or unit, or an impossible value.
    pub fn parse(text: &str, dimension: Dimension) -> Result<Law, LawError> {
        Law::checked(parse::law(text, dimension)?, dimension)
    }

    /// Reads a law whose scale is not known yet: `key` stands in place of its outermost `mean` or `rate`, as in
    /// `erlang(k = 2, utilization = 0.7)`. Gives the law scaled to mean 1 (SI unit) and the number given for `key`;
    /// [`Law::scaled`] by m then makes its mean m. `None` when `key` is not among the outermost arguments.
    ///
    /// # Errors
    /// As [`Law::parse`]; also when another parameter sets the scale too, or the mean is infinite.
    pub fn parse_shape(text: &str, dimension: Dimension, key: &str) -> Result<Option<(Law, f64)>, LawError> {
        let Some((kind, value)) = parse::shape(text, dimension, key)? else { return Ok(None) };
        let law = Law::checked(kind, dimension)?;
        match law.rescaled_to_mean(1.0) {
            Some(law) => Ok(Some((law, value))),
            None => Err(LawError(format!("`{text}` has no finite mean that {key} could set"))),
        }
    }

    /// The constant law at `value` (SI unit); displayed as a bare number.
    pub fn constant(value: f64) -> Law {
        Law::of(Kind::Constant(value), Dimension::Number)
    }

    /// The exponential law of this mean (seconds).
    ///
    /// # Panics
    /// When `mean` is not a positive number.
    pub fn exponential(mean: f64) -> Law {
        assert!(mean > 0.0 && mean.is_finite(), "the mean of an exponential law is a positive number");
        Law::of(Kind::Exponential { mean }, Dimension::Time)
    }

    /// The Erlang law of `stages` exponential stages, with this mean (seconds).
    ///
    /// # Panics
    /// When `stages` is 0 or `mean` not a positive number.
    pub fn erlang(stages: u32, mean: f64) -> Law {
        assert!(stages > 0 && mean > 0.0 && mean.is_finite(), "an Erlang law has a stage and a positive mean");
        Law::of(Kind::erlang(stages, mean), Dimension::Time)
    }

    /// Two exponentials that carry half of the mean each, with this mean (seconds) and coefficient of variation.
    ///
    /// # Panics
    /// When `cv` is below 1 or `mean` not a positive number.
    pub fn hyperexponential(mean: f64, cv: f64) -> Law {
        assert!(cv >= 1.0 && mean > 0.0 && mean.is_finite(), "a hyperexponential law has a cv of 1 or more");
        Law::of(Kind::hyperexponential(mean, cv), Dimension::Time)
    }

    /// One of these laws, by weight; the dimension is that of the first.
    ///
    /// # Panics
    /// When there is no law, or a weight is not a positive number.
    pub fn mixture(parts: Vec<(f64, Law)>) -> Law {
        let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
        assert!(
            total.is_finite() && !parts.is_empty() && parts.iter().all(|(weight, _)| *weight > 0.0),
            "a mixture has laws with positive weights"
        );
        let dimension = parts[0].1.dimension;
        Law::of(Kind::mix(parts.into_iter().map(|(weight, law)| (weight / total, law.kind))), dimension)
    }

    /// Draws one value (SI unit).
    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        match self.kind {
            Kind::Constant(value) => value,
            Kind::Exponential { mean } => mean * exponential(stream),
            _ => self.kind.sample(stream),
        }
    }

    /// Whether it can be drawn in lanes, from several streams side by side ([`crate::lanes`]).
    pub fn has_lanes(&self) -> bool {
        self.kind.has_lanes()
    }

    /// Values from each of several streams, row by row: what [`Law::fill`] draws from each.
    ///
    /// # Panics
    /// When it has no lane form.
    #[inline(always)]
    pub fn fill_lanes(&self, lanes: &mut Lanes, rows: &mut [Row]) {
        self.kind.fill_lanes(lanes, rows);
    }

    /// Draws as many values as `out` has room for (SI unit): the very values that [`Law::sample`] would give one after another,
    /// sooner.
    pub fn fill(&self, out: &mut [f64], stream: &mut Stream) {
        self.kind.fill(out, stream);
    }

    /// The mean; `f64::INFINITY` where it does not exist.
    #[inline]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The variance; `f64::INFINITY` where it does not exist.
    #[inline]
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// Squared coefficient of variation, variance / mean^2; infinite with the variance, 0 for the constant 0.
    pub fn scv(&self) -> f64 {
        match self.variance {
            0.0 => 0.0,
            f64::INFINITY => f64::INFINITY,
            variance => variance / (self.mean * self.mean),
        }
    }

    /// Smallest and largest possible value.
    pub fn limits(&self) -> (f64, f64) {
        self.kind.limits()
    }

    /// P(X <= x).
    pub fn cdf(&self, x: f64) -> f64 {
        self.kind.partial(0, x)
    }

    /// P(X > x), with full relative precision in the tail for the laws with a simple one.
    pub fn survival(&self, x: f64) -> f64 {
        self.kind.survival(x)
    }

    /// Whether this is the exponential law (gaps of it are a Poisson process).
    pub fn is_exponential(&self) -> bool {
        self.kind.is_exponential()
    }

    /// Whether some values have a probability of their own.
    pub fn has_atoms(&self) -> bool {
        self.kind.has_atoms()
    }

    /// What the law's values measure.
    pub fn dimension(&self) -> Dimension {
        self.dimension
    }

    /// The same law in other units: every value multiplied by `factor` > 0.
    ///
    /// # Panics
    /// When `factor` is not a positive number.
    pub fn scaled(&self, factor: f64) -> Law {
        assert!(factor > 0.0 && factor.is_finite(), "a law is scaled by a positive number, not by {factor}");
        Law::of(self.kind.scaled(factor), self.dimension)
    }

    /// The same law scaled to this mean; `None` when its own mean is infinite or 0.
    ///
    /// # Panics
    /// When `mean` is not a positive number.
    pub fn rescaled_to_mean(&self, mean: f64) -> Option<Law> {
        (self.mean.is_finite() && self.mean > 0.0).then(|| self.scaled(mean / self.mean))
    }

    fn of(kind: Kind, dimension: Dimension) -> Law {
        Law { mean: kind.mean(), variance: kind.variance(), kind, dimension }
    }

    /// A law whose numbers can be computed with.
    fn checked(kind: Kind, dimension: Dimension) -> Result<Law, LawError> {
        let law = Law::of(kind, dimension);
        if law.mean.is_nan() || law.variance.is_nan() {
            return Err(LawError(format!("the parameters of {law} are too extreme to compute with")));
        }
        Ok(law)
    }
}

impl PartialEq for Law {
    /// The same law of the same SI values, however it is displayed.
    fn eq(&self, other: &Law) -> bool {
        self.kind == other.kind
    }
}
