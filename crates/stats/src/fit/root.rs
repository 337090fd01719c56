//! Where a monotone function crosses zero.

/// Steps of the search; bisection alone would reach the last digit of a double in fewer than this.
const STEPS: usize = 200;

/// The x between `low` and `high` at which `f` is 0, to twelve digits, by false position with the Illinois rule (Dowell
/// and Jarratt, BIT 11, 1971); `None` where `f` has the same sign at both ends.
pub(super) fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> Option<f64> {
    let (mut at_low, mut at_high) = (f(low), f(high));
    if at_low == 0.0 {
        return Some(low);
    }
    if at_high == 0.0 {
        return Some(high);
    }
    if at_low.is_nan() || at_high.is_nan() || (at_low > 0.0) == (at_high > 0.0) {
        return None;
    }
    let mut side = 0;
    for step in 0..STEPS {
        // Every third step halves the interval, so that it shrinks whatever the function's shape.
        let x = if step % 3 == 2 { 0.5 * (low + high) } else { (low * at_high - high * at_low) / (at_high - at_low) };
        let value = f(x);
        if value == 0.0 || (high - low).abs() <= 1e-12 * x.abs().max(1.0) {
            return Some(x);
        }
        if (value > 0.0) == (at_high > 0.0) {
            (high, at_high) = (x, value);
            if side == 1 {
                at_low *= 0.5;
            }
            side = 1;
        } else {
            (low, at_low) = (x, value);
            if side == -1 {
                at_high *= 0.5;
            }
            side = -1;
        }
    }
    Some(0.5 * (low + high))
}
