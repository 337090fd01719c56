//! The local Whittle estimator: a power law at the lowest frequencies, and no model of the others.
//!
//! Robinson, Annals of Statistics 23(5), 1995: H minimises log(mean of I_j j^(2H - 1)) - (2H - 1) mean of log j over the m
//! lowest frequencies, and is normal with standard error 1 / (2 sqrt m). It is a power law's H whatever the short-range
//! structure, as long as m is small enough not to see it; m = n^0.65 is the usual choice and the price is precision:
//! at 16,384 points the interval is four times as wide as Whittle's. H is looked for up to 1.5, where the estimator
//! still works (Velasco, Journal of Econometrics 91, 1999), so that a random walk can show itself.

use super::Reading;
use super::periodogram::Periodogram;
use super::plot::LogLog;
use crate::measure::CONFIDENCE;

/// m = n to this power.
const BANDWIDTH: f64 = 0.65;
const RANGE: (f64, f64) = (0.01, 1.5);

pub(super) fn estimate(periodogram: &Periodogram) -> Reading {
    let power = periodogram.power();
    let points = (2 * power.len() + 1) as f64;
    let m = (points.powf(BANDWIDTH) as usize).min(power.len());
    let ln_j: Vec<f64> = (1..=m).map(|j| (j as f64).ln()).collect();
    let mean_ln = ln_j.iter().sum::<f64>() / m as f64;
    let level = |h: f64| {
        let weighted = |(power, ln): (&f64, &f64)| power * ((2.0 * h - 1.0) * ln).exp();
        power[..m].iter().zip(&ln_j).map(weighted).sum::<f64>() / m as f64
    };
    let deviance = |h: f64| level(h).ln() - (2.0 * h - 1.0) * mean_ln;
    let h = super::minimum::minimum(RANGE.0, RANGE.1, 1e-7, deviance);
    let half = super::quantile(CONFIDENCE) / (2.0 * (m as f64).sqrt());
    let line = [1, m].map(|j| (periodogram.frequency(j), level(h) * (j as f64).powf(1.0 - 2.0 * h)));
    Reading {
        h,
        ci_low: Some(h - half),
        ci_high: Some(h + half),
        known_bias: None,
        plot: LogLog { x: "frequency (rad)", y: "power", points: periodogram.drawn(usize::MAX), line: line.to_vec() },
    }
}
