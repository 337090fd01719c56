//! Polynomials through points by least squares.
//!
//! The fit is made in polynomials that are orthogonal on the given points, each built from the two before it (Forsythe,
//! J. SIAM 5(2), 1957), over x moved and scaled into -1 to 1; only the result is written out in powers of x. No matrix
//! is set up, so none can be singular, and degree 10 on user counts up to 960 is as good as degree 1. The price is that
//! the coefficients of powers of x can be large and of mixed sign even where the curve is tame: [`Fit::at`] takes no
//! such detour.

use thiserror::Error;

/// A polynomial fitted by least squares.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// a0, a1, ... of a0 + a1 x + a2 x^2 + ..., in the unit of y over that of x^k.
    pub coefficients: Vec<f64>,
    /// Root of the mean squared residual, in the unit of y.
    pub residual_rms: f64,
    /// 1 - squared residuals / squared deviations of y from its mean; 1 where all y are the same.
    pub r_squared: f64,
    center: f64,
    half_width: f64,
    /// Coefficients of powers of (x - center) / half_width.
    scaled: Vec<f64>,
}

/// Why no polynomial was fitted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct RegressionError(pub String);

/// Fits the polynomial of this degree to the points (x, y).
///
/// # Errors
/// When a number is not finite, and when there are fewer distinct x than the degree + 1 coefficients.
pub fn polynomial(points: &[(f64, f64)], degree: usize) -> Result<Fit, RegressionError> {
    if let Some((x, y)) = points.iter().find(|(x, y)| !(x.is_finite() && y.is_finite())) {
        return Err(RegressionError(format!("the point ({x}, {y}) is not finite")));
    }
    let mut distinct: Vec<f64> = points.iter().map(|point| point.0).collect();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    if distinct.len() <= degree {
        let (needed, found) = (degree + 1, distinct.len());
        return Err(RegressionError(format!(
            "a polynomial of degree {degree} needs points at {needed} different x, and there are {found}"
        )));
    }
    let (low, high) = (distinct[0], distinct[distinct.len() - 1]);
    let center = 0.5 * (low + high);
    let half_width = if high > low { 0.5 * (high - low) } else { 1.0 };
    let us: Vec<f64> = points.iter().map(|point| (point.0 - center) / half_width).collect();

    // The present polynomial and the one before it: their values at the points, and their coefficients.
    let (mut values, mut before) = (vec![1.0; us.len()], vec![0.0; us.len()]);
    let (mut powers, mut powers_before) = (vec![1.0], Vec::new());
    let (mut residuals, mut scaled) = (points.iter().map(|point| point.1).collect::<Vec<f64>>(), vec![0.0; degree + 1]);
    let mut norm_before = 1.0;
    for order in 0..=degree {
        let norm: f64 = values.iter().map(|value| value * value).sum();
        let share = values.iter().zip(&residuals).map(|(value, rest)| value * rest).sum::<f64>() / norm;
        residuals.iter_mut().zip(&values).for_each(|(rest, value)| *rest -= share * value);
        scaled.iter_mut().zip(&powers).for_each(|(sum, power)| *sum += share * power);
        if order == degree {
            break;
        }
        let shift = us.iter().zip(&values).map(|(u, value)| u * value * value).sum::<f64>() / norm;
        let carry = if order == 0 { 0.0 } else { norm / norm_before };
        for (index, u) in us.iter().enumerate() {
            let next = (u - shift) * values[index] - carry * before[index];
            before[index] = std::mem::replace(&mut values[index], next);
        }
        let mut next = vec![0.0; order + 2];
        for (power, coefficient) in powers.iter().enumerate() {
            next[power + 1] += coefficient;
            next[power] -= shift * coefficient;
        }
        next.iter_mut().zip(&powers_before).for_each(|(sum, coefficient)| *sum -= carry * coefficient);
        powers_before = std::mem::replace(&mut powers, next);
        norm_before = norm;
    }

    let squares = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>();
    let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
    let unexplained = squares(&mut residuals.iter().copied());
    let whole = squares(&mut points.iter().map(|point| point.1 - mean));
    Ok(Fit {
        coefficients: in_powers_of_x(&scaled, center, half_width),
        residual_rms: (unexplained / points.len() as f64).sqrt(),
        r_squared: if whole > 0.0 { 1.0 - unexplained / whole } else { 1.0 },
        center,
        half_width,
        scaled,
    })
}

impl Fit {
    /// The polynomial at `x`.
    pub fn at(&self, x: f64) -> f64 {
        let u = (x - self.center) / self.half_width;
        self.scaled.iter().rev().fold(0.0, |sum, coefficient| sum * u + coefficient)
    }
}

/// Horner's rule in (x - center) / half_width, carried out on polynomials in x.
fn in_powers_of_x(scaled: &[f64], center: f64, half_width: f64) -> Vec<f64> {
    let mut coefficients = vec![0.0; scaled.len()];
    for own in scaled.iter().rev() {
        for power in (0..coefficients.len()).rev() {
            let below = if power > 0 { coefficients[power - 1] } else { 0.0 };
            coefficients[power] = (below - center * coefficients[power]) / half_width;
        }
        coefficients[0] += own;
    }
    coefficients
}
