//! What is in a log, or in a column of numbers.

use std::fmt;

use serde::Serialize;
use sojourn_stats::nearest;
use thiserror::Error;

use crate::log::Log;

/// One line of a description.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
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

/// Why a text is not a column of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ColumnError(pub String);

/// What a log holds: how much, how long, how fast, how large, how concentrated, how bursty, how bad.
pub fn describe(log: &Log) -> Vec<Fact> {
    let mut facts = Facts::default();
    let span_s = log.span().as_secs_f64();
    facts.count("requests", log.requests() as u64);
    facts.count("hosts", log.hosts().len() as u64);
    facts.count("paths", log.paths().len() as u64);
    if let (Some(first), Some(last)) = (log.entries().first(), log.entries().last()) {
        facts.text("first", log.local_time(first.time_s));
        facts.text("last", log.local_time(last.time_s));
    }
    facts.number("duration", span_s, "s");
    facts.number("arrival_rate", log.requests() as f64 / span_s, "1/s");
    for (name, length_s) in [("second", 1), ("minute", 60), ("hour", 3600)] {
        if let Some((start_s, requests)) = log.busiest(length_s) {
            facts.text(&format!("busiest_{name}"), log.local_time(start_s));
            facts.count(&format!("busiest_{name}_requests"), requests as u64);
        }
    }
    let gaps: Vec<f64> = log.entries().windows(2).map(|pair| (pair[1].time_s - pair[0].time_s) as f64).collect();
    facts.number("gap_scv", scv(&gaps), "1");
    facts.number("dispersion_per_second", dispersion_per_second(log), "1");

    facts.count("bytes", log.bytes());
    let mut sizes: Vec<f64> = log.entries().iter().map(|entry| entry.bytes as f64).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    facts.number("size_mean", mean(&sizes), "B");
    facts.number("size_scv", scv(&sizes), "1");
    facts.quantiles("size", &sizes, &[0.5, 0.9, 0.99], "B");
    facts.number("size_max", sizes.last().copied().unwrap_or(f64::NAN), "B");
    facts.number("top_tenth_of_paths_share", top_tenth_share(log), "1");

    for (class, requests) in log.status_classes().into_iter().enumerate().filter(|(_, requests)| *requests > 0) {
        facts.count(&format!("status_{class}xx"), requests);
    }
    facts.count("lines", log.lines());
    facts.count("bad_lines", log.bad_lines());
    for (fault, lines) in log.bad_by_reason() {
        facts.count(&format!("bad_lines: {fault}"), lines);
    }
    let (unsorted, step_back_s) = log.unsorted();
    facts.count("unsorted", unsorted);
    if unsorted > 0 {
        facts.number("largest_step_back", step_back_s as f64, "s");
    }
    facts.0
}

/// What a column of numbers holds, in its own `unit`: moments and percentiles.
pub fn describe_numbers(numbers: &[f64], unit: &'static str) -> Vec<Fact> {
    let mut facts = Facts::default();
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    facts.count("count", numbers.len() as u64);
    if sorted.is_empty() {
        return facts.0;
    }
    let (mean, variance) = (mean(&sorted), variance(&sorted));
    facts.number("mean", mean, unit);
    facts.number("standard_deviation", variance.sqrt(), unit);
    facts.number("scv", variance / (mean * mean), "1");
    let third = sorted.iter().map(|x| (x - mean).powi(3)).sum::<f64>() / sorted.len() as f64;
    facts.number("skewness", third / variance.powf(1.5), "1");
    facts.number("min", sorted[0], unit);
    facts.quantiles("", &sorted, &[0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999], unit);
    facts.number("max", sorted[sorted.len() - 1], unit);
    facts.0
}

/// Reads a column of numbers: one per line, or the CSV column called `column`. Blank lines and `#` comments are left
/// out, and so is a first line that is no number (a heading). `name` is what messages call the text.
///
/// # Errors
/// On the first line whose field is not a finite number, with its line number; on an unknown column, with those there
/// are; when there is no number at all.
pub fn read_column(text: &str, column: Option<&str>, name: &str) -> Result<Vec<f64>, ColumnError> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .peekable();
    let field = match column {
        None => {
            lines.next_if(|(_, line)| line.parse::<f64>().is_err());
            0
        }
        Some(column) => {
            let (_, heading) = lines.next().ok_or_else(|| ColumnError(format!("{name}: it is empty")))?;
            let known: Vec<&str> = heading.split(',').map(|word| word.trim().trim_matches('"')).collect();
            known.iter().position(|word| *word == column).ok_or_else(|| {
                let meant = nearest(column, known.iter().copied());
                let meant = meant.map_or(String::new(), |word| format!("; did you mean `{word}`?"));
                ColumnError(format!("{name}: no column `{column}` among {}{meant}", known.join(", ")))
            })?
        }
    };
    let number = |(index, line): (usize, &str)| {
        let word = match column {
            None => line,
            Some(_) => line.split(',').nth(field).unwrap_or("").trim(),
        };
        match word.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(ColumnError(format!("{name}:{index}: `{word}` is not a number"))),
        }
    };
    let numbers = lines.map(number).collect::<Result<Vec<f64>, ColumnError>>()?;
    if numbers.is_empty() {
        return Err(ColumnError(format!("{name}: there is no number in it")));
    }
    Ok(numbers)
}

#[derive(Default)]
pub(crate) struct Facts(pub(crate) Vec<Fact>);

impl Facts {
    fn push(&mut self, name: &str, value: Value, unit: &'static str) {
        self.0.push(Fact { name: name.into(), value, unit });
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

    /// Quantiles by nearest rank: the smallest value that at least so much of all is not above. One that is the maximum
    /// only because there are too few values says so instead.
    fn quantiles(&mut self, of: &str, sorted: &[f64], probabilities: &[f64], unit: &'static str) {
        for &probability in probabilities {
            let percent = format!("{}", (probability * 1e6).round() / 1e4).replace('.', "_");
            let name = if of.is_empty() { format!("p{percent}") } else { format!("{of}_p{percent}") };
            let rank = (probability * sorted.len() as f64).ceil().max(1.0) as usize;
            if rank < sorted.len() {
                self.push(&name, Value::Number(sorted[rank - 1]), unit);
            } else {
                self.text(&name, format!("too few ({})", sorted.len()));
            }
        }
    }
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// The data's own variance (divided by n): a description, not an estimate.
fn variance(numbers: &[f64]) -> f64 {
    let mean = mean(numbers);
    numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / numbers.len() as f64
}

fn scv(numbers: &[f64]) -> f64 {
    variance(numbers) / mean(numbers).powi(2)
}

/// Variance over mean of the number of requests in a second: 1 for a Poisson process, more for bursty traffic.
fn dispersion_per_second(log: &Log) -> f64 {
    let seconds = log.span().as_secs_f64();
    let mean = log.requests() as f64 / seconds;
    let squares: f64 =
        log.entries().chunk_by(|a, b| a.time_s == b.time_s).map(|second| (second.len() as f64).powi(2)).sum();
    (squares / seconds - mean * mean) / mean
}

/// The share of requests that goes to the tenth of the paths that is asked for most (rounded up to a whole path).
fn top_tenth_share(log: &Log) -> f64 {
    let mut requests = vec![0u64; log.paths().len()];
    for entry in log.entries() {
        requests[entry.object as usize] += 1;
    }
    requests.sort_unstable_by(|a, b| b.cmp(a));
    let top: u64 = requests.iter().take(requests.len().div_ceil(10)).sum();
    top as f64 / log.requests() as f64
}
