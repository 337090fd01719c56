//! Verdicts on statements: comparisons of numbers by their intervals, and what they amount to.
//!
//! A comparison is decided by whole intervals, or stays open; that of a SUSPECT run is remembered as such, and a
//! verdict that rests on one is a verdict of its own. The price is that a single disturbed figure leaves a statement
//! without a verdict; the figures and what they would have said are shown.

use crate::number::{Number, known};

/// What two numbers say of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// For it, against it, or open.
    pub(crate) holds: Option<bool>,
    /// Whether one of the numbers is of a SUSPECT run.
    pub(crate) is_suspect: bool,
}

/// The verdict on a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    InPart,
    Fails,
    Undecidable,
    /// It rests on a SUSPECT run.
    Unjudged,
}

impl Verdict {
    pub(crate) fn of(comparisons: &[Comparison]) -> Verdict {
        if comparisons.iter().any(|one| one.is_suspect) {
            return Verdict::Unjudged;
        }
        let [holds, fails, open] = [Some(true), Some(false), None].map(|wanted| count(comparisons, wanted));
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
            Verdict::Holds => "holds",
            Verdict::InPart => "holds in part",
            Verdict::Fails => "does not hold",
            Verdict::Undecidable => "cannot be decided",
            Verdict::Unjudged => "not judged: SUSPECT run",
        }
    }
}

/// What the verdicts mean, for the head of a page.
pub(crate) const LEGEND: &str = "\
*Holds*: the comparisons that the statement makes come out on its side, intervals included (a fourth may stay
undecided). *In part*: some do. *Does not hold*: none does, and some come out clearly against it. *Cannot be decided*:
no interval is clear of the boundary. *Not judged*: a figure that is compared comes from a run that was SUSPECT or
interrupted; what the comparisons would say is counted all the same. Near means within the tolerance that is named,
with the whole interval.
";

impl Comparison {
    /// One that cannot be made: a number is missing.
    pub(crate) const OPEN: Comparison = Comparison { holds: None, is_suspect: false };

    /// What `holds` says of two numbers.
    pub(crate) fn of(
        a: Option<Number>,
        b: Option<Number>,
        holds: impl Fn(Number, Number) -> Option<bool>,
    ) -> Comparison {
        let compared =
            |(a, b): (Number, Number)| Comparison { holds: holds(a, b), is_suspect: a.is_suspect || b.is_suspect };
        a.zip(b).map_or(Comparison::OPEN, compared)
    }
}

impl std::ops::Not for Comparison {
    type Output = Comparison;

    /// Of the opposite statement.
    fn not(self) -> Comparison {
        Comparison { holds: self.holds.map(|holds| !holds), ..self }
    }
}

fn count(comparisons: &[Comparison], wanted: Option<bool>) -> usize {
    comparisons.iter().filter(|one| one.holds == wanted).count()
}

/// The number of comparisons for a statement, against it and open, and how many of them are of SUSPECT runs.
pub(crate) fn counted(comparisons: &[Comparison]) -> String {
    let [holds, fails, open] = [Some(true), Some(false), None].map(|wanted| count(comparisons, wanted));
    match comparisons.iter().filter(|one| one.is_suspect).count() {
        0 => format!("{holds}, {fails}, {open}"),
        suspect => format!("{holds}, {fails}, {open} ({suspect} SUSPECT)"),
    }
}

/// Whether one is below the other, as far as their intervals tell.
pub(crate) fn below(a: Option<Number>, b: Option<Number>) -> Comparison {
    Comparison::of(a, b, |a, b| match (a.high < b.low, b.high < a.low) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    })
}

/// Whether a difference is above zero: which side of it the whole interval lies on, if any.
pub(crate) fn positive(difference: Option<Number>) -> Comparison {
    below(known(0.0), difference)
}

/// Whether `a / b` lies within `tolerance` of `ratio` (0.1: a tenth up or down): with its whole interval, or not at all.
pub(crate) fn near(a: Option<Number>, b: Option<Number>, ratio: f64, tolerance: f64) -> Comparison {
    Comparison::of(a, b, |a, b| {
        let (low, high) = (a.low / b.high / ratio, a.high / b.low / ratio);
        let (from, to) = (1.0 - tolerance, 1.0 + tolerance);
        match () {
            () if from <= low && high <= to => Some(true),
            () if high < from || to < low => Some(false),
            () => None,
        }
    })
}

/// Whether `a` lies within `tolerance` of the number `wanted`.
pub(crate) fn near_number(a: Option<Number>, wanted: f64, tolerance: f64) -> Comparison {
    near(a, known(wanted), 1.0, tolerance)
}

/// Whether a whole interval lies between two numbers, or outside of them.
pub(crate) fn inside(number: Option<Number>, low: f64, high: f64) -> Comparison {
    Comparison::of(number, known(0.0), |number, _| match () {
        () if low <= number.low && number.high <= high => Some(true),
        () if number.high < low || high < number.low => Some(false),
        () => None,
    })
}

