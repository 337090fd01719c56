//! The variants of one run beside each other: those that are equal but for one choice.
//!
//! A choice is the value of a setting, as a policy. A variant that the file has a name for is a choice as a whole: what it alone
//! sets is part of that, as the one server of four cores of an "M/M/4" beside four servers. What the others vary over, what its
//! ranges vary over and how fast requests come is not, so that each is set beside what has the same load. The price: a variant
//! with a name that sets what the others vary over is beside those alone that have the same value.

use std::collections::BTreeSet;

use sojourn_stats::{Estimate, quantity};

use super::{Comparison, How, Stated, numbers, variants_by};
use crate::answer::{Answer, Answers, NAME, RUN, VariantAnswers};
use crate::spec::Engine;
use crate::variants::{AS_GIVEN, label, long_name};

/// What is compared in pairs.
pub const PAIRED: [&str; 2] = ["response_time_mean", "response_time_p99"];

/// Two variants that differ in one choice only, by one engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Within {
    /// Who says it of both.
    pub engine: Engine,
    /// The settings that they have in common, in a few words; empty where they have none.
    pub others: String,
    /// The value of the setting, or the name, of A, which comes before B, and of B.
    pub values: (String, String),
    /// The numbers of A and B among the variants of the run.
    pub places: (usize, usize),
    /// B against A: of the simulator replication by replication, as far as both have one, since under the same seed they begin
    /// with the same requests.
    pub comparison: Comparison,
    /// Whether of A or of B response times are of some requests only, since so many failed ([`VariantAnswers::is_of_few`]).
    pub is_of_few: bool,
    /// How many replications A and B have; none but of the simulator.
    pub replications: (usize, usize),
}

/// The setting by whose values variants are set beside each other: a policy, else one of what serves before one of the load,
/// under which it is compared, and one whose values are names before one with numbers; of equals the first.
pub fn compared_setting(run: &Answers) -> Option<&str> {
    compared_but(run, &[])
}

/// The same of the settings but these.
pub(crate) fn compared_but<'a>(run: &'a Answers, but: &[&str]) -> Option<&'a str> {
    let varied = |key: &&String| !but.contains(&key.as_str()) && run.varies(key);
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
pub(crate) fn is_of_load(key: &str) -> bool {
    let path = long_name(key);
    path.starts_with("workload.") || path.starts_with("chain.")
}

/// By what variants are set beside each other: the values of that setting; where these are numbers and the file has names for
/// variants, these names (`name`).
pub fn compared_choice(run: &Answers) -> Option<&str> {
    let key = compared_setting(run)?;
    let values = run.variants.iter().filter_map(|variant| variant.setting(key)).filter(|value| !value.is_empty());
    let values: Vec<&str> = values.collect();
    let are_numbers = numbers(&values).is_some() || values.iter().all(|value| quantity::parse_any(value).is_ok());
    let has_names = are_numbers && !is_policy(key) && run.variants.iter().any(|variant| variant.name().is_some());
    let is_by_name = has_names && equal_but_for(run, NAME).iter().any(|(_, variants)| variants.len() > 1);
    Some(if is_by_name { NAME } else { key })
}

/// A choice between variants, and in which of their settings those are equal that are set beside each other.
pub(crate) struct Choice {
    key: String,
    /// Settings that are part of what has a name.
    own: BTreeSet<String>,
}

impl Choice {
    /// Of the values of `key`, or of the names that stand for them.
    pub(crate) fn of(run: &Answers, key: &str) -> Choice {
        let (named, others): (Vec<&VariantAnswers>, Vec<&VariantAnswers>) =
            run.variants.iter().partition(|variant| variant.is_by_name(key));
        let is_own = |of: &&String| {
            let mut values = others.iter().map(|variant| variant.setting(of));
            let first = values.next();
            let is_apart = *of == key || *of == RUN || LOADS.contains(&long_name(of));
            !is_apart
                && values.all(|value| Some(value) == first)
                && !named.iter().any(|variant| variant.has_beside_name(of))
        };
        let keys = named.iter().flat_map(|variant| &variant.settings).map(|(key, _)| key);
        let keys: BTreeSet<&String> = keys.collect();
        Choice { key: key.to_owned(), own: keys.into_iter().filter(is_own).cloned().collect() }
    }

