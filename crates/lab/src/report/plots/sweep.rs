//! A metric over a setting that is a number (users, servers), as small multiples: one panel for each combination of the
//! other settings, all on the same scale. Drawn where a number takes enough values to make a curve.

use super::canvas::{Align, Axis, Canvas, Ink, svg};
use super::chart::{Chart, Mark, Series, Side};
use super::curves::{BOTTOM, HEIGHT, LEFT, NEAR, RIGHT, TEXT, TOP, WIDTH};
use super::{Figure, MOST_VARIANTS, chart_figure, cut, dots, estimates_table, legend, panel};
use crate::report::{Answers, Engine, VariantAnswers, compare, number};
use crate::variants::label;

/// Fewer values are better compared in the dot plots.
const FEWEST_VALUES: usize = 4;
/// From this factor between the ends on, an axis is logarithmic.
const DECADES: f64 = 50.0;

/// The variants that differ only in the setting on the axis, in its order.
struct Sweep<'a> {
    others: VariantAnswers,
    points: Vec<(f64, &'a VariantAnswers)>,
}

/// Mean response time over the number that takes most values; nothing where none takes enough.
pub(super) fn figure(report: &Answers) -> String {
    let Some(key) = axis_key(report) else { return String::new() };
    let sweeps = sweeps(report, key);
    let values = |metric: &str| -> Vec<f64> {
        let points = sweeps.iter().flat_map(|sweep| &sweep.points);
        let estimates =
            points.flat_map(|(_, v)| Engine::ALL.into_iter().filter_map(|e| v.estimate(e, metric)?.value()));
        estimates.filter(|value| *value > 0.0).collect()
    };
    let means = values(compare::MEAN);
    let (lowest, highest) = bounds(&means);
    let (least, most) = bounds(&sweeps.iter().flat_map(|s| s.points.iter().map(|p| p.0)).collect::<Vec<f64>>());
    if means.is_empty() || most <= least {
        return String::new();
    }
    let shown: Vec<Engine> = Engine::ALL
        .into_iter()
        .filter(|e| report.variants.iter().any(|v| v.estimate(*e, compare::MEAN).is_some()))
        .collect();
    let chart = together(&sweeps, key, (&shown, (least, most), (lowest, highest)));
    // One panel says it all, where there is one engine and a colour for each.
    if let Some(chart) = chart.as_ref().filter(|_| shown.len() == 1) {
        return chart_figure(chart) + &estimates_table(&chart.heading, &report.variants, &[compare::MEAN.to_owned()]);
    }
    let x = if spans_decades(least, most) {
        Axis::log(least, most, LEFT, RIGHT)
    } else {
        Axis::linear(0.0, most, LEFT, RIGHT)
    };
    let axes = (x, Axis::log(lowest, highest, BOTTOM, TOP));
    let drawings: Vec<String> =
        sweeps.iter().take(MOST_VARIANTS).map(|sweep| panel(&sweep.others, &draw(sweep, key, &axes))).collect();
    let rest = match sweeps.len().saturating_sub(MOST_VARIANTS) {
        0 => String::new(),
        rest => format!(" {rest} more combinations are not drawn; their numbers are in the tables."),
    };
    let columns = match drawings.len() {
        1 => "one",
        2 | 4 => "two",
        _ => "three",
    };
    let caption = format!(
        "Mean response time (up, logarithmic) over <code>{}</code> (right). Every panel has the same scale.{rest}",
        super::escape(key)
    );
    let heading = if chart.is_some() { "By every engine" } else { "Over the whole range" };
    let table = estimates_table(heading, &report.variants, &[compare::MEAN.to_owned()]);
    let figure = Figure { id: "plot-sweep", heading, columns, legend: legend(&shown), drawings, caption, table };
    chart.as_ref().map_or(String::new(), chart_figure) + &figure.html()
}

/// Whether values are told apart on a logarithmic axis only.
fn spans_decades(least: f64, most: f64) -> bool {
    least > 0.0 && most / least >= DECADES
}