/// Whether a number is at least another one.
pub(crate) fn at_least(number: Option<Number>, least: f64) -> Comparison {
    Comparison::of(number, known(least), |number, least| match () {
        () if number.low >= least.value => Some(true),
        () if number.high < least.value => Some(false),
        () => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::made_up as of;

    const YES: Comparison = Comparison { holds: Some(true), is_suspect: false };
    const NO: Comparison = Comparison { holds: Some(false), is_suspect: false };
    const OPEN: Comparison = Comparison::OPEN;

    fn suspect(number: Option<Number>) -> Option<Number> {
        number.map(|of| Number { is_suspect: true, ..of })
    }

    #[test]
    fn a_comparison_is_decided_by_whole_intervals() {
        assert_eq!(below(of(1.0, 2.0), of(3.0, 4.0)), YES);
        assert_eq!(below(of(3.0, 4.0), of(1.0, 2.0)), NO);
        assert_eq!(below(of(1.0, 3.5), of(3.0, 4.0)), OPEN);
        assert_eq!(below(of(3.0, 4.0), of(1.0, 3.5)), OPEN);
        assert_eq!(below(None, of(3.0, 4.0)), OPEN);
        assert_eq!(near(of(0.95, 1.0), of(1.0, 1.02), 1.0, 0.1), YES);
        assert_eq!(near(of(9.5, 10.0), of(10.0, 10.2), 1.0, 0.1), YES, "of numbers far from 1");
        assert_eq!(near(of(9.5, 12.0), of(10.0, 10.2), 1.0, 0.1), OPEN);
        assert_eq!(near(of(0.85, 1.0), of(1.0, 1.0), 1.0, 0.1), OPEN);
        assert_eq!(near(of(1.0, 1.15), of(1.0, 1.0), 1.0, 0.1), OPEN);
        assert_eq!(near(of(1.2, 1.3), of(1.0, 1.0), 1.0, 0.1), NO);
        assert_eq!(near(of(0.7, 0.8), of(1.0, 1.0), 1.0, 0.1), NO);
        assert_eq!(near(of(1.95, 2.05), of(1.0, 1.0), 2.0, 0.1), YES);
        assert_eq!(near(of(1.5, 2.05), of(1.0, 1.0), 2.0, 0.1), OPEN, "both ends are over the ratio");
        assert_eq!(near(of(1.95, 3.0), of(1.0, 1.0), 2.0, 0.1), OPEN);
        for touching in [of(0.25, 0.5), of(1.5, 2.0)] {
            assert_eq!(near(touching, of(1.0, 1.0), 1.0, 0.5), OPEN, "its end is near");
        }
        assert_eq!(!near(of(1.2, 1.3), of(1.0, 1.0), 1.0, 0.1), YES);
        assert_eq!(near_number(of(7.4, 7.6), 7.5, 0.1), YES);
    }

    #[test]
    fn a_range_has_two_ends() {
        let holds = |low, high| inside(of(low, high), 1.0, 2.0).holds;
        assert_eq!([holds(0.8, 0.9), holds(1.0, 2.0), holds(2.1, 2.2)], [Some(false), Some(true), Some(false)]);
        assert_eq!([holds(0.9, 1.1), holds(1.9, 2.1), holds(0.9, 2.1)], [None; 3]);
        assert_eq!([holds(0.5, 1.0), holds(2.0, 2.5)], [None; 2], "its end is inside");
        assert_eq!(inside(None, 1.0, 2.0).holds, None);
    }

    #[test]
    fn the_sign_of_a_difference_is_that_of_its_whole_interval() {
        assert_eq!(positive(of(0.1, 0.3)), YES);
        assert_eq!(positive(of(-0.3, -0.1)), NO);
        assert_eq!(positive(of(-0.1, 0.3)), OPEN, "the mean is above zero, and chance alone may make it so");
        assert_eq!(positive(of(-0.3, 0.1)), OPEN);
        assert_eq!(positive(known(0.0)), OPEN, "equal numbers differ in no direction");
    }

    #[test]
    fn a_statement_is_what_its_comparisons_amount_to() {
        assert_eq!(Verdict::of(&[YES, YES, YES, OPEN]), Verdict::Holds);
        assert_eq!(Verdict::of(&[YES, YES, OPEN]), Verdict::InPart, "a third is undecided");
        assert_eq!(Verdict::of(&[YES, YES, YES, YES, NO]), Verdict::InPart);
        assert_eq!(Verdict::of(&[NO, YES]), Verdict::InPart);
        assert_eq!(Verdict::of(&[NO, OPEN]), Verdict::Fails);
        assert_eq!(Verdict::of(&[OPEN, NO]), Verdict::Fails);
        assert_eq!(Verdict::of(&[OPEN, OPEN]), Verdict::Undecidable);
        assert_eq!(Verdict::of(&[]), Verdict::Undecidable);
    }

    #[test]
    fn what_comes_from_a_suspect_run_is_a_verdict_of_its_own() {
        let (low, high) = (of(1.0, 2.0), of(3.0, 4.0));
        for doubted in [below(suspect(low), high), below(low, suspect(high)), near(low, suspect(high), 1.0, 0.1)] {
            assert!(doubted.is_suspect && (!doubted).is_suspect);
            assert_eq!(Verdict::of(&[YES, doubted, YES]), Verdict::Unjudged);
            assert_eq!(Verdict::of(&[NO, doubted]), Verdict::Unjudged);
        }
        assert_eq!(
            counted(&[YES, below(suspect(low), high), NO, OPEN]),
            "2, 1, 1 (1 SUSPECT)",
            "what it would say counts"
        );
        assert_eq!(counted(&[YES, NO, NO, OPEN, OPEN, OPEN]), "1, 2, 3");
        assert!(positive(suspect(low)).is_suspect);
        assert_eq!(below(None, suspect(high)), OPEN, "without a comparison nothing rests on it");
    }
}
