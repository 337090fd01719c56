//! Metrics over a setting that is a number (a load, users, servers, a time, the rate of a law): a curve for each combination of
//! the other settings, all in one panel, with marks of every engine and their intervals. Drawn where a number takes enough values
//! to make a curve, in a page and, of one metric, in a file of its own. Where several settings make more combinations than an eye
//! follows, one of them has the colours, the policy for one, and each combination of the others has a panel, on the same
//! scale. A value has one colour, and beyond as many as there are one kind of dashes, in all panels of a page. Of very many
//! values each panel has a part, evenly.

mod panels;
mod runs;
mod setting;

use sojourn_stats::Estimate;

use self::setting::{Setting, axis, ends, spans_decades, with_room};
use super::canvas::Ink;
use super::chart::{Beside, Chart, Mark, Series, Side};
use super::{cut, dots, estimates_table, figure_with, unanswered};
use crate::compare::compared_setting;
use crate::report::html::{and_list, escape};
use crate::report::{Answers, BEFORE_RUN, Engine, RUN, VariantAnswers, compare};
use crate::variants::label;

/// More curves than this are not followed by the eye in one panel.
const MOST_CURVES: usize = 24;
/// Of more curves of several settings one value has too many colours, where panels would give it one.
const MOST_MIXED: usize = 6;
/// The title of an axis has room for so many characters on a narrow page.
const TITLE: usize = 46;
/// What is drawn over the setting, and its name on an axis.
const METRICS: [(&str, &str); 2] =
    [(compare::MEAN, "mean response time"), ("response_time_p99", "99th percentile of the response time")];

/// The variants that differ only in the setting on the axis, in its order.
struct Sweep<'a> {
    others: VariantAnswers,
    points: Vec<(f64, &'a VariantAnswers)>,
}

/// The curves of a report over the number that takes most values.
struct Curves<'a> {
    report: &'a Answers,
    axis: Setting<'a>,
    sweeps: Vec<Sweep<'a>>,
    /// The ink of each sweep of runs beside each other; empty of one run.
    inks: Vec<Ink>,
}

