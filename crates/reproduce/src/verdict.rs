//! Verdicts on statements: comparisons of measured figures by their intervals, and their sum.

use sojourn_stats::Estimate;

/// The verdict on a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    InPart,
    Fails,
    Undecidable,
}

impl Verdict {
    /// The verdict from comparisons, each for the statement, against it, or undecided.
    pub(crate) fn of(comparisons: &[Option<bool>]) -> Verdict {
        let count = |wanted: Option<bool>| comparisons.iter().filter(|one| **one == wanted).count();
        let (holds, fails, open) = (count(Some(true)), count(Some(false)), count(None));
        // A fourth of the comparisons may stay undecided.
        let is_clear = 4 * open <= comparisons.len();
        match (holds, fails) {
            (0, 0) => Verdict::Undecidable,
            (_, 0) if is_clear => Verdict::Holds,
            // No comparison is for it, and at least one clearly against.
            (0, _) => Verdict::Fails,
            _ => Verdict::InPart,
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds here",
            Verdict::InPart => "holds in part",
            Verdict::Fails => "does not hold",
            Verdict::Undecidable => "not decidable here",
        }
    }
}

/// Whether one is below the other, as far as their intervals tell.
pub(crate) fn below(a: Option<Estimate>, b: Option<Estimate>) -> Option<bool> {
    let ((a_low, a_high), (b_low, b_high)) = (a?.interval()?, b?.interval()?);
    match (a_high < b_low, b_high < a_low) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Whether `a / b` lies within `tolerance` of `ratio` (0.1: a tenth up or down): with its whole interval, or not at all.
pub(crate) fn near(a: Option<Estimate>, b: Option<Estimate>, ratio: f64, tolerance: f64) -> Option<bool> {
    let ((a_low, a_high), (b_low, b_high)) = (a?.interval()?, b?.interval()?);
    let (low, high) = (a_low / b_high / ratio, a_high / b_low / ratio);
    let (from, to) = (1.0 - tolerance, 1.0 + tolerance);
    match () {
        () if from <= low && high <= to => Some(true),
        () if high < from || to < low => Some(false),
        () => None,
    }
}

/// Whether `a` and `b` differ by more than `tolerance`.
pub(crate) fn apart(a: Option<Estimate>, b: Option<Estimate>, tolerance: f64) -> Option<bool> {
    near(a, b, 1.0, tolerance).map(|near| !near)
}

/// Whether `a` lies within `tolerance` of the number `wanted`.
pub(crate) fn near_number(a: Option<Estimate>, wanted: f64, tolerance: f64) -> Option<bool> {
    near(a, known(wanted), 1.0, tolerance)
}

/// `share * a + (1 - share) * b`, with an interval that is wide enough for any correlation of the two.
pub(crate) fn between(a: Option<Estimate>, b: Option<Estimate>, share: f64) -> Option<Estimate> {
    let (a, b) = (a?, b?);
    let ((a_low, a_high), (b_low, b_high)) = (a.interval()?, b.interval()?);
    let mix = |a: f64, b: f64| share * a + (1.0 - share) * b;
    let samples = a.samples()?.min(b.samples()?);
    Some(Estimate::Sampled {
        value: mix(a.value()?, b.value()?),
        ci_low: mix(a_low, b_low),
        ci_high: mix(a_high, b_high),
        samples,
    })
}

/// The growth per unit from `a` to `b`, which is `distance` units further.
pub(crate) fn slope(a: Option<Estimate>, b: Option<Estimate>, distance: f64) -> Option<Estimate> {
    let (a, b) = (a?, b?);
    let ((a_low, a_high), (b_low, b_high)) = (a.interval()?, b.interval()?);
    let samples = a.samples()?.min(b.samples()?);
    let per = |rise: f64| rise / distance;
    Some(Estimate::Sampled {
        value: per(b.value()? - a.value()?),
        ci_low: per(b_low - a_high),
        ci_high: per(b_high - a_low),
        samples,
    })
}

/// `a / b`.
pub(crate) fn quotient(a: Option<Estimate>, b: Option<Estimate>) -> Option<Estimate> {
    let (a, b) = (a?, b?);
    let ((a_low, a_high), (b_low, b_high)) = (a.interval()?, b.interval()?);
    let samples = a.samples()?.min(b.samples()?);
    let value = a.value()? / b.value()?;
    Some(Estimate::Sampled { value, ci_low: a_low / b_high, ci_high: a_high / b_low, samples })
}

/// An exact number as an estimate.
pub(crate) fn known(value: f64) -> Option<Estimate> {
    Some(Estimate::Sampled { value, ci_low: value, ci_high: value, samples: 1 })
}

/// In other units.
pub(crate) fn scaled(estimate: Option<Estimate>, factor: f64) -> Option<Estimate> {
    let estimate = estimate?;
    let ((low, high), samples) = (estimate.interval()?, estimate.samples()?);
    let value = estimate.value()? * factor;
    Some(Estimate::Sampled { value, ci_low: low * factor, ci_high: high * factor, samples })
}

/// With its interval, or why it has none, in milliseconds if it is a time.
pub(crate) fn shown(estimate: Option<&Estimate>, unit: &str) -> String {
    let known = estimate.and_then(|estimate| Some((estimate, estimate.value()?)));
    let Some((estimate, value)) = known else { return "-".into() };
    let (factor, unit) = if unit == "s" { (1e3, "ms") } else { (1.0, unit) };
    let digits = match value * factor {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    };
    let shown = value * factor;
    if let Estimate::WithoutInterval { why, .. } = estimate {
        return format!("{shown:.digits$} {unit} ({})", why.words());
    }
    let Some(half) = estimate.half_width().filter(|_| !estimate.is_sharp()).map(|half| half * factor) else {
        return format!("exactly {shown:.digits$} {unit}");
    };
    // Enough digits that an interval is not shown as 0.
    let digits = digits.max((-half.log10().floor()).clamp(0.0, 12.0) as usize);
    format!("{shown:.digits$} ± {half:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use sojourn_stats::measure::NoInterval;

    use super::*;

    fn of(low: f64, high: f64) -> Option<Estimate> {
        Some(Estimate::Sampled { value: 0.5 * (low + high), ci_low: low, ci_high: high, samples: 100 })
    }

    #[test]
    fn a_comparison_is_decided_by_whole_intervals() {
        assert_eq!(below(of(1.0, 2.0), of(3.0, 4.0)), Some(true));
        assert_eq!(below(of(3.0, 4.0), of(1.0, 2.0)), Some(false));
        assert_eq!(below(of(1.0, 3.5), of(3.0, 4.0)), None);
        assert_eq!(below(None, of(3.0, 4.0)), None);
        assert_eq!(near(of(0.95, 1.0), of(1.0, 1.02), 1.0, 0.1), Some(true));
        assert_eq!(near(of(0.85, 1.0), of(1.0, 1.0), 1.0, 0.1), None);
        assert_eq!(near(of(1.2, 1.3), of(1.0, 1.0), 1.0, 0.1), Some(false));
        assert_eq!(near(of(1.95, 2.05), of(1.0, 1.0), 2.0, 0.1), Some(true));
        assert_eq!(apart(of(1.2, 1.3), of(1.0, 1.0), 0.1), Some(true));
        assert_eq!(near_number(of(7.4, 7.6), 7.5, 0.1), Some(true));
    }

    #[test]
    fn a_statement_is_what_its_comparisons_amount_to() {
        let (yes, no, open) = (Some(true), Some(false), None);
        assert_eq!(Verdict::of(&[yes, yes, yes, open]), Verdict::Holds);
        assert_eq!(Verdict::of(&[yes, yes, open]), Verdict::InPart, "a third is undecided");
        assert_eq!(Verdict::of(&[yes, yes, yes, yes, no]), Verdict::InPart);
        assert_eq!(Verdict::of(&[no, open]), Verdict::Fails);
        assert_eq!(Verdict::of(&[open, open]), Verdict::Undecidable);
        assert_eq!(Verdict::of(&[]), Verdict::Undecidable);
    }

    #[test]
    fn an_interval_is_never_shown_as_nothing() {
        assert_eq!(shown(of(0.2998, 0.3002).as_ref(), "s"), "300.0 ± 0.2 ms");
        assert_eq!(shown(of(0.28, 0.32).as_ref(), "s"), "300 ± 20 ms");
        assert_eq!(shown(of(11.5, 12.5).as_ref(), "/s"), "12.0 ± 0.5 /s");
        assert_eq!(shown(None, "s"), "-");
        assert_eq!(shown(known(0.3).as_ref(), "s"), "exactly 300 ms");
        let bare = Estimate::WithoutInterval { value: 0.3, samples: 9, why: NoInterval::TooShort };
        assert_eq!(shown(Some(&bare), "s"), "300 ms (too short a run)");
        assert_eq!(below(Some(bare), of(3.0, 4.0)), None, "a number without an interval decides nothing");
    }

    #[test]
    fn mixes_and_slopes_keep_every_value_that_their_parts_allow() {
        let mixed = between(of(1.0, 2.0), of(3.0, 5.0), 0.25).unwrap();
        assert_eq!((mixed.value(), mixed.interval()), (Some(3.375), Some((2.5, 4.25))));
        let rising = slope(of(1.0, 2.0), of(3.0, 5.0), 2.0).unwrap();
        assert_eq!((rising.value(), rising.interval()), (Some(1.25), Some((0.5, 2.0))));
        let faster = quotient(of(1.0, 3.0), of(2.0, 6.0)).unwrap();
        assert_eq!((faster.value(), faster.interval()), (Some(0.5), Some((1.0 / 6.0, 1.5))));
        assert_eq!(scaled(of(1.0, 2.0), 10.0).unwrap().interval(), Some((10.0, 20.0)));
    }
}
