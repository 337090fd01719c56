//! What is known of each backend.

use serde::{Deserialize, Serialize};
use sojourn_stats::Span;

/// A backend's number: given once per name, never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BackendId(pub u32);

/// How fresh the counts are that policies see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Information {
    /// The dispatcher's own counts, at once.
    #[default]
    Immediate,
    /// What the backends said when last asked, every so often; frozen in between.
    Polled {
        /// Time between polls.
        every: Span,
    },
}

/// What is known of each backend.
#[derive(Debug)]
pub struct Table {}
