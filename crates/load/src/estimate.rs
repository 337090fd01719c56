//! From a run's windows to estimates whose intervals survive autocorrelation: non-overlapping batch means over
//! [`WINDOWS`] equal windows of the run.
//!
//! Response times that follow one another are correlated, so an interval that takes them for independent is too
//! narrow. Windows long against that correlation are nearly independent; 20 of them is the compromise of
//! B. Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30(3), 1982. A
//! quantile's interval is that of the share of values below it, mapped back through the distribution function
//! (P. Heidelberger and P. Lewis, "Quantile estimation in dependent sequences", Operations Research 32(1), 1984).

use sojourn_stats::Estimate;

use crate::histogram::Histogram;

/// Number of windows a run is cut into.
pub(crate) const WINDOWS: usize = 20;
/// With fewer windows that hold anything there is no estimate.
const WINDOWS_MIN: usize = 5;
/// Samples that must lie beyond a quantile on either side: with fewer it is an extreme, not a quantile.
const TAIL_MIN: f64 = 10.0;

/// Sum over sum, e.g. of response times over requests, from one (numerator, denominator) pair per window.
pub(crate) fn ratio(windows: &[(f64, f64)], samples: u64) -> Estimate {
    let Some((value, half_width)) = ratio_and_half_width(windows) else {
        return Estimate::TooFew { samples };
    };
    Estimate::Sampled { value, ci_low: value - half_width, ci_high: value + half_width, samples }
}

/// A share between 0 and 1: as [`ratio`], with its interval inside these.
pub(crate) fn share(windows: &[(f64, f64)], samples: u64) -> Estimate {
    match ratio(windows, samples) {
        Estimate::Sampled { value, ci_low, ci_high, samples } => {
            Estimate::Sampled { value, ci_low: ci_low.max(0.0), ci_high: ci_high.min(1.0), samples }
        }
        other => other,
    }
}

/// The `q`-quantile of all windows together.
pub(crate) fn quantile<'a>(q: f64, all: &Histogram, windows: impl Iterator<Item = &'a Histogram>) -> Estimate {
    let samples = all.samples();
    if (samples as f64) * q.min(1.0 - q) < TAIL_MIN {
        return Estimate::TooFew { samples };
    }
    let value = all.quantile_s(q);
    let below: Vec<(f64, f64)> =
        windows.map(|window| (window.at_most(value) as f64, window.samples() as f64)).collect();
    let Some((_, half_width)) = ratio_and_half_width(&below) else {
        return Estimate::TooFew { samples };
    };
    Estimate::Sampled {
        value,
        ci_low: all.quantile_s(q - half_width),
        ci_high: all.quantile_s(q + half_width),
        samples,
    }
}

/// The ratio of sums and half the width of its 95 % interval, by linearisation: the deviations numerator - ratio x
/// denominator of the windows have mean zero.
fn ratio_and_half_width(windows: &[(f64, f64)]) -> Option<(f64, f64)> {
    let filled = windows.iter().filter(|(_, denominator)| *denominator > 0.0).count();
    if filled < WINDOWS_MIN {
        return None;
    }
    let count = windows.len() as f64;
    let numerator: f64 = windows.iter().map(|window| window.0).sum();
    let denominator: f64 = windows.iter().map(|window| window.1).sum();
    let value = numerator / denominator;
    let squares: f64 = windows.iter().map(|window| (window.0 - value * window.1).powi(2)).sum();
    let deviation = (squares / (count - 1.0) * count).sqrt() / denominator;
    Some((value, student_975(filled - 1) * deviation))
}

/// The 0.975-quantile of Student's t with `freedom` degrees of freedom, to 0.1 % from 4 on (Abramowitz and Stegun,
/// 26.7.5).
fn student_975(freedom: usize) -> f64 {
    let (z, v) = (1.959_963_985_f64, freedom as f64);
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    z + (z3 + z) / (4.0 * v)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v * v)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * v.powi(3))
}

#[cfg(test)]
mod tests {
    use super::student_975;

    /// Student's t table (e.g. Abramowitz and Stegun, table 26.10).
    #[test]
    fn student_is_the_table_s() {
        for (freedom, table) in [(4, 2.776), (9, 2.262), (19, 2.093), (30, 2.042)] {
            assert!((student_975(freedom) - table).abs() < 0.004, "{freedom}: {}", student_975(freedom));
        }
    }
}
