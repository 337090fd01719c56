//! Rescaled range (R/S), Hurst's own, against what independent numbers give.
//!
//! In a block of n numbers, the range of the partial sums of their deviations from the block's mean, over their
//! standard deviation, grows like n^H. In small blocks of independent numbers it grows faster than n^0.5, which reads as
//! H = 0.55 and more; so the range is divided by its exact expectation for independent normal numbers (Anis and Lloyd,
//! Biometrika 63(1), 1976), and H is a half plus the slope of what is left (Weron, Physica A 312, 2002).

use std::f64::consts::PI;

use statrs::function::gamma::ln_gamma;

use super::Reading;
use super::plot::{LogLog, power_law, sizes};

const SMALLEST: usize = 16;
/// Fewest blocks of the largest size.
const FEWEST: usize = 8;
const MOST_SIZES: usize = 20;

pub(super) fn estimate(series: &[f64]) -> Reading {
    let sizes = sizes(SMALLEST, series.len() / FEWEST, MOST_SIZES);
    let over_expected: Vec<(f64, f64, f64)> = sizes
        .iter()
        .map(|size| {
            let blocks: Vec<f64> = series.chunks_exact(*size).filter_map(rescaled_range).collect();
            let mean = blocks.iter().sum::<f64>() / blocks.len().max(1) as f64;
            (*size as f64, mean / expected(*size), 1.0)
        })
        .collect();
    let (slope, line) = power_law(&over_expected);
    // Drawn as root n times the ratio, on which independent numbers lie on a line of slope 1/2.
    let drawn = |(size, ratio): (f64, f64)| (size, ratio * (0.5 * PI * size).sqrt());
    let points = over_expected.iter().filter(|point| point.1 > 0.0).map(|(size, ratio, _)| drawn((*size, *ratio)));
    let plot = LogLog {
        x: "block size (numbers)",
        y: "rescaled range, corrected",
        points: points.collect(),
        line: line.into_iter().map(drawn).collect(),
    };
    Reading::biased(0.5 + slope, BIAS, plot)
}

const BIAS: &str = "low for large H (0.03 at 0.7, 0.09 at 0.9 of 16,384 numbers)";

/// Range of the partial sums over the standard deviation (divisor n); none of a constant block.
fn rescaled_range(block: &[f64]) -> Option<f64> {
    let n = block.len() as f64;
    let mean = block.iter().sum::<f64>() / n;
    let (mut sum, mut low, mut high, mut squares) = (0.0f64, 0.0f64, 0.0f64, 0.0);
    for x in block {
        let off = x - mean;
        sum += off;
        low = low.min(sum);
        high = high.max(sum);
        squares += off * off;
    }
    (squares > 0.0).then(|| (high - low) / (squares / n).sqrt())
}

/// The expected rescaled range of `n` independent normal numbers (Anis and Lloyd 1976):
/// Gamma((n - 1) / 2) / (sqrt(pi) Gamma(n / 2)) times the sum over i < n of sqrt((n - i) / i).
fn expected(n: usize) -> f64 {
    let sum: f64 = (1..n).map(|i| ((n - i) as f64 / i as f64).sqrt()).sum();
    let size = n as f64;
    (ln_gamma(0.5 * (size - 1.0)) - ln_gamma(0.5 * size)).exp() / PI.sqrt() * sum
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::{Moments, Stream};

    /// Of 20,000 blocks each; false alarm 1e-6 per size by the normal law of their mean.
    #[test]
    fn independent_numbers_have_the_expected_range() {
        assert!((expected(2) - 1.0).abs() < 1e-12, "one number above the mean, one as far below");
        let mut stream = Stream::new(1, "rescaled range", "noise");
        for size in [3, 16, 100] {
            let mut moments = Moments::new();
            for _ in 0..20_000 {
                let block: Vec<f64> = (0..size).map(|_| StandardNormal.sample(&mut stream)).collect();
                moments.push(rescaled_range(&block).expect("not constant"));
            }
            let standard_error = (moments.variance() / 20_000.0).sqrt();
            let off = (moments.mean() - expected(size)) / standard_error;
            assert!(off.abs() < 4.9, "{size}: {} against {}", moments.mean(), expected(size));
        }
    }
}
