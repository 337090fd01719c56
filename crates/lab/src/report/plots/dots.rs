//! Dot plots: values on a common scale, grouped by variant, with their intervals.

use super::canvas::{Align, Axis, Canvas, Ink, alone, svg};
use super::{cut, unanswered};
use crate::report::number::{self, Scale};
use crate::report::{Engine, VariantAnswers, compare};
use sojourn_stats::Estimate;

/// The column of names left of the scale.
const NAMES: f64 = 116.0;
/// Room for the last tick's label.
const MARGIN: f64 = 22.0;
const TEXT: f64 = 13.0;
const LABEL: f64 = 24.0;
const ROW: f64 = 17.0;
const GAP: f64 = 9.0;
const FOOT: f64 = 42.0;
/// From the left to what crosses stand for, behind one of them.
const NOTE: f64 = 24.0;
/// A linear scale that has to hold more than this ratio hides the small ones.
const LARGEST_LINEAR_RATIO: f64 = 30.0;

struct Group<'a, R> {
    label: &'a str,
    rows: Vec<R>,
}

/// What an engine says of a variant.
struct Row<'a> {
    engine: Engine,
    estimate: &'a Estimate,
    /// Whether it is a live run that is not valid.
    is_suspect: bool,
    /// The share (1) of the requests whose time it is not, where that is more than may be left out.
    lost: Option<f64>,
}

/// One metric in seconds of every variant by every engine, `width` pixels wide.
struct Dots<'a> {
    /// A row for each engine.
    groups: Vec<Group<'a, Row<'a>>>,
    axis: Axis,
    width: f64,
}

/// As part of a page; nothing where no engine has a number.
pub(super) fn estimates(variants: &[VariantAnswers], metric: &str, title: &str, width: f64) -> Option<String> {
    let dots = Dots::of(variants, metric, width)?;
    Some(svg(width, dots.height(), &heading(title), |canvas| dots.draw(canvas, title)))
}

/// The same as a file of its own.
pub(super) fn estimates_alone(variants: &[VariantAnswers], metric: &str, title: &str, width: f64) -> Option<String> {
    let dots = Dots::of(variants, metric, width)?;
    Some(alone(width, dots.height(), &heading(title), |canvas| dots.draw(canvas, title)))
}

fn heading(title: &str) -> String {
    format!("{title} by variant and engine")
}

impl<'a> Dots<'a> {
    fn of(variants: &'a [VariantAnswers], metric: &str, width: f64) -> Option<Dots<'a>> {
        let row = |of: &'a VariantAnswers, engine: Engine| {
            let estimate = of.estimate(engine, metric)?;
            let is_suspect = engine == Engine::Live && of.is_suspect();
            Some(Row { engine, estimate, is_suspect, lost: unanswered::share(of, engine, metric) })
        };
        let groups: Vec<Group<Row>> = variants
            .iter()
            .map(|of| Group {
                label: &of.label,
                rows: Engine::ALL.into_iter().filter_map(|engine| row(of, engine)).collect(),
            })
            .filter(|group| !group.rows.is_empty())
            .collect();
        let rows = groups.iter().flat_map(|g| &g.rows);
        let known: Vec<(f64, f64, f64)> = rows.filter_map(|row| place(row.estimate)).collect();
        let highest = known.iter().map(|(_, _, high)| *high).fold(f64::NEG_INFINITY, f64::max);
        let lowest = known.iter().map(|(value, ..)| *value).filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        if known.is_empty() || highest <= 0.0 {
            return None;
        }
        let axis = match highest > lowest * LARGEST_LINEAR_RATIO {
            true => Axis::log(lowest, highest, NAMES, width - MARGIN),
            false => Axis::linear(0.0, highest * 1.04, NAMES, width - MARGIN),
        };
        Some(Dots { groups, axis, width })
    }

    fn height(&self) -> f64 {
        height(&self.groups) + ROW * self.note().len() as f64
    }

    /// What crosses stand for, in rows; none where there are none.
    fn note(&self) -> Vec<String> {
        let is_crossed = |row: &Row| row.lost.is_some() && place(row.estimate).is_some();
        match self.groups.iter().flat_map(|group| &group.rows).any(is_crossed) {
            true => unanswered::note_in_rows(self.width - NOTE, TEXT - 1.0),
            false => Vec::new(),
        }
    }

