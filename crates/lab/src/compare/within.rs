//! The variants of one run beside each other: those that are equal but for one setting.

use std::collections::BTreeSet;

use sojourn_stats::Estimate;

use super::{Comparison, How, Stated, numbers, variants_by};
use crate::answer::{Answers, RUN, VariantAnswers};
use crate::spec::Engine;
use crate::variants::{label, long_name};

/// Two variants that differ in one setting only, by one engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Within {
    /// Who says it of both.
    pub engine: Engine,
    /// The settings that they have in common, in a few words; empty where they have none.
    pub others: String,
    /// The value of the setting in A, which comes before B's, and in B.
    pub values: (String, String),
    /// B against A: of the simulator replication by replication, as far as both have one, since under the same seed they begin
    /// with the same requests.
    pub comparison: Comparison,
    /// Whether of A or of B response times are of some requests only, since so many failed ([`VariantAnswers::is_of_few`]).
    pub is_of_few: bool,
    /// How many replications A and B have; none but of the simulator.
    pub replications: (usize, usize),
}

/// The setting by whose values variants are set beside each other: a policy, else one of what serves before one of the load, under
/// which it is compared, and one whose values are names before one with numbers; of equals the first.
pub fn compared_setting(run: &Answers) -> Option<&str> {
    compared_but(run, &[])
}

/// The same of the settings but these.
pub(crate) fn compared_but<'a>(run: &'a Answers, but: &[&str]) -> Option<&'a str> {
    let varied = |key: &&String| {
        let mut values = run.variants.iter().filter_map(|variant| variant.setting(key));
        let first = values.next();
        !but.contains(&key.as_str()) && values.any(|value| Some(value) != first)
    };
    let are_names = |key: &&String| {
        let values: Vec<&str> = run.variants.iter().filter_map(|variant| variant.setting(key)).collect();
        numbers(&values).is_none()
    };
    let mut keys: Vec<&String> = run.settings.iter().filter(varied).collect();
    keys.sort_by_cached_key(|key| (!is_policy(key), is_of_load(key), !are_names(key)));
    keys.into_iter().next().map(String::as_str)
}

/// Whether a setting is the policy of a tier.
pub(crate) fn is_policy(key: &str) -> bool {
    key == "policy" || key.ends_with(".policy")
}

/// Whether a setting says what is asked of servers.
fn is_of_load(key: &str) -> bool {
    let path = long_name(key);
    path.starts_with("workload.") || path.starts_with("chain.")
}

/// What a variant is called, of runs beside each other, and its other settings.
type Kind<'a> = (Option<&'a str>, Vec<&'a (String, String)>);

/// Variants that are equal but for one setting.
#[derive(Default)]
struct Group<'a> {
    kinds: Vec<Kind<'a>>,
    /// What they have in common; of runs whose files call it otherwise each of the names.
    names: Vec<String>,
    variants: Vec<&'a VariantAnswers>,
}

