//! Metrics over a setting that is a number (a load, users, servers, a time): a curve for each combination of the other settings,
//! all in one panel, with the intervals of the simulator and the other engines' numbers beside it. Drawn where a number takes
//! enough values to make a curve. Where several settings make more combinations than there are colours, one of them has the
//! colours, the policy for one, and each combination of the others has a panel, on the same scale. A value has one colour, and
//! beyond as many as there are one kind of dashes, in all panels of a page. Of very many values each panel has a part, evenly.

mod runs;

use sojourn_stats::{Dimension, Estimate, quantity};

use super::canvas::{Align, Axis, Canvas, Ink, svg};
use super::chart::{Beside, Chart, Mark, Series, Side, covers};
use super::curves::{BOTTOM, HEIGHT, LEFT, NEAR, RIGHT, TEXT, TOP, WIDTH};
use super::{Figure, MOST_VARIANTS, dots, estimates_table, figure_with, panel};
use crate::compare::compared_setting;
use crate::report::html::escape;
use crate::report::{Answers, BEFORE_RUN, Engine, RUN, VariantAnswers, compare, number};
use crate::variants::label;

/// Fewer values are better compared in the dot plots.
const FEWEST_VALUES: usize = 3;
/// More curves than this are not followed by the eye in one panel.
const MOST_CURVES: usize = 24;
/// From this factor between the ends on, an axis is logarithmic.
const DECADES: f64 = 50.0;
/// What is drawn over the setting, and its name on an axis.
const METRICS: [(&str, &str); 2] =
    [(compare::MEAN, "mean response time"), ("response_time_p99", "99th percentile of the response time")];

/// A setting as an axis.
struct Setting<'a> {
    key: &'a str,
    /// Its unit; empty of a plain number.
    unit: &'static str,
}

/// The variants that differ only in the setting on the axis, in its order.
struct Sweep<'a> {
    others: VariantAnswers,
    points: Vec<(f64, &'a VariantAnswers)>,
}

/// Response times over the number that takes most values; nothing where none takes enough.
pub(super) fn figure(report: &Answers) -> String {
    let Some(setting) = axis(report) else { return String::new() };
    let sweeps = sweeps(report, setting.key);
    let title = match setting.unit {
        "" => setting.key.to_owned(),
        unit => format!("{} ({unit})", setting.key),
    };
    let inks = runs::inks(report, setting.key, &sweeps);
    if !fit_one_panel(report, &sweeps, &inks) {
        let compared = colored(report, setting.key).unwrap_or_default();
        return METRICS.map(|metric| panels(report, &sweeps, (&title, compared), metric)).concat();
    }
    let undrawn = undrawn(report, &sweeps);
    let figures = METRICS.iter().filter_map(|(metric, name)| {
        let chart = together(&sweeps, &title, (metric, name), &undrawn)?;
        let chart = Chart { inks: inks.clone(), ..chart };
        let table = estimates_table(&chart.heading, &report.variants, &[(*metric).to_owned()]);
        Some(figure_with(&chart, table))
    });
    figures.collect()
}

