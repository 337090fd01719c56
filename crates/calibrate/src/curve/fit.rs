//! Polynomials through measured delays, fitted as in Zhang (2002, section 4.4, Tables 4.5 to 4.7).

use sojourn_model::{DelayCurve, Denied, Piece};
use sojourn_stats::Span;
use sojourn_stats::regression::{Fit, RegressionError, polynomial};

/// Highest degree below the knee, and from there on.
const DEGREES: (usize, usize) = (4, 2);
/// Fewest points of a curve with a knee.
const KNEE_POINTS: usize = 6;

/// Fits a delay curve to points (users, mean delay in s) and (users, share of denied objects), each in ascending order
/// of the users; `penalty` is the cost of a denial.
///
/// The delay is a polynomial of degree 4 up to a knee and one of degree 2 beyond it. The knee is the number of users at
/// which both together fit best by relative error, since delays on one curve span decades. Few points give polynomials
/// of lower degree, and fewer than six a single one. The denied share is a polynomial of degree 2 in the users above
/// the last number without denials; none if fewer than three numbers have denials.
///
/// # Errors
/// When there are fewer than three points, two at the same number of users, or a number is not finite.
pub fn fit_delay_curve(
    delays: &[(f64, f64)],
    denied: &[(f64, f64)],
    penalty: Span,
) -> Result<DelayCurve, RegressionError> {
    let pieces = if delays.len() < KNEE_POINTS { one_piece(delays)? } else { two_pieces(delays)? };
    Ok(DelayCurve { pieces, denied: denials(denied, penalty)? })
}

fn one_piece(delays: &[(f64, f64)]) -> Result<Vec<Piece>, RegressionError> {
    let fit = polynomial(delays, DEGREES.1.min(delays.len().saturating_sub(2)))?;
    match delays {
        [_, _, .., (most, _)] => Ok(vec![Piece { up_to: *most as u32, seconds: fit.coefficients }]),
        _ => Err(RegressionError("a delay curve needs at least 3 points".into())),
    }
}

fn two_pieces(delays: &[(f64, f64)]) -> Result<Vec<Piece>, RegressionError> {
    let count = delays.len();
    // If there are enough points, each side has one more than its coefficients: 6 for degree 4, 4 for degree 2.
    let (first, last) = if count >= 9 { (5, count - 4) } else { (2, count - 3) };
    let mut best: Option<(f64, Vec<Piece>)> = None;
    for knee in first..=last {
        let (light, heavy) = (&delays[..=knee], &delays[knee..]);
        let light_fit = polynomial(light, DEGREES.0.min(light.len() - 2))?;
        let heavy_fit = polynomial(heavy, DEGREES.1.min(heavy.len() - 2))?;
        let error = relative(light, &light_fit) + relative(heavy, &heavy_fit);
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            let piece = |at: usize, fit: Fit| Piece { up_to: delays[at].0 as u32, seconds: fit.coefficients };
            best = Some((error, vec![piece(knee, light_fit), piece(count - 1, heavy_fit)]));
        }
    }
    best.map(|(_, pieces)| pieces).ok_or_else(|| RegressionError("a delay that is 0 has no relative error".into()))
}

/// Sum of the squared relative errors.
fn relative(points: &[(f64, f64)], fit: &Fit) -> f64 {
    points.iter().map(|(x, y)| (fit.at(*x) / y - 1.0).powi(2)).sum()
}

fn denials(denied: &[(f64, f64)], penalty: Span) -> Result<Option<Denied>, RegressionError> {
    let Some(first) = denied.iter().position(|(_, share)| *share > 0.0) else { return Ok(None) };
    if first == 0 || denied.len() - first < 3 {
        return Ok(None);
    }
    let above = denied[first - 1].0;
    let points: Vec<(f64, f64)> = denied[first - 1..].iter().map(|(x, share)| (x - above, *share)).collect();
    let fit = polynomial(&points, DEGREES.1)?;
    Ok(Some(Denied { above: above as u32, share: fit.coefficients, penalty }))
}
