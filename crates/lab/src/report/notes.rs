//! The notes of a page, why its live runs are in doubt, and why its objectives came out as they did: each once, with the variants
//! or runs that it is of, in few words.

mod ranges;

use std::cmp::Reverse;

use self::ranges::without_numbers;
use super::html::{and_list, engine, escape};
use super::{Answers, Engine, RUN, VariantAnswers, reasons};
use crate::answer::ObjectiveAnswer;
use crate::variants::label;

pub use self::ranges::in_ranges;

/// What has each note of each variant as it was said.
const EACH: &str = "run.json";

/// Why an engine has no answer, and what to know when reading one. Equal notes are said once, and so are those that differ in
/// their numbers only, with the ranges of these.
pub(super) fn section(report: &Answers) -> String {
    let mut said = Said::default();
    for (number, variant) in report.variants.iter().enumerate() {
        for answer in &variant.answers {
            answer.notes.iter().for_each(|note| said.add(answer.engine, note, number));
        }
    }
    let said = said.notes;
    if said.is_empty() {
        return String::new();
    }
    let mut groups: Vec<(Engine, Vec<usize>, Vec<String>)> = Vec::new();
    for Note { engine: who, texts, variants, .. } in said {
        let note = format!("<dd>{}</dd>\n", escape(&in_ranges(&texts, EACH)));
        match groups.iter_mut().find(|(engine, of, _)| *engine == who && *of == variants) {
            Some((_, _, notes)) => notes.push(note),
            None => groups.push((who, variants, vec![note])),
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

/// Why live runs are not VALID, each reason once, behind the live runs that have it: what differs in its numbers only is one
/// reason, with their ranges.
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
    said.notes.iter().map(|note| (whose(&note.variants), in_ranges(&note.texts, EACH))).collect()
}

/// Why objectives came out as they did, each reason once that at least so many of them have, in a line with which these are.
pub fn reasons_of_objectives(report: &Answers, least: usize) -> Vec<(Note<'_>, String)> {
    let variants = report.variants.len();
    let has_reason = move |of: &&ObjectiveAnswer| of.variant < variants && !of.why().is_empty();
    let all = || report.objectives.iter().filter(has_reason);
    let mut said = Said::default();
    all().for_each(|of| said.add(of.engine, of.why(), of.variant));
    let lines = said.notes.into_iter().filter_map(|note| {
        let mut words = all().filter(|of| note.is_of(of)).map(|of| of.outcome().1);
        let (word, count) = (words.next()?, 1 + words.count());
        let (engine, whose) = (note.engine.name(), scope(report, &note.variants));
        let line = format!("{word} by {engine}, {whose}: {}", in_ranges(&note.texts, EACH));
        (count >= least).then_some((note, line))
    });
    lines.collect()
}

/// Which of several variants meet every objective, a sentence for each engine that judges them, each with the number of
/// objectives: up to ten are called by their `name`.
pub fn who_meets(report: &Answers, name: impl Fn(&VariantAnswers) -> String) -> Vec<(usize, String)> {
    const MOST_NAMED: usize = 10;
    let sentence = |engine: Engine| {
        let by = || report.objectives.iter().filter(|of| of.engine == engine && of.variant < report.variants.len());
        let mut texts: Vec<&str> = by().map(|of| of.text.as_str()).collect();
        texts.sort_unstable();
        texts.dedup();
        let mut asked: Vec<usize> = by().map(|of| of.variant).collect();
        asked.sort_unstable();
        asked.dedup();
        if asked.len() < 2 {
            return None;
        }
        let meets = |variant: &&usize| by().filter(|of| of.variant == **variant).all(|of| of.met == Some(true));
        let met: Vec<usize> = asked.iter().filter(meets).copied().collect();
        let what = match texts.len() {
            1 => "the objective".to_owned(),
            2 => "both objectives".to_owned(),
            several => format!("all {several} objectives"),
        };
        let (by, all, count) = (engine.name(), asked.len(), met.len());
        let who = match count {
            0 => format!("none of {all} variants meets {what}"),
            1 => format!("1 of {all} variants meets {what}"),
            _ if count == all => format!("all {all} variants meet {what}"),
            _ => format!("{count} of {all} variants meet {what}"),
        };
        let names = match (1..=MOST_NAMED).contains(&count) && count < all {
            true => {
                let names: Vec<String> = met.iter().map(|variant| name(&report.variants[*variant])).collect();
                format!(": {}", names.join("; "))
            }
            false => String::new(),
        };
        Some((texts.len(), format!("By {by}, {who}{names}.")))
    };
    Engine::ALL.into_iter().filter_map(sentence).collect()
}

/// Notes of engines about variants, in the order in which they were added.
#[derive(Default)]
pub struct Said<'a> {
    /// The notes.
    pub notes: Vec<Note<'a>>,
}

/// What an engine says of some variants, alike but for numbers.
pub struct Note<'a> {
    /// Who says it.
    pub engine: Engine,
    /// Its wordings, which differ in numbers.
    pub texts: Vec<&'a str>,
    /// The numbers of the variants, in their order.
    pub variants: Vec<usize>,
    /// What the wordings have in common.
    words: String,
}

