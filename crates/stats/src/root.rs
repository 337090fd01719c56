//! The root finder of the workspace: where a function of one variable crosses zero.
//!
//! False position with the rule of Anderson and Björck (A new high order method of regula falsi type for computing a
//! root of an equation, BIT 13, 1973): no derivative, and about ten evaluations of a smooth function. Where three steps
//! have not halved the bracket the next one does, so that a kink or a jump costs at most four times what bisection
//! would. The price: Brent's method needs about as many evaluations, has no such bound, and is longer.

use std::convert::Infallible;

/// Root of `f` between `low` and `high`, where it has different signs; none where the signs agree or an end is no
/// number.
///
/// `tolerance` is the width of the bracket at the end, relative to its larger end; 0 asks for the last digit. A jump
/// across zero counts as a root.
///
/// ```
/// let root = sojourn_stats::root::find(0.0, 2.0, 0.0, |x| x * x - 2.0).unwrap();
/// assert!((root - 2f64.sqrt()).abs() < 1e-15);
/// ```
pub fn find(low: f64, high: f64, tolerance: f64, mut f: impl FnMut(f64) -> f64) -> Option<f64> {
    let Ok(root) = try_find(low, high, tolerance, |x| Ok::<f64, Infallible>(f(x)));
    root
}

/// Root as [`find`] finds it, of a function that may fail.
///
/// # Errors
/// The first error of `f`.
pub fn try_find<E>(
    low: f64,
    high: f64,
    tolerance: f64,
    mut f: impl FnMut(f64) -> Result<f64, E>,
) -> Result<Option<f64>, E> {
    let (low, high) = ((low, f(low)?), (high, f(high)?));
    between(low, high, tolerance, f)
}

/// Root of `f` above `low`, in the first of the brackets up to `low` + `width`, + 2 `width`, + 4 `width`, ... in which
/// the sign changes; none where it never does.
pub fn find_above(low: f64, width: f64, tolerance: f64, mut f: impl FnMut(f64) -> f64) -> Option<f64> {
    let (mut width, mut below, mut above) = (width, (low, f(low)), (low + width, f(low + width)));
    while above.1 != 0.0 && (below.1 > 0.0) == (above.1 > 0.0) {
        width *= 2.0;
        if !(low + width).is_finite() {
            return None;
        }
        (below, above) = (above, (low + width, f(low + width)));
    }
    let Ok(root) = between(below, above, tolerance, |x| Ok::<f64, Infallible>(f(x)));
    root
}

/// Root between two points (x, f(x)).
fn between<E>(
    (mut low, mut at_low): (f64, f64),
    (mut high, mut at_high): (f64, f64),
    tolerance: f64,
    mut f: impl FnMut(f64) -> Result<f64, E>,
) -> Result<Option<f64>, E> {
    if at_low == 0.0 {
        return Ok(Some(low));
    }
    if at_high == 0.0 {
        return Ok(Some(high));
    }
    if at_low.is_nan() || at_high.is_nan() || (at_low > 0.0) == (at_high > 0.0) {
        return Ok(None);
    }
    let mut widths = [f64::INFINITY; 3];
    let mut rose_before = None;
    for step in 0.. {
        let (width, middle) = (high - low, low + 0.5 * (high - low));
        if width <= tolerance * low.abs().max(high.abs()) || middle <= low || middle >= high {
            break;
        }
        let stalls = width > 0.5 * widths[step % 3];
        widths[step % 3] = width;
        let guess = low + width * at_low / (at_low - at_high);
        let x = if !stalls && guess > low && guess < high { guess } else { middle };
        let value = f(x)?;
        if value == 0.0 {
            return Ok(Some(x));
        }
        // An end that stays for a second step counts less, so that the next guess goes beyond the root.
        let rose = (value > 0.0) == (at_high > 0.0);
        let left = 1.0 - value / if rose { at_high } else { at_low };
        let weight = if rose_before != Some(rose) {
            1.0
        } else if left > 0.0 {
            left
        } else {
            0.5
        };
        if rose {
            (high, at_high, at_low) = (x, value, at_low * weight);
        } else {
            (low, at_low, at_high) = (x, value, at_high * weight);
        }
        rose_before = Some(rose);
    }
    Ok(Some(high))
}