/// All sweeps in one panel, by the engine that knows most of them; none of a single one, or of more than there are colours.
fn together(
    sweeps: &[Sweep<'_>],
    key: &str,
    (shown, (least, most), (lowest, highest)): (&[Engine], (f64, f64), (f64, f64)),
) -> Option<Chart> {
    let mean =
        |engine: Engine, v: &VariantAnswers| v.estimate(engine, compare::MEAN)?.value().filter(|mean| *mean > 0.0);
    let known = |engine: &Engine| {
        let points = sweeps.iter().flat_map(|sweep| &sweep.points);
        points.filter(|(_, variant)| mean(*engine, variant).is_some()).count()
    };
    // The simulator, where others know as many: its numbers are the sharpest.
    let engine = shown.iter().copied().max_by_key(|engine| (known(engine), *engine == Engine::Sim))?;
    if !(2..=Ink::SERIES).contains(&sweeps.len()) {
        return None;
    }
    let line = |sweep: &Sweep<'_>| Series {
        name: cut(&sweep.others.label, 60),
        mark: Mark::Line,
        points: sweep.points.iter().filter_map(|(at, variant)| Some((*at, mean(engine, variant)?))).collect(),
    };
    let log = spans_decades(least, most);
    let side = |title: String, log: bool, label: fn(f64) -> String, ends: (f64, f64)| Side { title, log, label, ends };
    Some(Chart {
        id: "sweep".into(),
        heading: "Over the whole range".into(),
        caption: format!(
            "Mean response time by {} over <code>{}</code>; the vertical axis is logarithmic.",
            engine.name(),
            super::escape(key)
        ),
        x: side(key.to_owned(), log, |value| format!("{value}"), (if log { least } else { 0.0 }, most)),
        y: side("mean response time".into(), true, dots::round_time, (lowest, highest)),
        series: sweeps.iter().map(line).collect(),
    })
}

fn bounds(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

/// The setting that takes most values, all of them numbers.
fn axis_key(report: &Answers) -> Option<&str> {
    let values = |key: &str| {
        let all = report.variants.iter().filter_map(|v| v.setting(key));
        let mut numbers: Vec<f64> = all.map(str::parse).collect::<Result<_, _>>().ok()?;
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        Some(numbers.len())
    };
    let counted = report.settings.iter().filter_map(|key| Some((values(key)?, key.as_str())));
    counted.filter(|(count, _)| *count >= FEWEST_VALUES).max_by_key(|(count, _)| *count).map(|(_, key)| key)
}

fn sweeps<'a>(report: &'a Answers, key: &str) -> Vec<Sweep<'a>> {
    let mut all: Vec<Sweep<'a>> = Vec::new();
    for variant in &report.variants {
        let Some(x) = variant.setting(key).and_then(|value| value.parse().ok()) else { continue };
        let settings: Vec<(String, String)> = variant.settings.iter().filter(|(of, _)| of != key).cloned().collect();
        match all.iter_mut().find(|sweep| sweep.others.settings == settings) {
            Some(sweep) => sweep.points.push((x, variant)),
            None => {
                let label = label(settings.iter().map(|(key, value)| (&**key, &**value)));
                let others = VariantAnswers { label, settings: settings.clone(), answers: Vec::new() };
                all.push(Sweep { others, points: vec![(x, variant)] });
            }
        }
    }
    for sweep in &mut all {
        sweep.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    all
}

fn draw(sweep: &Sweep<'_>, key: &str, (x, y): &(Axis, Axis)) -> String {
    svg(WIDTH, HEIGHT, &format!("Mean response time over {key}: {}", sweep.others.label), |canvas: &Canvas| {
        for tick in y.ticks(6) {
            let at = y.at(tick);
            canvas.bar((LEFT, at - 0.4), (RIGHT, at + 0.4), Ink::Grid, 1.0);
            canvas.text(&dots::round_time(tick), (LEFT - 6.0, at), Align::Right, TEXT - 1.0, Ink::Muted);
        }
        dots::x_axis(canvas, x, TOP, BOTTOM, 6, |value| format!("{value}"), key);
        for engine in Engine::ALL {
            let value = |v: &VariantAnswers| v.estimate(engine, compare::MEAN)?.value().filter(|value| *value > 0.0);
            let known: Vec<(f64, f64)> = sweep.points.iter().filter_map(|(at, v)| Some((*at, value(v)?))).collect();
            let points: Vec<(f64, f64)> = known.iter().map(|(at, value)| (x.at(*at), y.at(*value))).collect();
            for ((at, value), (left, top)) in known.iter().zip(&points) {
                let told = format!("{key} {at}, {}: {}", engine.name(), number::quantity(*value, "s"));
                canvas.tell(&told, (left - NEAR, top - NEAR), (left + NEAR, top + NEAR));
            }
            if points.len() > 1 {
                canvas.path(&points, Ink::Curve(engine), 1.0, 1.7);
            }
            points.iter().for_each(|at| canvas.marker(engine, *at, 2.6, false));
        }
    })
}
