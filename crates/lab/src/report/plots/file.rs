//! A plot of a run as a file of its own, for a slide or a paper: what its page draws of a metric first, the curves over a number
//! where it has some, else a dot for each variant and engine. Colours, axes and marks are those of the page.

use sojourn_stats::Dimension;

use super::{dots, drawn, sweep};
use crate::error::SpecError;
use crate::objective::{dimension, full_name};
use crate::report::{Answers, compare};

/// The short name of the metric that a page draws first.
pub const FIRST: &str = "mean";

/// The width of dots (pixels).
const WIDTH: f64 = 640.0;
/// Of a run with more metrics not all are named.
const MOST_NAMED: usize = 12;

/// A plot that stands alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// The file: SVG with its size and its colours.
    pub svg: String,
    /// What of the run is not drawn, in sentences; empty where all is.
    pub left_out: String,
}

/// The full name of a metric that can be drawn, by its short name, such as `p99`, or its own.
///
/// # Errors
/// When it is no time, in one line that says what would be right.
pub fn metric(name: &str) -> Result<String, SpecError> {
    let metric = full_name(name.trim());
    match dimension(&metric) {
        Some(Dimension::Time) => Ok(metric),
        _ => Err(SpecError("a plot is of a time: mean, p50, p90, p95, p99, p99.9, or another by its full name".into())),
    }
}

/// The plot of a metric, by its full name.
///
/// # Errors
/// When no engine has a number of it that can be drawn, in one line that says which metrics have one.
pub fn plot(report: &Answers, metric: &str) -> Result<Plot, SpecError> {
    let of_dots = || {
        let (variants, rest) = drawn(report);
        Some((dots::estimates_alone(variants, metric, &title(metric), WIDTH)?, rest))
    };
    let found = sweep::alone(report, (metric, &name(metric))).or_else(of_dots);
    let (svg, left_out) = found.ok_or_else(|| nothing(report, metric))?;
    Ok(Plot { svg, left_out: left_out.trim().to_owned() })
}

/// Why there is no plot.
fn nothing(report: &Answers, metric: &str) -> SpecError {
    let mut known: Vec<&str> = Vec::new();
    for (_, _, measure) in report.rows() {
        let name = compare::short(&measure.metric);
        let is_drawn = dimension(&measure.metric) == Some(Dimension::Time) && measure.estimate.value().is_some();
        if is_drawn && !known.contains(&name) {
            known.push(name);
        }
    }
    let told = match known.len() {
        0 => "nor of any other time".to_owned(),
        count if count > MOST_NAMED => format!("there are {} and others", known[..MOST_NAMED].join(", ")),
        _ => format!("there are {}", known.join(", ")),
    };
    SpecError(format!("no plot: no engine has a number of `{}` that can be drawn; {told}", compare::short(metric)))
}

/// What an axis calls a metric.
fn name(metric: &str) -> String {
    match (metric, percentile(metric)) {
        (compare::MEAN, _) => "mean response time".to_owned(),
        (_, Some(of)) => format!("{of}{} percentile of the response time", ordinal(of)),
        _ => metric.replace('_', " "),
    }
}

/// What the dots of a metric are called, as in a page.
fn title(metric: &str) -> String {
    match percentile(metric) {
        Some(_) => format!("{} of the response time", compare::short(metric)),
        None => sweep::capital(&name(metric)),
    }
}

/// Which percentile of the response time a metric is, as it is written; none of another metric.
fn percentile(metric: &str) -> Option<&str> {
    let of = metric.strip_prefix("response_time_p")?;
    of.parse::<f64>().ok().map(|_| of)
}

/// What stands behind a number in a row.
fn ordinal(number: &str) -> &'static str {
    match (number.ends_with("11") || number.ends_with("12") || number.ends_with("13"), number.chars().last()) {
        (false, Some('1')) => "st",
        (false, Some('2')) => "nd",
        (false, Some('3')) => "rd",
        _ => "th",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_their_names_on_axes() {
        let of = |short: &str| name(&metric(short).unwrap());
        assert_eq!(of(FIRST), "mean response time");
        assert_eq!(of("p99"), "99th percentile of the response time");
        assert_eq!(of("p99.9"), "99.9th percentile of the response time");
        assert_eq!(name("response_time_p91"), "91st percentile of the response time");
        assert_eq!(name("response_time_p11"), "11th percentile of the response time");
        assert_eq!(of("waiting_time_mean"), "waiting time mean");
        assert_eq!(title("response_time_mean"), "Mean response time");
        assert_eq!(title("response_time_p99"), "p99 of the response time");
        for wrong in ["throughput", "speed", ""] {
            assert!(metric(wrong).unwrap_err().0.starts_with("a plot is of a time: mean, p50"), "{wrong}");
        }
    }
}
