//! Differences between the points of a sweep that are equal but for one setting, as a policy: replication by replication,
//! since under the same seed both begin with the same requests.

use std::collections::HashMap;

use sojourn_stats::{Estimate, Measure};

use crate::answer::{Answers, VariantAnswers};
use crate::compare::{Between, Comparison, compared_setting};
use crate::spec::Engine;
use crate::variants::label;

/// What is compared.
pub(super) const METRIC: &str = "response_time_mean";
/// How much longer it takes than at the first value of the setting, and how many times as long.
pub(super) const ROWS: [&str; 2] = ["response_time_mean_difference", "response_time_mean_ratio"];

/// Adds to every point the rows [`ROWS`] against the first of those that are equal to it but for the compared setting, where both
/// have an interval. Not where that setting is one of `independent`.
pub(super) fn add(answers: &mut Answers, independent: &[String]) {
    let Some(key) = compared_setting(answers).map(str::to_owned).filter(|key| !independent.contains(key)) else {
        return;
    };
    let mut firsts: HashMap<String, usize> = HashMap::new();
    for number in 0..answers.variants.len() {
        let (before, rest) = answers.variants.split_at_mut(number);
        let variant = &mut rest[0];
        let others = variant.settings.iter().filter(|(of, _)| *of != key);
        let first = *firsts.entry(label(others.map(|(key, value)| (&**key, &**value)))).or_insert(number);
        let Some(pairs) = before.get(first).and_then(|first| pairs(first, variant)) else { continue };
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