    /// What a variant is among those beside it: the value of the setting, or what the file calls it, where that stands for the
    /// value. By names, what has none is what its label tells beside what all have in common.
    pub(crate) fn told(&self, variant: &VariantAnswers) -> Option<String> {
        if variant.is_by_name(&self.key) {
            return variant.name_alone();
        }
        if self.key != NAME {
            return variant.setting(&self.key).map(str::to_owned);
        }
        let others: Vec<&str> = self.others(variant).map(|(key, _)| key.as_str()).collect();
        let told = variant.label_without(&others);
        Some(if told.is_empty() { AS_GIVEN.to_owned() } else { told })
    }

    /// Whether variants that are set beside each other may have other values of this setting.
    pub(crate) fn may_differ_in(&self, key: &str) -> bool {
        key == self.key || self.own.contains(key)
    }

    /// The settings of a variant that are those of every other beside it.
    pub(crate) fn others<'v>(&self, variant: &'v VariantAnswers) -> impl Iterator<Item = &'v (String, String)> {
        let is_other =
            move |(of, value): &&(String, String)| *of != self.key && !value.is_empty() && !self.own.contains(of);
        variant.settings.iter().filter(is_other)
    }
}

/// Settings that say how fast requests come: under another load another system is no choice.
const LOADS: [&str; 6] = [
    "workload.arrivals",
    "workload.utilization",
    "workload.rate",
    "workload.users",
    "workload.growth",
    "workload.think",
];

/// What a variant is called, of runs beside each other, and its other settings.
type Kind<'a> = (Option<&'a str>, Vec<&'a (String, String)>);

/// Variants that are equal but for one choice.
#[derive(Default)]
struct Group<'a> {
    kinds: Vec<Kind<'a>>,
    /// What they have in common; of runs whose files call it otherwise each of the names.
    names: Vec<String>,
    variants: Vec<&'a VariantAnswers>,
}

