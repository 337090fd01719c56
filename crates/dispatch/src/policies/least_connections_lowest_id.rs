//! Least connections with ties to the lowest id: the variant of Bryhni, Klovning and Kure (2000).
//!
//! Reads the load of each backend; counts nothing. Kept to reproduce the published imbalance (Zhang 2002, section
//! 5.2.1, figures 5.2 and 5.3): whenever the system is empty, the same server is chosen. For real use take
//! `least-connections`.

use sojourn_stats::{Stream, Time};

use super::Entry;
use crate::{BackendId, Decision, Index, Policy, Request, Signals, Table};

pub(super) const ENTRY: Entry = Entry {
    name: "least-connections-lowest-id",
    summary: "fewest requests in flight, ties to the lowest number (Bryhni 2000)",
    build: |_| Ok(Box::new(LeastConnectionsLowestId)),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct LeastConnectionsLowestId;

impl Policy for LeastConnectionsLowestId {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT
    }

    fn index(&self) -> Index {
        Index::LoadThenId
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, _: &Request, table: &Table, exclude: &[BackendId], _: Time, stream: &mut Stream) -> Decision {
        Decision::forward_or_refuse(table.least(exclude, stream))
    }
}
