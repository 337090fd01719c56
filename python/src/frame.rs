//! The rows of answers as columns of Arrow: the same names and order as `outcomes.csv`, numbers as numbers.
//!
//! `outcomes.csv` says in the place of a number why there is none; a column of numbers cannot. So `method` says how a number was
//! found (`exact`, `approximate`, `sampled`), `note` why one is missing, and what is missing is null.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use sojourn_lab::Answers;
use sojourn_stats::{Estimate, Measure};

/// All rows.
pub(crate) fn rows(answers: &Answers) -> Result<RecordBatch, ArrowError> {
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    let mut push = |name: &str, kind: DataType, column: ArrayRef| {
        fields.push(Field::new(name, kind, true));
        columns.push(column);
    };
    let all: Vec<_> = answers.rows().collect();
    for (place, key) in answers.settings.iter().enumerate() {
        let texts = all.iter().map(|(variant, ..)| variant.settings.get(place).map_or("", |(_, value)| value.as_str()));
        let texts: Vec<&str> = texts.collect();
        match texts.iter().map(|text| number(text)).collect::<Option<Vec<f64>>>() {
            Some(numbers) if !texts.is_empty() => {
                push(key, DataType::Float64, Arc::new(Float64Array::from(numbers)));
            }
            _ => push(key, DataType::Utf8, Arc::new(StringArray::from(texts))),
        }
    }
    let text = |of: &dyn Fn(&Measure, &str) -> Option<String>| -> ArrayRef {
        let values = all.iter().map(|(_, answer, measure)| of(measure, answer.engine.name()));
        Arc::new(StringArray::from(values.collect::<Vec<_>>()))
    };
    let float = |of: &dyn Fn(&Estimate) -> Option<f64>| -> ArrayRef {
        let values = all.iter().map(|(_, _, measure)| of(&measure.estimate));
        Arc::new(Float64Array::from(values.collect::<Vec<_>>()))
    };
    push("engine", DataType::Utf8, text(&|_, engine| Some(engine.to_owned())));
    push("metric", DataType::Utf8, text(&|measure, _| Some(measure.metric.clone())));
    push("unit", DataType::Utf8, text(&|measure, _| Some(measure.unit.clone())));
    push("estimate", DataType::Float64, float(&Estimate::value));
    push("ci_low", DataType::Float64, float(&|estimate| Some(estimate.interval()?.0)));
    push("ci_high", DataType::Float64, float(&|estimate| Some(estimate.interval()?.1)));
    let samples = all.iter().map(|(_, _, measure)| match measure.estimate {
        Estimate::Sampled { samples, .. }
        | Estimate::WithoutInterval { samples, .. }
        | Estimate::TooFew { samples } => Some(samples),
        _ => None,
    });
    push("samples", DataType::UInt64, Arc::new(UInt64Array::from(samples.collect::<Vec<_>>())));
    push("method", DataType::Utf8, text(&|measure, _| Some(method(&measure.estimate).to_owned())));
    push("note", DataType::Utf8, text(&|measure, _| note(&measure.estimate)));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// A setting that is a plain number.
fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

pub(crate) fn method(estimate: &Estimate) -> &'static str {
    match estimate {
        Estimate::Exact { .. } => "exact",
        Estimate::Approximate { .. } => "approximate",
        _ => "sampled",
    }
}

pub(crate) fn note(estimate: &Estimate) -> Option<String> {
    match estimate {
        Estimate::WithoutInterval { why, .. } => Some(format!("no interval: {}", why.words())),
        Estimate::TooFew { .. } => Some("too few samples".into()),
        _ => None,
    }
}
