//! Values that a clock or a program has rounded to a step: what a 0 among them stands for.

use sojourn_stats::{Dimension, quantity};

use crate::describe::{ascending, digits};

/// Different times that are multiples of a step longer than the digits tell are no chance: one in ten would be.
const MULTIPLES_LEAST: usize = 10;
/// A value is a multiple of a step where it is off by no more of one (relative, beyond the first).
const OFF_MOST: f64 = 1e-6;

/// The step to which values were rounded, in the SI unit.
#[derive(Clone, Copy, Debug)]
pub(in crate::describe) struct Rounding {
    /// The step, as far as the digits that are written tell it.
    pub(in crate::describe) step: f64,
    /// Whether values were cut to the step, so that a 0 was less than a step; else it was less than half of one.
    pub(in crate::describe) is_cut: bool,
}

impl Rounding {
    /// Its true step: so many times as long as the digits tell where enough different values are multiples of that.
    pub(super) fn of_multiples(self, values: &[f64]) -> Rounding {
        let is_multiple = |value: f64, step: f64| {
            ((value / step) - (value / step).round().max(1.0)).abs() < OFF_MOST * (value / step).max(1.0)
        };
        let sorted = ascending(values.iter().copied().filter(|value| *value > 0.0));
        let tell = sorted.chunk_by(|one, other| one == other).count() >= MULTIPLES_LEAST;
        let longer = (1..=9).rev().map(|digits| self.step * 10_f64.powi(digits)).filter(|_| tell);
        let is_step = |step: &f64| sorted.iter().all(|value| is_multiple(*value, *step));
        Rounding { step: longer.into_iter().find(is_step).unwrap_or(self.step), ..self }
    }

    /// Which multiple of the step this one became, 0 also by what stands for it.
    pub(super) fn place(self, value: f64) -> f64 {
        let steps = value / self.step;
        if self.is_cut { (steps + OFF_MOST).floor() } else { steps.round() }
    }

    /// Between what values lies all that became this multiple of the step.
    pub(super) fn ends(self, place: f64) -> (f64, f64) {
        match self.is_cut {
            true => (place * self.step, (place + 1.0) * self.step),
            false => ((place - 0.5).max(0.0) * self.step, (place + 0.5) * self.step),
        }
    }

    /// What a 0 stands for: the middle of all that becomes 0; and that in words.
    fn middle_of_zero(self) -> (f64, &'static str) {
        match self.is_cut {
            true => (self.step / 2.0, "half a step"),
            false => (self.step / 4.0, "a quarter of a step"),
        }
    }
}

/// What is known of values that were rounded to 0.
pub(super) enum Unrounded {
    /// Of some: the middle of what becomes 0 is taken in their place, and a sentence says so.
    Filled { filled: Vec<f64>, remark: String },
    /// All are 0, and why that says nothing.
    Unknown(String),
}

/// Values of which some are 0 because they were rounded to a step (the true one), times by their clock. None where none is 0.
pub(super) fn unrounded(values: &[f64], rounding: Rounding, dimension: Dimension) -> Option<Unrounded> {
    let zeros = values.iter().filter(|value| **value == 0.0).count();
    if zeros == 0 || values.iter().any(|value| *value < 0.0) {
        return None;
    }
    let (all, step_text) = (values.len(), quantity::format(digits(rounding.step), dimension));
    let (what, of_what, are) = match dimension {
        Dimension::Time => ("times", "the step of their clock", "as the clock has them"),
        _ => ("numbers", "the step to which they are written", "as they are written"),
    };
    if zeros == all {
        return Some(Unrounded::Unknown(format!(
            "all {all} {what} are 0, which is less than {step_text}, {of_what}: nothing is known below it"
        )));
    }
    let (middle, in_words) = rounding.middle_of_zero();
    let remark = format!(
        "{zeros} of {all} {what} are 0, which is less than {step_text}, {of_what}: in the law {in_words}, {}, the middle of what \
         becomes 0, is taken in their place; the mean, the percentiles and all else are {are}",
        quantity::format(digits(middle), dimension)
    );
    let filled = values.iter().map(|value| if *value == 0.0 { middle } else { *value }).collect();
    Some(Unrounded::Filled { filled, remark })
}