impl Note<'_> {
    /// Whether it is the reason of this objective.
    pub fn is_of(&self, objective: &ObjectiveAnswer) -> bool {
        let is_its_own = self.engine == objective.engine && self.variants.contains(&objective.variant);
        is_its_own && self.texts.contains(&objective.why())
    }
}

impl<'a> Said<'a> {
    /// Adds what `engine` says of a variant: to what it says likewise of others, not to another note of the same variant.
    pub fn add(&mut self, engine: Engine, note: &'a str, variant: usize) {
        let words = without_numbers(note);
        let is_alike = |of: &Note<'_>| of.engine == engine && of.words == words;
        let alike: Vec<usize> = (0..self.notes.len()).filter(|place| is_alike(&self.notes[*place])).collect();
        let same = alike.iter().copied().find(|place| self.notes[*place].texts.contains(&note));
        let of_others = || alike.iter().copied().find(|place| self.notes[*place].variants.last() != Some(&variant));
        match same.or_else(of_others) {
            Some(place) => {
                let of = &mut self.notes[place];
                of.texts.extend(Some(note).filter(|_| same.is_none()));
                of.variants.extend(Some(variant).filter(|_| of.variants.last() != Some(&variant)));
            }
            None => self.notes.push(Note { engine, texts: vec![note], variants: vec![variant], words }),
        }
    }
}

/// More variants or values than this are counted.
const MOST_NAMED: usize = 3;

/// Of which of the runs beside each other these variants are: their places among the runs, and their names.
fn runs_of<'a>(report: &'a Answers, numbers: &[usize]) -> Vec<(usize, &'a str)> {
    let mut all: Vec<&str> = Vec::new();
    for run in report.variants.iter().filter_map(|of| of.setting(RUN)) {
        if !all.contains(&run) {
            all.push(run);
        }
    }
    let is_told = |run: &str| numbers.iter().any(|number| report.variants[*number].setting(RUN) == Some(run));
    all.into_iter().enumerate().filter(|(_, run)| is_told(run)).collect()
}

/// Which of the variants these are, in as few words as say it: by the values of one setting that they alone have, else by
/// their names; of runs beside each other with the names of the runs.
pub fn scope(report: &Answers, numbers: &[usize]) -> String {
    let runs = runs_of(report, numbers);
    if !runs.is_empty() {
        let names: Vec<String> = runs.iter().map(|(_, run)| (*run).to_owned()).collect();
        let names = and_list(&names, names.len());
        let of_these = |of: &VariantAnswers| runs.iter().any(|(_, run)| of.setting(RUN) == Some(run));
        let all = report.variants.iter().filter(|of| of_these(of)).count();
        // The variants of one run alone, where all of the runs say it of the same.
        let (first, of_first) = (runs[0].1, |number: &usize| report.variants[*number].setting(RUN));
        let one = |run: &str| {
            let of_run = numbers.iter().filter(|number| of_first(number) == Some(run));
            let variants = of_run.map(|number| &report.variants[*number]);
            variants.map(|of| (of.name(), settings_but_run(of))).collect::<Vec<_>>()
        };
        let alike = runs.iter().all(|(_, run)| one(run) == one(first));
        if numbers.len() == all {
            return names;
        }
        if alike {
            let (alone, numbers) = of_one_run(report, numbers, first);
            return format!("{names}: {}", scope(&alone, &numbers));
        }
    }
    if numbers.len() == report.variants.len() && numbers.len() > 1 {
        return "every variant".to_owned();
    }
    if numbers.len() > 1
        && let Some(name) = name_of_these_alone(report, numbers)
    {
        return name;
    }
    let by_values = || report.settings.iter().find_map(|key| values_of_these_alone(report, numbers, key));
    let by_names = || report.settings.iter().find_map(|key| words_of_these_alone(report, numbers, key));
    if numbers.len() > 1
        && let Some(told) = by_names().or_else(by_values)
    {
        return told;
    }
    let names: Vec<&str> = numbers.iter().map(|number| report.variants[*number].label.as_str()).collect();
    match names.len() {
        all if all > MOST_NAMED => format!("{}; {} more", names[..MOST_NAMED].join("; "), all - MOST_NAMED),
        _ => names.join("; "),
    }
}

/// The settings of a variant without that of its run, which is the first.
fn settings_but_run(variant: &VariantAnswers) -> &[(String, String)] {
    &variant.settings[1..]
}

