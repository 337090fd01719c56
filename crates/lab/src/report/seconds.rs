//! A run second by second: rates, response times, what is in flight and the generator's lateness. The seconds that raise
//! a doubt are marked, so that what disturbed a run can be looked for at its time.
//!
//! One run has a figure for each question with all that answers it; of several runs each quantity is a figure, with a line
//! for each run on the same axes.

use sojourn_load::{Limits, Second};

use super::html::one_by_one;
use super::number::significant;
use super::outcomes::{MEDIAN, P99};
use super::plots::chart::{Chart, Mark, Series, Side};
use super::plots::ink::{Ink, Meaning};
use super::plots::{chart_figure, round_time};
use super::{Answers, Engine, VariantAnswers};

/// A run, second by second.
pub(super) struct Timeline<'a> {
    pub(super) name: String,
    pub(super) seconds: &'a [Second],
    pub(super) limits: Limits,
    /// What its parts did although nothing asked for it: seconds after the start, and what.
    pub(super) incidents: &'a [(f64, String)],
}

/// The section of a report with its live runs, the first of them open.
pub(super) fn of_variants(report: &Answers) -> String {
    let all: Vec<Timeline> = report.variants.iter().filter_map(of_variant).collect();
    if all.is_empty() {
        return String::new();
    }
    let draw = |index: usize, run: &Timeline<'_>| figures(run, &format!("-{index}"));
    let runs = one_by_one(&all, |run| run.name.as_str(), draw, ("live run", "seconds.csv"));
    format!("<section id=\"time\">\n<h2>The live runs, second by second</h2>\n{runs}</section>\n")
}

/// The live run of a variant.
pub(super) fn of_variant(variant: &VariantAnswers) -> Option<Timeline<'_>> {
    let live = variant.answer(Engine::Live).filter(|answer| !answer.seconds.is_empty())?;
    let trust = live.trust.as_ref();
    Some(Timeline {
        name: variant.label.clone(),
        seconds: &live.seconds,
        limits: trust.map_or_else(Limits::default, |trust| trust.limits),
        incidents: trust.map_or(&[], |trust| &trust.incidents),
    })
}

/// What is known of a second.
struct Quantity {
    id: &'static str,
    name: &'static str,
    of: fn(&Second) -> Option<f64>,
    /// Its ink in a figure of one run.
    ink: Ink,
    /// Whether the second is a doubt because of it.
    doubtful: fn(&Limits, &Second) -> bool,
}

const fn plain(id: &'static str, name: &'static str, ink: Ink, of: fn(&Second) -> Option<f64>) -> Quantity {
    Quantity { id, name, of, ink, doubtful: |_, _| false }
}

/// Quantities that share an axis.
struct Question {
    id: &'static str,
    heading: &'static str,
    axis: &'static str,
    label: fn(f64) -> String,
    quantities: &'static [Quantity],
}

const QUESTIONS: [Question; 4] = [
    Question {
        id: "rate",
        heading: "Requests per second",
        axis: "per second",
        label: number,
        quantities: &[
            plain("planned", "planned", Ink::of(Meaning::Planned), |second| Some(second.planned as f64)),
            plain("begun", "begun", Ink::of(Meaning::Attempts), |second| Some(second.begun as f64)),
            plain("good", "good replies", Ink::of(Meaning::Good), |second| Some(second.ok as f64)),
            Quantity {
                id: "failed",
                name: "failed",
                of: |second| Some(second.failed as f64),
                ink: Ink::of(Meaning::Failed),
                doubtful: |limits, second| second.failed as f64 > limits.errors * second.planned as f64,
            },
        ],
    },
    Question {
        id: "response",
        heading: "Response time",
        axis: "response time",
        label: round_time,
        quantities: &[
            plain("mean", "mean", Ink::dashed(Meaning::Good, 3), |second| {
                (second.ok > 0).then_some(second.response_time_mean_s)
            }),
            plain("p50", "median", MEDIAN, |second| second.response_time_p50_s),
            plain("p99", "99th percentile", P99, |second| second.response_time_p99_s),
        ],
    },
    Question {
        id: "inside",
        heading: "Requests in flight",
        axis: "at the end of the second",
        label: number,
        quantities: &[plain("inside", "due and not over", Ink::dashed(Meaning::Planned, 1), |second| {
            Some(second.inside as f64)
        })],
    },
    Question {
        id: "lateness",
        heading: "Lateness of the generator",
        axis: "lateness",
        label: round_time,
        quantities: &[Quantity {
            id: "lateness",
            name: "99th percentile of the lateness",
            of: |second| second.lateness_p99_s,
            ink: Ink::dashed(Meaning::Attempts, 1),
            doubtful: |limits, second| second.lateness_p99_s.is_some_and(|late_s| late_s > limits.late_s),
        }],
    },
];

/// What is drawn of a quantity of a run.
struct Line<'a> {
    name: String,
    run: &'a Timeline<'a>,
    quantity: &'a Quantity,
    ink: Ink,
    /// That of the seconds that are doubtful.
    doubt: Ink,
}

