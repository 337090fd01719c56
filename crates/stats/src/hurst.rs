//! How self-similar is a series? Estimators of the Hurst parameter H, and what could deceive them.
//!
//! H is a half for independent numbers, more where high values keep company over all time scales, less where they take
//! turns. [`estimate`] has ten estimators, each with its interval or its known bias and the plot it was read from, and a
//! verdict in plain words; [`whittle::fgn`] is the sharpest one alone.
//!
//! The estimators see different things in a series that is not self-similar: correlation at short range, level shifts
//! and trends all push H up, each at other time scales. So the verdict does not count votes. It follows Whittle's H as
//! the series is averaged over longer and longer blocks (for fractional Gaussian noise it stays, because its block means
//! are fractional Gaussian noise again), tests for a shift of the level, and compares with an autoregression and with the
//! same numbers shuffled. The price is that it is careful: below a few thousand numbers much stays undecided.
//!
//! References: Beran, Statistics for Long-Memory Processes, 1994; Taqqu, Teverovsky and Willinger, Estimators for
//! long-range dependence: an empirical study, Fractals 3(4), 1995; those of the single estimators are with them.

mod blocks;
mod cycle;
mod evidence;
mod local_whittle;
mod minimum;
mod periodogram;
mod plot;
mod rescaled_range;
mod residual_variance;
pub mod spectrum;
mod verdict;
mod wavelet;
pub mod whittle;

use serde::Serialize;
use thiserror::Error;

pub use blocks::local_averages;
pub use cycle::Cycle;
pub use evidence::{Scale, Shift};
pub use plot::LogLog;
pub use verdict::Finding;

use crate::interval::normal_quantile;
use evidence::Evidence;
use periodogram::Periodogram;
use whittle::Model;

/// Fewest numbers that [`estimate`] takes.
pub const SHORTEST: usize = 256;

/// H by a model's likelihood.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The likeliest H, from 0.01 to 0.99.
    pub h: f64,
    /// Lower end of the 95 % interval.
    pub ci_low: f64,
    /// Upper end of the 95 % interval.
    pub ci_high: f64,
    /// Standard error of H.
    #[serde(skip)]
    pub standard_error: f64,
}

/// What one estimator says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// The Hurst parameter; not a number (in JSON null) where the series gives the estimator too little to look at.
    pub h: f64,
    /// Lower end of the 95 % interval, of an estimator that has one.
    pub ci_low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub ci_high: Option<f64>,
    /// How it is known to be off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_bias: Option<&'static str>,
    /// What it looked at.
    #[serde(skip)]
    pub plot: LogLog,
}

/// A series, as every estimator sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hurst {
    /// Whittle's estimator for fractional Gaussian noise.
    pub whittle_fgn: Reading,
    /// Whittle's estimator for FARIMA(0, d, 0), H = d + 1/2.
    pub whittle_farima: Reading,
    /// The local Whittle estimator at the n^0.65 lowest frequencies (Robinson).
    pub local_whittle: Reading,
    /// The wavelet estimator of Abry and Veitch.
    pub wavelet: Reading,
    /// Variance of block means.
    pub aggregated_variance: Reading,
    /// Mean distance of block means from the mean (absolute moments).
    pub absolute_value: Reading,
    /// What joining blocks in pairs takes from the variance of their means.
    pub differenced_variance: Reading,
    /// Rescaled range (R/S), corrected for small blocks.
    pub rescaled_range: Reading,
    /// Variance of residuals (Peng).
    pub residual_variance: Reading,
    /// A line through the lowest tenth of the periodogram.
    pub periodogram: Reading,
    /// What all this comes to, in plain words.
    pub verdict: String,
    /// What could deceive the estimators, each in a sentence.
    pub warnings: Vec<String>,
    /// The verdict in a word.
    #[serde(skip)]
    pub finding: Finding,
    /// Whittle's H of the series' block means, for blocks of 1, 2, 4, ... numbers.
    #[serde(skip)]
    pub scales: Vec<Scale>,
    /// The scale from which on H stays: the H to take if the finding is long-range dependence.
    #[serde(skip)]
    pub settled: Scale,
    /// Where the level changes.
    #[serde(skip)]
    pub shift: Option<Shift>,
    /// The strongest cycle.
    #[serde(skip)]
    pub cycle: Option<Cycle>,
    /// Whittle's H of the same numbers shuffled.
    #[serde(skip)]
    pub shuffled: Estimate,
    /// How many numbers the series has.
    #[serde(skip)]
    pub points: usize,
}

