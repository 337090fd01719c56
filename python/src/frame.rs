//! The rows of answers as columns of Arrow: the same names and order as `outcomes.csv`, numbers as numbers.
//!
//! `outcomes.csv` says in the place of a number why there is none; a column of numbers cannot. So `method` says how a number
//! was found (`exact`, `approximate`, `sampled`), `note` why one is missing, and what is missing is null. A variant of a sweep
//! that failed is a row too, whose method is `failed`.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use sojourn_lab::{Answers, Engine, VariantAnswers};
use sojourn_stats::{Estimate, Measure};

/// A row: of a number, or of a variant that failed.
struct Row<'a> {
    variant: &'a VariantAnswers,
    number: Result<(Engine, &'a Measure), &'a str>,
}

/// All rows.
pub(crate) fn rows(answers: &Answers, failed: &[(usize, String)]) -> Result<RecordBatch, ArrowError> {
    let mut all = Vec::new();
    for (number, variant) in answers.variants.iter().enumerate() {
        let measures = variant.answers.iter().flat_map(|of| of.measures.iter().map(|measure| (of.engine, measure)));
        all.extend(measures.map(|number| Row { variant, number: Ok(number) }));
        let why = failed.iter().find(|(of, _)| *of == number).map(|(_, why)| why.as_str());
        all.extend(why.map(|why| Row { variant, number: Err(why) }));
    }
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    let mut push = |name: &str, kind: DataType, column: ArrayRef| {
        fields.push(Field::new(name, kind, true));
        columns.push(column);
    };
    for (place, key) in answers.settings.iter().enumerate() {
        let text = |row: &Row<'_>| row.variant.settings.get(place).map_or("", |(_, value)| value.as_str()).to_owned();
        let texts: Vec<String> = all.iter().map(text).collect();
        match texts.iter().map(|text| number(text)).collect::<Option<Vec<f64>>>() {
            Some(numbers) if !texts.is_empty() => {
                push(key, DataType::Float64, Arc::new(Float64Array::from(numbers)));
            }
            _ => push(key, DataType::Utf8, Arc::new(StringArray::from(texts))),
        }
    }
    let text = |of: &dyn Fn(&Row<'_>) -> Option<String>| -> ArrayRef {
        Arc::new(StringArray::from(all.iter().map(of).collect::<Vec<_>>()))
    };
    let float = |of: &dyn Fn(&Estimate) -> Option<f64>| -> ArrayRef {
        let value = |row: &Row<'_>| of(&row.number.ok()?.1.estimate);
        Arc::new(Float64Array::from(all.iter().map(value).collect::<Vec<_>>()))
    };
    push("engine", DataType::Utf8, text(&|row| Some(row.number.ok()?.0.name().to_owned())));
    push("metric", DataType::Utf8, text(&|row| Some(row.number.ok()?.1.metric.clone())));
    push("unit", DataType::Utf8, text(&|row| Some(row.number.ok()?.1.unit.clone())));
    push("estimate", DataType::Float64, float(&Estimate::value));
    push("ci_low", DataType::Float64, float(&|estimate| Some(estimate.interval()?.0)));
    push("ci_high", DataType::Float64, float(&|estimate| Some(estimate.interval()?.1)));
    let samples = |row: &Row<'_>| samples(&row.number.ok()?.1.estimate);
    push("samples", DataType::UInt64, Arc::new(UInt64Array::from(all.iter().map(samples).collect::<Vec<_>>())));
    let how = |row: &Row<'_>| row.number.map_or("failed", |(_, measure)| method(&measure.estimate)).to_owned();
    push("method", DataType::Utf8, text(&|row| Some(how(row))));
    let why = |row: &Row<'_>| match row.number {
        Ok((_, measure)) => note(&measure.estimate),
        Err(why) => Some(why.to_owned()),
    };
    push("note", DataType::Utf8, text(&why));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// A setting that is a plain number.
fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

pub(crate) fn samples(estimate: &Estimate) -> Option<u64> {
    match *estimate {
        Estimate::Sampled { samples, .. }
        | Estimate::WithoutInterval { samples, .. }
        | Estimate::TooFew { samples } => Some(samples),
        _ => None,
    }
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
