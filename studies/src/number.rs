//! Numbers as pages compare and show them: with an interval, and with the trust in the run that they come from.
//!
//! Whether that run was SUSPECT goes into all that is computed from a number, so that no page has to remember it. The
//! interval of a result is wide enough for any correlation of its parts; where replications are paired, the difference
//! is taken first.

use sojourn_stats::Estimate;

/// A number with its 95 % interval, which has no width if the number is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether a run that it comes from was SUSPECT or interrupted.
    pub(crate) is_suspect: bool,
}

impl Number {
    /// A sampled estimate; none of a formula's number, and of too few samples.
    pub(crate) fn of(estimate: &Estimate, is_suspect: bool) -> Option<Number> {
        let (value, (low, high)) = (estimate.value()?, estimate.interval()?);
        Some(Number { value, low, high, is_suspect })
    }

    /// The number that `value`, `low` and `high` make of two others.
    fn from(a: Number, b: Number, value: f64, low: f64, high: f64) -> Number {
        Number { value, low, high, is_suspect: a.is_suspect || b.is_suspect }
    }
}

/// An exact number.
pub(crate) fn known(value: f64) -> Option<Number> {
    Some(Number { value, low: value, high: value, is_suspect: false })
}

/// In other units; `factor` is positive.
pub(crate) fn scaled(number: Option<Number>, factor: f64) -> Option<Number> {
    let Number { value, low, high, is_suspect } = number?;
    Some(Number { value: value * factor, low: low * factor, high: high * factor, is_suspect })
}

/// `share * a + (1 - share) * b`.
pub(crate) fn between(a: Option<Number>, b: Option<Number>, share: f64) -> Option<Number> {
    let (a, b) = (a?, b?);
    let mix = |a: f64, b: f64| share * a + (1.0 - share) * b;
    Some(Number::from(a, b, mix(a.value, b.value), mix(a.low, b.low), mix(a.high, b.high)))
}

/// The growth per unit from `a` to `b`, which is `distance` units further.
pub(crate) fn slope(a: Option<Number>, b: Option<Number>, distance: f64) -> Option<Number> {
    let (a, b) = (a?, b?);
    let per = |rise: f64| rise / distance;
    Some(Number::from(a, b, per(b.value - a.value), per(b.low - a.high), per(b.high - a.low)))
}

/// `a / b`, both positive.
pub(crate) fn quotient(a: Option<Number>, b: Option<Number>) -> Option<Number> {
    let (a, b) = (a?, b?);
    Some(Number::from(a, b, a.value / b.value, a.low / b.high, a.high / b.low))
}

/// With its interval, in milliseconds if it is a time.
pub(crate) fn shown(number: Option<Number>, unit: &str) -> String {
    let Some(Number { value, low, high, .. }) = number else { return "-".into() };
    let (factor, unit) = if unit == "s" { (1e3, "ms") } else { (1.0, unit) };
    let digits = match value * factor {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    };
    let half = (high - low) / 2.0 * factor;
    // Enough digits that an interval is not shown as 0.
    let digits = if half > 0.0 { digits.max((-half.log10().floor()).clamp(0.0, 3.0) as usize) } else { digits };
    format!("{:.digits$} ± {half:.digits$} {unit}", value * factor)
}

/// A number of a formula, in milliseconds if it is a time.
pub(crate) fn plain(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else { return "-".into() };
    let (value, unit) = if unit == "s" { (value * 1e3, "ms") } else { (value, unit) };
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0} {unit}"),
        size if size >= 10.0 => format!("{value:.1} {unit}"),
        _ => format!("{value:.2} {unit}"),
    }
}

/// With the ends of its interval, if it has any width.
pub(crate) fn interval(number: Option<Number>, digits: usize) -> String {
    match number {
        None => "-".into(),
        Some(Number { value, low, high, .. }) if low == high => format!("{value:.digits$}"),
        Some(Number { value, low, high, .. }) => format!("{value:.digits$} ({low:.digits$} to {high:.digits$})"),
    }
}