/// The variants of one of the runs beside each other, named as in that run alone, and which of them `numbers` has.
fn of_one_run(report: &Answers, numbers: &[usize], run: &str) -> (Answers, Vec<usize>) {
    let of_run = report.variants.iter().enumerate().filter(|(_, of)| of.setting(RUN) == Some(run));
    let (places, variants): (Vec<usize>, Vec<VariantAnswers>) = of_run
        .map(|(number, of)| {
            let (label, settings) = (of.label_without(&[]), settings_but_run(of).to_vec());
            (number, VariantAnswers { label, settings, answers: Vec::new() })
        })
        .unzip();
    let told = (0..places.len()).filter(|place| numbers.contains(&places[*place])).collect();
    let settings = report.settings.iter().filter(|key| *key != RUN).cloned().collect();
    (Answers { settings, variants, ..Answers::default() }, told)
}

/// What the names of these variants have in common, where no other has it.
fn name_of_these_alone(report: &Answers, numbers: &[usize]) -> Option<String> {
    let parts = |number: usize| Some(report.variants[number].name()?.split(", ").collect::<Vec<&str>>());
    let all: Vec<Vec<&str>> = numbers.iter().map(|number| parts(*number)).collect::<Option<_>>()?;
    let common: Vec<&str> =
        all.first()?.iter().copied().filter(|part| all.iter().all(|parts| parts.contains(part))).collect();
    let has_all = |number: &usize| parts(*number).is_some_and(|parts| common.iter().all(|part| parts.contains(part)));
    let is_told = !common.is_empty() && (0..report.variants.len()).filter(has_all).count() == numbers.len();
    is_told.then(|| common.join(", "))
}

/// The values of a setting that these variants have and no other has, and that no label of theirs says; none where that does not
/// tell them apart.
fn values_of_these_alone(report: &Answers, numbers: &[usize], key: &str) -> Option<String> {
    let mut values: Vec<&str> = Vec::new();
    for number in numbers {
        let variant = &report.variants[*number];
        let value = variant.setting(key).filter(|value| !value.is_empty() && !variant.tells(key))?;
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let has_one = |variant: &&VariantAnswers| variant.setting(key).is_some_and(|value| values.contains(&value));
    let is_told = values.len() <= MOST_NAMED && report.variants.iter().filter(has_one).count() == numbers.len();
    let named: Vec<String> = values.iter().map(|value| label(std::iter::once((key, *value)))).collect();
    is_told.then(|| named.join("; "))
}

/// The values of a setting that the labels of these variants alone say, and names in the place of values where they have some:
/// `random` are those whose labels say so, and not one that is random too and has a name.
fn words_of_these_alone(report: &Answers, numbers: &[usize], key: &str) -> Option<String> {
    let words = |variant: &VariantAnswers| match variant.name() {
        Some(_) => variant.name_alone(),
        None if variant.tells(key) => Some(label(std::iter::once((key, variant.setting(key)?)))),
        None => None,
    };
    let mut told: Vec<String> = Vec::new();
    for number in numbers {
        let words = words(&report.variants[*number])?;
        if !told.contains(&words) {
            told.push(words);
        }
        if told.len() > MOST_NAMED {
            return None;
        }
    }
    let has_one = |variant: &&VariantAnswers| words(variant).is_some_and(|words| told.contains(&words));
    (report.variants.iter().filter(has_one).count() == numbers.len()).then(|| told.join("; "))
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
        assert_eq!(told, ["station 1 is full", "station 2 is full", "p90: 5 to 7 short", "p99: 9 short"], "{text}");
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

    /// Who passes is whoever meets every objective, not one of them.
    #[test]
    fn who_meets_every_objective_is_said() {
        let told = |met: &[[Option<bool>; 2]]| {
            let of = |(variant, met): (usize, &[Option<bool>; 2])| {
                let one = |text: &str, met: Option<bool>| ObjectiveAnswer {
                    text: text.into(),
                    variant,
                    engine: Engine::Sim,
                    met,
                    undecided: met.is_none(),
                    measured: String::new(),
                    reason: String::new(),
                };
                [one("p99 < 1 s", met[0]), one("error_ratio < 1 %", met[1])]
            };
            let objectives: Vec<ObjectiveAnswer> = met.iter().enumerate().flat_map(of).collect();
            let label = |number: usize| VariantAnswers { label: format!("v{number}"), ..VariantAnswers::default() };
            let variants = (0..met.len()).map(label).collect();
            who_meets(&Answers { variants, objectives, ..Answers::default() }, |of| of.label.clone())
        };
        let (yes, no) = (Some(true), Some(false));
        let found = told(&[[yes, yes], [yes, no], [no, yes], [yes, yes], [yes, None]]);
        assert_eq!(found, [(2, "By sim, 2 of 5 variants meet both objectives: v0; v3.".to_owned())]);
        assert_eq!(told(&[[yes, no], [no, yes]])[0].1, "By sim, none of 2 variants meets both objectives.");
        let many = [&[[yes, yes]; 11][..], &[[no, no]]].concat();
        assert_eq!(told(&many)[0].1, "By sim, 11 of 12 variants meet both objectives.");
        assert!(told(&[[yes, yes]]).is_empty(), "of one variant its objectives tell");
    }
}
