//! How far a run is, for those who wait for it.

use serde::{Deserialize, Serialize};
use sojourn_stats::Span;

use crate::outcome::Counts;
use crate::recorder::watch::Recent;

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Time since the start.
    #[serde(with = "sojourn_stats::nanoseconds")]
    pub elapsed: Span,
    /// Share of the run that is done, from 0 to 1.
    pub share: f64,
    /// Requests whose time has come; objects where users browse.
    pub planned: u64,
    /// Good replies.
    pub ok: u64,
    /// Failed and abandoned requests.
    pub failed: u64,
    /// All of them by what became of them, and what was seen since the last time; where the run is watched
    /// ([`crate::Load::watched`]).
    pub seen: Option<Box<(Counts, Recent)>>,
}
