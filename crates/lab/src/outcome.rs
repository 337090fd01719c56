//! Outcomes as tidy rows: one column per varied setting, then
//! `engine,metric,unit,estimate,ci_low,ci_high,samples`, the same for every engine.
//!
//! Theory has no interval and no samples: its `samples` column says `exact` or `approximate` instead. A number that has no
//! interval says why in `ci_low` and `ci_high`: `too-few` samples, or `too-short` a run. A quantile with no sample beyond it
//! has no estimate: that column says `too-few`. (Schema 1 of the run folder had no estimate without an interval; it is read
//! by the same rules.) Intervals of what cannot be negative end at 0 here, and only here: what is computed from them
//! before, such as the stopping rule, has them whole.

use std::io;

use serde_json::{Value, json};
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Estimate, Measure};

use crate::spec::Engine;
use crate::variants::Setting;

/// The columns behind the varied settings.
pub const COLUMNS: [&str; 7] = ["engine", "metric", "unit", "estimate", "ci_low", "ci_high", "samples"];

/// The only metrics that can be negative: the bias of predictions.
const SIGNED: [&str; 1] = ["prediction_error_mean"];

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The varied settings of its variant.
    pub settings: Vec<Setting>,
    /// The engine that answers.
    pub engine: String,
    /// The answer.
    pub measure: Measure,
}

impl Outcome {
    /// `measures` of `engine` as rows.
    pub fn rows(settings: &[Setting], engine: Engine, measures: &[Measure]) -> Vec<Outcome> {
        let row = |measure: &Measure| Outcome {
            settings: settings.to_vec(),
            engine: engine.name().into(),
            measure: told(measure),
        };
        measures.iter().map(row).collect()
    }

    /// The row as a JSON object: the same names as the columns, numbers as numbers, and `method` where theory says it.
    pub fn to_json(&self) -> Value {
        let mut object = measure_to_json(&self.measure);
        object["engine"] = json!(self.engine);
        for setting in &self.settings {
            object[&setting.key] = json!(setting.value);
        }
        object
    }
}

/// `measure` as it is told: what cannot be negative has an interval that ends at 0.
pub fn told(measure: &Measure) -> Measure {
    let mut told = measure.clone();
    if let Estimate::Sampled { ci_low, .. } = &mut told.estimate
        && !SIGNED.contains(&measure.metric.as_str())
    {
        *ci_low = ci_low.max(0.0);
    }
    told
}

/// A measure as a JSON object, for every verb's `--json`.
pub fn measure_to_json(measure: &Measure) -> Value {
    let measure = told(measure);
    let mut object = json!({ "metric": measure.metric, "unit": measure.unit });
    match measure.estimate {
        Estimate::Sampled { value, ci_low, ci_high, samples } => {
            object["estimate"] = json!(value);
            object["ci_low"] = json!(ci_low);
            object["ci_high"] = json!(ci_high);
            object["samples"] = json!(samples);
        }
        Estimate::WithoutInterval { value, samples, why } => {
            object["estimate"] = json!(value);
            object["note"] = json!(format!("no interval: {}", why.words()));
            object["samples"] = json!(samples);
        }
        Estimate::Exact { value } | Estimate::Approximate { value } => {
            object["estimate"] = json!(value);
            object["method"] = json!(method(&measure.estimate));
        }
        Estimate::TooFew { samples } => {
            object["estimate"] = Value::Null;
            object["note"] = json!("too few samples");
            object["samples"] = json!(samples);
        }
    }
    object
}

fn method(estimate: &Estimate) -> &'static str {
    match estimate {
        Estimate::Exact { .. } => "exact",
        _ => "approximate",
    }
}

/// Writes rows as CSV. Numbers are printed so that they read back to the same bits.
///
/// # Errors
/// When the writer fails.
pub fn write_csv(rows: &[Outcome], keys: &[String], out: impl io::Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(keys.iter().map(String::as_str).chain(COLUMNS))?;
    for row in rows {
        let Measure { metric, unit, estimate } = &row.measure;
        let (value, low, high, samples) = match *estimate {
            Estimate::Sampled { value, ci_low, ci_high, samples } => {
                (number(value), number(ci_low), number(ci_high), samples.to_string())
            }
            Estimate::WithoutInterval { value, samples, why } => {
                (number(value), why.name().into(), why.name().into(), samples.to_string())
            }
            Estimate::Exact { value } | Estimate::Approximate { value } => {
                (number(value), String::new(), String::new(), method(estimate).into())
            }
            Estimate::TooFew { samples } => ("too-few".into(), String::new(), String::new(), samples.to_string()),
        };
        let settings = row.settings.iter().map(|setting| setting.value.as_str());
        csv.write_record(settings.chain([row.engine.as_str(), metric, unit, &value, &low, &high, &samples]))?;
    }
    csv.flush()
}

/// Reads rows back.
///
/// # Errors
/// One line: what is wrong with which row.
pub fn read_csv(text: &str) -> Result<(Vec<String>, Vec<Outcome>), String> {
    let mut csv = csv::Reader::from_reader(text.as_bytes());
    let header = csv.headers().map_err(|e| e.to_string())?.clone();
    let settings = header.len().checked_sub(COLUMNS.len()).ok_or("outcomes.csv: too few columns")?;
    if header.iter().skip(settings).ne(COLUMNS) {
        return Err(format!("outcomes.csv: the last columns should be {}", COLUMNS.join(",")));
    }
    let keys: Vec<String> = header.iter().take(settings).map(String::from).collect();
    let mut rows = Vec::new();
    for (index, record) in csv.records().enumerate() {
        let record = record.map_err(|e| format!("outcomes.csv: {e}"))?;
        let bad = |what: &str| format!("outcomes.csv:{}: {what}", index + 2);
        let field = |column: usize| record.get(settings + column).unwrap_or_default();
        let float =
            |column: usize| field(column).parse::<f64>().map_err(|_| bad(&format!("`{}` is no number", field(column))));
        let count = || field(6).parse::<u64>().map_err(|_| bad("`samples` is no count"));
        let without = |why| Ok::<_, String>(Estimate::WithoutInterval { value: float(3)?, samples: count()?, why });
        let estimate = match (field(3), field(4), field(6)) {
            ("too-few", ..) => Estimate::TooFew { samples: count()? },
            (_, "too-few", _) => without(NoInterval::TooFew)?,
            (_, "too-short", _) => without(NoInterval::TooShort)?,
            (.., "exact") => Estimate::Exact { value: float(3)? },
            (.., "approximate") => Estimate::Approximate { value: float(3)? },
            _ => Estimate::Sampled { value: float(3)?, ci_low: float(4)?, ci_high: float(5)?, samples: count()? },
        };
        rows.push(Outcome {
            settings: keys
                .iter()
                .zip(record.iter())
                .map(|(k, v)| Setting { key: k.clone(), value: v.into() })
                .collect(),
            engine: field(0).into(),
            measure: Measure::new(field(1), field(2), estimate),
        });
    }
    Ok((keys, rows))
}

fn number(value: f64) -> String {
    format!("{value:?}")
}
