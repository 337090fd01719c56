//! Which law do these numbers follow? Laws fitted by maximum likelihood, ranked, with the distance of each.
//!
//! [`candidates`] fits every [`Family`] that can be fitted and ranks them by Schwarz's criterion (Annals of Statistics
//! 6(2), 1978); Akaike's stands beside it. A rank says which law is the least wrong, not that it is right: that is what
//! the distances are for (Kolmogorov's, and Anderson and Darling's, which looks at the tails), and, for a sample small
//! enough, the [`bootstrap`] p-value. With a million numbers a test rejects what is near enough for any use, so there
//! the distance is the answer. Intervals come from the curvature of the likelihood at its peak (the observed
//! information) and hold for independent draws; numbers that hang together, as traffic's do, have wider ones.
//!
//! The price of one code for a hundred numbers and for ten million: more than 131,072 distinct numbers are grouped to
//! 1/4096 of an e-fold, which moves a likelihood by less than its own rounding.

pub mod goodness;
pub mod hill;
mod likelihood;
mod maximum;
mod sample;
mod shape;
pub mod zipf;

use serde::{Serialize, Serializer};
use thiserror::Error;

pub use self::goodness::bootstrap;
pub use self::sample::Sample;
pub use self::shape::Shape;
use crate::{Dimension, Law};

/// Relative tolerance of a root: more digits than a sample tells.
const TOLERANCE: f64 = 1e-12;

/// The laws that are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Exponential.
    Exponential,
    /// Gamma.
    Gamma,
    /// Lognormal.
    Lognormal,
    /// Weibull.
    Weibull,
    /// Pareto from the smallest number on.
    Pareto,
    /// Pareto between the smallest and the largest number.
    BoundedPareto,
    /// Inverse Gaussian.
    InverseGaussian,
    /// Two exponentials, by expectation and maximisation.
    Hyperexponential,
    /// A lognormal body and a Pareto tail (Barford and Crovella, SIGMETRICS 1998).
    LognormalPareto,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 9] = [
        Family::Exponential,
        Family::Gamma,
        Family::Lognormal,
        Family::Weibull,
        Family::Pareto,
        Family::BoundedPareto,
        Family::InverseGaussian,
        Family::Hyperexponential,
        Family::LognormalPareto,
    ];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Exponential => "exponential",
            Family::Gamma => "gamma",
            Family::Lognormal => "lognormal",
            Family::Weibull => "Weibull",
            Family::Pareto => "Pareto",
            Family::BoundedPareto => "bounded Pareto",
            Family::InverseGaussian => "inverse Gaussian",
            Family::Hyperexponential => "hyperexponential (two)",
            Family::LognormalPareto => "lognormal body, Pareto tail",
        }
    }

    /// Why numbers may have no likeliest member of this family.
    pub fn without_a_likeliest(self) -> &'static str {
        match self {
            Family::BoundedPareto => {
                "its exponent would not be above 0, since the numbers' logarithms lie in the upper half of their range"
            }
            Family::Hyperexponential => "two exponentials vary more than one, and these numbers do not",
            Family::LognormalPareto => "nowhere can the numbers be split into a lognormal body and a tail",
            Family::Gamma | Family::Weibull => "no shape of it is the likeliest",
            Family::Exponential | Family::Lognormal | Family::Pareto | Family::InverseGaussian => {
                "its likeliest parameters are too extreme to compute with"
            }
        }
    }
}

/// A law fitted to a sample.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// Which family it is of.
    pub family: Family,
    /// The law, with its parameters to six digits.
    #[serde(serialize_with = "as_text")]
    pub law: Law,
    /// The law's mean over the sample's: maximum likelihood need not hit it.
    pub mean_ratio: f64,
    /// The parameters with their intervals.
    pub parameters: Vec<Parameter>,
    /// Logarithm of the likelihood of the whole sample.
    pub log_likelihood: f64,
    /// Akaike's criterion: less is better.
    pub aic: f64,
    /// Schwarz's criterion, by which laws are ranked: less is better.
    pub bic: f64,
    /// Largest difference between the sample's distribution function and the law's (Kolmogorov and Smirnov).
    pub kolmogorov: f64,
    /// Anderson and Darling's statistic over the number of numbers: a distance that weighs the tails.
    pub anderson_darling: f64,
    /// Share of samples drawn from the fitted law, each fitted anew, that are as far from their law as this one by
    /// Kolmogorov's distance; where it was asked for.
    pub p_value: Option<f64>,
    #[serde(skip)]
    shape: Shape,
}

/// A parameter of a fitted law, in SI units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Its name, as [`Law`] writes it; of a mixture, with the part it belongs to.
    pub name: &'static str,
    /// Its most likely value.
    pub value: f64,
    /// Lower end of its 95 % interval; the value itself where it is an extreme of the sample.
    pub ci_low: f64,
    /// Upper end.
    pub ci_high: f64,
}

/// Why no law can be fitted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// Too few numbers.
    #[error("a law is fitted to at least {least} numbers, and there are {found}")]
    TooFew {
        /// How many are needed.
        least: usize,
        /// How many there are.
        found: usize,
    },
    /// A number that no law of positive quantities gives.
    #[error("number {place} is {number}: the laws that are fitted are of finite numbers above 0")]
    NotPositive {
        /// Which, from 1.
        place: usize,
        /// The number.
        number: String,
    },
    /// All the same.
    #[error("all {found} numbers are {number}: that is the constant law, and there is nothing to fit")]
    Constant {
        /// How many.
        found: usize,
        /// The number.
        number: String,
    },
}

/// Fewer numbers than this are no sample.
pub const LEAST: usize = 10;

/// Every law that can be fitted to these numbers, the likeliest (by [`Fit::bic`]) first. A family that has no most likely
/// member here is left out: two exponentials for numbers less spread than one, a tail where there is none.
///
/// # Errors
/// With fewer than [`LEAST`] numbers, one that is not above 0 and finite, or all of them equal.
pub fn candidates(numbers: &[f64], dimension: Dimension) -> Result<Vec<Fit>, FitError> {
    let sample = Sample::new(numbers)?;
    let mut fits: Vec<Fit> = Family::ALL.into_iter().filter_map(|family| Fit::of(family, &sample, dimension)).collect();
    fits.sort_by(|one, other| one.bic.total_cmp(&other.bic));
    Ok(fits)
}

impl Fit {
    /// The most likely member of `family`; none where there is none.
    pub fn of(family: Family, sample: &Sample, dimension: Dimension) -> Option<Fit> {
        let shape = maximum::likelihood(family, sample)?;
        let log_likelihood = shape.log_likelihood(sample);
        let law = shape.law(dimension)?;
        if !log_likelihood.is_finite() {
            return None;
        }
        let free = shape.free_parameters() as f64;
        let distance = goodness::distance(sample, &law);
        Some(Fit {
            family,
            mean_ratio: law.mean() / sample.mean(),
            parameters: likelihood::parameters(&shape, sample),
            log_likelihood,
            aic: 2.0 * free - 2.0 * log_likelihood,
            bic: free * sample.count().ln() - 2.0 * log_likelihood,
            kolmogorov: distance.kolmogorov,
            anderson_darling: distance.anderson_darling,
            p_value: None,
            law,
            shape,
        })
    }

    /// The law's parameters as they were found, unrounded.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
}

fn as_text<S: Serializer>(law: &Law, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(law)
}
