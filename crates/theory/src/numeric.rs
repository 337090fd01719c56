//! Numerical methods that the formulas share.

pub(crate) mod inversion;
pub(crate) mod qbd;

/// The root of `f` between `low` and `high`, where `f(low) < 0 <= f(high)` and the sign changes once, to the last bit.
///
/// Bisection: some 50 evaluations (more for a root near 0), no derivative and no case in which it fails.
pub(crate) fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return high;
        }
        if f(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The `p`-quantile of a non-negative variable whose tail P(X > t) is `tail` and whose order of magnitude is `scale`.
pub(crate) fn quantile(p: f64, scale: f64, tail: impl Fn(f64) -> f64) -> f64 {
    let above = 1.0 - p;
    if tail(0.0) <= above {
        return 0.0;
    }
    if !scale.is_finite() || above <= 0.0 {
        return f64::INFINITY;
    }
    let mut high = scale;
    while tail(high) > above {
        high *= 2.0;
    }
    root(0.0, high, |t| above - tail(t))
}

/// Stationary probabilities of states 0..=`last` of a birth-death process, where `ratio(n)` = birth rate in n-1 over
/// death rate in n and does not increase with n.
///
/// Starts at the most probable state and works outwards, so that nothing overflows and what underflows is negligible.
pub(crate) fn birth_death(last: usize, ratio: impl Fn(usize) -> f64) -> Vec<f64> {
    let mode = (1..=last).take_while(|&n| ratio(n) > 1.0).count();
    let mut p = vec![0.0; last + 1];
    p[mode] = 1.0;
    for n in mode + 1..=last {
        p[n] = p[n - 1] * ratio(n);
    }
    for n in (0..mode).rev() {
        p[n] = p[n + 1] / ratio(n + 1);
    }
    let total: f64 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= total);
    p
}

/// As [`quantile`], of a tail that is smooth, falls without end and is dear to compute: regula falsi on its logarithm
/// (the Illinois rule: Dowell and Jarratt, BIT 11, 1971), some ten evaluations, to ten digits.
pub(crate) fn smooth_quantile(p: f64, scale: f64, tail: impl Fn(f64) -> f64) -> f64 {
    let above = 1.0 - p;
    if !scale.is_finite() || above <= 0.0 {
        return f64::INFINITY;
    }
    let excess = |t: f64| tail(t).max(1e-300).ln() - above.ln();
    let (mut low, mut at_low) = (0.0, -above.ln());
    let (mut high, mut at_high) = (scale, excess(scale));
    while at_high > 0.0 {
        (low, at_low) = (high, at_high);
        high *= 2.0;
        at_high = excess(high);
    }
    let mut side = 0;
    for _ in 0..100 {
        if high - low <= 1e-10 * high || at_high == 0.0 {
            break;
        }
        let guess = low + (high - low) * at_low / (at_low - at_high);
        let middle = if guess > low && guess < high { guess } else { 0.5 * (low + high) };
        let at_middle = excess(middle);
        if at_middle.abs() < 1e-11 {
            return middle;
        }
        if at_middle > 0.0 {
            (low, at_low) = (middle, at_middle);
            // The end that stays put twice is moved by halving its weight.
            at_high *= if side == 1 { 0.5 } else { 1.0 };
            side = 1;
        } else {
            (high, at_high) = (middle, at_middle);
            at_low *= if side == -1 { 0.5 } else { 1.0 };
            side = -1;
        }
    }
    high
}
