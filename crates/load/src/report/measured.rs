//! What one process measured of a load, before it is a report.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Law, Span, Time};

use crate::recorder::Recorder;
use crate::recorder::records::Recorded;
use crate::report::limits::Limits;
use crate::setting::Pacing;
use crate::share::Share;

/// What one share of a load measured; made into a report by [`crate::Report::of_shares`].
#[derive(Debug, Serialize, Deserialize)]
pub struct ShareReport {
    /// Which share it is.
    #[serde(rename = "part")]
    pub share: Share,
    /// By how much its clock is ahead of the one that all shares were started by (ns), where that was measured. Moves what
    /// it sent on the common time axis; times between two instants of a share do not depend on it.
    pub clock_offset_ns: i64,
    /// What `CLOCK_REALTIME` said at its time zero (ns).
    pub started_at_ns: u64,
    /// Which machine it ran on: the boot id of its kernel. Shares on one machine use the same cores.
    pub machine: String,
    /// Busy and stolen share of each core during the run.
    pub cores: Vec<(f64, f64)>,
    /// The law (s) that the gaps of an open plan were asked to be independent draws of. It is not sent between
    /// processes: set it again in one of the shares.
    #[serde(skip)]
    pub asked: Option<Law>,
    /// The file of its records, where one was asked for.
    pub record_file: Option<Recorded>,
    pub(crate) recorder: Recorder,
    pub(crate) facts: Facts,
    pub(crate) threads: Vec<ThreadFacts>,
    pub(crate) ended: Time,
    pub(crate) cancelled: bool,
}

/// What is the same for all shares.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Facts {
    #[serde(with = "sojourn_stats::nanoseconds")]
    pub(crate) warm_up: Span,
    /// When the last request was to be planned, where that was known by the end.
    pub(crate) end: Option<Time>,
    /// Whether an open plan was followed.
    pub(crate) open: bool,
    /// Whether there was a time to keep to at all.
    pub(crate) paced: bool,
    pub(crate) pacing: Pacing,
    /// After what a request without a reply has failed.
    #[serde(with = "sojourn_stats::nanoseconds")]
    pub(crate) timeout: Span,
    /// Of all shares.
    pub(crate) connections_max: u32,
    pub(crate) limits: Limits,
}

/// One thread of the generator.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ThreadFacts {
    #[serde(with = "sojourn_stats::nanoseconds")]
    pub(crate) cpu: Span,
    /// Share of the run that it was on a core.
    pub(crate) busy: f64,
    /// Share of the run that it waited for one.
    pub(crate) waiting: Option<f64>,
}
