//! The distribution of the response time, as small multiples: one panel per variant, all on the same scale.

use super::canvas::{Align, Axis, Canvas, Ink, LAYERS, svg};
use super::{Figure, NOTHING, crosses, dots, drawn, left_out, legend, panel, unanswered};
use crate::report::html::{behind, escape};
use crate::report::{Answer, Answers, Engine, VariantAnswers, number};

pub(super) const WIDTH: f64 = 340.0;
pub(super) const HEIGHT: f64 = 250.0;
pub(super) const LEFT: f64 = 54.0;
pub(super) const RIGHT: f64 = WIDTH - 16.0;
pub(super) const TOP: f64 = 10.0;
pub(super) const BOTTOM: f64 = HEIGHT - 42.0;
pub(super) const TEXT: f64 = 12.0;
/// The body starts at this quantile: a few lucky requests must not stretch the scale.
const LOWEST: f64 = 0.005;
/// And ends at this one: the rest of the way is the tail's.
const HIGHEST: f64 = 0.995;
/// Rarer than this is not drawn.
const RAREST: f64 = 1e-5;
/// How near to a marker one points at it.
pub(super) const NEAR: f64 = 6.0;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The share of requests answered within a time.
    Body,
    /// The share of requests that took longer, on logarithmic scales.
    Tail,
}

