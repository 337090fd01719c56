//! Whittle's estimator: the H whose spectral density makes the periodogram likeliest.
//!
//! The periodogram at the Fourier frequencies is close to independent exponentials with the density as their mean, and
//! the likelihood of that is maximised over H, the variance being eliminated (Beran, Statistics for Long-Memory
//! Processes, 1994, sections 5.3 to 5.5; Fox and Taqqu, Annals of Statistics 14(2), 1986). It is the sharpest estimator
//! there is when the series *is* of the model, and it has no way to know when it is not: [`super::estimate`] looks for
//! that.
//!
//! The interval comes from the Fisher information of those exponentials with the variance unknown: the sum over the
//! frequencies of (dlog f / dH less its mean)^2. Its inverse is the variance of the estimate for Gaussian series, and
//! for every linear process (Giraitis and Surgailis, Probability Theory and Related Fields 86, 1990); the sum is taken
//! over the series' own frequencies at the H found, so that no limit is involved but the one of many points. For
//! FARIMA(0, d, 0) it tends to the textbook's 6 / (pi^2 n).

use std::f64::consts::TAU;

use super::periodogram::{Bins, Periodogram};
use super::plot::LogLog;
use super::spectrum::Aliases;
use super::{Estimate, HurstError, Reading};
use crate::measure::CONFIDENCE;

/// Fewest numbers that Whittle's estimator takes.
pub const SHORTEST: usize = 128;
/// H is looked for from this far above 0 to this far below 1; a found end says that H lies beyond it.
pub(super) const EDGE: f64 = 0.01;
/// Of the position of the likelihood's maximum: a hundredth of the standard error of 10^9 points.
const TOLERANCE: f64 = 1e-7;

/// H with its 95 % interval, if the series is fractional Gaussian noise. Ten million numbers take about a second.
///
/// # Errors
/// When there are fewer than [`SHORTEST`] numbers, when one is not finite, and when all are the same.
pub fn fgn(series: &[f64]) -> Result<Estimate, HurstError> {
    of_series(series, Model::Fgn)
}

/// H = d + 1/2 with its 95 % interval, if the series is FARIMA(0, d, 0).
///
/// # Errors
/// As [`fgn`].
pub fn farima(series: &[f64]) -> Result<Estimate, HurstError> {
    of_series(series, Model::Farima)
}

fn of_series(series: &[f64], model: Model) -> Result<Estimate, HurstError> {
    let series = super::centred(series, SHORTEST)?;
    Ok(fit(&Periodogram::new(&series)?.bins(), model).estimate())
}

/// What a spectral density is taken to be, up to its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    /// Fractional Gaussian noise; the parameter is H.
    Fgn,
    /// FARIMA(0, d, 0); the parameter is H = d + 1/2.
    Farima,
    /// First-order autoregression; the parameter is the correlation of neighbours.
    Autoregression,
}

/// The likeliest of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    pub(super) model: Model,
    pub(super) parameter: f64,
    pub(super) standard_error: f64,
    /// Up to a constant that is the same for all models of the same bins.
    pub(super) log_likelihood: f64,
    /// Logarithm of the level of the density.
    ln_level: f64,
}

impl Model {
    fn range(self) -> (f64, f64) {
        match self {
            Model::Fgn | Model::Farima => (EDGE, 1.0 - EDGE),
            Model::Autoregression => (-0.9999, 0.9999),
        }
    }

    /// Logarithm of the density at every bin, up to a constant.
    fn ln_densities(self, parameter: f64, bins: &Bins, out: &mut Vec<f64>) {
        out.clear();
        let bins = bins.bins.iter();
        match self {
            Model::Fgn => {
                let aliases = Aliases::new(parameter);
                out.extend(bins.map(|bin| 2.0 * bin.ln_double_sine + aliases.sum(bin.x, bin.ln_x).ln()));
            }
            Model::Farima => out.extend(bins.map(|bin| (1.0 - 2.0 * parameter) * bin.ln_double_sine)),
            Model::Autoregression => out.extend(bins.map(|bin| {
                let square = (2.0 * bin.ln_double_sine).exp();
                -((1.0 - parameter).powi(2) + parameter * square).ln()
            })),
        }
    }
}

/// The likeliest parameter.
pub(super) fn fit(bins: &Bins, model: Model) -> Fit {
    let (low, high) = model.range();
    let mut densities = Vec::with_capacity(bins.bins.len());
    let parameter = super::minimum::minimum(low, high, TOLERANCE, |parameter| {
        model.ln_densities(parameter, bins, &mut densities);
        level_and_deviance(bins, &densities).1
    });
    model.ln_densities(parameter, bins, &mut densities);
    let (ln_level, deviance) = level_and_deviance(bins, &densities);
    let standard_error = standard_error(bins, model, parameter);
    Fit { model, parameter, standard_error, log_likelihood: -bins.count * deviance, ln_level }
}

