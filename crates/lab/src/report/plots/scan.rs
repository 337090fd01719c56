//! The curve of a scan: quantiles of the response time over what was varied, as a drawing that stands alone.

use sojourn_stats::Estimate;

use super::canvas::{Align, Axis, Canvas, Ink, alone};
use super::dots;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 56.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = HEIGHT - 48.0;
const TEXT: f64 = 13.0;

/// One run of a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What was varied.
    pub x: f64,
    /// At most three times (s) with their names, the same for every point.
    pub times: Vec<(String, Estimate)>,
    /// Whether the run is VALID; others are drawn hollow.
    pub valid: bool,
}

/// The drawing of `points`, `title` below its axis; without any time that is known, an empty one.
pub fn svg(points: &[Point], title: &str) -> String {
    let values = || points.iter().flat_map(|point| &point.times).filter_map(|(_, e)| e.value()).filter(|v| *v > 0.0);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let most = points.iter().map(|point| point.x).fold(0.0, f64::max);
    let (low, high) = if high > 0.0 { (low, high) } else { (1e-3, 1.0) };
    let axes = (Axis::linear(0.0, most, LEFT, RIGHT), Axis::log(low, high, BOTTOM, TOP));
    alone(WIDTH, HEIGHT, &format!("Response time over {title}"), |canvas| draw(canvas, points, title, &axes))
}

fn draw(canvas: &Canvas, points: &[Point], title: &str, (x, y): &(Axis, Axis)) {
    for tick in y.ticks(8) {
        let at = y.at(tick);
        canvas.bar((LEFT, at - 0.4), (RIGHT, at + 0.4), Ink::Grid, 1.0);
        canvas.text(&dots::round_time(tick), (LEFT - 6.0, at), Align::Right, TEXT - 1.0, Ink::Muted);
    }
    dots::x_axis(canvas, x, TOP, BOTTOM, 8, |value| format!("{value}"), title);
    let series = points.iter().map(|point| point.times.len()).max().unwrap_or(0).min(Ink::SERIES);
    for index in 0..series {
        let ink = Ink::Series(index as u8);
        let known: Vec<(f64, &Estimate, bool, &str)> = points
            .iter()
            .filter_map(|p| p.times.get(index).map(|(name, e)| (x.at(p.x), e, p.valid, name.as_str())))
            .filter(|(_, estimate, ..)| estimate.value().is_some_and(|value| value > 0.0))
            .collect();
        let place = |estimate: &Estimate| y.at(estimate.value().unwrap_or_default());
        canvas.path(&known.iter().map(|(x, e, ..)| (*x, place(e))).collect::<Vec<_>>(), ink, 1.0, 1.7);
        for (at, estimate, valid, _) in &known {
            if let Some((low, high)) = estimate.interval() {
                canvas.bar((at - 0.7, y.at(low)), (at + 0.7, y.at(high)), ink, 0.6);
            }
            canvas.dot((*at, place(estimate)), 3.4, ink);
            if !valid {
                canvas.dot((*at, place(estimate)), 2.0, Ink::Paper);
            }
        }
        if let Some((at, estimate, _, name)) = known.last() {
            canvas.text(name, (at + 8.0, place(estimate)), Align::Left, TEXT, ink);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_its_points_and_stands_alone() {
        let at = |value: f64| Estimate::Sampled { value, ci_low: value * 0.9, ci_high: value * 1.1, samples: 100 };
        let point = |x: f64, valid| Point {
            x,
            times: vec![
                ("p50".into(), at(x * 1e-5)),
                ("p99".into(), if valid { at(x * 1e-4) } else { Estimate::TooFew { samples: 1 } }),
            ],
            valid,
        };
        let text = svg(&[point(100.0, true), point(200.0, true), point(300.0, false)], "requests <per> second");
        assert!(text.starts_with("<svg xmlns=") && text.trim_end().ends_with("</svg>"), "{text}");
        assert_eq!(text.matches("<circle").count(), 6, "five points, one of them hollow");
        assert!(
            text.contains(">\np99\n") && text.contains("class=\"f-series-1\"") && text.contains("&lt;per&gt;"),
            "{text}"
        );
        assert!(svg(&[], "nothing").contains("</svg>"));
    }
}
