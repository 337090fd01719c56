//! What is in an access log, in a capture, or in a column of numbers.
//!
//! A [`Description`] is [`Fact`]s for the terminal, and what the plots of a report are drawn from: the law of each
//! quantity ([`Variable`]), the rate over time, popularity, and what a cache could do. Laws are fitted to positive numbers;
//! how many were not is said. Numbers of traffic hang together, so intervals and p-values, which take them as independent,
//! are the sharpest that can be true.

mod cache;
mod capture;
mod column;
pub mod fit;
mod har;
pub(crate) mod hurst;
mod input;
mod log;
mod outcomes;
mod popularity;
mod rate;
mod servers;
mod sessions;
mod silence;
mod variable;

use std::fmt;

use serde::Serialize;
use sojourn_stats::{Dimension, quantity};

pub use self::cache::CachePoint;
pub use self::capture::describe_capture;
pub use self::column::{ColumnError, NUMBERS_MAX, Numbers, describe_numbers, read_column};
pub use self::har::describe_har;
pub use self::hurst::Memory;
pub use self::input::{Input, InputError, column_text};
pub use self::log::{Covered, covered, describe, spread_s};
pub use self::outcomes::Replies;
pub use self::popularity::Popularity;
pub use self::rate::{Profiled, Rate, counts, profiled};
pub use self::servers::{Listing, Period, Served, ServerLoad, TimesTaken};
pub use self::variable::{Atom, LeftOut, Taken, Variable};

/// Everything that is known of an input.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Description {
    /// What was described: `access log`, `capture`, `numbers`.
    pub of: &'static str,
    /// The facts, by group.
    pub facts: Vec<Fact>,
    /// The quantities with their laws.
    pub variables: Vec<Variable>,
    /// How self-similar the counts are, as they are and with the profile taken out.
    pub memory: Vec<Memory>,
    /// How many came when.
    pub rate: Option<Rate>,
    /// Who served what, and when, where the input tells.
    pub served: Option<Served>,
    /// The replies by class of status, of a log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<Replies>,
    /// How concentrated requests are.
    pub popularity: Option<Popularity>,
    /// What a cache of so many objects would have hit.
    pub cache: Vec<CachePoint>,
    /// What to beware of, one line each.
    pub remarks: Vec<String>,
}

/// One line of a description.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// What it is about: `sizes`; empty where there is one group only.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub group: &'static str,
    /// What it is, without a unit: `size_mean`.
    pub name: String,
    /// What is known of it.
    pub value: Value,
    /// SI unit, `1` for a ratio; empty for counts and texts.
    pub unit: &'static str,
}

/// A value of a [`Fact`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// How many.
    Count(u64),
    /// A measured number.
    Number(f64),
    /// Anything else: an instant, a reason, too few samples.
    Text(String),
}

/// In at most four significant digits; counts in full.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Count(count) => count.fmt(f),
            Value::Text(text) => f.pad(text),
            Value::Number(number) if *number != 0.0 && (number.abs() < 1e-3 || number.abs() >= 1e15) => {
                f.pad(&format!("{number:.3e}"))
            }
            Value::Number(number) => {
                let magnitude = if *number == 0.0 { 0 } else { number.abs().log10().floor() as i32 };
                f.pad(&format!("{number:.*}", (3 - magnitude).max(0) as usize))
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) all: Vec<Fact>,
    group: &'static str,
}

impl Facts {
    /// Facts from here on belong to this group.
    pub(crate) fn group(&mut self, group: &'static str) {
        self.group = group;
    }

    fn push(&mut self, name: &str, value: Value, unit: &'static str) {
        self.all.push(Fact { group: self.group, name: name.into(), value, unit });
    }

    pub(crate) fn count(&mut self, name: &str, count: u64) {
        self.push(name, Value::Count(count), "");
    }

    fn text(&mut self, name: &str, text: String) {
        self.push(name, Value::Text(text), "");
    }

    /// A number that does not exist (0/0: a variance of nothing) is left out.
    pub(crate) fn number(&mut self, name: &str, number: f64, unit: &'static str) {
        if number.is_finite() {
            self.push(name, Value::Number(number), unit);
        }
    }

    /// A number of which a 0 stands for this, where it is known to be no 0.
    fn number_by_clock(&mut self, name: &str, number: f64, (unit, zero): (&'static str, Option<&str>)) {
        match zero {
            Some(zero) if number == 0.0 => self.text(name, zero.to_owned()),
            _ => self.number(name, number, unit),
        }
    }

    /// Quantiles by nearest rank: the smallest value that at least so much of all is not above. One that is the maximum
    /// only because there are too few values says so instead.
    fn quantiles(&mut self, of: &str, sorted: &[f64], probabilities: &[f64], unit: &'static str) {
        self.quantiles_by_clock(of, sorted, probabilities, (unit, None));
    }

    /// The same of numbers of which a 0 stands for this, where it is known to be no 0, as by a clock that rounds down.
    fn quantiles_by_clock(
        &mut self,
        of: &str,
        sorted: &[f64],
        probabilities: &[f64],
        (unit, zero): (&'static str, Option<&str>),
    ) {
        for &probability in probabilities {
            let percent = format!("{}", (probability * 1e6).round() / 1e4).replace('.', "_");
            let name = if of.is_empty() { format!("p{percent}") } else { format!("{of}_p{percent}") };
            let rank = (probability * sorted.len() as f64).ceil().max(1.0) as usize;
            match rank >= sorted.len() {
                true => self.text(&name, format!("too few ({})", sorted.len())),
                false => self.number_by_clock(&name, sorted[rank - 1], (unit, zero)),
            }
        }
    }
}

/// What a time of 0 is by a clock of this step (s).
fn below(step_s: f64) -> String {
    below_step(step_s, Dimension::Time)
}

/// What a 0 is among numbers that were rounded to this step.
fn below_step(step: f64, dimension: Dimension) -> String {
    format!("below {}", quantity::format(digits(step), dimension))
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// The data's own variance (divided by n): a description, not an estimate.
fn variance(numbers: &[f64]) -> f64 {
    // The mean of equal numbers may be off by a rounding: what is divided by such a variance would be made of it.
    if numbers.windows(2).all(|pair| pair[0] == pair[1]) {
        return 0.0;
    }
    let mean = mean(numbers);
    numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / numbers.len() as f64
}

fn scv(numbers: &[f64]) -> f64 {
    variance(numbers) / mean(numbers).powi(2)
}

/// Four significant digits.
pub(crate) fn digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number that was just written")
}

/// Numbers in ascending order.
fn ascending(numbers: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = numbers.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Places 0 to `count` - 1, at most about `most` of them, evenly in their logarithm and always both ends.
fn log_spaced(count: usize, most: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..most)
        .map(|step| (count as f64).powf(step as f64 / (most - 1).max(1) as f64).round() as usize)
        .map(|rank| rank.clamp(1, count.max(1)) - 1)
        .filter(|place| *place < count)
        .collect();
    places.dedup();
    places
}
