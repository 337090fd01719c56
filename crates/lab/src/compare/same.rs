//! Which variants of several runs are of the same settings.
//!
//! What varies in one run has one value in another, that of its file: it is filled in from there, so that a file and the same
//! with a `[[variant]]` more have all variants of the first in common. Where the file does not say it either, it is the default.

use toml_edit::DocumentMut;

use super::settings::default_of;
use crate::answer::{Answers, VariantAnswers};
use crate::variants::{AS_GIVEN, is_replaced, long_name, written_in};

/// The keys that vary in any of the runs, in the order in which they come.
pub(crate) fn keys_of_runs(runs: &[&Answers]) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for key in runs.iter().flat_map(|run| &run.settings) {
        if keys.iter().all(|known| long_name(known) != long_name(key)) {
            keys.push(key.clone());
        }
    }
    keys
}

/// The settings of each variant of `run` at these keys: those that do not vary in it are as its file has them, else by
/// default, and empty where there is none.
pub(crate) fn filled(run: &Answers, keys: &[String]) -> Vec<Vec<(String, String)>> {
    // What cannot be read was never run: nothing is known of it.
    let file: DocumentMut = run.spec.parse().unwrap_or_default();
    let of_variant = |variant: &VariantAnswers| {
        let value = |key: &String| {
            let own = variant.settings.iter().find(|(of, _)| long_name(of) == long_name(key));
            let written = || written_in(&file, key).filter(|_| !is_replaced(key, &variant.settings));
            let default = || default_of(run, long_name(key));
            own.map(|(_, value)| value.clone()).or_else(written).or_else(default).unwrap_or_default()
        };
        keys.iter().map(|key| (key.clone(), value(key))).collect()
    };
    run.variants.iter().map(of_variant).collect()
}

/// The places of the variants that two runs have in common, in A's order: those of the same settings, else those of the same
/// label, whose files differ in what does not vary; or the only ones.
pub fn in_common(a: &Answers, b: &Answers) -> Vec<(usize, usize)> {
    if a.variants.len() == 1 && b.variants.len() == 1 {
        return vec![(0, 0)];
    }
    matched(a, b).into_iter().enumerate().filter_map(|(place, other)| Some((place, other?))).collect()
}

/// For each variant of A the place of that of B which has the same settings, or else the same label.
fn matched(a: &Answers, b: &Answers) -> Vec<Option<usize>> {
    let keys = keys_of_runs(&[a, b]);
    let (of_a, of_b) = (filled(a, &keys), filled(b, &keys));
    let other = |(place, variant): (usize, &VariantAnswers)| {
        let is_called_so = |number: &usize| b.variants[*number].label == variant.label;
        // Keys of nothing tell nothing apart.
        let is_same = |number: &usize| !keys.is_empty() && of_a[place] == of_b[*number];
        let find = |is_it: &dyn Fn(&usize) -> bool| (0..of_b.len()).find(is_it);
        find(&|number| is_same(number) && is_called_so(number))
            .or_else(|| find(&|number| is_same(number) && are_alike(variant, &b.variants[*number])))
            .or_else(|| find(&is_called_so))
    };
    a.variants.iter().enumerate().map(other).collect()
}

/// A variant of several runs: the place of its run, and its own there.
pub(crate) type OfRuns = (usize, usize);

/// The variants of several runs in the order in which they come, those together that two runs have in common, and what else has
/// the same settings; of each run one at most.
pub(crate) fn in_common_of(runs: &[&Answers]) -> Vec<Vec<OfRuns>> {
    let keys = keys_of_runs(runs);
    let settings: Vec<_> = runs.iter().map(|run| filled(run, &keys)).collect();
    let mut groups: Vec<Vec<OfRuns>> = Vec::new();
    for (run, report) in runs.iter().enumerate() {
        let matched: Vec<_> = runs[..run].iter().map(|earlier| matched(earlier, report)).collect();
        let mut rest: Vec<usize> = (0..report.variants.len()).collect();
        rest.retain(|place| {
            let is_matched = |(of, other): &OfRuns| *of < run && matched[*of][*other] == Some(*place);
            !joins(&mut groups, (run, *place), is_matched)
        });
        for place in rest {
            let is_same = |(of, other): &OfRuns| !keys.is_empty() && settings[*of][*other] == settings[run][place];
            if !joins(&mut groups, (run, place), is_same) {
                groups.push(vec![(run, place)]);
            }
        }
    }
    groups
}

/// Puts a variant into the first group with one that it is like and none of its own run; whether there is such a group.
fn joins(groups: &mut [Vec<OfRuns>], one: OfRuns, is_like: impl Fn(&OfRuns) -> bool) -> bool {
    let may_join = |group: &&mut Vec<OfRuns>| group.iter().all(|(run, _)| *run != one.0) && group.iter().any(&is_like);
    let Some(group) = groups.iter_mut().find(may_join) else { return false };
    group.push(one);
    true
}

/// Whether two labels may be of the same settings: one has a name of its own, or what both say differs only in what one of them
/// leaves out. What was set by hand stands in labels alone.
fn are_alike(a: &VariantAnswers, b: &VariantAnswers) -> bool {
    let parts = |of: &'_ VariantAnswers| of.label.split(", ").map(str::to_owned).collect::<Vec<String>>();
    let (of_a, of_b) = (parts(a), parts(b));
    let is_within = |less: &[String], more: &[String]| less.iter().all(|part| more.contains(part));
    a.name().is_some() || b.name().is_some() || is_within(&of_a, &of_b) || is_within(&of_b, &of_a)
}

/// The label that says most briefly what two have in common: a name that a file gives, else the shorter one.
pub(crate) fn briefest<'a>(variants: &[&'a VariantAnswers]) -> &'a str {
    let is_told = |label: &&str| !label.is_empty() && *label != AS_GIVEN;
    let named = variants.iter().find_map(|of| of.name());
    let labels = || variants.iter().map(|of| of.label.as_str());
    named.or_else(|| labels().filter(is_told).min_by_key(|label| label.len())).or_else(|| labels().next()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What varies in one run and is not written in the other has its default there.
    #[test]
    fn a_default_is_the_same_as_its_value_in_another_run() {
        let run = |label: &[&str], keys: &[&str], values: &[&[&str]]| {
            let of = |(label, values): (&&str, &&[&str])| VariantAnswers {
                label: (*label).to_owned(),
                settings: keys.iter().zip(*values).map(|(key, value)| ((*key).into(), (*value).into())).collect(),
                ..VariantAnswers::default()
            };
            Answers {
                spec: "name = \"x\"\n".to_owned(),
                settings: keys.iter().map(|key| (*key).to_owned()).collect(),
                variants: label.iter().zip(values).map(of).collect(),
                ..Answers::default()
            }
        };
        let labels = ["random, replications 20", "random, replications 10"];
        let varied = run(&labels, &["policy", "run.replications"], &[&["random", "20"], &["random", "10"]]);
        let bare = run(&["random"], &["policy"], &[&["random"]]);
        assert_eq!(in_common(&varied, &bare), [(1, 0)]);
    }
}