impl Kind {
    /// What is marked, as name and share.
    fn marked(self) -> [(&'static str, f64); 3] {
        match self {
            Kind::Body => [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)],
            Kind::Tail => [("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)],
        }
    }

    /// The same by their full names.
    fn metrics(self) -> [String; 3] {
        self.marked().map(|(name, _)| format!("response_time_{name}"))
    }
}

/// Both kinds, in one figure each.
pub(super) fn figure(report: &Answers) -> String {
    let heading = "The whole distribution";
    let (variants, rest) = drawn(report);
    let with_curves: Vec<&VariantAnswers> =
        variants.iter().filter(|v| v.answers.iter().any(|a| a.curve.len() > 1)).collect();
    let points = || with_curves.iter().flat_map(|v| &v.answers).flat_map(|a| &a.curve).filter(|(t, _)| *t > 0.0);
    let start = points().filter(|(_, p)| *p >= LOWEST).map(|(t, _)| *t).fold(f64::INFINITY, f64::min);
    let median = points().filter(|(_, p)| *p >= 0.5).map(|(t, _)| *t).fold(f64::INFINITY, f64::min);
    let seen = || points().filter(|(_, p)| *p < 1.0 - RAREST);
    let end = seen().map(|(t, _)| *t).fold(0.0, f64::max);
    let body_end = points().filter(|(_, p)| *p <= HIGHEST).map(|(t, _)| *t).fold(0.0, f64::max);
    let body_end = if body_end > start { body_end } else { end };
    let rarest = seen().map(|(_, p)| 1.0 - p).fold(1.0, f64::min);
    if with_curves.is_empty() || !start.is_finite() || end <= start {
        return left_out(heading, "no engine gave a distribution");
    }
    let shown: Vec<Engine> = Engine::ALL
        .into_iter()
        .filter(|e| with_curves.iter().any(|v| v.answer(*e).is_some_and(|a| a.curve.len() > 1)))
        .collect();
    let body_axes = (Axis::log(start, body_end, LEFT, RIGHT), Axis::linear(0.0, 1.0, BOTTOM, TOP));
    let tail_start = if median.is_finite() && median < end { median } else { start };
    let tail_axes = (Axis::log(tail_start, end, LEFT, RIGHT), Axis::log(rarest, 1.0, BOTTOM, TOP));
    let panels = |kind: Kind, axes: &(Axis, Axis)| {
        with_curves.iter().map(|v| panel(v, &draw(v, kind, axes))).collect::<Vec<String>>()
    };
    let columns = match with_curves.len() {
        1 => "one",
        2 | 4 => "two",
        _ => "three",
    };
    let body = Figure {
        id: "plot-cdf",
        heading,
        columns,
        legend: legend(&shown),
        drawings: panels(Kind::Body, &body_axes),
        caption: format!(
            "The share of requests (up) that were answered within a time (right); a curve further left and higher is \
             better. Markers sit at the median, p90 and p99 as far as these are known, hollow where there is no \
             interval. Every panel has the same scale.{}{rest}",
            crosses(variants, &Kind::Body.metrics())
        ),
        table: times_table(heading, &with_curves, &[0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]),
    };
    let tail = Figure {
        id: "plot-tail",
        heading: "The slowest requests",
        columns,
        legend: legend(&shown),
        drawings: panels(Kind::Tail, &tail_axes),
        caption: format!(
            "The share of requests (up) that took longer than a time (right), both on logarithmic scales, so that one in \
             a thousand is as easy to see as one in two. A heavy tail falls as a straight line, a light one bends down. \
             Markers sit at p90, p99 and p99.9 as far as these are known; the last stretch of a curve rests on very few \
             requests.{}",
            crosses(variants, &Kind::Tail.metrics())
        ),
        table: times_table("The slowest requests", &with_curves, &[0.9, 0.99, 0.999, 0.9999]),
    };
    body.html() + &tail.html()
}

/// The numbers behind the curves: the times within which these shares of the requests were answered.
fn times_table(heading: &str, variants: &[&VariantAnswers], shares: &[f64]) -> String {
    let names = ["variant".to_owned(), "engine".to_owned()];
    let head: Vec<String> = names.into_iter().chain(shares.iter().map(|share| percent(*share))).collect();
    let row = |(variant, answer): (&VariantAnswers, &Answer)| {
        let time = |share: &f64| quantile(&answer.curve, *share).map_or(NOTHING.into(), |t| number::quantity(t, "s"));
        let names = [escape(&variant.label), answer.engine.name().to_owned()];
        names.into_iter().chain(shares.iter().map(time)).collect()
    };
    let curves = variants.iter().flat_map(|v| v.answers.iter().map(move |answer| (*v, answer)));
    let rows: Vec<Vec<String>> = curves.filter(|(_, answer)| answer.curve.len() > 1).map(row).collect();
    behind(heading, &head, &rows, "")
}

fn draw(variant: &VariantAnswers, kind: Kind, (x, y): &(Axis, Axis)) -> String {
    let what = match kind {
        Kind::Body => "Response-time distribution",
        Kind::Tail => "Response-time tail",
    };
    svg(WIDTH, HEIGHT, &format!("{what}: {}", variant.label), |canvas| {
        frame(canvas, kind, x, y);
        let marks = |engine: Engine| mark(canvas, variant, (engine, kind), (x, y));
        // The widest lie below the curves, and the others on each other.
        marks(LAYERS[0]);
        for engine in Engine::ALL {
            let Some(answer) = variant.answer(engine).filter(|a| a.curve.len() > 1) else { continue };
            let points = thinned(&answer.curve, kind, x, y);
            if points.len() > 1 {
                // Live is a broad line and its twin a thin dashed one upon it: where they agree, both are seen.
                let (width, opacity) = match engine {
                    Engine::Live => (3.6, 0.6),
                    _ => (1.7, 1.0),
                };
                canvas.path(&points, Ink::Curve(engine), opacity, width);
            }
        }
        LAYERS[1..].iter().for_each(|engine| marks(*engine));
    })
}

/// An engine's marks on its curve.
fn mark(canvas: &Canvas, variant: &VariantAnswers, (engine, kind): (Engine, Kind), (x, y): (&Axis, &Axis)) {
    let Some(answer) = variant.answer(engine).filter(|a| a.curve.len() > 1) else { return };
    for (name, p) in kind.marked() {
        // What is no outcome is not marked, however far the curve goes.
        let metric = format!("response_time_{name}");
        let outcome = variant.estimate(engine, &metric);
        let Some(known) = outcome.filter(|estimate| estimate.value().is_some()) else { continue };
        let Some(t) = quantile(&answer.curve, p).filter(|t| x.shows(*t)) else { continue };
        let at = (x.at(t), height_of(p, kind, y));
        canvas.layered(engine, Ink::Engine(engine), at, known.interval().is_none());
        let lost = unanswered::share(variant, engine, &metric);
        if lost.is_some() {
            unanswered::cross(canvas, at);
        }
        let lost = lost.map_or_else(String::new, unanswered::told);
        let told = format!("{} {name}: {}{lost}", engine.name(), number::estimate(known, "s"));
        canvas.tell(&told, (at.0 - NEAR, at.1 - NEAR), (at.0 + NEAR, at.1 + NEAR));
    }
}

fn height_of(p: f64, kind: Kind, y: &Axis) -> f64 {
    match kind {
        Kind::Body => y.at(p),
        Kind::Tail => y.at(1.0 - p),
    }
}

fn frame(canvas: &Canvas, kind: Kind, x: &Axis, y: &Axis) {
    let (title, most) = match kind {
        Kind::Body => ("answered within", 6),
        Kind::Tail => ("took longer than", 8),
    };
    for tick in y.ticks(most) {
        let at = y.at(tick);
        canvas.bar((LEFT, at - 0.4), (RIGHT, at + 0.4), Ink::Grid, 1.0);
        canvas.text(&percent(tick), (LEFT - 6.0, at), Align::Right, TEXT - 1.0, Ink::Muted);
    }
    dots::x_axis(canvas, x, TOP, BOTTOM, 5, dots::round_time, title);
}

fn percent(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    format!("{}\u{a0}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The curve in pixels without the points that no eye could tell from their neighbours.
fn thinned(cdf: &[(f64, f64)], kind: Kind, x: &Axis, y: &Axis) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (t, p) in cdf {
        if *t <= 0.0 || !x.shows(*t) || (kind == Kind::Tail && 1.0 - p < RAREST) {
            continue;
        }
        let at = (x.at(*t), height_of(*p, kind, y));
        if points.last().is_none_or(|last| (last.0 - at.0).hypot(last.1 - at.1) >= 1.0) {
            points.push(at);
        }
    }
    points
}

/// The time within which the share `p` was answered, between the points of the curve; nothing beyond its ends.
fn quantile(cdf: &[(f64, f64)], p: f64) -> Option<f64> {
    let above = cdf.iter().position(|(_, q)| *q >= p)?;
    let (t1, p1) = cdf[above];
    let Some((t0, p0)) = above.checked_sub(1).map(|i| cdf[i]) else { return (p1 == p).then_some(t1) };
    Some(if p1 > p0 { t0 + (t1 - t0) * (p - p0) / (p1 - p0) } else { t1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_read_between_points_and_never_beyond() {
        let cdf = [(1.0, 0.2), (2.0, 0.4), (4.0, 0.8)];
        assert_eq!(quantile(&cdf, 0.2), Some(1.0));
        assert!((quantile(&cdf, 0.6).unwrap() - 3.0).abs() < 1e-12);
        assert_eq!(quantile(&cdf, 0.1), None);
        assert_eq!(quantile(&cdf, 0.9), None);
    }

    #[test]
    fn thinning_keeps_the_shape() {
        let cdf: Vec<(f64, f64)> = (1..=10_000).map(|i| (f64::from(i) / 1e4, f64::from(i) / 1e4)).collect();
        let (x, y) = (Axis::log(1e-4, 1.0, LEFT, RIGHT), Axis::linear(0.0, 1.0, BOTTOM, TOP));
        let thin = thinned(&cdf, Kind::Body, &x, &y);
        assert!(thin.len() < 600 && thin.len() > 100, "{}", thin.len());
        assert!(thin.iter().all(|(px, py)| (LEFT..=RIGHT).contains(px) && (TOP..=BOTTOM).contains(py)));
    }
}
