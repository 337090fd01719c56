//! The notes of a page, and why its live runs are in doubt: each once, with the variants or runs that it is of, in few words.

mod ranges;
mod said;
mod whose;

use std::cmp::Reverse;

use self::whose::runs_of;
use super::html::{engine, escape};
use super::{Answers, Engine, VariantAnswers, reasons};

pub use self::said::{Note, Said};
pub use self::whose::scope;

/// Why an engine has no answer, and what to know when reading one. Equal notes are said once, and so are those that differ in
/// their numbers only: with the range of one number, else by the one that has most.
pub(super) fn section(report: &Answers) -> String {
    let said = Said::of(&report.variants, |_| true).notes;
    if said.is_empty() {
        return String::new();
    }
    let mut groups: Vec<(Engine, Vec<usize>, Vec<String>)> = Vec::new();
    for note in said {
        let told = format!("<dd>{}</dd>\n", escape(&note.told(&report.variants)));
        match groups.iter_mut().find(|(engine, of, _)| *engine == note.engine && *of == note.variants) {
            Some((_, _, notes)) => notes.push(told),
            None => groups.push((note.engine, note.variants, vec![told])),
        }
    }
    // Of runs beside each other: what several say first, then run by run.
    groups.sort_by_cached_key(|(engine, variants, _)| {
        let runs = runs_of(report, variants);
        (Reverse(runs.len()), runs.first().map(|(place, _)| *place), *engine)
    });
    let items: String = groups
        .iter()
        .map(|(who, variants, notes)| {
            let scope = escape(&scope(report, variants));
            let who = engine(*who);
            format!("<div><dt>{who} <span class=\"muted\">\u{b7} {scope}</span></dt>\n{}</div>\n", notes.concat())
        })
        .collect();
    format!("<section id=\"notes\">\n<h2>Notes</h2>\n<dl class=\"notes\">\n{items}</dl>\n</section>\n")
}

/// Why live runs are not VALID, each reason once, behind the live runs that have it.
pub fn doubts(report: &Answers) -> Vec<(String, String)> {
    let of_variant = |(number, variant): (usize, &VariantAnswers)| {
        let trust = variant.trust()?;
        Some((number, reasons(trust.verdict, &trust.reasons)))
    };
    let live: Vec<(usize, Vec<String>)> = report.variants.iter().enumerate().filter_map(of_variant).collect();
    let mut said = Said::default();
    for (number, reasons) in &live {
        reasons.iter().for_each(|reason| said.add(Engine::Live, reason, *number));
    }
    let whose = |variants: &[usize]| match variants.len() {
        all if all == live.len() && all > 1 => format!("all {all} live runs"),
        _ => scope(report, variants),
    };
    said.notes.iter().map(|note| (whose(&note.variants), note.told(&report.variants))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Answer;

    #[test]
    fn equal_notes_are_said_once() {
        let note = "no formula for this policy";
        let variant = |label: &str| {
            let theory = Answer { notes: vec![note.to_owned()], ..Answer::new(Engine::Theory) };
            VariantAnswers { label: label.to_owned(), settings: Vec::new(), answers: vec![theory] }
        };
        let other = VariantAnswers { label: "c".to_owned(), ..VariantAnswers::default() };
        let report = Answers { variants: vec![variant("a"), variant("b"), other], ..Answers::default() };
        let text = section(&report);
        assert_eq!(text.matches(note).count(), 1);
        assert!(text.contains("a; b"), "{text}");
    }

    /// Notes that differ in numbers only stand once, with their ranges; two such notes of one variant are two.
    #[test]
    fn notes_that_differ_in_numbers_are_one_with_ranges() {
        let variant = |notes: &[&str]| {
            let notes = notes.iter().map(|note| (*note).to_owned()).collect();
            let theory = Answer { notes, ..Answer::new(Engine::Theory) };
            VariantAnswers { label: "a".into(), settings: Vec::new(), answers: vec![theory] }
        };
        let report = Answers {
            variants: vec![
                variant(&["station 1 is full", "station 2 is full", "p90: 5 short"]),
                variant(&["station 2 is full", "p90: 7 short"]),
                variant(&["p99: 9 short"]),
            ],
            ..Answers::default()
        };
        let text = section(&report);
        let told: Vec<&str> = text.split("<dd>").skip(1).map(|part| part.split('<').next().unwrap()).collect();
        let expected = ["station 1 is full", "station 2 is full", "p90: 5 to 7 short (most: a)", "p99: 9 short"];
        assert_eq!(told, expected, "{text}");
    }

    /// What two runs say alike stands once with the names of both, before what one of them says.
    #[test]
    fn what_runs_say_alike_is_said_once_with_their_names() {
        let variant = |run: &str, policy: &str, notes: &[&str]| {
            let notes = notes.iter().map(|note| (*note).to_owned()).collect();
            let settings = [("run", run), ("policy", policy)].map(|(key, value)| (key.to_owned(), value.to_owned()));
            let label = format!("{policy} \u{b7} {run}");
            VariantAnswers {
                label,
                settings: settings.to_vec(),
                answers: vec![Answer { notes, ..Answer::new(Engine::Sim) }],
            }
        };
        let variants = vec![
            variant("one", "random", &["of one", "of random", "of all"]),
            variant("two", "random", &["of random", "of all"]),
            variant("one", "jsq", &["of one", "of all"]),
            variant("two", "jsq", &["of all", "of one alone"]),
        ];
        let settings = vec!["run".to_owned(), "policy".to_owned()];
        let text = section(&Answers { settings, variants, ..Answers::default() });
        let told: Vec<(&str, &str)> = text
            .split("\u{b7} ")
            .skip(1)
            .map(|part| {
                (part.split('<').next().unwrap(), part.split("<dd>").nth(1).unwrap().split('<').next().unwrap())
            })
            .collect();
        let expected = [
            ("one and two: random", "of random"),
            ("one and two", "of all"),
            ("one", "of one"),
            ("two: jsq", "of one alone"),
        ];
        assert_eq!(told, expected, "{text}");
    }
}
