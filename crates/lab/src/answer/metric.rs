//! Names of metrics, and a number of an answer with the ends of its interval.

use std::fmt;

use thiserror::Error;

use crate::spec::Engine;

/// How often clients asked for each request.
const ATTEMPTS: &str = "attempts_ratio";

/// Metrics of what goes wrong with requests, and what it is called: each is said wherever it is not 0.
pub const FAILURES: [(&str, &str); 6] = [
    ("error_ratio", "failed"),
    ("worst_second_error_ratio", "failed or given up in the worst second"),
    ("denied_ratio", "denied"),
    ("abandoned_ratio", "given up"),
    ("connection_error_ratio", "without a connection"),
    (ATTEMPTS, "attempts"),
];

/// What one of [`FAILURES`] is where all goes well: a request is asked for once.
pub(crate) fn usual(metric: &str) -> f64 {
    if metric == ATTEMPTS { 1.0 } else { 0.0 }
}

/// Metrics of what a fault does, and what each is called: they are said wherever a fault is planned.
pub const OF_FAULTS: [(&str, &str); 5] = [
    // First, since it is what most ask of a fault.
    ("recovery_time", "recovery"),
    ("during(fault).error_ratio", "failed or given up"),
    ("during(fault).attempts_ratio", "attempts"),
    ("during(fault).throughput", "good replies"),
    ("during(fault).response_time_p99", "p99"),
];

/// The name of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric(pub &'static str);

impl Metric {
    /// Mean time from the planned instant of a request to its last byte (s).
    pub const RESPONSE_TIME_MEAN: Metric = Metric("response_time_mean");
    /// The time within which half of the requests were answered (s).
    pub const RESPONSE_TIME_P50: Metric = Metric("response_time_p50");
    /// The time within which nine in ten requests were answered (s).
    pub const RESPONSE_TIME_P90: Metric = Metric("response_time_p90");
    /// The time within which all but one in a hundred requests were answered (s).
    pub const RESPONSE_TIME_P99: Metric = Metric("response_time_p99");
    /// Good replies per second (1/s).
    pub const THROUGHPUT: Metric = Metric("throughput");
    /// Busy share of the servers (1).
    pub const UTILIZATION: Metric = Metric("utilization");
    /// Share of the requests that failed (1).
    pub const ERROR_RATIO: Metric = Metric("error_ratio");
}

impl AsRef<str> for Metric {
    fn as_ref(&self) -> &str {
        self.0
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A number of an answer with the ends of its interval, all in its SI unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub(super) value: f64,
    pub(super) ends: (f64, f64),
}

impl Bounds {
    /// The best single number.
    pub fn value(self) -> f64 {
        self.value
    }

    /// Lower end of its interval: of a formula the number itself, and without an interval minus infinity.
    pub fn low(self) -> f64 {
        self.ends.0
    }

    /// Upper end of its interval: of a formula the number itself, and without an interval infinity.
    pub fn high(self) -> f64 {
        self.ends.1
    }
}

/// Why an answer has no such number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{engine}, {variant}: no `{metric}`{why}")]
pub struct NoMetric {
    pub(super) engine: Engine,
    pub(super) variant: String,
    pub(super) metric: String,
    pub(super) why: String,
}