impl<'a> Group<'a> {
    fn add(&mut self, variant: &'a VariantAnswers, (name, others): Kind<'a>, key: &str) {
        let by_values = || label(others.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        // A label leaves out what need not be said.
        let is_by_label = variant.name().is_none() && (key == RUN || variant.setting(RUN).is_none());
        let by_label = is_by_label.then(|| variant.label_without(&[key]));
        let unnamed = || by_label.filter(|told| !told.is_empty()).unwrap_or_else(by_values);
        let told = name.map_or_else(unnamed, str::to_owned);
        if self.names.is_empty() || key == RUN && !self.names.contains(&told) {
            self.names.push(told);
        }
        let kind = (name, others);
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
        self.variants.push(variant);
    }
}

/// The variants of a run that are equal but for `key`, in the order of the run, with what they have in common. Of runs beside
/// each other (`key` is the run) those are equal that two runs have in common ([`super::in_common`]), of each run one.
pub fn equal_but_for<'a>(run: &'a Answers, key: &str) -> Vec<(String, Vec<&'a VariantAnswers>)> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let are_only_ones = key == RUN && are_of_different_runs(&run.variants);
    for variant in &run.variants {
        let of_run = variant.setting(RUN).filter(|_| key == RUN);
        let name = of_run.map(|_| variant.own_label()).filter(|name| !name.is_empty());
        let others: Vec<&(String, String)> =
            variant.settings.iter().filter(|(of, value)| of != key && !value.is_empty()).collect();
        // The files of two runs may call otherwise what has the same settings, and may differ in what labels leave out.
        let is_alike = |group: &Group<'a>| {
            let mut kinds = group.kinds.iter();
            let has_its_run = of_run.is_some() && group.variants.iter().any(|of| of.setting(RUN) == of_run);
            let is_it = |(of, settings): &Kind<'a>| *settings == others || name.is_some() && *of == name;
            !has_its_run && (are_only_ones || kinds.any(is_it))
        };
        let place = groups.iter().position(is_alike).unwrap_or(groups.len());
        if place == groups.len() {
            groups.push(Group::default());
        }
        groups[place].add(variant, (name, others), key);
    }
    groups.into_iter().map(|group| (group.names.join(" / "), group.variants)).collect()
}

/// Whether no two of these variants are of one run.
fn are_of_different_runs(variants: &[VariantAnswers]) -> bool {
    let runs: BTreeSet<Option<&str>> = variants.iter().map(|variant| variant.setting(RUN)).collect();
    runs.len() == variants.len()
}

/// Every variant against those that are equal to it but for one setting, in `metric`, replication by replication.
pub fn within(run: &Answers, metric: &str) -> Vec<Within> {
    let Some(key) = compared_setting(run) else { return Vec::new() };
    let mut all = within_setting(run, key, metric, &[Engine::Sim]);
    all.retain(|of| matches!(of.comparison.how, How::Pairs(_)));
    all
}

/// Up to so many values of a setting are compared each with each other one, more with the first alone.
const EACH_AGAINST_EACH: usize = 5;

/// The variants that are equal but for `key`, two by two, in `metric`: each against each before it, or where they are many
/// against the first; by each of `engines`, theory only where no other says anything.
pub(crate) fn within_setting(run: &Answers, key: &str, metric: &str, engines: &[Engine]) -> Vec<Within> {
    let stated = Stated::by(run);
    let mut all = Vec::new();
    for (others, variants) in equal_but_for(run, key) {
        let by = |engine: Engine| {
            let is_known = |of: &&&VariantAnswers| of.estimate(engine, metric).and_then(Estimate::ends).is_some();
            let known: Vec<&VariantAnswers> = variants.iter().filter(is_known).copied().collect();
            let firsts = if known.len() <= EACH_AGAINST_EACH { known.len() } else { 1 };
            let pairs = (0..firsts).flat_map(|first| (first + 1..known.len()).map(move |second| (first, second)));
            let of_two = |(first, second): (usize, usize)| {
                let (a, b) = (known[first], known[second]);
                let spent = stated.spent(a, engine).and(stated.spent(b, engine));
                let comparison = Comparison { spent, ..variants_by(a, b, engine, metric)? };
                let values = (a.setting(key)?.to_owned(), b.setting(key)?.to_owned());
                let count = |of: &VariantAnswers| of.answer(engine)?.replications(metric).map(<[_]>::len);
                let replications = (count(a).unwrap_or(0), count(b).unwrap_or(0));
                let (others, is_of_few) = (others.clone(), a.is_of_few(engine) || b.is_of_few(engine));
                Some(Within { engine, others, values, comparison, is_of_few, replications })
            };
            pairs.filter_map(of_two).collect::<Vec<Within>>()
        };
        let seen: Vec<Within> = engines.iter().filter(|of| **of != Engine::Theory).flat_map(|of| by(*of)).collect();
        let asks_theory = seen.is_empty() && engines.contains(&Engine::Theory);
        all.extend(if asks_theory { by(Engine::Theory) } else { seen });
    }
    all
}
