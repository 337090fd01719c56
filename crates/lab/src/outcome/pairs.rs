//! Pairs of variants as rows: by how much one takes longer than the other, and how many times as long, with all else equal
//! ([`compare::pairs`]).
//!
//! Rows are as tidy as those of outcomes, and as those that a sweep has of its points: the settings and the name of B, then
//! `response_time_mean_difference` or `response_time_mean_ratio` with its interval, whose `samples` are pairs of replications. So
//! a ratio is drawn over a setting as any other number is. Behind them stands what `compare --json` says of two runs, by the same
//! names. The price: what is of both rows of a pair stands twice.

use std::io;

use serde_json::{Value, json};
use sojourn_stats::{Estimate, Measure};

use super::{COLUMNS, cells, has_names, measure_to_json};
use crate::answer::{Answers, NAME, VariantAnswers};
use crate::compare::{self, Between, How, Within};

/// The columns behind those of outcomes: what A and B are, their numbers, which shares of their requests these say nothing of,
/// whether they differ, judged alone and among all pairs of the run, and what that says of B.
const BEHIND: [&str; 9] =
    ["variant_a", "variant_b", "a", "b", "failed_a", "failed_b", "differs", "differs_among_all", "verdict"];

impl Answers {
    /// The rows of `pairs.csv` as JSON objects: the same names as its columns, numbers as numbers.
    pub fn pairs_to_json(&self) -> Vec<Value> {
        let pairs = compare::pairs(self);
        let is_named = has_names(self);
        let row = |of: &Within, measure: &Measure| {
            let variant = self.b_of(of);
            let mut object = measure_to_json(measure);
            object["engine"] = json!(of.engine.name());
            for (key, value) in &variant.settings {
                object[key] = json!(value);
            }
            if let Some(name) = variant.name().filter(|_| is_named) {
                object[NAME] = json!(name);
            }
            for (column, value) in BEHIND.into_iter().zip(behind(of, pairs.len())) {
                object[column] = value;
            }
            object
        };
        pairs
            .iter()
            .flat_map(|of| measures(of).into_iter().map(|measure| row(of, &measure)).collect::<Vec<_>>())
            .collect()
    }

    /// The variant that is B of this pair.
    fn b_of(&self, pair: &Within) -> &VariantAnswers {
        &self.variants[pair.places.1]
    }
}

/// These pairs of a run as CSV.
pub(crate) fn to_csv(answers: &Answers, pairs: &[Within]) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let is_named = has_names(answers);
    let heading = is_named.then_some(NAME);
    let settings = answers.settings.iter().map(String::as_str);
    csv.write_record(settings.chain(heading).chain(COLUMNS).chain(BEHIND))?;
    for of in pairs {
        let variant = answers.b_of(of);
        let name = is_named.then(|| variant.name_alone().unwrap_or_default());
        let behind = behind(of, pairs.len()).map(|value| match value {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        });
        for Measure { metric, unit, estimate } in measures(of) {
            let settings = variant.settings.iter().map(|(_, value)| value.as_str());
            let named = [of.engine.name(), metric.as_str(), unit.as_str()];
            let numbers = cells(&estimate);
            let row = settings.chain(name.as_deref()).chain(named).chain(numbers.iter().map(String::as_str));
            csv.write_record(row.chain(behind.iter().map(String::as_str)))?;
        }
    }
    csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
}

/// The difference of a pair, and the ratio, where there is one.
fn measures(of: &Within) -> Vec<Measure> {
    let compared = &of.comparison;
    let samples = match compared.how {
        How::Pairs(pairs) => pairs as u64,
        How::Samples(..) | How::Estimates => 0,
    };
    let sampled = |of: Between| Estimate::Sampled { value: of.value, ci_low: of.low, ci_high: of.high, samples };
    let metric = &compared.metric;
    let difference = Measure::new(format!("{metric}_difference"), compared.unit.as_str(), sampled(compared.difference));
    let ratio = compared.ratio.map(|ratio| Measure::new(format!("{metric}_ratio"), "1", sampled(ratio)));
    std::iter::once(difference).chain(ratio).collect()
}

/// What stands in [`BEHIND`] of a pair, of so many in all.
fn behind(of: &Within, among: usize) -> [Value; 9] {
    let Within { values: (a, b), comparison, .. } = of;
    let (differs, among_all) = (comparison.differs(), comparison.differs_among(among));
    [
        json!(a),
        json!(b),
        json!(comparison.a),
        json!(comparison.b),
        json!(comparison.failed[0]),
        json!(comparison.failed[1]),
        json!(differs),
        json!(among_all),
        json!(comparison.verdict()),
    ]
}
