//! A straight line through weighted points, with intervals.
//!
//! Weighted least squares: the weights say how the errors' variances compare (1 / variance, up to a common factor),
//! and the factor is estimated from the residuals, so that intervals are Student's with as many degrees of freedom as
//! there are points beyond two (Draper and Smith, Applied Regression Analysis, 3rd ed. 1998, chapters 1 and 9). They hold
//! for errors that are independent, near normal and of the variances said.

use crate::interval::t_quantile;
use crate::regression::RegressionError;

/// a + b x, with what is needed for its intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// a, in the unit of y.
    pub intercept: f64,
    /// b, in the unit of y over that of x.
    pub slope: f64,
    /// Half-width of the interval of the intercept.
    pub intercept_half_width: f64,
    /// Half-width of the interval of the slope.
    pub slope_half_width: f64,
    center: f64,
    /// Variance of the line at the centre, and of the slope; with Student's quantile.
    variance_at_center: f64,
    variance_of_slope: f64,
    t: f64,
}

impl Line {
    /// The line through points (x, y, weight), with intervals of this confidence.
    ///
    /// # Errors
    /// When a number is not finite or a weight not positive, below three points, and where all x are the same.
    pub fn fit(points: &[(f64, f64, f64)], confidence: f64) -> Result<Line, RegressionError> {
        let sound = |point: &&(f64, f64, f64)| point.0.is_finite() && point.1.is_finite() && point.2 > 0.0;
        if let Some((x, y, weight)) = points.iter().find(|point| !sound(point)) {
            return Err(RegressionError(format!("the point ({x}, {y}) of weight {weight} is no point")));
        }
        if points.len() < 3 {
            let found = points.len();
            return Err(RegressionError(format!("a line with an interval needs 3 points, and there are {found}")));
        }
        let total: f64 = points.iter().map(|point| point.2).sum();
        let mean = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y, w)| w * of(*x, *y)).sum::<f64>() / total;
        let (center, level) = (mean(&|x, _| x), mean(&|_, y| y));
        let spread = mean(&|x, _| (x - center).powi(2));
        if spread <= 0.0 {
            return Err(RegressionError("a line needs points at 2 different x, and there is 1".into()));
        }
        let slope = mean(&|x, y| (x - center) * (y - level)) / spread;
        let degrees = points.len() as u64 - 2;
        let unexplained: f64 = points.iter().map(|(x, y, w)| w * (y - level - slope * (x - center)).powi(2)).sum();
        let variance = unexplained / degrees as f64;
        let (variance_at_center, variance_of_slope) = (variance / total, variance / (total * spread));
        let t = t_quantile(0.5 + 0.5 * confidence, degrees);
        Ok(Line {
            intercept: level - slope * center,
            slope,
            intercept_half_width: t * (variance_at_center + variance_of_slope * center * center).sqrt(),
            slope_half_width: t * variance_of_slope.sqrt(),
            center,
            variance_at_center,
            variance_of_slope,
            t,
        })
    }

    /// The line at `x`, and the half-width of its interval there.
    pub fn at(&self, x: f64) -> (f64, f64) {
        let off = x - self.center;
        let variance = self.variance_at_center + self.variance_of_slope * off * off;
        (self.intercept + self.slope * x, self.t * variance.sqrt())
    }
}
