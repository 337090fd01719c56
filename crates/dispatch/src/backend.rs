//! A backend: its number, its state, what happened at it, what it is made of.

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
    /// What the backends said when last asked, every so often; frozen in between. Before its first report a backend
    /// counts as idle. Windows (round trips, bytes) are the dispatcher's own and stay fresh.
    Polled {
        /// Time between polls.
        #[serde(with = "sojourn_stats::nanoseconds")]
        every: Span,
    },
}

/// Whether a backend can be chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It can.
    #[default]
    Up,
    /// It ends what it has and takes nothing new.
    Draining,
    /// It does not answer.
    Down,
    /// It left for good.
    Left,
}

/// What happened at a backend since it was first heard of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests forwarded to it.
    pub forwarded: u64,
    /// Complete replies, errors included.
    pub completed: u64,
    /// Complete replies with status 429 or from 500 up.
    pub errors: u64,
    /// Requests without a reply, or with a broken one.
    pub failed: u64,
    /// Requests whose client went away.
    pub cancelled: u64,
    /// Bytes of replies.
    pub bytes: u64,
}

/// What a backend is made of, where the face knows ([`crate::Signals::HARDWARE`]). A rate that is not known is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hardware {
    /// Operations per second of its processor.
    #[serde(with = "crate::record::exact")]
    pub speed: f64,
    /// Bytes per second of its disk.
    #[serde(with = "crate::record::exact")]
    pub disk_rate: f64,
    /// Bytes per second of its network.
    #[serde(with = "crate::record::exact")]
    pub net_rate: f64,
}
