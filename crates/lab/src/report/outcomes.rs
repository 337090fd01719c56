//! Outcomes over time, where something breaks or clients wait only so long: attempts, good replies and failures per second, and
//! response times, with the seconds in which a fault lasts.

use super::html::one_by_one;
use super::number::significant;
use super::plots::chart::{Chart, Mark, Series, Side};
use super::plots::ink::{Ink, Meaning};
use super::plots::{chart_figure, round_time};
use super::{Answers, VariantAnswers};
use crate::answer::{Answer, MetricOverTime};

/// What is drawn together.
struct Question {
    id: &'static str,
    heading: &'static str,
    axis: &'static str,
    label: fn(f64) -> String,
    /// Of each line the metric, its name and its ink.
    lines: &'static [(&'static str, &'static str, Ink)],
}

/// How long good replies took: their colour, with dashes.
pub(super) const MEDIAN: Ink = Ink::dashed(Meaning::Good, 1);
/// See [`MEDIAN`].
pub(super) const P99: Ink = Ink::dashed(Meaning::Good, 2);

const QUESTIONS: [Question; 2] = [
    Question {
        id: "outcomes",
        heading: "Requests per second",
        axis: "per second",
        label: significant,
        lines: &[
            ("attempts", "attempts", Ink::of(Meaning::Attempts)),
            ("goodput", "good replies", Ink::of(Meaning::Good)),
            ("failed", "failed", Ink::of(Meaning::Failed)),
        ],
    },
    Question {
        id: "outcomes-time",
        heading: "Response times",
        axis: "response time",
        label: round_time,
        lines: &[("response_time_p50", "median", MEDIAN), ("response_time_p99", "99th percentile", P99)],
    },
];

/// The section of a report; empty where nothing is told over time.
pub(super) fn section(report: &Answers) -> String {
    let is_told = |variant: &&VariantAnswers| variant.answers.iter().any(|answer| !answer.over_time.is_empty());
    let variants: Vec<_> = report.variants.iter().filter(is_told).collect();
    if variants.is_empty() {
        return String::new();
    }
    let figures = |index: usize, variant: &&VariantAnswers| -> String {
        let of = |answer: &Answer| QUESTIONS.iter().filter_map(|of| figure(index, answer, of)).collect::<String>();
        variant.answers.iter().map(of).collect()
    };
    let drawn = one_by_one(&variants, |variant| variant.label.as_str(), figures, ("variant", "timeline.csv"));
    format!("<section id=\"timeline\">\n<h2>Outcomes over time</h2>\n{drawn}</section>\n")
}

fn figure(index: usize, answer: &Answer, question: &Question) -> Option<String> {
    let of = |metric: &str| answer.over_time.iter().find(|of| of.metric == metric);
    let line = |(metric, name, ink): &(&str, &str, Ink)| {
        let known = of(metric)?.points.iter().filter_map(|(at, estimate)| Some((*at, estimate.value()?)));
        let series = Series { name: (*name).into(), mark: Mark::Line, points: known.collect() };
        (!series.points.is_empty()).then_some((series, *ink))
    };
    let (mut series, mut inks): (Vec<Series>, Vec<Ink>) = question.lines.iter().filter_map(line).unzip();
    let all = || series.iter().flat_map(|series| &series.points);
    let (last_s, most) = all().fold((0.0, 0.0), |(at, most): (f64, f64), point| (at.max(point.0), most.max(point.1)));
    if series.is_empty() {
        return None;
    }
    let top = if most > 0.0 { most * 1.05 } else { 1.0 };
    if let Some(broken) = of("faults").and_then(|faults| broken(faults, top)) {
        series.push(broken);
        inks.push(Ink::of(Meaning::Fault));
    }
    let engine = answer.engine.name();
    Some(chart_figure(&Chart {
        id: format!("{}-{engine}-{index}", question.id),
        heading: format!("{}, {engine}", question.heading),
        caption: "By the instants at which they were sent, answered or given up, warm-up included.".into(),
        x: Side {
            title: "second of the run".into(),
            log: false,
            label: |value| format!("{value:.0} s"),
            ends: (0.0, last_s.max(1.0)),
        },
        y: Side { title: question.axis.into(), log: false, label: question.label, ends: (0.0, top) },
        series,
        beside: Vec::new(),
        inks,
    }))
}

/// A line that is at the top while a fault lasts, and else at the bottom.
fn broken(faults: &MetricOverTime, top: f64) -> Option<Series> {
    let every_s = faults.points.get(1).map_or(1.0, |(at, _)| *at);
    let (mut points, mut before) = (vec![(0.0, 0.0)], false);
    for (at, estimate) in &faults.points {
        let lasts = estimate.value().is_some_and(|number| number > 0.0);
        if lasts != before {
            let (from, to) = if lasts { (0.0, top) } else { (top, 0.0) };
            points.extend([(*at, from), (*at, to)]);
        }
        before = lasts;
    }
    let end = faults.points.last()?.0 + every_s;
    points.push((end, if before { top } else { 0.0 }));
    (points.len() > 2).then(|| Series { name: "a fault lasts".into(), mark: Mark::When, points })
}

#[cfg(test)]
mod tests {
    use sojourn_stats::Estimate;

    use super::super::Engine;
    use super::*;

    #[test]
    fn outcomes_are_drawn_with_the_faults_among_them() {
        let exact = |value: f64| Estimate::Exact { value };
        let of = |metric: &str, values: [f64; 4]| MetricOverTime {
            metric: metric.into(),
            unit: "1/s".into(),
            points: (0u32..).map(f64::from).zip(values.map(exact)).collect(),
        };
        let over_time = vec![
            of("attempts", [7.0, 7.0, 28.0, 28.0]),
            of("goodput", [7.0, 0.0, 0.0, 0.0]),
            of("failed", [0.0, 0.0, 7.0, 7.0]),
            of("faults", [0.0, 1.0, 0.0, 0.0]),
        ];
        let broken = broken(&over_time[3], 30.0).unwrap();
        assert_eq!(broken.points, [(0.0, 0.0), (1.0, 0.0), (1.0, 30.0), (2.0, 30.0), (2.0, 0.0), (4.0, 0.0)]);
        let answers = vec![Answer { over_time, ..Answer::new(Engine::Sim) }];
        let variant = VariantAnswers { label: "a & b".into(), answers, ..VariantAnswers::default() };
        let text = section(&Answers { variants: vec![variant, VariantAnswers::default()], ..Answers::default() });
        assert_eq!(text.matches("<figure").count(), 1, "without times there is no figure of them: {text}");
        for part in ["a &amp; b", "good replies", "a fault lasts", "plot-outcomes-sim-0"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // The drawing's corners are no numbers.
        let (drawing, table) = text.split_once("<details class=\"behind\">").expect("there is a table behind it");
        assert!(drawing.contains("a fault lasts") && !table.contains("a fault lasts"), "{table}");
        assert!(table.contains("<th scope=\"col\">failed</th>") && !table.contains(" to "), "{table}");
        // What becomes of requests has none of the colours of servers and policies.
        for class in ["s-attempts", "s-good", "s-failed", "s-fault"] {
            assert!(text.contains(&format!("\"{class}\"")), "{class}: {text}");
        }
        assert!(!text.contains("series-"), "{text}");
        assert_eq!(section(&Answers { variants: vec![VariantAnswers::default()], ..Answers::default() }), "");
    }
}
