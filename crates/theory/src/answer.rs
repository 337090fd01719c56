//! The form of an answer: measures, and one line for everything that a reader should know of them.

use sojourn_stats::{Estimate, Measure};
use thiserror::Error;

/// The percentiles that are answered where their law is known: name and probability.
const PERCENTILES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

/// Answer of theory: numbers with their standing, and the notes that explain them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Measures, one row per metric, [`Estimate::Exact`] or [`Estimate::Approximate`], or [`Estimate::TooFew`] of what never
    /// comes.
    pub measures: Vec<Measure>,
    /// Notes, one line each: the metrics that have no number here and why (`response_time_mean: ...`), the formula used
    /// (`formula: ...`), and each of its assumptions with what the system makes of it (`Poisson arrivals: yes`).
    pub notes: Vec<String>,
}

/// Error where theory has no answer at all: one line that says why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unanswered(pub String);

impl Answer {
    /// Estimate of `metric`, exact or approximate; none where it was not answered (a note says why).
    pub fn estimate(&self, metric: &str) -> Option<&Estimate> {
        self.measures.iter().find(|measure| measure.metric == metric).map(|found| &found.estimate)
    }

    /// Number of `metric`, in the SI unit of its row; none where it was not answered.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.estimate(metric).and_then(Estimate::value)
    }

    pub(crate) fn push(&mut self, metric: impl Into<String>, unit: &str, value: Value) {
        self.measures.push(Measure::new(metric, unit, value.estimate()));
    }

    pub(crate) fn note(&mut self, line: impl Into<String>) {
        let line = line.into();
        if !self.notes.contains(&line) {
            self.notes.push(line);
        }
    }
}

/// A number and whether it is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) number: f64,
    pub(crate) exact: bool,
}

impl Value {
    pub(crate) fn exact(number: f64) -> Value {
        Value { number, exact: true }
    }

    pub(crate) fn approximate(number: f64) -> Value {
        Value { number, exact: false }
    }

    pub(crate) fn times(self, factor: f64) -> Value {
        Value { number: self.number * factor, ..self }
    }

    pub(crate) fn plus(self, constant: f64) -> Value {
        Value { number: self.number + constant, ..self }
    }

    fn estimate(self) -> Estimate {
        if self.exact { Estimate::Exact { value: self.number } } else { Estimate::Approximate { value: self.number } }
    }
}

/// A row for each of [`PERCENTILES`].
pub(crate) fn push_percentiles(answer: &mut Answer, exact: bool, quantile: impl Fn(f64) -> f64) {
    for (name, p) in PERCENTILES {
        answer.push(format!("response_time_{name}"), "s", Value { number: quantile(p), exact });
    }
}

/// `x` in at most five significant digits, for messages.
pub(crate) fn brief(x: f64) -> String {
    rounded(x).to_string()
}

/// A number of five digits.
pub(crate) fn rounded(x: f64) -> f64 {
    format!("{x:.4e}").parse().unwrap_or(x)
}

/// "yes" or "no".
pub(crate) fn yes(met: bool) -> &'static str {
    if met { "yes" } else { "no" }
}
