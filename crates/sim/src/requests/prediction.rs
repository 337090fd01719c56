//! Predictions of the time at a server, and how wrong they were.
//!
//! Bias and mean size are sums of errors over the sum of what was predicted: the mean of relative errors has no limit where
//! responses may be as short as they like. Only the percentile is of errors relative to each response.

use sojourn_model::{Knowledge, Server, Station};
use sojourn_stats::{Histogram, Span, Time};

use crate::requests::jobs::Job;
use crate::summary::Row;

/// What is predicted of the requests inside.
pub(crate) struct Predictor {
    knows: Knowledge,
    /// The mean demand on a server of speed 1.
    demand_mean: Span,
    /// The time at its server of the request in each slot.
    predicted: Vec<Span>,
}

impl Predictor {
    pub(crate) fn new(knows: Knowledge, demand_mean: Span) -> Predictor {
        Predictor { knows, demand_mean, predicted: Vec::new() }
    }

    /// What was predicted for the request in `slot`.
    pub(crate) fn prediction(&self, slot: u32) -> Span {
        self.predicted[slot as usize]
    }

    /// Predicts the time of a request that comes to `station` at `now`.
    pub(crate) fn predict(&mut self, slot: u32, job: &Job, server: &Server, station: &Station, now: Time) {
        let predicted = match self.knows {
            Knowledge::Demands => station.predict(job.class, now, job.service).unwrap_or(Span::ZERO),
            Knowledge::Number => station.predict_by_number(server.service_time(self.demand_mean)),
        };
        let slot = slot as usize;
        if self.predicted.len() <= slot {
            self.predicted.resize(slot + 1, Span::ZERO);
        }
        self.predicted[slot] = predicted;
    }
}

/// The errors of some predictions.
#[derive(Clone)]
pub(crate) struct Errors {
    /// Sums (ns): predicted less actual, the same without sign, and actual.
    error: i128,
    size: u128,
    actual: u128,
    /// Sizes over actual times, in millionths.
    relative: Histogram,
}

impl Errors {
    pub(crate) fn new() -> Errors {
        Errors { error: 0, size: 0, actual: 0, relative: Histogram::new() }
    }

    /// A job took `actual`; one that took no time says nothing.
    pub(crate) fn add(&mut self, predicted: Span, actual: Span) {
        if actual > Span::ZERO {
            let size = predicted.0.abs_diff(actual.0);
            self.error += i128::from(predicted.0) - i128::from(actual.0);
            self.size += u128::from(size);
            self.actual += u128::from(actual.0);
            self.relative.record((size as f64 / actual.0 as f64 * 1e6 + 0.5) as u64);
        }
    }

    pub(crate) fn join(&mut self, other: &Errors) {
        self.error += other.error;
        self.size += other.size;
        self.actual += other.actual;
        self.relative.merge(&other.relative);
    }

    pub(crate) fn clear(&mut self) {
        (self.error, self.size, self.actual) = (0, 0, 0);
        self.relative.clear();
    }

    pub(crate) fn count(&self) -> u64 {
        self.relative.count()
    }

    /// Bias, mean size and the 90th percentile of the relative size.
    pub(crate) fn rows(whole: &Errors, parts: &[&Errors]) -> Vec<Row> {
        let row = |metric: &str, of: &dyn Fn(&Errors) -> Option<f64>| Row {
            metric: metric.into(),
            unit: "1",
            whole: of(whole),
            parts: parts.iter().map(|part| of(part)).collect(),
            samples: whole.count(),
            ..Row::default()
        };
        let over = |sum: f64, errors: &Errors| (errors.actual > 0).then(|| sum / errors.actual as f64);
        vec![
            row("prediction_error_mean", &|errors| over(errors.error as f64, errors)),
            row("prediction_error_absolute_mean", &|errors| over(errors.size as f64, errors)),
            row("prediction_error_relative_p90", &|errors| {
                errors.relative.quantile(0.9).map(|size| size as f64 * 1e-6)
            }),
        ]
    }
}