impl<'a> Group<'a> {
    fn add(&mut self, variant: &'a VariantAnswers, (name, others): Kind<'a>, choice: &Choice, run: &Answers) {
        let key = choice.key.as_str();
        let varied = || others.iter().filter(|(key, _)| run.varies(key));
        let by_values = || label(varied().map(|(key, value)| (key.as_str(), value.as_str())));
        // A label leaves out what need not be said.
        let is_by_label = variant.name().is_none() && (key == RUN || variant.setting(RUN).is_none());
        let left_out: Vec<&str> = std::iter::once(key).chain(choice.own.iter().map(String::as_str)).collect();
        let by_label = is_by_label.then(|| variant.label_without(&left_out));
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

/// The variants of a run that are equal but for `key`, or for a name that stands for its value, in the order of the run, with
/// what they have in common. Of runs beside each other (`key` is the run) those are equal that two runs have in common
/// ([`super::in_common`]), of each run one.
pub fn equal_but_for<'a>(run: &'a Answers, key: &str) -> Vec<(String, Vec<&'a VariantAnswers>)> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let choice = Choice::of(run, key);
    let are_only_ones = key == RUN && are_of_different_runs(&run.variants);
    for variant in &run.variants {
        let of_run = variant.setting(RUN).filter(|_| key == RUN);
        let name = of_run.map(|_| variant.own_label()).filter(|name| !name.is_empty());
        let others: Vec<&(String, String)> = choice.others(variant).collect();
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
        groups[place].add(variant, (name, others), &choice, run);
    }
    groups.into_iter().map(|group| (group.names.join(" / "), group.variants)).collect()
}

/// Whether no two of these variants are of one run.
fn are_of_different_runs(variants: &[VariantAnswers]) -> bool {
    let runs: BTreeSet<Option<&str>> = variants.iter().map(|variant| variant.setting(RUN)).collect();
    runs.len() == variants.len()
}

/// Every variant against those that are equal to it but for one choice, in each of [`PAIRED`], replication by replication.
pub fn pairs(run: &Answers) -> Vec<Within> {
    PAIRED.into_iter().flat_map(|metric| within(run, metric)).collect()
}

/// The same in `metric`.
pub fn within(run: &Answers, metric: &str) -> Vec<Within> {
    let Some(key) = compared_choice(run) else { return Vec::new() };
    let mut all = within_setting(run, key, metric, &[Engine::Sim]);
    all.retain(|of| matches!(of.comparison.how, How::Pairs(_)));
    all
}

/// How many pairs of [`pairs`] are not there since of one of the two a number has no interval, a sentence for each of [`PAIRED`].
pub fn without_interval(run: &Answers) -> Vec<String> {
    let Some(key) = compared_choice(run) else { return Vec::new() };
    // What has no replications is in no pair, whatever its interval.
    let has_replications = |answer: &Answer, metric: &str| answer.replications(metric).is_some();
    let told = |metric: &str| left_out(metric, missing(run, key, metric, &[Engine::Sim], has_replications));
    PAIRED.into_iter().filter_map(told).collect()
}

/// The same of runs beside each other, by each of `engines`.
pub(crate) fn runs_without_interval(merged: &Answers, engines: &[Engine]) -> Vec<String> {
    let told = |metric: &str| left_out(metric, missing(merged, RUN, metric, engines, |_, _| true));
    PAIRED.into_iter().filter_map(told).collect()
}

/// That so many pairs are not compared in a metric; none where all are.
fn left_out(metric: &str, pairs: usize) -> Option<String> {
    let (pairs, are) = match pairs {
        0 => return None,
        1 => ("1 pair".to_owned(), "is"),
        more => (format!("{more} pairs"), "are"),
    };
    let short = metric.trim_start_matches("response_time_");
    let of = if metric == PAIRED[0] { String::new() } else { format!(" in {short}") };
    Some(format!("{pairs} {are} not compared{of}: a {short} has no interval."))
}

/// How many pairs [`within_setting`] leaves out since one of the two has no interval, of what is answered as `is_one` says.
fn missing(
    run: &Answers,
    key: &str,
    metric: &str,
    engines: &[Engine],
    is_one: impl Fn(&Answer, &str) -> bool,
) -> usize {
    let groups = equal_but_for(run, key);
    let of_group = |variants: &[&VariantAnswers], engine: Engine| {
        let answers = variants.iter().filter_map(|of| of.answer(engine)).filter(|answer| is_one(answer, metric));
        let estimates: Vec<&Estimate> = answers.filter_map(|answer| answer.estimate(metric)).collect();
        let known = estimates.iter().filter(|of| of.ends().is_some()).count();
        let each = |count: usize| count * count.saturating_sub(1) / 2;
        match estimates.len() {
            all if all <= EACH_AGAINST_EACH => each(all) - each(known),
            // Each of the others is set beside the first.
            all => all - known.max(1),
        }
    };
    let by_all = |engine: &Engine| groups.iter().map(|(_, variants)| of_group(variants, *engine)).sum::<usize>();
    engines.iter().map(by_all).sum()
}

/// Up to so many values of a setting are compared each with each other one, more with the first alone.
const EACH_AGAINST_EACH: usize = 5;

/// The variants that are equal but for `key`, two by two, in `metric`: each against each before it, or where they are many
/// against the first; by each of `engines`, theory only where no other says anything.
pub(crate) fn within_setting(run: &Answers, key: &str, metric: &str, engines: &[Engine]) -> Vec<Within> {
    let stated = Stated::by(run);
    let choice = Choice::of(run, key);
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
                let values = (choice.told(a)?, choice.told(b)?);
                let place = |of: &VariantAnswers| run.variants.iter().position(|one| std::ptr::eq(one, of));
                let places = (place(a)?, place(b)?);
                let count = |of: &VariantAnswers| of.answer(engine)?.replications(metric).map(<[_]>::len);
                let replications = (count(a).unwrap_or(0), count(b).unwrap_or(0));
                let (others, is_of_few) = (others.clone(), a.is_of_few(engine) || b.is_of_few(engine));
                Some(Within { engine, others, values, places, comparison, is_of_few, replications })
            };
            pairs.filter_map(of_two).collect::<Vec<Within>>()
        };
        let seen: Vec<Within> = engines.iter().filter(|of| **of != Engine::Theory).flat_map(|of| by(*of)).collect();
        let asks_theory = seen.is_empty() && engines.contains(&Engine::Theory);
        all.extend(if asks_theory { by(Engine::Theory) } else { seen });
    }
    all
}
