//! Curves in several panels on one scale, where they are more than can look different in one: a panel for each combination of the
//! settings but two, the one on the axis and one that has the colours, such as the policy. Of more values than there are colours
//! each panel has a part.

use super::super::canvas::{Align, Axis, Canvas, Ink, LAYERS, alone as file, svg};
use super::super::chart::{APPROXIMATE, covers};
use super::super::curves::{BOTTOM, HEIGHT, LEFT, NEAR, RIGHT, TEXT, TOP, WIDTH};
use super::super::legend::{room, rows};
use super::super::{Figure, MOST_VARIANTS, apart, cut, dots, estimates_table, legend, panel, unanswered};
use super::{
    Curves, MOST_CURVES, Sweep, TITLE, bounds, capital, ends, heights, id, is_hollow, known, known_by_another, marks,
    spans_decades, undrawn, with_room,
};
use crate::report::html::escape;
use crate::report::{Engine, VariantAnswers, number};
use crate::variants::label;

/// In a file of its own: above all panels the name of the metric, and above each its own.
const HEAD: f64 = 26.0;
/// A row of its legend, and the room of a name and an engine there.
const ROW: f64 = 18.0;
const MARK: f64 = 30.0;
const ENGINE: f64 = 90.0;
/// The rows of a panel's name there.
const ROWS_MOST: usize = 2;
/// About so many ticks has the axis of a panel.
const TICKS: usize = 6;

/// How many colours of series they have.
pub(super) fn colors(curves: &Curves<'_>) -> usize {
    Colors::new(curves.colored(), &curves.sweeps).values.len()
}

/// Whether in panels each has several curves, and a colour is in several of them.
pub(super) fn share_colors(curves: &Curves<'_>) -> bool {
    let colors = Colors::new(curves.colored(), &curves.sweeps);
    let panels = by_panel(curves, &colors);
    colors.values.len() < curves.sweeps.len() && panels.iter().all(|panel| panel.curves.len() > 1)
}

/// What is drawn in one panel: the curves of variants that are equal but for the settings on the axis and of the colours.
struct Panel<'a> {
    of: VariantAnswers,
    /// Which part of the values that have the colours: from 0.
    part: usize,
    curves: Vec<(&'a Sweep<'a>, Ink)>,
}

/// The values of the setting that has the colours, in parts of no more than a panel can show.
struct Colors<'a> {
    key: &'a str,
    values: Vec<Option<&'a str>>,
    /// How many values a part has, the last perhaps fewer.
    each: usize,
}

impl<'a> Colors<'a> {
    fn new(key: &'a str, sweeps: &'a [Sweep<'a>]) -> Colors<'a> {
        let mut values: Vec<Option<&str>> = Vec::new();
        for value in sweeps.iter().map(|sweep| sweep.others.setting(key)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let parts = values.len().div_ceil(MOST_CURVES).max(1);
        let each = values.len().div_ceil(parts).max(1);
        Colors { key, values, each }
    }

    /// In which part a sweep is, and its colour.
    fn of(&self, sweep: &Sweep<'_>) -> (usize, Ink) {
        let value = sweep.others.setting(self.key);
        let place = self.values.iter().position(|of| *of == value).expect("the values are those of the sweeps");
        (place / self.each, Ink::of_series(place))
    }

    fn are_in_parts(&self) -> bool {
        self.values.len() > self.each
    }

    /// What the colours stand for.
    fn legend(&self) -> String {
        let color = |(number, value): (usize, &Option<&str>)| {
            let (class, value) = (Ink::of_series(number).class(), escape(value.unwrap_or("\u{2013}")));
            format!("<li><span class=\"swatch b-{class}\"></span>{value}</li>")
        };
        let colors: String = self.values.iter().enumerate().map(color).collect();
        format!("<ul class=\"legend\" aria-label=\"{}\">{colors}</ul>\n", escape(self.key))
    }
}

/// Sweeps by panel.
fn by_panel<'a>(curves: &'a Curves<'a>, colors: &Colors<'_>) -> Vec<Panel<'a>> {
    let mut panels: Vec<Panel<'a>> = Vec::new();
    for sweep in &curves.sweeps {
        let settings = sweep.others.settings.iter().filter(|(key, _)| key != colors.key);
        let settings: Vec<(String, String)> = settings.cloned().collect();
        let (part, ink) = colors.of(sweep);
        match panels.iter_mut().find(|panel| panel.part == part && panel.of.settings == settings) {
            Some(panel) => panel.curves.push((sweep, ink)),
            None => {
                let told = || settings.iter().filter(|(key, _)| curves.report.varies(key));
                let by_values = || label(told().map(|(key, value)| (&**key, &**value)));
                let own = sweep.others.name().is_none().then(|| sweep.others.label_without(&[colors.key]));
                let label = own.filter(|own| !own.is_empty()).unwrap_or_else(by_values);
                let of = VariantAnswers { label, settings, answers: Vec::new() };
                panels.push(Panel { of, part, curves: vec![(sweep, ink)] });
            }
        }
    }
    panels
}

/// All panels, which have one scale.
struct Grid<'a> {
    curves: &'a Curves<'a>,
    /// The metric and its name.
    metric: (&'a str, &'a str),
    colors: Colors<'a>,
    panels: Vec<Panel<'a>>,
    /// The ends of the axes.
    x: (f64, f64),
    y: (f64, f64),
}