/// Whether each curve has a look of its own in one panel: values of one setting have a colour or dashes each; several settings
/// share the colours of one.
fn fit_one_panel(report: &Answers, sweeps: &[Sweep<'_>], of_runs: &[Ink]) -> bool {
    let is_varied = |key: &&String| {
        let mut values = sweeps.iter().map(|sweep| sweep.others.setting(key));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let is_mixed = of_runs.is_empty() && report.settings.iter().filter(is_varied).count() > 1;
    sweeps.len() <= if is_mixed { Ink::SERIES } else { MOST_CURVES }
}

/// How many colours of series the curves over a setting have: those behind them are left for what else a page draws.
pub(super) fn taken(report: &Answers) -> usize {
    let Some(setting) = axis(report) else { return 0 };
    let sweeps = sweeps(report, setting.key);
    if fit_one_panel(report, &sweeps, &runs::inks(report, setting.key, &sweeps)) {
        return sweeps.len();
    }
    Colors::new(colored(report, setting.key).unwrap_or_default(), &sweeps).values.len()
}

/// That some variants are on no curve, since they do not say where on the axis they are; empty where all are.
fn undrawn(report: &Answers, sweeps: &[Sweep<'_>]) -> String {
    let drawn: usize = sweeps.iter().map(|sweep| sweep.points.len()).sum();
    match report.variants.len() - drawn {
        0 => String::new(),
        1 => " One variant does not say where on this axis it is: its numbers are in the tables.".to_owned(),
        rest => format!(" {rest} variants do not say where on this axis they are: their numbers are in the tables."),
    }
}

/// Whether values are told apart on a logarithmic axis only.
fn spans_decades(least: f64, most: f64) -> bool {
    least > 0.0 && most > DECADES * least
}

/// What an engine says of a metric that can be drawn on a logarithmic axis.
fn known<'a>(variant: &'a VariantAnswers, engine: Engine, metric: &str) -> Option<(&'a Estimate, f64)> {
    let estimate = variant.estimate(engine, metric)?;
    Some((estimate, estimate.value().filter(|value| *value > 0.0)?))
}

fn known_by_another(variant: &VariantAnswers, engine: Engine, metric: &str) -> bool {
    Engine::ALL.into_iter().any(|other| other != engine && known(variant, other, metric).is_some())
}

/// A number and the ends of its interval, where it has one, as far as a logarithmic axis can show them.
fn heights(estimate: &Estimate, value: f64) -> [f64; 3] {
    let (low, high) = estimate.interval().unwrap_or((value, value));
    [value, if low > 0.0 { low } else { value }, high]
}

/// All sweeps in one panel: curves of the engine that knows most of them, and the others' numbers beside; none where no engine
/// has two numbers.
fn together(sweeps: &[Sweep<'_>], title: &str, (metric, name): (&str, &str), undrawn: &str) -> Option<Chart> {
    let points = || sweeps.iter().flat_map(|sweep| &sweep.points);
    let count = |engine: Engine| points().filter(|(_, of)| known(of, engine, metric).is_some()).count();
    // The simulator, where others know as many: its numbers are the sharpest.
    let engine = Engine::ALL.into_iter().max_by_key(|engine| (count(*engine), *engine == Engine::Sim))?;
    let others: Vec<Engine> = Engine::ALL.into_iter().filter(|of| *of != engine && count(*of) > 0).collect();
    let all = Engine::ALL.into_iter().flat_map(|engine| points().filter_map(move |(_, of)| known(of, engine, metric)));
    let heights: Vec<f64> = all.flat_map(|(estimate, value)| heights(estimate, value)).collect();
    let (least, most) = bounds(&points().map(|point| point.0).collect::<Vec<f64>>());
    if count(engine) < 2 || most <= least {
        return None;
    }
    let line = |sweep: &Sweep<'_>| {
        let on_it = |(at, of): &(f64, &VariantAnswers)| Some((*at, known(of, engine, metric)?.1));
        let label = &sweep.others.label;
        let name = if label.is_empty() { engine.name().to_owned() } else { label.clone() };
        Series { name, mark: Mark::Line, points: sweep.points.iter().filter_map(on_it).collect() }
    };
    let mut beside = Vec::new();
    for (series, sweep) in sweeps.iter().enumerate() {
        for (at, of) in &sweep.points {
            let interval = known(of, engine, metric).and_then(|(estimate, _)| estimate.interval());
            beside.extend(interval.map(|(low, high)| Beside::Interval { series, at: *at, low, high }));
            for engine in others.iter().copied() {
                let Some((estimate, value)) = known(of, engine, metric) else { continue };
                let hollow = !matches!(estimate, Estimate::Exact { .. } | Estimate::Sampled { .. });
                beside.push(Beside::Marker { series, engine, at: *at, value, hollow });
            }
        }
    }
    let log = spans_decades(least, most);
    let side = |title: &str, log: bool, label: fn(f64) -> String, ends: (f64, f64)| Side {
        title: title.to_owned(),
        log,
        label,
        ends,
    };
    let with: Vec<&str> = others.iter().map(|engine| engine.name()).collect();
    let with = if with.is_empty() { String::new() } else { format!(", and of {} as marks", with.join(" and ")) };
    Some(Chart {
        id: id(metric).into(),
        heading: format!("{} over the whole range", capital(name)),
        caption: format!(
            "The numbers of {} with their intervals{with}, over <code>{}</code>; the vertical axis is logarithmic.{undrawn}",
            engine.name(),
            escape(title)
        ),
        x: side(
            title,
            log,
            |value| format!("{value}"),
            (if log { least } else { (least - (most - least) / 20.0).max(0.0) }, most),
        ),
        y: side(name, true, dots::round_time, bounds(&heights)),
        series: sweeps.iter().map(line).collect(),
        beside,
        inks: Vec::new(),
    })
}

fn id(metric: &str) -> &'static str {
    if metric == compare::MEAN { "sweep" } else { "sweep-p99" }
}

/// With a capital letter, as a heading begins.
fn capital(name: &str) -> String {
    format!("{}{}", name[..1].to_uppercase(), &name[1..])
}

/// The setting that has the colours where not every curve can have its own: that of runs beside each other, else the one by
/// whose values variants are compared, unless it is on the axis.
fn colored<'a>(report: &'a Answers, axis: &str) -> Option<&'a str> {
    let is_varied = |key: &&str| {
        let mut values = report.variants.iter().map(|of| of.setting(key));
        let first = values.next();
        *key != axis && values.any(|value| Some(value) != first)
    };
    let runs = std::iter::once(RUN).find(is_varied);
    let compared = compared_setting(report).filter(is_varied);
    runs.or(compared).or_else(|| report.settings.iter().map(String::as_str).find(is_varied))
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
fn by_panel<'a>(sweeps: &'a [Sweep<'a>], colors: &Colors<'_>) -> Vec<Panel<'a>> {
    let mut panels: Vec<Panel<'a>> = Vec::new();
    for sweep in sweeps {
        let settings = sweep.others.settings.iter().filter(|(key, _)| key != colors.key);
        let settings: Vec<(String, String)> = settings.cloned().collect();
        let (part, ink) = colors.of(sweep);
        match panels.iter_mut().find(|panel| panel.part == part && panel.of.settings == settings) {
            Some(panel) => panel.curves.push((sweep, ink)),
            None => {
                let by_values = || label(settings.iter().map(|(key, value)| (&**key, &**value)));
                let own = sweep.others.name().is_none().then(|| sweep.others.label_without(&[colors.key]));
                let label = own.filter(|own| !own.is_empty()).unwrap_or_else(by_values);
                let of = VariantAnswers { label, settings, answers: Vec::new() };
                panels.push(Panel { of, part, curves: vec![(sweep, ink)] });
            }
        }
    }
    panels
}