/// The logarithm of the likeliest level of a density with this shape, and minus the log-likelihood per frequency.
fn level_and_deviance(bins: &Bins, ln_densities: &[f64]) -> (f64, f64) {
    let (mut ratios, mut logarithms) = (0.0, 0.0);
    for (bin, ln_density) in bins.bins.iter().zip(ln_densities) {
        ratios += bin.power * (-ln_density).exp();
        logarithms += bin.count * ln_density;
    }
    let ln_level = (ratios / bins.count).ln();
    (ln_level, ln_level + logarithms / bins.count)
}

/// From the Fisher information; the derivative is taken between two parameters close by.
fn standard_error(bins: &Bins, model: Model, parameter: f64) -> f64 {
    const STEP: f64 = 1e-5;
    let (mut above, mut below) = (Vec::new(), Vec::new());
    model.ln_densities(parameter + STEP, bins, &mut above);
    model.ln_densities(parameter - STEP, bins, &mut below);
    let slopes =
        || bins.bins.iter().zip(above.iter().zip(&below)).map(|(bin, (a, b))| (bin.count, (a - b) / (2.0 * STEP)));
    let mean = slopes().map(|(count, slope)| count * slope).sum::<f64>() / bins.count;
    let information: f64 = slopes().map(|(count, slope)| count * (slope - mean).powi(2)).sum();
    1.0 / information.sqrt()
}

impl Fit {
    pub(super) fn estimate(&self) -> Estimate {
        Estimate::around(self.parameter, self.standard_error)
    }

    /// The fitted density at every bin.
    pub(super) fn densities(&self, bins: &Bins) -> Vec<f64> {
        let mut densities = Vec::new();
        self.model.ln_densities(self.parameter, bins, &mut densities);
        densities.iter_mut().for_each(|density| *density = (*density + self.ln_level).exp());
        densities
    }

    /// As a reading, over the periodogram with the fitted density.
    pub(super) fn reading(&self, periodogram: &Periodogram, bins: &Bins) -> Reading {
        let points = periodogram.drawn(usize::MAX);
        let densities = self.densities(bins);
        // A curve needs few points; the bins have thousands.
        let every = bins.bins.len().div_ceil(CURVE_POINTS);
        let curve = bins.bins.iter().zip(densities).map(|(bin, density)| (TAU * bin.x, density));
        let few = |index: usize| index.is_power_of_two() || index.is_multiple_of(every) || index + 1 == bins.bins.len();
        let line = curve.enumerate().filter(|(index, _)| few(*index)).map(|(_, point)| point).collect();
        let Estimate { h, ci_low, ci_high, .. } = self.estimate();
        let plot = LogLog { x: "frequency (rad)", y: "power", points, line };
        Reading { h, ci_low: Some(ci_low), ci_high: Some(ci_high), known_bias: None, plot }
    }
}

const CURVE_POINTS: usize = 100;

impl Estimate {
    /// With the 95 % interval of a normal law of this standard error, as far as it lies between 0 and 1.
    pub(super) fn around(h: f64, standard_error: f64) -> Estimate {
        let half = super::quantile(CONFIDENCE) * standard_error;
        Estimate { h, ci_low: (h - half).max(0.0), ci_high: (h + half).min(1.0), standard_error }
    }
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::Stream;

    /// Against every frequency alone: the binned estimate is off by less than a hundredth of its standard error.
    #[test]
    fn bins_lose_nothing_that_matters() {
        let mut stream = Stream::new(1, "bins", "noise");
        // Correlated at short range only, so that not every density fits well.
        let mut state = 0.0;
        let series: Vec<f64> = (0..1 << 17)
            .map(|_| {
                let noise: f64 = StandardNormal.sample(&mut stream);
                state = 0.3 * state + noise;
                state
            })
            .collect();
        let series = crate::hurst::centred(&series, SHORTEST).unwrap();
        let periodogram = Periodogram::new(&series).unwrap();
        let (fine, coarse) = (periodogram.bins_as_fine_as(usize::MAX), periodogram.bins());
        assert!(coarse.bins.len() * 4 < fine.bins.len(), "{} bins", coarse.bins.len());
        for model in [Model::Fgn, Model::Farima, Model::Autoregression] {
            let (exact, binned) = (fit(&fine, model), fit(&coarse, model));
            let off = (binned.parameter - exact.parameter) / exact.standard_error;
            assert!(off.abs() < 0.01, "{model:?}: {off} standard errors");
            assert!((binned.standard_error / exact.standard_error - 1.0).abs() < 1e-4, "{model:?}");
        }
    }
}
