//! Why datagrams are not believed, counted.

use serde::Serialize;

use super::wire::Fault;

/// Datagrams that were not believed, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// No reports at all, or of another version.
    pub foreign: u64,
    /// Shorter or longer than they say.
    pub truncated: u64,
    /// Not made with the key.
    pub forged: u64,
    /// Made with the key, without sense.
    pub malformed: u64,
    /// Of a sender that is not waited for; orders to another one.
    pub unknown: u64,
    /// Of a start of the sender that has to be proved: each new one has one of these; orders with an old challenge.
    pub challenged: u64,
    /// Had come before, or more than 64 others since.
    pub replayed: u64,
    /// Longer under way than the sender may be silent, or overtaken by a later load.
    pub stale: u64,
    /// With numbers that no server can have.
    pub impossible: u64,
    /// Answers to no order, or to one that was answered.
    pub unasked: u64,
}

/// The count that a datagram which is not believed belongs to.
pub(super) type Cause = fn(&mut Dropped) -> &mut u64;

impl Dropped {
    /// Where a datagram that is none of ours is counted.
    pub(super) fn cause(fault: Fault) -> Cause {
        match fault {
            Fault::Foreign | Fault::Version => |dropped| &mut dropped.foreign,
            Fault::Truncated => |dropped| &mut dropped.truncated,
            Fault::Forged => |dropped| &mut dropped.forged,
            Fault::Malformed => |dropped| &mut dropped.malformed,
        }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        let Dropped { foreign, truncated, forged, malformed, unknown, .. } = self;
        let Dropped { challenged, replayed, stale, impossible, unasked, .. } = self;
        [foreign, truncated, forged, malformed, unknown, challenged, replayed, stale, impossible, unasked]
            .into_iter()
            .sum()
    }
}