    fn draw(&self, canvas: &Canvas, title: &str) {
        let Dots { groups, axis, width } = self;
        let width = *width;
        bands(canvas, groups, width);
        time_axis(canvas, axis, height(groups) - FOOT, title, ticks(width));
        rows(canvas, groups, width, |label, Row { engine, estimate, is_suspect, lost }, y| {
            let share = lost.map_or_else(String::new, unanswered::told);
            let number = number::estimate(estimate, "s");
            tell(canvas, &format!("{label}, {}: {number}{share}", engine.name()), y, width);
            canvas.text(engine.name(), (NAMES - 8.0, y), Align::Right, TEXT - 1.0, Ink::Engine(*engine));
            match place(estimate) {
                Some((value, low, high)) => {
                    if matches!(estimate, Estimate::Sampled { .. }) {
                        canvas.interval(*engine, axis.at(low), axis.at(high), y);
                    }
                    let unsure = matches!(estimate, Estimate::Approximate { .. } | Estimate::WithoutInterval { .. });
                    let hollow = *is_suspect || unsure;
                    canvas.marker(*engine, (axis.at(value), y), 5.0, hollow);
                    if lost.is_some() {
                        unanswered::cross(canvas, (axis.at(value), y));
                    }
                }
                None => canvas.text(&number, (NAMES + 6.0, y), Align::Left, TEXT - 1.0, Ink::Muted),
            }
        });
        let note = self.note();
        if !note.is_empty() {
            let at = (0.5 * NOTE, height(groups) + 0.5 * ROW);
            unanswered::entry(canvas, at, NOTE, &note, (TEXT - 1.0, ROW));
        }
    }
}

/// Where an estimate is drawn, and the ends of its bar; one without an interval is a mark alone.
fn place(estimate: &Estimate) -> Option<(f64, f64, f64)> {
    let alone = || estimate.value().filter(|value| value.is_finite()).map(|value| (value, value, value));
    compare::interval(estimate).or_else(alone)
}

/// Live minus twin, relative, for every variant and metric that has both.
pub(super) fn differences(variants: &[VariantAnswers], metrics: &[String], band: f64, width: f64) -> Option<String> {
    /// Room for the number right of the scale.
    const NUMBERS: f64 = 60.0;
    let groups: Vec<Group<(&str, compare::Difference, bool)>> = variants
        .iter()
        .map(|v| Group {
            label: &v.label,
            rows: metrics
                .iter()
                .filter_map(|m| Some((compare::short(m), compare::difference(v, m)?, v.is_suspect())))
                .collect(),
        })
        .filter(|group| !group.rows.is_empty())
        .collect();
    if groups.is_empty() {
        return None;
    }
    let all = || groups.iter().flat_map(|g| &g.rows).map(|(_, d, _)| d);
    // A hopelessly wide interval runs off the scale instead of squeezing all others.
    let low = all().map(|d| d.low.max(d.value - 0.5)).fold(-1.5 * band, f64::min).max(-1.0);
    let high = all().map(|d| d.high.min(d.value + 0.5)).fold(1.5 * band, f64::max);
    let axis = Axis::linear(low, high, NAMES - 48.0, width - MARGIN + 8.0 - NUMBERS);
    let height = height(&groups);
    let bottom = height - FOOT;
    let drawing = svg(width, height, "Relative difference of live from the simulator given the same plan", |canvas| {
        bands(canvas, &groups, width);
        canvas.bar((axis.at(-band), 0.0), (axis.at(band), bottom), Ink::Engine(Engine::Twin), 0.16);
        let label = |value: f64| number::signed_percent(value).replace(".0", "").replace("+0\u{a0}", "0\u{a0}");
        x_axis(canvas, &axis, 0.0, bottom, ticks(width) + 2, label, "live against sim, live\u{2019}s plan");
        canvas.bar((axis.at(0.0) - 0.8, 0.0), (axis.at(0.0) + 0.8, bottom), Ink::Text, 1.0);
        rows(canvas, &groups, width, |label, (name, d, suspect), y| {
            let [value, low, high] = [d.value, d.low, d.high].map(number::signed_percent);
            tell(canvas, &format!("{label}, {name}: {value} ({low} to {high})"), y, width);
            canvas.text(name, (NAMES - 58.0, y), Align::Right, TEXT - 1.0, Ink::Muted);
            canvas.interval(Engine::Live, axis.at(d.low), axis.at(d.high), y);
            canvas.marker(Engine::Live, (axis.at(d.value), y), 5.0, *suspect);
            canvas.text(&number::signed_percent(d.value), (width - 12.0, y), Align::Right, TEXT - 1.0, Ink::Text);
        });
    });
    Some(drawing)
}

