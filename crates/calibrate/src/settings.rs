//! Settings of a calibration, its progress reports, and its errors.

use serde::Serialize;
use sojourn_load::{Allowed, LoadError};
use sojourn_sim::SimError;
use sojourn_stats::Span;
use thiserror::Error;

/// Limits of a calibration, and what it has to find.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The time wanted; the measurement may need more, and then a note says so.
    pub time: Span,
    /// Most requests per second.
    pub rate_max: f64,
    /// Most connections at once; this bounds the number of helpers that can be found.
    pub connections_max: u32,
    /// Whether each request has a connection of its own (`connection: close`).
    pub connection_per_request: bool,
    /// The utilisations at which the model is judged; without any it is not judged, and the discipline is that of the
    /// helpers.
    pub judged: Vec<f64>,
    /// Measurements at each of them; the medians are taken.
    pub repeats: u32,
    /// Seed of the orders and plans.
    pub seed: u64,
    /// Addresses that may be put under load.
    pub allowed: Allowed,
}

impl Default for Settings {
    /// Two minutes, a million requests/s, 128 connections, judged once at utilisations 0.3, 0.5 and 0.7.
    fn default() -> Settings {
        Settings {
            time: Span(120_000_000_000),
            rate_max: 1_000_000.0,
            connections_max: 128,
            connection_per_request: false,
            judged: vec![0.3, 0.5, 0.7],
            repeats: 1,
            seed: 1,
            allowed: Allowed::Private,
        }
    }
}

/// Progress of a calibration.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The present measurement.
    pub stage: &'a str,
    /// Share of the whole that is done (approximate), from 0 to 1.
    pub share: f64,
}

/// An estimate and its interval, of confidence 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// `value` give or take `half_width`.
    pub fn around(value: f64, half_width: f64) -> Interval {
        Interval { value, low: value - half_width, high: value + half_width }
    }

    /// Whether `truth` lies in it.
    pub fn covers(&self, truth: f64) -> bool {
        self.low <= truth && truth <= self.high
    }

    /// What is left of it where the quantity cannot be below 0.
    pub(crate) fn not_negative(&self) -> Interval {
        Interval { value: self.value.max(0.0), low: self.low.max(0.0), high: self.high.max(0.0) }
    }

    /// The interval of a decreasing function of the quantity: of `numerator` over it.
    pub(crate) fn under(&self, numerator: f64) -> Interval {
        let high = if self.low > 0.0 { numerator / self.low } else { f64::INFINITY };
        Interval { value: numerator / self.value, low: numerator / self.high, high }
    }
}

/// Errors of a calibration; every message is one line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// An impossible setting or target.
    #[error("{0}")]
    Invalid(String),
    /// The target could not be measured from here; why, and the way out.
    #[error("not measured: {0}")]
    Refused(String),
    /// The load generator could not run.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The simulator could not run.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// The user interrupted it.
    #[error("interrupted: nothing is written")]
    Interrupted,
}