impl<'a> Curves<'a> {
    /// None where no number takes enough values.
    fn of(report: &'a Answers) -> Option<Curves<'a>> {
        let axis = axis(report)?;
        let sweeps = sweeps(report, &axis);
        let inks = runs::inks(report, axis.key, &sweeps);
        Some(Curves { report, axis, sweeps, inks })
    }

    /// Whether each curve has a look of its own in one panel: values of one setting have a colour or dashes each; several
    /// settings share the colours of one.
    fn fit_one_panel(&self) -> bool {
        let is_varied = |key: &&String| {
            let mut values = self.sweeps.iter().map(|sweep| sweep.others.setting(key));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let is_mixed = self.inks.is_empty() && self.report.settings.iter().filter(is_varied).count() > 1;
        let most = match is_mixed {
            true if panels::share_colors(self) => MOST_MIXED,
            true => Ink::SERIES,
            false => MOST_CURVES,
        };
        self.sweeps.len() <= most
    }

    /// The setting that has the colours where not every curve can have its own.
    fn colored(&self) -> &'a str {
        colored(self.report, self.axis.key).unwrap_or_default()
    }

    /// All curves in one panel; none where no engine has two numbers.
    fn chart(&self, metric: (&str, &str)) -> Option<Chart> {
        let chart = together(&self.sweeps, &self.axis, metric, &undrawn(self.report, &self.sweeps))?;
        Some(Chart { inks: self.inks.clone(), ..chart })
    }

    /// As a figure of a page; empty where there is nothing to draw.
    fn figure(&self, metric: (&str, &str)) -> String {
        if !self.fit_one_panel() {
            return panels::figure(self, metric);
        }
        let Some(chart) = self.chart(metric) else { return String::new() };
        let table = estimates_table(&chart.heading, &self.report.variants, &[metric.0.to_owned()]);
        figure_with(&chart, table)
    }
}

/// Response times over the number that takes most values; nothing where none takes enough.
pub(super) fn figure(report: &Answers) -> String {
    let Some(curves) = Curves::of(report) else { return String::new() };
    METRICS.map(|metric| curves.figure(metric)).concat()
}

/// The same of one metric with its name as a file of its own, and what of the report is not in it, in sentences; none where there
/// is no curve.
pub(super) fn alone(report: &Answers, metric: (&str, &str)) -> Option<(String, String)> {
    let curves = Curves::of(report)?;
    if !curves.fit_one_panel() {
        return panels::alone(&curves, metric);
    }
    Some((curves.chart(metric)?.alone(), undrawn(report, &curves.sweeps)))
}

/// How many colours of series the curves over a setting have: those behind them are left for what else a page draws.
pub(super) fn taken(report: &Answers) -> usize {
    let Some(curves) = Curves::of(report) else { return 0 };
    if curves.fit_one_panel() {
        return curves.sweeps.len();
    }
    panels::colors(&curves)
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

/// Whether a number's mark is hollow: a formula's is approximate, or there is no interval.
fn is_hollow(estimate: &Estimate) -> bool {
    !matches!(estimate, Estimate::Exact { .. } | Estimate::Sampled { .. })
}

/// What the marks of these engines are, in sentences of HTML.
fn marks(shown: &[Engine]) -> String {
    let form = |engine: &Engine| match engine {
        Engine::Theory => "pale diamonds are <em>theory</em>, hollow where it is approximate",
        Engine::Sim => "circles are <em>sim</em>",
        Engine::Live => "squares are <em>live</em>",
        Engine::Twin => "triangles are <em>twin</em>",
        Engine::Log => "flat rectangles are the <em>log</em>",
    };
    let forms: Vec<String> = shown.iter().map(|engine| form(engine).to_owned()).collect();
    let intervals = match shown.iter().any(|engine| *engine != Engine::Theory) {
        true => " What was simulated or measured has its interval, and a hollow mark where there is none.",
        false => "",
    };
    format!("{}.{intervals}", capital(&and_list(&forms, forms.len())))
}

/// All sweeps in one panel: lines of the engine that knows most of them, and marks of all; none where no engine has two numbers.
fn together(sweeps: &[Sweep<'_>], axis: &Setting<'_>, (metric, name): (&str, &str), undrawn: &str) -> Option<Chart> {
    let points = || sweeps.iter().flat_map(|sweep| &sweep.points);
    let count = |engine: Engine| points().filter(|(_, of)| known(of, engine, metric).is_some()).count();
    // The simulator, where others know as many: its numbers are the sharpest.
    let engine = Engine::ALL.into_iter().max_by_key(|engine| (count(*engine), *engine == Engine::Sim))?;
    let shown: Vec<Engine> = Engine::ALL.into_iter().filter(|of| count(*of) > 0).collect();
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
            let at = *at;
            for engine in shown.iter().copied() {
                let Some((estimate, value)) = known(of, engine, metric) else { continue };
                let interval = estimate.interval();
                beside.extend(interval.map(|(low, high)| Beside::Interval { series, engine, at, low, high }));
                beside.push(Beside::Marker { series, engine, at, value, hollow: is_hollow(estimate) });
                let share = unanswered::share(of, engine, metric);
                beside.extend(share.map(|share| Beside::Cross { series, engine, at, value, share }));
            }
        }
    }
    let log = spans_decades(least, most);
    let x_ends = if log { with_room((least, most)) } else { ends((least, most), TICKS) };
    let crosses = if beside.iter().any(Beside::is_cross) { unanswered::sentence() } else { String::new() };
    let title = axis.title();
    let side = |title: &str, log: bool, label: fn(f64) -> String, ends: (f64, f64)| Side {
        title: title.to_owned(),
        log,
        label,
        ends,
    };
    Some(Chart {
        id: id(metric).into(),
        heading: format!("{} over the whole range", capital(name)),
        caption: format!(
            "Lines join the numbers of {}, over <code>{}</code>; the vertical axis is logarithmic. {}{crosses}{undrawn}",
            engine.name(),
            escape(&title),
            marks(&shown)
        ),
        x: side(&cut(&title, TITLE), log, axis.label(), x_ends),
        y: side(name, true, dots::round_time, bounds(&heights)),
        series: sweeps.iter().map(line).collect(),
        beside,
        inks: Vec::new(),
    })
}

/// About so many ticks has the axis of a wide panel.
const TICKS: usize = 7;

fn id(metric: &str) -> &'static str {
    if metric == compare::MEAN { "sweep" } else { "sweep-p99" }
}

/// With a capital letter, as a heading begins.
pub(super) fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
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

fn bounds(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

fn sweeps<'a>(report: &'a Answers, axis: &Setting<'_>) -> Vec<Sweep<'a>> {
    let key = axis.key;
    let mut all: Vec<Sweep<'a>> = Vec::new();
    let on_it = report.variants.iter().filter(|of| of.setting(key).is_some());
    for (variant, x) in on_it.zip(axis.numbers.at.iter().copied()) {
        let settings: Vec<(String, String)> = variant.settings.iter().filter(|(of, _)| of != key).cloned().collect();
        match all.iter_mut().find(|sweep| sweep.others.settings == settings) {
            Some(sweep) => sweep.points.push((x, variant)),
            None => {
                let label = name(report, variant, key);
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
fn name(report: &Answers, variant: &VariantAnswers, axis: &str) -> String {
    let is_told = |key: &str| key != RUN && key != axis && report.varies(key);
    let others = variant.settings.iter().filter(|(key, _)| is_told(key));
    let by_values = || label(others.map(|(key, value)| (&**key, &**value)));
    let own = Some(variant.label_without(&[axis])).filter(|own| !own.is_empty()).unwrap_or_else(by_values);
    match variant.setting(RUN) {
        Some(run) if own.is_empty() => run.to_owned(),
        Some(run) => format!("{own}{BEFORE_RUN}{run}"),
        None => own,
    }
}