impl<'a> Grid<'a> {
    /// None where there is nothing to draw.
    fn of(curves: &'a Curves<'a>, metric: (&'a str, &'a str)) -> Option<Grid<'a>> {
        let colors = Colors::new(curves.colored(), &curves.sweeps);
        let points = || curves.sweeps.iter().flat_map(|sweep| &sweep.points);
        let of_engine =
            |of: &'a VariantAnswers| Engine::ALL.into_iter().filter_map(move |engine| known(of, engine, metric.0));
        let all = points().flat_map(|(_, of)| of_engine(of)).flat_map(|(estimate, value)| heights(estimate, value));
        let y = bounds(&all.collect::<Vec<f64>>());
        let x = bounds(&points().map(|point| point.0).collect::<Vec<f64>>());
        let panels = by_panel(curves, &colors);
        (y.1 >= y.0 && x.1 > x.0).then_some(Grid { curves, metric, colors, panels, x, y })
    }

    /// Those that are drawn.
    fn shown(&self) -> &[Panel<'a>] {
        &self.panels[..self.panels.len().min(MOST_VARIANTS)]
    }

    /// What is not drawn, in sentences; empty where all is.
    fn left_out(&self) -> String {
        let rest = match self.panels.len() - self.shown().len() {
            0 => String::new(),
            rest => format!(" {rest} more combinations are not drawn; their numbers are in the tables."),
        };
        rest + &undrawn(self.curves.report, &self.curves.sweeps)
    }

    /// The engines that have a number.
    fn engines(&self) -> Vec<Engine> {
        let points = || self.curves.sweeps.iter().flat_map(|sweep| &sweep.points);
        let has = |engine: &Engine| points().any(|(_, of)| known(of, *engine, self.metric.0).is_some());
        Engine::ALL.into_iter().filter(has).collect()
    }

    /// Of the numbers of formulas, whether some are exact, and whether some are not.
    fn kinds_of_theory(&self) -> (bool, bool) {
        let points = self.curves.sweeps.iter().flat_map(|sweep| &sweep.points);
        let of_theory = points.filter_map(|(_, of)| known(of, Engine::Theory, self.metric.0));
        let hollow: Vec<bool> = of_theory.map(|(estimate, _)| is_hollow(estimate)).collect();
        (hollow.contains(&false), hollow.contains(&true))
    }

    fn heading(&self) -> String {
        format!("{} over the whole range", capital(self.metric.1))
    }

    /// The axes of a panel with its upper left corner there.
    fn axes(&self, (left, top): (f64, f64)) -> (Axis, Axis) {
        let ((least, most), (from, to)) = (self.x, (left + LEFT, left + RIGHT));
        let x = match spans_decades(least, most) {
            true => {
                let (low, high) = with_room(self.x);
                Axis::log(low, high, from, to)
            }
            false => {
                let (low, high) = ends(self.x, TICKS);
                Axis::linear(low, high, from, to)
            }
        };
        (x, Axis::log(self.y.0, self.y.1, top + BOTTOM, top + TOP))
    }

    /// The curves of a panel with its upper left corner there, each in its colour; each engine's numbers have its mark.
    fn draw(&self, canvas: &Canvas, panel: &Panel<'_>, corner: (f64, f64)) {
        let (metric, title) = (self.metric.0, cut(&self.curves.axis.title(), TITLE));
        let (x, y) = self.axes(corner);
        let (from, to) = (corner.0 + LEFT, corner.0 + RIGHT);
        for tick in y.ticks(6) {
            let at = y.at(tick);
            canvas.bar((from, at - 0.4), (to, at + 0.4), Ink::Grid, 1.0);
            canvas.text(&dots::round_time(tick), (from - 6.0, at), Align::Right, TEXT - 1.0, Ink::Muted);
        }
        dots::x_axis(canvas, &x, corner.1 + TOP, corner.1 + BOTTOM, TICKS, self.curves.axis.label(), &title);
        let places = |sweep: &Sweep<'_>, engine: Engine| -> Vec<(f64, f64)> {
            let known = sweep.points.iter().filter_map(|(at, of)| Some((*at, known(of, engine, metric)?.1)));
            known.map(|(at, value)| (x.at(at), y.at(value))).collect()
        };
        let covers = Engine::ALL
            .map(|engine| covers(&panel.curves.iter().map(|(sweep, _)| places(sweep, engine)).collect::<Vec<_>>()));
        let others = |sweep: &Sweep<'_>, engine: Engine| {
            sweep.points.iter().filter(|(_, of)| known_by_another(of, engine, metric)).count()
        };
        let mut lines = Vec::new();
        for (number, engine) in Engine::ALL.into_iter().enumerate() {
            for (curve, (sweep, ink)) in panel.curves.iter().enumerate() {
                let points = places(sweep, engine);
                // Numbers of a formula are marks beside the curve that was simulated or measured, where there is one.
                if points.len() > 1 && (engine != Engine::Theory || others(sweep, engine) == 0) {
                    lines.push((covers[number][curve].widened(1.5), points, *ink));
                }
            }
        }
        // What is wide lies below what it would hide.
        lines.sort_by(|((one, _), ..), ((other, _), ..)| other.total_cmp(one));
        let mark = |engine: Engine| self.mark(canvas, panel, engine, (&x, &y));
        mark(LAYERS[0]);
        for ((width, opacity), points, ink) in &lines {
            canvas.path(points, *ink, *opacity, *width);
        }
        LAYERS[1..].iter().for_each(|engine| mark(*engine));
        for (at, value) in panel.curves.iter().flat_map(|(sweep, _)| self.crossed(sweep)) {
            unanswered::cross(canvas, (x.at(at), y.at(value)));
        }
    }

    /// The numbers of a sweep that are not of all requests, with where they are on the axis.
    fn crossed(&self, sweep: &Sweep<'_>) -> Vec<(f64, f64)> {
        let metric = self.metric.0;
        let mut crossed = Vec::new();
        for (at, of) in &sweep.points {
            let is_crossed = |engine: &Engine| unanswered::share(of, *engine, metric).is_some();
            let engines = Engine::ALL.into_iter().filter(is_crossed);
            crossed.extend(engines.filter_map(|engine| Some((*at, known(of, engine, metric)?.1))));
        }
        crossed
    }

    fn has_crosses(&self) -> bool {
        self.curves.sweeps.iter().any(|sweep| !self.crossed(sweep).is_empty())
    }

    /// An engine's numbers with their intervals.
    fn mark(&self, canvas: &Canvas, panel: &Panel<'_>, engine: Engine, (x, y): (&Axis, &Axis)) {
        for (sweep, ink) in &panel.curves {
            let known = sweep.points.iter().filter_map(|(at, of)| Some((*at, of, known(of, engine, self.metric.0)?)));
            for (at, of, (estimate, value)) in known {
                let (left, top) = (x.at(at), y.at(value));
                let [_, low, high] = heights(estimate, value);
                canvas.bar((left - 0.5, y.at(high)), (left + 0.5, y.at(low)), *ink, 1.0);
                canvas.layered(engine, *ink, (left, top), is_hollow(estimate));
                let value = number::quantity(value, "s");
                let lost = unanswered::share(of, engine, self.metric.0).map_or_else(String::new, unanswered::told);
                let place = self.curves.axis.told(at, of);
                let told = format!("{}, {place}, {}: {value}{lost}", sweep.others.label, engine.name());
                canvas.tell(&told, (left - NEAR, top - NEAR), (left + NEAR, top + NEAR));
            }
        }
    }
}

