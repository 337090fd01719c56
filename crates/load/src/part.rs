//! One of several processes that put one load on a server together: which share of the plan is its own.
//!
//! Every part draws the whole of the same seeded plan and runs its share, so that nothing but the part's number has to
//! be told to anybody; the price is the drawing of what others run. A report is made from all parts at once
//! ([`crate::Report::of_parts`]): histograms, windows and counts are added up, never percentiles averaged, and there is
//! one verdict.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Law, Span, Time};

use crate::recorder::Recorder;
use crate::recorder::records::Recorded;
use crate::setting::Pacing;

/// Which part of a load a process runs: of the plan those requests (or users, or clients where cookies are kept) whose
/// number modulo `of` is `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// From 0.
    pub index: u32,
    /// How many parts there are.
    pub of: u32,
}

impl Part {
    /// All of it.
    pub const WHOLE: Part = Part { index: 0, of: 1 };

    /// The thread, of so many in this part, that has what is numbered `number`; none when another part has it.
    #[inline]
    pub(crate) fn thread(self, number: u64, threads: usize) -> Option<usize> {
        let of = u64::from(self.of);
        (number % of == u64::from(self.index)).then(|| ((number / of) % threads as u64) as usize)
    }

    /// The number of a thread among the threads of all parts, and how many those are.
    pub(crate) fn lane(self, thread: usize, threads: usize) -> (u64, u64) {
        (thread as u64 * u64::from(self.of) + u64::from(self.index), threads as u64 * u64::from(self.of))
    }
}

impl Default for Part {
    fn default() -> Part {
        Part::WHOLE
    }
}

/// What one part of a load measured; made into a report by [`crate::Report::of_parts`].
#[derive(Debug, Serialize, Deserialize)]
pub struct PartReport {
    /// Which part it is.
    pub part: Part,
    /// By how much its clock is ahead of the one that all parts were started by (ns), where somebody measured that. Moves
    /// what it sent on the common time axis; times between two instants of a part do not depend on it.
    pub clock_offset_ns: i64,
    /// What `CLOCK_REALTIME` said at its time zero (ns).
    pub started_at_ns: u64,
    /// Which machine it ran on: the boot id of its kernel. Parts with the same share their cores.
    pub machine: String,
    /// Busy and stolen share of each core during the run.
    pub cores: Vec<(f64, f64)>,
    /// The law (s) that the gaps of an open plan were asked to be independent draws of. It does not go over a pipe: who
    /// puts parts together sets it again, in any of them.
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

/// What is the same for all parts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) warm_up: Span,
    /// When the last request was to be planned, where that was known by the end.
    pub(crate) end: Option<Time>,
    /// Whether an open plan was followed.
    pub(crate) open: bool,
    /// Whether there was a time to keep to at all.
    pub(crate) paced: bool,
    pub(crate) pacing: Pacing,
    /// Of all parts.
    pub(crate) connections_max: u32,
}

/// One thread of the generator.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ThreadFacts {
    pub(crate) cpu: Span,
    /// Share of the run that it was on a core.
    pub(crate) busy: f64,
    /// Share of the run that it waited for one.
    pub(crate) waiting: Option<f64>,
}
