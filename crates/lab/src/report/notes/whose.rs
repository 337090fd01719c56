//! Which variants something is of, in as few words as say it.

use crate::answer::{Answers, RUN, VariantAnswers};
use crate::report::html::and_list;
use crate::variants::label;

/// More variants or values than this are counted.
const MOST_NAMED: usize = 3;

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

/// Of which of the runs beside each other these variants are: their places among the runs, and their names.
pub(super) fn runs_of<'a>(report: &'a Answers, numbers: &[usize]) -> Vec<(usize, &'a str)> {
    let mut all: Vec<&str> = Vec::new();
    for run in report.variants.iter().filter_map(|of| of.setting(RUN)) {
        if !all.contains(&run) {
            all.push(run);
        }
    }
    let is_told = |run: &str| numbers.iter().any(|number| report.variants[*number].setting(RUN) == Some(run));
    all.into_iter().enumerate().filter(|(_, run)| is_told(run)).collect()
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