/// As a figure of a page; empty where there is nothing to draw.
pub(super) fn figure(curves: &Curves<'_>, metric: (&str, &str)) -> String {
    let Some(grid) = Grid::of(curves, metric) else { return String::new() };
    let name = capital(metric.1);
    let drawn = |one: &Panel<'_>| {
        let title = format!("{name} over {}: {}", curves.axis.title(), one.of.label);
        panel(&one.of, &svg(WIDTH, HEIGHT, &title, |canvas| grid.draw(canvas, one, (0.0, 0.0))))
    };
    let drawings: Vec<String> = grid.shown().iter().map(drawn).collect();
    let parts = match grid.colors.are_in_parts() {
        true => format!(
            " <code>{}</code> has more values than a panel can show: they are in several panels, in colours of their own.",
            escape(grid.colors.key)
        ),
        false => String::new(),
    };
    let engines = grid.engines();
    let caption = format!(
        "{name} (up, logarithmic) over <code>{}</code> (right). Every panel has the same scale. {} A wide line has another on \
         it.{parts}{}",
        escape(&curves.axis.title()),
        marks(&engines),
        grid.left_out()
    );
    let table = estimates_table(&grid.heading(), &curves.report.variants, &[metric.0.to_owned()]);
    let columns = if drawings.len() == 2 || drawings.len() == 4 { "two" } else { "three" };
    let id = format!("plot-{}", id(metric.0));
    let crosses = if grid.has_crosses() { unanswered::legend() } else { String::new() };
    let legend = [grid.colors.legend(), legend(&engines), crosses].concat();
    Figure { id: &id, heading: &grid.heading(), columns, legend, drawings, caption, table }.html()
}

