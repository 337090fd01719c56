//! The wavelet estimator of Abry and Veitch: how the energy of a series' details grows from octave to octave.
//!
//! Veitch and Abry, IEEE Transactions on Information Theory 45(3), 1999: the mean square of the wavelet coefficients of
//! octave j grows like 2^(j (2H - 1)); its logarithm, less the bias that a logarithm of a mean of n_j squares has, is
//! regressed on j with weights from its known variance, which also gives the interval.
//!
//! Decisions: Daubechies' wavelet with three vanishing moments, which does not see a trend up to a parabola; coefficients
//! that would reach over an end are left out; the last octave is the last with eight coefficients; the first is the
//! fourth, because the first octaves of a series in discrete time obey no power law, or the first after it with which the
//! line fits the points (chi-squared at one in a thousand, in the manner of Veitch, Abry and Taqqu, Fractals 11(4), 2003).
//! The price is precision, half of what Whittle's estimator has, and an interval that takes coefficients for independent,
//! which they nearly are.

use std::f64::consts::LN_2;

use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::gamma::digamma;

use super::Reading;
use super::plot::LogLog;
use super::spectrum::hurwitz_zeta;
use crate::measure::CONFIDENCE;

/// Fewest coefficients of an octave.
const LEAST_COEFFICIENTS: usize = 8;
/// Fewest octaves of a line: two parameters, and two octaves to see whether it fits.
const LEAST_OCTAVES: usize = 3;
/// Where there are octaves enough, the first three are left out: there the spectrum of a series in discrete time is no power
/// law yet.
const FIRST: usize = 4;
/// A worse fit than one in a thousand is taken for no power law: asking for more would throw away good octaves by chance, and
/// the precision with them.
const WORST_FIT: f64 = 0.001;

/// The energy of one octave.
#[derive(Clone, Copy, Debug)]
struct Octave {
    j: f64,
    /// Base 2 logarithm of the mean square, its bias removed.
    y: f64,
    variance: f64,
}

pub(super) fn estimate(series: &[f64]) -> Reading {
    let octaves = octaves(series);
    let first_usable = FIRST.min(octaves.len().saturating_sub(LEAST_OCTAVES) + 1);
    let starts = first_usable - 1..=octaves.len().saturating_sub(LEAST_OCTAVES);
    let lines: Vec<Line> = starts.filter_map(|start| Line::through(&octaves[start..])).collect();
    let fits = lines.iter().find(|line| line.fit >= WORST_FIT);
    let best = fits.or_else(|| lines.iter().max_by(|a, b| a.fit.total_cmp(&b.fit)));
    let points = octaves.iter().map(|octave| (octave.j.exp2(), octave.y.exp2())).collect();
    let (h, interval, line) = match best {
        None => (f64::NAN, None, Vec::new()),
        Some(line) => {
            let (h, half) = (0.5 * (1.0 + line.slope), 0.5 * super::quantile(CONFIDENCE) * line.standard_error);
            let end = |j: f64| (j.exp2(), (line.intercept + line.slope * j).exp2());
            (h, Some((h - half, h + half)), vec![end(line.first), end(line.last)])
        }
    };
    Reading {
        h,
        ci_low: interval.map(|(low, _)| low),
        ci_high: interval.map(|(_, high)| high),
        known_bias: None,
        plot: LogLog { x: "scale (numbers)", y: "energy", points, line },
    }
}

/// A weighted line through octaves.
struct Line {
    first: f64,
    last: f64,
    intercept: f64,
    slope: f64,
    standard_error: f64,
    /// Chance of a worse fit, were it a line.
    fit: f64,
}

impl Line {
    fn through(octaves: &[Octave]) -> Option<Line> {
        if octaves.len() < LEAST_OCTAVES {
            return None;
        }
        let sum = |of: &dyn Fn(&Octave) -> f64| octaves.iter().map(|octave| of(octave) / octave.variance).sum::<f64>();
        let total = sum(&|_| 1.0);
        let (center, level) = (sum(&|o| o.j) / total, sum(&|o| o.y) / total);
        let spread = sum(&|o| (o.j - center).powi(2));
        let slope = sum(&|o| (o.j - center) * o.y) / spread;
        let misfit = sum(&|o| (o.y - level - slope * (o.j - center)).powi(2));
        let law = ChiSquared::new((octaves.len() - 2) as f64).expect("there are three octaves at least");
        Some(Line {
            first: octaves[0].j,
            last: octaves[octaves.len() - 1].j,
            intercept: level - slope * center,
            slope,
            standard_error: spread.sqrt().recip(),
            fit: law.sf(misfit),
        })
    }
}

/// The octaves with coefficients enough, from the first.
fn octaves(series: &[f64]) -> Vec<Octave> {
    let smooth = daubechies_3();
    // The quadrature mirror of the smoothing filter: reversed, with every second sign changed.
    let detail: [f64; 6] = std::array::from_fn(|k| if k % 2 == 0 { smooth[5 - k] } else { -smooth[5 - k] });
    let mut octaves = Vec::new();
    let mut approximation = series.to_vec();
    loop {
        let windows = || approximation.windows(6).step_by(2);
        let dot = |window: &[f64], filter: &[f64; 6]| window.iter().zip(filter).map(|(x, f)| x * f).sum::<f64>();
        let coefficients = windows().len();
        if coefficients < LEAST_COEFFICIENTS {
            return octaves;
        }
        let energy = windows().map(|window| dot(window, &detail).powi(2)).sum::<f64>() / coefficients as f64;
        if energy <= 0.0 {
            return octaves;
        }
        let half = 0.5 * coefficients as f64;
        octaves.push(Octave {
            j: (octaves.len() + 1) as f64,
            // The mean of the logarithm of a mean of 2 half squared normals, and its variance.
            y: energy.log2() - (digamma(half) / LN_2 - half.log2()),
            variance: hurwitz_zeta(2.0, half) / (LN_2 * LN_2),
        });
        approximation = windows().map(|window| dot(window, &smooth)).collect();
    }
}

/// Daubechies' smoothing filter with three vanishing moments, of norm 1 (Ten Lectures on Wavelets, 1992, section 6.4).
fn daubechies_3() -> [f64; 6] {
    let a = 10f64.sqrt();
    let b = (5.0 + 2.0 * a).sqrt();
    [1.0 + a + b, 5.0 + a + 3.0 * b, 10.0 - 2.0 * a + 2.0 * b, 10.0 - 2.0 * a - 2.0 * b, 5.0 + a - 3.0 * b, 1.0 + a - b]
        .map(|sum| sum / (16.0 * std::f64::consts::SQRT_2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_are_orthonormal_and_blind_to_parabolas() {
        let smooth = daubechies_3();
        let product = |shift: usize| (0..6 - shift).map(|k| smooth[k] * smooth[k + shift]).sum::<f64>();
        assert!((product(0) - 1.0).abs() < 1e-15 && product(2).abs() < 1e-15 && product(4).abs() < 1e-15);
        // White noise of variance 1 has energy 1 at every octave; a parabola adds none.
        let parabola: Vec<f64> = (0..1000).map(|i| f64::from(i).powi(2) / 1e6).collect();
        assert!(octaves(&parabola).iter().all(|octave| octave.y < -80.0), "{:?}", octaves(&parabola));
    }
}
