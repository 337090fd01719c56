//! What an estimator looked at, to be drawn on two logarithmic axes.

use crate::Line;
use crate::measure::CONFIDENCE;

/// Points and the line or curve through them; all numbers are positive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogLog {
    /// What is along the horizontal axis.
    pub x: &'static str,
    /// What is along the vertical axis.
    pub y: &'static str,
    /// What was seen.
    pub points: Vec<(f64, f64)>,
    /// What the estimate says, over the range that it was made from.
    pub line: Vec<(f64, f64)>,
}

/// The exponent b of y = a x^b through weighted points (x, y, weight), with the ends of the line; not a number below three
/// points. Points without a logarithm are left out.
pub(super) fn power_law(points: &[(f64, f64, f64)]) -> (f64, Vec<(f64, f64)>) {
    let logarithms: Vec<(f64, f64, f64)> = points
        .iter()
        .filter(|(x, y, weight)| *x > 0.0 && *y > 0.0 && *weight > 0.0)
        .map(|(x, y, weight)| (x.ln(), y.ln(), *weight))
        .collect();
    let Ok(line) = Line::fit(&logarithms, CONFIDENCE) else { return (f64::NAN, Vec::new()) };
    let ends = [logarithms.first(), logarithms.last()].into_iter().flatten();
    (line.slope, ends.map(|(x, ..)| (x.exp(), (line.intercept + line.slope * x).exp())).collect())
}

/// At most `most` sizes from `low` to `high`, equidistant on a logarithmic scale.
pub(super) fn sizes(low: usize, high: usize, most: usize) -> Vec<usize> {
    let ratio = high as f64 / low as f64;
    let mut sizes: Vec<usize> =
        (0..most).map(|i| (low as f64 * ratio.powf(i as f64 / (most - 1) as f64)).round() as usize).collect();
    sizes.dedup();
    sizes
}