/// The figures of one run; `suffix` tells their ids from those of another.
pub(super) fn figures(run: &Timeline<'_>, suffix: &str) -> String {
    let figure = |question: &Question| {
        let line = |quantity: &'static Quantity| Line {
            name: quantity.name.to_owned(),
            run,
            quantity,
            ink: quantity.ink,
            doubt: Ink::of(Meaning::Doubt),
        };
        let lines: Vec<Line> = question.quantities.iter().map(line).collect();
        let (id, heading) = (format!("{}{suffix}", question.id), question.heading.to_owned());
        Some(chart_figure(&chart(id, heading, question, &lines)?))
    };
    QUESTIONS.iter().filter_map(figure).collect()
}

/// The figures of several runs, each with a line for each run.
pub(super) fn beside(runs: &[Timeline<'_>], suffix: &str) -> String {
    let figure = |(question, quantity): (&Question, &'static Quantity)| {
        // Here a colour is a run's.
        let inks = |number: usize| [number, runs.len() + number].map(Ink::of_series);
        let lines = runs.iter().enumerate().map(|(number, run)| {
            let [ink, doubt] = inks(number);
            Line { name: run.name.clone(), run, quantity, ink, doubt }
        });
        let lines: Vec<Line> = lines.collect();
        let heading = match question.quantities {
            [_] => question.heading.to_owned(),
            _ => format!("{}: {}", question.heading, quantity.name),
        };
        Some(chart_figure(&chart(format!("{}{suffix}", quantity.id), heading, question, &lines)?))
    };
    let all = QUESTIONS.iter().flat_map(|question| question.quantities.iter().map(move |of| (question, of)));
    all.filter_map(figure).collect()
}

/// Lines over the seconds, with those marked that are doubtful; none where nothing is known.
fn chart(id: String, heading: String, question: &Question, lines: &[Line<'_>]) -> Option<Chart> {
    let seconds = |run: &'_ Timeline<'_>| run.seconds.iter().copied().enumerate().collect::<Vec<(usize, Second)>>();
    let points = |run: &Timeline<'_>, quantity: &Quantity, shown: &dyn Fn(&Second) -> bool| -> Vec<(f64, f64)> {
        let shown = seconds(run).into_iter().filter(|(_, second)| shown(second));
        shown.filter_map(|(at, second)| Some((at as f64, (quantity.of)(&second)?))).collect()
    };
    let line = |of: &Line| {
        let series = Series { name: of.name.clone(), mark: Mark::Line, points: points(of.run, of.quantity, &|_| true) };
        (series, of.ink)
    };
    let doubts = |of: &Line| {
        let is_doubtful = |second: &Second| (of.quantity.doubtful)(&of.run.limits, second);
        let name = format!("{}, beyond the limit: doubtful", of.name);
        (Series { name, mark: Mark::Dots, points: points(of.run, of.quantity, &is_doubtful) }, of.doubt)
    };
    let mut drawn: Vec<(Series, Ink)> = lines.iter().map(line).filter(|(of, _)| !of.points.is_empty()).collect();
    if drawn.is_empty() {
        return None;
    }
    let most = drawn.iter().flat_map(|(of, _)| &of.points).map(|point| point.1).fold(0.0, f64::max);
    let longest = lines.iter().map(|of| of.run.seconds.len()).max().unwrap_or(0);
    drawn.extend(lines.iter().map(doubts).filter(|(of, _)| !of.points.is_empty()));
    let doubtful: usize = drawn.iter().filter(|(of, _)| of.mark == Mark::Dots).map(|(of, _)| of.points.len()).sum();
    let caption = match doubtful {
        0 => "Each second of the run, warm-up included.".to_owned(),
        count => format!("Each second of the run, warm-up included; {count} of them are doubtful."),
    };
    let top = if most > 0.0 { most * 1.05 } else { 1.0 };
    let last_s = longest.saturating_sub(1).max(1) as f64;
    let incidents = lines.iter().enumerate().flat_map(|(number, line)| {
        // A run that has several lines here has its incidents once.
        let is_first = lines[..number].iter().all(|of| !std::ptr::eq(of.run, line.run));
        incidents(line.run, lines.len() > 1 && line.name == line.run.name, (top, last_s)).filter(move |_| is_first)
    });
    let dashes = (1..).map(|kind| Ink::dashed(Meaning::Fault, kind));
    drawn.extend(incidents.zip(dashes));
    let (series, inks) = drawn.into_iter().unzip();
    Some(Chart {
        id,
        heading,
        caption,
        x: Side {
            title: "second of the run".into(),
            log: false,
            label: |value| format!("{value:.0} s"),
            ends: (0.0, last_s),
        },
        y: Side { title: question.axis.into(), log: false, label: question.label, ends: (0.0, top) },
        series,
        beside: Vec::new(),
        inks,
    })
}

/// A line from bottom to top at the instant of each incident, with the run's name where several are drawn.
fn incidents(run: &Timeline<'_>, named: bool, (top, last_s): (f64, f64)) -> impl Iterator<Item = Series> {
    run.incidents.iter().map(move |(at_s, what)| Series {
        name: if named { format!("{}: {what}, {at_s:.1} s", run.name) } else { format!("{what}, {at_s:.1} s") },
        mark: Mark::When,
        points: [0.0, top].map(|y| (at_s.clamp(0.0, last_s), y)).to_vec(),
    })
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { significant(value) }
}
