//! Where requests went over time, in a system in which something breaks: a figure for each engine of a variant, with a line
//! for each site, and one for those that failed.

use super::html::one_by_one;
use super::number::significant;
use super::plots::chart::{Chart, Mark, Series, Side};
use super::plots::ink::{Ink, Meaning};
use super::plots::{chart_figure, colors_taken};
use super::{Answer, Answers, VariantAnswers};
use crate::answer::{FAILED, Flow};

/// The section of a report; empty where nothing breaks.
pub(super) fn section(report: &Answers) -> String {
    let has_places = |variant: &&VariantAnswers| variant.answers.iter().any(|answer| !answer.flows.is_empty());
    let variants: Vec<_> = report.variants.iter().filter(has_places).collect();
    if variants.is_empty() {
        return String::new();
    }
    let inks = Inks::of(report);
    let figures = |index: usize, variant: &&VariantAnswers| -> String {
        variant.answers.iter().filter_map(|answer| figure(index, answer, &inks)).collect()
    };
    let drawn = one_by_one(&variants, |variant| variant.label.as_str(), figures, ("variant", "places.csv"));
    format!("<section id=\"places\">\n<h2>Where requests went while something broke</h2>\n{drawn}</section>\n")
}

/// The colours of all places of a page: each has one in all figures, and no curve over a setting has it.
struct Inks<'a> {
    /// Sites and servers, in the order in which they come.
    places: Vec<&'a str>,
    /// How many colours are others'.
    taken: usize,
}

impl<'a> Inks<'a> {
    fn of(report: &'a Answers) -> Inks<'a> {
        let answers = report.variants.iter().flat_map(|variant| &variant.answers);
        let mut places: Vec<&str> = Vec::new();
        for flow in answers.flat_map(|answer| &answer.flows).filter(|flow| flow.to != FAILED) {
            if !places.contains(&flow.to.as_str()) {
                places.push(&flow.to);
            }
        }
        Inks { places, taken: colors_taken(report) }
    }

    /// That of where requests went; of nowhere where they failed.
    fn ink(&self, to: &str) -> Ink {
        let place = self.places.iter().position(|place| *place == to);
        place.map_or(Ink::of(Meaning::Failed), |place| Ink::of_series(self.taken + place))
    }
}

fn figure(index: usize, answer: &Answer, inks: &Inks<'_>) -> Option<String> {
    let line = |flow: &Flow| Series { name: flow.to.clone(), mark: Mark::Line, points: flow.points.clone() };
    let series: Vec<Series> = answer.flows.iter().map(line).collect();
    let all = || series.iter().flat_map(|series| &series.points);
    let (last_s, most) = all().fold((0.0, 0.0), |(at, most): (f64, f64), point| (at.max(point.0), most.max(point.1)));
    if series.is_empty() {
        return None;
    }
    let inks = answer.flows.iter().map(|flow| inks.ink(&flow.to)).collect();
    let engine = answer.engine.name();
    Some(chart_figure(&Chart {
        id: format!("places-{engine}-{index}"),
        heading: format!("Requests per second, {engine}"),
        caption: "By the instants at which they were planned, warm-up included; replications are averaged.".into(),
        x: Side {
            title: "second of the run".into(),
            log: false,
            label: |value| format!("{value:.0} s"),
            ends: (0.0, last_s.max(1.0)),
        },
        y: Side {
            title: "per second".into(),
            log: false,
            label: significant,
            ends: (0.0, if most > 0.0 { most * 1.05 } else { 1.0 }),
        },
        series,
        beside: Vec::new(),
        inks,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::Engine;
    use super::*;

    #[test]
    fn each_engine_has_a_figure_with_a_line_for_each_place() {
        let flow = |to: &str| Flow { to: to.to_owned(), points: vec![(0.0, 1.0), (1.0, 3.0)] };
        let flows = ["c1", "c<2>", "failed"].map(flow).to_vec();
        let answers = [Engine::Sim, Engine::Live].map(|engine| Answer { flows: flows.clone(), ..Answer::new(engine) });
        let variant = VariantAnswers { label: "a & b".into(), answers: answers.to_vec(), ..VariantAnswers::default() };
        let text = section(&Answers { variants: vec![variant, VariantAnswers::default()], ..Answers::default() });
        assert_eq!(text.matches("<figure").count(), 2, "{text}");
        assert!(
            text.contains("a &amp; b") && text.contains("c&lt;2&gt;") && text.contains("plot-places-live-0"),
            "{text}"
        );
        // The third of the places is none.
        assert!(text.contains("\"s-failed\"") && text.contains("\"s-series-1\""), "{text}");
        assert!(!text.contains("series-2"), "{text}");
        assert_eq!(section(&Answers { variants: vec![VariantAnswers::default()], ..Answers::default() }), "");
    }
}
