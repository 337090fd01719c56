//! Variance of residuals: how far the partial sums in a block lie from a straight line.
//!
//! Peng et al., Physical Review E 49(2), 1994 (also called detrended fluctuation analysis): the mean of their squared
//! residuals grows with the block size like m^(2 H). Because of the line, a trend in the level of the series does less
//! harm than to block means.

use super::Reading;
use super::plot::{LogLog, power_law, sizes};

/// Below, a line through the sums takes too much with it.
const SMALLEST: usize = 16;
/// Fewest blocks of the largest size.
const FEWEST: usize = 8;
const MOST_SIZES: usize = 20;

pub(super) fn estimate(series: &[f64]) -> Reading {
    let at = |size: usize| {
        let blocks = series.chunks_exact(size);
        let count = blocks.len() as f64;
        (size as f64, blocks.map(about_line).sum::<f64>() / count, 1.0)
    };
    let points: Vec<_> = sizes(SMALLEST, series.len() / FEWEST, MOST_SIZES).into_iter().map(at).collect();
    let (slope, line) = power_law(&points);
    let points = points.into_iter().map(|(x, y, _)| (x, y)).filter(|(_, y)| *y > 0.0).collect();
    let plot = LogLog { x: "block size (numbers)", y: "variance of residuals", points, line };
    Reading::biased(0.5 * slope, BIAS, plot)
}

const BIAS: &str = "below 0.01 for fractional Gaussian noise; scatters four times as much as Whittle's";

/// Mean squared residual of the partial sums of a block about their least-squares line over 0, 1, 2, ...
fn about_line(block: &[f64]) -> f64 {
    let n = block.len() as f64;
    let middle = 0.5 * (n - 1.0);
    let (mut partial, mut sum, mut squares, mut products, mut at) = (0.0, 0.0, 0.0, 0.0, -middle);
    for x in block {
        partial += x;
        sum += partial;
        squares += partial * partial;
        products += at * partial;
        at += 1.0;
    }
    let spread = n * (n * n - 1.0) / 12.0;
    ((squares - sum * sum / n - products * products / spread) / n).max(0.0)
}
