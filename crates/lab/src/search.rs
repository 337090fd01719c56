//! The highest rate at which an objective still holds: doubling until it fails, then bisection.
//!
//! A trial is a whole run with a warm-up of its own, judged by its interval. Its doubts are weighed against the
//! objective: a response time that stays below its limit in spite of a late generator stays below it
//! ([`sojourn_load::Effect`]), and one above it is not above it for sure if the lateness can be the reason. A trial
//! that cannot decide is repeated for twice as long, twice at most; one that still cannot counts as not holding and
//! says why: the rate found is one that was seen to hold. The price is that a noisy metric is found lower than it is.
//! That what holds at one rate holds at all lower ones is taken for granted, as every bisection does.

mod judged;
mod measured;
mod seen;
#[cfg(test)]
mod tests;
mod trial;

use sojourn_load::Cause;

pub use self::judged::{Judged, judge};
pub use self::measured::{Finding, Measured};
pub use self::seen::Seen;
pub use self::trial::Trial;
use crate::objective::{Judgement, Objective};

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The first rate tried (1/s).
    pub start: f64,
    /// How narrow the bracket has to become: its upper end over its lower end, minus one.
    pub within: f64,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Every run in its order, those too short to decide included.
    pub trials: Vec<Trial>,
    /// The highest rate that was seen to hold (1/s).
    pub holds: Option<f64>,
    /// The lowest above it that was not: at which it was seen not to hold, or that could not be decided ([`Seen`] tells which).
    pub fails: Option<f64>,
    /// Whether it ran to its end.
    pub complete: bool,
}

impl Found {
    /// Whether lower rates will not do either: what is asked for is not measured, or nothing is decided whatever the
    /// rate.
    fn is_hopeless(&self) -> bool {
        let last = |count: usize| self.trials.iter().rev().take(count);
        let open = |trial: &Trial| matches!(trial.finding, Finding::Open(_)) && !trial.may_be_longer();
        let unknown = |trial: &Trial| trial.judgement == Judgement::Unknown;
        last(1).any(unknown) || (self.trials.len() >= OPEN_MAX && last(OPEN_MAX).all(open))
    }

    /// Whether the last run had too few samples, and a higher rate, which has more, was not seen to fail.
    fn is_starved(&self) -> bool {
        let empty = |trial: &Trial| trial.measured.doubts.iter().any(|doubt| doubt.cause == Cause::Nothing);
        let starved = |trial: &Trial| match trial.judgement {
            Judgement::NoInterval | Judgement::TooFew => true,
            // More requests get no better reply than few, but more than none.
            Judgement::NoSample => empty(trial),
            _ => false,
        };
        self.fails.is_none() && self.trials.last().is_some_and(starved)
    }
}

/// A rate is doubled or halved no more often than this: a factor of a million.
const OCTAVES: u32 = 20;
/// So many runs one after another that decide nothing, at ever lower rates, say that it is not the rate.
const OPEN_MAX: usize = 3;
/// How many times as long as asked a run may become.
const STRETCHES: [u32; 3] = [1, 2, 4];
/// The most of these.
pub const STRETCH_MOST: u32 = STRETCHES[STRETCHES.len() - 1];

/// Searches by asking `run` for a run at a rate (1/s), so many times as long as usual. It gives none when it was
/// interrupted; what is known by then is kept.
///
/// # Errors
/// The first one of `run`.
pub fn search<E>(
    objective: &Objective,
    how: Search,
    run: &mut dyn FnMut(f64, u32) -> Result<Option<Measured>, E>,
) -> Result<Found, E> {
    assert!(how.start > 0.0 && how.within > 0.0, "a search starts somewhere and ends some day: {how:?}");
    let mut found = Found::default();
    let mut rate = how.start;
    for _ in 0..=OCTAVES {
        let Some(holds) = try_rate(objective, rate, run, &mut found)? else { return Ok(found) };
        match (found.holds, found.fails) {
            (Some(_), Some(_)) => break,
            _ if !holds && found.is_hopeless() => {
                found.complete = true;
                return Ok(found);
            }
            _ => rate = if holds || found.is_starved() { rate * 2.0 } else { rate / 2.0 },
        }
    }
    while let (Some(low), Some(high)) = (found.holds, found.fails) {
        if high <= low * (1.0 + how.within) {
            break;
        }
        if try_rate(objective, (low * high).sqrt(), run, &mut found)?.is_none() {
            return Ok(found);
        }
    }
    found.complete = true;
    Ok(found)
}

/// Whether the objective is seen to hold at `rate`; none when interrupted.
fn try_rate<E>(
    objective: &Objective,
    rate: f64,
    run: &mut dyn FnMut(f64, u32) -> Result<Option<Measured>, E>,
    found: &mut Found,
) -> Result<Option<bool>, E> {
    for stretch in STRETCHES {
        let Some(measured) = run(rate, stretch)? else { return Ok(None) };
        let trial = Trial::of(objective, rate, stretch, measured);
        let longer = trial.may_be_longer();
        found.trials.push(trial);
        if !longer {
            break;
        }
    }
    let holds = found.trials.last().is_some_and(Trial::holds);
    if found.holds.is_none() && found.is_starved() {
        return Ok(Some(false));
    }
    let end = if holds { &mut found.holds } else { &mut found.fails };
    *end = Some(end.map_or(rate, |known| if holds { known.max(rate) } else { known.min(rate) }));
    Ok(Some(holds))
}

/// A rate with about four digits.
pub fn number(rate: f64) -> String {
    let digits = (3 - rate.abs().max(1e-9).log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{rate:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}
