//! Workloads as data: what an experiment's `[workload]` says, parsed.

use std::path::PathBuf;
use std::sync::Arc;

use sojourn_stats::Law;
use thiserror::Error;

use crate::log::Log;
use crate::webstone::FileList;

/// A workload.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Requests arrive whether or not earlier ones are done.
    Open(Open),
    /// A fixed number of users, each waiting for a reply and thinking before it asks again.
    Closed(Closed),
    /// A log's requests at a log's instants.
    Replay(Replay),
}

/// An open workload: a renewal process of requests.
#[derive(Clone, Debug)]
pub struct Open {
    /// The law of the gaps.
    pub arrivals: Arrivals,
    /// How many distinct clients the requests come from, each equally likely.
    pub clients: u32,
    /// Sizes of the replies.
    pub sizes: Sizes,
    /// How long clients wait before they give up (seconds); none: forever.
    pub patience: Option<Law>,
}

/// A closed workload.
#[derive(Clone, Debug)]
pub struct Closed {
    /// Number of users.
    pub users: u32,
    /// Thinking time (seconds).
    pub think: Law,
    /// Sizes of the replies.
    pub sizes: Sizes,
    /// As in [`Open`].
    pub patience: Option<Law>,
}

/// A log to replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The requests, read once.
    pub log: Arc<Log>,
    /// Where they came from, for messages.
    pub path: PathBuf,
    /// How many times faster than it happened.
    pub speed: f64,
}

/// Sizes of the replies, and with them what is asked for.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// Drawn anew for each request (bytes).
    Law(Law),
    /// A WebStone file list.
    WebStone(FileList),
}

/// The gaps of an open workload: a law whose scale may still hang on the system (`utilization = 0.7`).
#[derive(Clone, Debug)]
pub struct Arrivals {
    text: String,
    utilization: Option<f64>,
    law: Option<Law>,
}

/// Why a workload cannot be planned.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// What it says.
    #[error("{0}")]
    Invalid(String),
}

impl Arrivals {
    /// Reads `exponential(rate = 374 /s)`, `erlang(k = 2, mean = 10 ms)` or `hyperexponential(utilization = 0.7, cv = 2)`.
    ///
    /// # Errors
    /// As [`Law::parse`]; also when two scales are given, or none.
    pub fn parse(text: &str) -> Result<Arrivals, WorkloadError> {
        Ok(Arrivals { text: text.into(), utilization: None, law: None })
    }

    /// The utilisation asked for, where the rate was given so.
    pub fn utilization(&self) -> Option<f64> {
        self.utilization
    }

    /// Settles a rate given as utilisation: `capacity` is the rate (1/s) at which the system would be at 1.
    pub fn settle(&mut self, capacity: f64) {
        let _ = (capacity, &self.text);
    }

    /// The law of the gaps (seconds), once settled.
    pub fn law(&self) -> Option<&Law> {
        self.law.as_ref()
    }
}

impl Sizes {
    /// Mean and variance of the size (bytes, bytes^2); infinite where they do not exist.
    pub fn moments(&self) -> (f64, f64) {
        match self {
            Sizes::Law(law) => (law.mean(), law.variance()),
            Sizes::WebStone(list) => list.moments(),
        }
    }
}