/// Why a series has no Hurst parameter.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum HurstError {
    /// Too few numbers.
    #[error("a series of {found} numbers is too short: at least {needed} are needed")]
    TooShort {
        /// How many are needed.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// Not a number, or infinite.
    #[error("number {position} of the series is {value}: every number must be finite")]
    NotFinite {
        /// Which one, from 1.
        position: usize,
        /// What it is.
        value: f64,
    },
    /// All the same.
    #[error("every number of the series is {value}: a constant has no Hurst parameter")]
    Constant {
        /// The number.
        value: f64,
    },
    /// Nothing but a change of sign from number to number.
    #[error("the series only alternates between two values: there is nothing else whose dependence could be measured")]
    Alternating,
}

/// Every estimator and a verdict. The same series always gives the same answer: its numbers are shuffled with a fixed
/// seed. Ten million numbers take a few seconds.
///
/// # Errors
/// When there are fewer than [`SHORTEST`] numbers, when one is not finite, and when all are the same. A series that is
/// not stationary gets an answer that says so.
pub fn estimate(series: &[f64]) -> Result<Hurst, HurstError> {
    let original = series;
    let series = centred(original, SHORTEST)?;
    let periodogram = Periodogram::new(&series)?;
    let mut bins = periodogram.bins();
    let fgn = whittle::fit(&bins, Model::Fgn);
    let mut hurst = Hurst {
        whittle_fgn: fgn.reading(&periodogram, &bins),
        whittle_farima: whittle::fit(&bins, Model::Farima).reading(&periodogram, &bins),
        local_whittle: local_whittle::estimate(&periodogram),
        periodogram: periodogram::estimate(&periodogram),
        wavelet: wavelet::estimate(&series),
        aggregated_variance: blocks::aggregated_variance(&series),
        absolute_value: blocks::absolute_value(&series),
        differenced_variance: blocks::differenced_variance(&series),
        rescaled_range: rescaled_range::estimate(&series),
        residual_variance: residual_variance::estimate(&series),
        verdict: String::new(),
        warnings: Vec::new(),
        finding: Finding::Undecided,
        scales: Vec::new(),
        settled: Scale { block: 1, estimate: fgn.estimate() },
        shift: None,
        cycle: None,
        shuffled: fgn.estimate(),
        points: series.len(),
    };
    drop(periodogram);
    let evidence = Evidence::gather(original, series, &mut bins);
    (hurst.finding, hurst.verdict, hurst.warnings) = verdict::judge(&hurst, &evidence);
    hurst.settled = evidence.settled();
    (hurst.shift, hurst.cycle) = (evidence.shift, evidence.cycle);
    (hurst.scales, hurst.shuffled) = (evidence.scales, evidence.shuffled);
    Ok(hurst)
}

/// The wavelet estimator of Abry and Veitch alone. Ten million numbers take less than a second.
///
/// # Errors
/// As [`estimate`].
pub fn wavelet(series: &[f64]) -> Result<Reading, HurstError> {
    Ok(wavelet::estimate(&centred(series, SHORTEST)?))
}

impl Hurst {
    /// Every estimator by its name, the sharpest first.
    pub fn readings(&self) -> [(&'static str, &Reading); 10] {
        [
            ("whittle_fgn", &self.whittle_fgn),
            ("whittle_farima", &self.whittle_farima),
            ("local_whittle", &self.local_whittle),
            ("wavelet", &self.wavelet),
            ("aggregated_variance", &self.aggregated_variance),
            ("absolute_value", &self.absolute_value),
            ("differenced_variance", &self.differenced_variance),
            ("rescaled_range", &self.rescaled_range),
            ("residual_variance", &self.residual_variance),
            ("periodogram", &self.periodogram),
        ]
    }
}

impl Reading {
    /// Of an estimator without an interval.
    fn biased(h: f64, known_bias: &'static str, plot: LogLog) -> Reading {
        Reading { h, ci_low: None, ci_high: None, known_bias: Some(known_bias), plot }
    }
}

/// The series less its mean, over its largest deviation: estimators do not depend on either, and squares neither vanish
/// nor overflow.
fn centred(series: &[f64], shortest: usize) -> Result<Vec<f64>, HurstError> {
    if let Some((index, value)) = series.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        return Err(HurstError::NotFinite { position: index + 1, value: *value });
    }
    if series.len() < shortest {
        return Err(HurstError::TooShort { needed: shortest, found: series.len() });
    }
    let (low, high) = series.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
    // Halves first: the difference of two finite numbers need not be finite.
    let (middle, reach) = (0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low);
    if reach <= 0.0 {
        return Err(HurstError::Constant { value: low });
    }
    let mut scaled: Vec<f64> = series.iter().map(|x| (x - middle) / reach).collect();
    let mean = scaled.iter().sum::<f64>() / scaled.len() as f64;
    scaled.iter_mut().for_each(|x| *x -= mean);
    Ok(scaled)
}

/// Of the standard normal law, for an interval of this confidence.
fn quantile(confidence: f64) -> f64 {
    normal_quantile(0.5 + 0.5 * confidence)
}