/// As a file of its own, and what is not in it; none where there is nothing to draw.
pub(super) fn alone(curves: &Curves<'_>, metric: (&str, &str)) -> Option<(String, String)> {
    let grid = Grid::of(curves, metric)?;
    let shown = grid.shown();
    let columns = if shown.len() == 4 { 2 } else { shown.len().min(3) };
    let width = columns as f64 * WIDTH;
    let place = |index: usize, height: f64| ((index % columns) as f64 * WIDTH, (index / columns) as f64 * height);
    let labels: Vec<&str> = shown.iter().map(|one| one.of.label.as_str()).collect();
    let values: Vec<&str> = grid.colors.values.iter().map(|value| value.unwrap_or("\u{2013}")).collect();
    let labels = titles(&labels, room(WIDTH - LEFT, TEXT));
    let head = HEAD + ROW * (labels.iter().map(Vec::len).max().unwrap_or(1) - 1) as f64;
    let below = HEAD + shown.len().div_ceil(columns) as f64 * (head + HEIGHT);
    let engines_at = below + ROW * values.len().div_ceil(columns) as f64;
    let (is_exact, is_approximate) = grid.kinds_of_theory();
    let mut engines = grid.engines();
    engines.retain(|engine| *engine != Engine::Theory || is_exact);
    let in_a_row = ((width - LEFT) / ENGINE).floor().max(1.0) as usize;
    let approximate_at = engines_at + ROW * engines.len().div_ceil(in_a_row) as f64;
    let crosses = match grid.has_crosses() {
        true => unanswered::note_in_rows(width - LEFT - MARK, TEXT),
        false => Vec::new(),
    };
    let crosses_at = approximate_at + ROW * f64::from(u8::from(is_approximate));
    let height = crosses_at + ROW * (crosses.len() as f64 + 0.5);
    let drawing = file(width, height, &grid.heading(), |canvas| {
        canvas.text(metric.1, (8.0, 0.5 * HEAD), Align::Left, TEXT, Ink::Text);
        for (index, (one, rows)) in shown.iter().zip(&labels).enumerate() {
            let (left, top) = place(index, head + HEIGHT);
            for (number, row) in rows.iter().enumerate() {
                let at = (left + LEFT, top + 1.5 * HEAD + ROW * number as f64);
                canvas.bold(row, at, Align::Left, TEXT, Ink::Text);
            }
            grid.draw(canvas, one, (left, top + HEAD + head));
        }
        for (index, value) in apart(&values, room(WIDTH - LEFT - MARK, TEXT)).iter().enumerate() {
            let (left, top) = place(index, ROW);
            let (left, at) = (left + LEFT, below + top + 0.5 * ROW);
            canvas.path(&[(left, at), (left + 22.0, at)], Ink::of_series(index), 1.0, 1.8);
            canvas.text(value, (left + MARK, at), Align::Left, TEXT, Ink::Text);
        }
        for (index, engine) in engines.iter().copied().enumerate() {
            let row = engines_at + (index / in_a_row) as f64 * ROW + 0.5 * ROW;
            let at = (LEFT + 11.0 + ENGINE * (index % in_a_row) as f64, row);
            canvas.layered(engine, Ink::Muted, at, false);
            canvas.text(engine.name(), (at.0 + 19.0, at.1), Align::Left, TEXT, Ink::Text);
        }
        if is_approximate {
            let at = (LEFT + 11.0, approximate_at + 0.5 * ROW);
            canvas.layered(Engine::Theory, Ink::Muted, at, true);
            canvas.text(APPROXIMATE, (at.0 + 19.0, at.1), Align::Left, TEXT, Ink::Text);
        }
        if !crosses.is_empty() {
            let at = (LEFT + 11.0, crosses_at + 0.5 * ROW);
            unanswered::entry(canvas, at, LEFT + MARK, &crosses, (TEXT, ROW));
        }
    });
    Some((drawing, grid.left_out()))
}