/// A difference with the ends of its interval, each with its sign.
pub(crate) fn difference(number: Option<Number>) -> String {
    let Some(Number { value, low, high, .. }) = number else { return "-".into() };
    format!("{value:+.3} ({low:+.3} to {high:+.3})")
}

/// The smallest and the largest of some numbers.
pub(crate) fn range(numbers: &[Option<Number>]) -> String {
    let values = || numbers.iter().flatten().map(|number| number.value).filter(|value| value.is_finite());
    match values().min_by(f64::total_cmp).zip(values().max_by(f64::total_cmp)) {
        Some((low, high)) => format!("{low:.2} to {high:.2}"),
        None => "-".into(),
    }
}

/// A number with this interval, for tests.
#[cfg(test)]
pub(crate) fn made_up(low: f64, high: f64) -> Option<Number> {
    Some(Number { value: 0.5 * (low + high), low, high, is_suspect: false })
}

#[cfg(test)]
mod tests {
    use super::made_up as of;
    use super::*;

    #[test]
    fn an_interval_is_never_shown_as_nothing() {
        assert_eq!(shown(of(0.2998, 0.3002), "s"), "300.0 ± 0.2 ms");
        assert_eq!(shown(of(0.28, 0.32), "s"), "300 ± 20 ms");
        assert_eq!(shown(of(11.5, 12.5), "/s"), "12.0 ± 0.5 /s");
        assert_eq!(shown(None, "s"), "-");
        assert_eq!(interval(of(11.5, 12.5), 1), "12.0 (11.5 to 12.5)");
        assert_eq!(interval(known(12.0), 1), "12.0", "what has no interval shows none");
    }

    #[test]
    fn mixes_and_slopes_keep_every_value_that_their_parts_allow() {
        let ends = |number: Option<Number>| number.map(|of| (of.value, of.low, of.high)).unwrap();
        assert_eq!(ends(between(of(1.0, 2.0), of(3.0, 5.0), 0.25)), (3.375, 2.5, 4.25));
        assert_eq!(ends(slope(of(1.0, 2.0), of(3.0, 5.0), 2.0)), (1.25, 0.5, 2.0));
        assert_eq!(ends(quotient(of(1.0, 3.0), of(2.0, 6.0))), (0.5, 1.0 / 6.0, 1.5));
        assert_eq!(ends(scaled(of(1.0, 2.0), 10.0)), (15.0, 10.0, 20.0));
    }

    #[test]
    fn what_is_computed_from_a_suspect_number_is_suspect() {
        let doubted = of(1.0, 2.0).map(|of| Number { is_suspect: true, ..of });
        let sound = of(3.0, 4.0);
        let both = |combined: fn(Option<Number>, Option<Number>) -> Option<Number>| {
            [combined(doubted, sound), combined(sound, doubted), combined(sound, sound)]
                .map(|of| of.unwrap().is_suspect)
        };
        assert_eq!(both(|a, b| between(a, b, 0.5)), [true, true, false]);
        assert_eq!(both(|a, b| slope(a, b, 2.0)), [true, true, false]);
        assert_eq!(both(quotient), [true, true, false]);
        assert!(scaled(doubted, 2.0).unwrap().is_suspect);
        assert!(
            Number::of(&Estimate::Sampled { value: 1.0, ci_low: 0.5, ci_high: 1.5, samples: 9 }, true)
                .unwrap()
                .is_suspect
        );
    }

    #[test]
    fn a_range_is_from_the_smallest_to_the_largest() {
        assert_eq!(range(&[known(2.0), None, known(0.5), known(1.0)]), "0.50 to 2.00");
        assert_eq!(range(&[None]), "-");
    }

    #[test]
    fn a_formula_and_too_few_samples_have_no_interval() {
        assert_eq!(Number::of(&Estimate::Exact { value: 1.0 }, false), None);
        assert_eq!(Number::of(&Estimate::TooFew { samples: 3 }, false), None);
    }
}
