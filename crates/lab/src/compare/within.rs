//! The variants of one run beside each other: those that are equal but for one setting.

use sojourn_stats::Estimate;

use super::{Comparison, How, Stated, variants_by};
use crate::answer::{Answers, RUN, VariantAnswers};
use crate::spec::Engine;
use crate::variants::label;

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
    /// How many replications A and B have; none but of the simulator.
    pub replications: (usize, usize),
}

/// The setting by whose values variants are set beside each other: a policy, else the first whose values are no numbers, or the
/// first of all.
pub fn compared_setting(run: &Answers) -> Option<&str> {
    let varied = |key: &&String| {
        let mut values = run.variants.iter().filter_map(|variant| variant.setting(key));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let are_names = |key: &&String| {
        let mut values = run.variants.iter().filter_map(|variant| variant.setting(key));
        values.any(|value| value.parse::<f64>().is_err())
    };
    let mut keys = run.settings.iter().filter(varied);
    let policy = keys.clone().find(|key| *key == "policy" || key.ends_with(".policy"));
    policy.or_else(|| keys.clone().find(are_names)).or_else(|| keys.next()).map(String::as_str)
}

/// The variants of a run that are equal but for `key`, in the order of the run, with what they have in common.
pub fn equal_but_for<'a>(run: &'a Answers, key: &str) -> Vec<(String, Vec<&'a VariantAnswers>)> {
    // What a variant is called, of runs beside each other, and its other settings.
    type Kind<'v> = (Option<&'v str>, Vec<&'v (String, String)>);
    let kind = |variant: &'a VariantAnswers| -> Kind<'a> {
        let others = variant.settings.iter().filter(|(of, value)| of != key && !value.is_empty());
        (variant.name().filter(|_| key == RUN), others.collect())
    };
    let mut groups: Vec<(Vec<Kind<'a>>, Vec<&'a VariantAnswers>)> = Vec::new();
    for variant in &run.variants {
        let (name, others) = kind(variant);
        // The files of two runs may call otherwise what has the same settings.
        let is_alike = |(of, settings): &Kind<'a>| *settings == others || name.is_some() && *of == name;
        match groups.iter_mut().find(|(kinds, _)| kinds.iter().any(is_alike)) {
            Some((kinds, variants)) => {
                kinds.extend(Some((name, others)).filter(|own| !kinds.contains(own)));
                variants.push(variant);
            }
            None => groups.push((vec![(name, others)], vec![variant])),
        }
    }
    let told = |(name, others): Kind<'a>| {
        let by_values = || label(others.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        name.map_or_else(by_values, str::to_owned)
    };
    let called = |kinds: Vec<Kind<'a>>| {
        let mut names: Vec<String> = kinds.into_iter().map(told).collect();
        names.dedup();
        names.join(" / ")
    };
    groups.into_iter().map(|(kinds, variants)| (called(kinds), variants)).collect()
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
                Some(Within { engine, others: others.clone(), values, comparison, replications })
            };
            pairs.filter_map(of_two).collect::<Vec<Within>>()
        };
        let seen: Vec<Within> = engines.iter().filter(|of| **of != Engine::Theory).flat_map(|of| by(*of)).collect();
        let asks_theory = seen.is_empty() && engines.contains(&Engine::Theory);
        all.extend(if asks_theory { by(Engine::Theory) } else { seen });
    }
    all
}