/// The names of panels in rows of at most `most` characters: whole where they take no more than [`ROWS_MOST`], else as much of
/// each as keeps them apart.
fn titles(labels: &[&str], most: usize) -> Vec<Vec<String>> {
    let cut =
        |length: usize| -> Vec<Vec<String>> { apart(labels, length).iter().map(|label| rows(label, most)).collect() };
    let fit = |titles: &Vec<Vec<String>>| titles.iter().all(|rows| rows.len() <= ROWS_MOST);
    // Where a word is long, two rows hold less than twice as much.
    (most..=ROWS_MOST * most).rev().map(cut).find(fit).unwrap_or_else(|| cut(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What tells panels apart is in their names, also behind much that they share.
    #[test]
    fn names_of_panels_go_on_in_a_second_row() {
        let laws = ["lognormal(mean = 1 ms, cv = 2)", "lognormal(mean = 1 ms, cv = 4)"];
        let labels = [16, 100].map(|servers| laws.map(|law| format!("servers {servers}, {law}"))).concat();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let told = titles(&labels, 36);
        for (rows, label) in told.iter().zip(&labels) {
            assert_eq!(&rows.join(" "), label, "nothing is cut");
            assert!(rows.len() <= 2 && rows.iter().all(|row| row.chars().count() <= 36), "{rows:?}");
        }
        assert_eq!(titles(&["jsq", "random"], 36), [["jsq"], ["random"]]);
        let long: Vec<String> =
            ["one", "two"].map(|end| format!("{} {end}", "much that both share".repeat(9))).to_vec();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let told = titles(&long, 36);
        assert!(told.iter().all(|rows| rows.len() <= 2) && told[0] != told[1], "{told:?}");
    }
}