/// A panel for each combination of the settings but two: the one on the axis, and `compared`, such as the policy, which has a
/// curve for each of its values; more of them than there are colours are in several panels.
fn panels(
    report: &Answers,
    sweeps: &[Sweep<'_>],
    (title, compared): (&str, &str),
    (metric, name): (&str, &str),
) -> String {
    let colors = Colors::new(compared, sweeps);
    let points = || sweeps.iter().flat_map(|sweep| &sweep.points);
    let of_engine = |of| Engine::ALL.into_iter().filter_map(move |engine| known(of, engine, metric));
    let all = points().flat_map(|(_, of)| of_engine(of)).flat_map(|(estimate, value)| heights(estimate, value));
    let (lowest, highest) = bounds(&all.collect::<Vec<f64>>());
    let (least, most) = bounds(&points().map(|point| point.0).collect::<Vec<f64>>());
    if highest < lowest || most <= least {
        return String::new();
    }
    let x = match spans_decades(least, most) {
        true => Axis::log(least, most, LEFT, RIGHT),
        false => Axis::linear((least - (most - least) / 20.0).max(0.0), most, LEFT, RIGHT),
    };
    let axes = (x, Axis::log(lowest, highest, BOTTOM, TOP));
    let all = by_panel(sweeps, &colors);
    let drawn = |one: &Panel<'_>| panel(&one.of, &draw(one, title, (metric, name), &axes));
    let drawings: Vec<String> = all.iter().take(MOST_VARIANTS).map(drawn).collect();
    let rest = match all.len().saturating_sub(MOST_VARIANTS) {
        0 => String::new(),
        rest => format!(" {rest} more combinations are not drawn; their numbers are in the tables."),
    };
    let rest = rest + &undrawn(report, sweeps);
    let parts = match colors.are_in_parts() {
        true => format!(
            " <code>{}</code> has more values than a panel can show: they are in several panels, in colours of their own.",
            escape(compared)
        ),
        false => String::new(),
    };
    let caption = format!(
        "{} (up, logarithmic) over <code>{}</code> (right), with intervals. Every panel has the same scale. Lines and \
         circles are sim, diamonds theory, hollow where it is approximate. A wide line has another on it.{parts}{rest}",
        capital(name),
        escape(title)
    );
    let heading = format!("{} over the whole range", capital(name));
    let table = estimates_table(&heading, &report.variants, &[metric.to_owned()]);
    let columns = if drawings.len() == 2 || drawings.len() == 4 { "two" } else { "three" };
    let id = format!("plot-{}", id(metric));
    Figure { id: &id, heading: &heading, columns, legend: colors.legend(), drawings, caption, table }.html()
}

fn bounds(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

/// The setting that takes most values, all of them numbers, or amounts of one kind.
fn axis(report: &Answers) -> Option<Setting<'_>> {
    let values = |key: &str| {
        let mut unit = None;
        let mut places = Vec::new();
        for value in report.variants.iter().filter_map(|of| of.setting(key)) {
            let (place, of) = place(value)?;
            if *unit.get_or_insert(of) != of {
                return None;
            }
            places.push(place);
        }
        places.sort_by(f64::total_cmp);
        places.dedup();
        Some((places.len(), unit?))
    };
    let counted = report.settings.iter().filter_map(|key| Some((values(key)?, key.as_str())));
    let most = counted.filter(|((count, _), _)| *count >= FEWEST_VALUES).max_by_key(|((count, _), _)| *count);
    most.map(|((_, unit), key)| Setting { key, unit })
}

/// Where a value stands on an axis, and its unit: a plain number, a percentage, or an amount.
fn place(value: &str) -> Option<(f64, &'static str)> {
    match value.parse() {
        Ok(number) => Some((number, "")),
        Err(_) => {
            let (amount, dimension) = quantity::parse_any(value).ok()?;
            Some((amount, if dimension == Dimension::Number { "" } else { dimension.si_unit() }))
        }
    }
}

fn sweeps<'a>(report: &'a Answers, key: &str) -> Vec<Sweep<'a>> {
    let mut all: Vec<Sweep<'a>> = Vec::new();
    for variant in &report.variants {
        let Some((x, _)) = variant.setting(key).and_then(place) else { continue };
        let settings: Vec<(String, String)> = variant.settings.iter().filter(|(of, _)| of != key).cloned().collect();
        match all.iter_mut().find(|sweep| sweep.others.settings == settings) {
            Some(sweep) => sweep.points.push((x, variant)),
            None => {
                let label = name(variant, key);
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

/// What a variant is called without where it is on the axis, and behind that its run, where there are several.
fn name(variant: &VariantAnswers, axis: &str) -> String {
    let others = variant.settings.iter().filter(|(key, _)| key != RUN && key != axis);
    let by_values = || label(others.map(|(key, value)| (&**key, &**value)));
    let own = Some(variant.label_without(&[axis])).filter(|own| !own.is_empty()).unwrap_or_else(by_values);
    match variant.setting(RUN) {
        Some(run) if own.is_empty() => run.to_owned(),
        Some(run) => format!("{own}{BEFORE_RUN}{run}"),
        None => own,
    }
}

/// The curves of a panel, each in its colour; each engine's numbers have its marker.
fn draw(panel: &Panel<'_>, title: &str, (metric, name): (&str, &str), (x, y): &(Axis, Axis)) -> String {
    svg(WIDTH, HEIGHT, &format!("{} over {title}: {}", capital(name), panel.of.label), |canvas: &Canvas| {
        for tick in y.ticks(6) {
            let at = y.at(tick);
            canvas.bar((LEFT, at - 0.4), (RIGHT, at + 0.4), Ink::Grid, 1.0);
            canvas.text(&dots::round_time(tick), (LEFT - 6.0, at), Align::Right, TEXT - 1.0, Ink::Muted);
        }
        dots::x_axis(canvas, x, TOP, BOTTOM, 6, |value| format!("{value}"), title);
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
        for ((width, opacity), points, ink) in &lines {
            canvas.path(points, *ink, *opacity, *width);
        }
        // Formulas last: a circle of the simulator stands where a diamond does.
        for engine in Engine::ALL.into_iter().rev() {
            for (sweep, ink) in &panel.curves {
                let known = sweep.points.iter().filter_map(|(at, of)| Some((*at, known(of, engine, metric)?)));
                for (at, (estimate, value)) in known {
                    let (left, top) = (x.at(at), y.at(value));
                    let hollow = matches!(estimate, Estimate::Approximate { .. } | Estimate::WithoutInterval { .. });
                    let [_, low, high] = heights(estimate, value);
                    canvas.bar((left - 0.5, y.at(high)), (left + 0.5, y.at(low)), *ink, 1.0);
                    canvas.mark(engine, *ink, (left, top), 2.4, hollow);
                    let value = number::quantity(value, "s");
                    let told = format!("{}, {title} {at}, {}: {value}", sweep.others.label, engine.name());
                    canvas.tell(&told, (left - NEAR, top - NEAR), (left + NEAR, top + NEAR));
                }
            }
        }
    })
}