fn height<R>(groups: &[Group<R>]) -> f64 {
    groups.iter().map(tall).sum::<f64>() + FOOT
}

fn tall<R>(group: &Group<R>) -> f64 {
    LABEL + ROW * group.rows.len() as f64 + GAP
}

/// Writes a variant's name over its rows, which start at `y`.
pub(super) fn label(canvas: &Canvas, text: &str, y: f64, width: f64) {
    /// Wider than most bold letters of the usual fonts.
    const LETTER: f64 = 0.62 * TEXT;
    let text = cut(text, ((width - 16.0) / LETTER) as usize);
    canvas.bold(&text, (8.0, y + LABEL / 2.0 + 1.0), Align::Left, TEXT, Ink::Text);
}

fn background(group: usize) -> Ink {
    if group.is_multiple_of(2) { Ink::Band } else { Ink::Paper }
}

/// A tint behind every second group leads the eye from name to marker.
fn bands<R>(canvas: &Canvas, groups: &[Group<R>], width: f64) {
    let mut y = 0.0;
    for (i, group) in groups.iter().enumerate() {
        canvas.bar((0.0, y), (width, y + tall(group)), background(i), 1.0);
        y += tall(group);
    }
}

/// Writes the groups' labels, clear of the grid, and has `draw` draw each row at its height.
fn rows<R>(canvas: &Canvas, groups: &[Group<R>], width: f64, draw: impl Fn(&str, &R, f64)) {
    let mut y = 0.0;
    for (i, group) in groups.iter().enumerate() {
        canvas.bar((0.0, y), (width, y + LABEL), background(i), 1.0);
        label(canvas, group.label, y, width);
        for (i, row) in group.rows.iter().enumerate() {
            draw(group.label, row, y + LABEL + ROW * (i as f64 + 0.5));
        }
        y += tall(group);
    }
}

/// Says `text` where one points at the row at `y`.
fn tell(canvas: &Canvas, text: &str, y: f64, width: f64) {
    canvas.tell(text, (0.0, y - ROW / 2.0), (width, y + ROW / 2.0));
}

fn time_axis(canvas: &Canvas, axis: &Axis, bottom: f64, title: &str, most: usize) {
    if axis.is_log() {
        x_axis(canvas, axis, 0.0, bottom, most, round_time, title);
    } else {
        let scale = Scale::of_time(axis.high());
        let label = |value: f64| trimmed(value * scale.per_si);
        x_axis(canvas, axis, 0.0, bottom, most, label, &format!("{title} ({})", scale.unit));
    }
}

/// How many tick labels fit under a drawing.
pub(super) fn ticks(width: f64) -> usize {
    if width < 420.0 { 4 } else { 6 }
}

/// Grid lines, tick labels and the axis title under a plot.
pub(super) fn x_axis(
    canvas: &Canvas,
    axis: &Axis,
    top: f64,
    bottom: f64,
    most: usize,
    label: impl Fn(f64) -> String,
    title: &str,
) {
    for tick in axis.ticks(most) {
        let x = axis.at(tick);
        canvas.bar((x - 0.4, top), (x + 0.4, bottom + 4.0), Ink::Grid, 1.0);
        canvas.text(&label(tick), (x, bottom + 13.0), Align::Center, TEXT - 1.0, Ink::Muted);
    }
    let middle = (axis.at(f64::NEG_INFINITY) + axis.at(f64::INFINITY)) / 2.0;
    canvas.text(title, (middle, bottom + 31.0), Align::Center, TEXT - 1.0, Ink::Text);
}

/// A round time: "20 ms".
pub(super) fn round_time(seconds: f64) -> String {
    let scale = Scale::of_time(seconds);
    format!("{}\u{a0}{}", trimmed(seconds * scale.per_si), scale.unit)
}

/// A tick's number without the noise of floating point.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short() {
        assert_eq!(trimmed(0.30000000000000004), "0.3");
        assert_eq!(trimmed(200.0), "200");
        assert_eq!(round_time(0.02), "20\u{a0}ms");
        assert_eq!(round_time(1e-6), "1\u{a0}\u{b5}s");
    }
}
