//! The estimators that look at means of blocks: aggregated variance, absolute value, differenced variance.
//!
//! Bjornstad 2006, equations 4.28 to 4.30; Taqqu, Teverovsky and Willinger, Fractals 3(4), 1995; Teverovsky and Taqqu,
//! Journal of Time Series Analysis 18(3), 1997. They are easy to see and easy to fool, and have no interval.

use super::Reading;
use super::plot::{LogLog, power_law, sizes};

/// Smallest block: below, short-range dependence shows more than long.
const SMALLEST: usize = 5;
/// Fewest blocks of the largest size.
const FEWEST: usize = 16;
const MOST_SIZES: usize = 30;

/// The means of successive blocks of `size` numbers; what does not fill a block at the end is left out.
///
/// # Panics
/// When `size` is 0.
pub fn local_averages(series: &[f64], size: usize) -> Vec<f64> {
    series.chunks_exact(size).map(|block| block.iter().sum::<f64>() / size as f64).collect()
}

/// Variance of the block means over the size of the blocks: slope 2 H - 2 (equation 4.30).
pub(super) fn aggregated_variance(series: &[f64]) -> Reading {
    over_sizes(series, "variance of block means", |mean| mean * mean, |slope| 1.0 + 0.5 * slope, VARIANCE_BIAS)
}

/// Mean distance of the block means from the whole mean, over the size of the blocks: slope H - 1 (equation 4.29).
pub(super) fn absolute_value(series: &[f64]) -> Reading {
    over_sizes(series, "mean distance of block means", f64::abs, |slope| 1.0 + slope, ABSOLUTE_BIAS)
}

/// The mean of a function of the block means of a series whose mean is 0.
fn over_sizes(
    series: &[f64],
    y: &'static str,
    of: impl Fn(f64) -> f64,
    h: impl Fn(f64) -> f64,
    bias: &'static str,
) -> Reading {
    let at = |size: usize| {
        let (mut sum, mut blocks) = (0.0, 0.0);
        for block in series.chunks_exact(size) {
            sum += of(block.iter().sum::<f64>() / size as f64);
            blocks += 1.0;
        }
        (size as f64, sum / blocks, 1.0)
    };
    let points: Vec<_> = sizes(SMALLEST, series.len() / FEWEST, MOST_SIZES).into_iter().map(at).collect();
    let (slope, line) = power_law(&points);
    let points = points.into_iter().map(|(x, y, _)| (x, y)).filter(|(_, y)| *y > 0.0).collect();
    Reading::biased(h(slope), bias, LogLog { x: "block size (numbers)", y, points, line })
}

/// How much less the variance of the block means is when blocks are joined in pairs, over the size of the blocks: slope
/// 2 H - 2, whatever slow level the means stand on.
///
/// With block sizes that double, the difference is a quarter of the mean square between neighbours, which is never
/// negative and does not depend on the mean of the series. Points are weighted by their number of blocks.
pub(super) fn differenced_variance(series: &[f64]) -> Reading {
    let mut points = Vec::new();
    let (mut means, mut size) = (local_averages(series, 4), 4);
    while means.len() >= FEWEST {
        let pairs = means.chunks_exact(2);
        let count = pairs.len() as f64;
        let difference = pairs.map(|pair| (pair[1] - pair[0]).powi(2)).sum::<f64>() / (4.0 * count);
        points.push((size as f64, difference, count));
        (means, size) = (local_averages(&means, 2), 2 * size);
    }
    let (slope, line) = power_law(&points);
    let points = points.into_iter().map(|(x, y, _)| (x, y)).filter(|(_, y)| *y > 0.0).collect();
    let plot = LogLog { x: "block size (numbers)", y: "loss of variance on joining pairs", points, line };
    Reading::biased(1.0 + 0.5 * slope, DIFFERENCED_BIAS, plot)
}

const VARIANCE_BIAS: &str =
    "low for large H (0.03 at 0.7, 0.06 at 0.9 of 16,384 numbers): means are measured about the series' own";
const ABSOLUTE_BIAS: &str =
    "low for large H (0.02 at 0.7, 0.06 at 0.9 of 16,384 numbers): means are measured about the series' own";
const DIFFERENCED_BIAS: &str =
    "none known for fractional Gaussian noise; looks most at the smallest blocks, where short-range dependence is";
