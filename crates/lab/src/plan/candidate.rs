//! A candidate of a plan: one value of each choice, its cost, and what is known of it.

use serde::Serialize;

use super::{Answered, Simulated};

/// A combination of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The number of the value of each choice.
    pub picks: Vec<usize>,
    /// What it costs.
    pub cost: f64,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was not asked: what was wanted is cheaper.
    Open,
    /// More work comes than it can do.
    Overloaded {
        /// The utilisation that this would be; none where no server is left.
        utilization: Option<f64>,
        /// The fault that makes it so; none where nothing is broken.
        #[serde(skip_serializing_if = "Option::is_none")]
        under: Option<String>,
    },
    /// Theory says that it misses an objective.
    Excluded {
        /// The objective that it misses by most, and what theory says.
        answer: Answered,
        /// How far all that theory knows of it is from the objectives; 0 meets them.
        #[serde(skip)]
        distance: f64,
    },
    /// Every objective holds.
    Meets(Simulated),
    /// Not every objective was seen to hold.
    Misses(Simulated),
    /// A stronger one misses.
    Weaker,
}
