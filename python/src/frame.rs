//! The rows of answers as columns of Arrow: the same names and order as `outcomes.csv`, numbers as numbers.
//!
//! `outcomes.csv` says in the place of a number why there is none; a column of numbers cannot. So `method` says how a number
//! was found (`exact`, `approximate`, `sampled`), `note` why one is missing, and what is missing is null. A variant of a sweep
//! that failed is a row too, whose method is `failed`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use sojourn_lab::{Answers, Engine, VariantAnswers};
use sojourn_stats::{Estimate, Measure};

/// A row: of a number, or of a variant that failed.
#[derive(Clone, Copy)]
struct Row<'a> {
    variant: &'a VariantAnswers,
    number: Result<(Engine, &'a Measure), &'a str>,
}

/// All rows.
pub(crate) fn rows(answers: &Answers, failed: &[(usize, String)]) -> Result<RecordBatch, ArrowError> {
    let failed: HashMap<usize, &str> = failed.iter().map(|(number, why)| (*number, why.as_str())).collect();
    let mut all: Vec<Row<'_>> = Vec::new();
    for (number, variant) in answers.variants.iter().enumerate() {
        let measures = variant.answers.iter().flat_map(|of| of.measures.iter().map(|measure| (of.engine, measure)));
        all.extend(measures.map(|number| Row { variant, number: Ok(number) }));
        all.extend(failed.get(&number).map(|why| Row { variant, number: Err(why) }));
    }
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    let mut push = |name: &str, kind: DataType, column: ArrayRef| {
        fields.push(Field::new(name, kind, true));
        columns.push(column);
    };
    for (place, key) in answers.settings.iter().enumerate() {
        let texts = || all.iter().map(|row| row.variant.settings.get(place).map_or("", |(_, value)| value.as_str()));
        match texts().map(number).collect::<Option<Vec<f64>>>() {
            Some(numbers) if !numbers.is_empty() => {
                push(key, DataType::Float64, Arc::new(Float64Array::from(numbers)));
            }
            _ => push(key, DataType::Utf8, Arc::new(StringArray::from_iter_values(texts()))),
        }
    }
    let numbers = || all.iter().map(|row| row.number.ok());
    let text = |of: fn(Engine, &Measure) -> &str| -> ArrayRef {
        Arc::new(numbers().map(|number| number.map(|(engine, measure)| of(engine, measure))).collect::<StringArray>())
    };
    // An infinite number is one; what is no number is not known.
    let float = |of: fn(&Estimate) -> Option<f64>| -> ArrayRef {
        let known = numbers().map(|number| of(&number?.1.estimate).filter(|known| !known.is_nan()));
        Arc::new(known.collect::<Float64Array>())
    };
    push("engine", DataType::Utf8, text(|engine, _| engine.name()));
    push("metric", DataType::Utf8, text(|_, measure| &measure.metric));
    push("unit", DataType::Utf8, text(|_, measure| &measure.unit));
    push("estimate", DataType::Float64, float(Estimate::value));
    push("ci_low", DataType::Float64, float(|estimate| Some(estimate.interval()?.0)));
    push("ci_high", DataType::Float64, float(|estimate| Some(estimate.interval()?.1)));
    let counts: UInt64Array = numbers().map(|number| samples(&number?.1.estimate)).collect();
    push("samples", DataType::UInt64, Arc::new(counts));
    let how = numbers().map(|number| number.map_or("failed", |(_, measure)| method(&measure.estimate)));
    push("method", DataType::Utf8, Arc::new(StringArray::from_iter_values(how)));
    let why = all.iter().map(|row| match row.number {
        Ok((_, measure)) => note(&measure.estimate).map(Cow::Owned),
        Err(why) => Some(Cow::Borrowed(why)),
    });
    push("note", DataType::Utf8, Arc::new(why.collect::<StringArray>()));
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
