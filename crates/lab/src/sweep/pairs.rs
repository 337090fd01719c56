//! Differences between the points of a sweep that are equal but for one choice, as a policy or a variant with a name:
//! replication by replication, since under the same seed both begin with the same requests.

use std::collections::HashMap;

use sojourn_stats::{Estimate, Measure};

use crate::answer::{Answers, VariantAnswers};
use crate::compare::{Between, Choice, Comparison, compared_choice};
use crate::spec::Engine;
use crate::variants::label;

/// What is compared.
pub(super) const METRIC: &str = "response_time_mean";
/// How much longer it takes than with the first choice, and how many times as long.
pub(super) const ROWS: [&str; 2] = ["response_time_mean_difference", "response_time_mean_ratio"];

/// Adds to every point the rows [`ROWS`] against the first of those that are equal to it but for the compared choice, where both
/// have an interval. Not where they differ in a setting of `independent`, and so have not the same requests.
pub(super) fn add(answers: &mut Answers, independent: &[String]) {
    let Some(choice) = compared_choice(answers).map(|key| Choice::of(answers, key)) else { return };
    let others = |variant: &VariantAnswers| label(choice.others(variant).map(|(key, value)| (&**key, &**value)));
    let others: Vec<String> = answers.variants.iter().map(others).collect();
    let mut firsts: HashMap<String, usize> = HashMap::new();
    for (number, others) in others.into_iter().enumerate() {
        let (before, rest) = answers.variants.split_at_mut(number);
        let variant = &mut rest[0];
        let first = *firsts.entry(others).or_insert(number);
        let have_same_requests =
            |first: &&VariantAnswers| independent.iter().all(|axis| first.setting(axis) == variant.setting(axis));
        let first = before.get(first).filter(have_same_requests);
        let Some(pairs) = first.and_then(|first| pairs(first, variant)) else { continue };
        let Some(compared) = Comparison::of_pairs(METRIC, "s", &pairs) else { continue };
        let sampled = |of: Between| Estimate::Sampled {
            value: of.value,
            ci_low: of.low,
            ci_high: of.high,
            samples: pairs.len() as u64,
        };
        let measures = &mut variant.answer_mut(Engine::Sim).measures;
        measures.push(Measure::new(ROWS[0], "s", sampled(compared.difference)));
        measures.extend(compared.ratio.map(|ratio| Measure::new(ROWS[1], "1", sampled(ratio))));
    }
    // Nor does a page pair what has not the same requests.
    if independent.iter().any(|axis| choice.may_differ_in(axis)) {
        let all = answers.variants.iter_mut().flat_map(|variant| &mut variant.answers);
        all.for_each(|answer| answer.replications.clear());
    }
}

/// The replications that both have.
fn pairs(a: &VariantAnswers, b: &VariantAnswers) -> Option<Vec<(f64, f64)>> {
    let of = |variant: &VariantAnswers| {
        let answer = variant.answer(Engine::Sim)?;
        // Where the run was too short for an interval its replications say no more.
        answer.estimate(METRIC)?.interval()?;
        Some(answer.replications(METRIC)?.to_vec())
    };
    Some(of(a)?.into_iter().zip(of(b)?).filter_map(|(a, b)| Some((a?, b?))).collect())
}
