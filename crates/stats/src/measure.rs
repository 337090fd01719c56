//! From samples to a number with an interval: the rows that every engine answers in.

use serde::{Deserialize, Serialize};

/// One answer of one engine about one metric.
///
/// Metric names carry no unit (`response_time_mean`, `response_time_p90`, `waiting_time_mean`, `service_time_mean`,
/// `throughput`, `utilization`, `imbalance_index`, `error_ratio`, `share` per server as `share_1`); the unit is SI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// The metric's name.
    pub metric: String,
    /// The SI unit, or `1` for a ratio.
    pub unit: String,
    /// What is known of it.
    pub estimate: Estimate,
}

/// How well a metric is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimate {
    /// From samples, with the ends of its confidence interval and the number of samples behind it.
    Sampled { value: f64, ci_low: f64, ci_high: f64, samples: u64 },
    /// From a formula that is exact for the system asked about.
    Exact { value: f64 },
    /// From a formula that is an approximation for it.
    Approximate { value: f64 },
    /// Too few samples to say anything (a p99 of 71 samples is their maximum).
    TooFew { samples: u64 },
}

impl Estimate {
    /// The number, where there is one.
    pub fn value(&self) -> Option<f64> {
        match *self {
            Estimate::Sampled { value, .. } | Estimate::Exact { value } | Estimate::Approximate { value } => {
                Some(value)
            }
            Estimate::TooFew { .. } => None,
        }
    }
}

impl Measure {
    /// A measure of `metric` in `unit`.
    pub fn new(metric: impl Into<String>, unit: impl Into<String>, estimate: Estimate) -> Measure {
        Measure { metric: metric.into(), unit: unit.into(), estimate }
    }
}
