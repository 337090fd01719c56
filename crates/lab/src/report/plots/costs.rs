//! What candidates of a plan cost and what they do: one dot each, the limit across.

use super::canvas::{Align, Axis, Canvas, Ink, svg};
use super::{Figure, NOTHING, both, dots};
use crate::report::html::{behind, escape};

const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = HEIGHT - 48.0;
const TEXT: f64 = 13.0;

/// A candidate that was simulated.
pub(crate) struct Point {
    /// What it costs.
    pub(crate) cost: f64,
    /// Its metric.
    pub(crate) value: f64,
    /// The ends of its interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// Whether it meets every objective.
    pub(crate) meets: bool,
    /// What it misses, in words; empty where it meets every objective.
    pub(crate) shortfall: String,
}

/// The figure of `points` against `limit` (in SI units), told by `label`; `objective` as it is written, costs in
/// `unit`.
pub(crate) fn figure(points: &[Point], limit: f64, label: fn(f64) -> String, objective: &str, unit: &str) -> String {
    let values = || points.iter().map(|point| point.value).chain([limit]).filter(|value| *value > 0.0);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let most = points.iter().map(|point| point.cost).fold(0.0, f64::max);
    if points.is_empty() || high <= 0.0 || most <= 0.0 {
        return String::new();
    }
    let heading = format!("Cost against {objective}");
    let drawing = both(|width| {
        let axes = (Axis::linear(0.0, most * 1.05, LEFT, width - 24.0), Axis::log(low * 0.8, high * 1.2, BOTTOM, TOP));
        Some(svg(width, HEIGHT, &heading, |canvas| draw(canvas, points, (limit, label), unit, &axes, width)))
    });
    let caption = "One dot for each candidate that was simulated, with its interval; those that meet every objective are \
                   filled. The line is the limit.";
    let drawings = drawing.into_iter().collect();
    let escaped = escape(&heading);
    let row = |point: &Point| {
        let interval =
            point.interval.map_or(NOTHING.into(), |(low, high)| format!("{} to {}", label(low), label(high)));
        let judged = if point.meets { "meets every objective".into() } else { escape(&point.shortfall) };
        vec![format!("{} {}", point.cost, escape(unit)), label(point.value), interval, judged]
    };
    let head = ["cost", &escape(objective), "interval", ""].map(str::to_owned);
    let table = behind(&escaped, &head, &points.iter().map(row).collect::<Vec<_>>(), "");
    Figure {
        id: "plot-costs",
        heading: &escaped,
        columns: "one",
        legend: String::new(),
        drawings,
        caption: caption.into(),
        table,
    }
    .html()
}

fn draw(
    canvas: &Canvas,
    points: &[Point],
    (limit, label): (f64, fn(f64) -> String),
    unit: &str,
    (x, y): &(Axis, Axis),
    width: f64,
) {
    for tick in y.ticks(6) {
        let at = y.at(tick);
        canvas.bar((LEFT, at - 0.4), (width - 24.0, at + 0.4), Ink::Grid, 1.0);
        canvas.text(&label(tick), (LEFT - 6.0, at), Align::Right, TEXT - 1.0, Ink::Muted);
    }
    let title = if unit.is_empty() { "cost".to_owned() } else { format!("cost ({unit})") };
    dots::x_axis(canvas, x, TOP, BOTTOM, 6, |value| format!("{value}"), &title);
    canvas.path(&[(LEFT, y.at(limit)), (width - 24.0, y.at(limit))], Ink::Series(7), 0.9, 1.2);
    for point in points {
        let (at, ink) = ((x.at(point.cost), y.at(point.value)), Ink::Series(if point.meets { 10 } else { 0 }));
        if let Some((low, high)) = point.interval.filter(|(low, _)| *low > 0.0) {
            canvas.bar((at.0 - 0.7, y.at(low)), (at.0 + 0.7, y.at(high)), ink, 0.6);
        }
        canvas.tell(
            &format!("{} {unit}: {}", point.cost, label(point.value)),
            (at.0 - 6.0, at.1 - 6.0),
            (at.0 + 6.0, at.1 + 6.0),
        );
        canvas.dot(at, 3.6, ink);
        if !point.meets {
            canvas.dot(at, 2.0, Ink::Paper);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever misses two objectives is not said to miss one.
    #[test]
    fn each_candidate_is_told_with_all_that_it_misses() {
        let point = |cost: f64, shortfall: &str| Point {
            cost,
            value: 0.1,
            interval: None,
            meets: shortfall.is_empty(),
            shortfall: shortfall.to_owned(),
        };
        let points = [point(5.0, "misses `p99 < 150 ms` and `error_ratio < 1 %`"), point(10.0, "")];
        let text = figure(&points, 0.15, |seconds| format!("{seconds} s"), "p99 < 150 ms", "EUR");
        assert!(text.contains("<td>misses `p99 &lt; 150 ms` and `error_ratio &lt; 1 %`</td>"), "{text}");
        assert_eq!(text.matches("meets every objective<").count(), 1, "{text}");
    }
}
