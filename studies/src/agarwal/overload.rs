//! Whether a variant had more work than it could do. Then its mean response time only says how long the run was: pages
//! write `overloaded` in its place, and compare it with nothing.
//!
//! A server counts as overloaded from a utilisation of 0.99 on, the busiest of all counts. The price: what is a little
//! below is shown, with an interval that may be wide; [`is_wide`] says so.

use super::{MEAN, Setting};
use crate::answers::Answers;
use crate::number::{Number, scaled, shown};

/// Half of an interval that is more than so much of its value leaves the value open.
const WIDE: f64 = 0.25;

/// The utilisation of the busiest of so many servers; above 1 where it has more work than it can do.
pub(super) fn busiest(answers: &Answers, settings: &[Setting<'_>], servers: usize) -> Option<Number> {
    let share = |server: usize| Some(answers.number(settings, &format!("share_{server}"))?.value);
    let largest = (1..=servers).filter_map(share).max_by(f64::total_cmp)?;
    scaled(answers.number(settings, "utilization"), servers as f64 * largest)
}

/// Whether its busiest server has more work than it can do.
pub(super) fn is_overloaded(answers: &Answers, settings: &[Setting<'_>], servers: usize) -> bool {
    busiest(answers, settings, servers).is_some_and(|busiest| busiest.value >= 0.99)
}

/// Its mean response time, or why there is none worth reading.
pub(super) fn mean(answers: &Answers, settings: &[Setting<'_>], servers: usize) -> String {
    match answers.number(settings, MEAN) {
        _ if is_overloaded(answers, settings, servers) => "overloaded".into(),
        None if busiest(answers, settings, servers).is_some() => "too short".into(),
        mean => shown(mean, "s"),
    }
}

/// Whether an interval is too wide to compare its value with others.
pub(super) fn is_wide(number: &Number) -> bool {
    number.high - number.low > 2.0 * WIDE * number.value
}
