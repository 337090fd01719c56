//! A tenth of a second of a run, by instant.

use serde::{Deserialize, Serialize};
use sojourn_stats::Span;

/// A tenth of a second of the run.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(from = "[u64; 10]", into = "[u64; 10]")]
pub(crate) struct Slice {
    pub(crate) planned: u64,
    pub(crate) begun: u64,
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) response_sum_ns: u64,
    /// Bytes of the replies that were over in it.
    pub(crate) bytes: u64,
    /// Whole objects.
    pub(crate) objects: u64,
    /// Of those planned in it, how many failed or were unfinished, and how many their clients gave up.
    pub(crate) wrong: u64,
    pub(crate) abandoned: u64,
    /// Attempts after the first of their requests that were begun in it.
    pub(crate) again: u64,
}

/// Length of a [`Slice`].
pub(crate) const SLICE: Span = Span(100_000_000);

impl From<[u64; 10]> for Slice {
    fn from(of: [u64; 10]) -> Slice {
        let [planned, begun, ok, failed, response_sum_ns, bytes, objects, wrong, abandoned, again] = of;
        Slice { planned, begun, ok, failed, response_sum_ns, bytes, objects, wrong, abandoned, again }
    }
}

impl From<Slice> for [u64; 10] {
    fn from(slice: Slice) -> [u64; 10] {
        let Slice { planned, begun, ok, failed, response_sum_ns, bytes, objects, wrong, abandoned, again } = slice;
        [planned, begun, ok, failed, response_sum_ns, bytes, objects, wrong, abandoned, again]
    }
}
