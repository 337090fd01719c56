//! Outcomes as tidy rows: one column per varied setting, `name` where the file gives a variant one, then
//! `engine,metric,unit,estimate,ci_low,ci_high,samples`, the same for every engine. The column has the name alone, so that rows
//! can be grouped by it; in JSON the values of what varies besides stand behind it, as scripts know it.
//!
//! Theory has no interval and no samples: its `samples` column says `exact` or `approximate` instead. A number that has no
//! interval says why in `ci_low` and `ci_high`: `too-few` samples, or `too-short` a run. A quantile with no sample beyond it
//! has no estimate: that column says `too-few`. (Schema 1 of the run folder had no estimate without an interval; it is read
//! by the same rules.) Intervals end where a metric cannot be in all that is told, as a time does at 0
//! ([`Measure::within_range`]): what is computed from them before, such as the stopping rule, has them whole. Pairs of variants
//! have rows of their own ([`Answers::pairs_to_json`]).

pub(crate) mod pairs;

use std::io;

use serde_json::{Value, json};
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Estimate, Measure};

use crate::answer::{Answers, NAME};
pub use crate::report::number::{asymmetric, range, ratio};
use crate::spec::Engine;

/// The columns behind the varied settings.
pub const COLUMNS: [&str; 7] = ["engine", "metric", "unit", "estimate", "ci_low", "ci_high", "samples"];

/// Whether there is such a column: no other has that heading.
pub(crate) fn has_names(answers: &Answers) -> bool {
    answers.variants.iter().any(|variant| variant.name().is_some()) && answers.settings.iter().all(|key| key != NAME)
}

impl Answers {
    /// The rows as JSON objects: the same names as the columns, numbers as numbers, and `method` where theory says it.
    pub fn to_json(&self) -> Vec<Value> {
        let row = |(variant, answer, measure): (&crate::VariantAnswers, &crate::Answer, &Measure)| {
            let mut object = measure_to_json(measure);
            object["engine"] = json!(answer.engine.name());
            for (key, value) in &variant.settings {
                object[key] = json!(value);
            }
            if let Some(name) = variant.name().filter(|_| has_names(self)) {
                object[NAME] = json!(name);
            }
            object
        };
        self.rows().map(row).collect()
    }
}

/// A measure as a JSON object, for every verb's `--json`.
pub fn measure_to_json(measure: &Measure) -> Value {
    let measure = measure.within_range();
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

/// Rows as CSV. Numbers are printed so that they read back to the same bits.
pub(crate) fn to_csv(answers: &Answers) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let is_named = has_names(answers);
    let heading = is_named.then_some(NAME);
    csv.write_record(answers.settings.iter().map(String::as_str).chain(heading).chain(COLUMNS))?;
    for (variant, answer, Measure { metric, unit, estimate }) in answers.rows() {
        let [value, low, high, samples] = cells(estimate);
        let settings = variant.settings.iter().map(|(_, value)| value.as_str());
        let name = is_named.then(|| variant.name_alone().unwrap_or_default());
        csv.write_record(settings.chain(name.as_deref()).chain([
            answer.engine.name(),
            metric,
            unit,
            &value,
            &low,
            &high,
            &samples,
        ]))?;
    }
    csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
}

/// The cells of an estimate: `estimate`, `ci_low`, `ci_high` and `samples`.
pub(crate) fn cells(estimate: &Estimate) -> [String; 4] {
    match *estimate {
        Estimate::Sampled { value, ci_low, ci_high, samples } => {
            [number(value), number(ci_low), number(ci_high), samples.to_string()]
        }
        Estimate::WithoutInterval { value, samples, why } => {
            [number(value), why.name().into(), why.name().into(), samples.to_string()]
        }
        Estimate::Exact { value } | Estimate::Approximate { value } => {
            [number(value), String::new(), String::new(), method(estimate).into()]
        }
        Estimate::TooFew { samples } => ["too-few".into(), String::new(), String::new(), samples.to_string()],
    }
}

/// The estimate that cells have, or what is wrong with one of them.
pub(crate) fn estimate_of([value, low, high, samples]: [&str; 4]) -> Result<Estimate, String> {
    let float = |text: &str| text.parse::<f64>().map_err(|_| format!("`{text}` is no number"));
    let count = || samples.parse::<u64>().map_err(|_| "`samples` is no count".to_owned());
    let without = |why| Ok::<_, String>(Estimate::WithoutInterval { value: float(value)?, samples: count()?, why });
    Ok(match (value, low, samples) {
        ("too-few", ..) => Estimate::TooFew { samples: count()? },
        (_, "too-few", _) => without(NoInterval::TooFew)?,
        (_, "too-short", _) => without(NoInterval::TooShort)?,
        (.., "exact") => Estimate::Exact { value: float(value)? },
        (.., "approximate") => Estimate::Approximate { value: float(value)? },
        _ => Estimate::Sampled { value: float(value)?, ci_low: float(low)?, ci_high: float(high)?, samples: count()? },
    })
}

/// Reads rows back into the answers of the variants whose settings they have.
///
/// # Errors
/// One line: what is wrong with which row.
pub(crate) fn from_csv(text: &str, answers: &mut Answers) -> Result<(), String> {
    let mut csv = csv::Reader::from_reader(text.as_bytes());
    let header = csv.headers().map_err(|e| e.to_string())?.clone();
    let settings = header.len().checked_sub(COLUMNS.len()).ok_or("outcomes.csv: too few columns")?;
    if header.iter().skip(settings).ne(COLUMNS) {
        return Err(format!("outcomes.csv: the last columns should be {}", COLUMNS.join(",")));
    }
    let named = header.get(settings.saturating_sub(1)) == Some(NAME) && settings > answers.settings.len();
    let varied = settings - usize::from(named);
    let mut at = 0;
    for (index, record) in csv.records().enumerate() {
        let record = record.map_err(|e| format!("outcomes.csv: {e}"))?;
        let bad = |what: &str| format!("outcomes.csv:{}: {what}", index + 2);
        let field = |column: usize| record.get(settings + column).unwrap_or_default();
        let estimate = estimate_of([3, 4, 5, 6].map(field)).map_err(|what| bad(&what))?;
        let engine = Engine::named(field(0)).ok_or_else(|| bad(&format!("`{}` is no engine", field(0))))?;
        // Rows stand in the order of the variants; two of the same settings have a row of each metric each.
        let is_of = |variant: &crate::VariantAnswers| {
            let same = header.iter().zip(&record).take(varied).eq(variant.settings.iter().map(|(k, v)| (&**k, &**v)));
            same && variant.estimate(engine, field(1)).is_none()
        };
        let count = answers.variants.len();
        let mut order = (at..count).chain(0..at);
        at =
            order.find(|at| is_of(&answers.variants[*at])).ok_or_else(|| bad("no variant in run.json has this row"))?;
        let measures = &mut answers.variants[at].answer_mut(engine).measures;
        measures.push(Measure::new(field(1), field(2), estimate));
    }
    Ok(())
}

fn number(value: f64) -> String {
    format!("{value:?}")
}
