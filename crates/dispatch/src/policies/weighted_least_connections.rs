//! Weighted least connections: the backend with the smallest (requests in flight / weight); ties drawn at random.
//!
//! Reads the load and weight of each backend; counts nothing. Weight 0 is never chosen. The comparison is of the load
//! before the request is placed (Zhang 2002, section 2.3), so that idle backends tie whatever their weights: shares
//! follow the weights under load, not at rest.

use sojourn_stats::{Stream, Time};

use super::Entry;
use crate::{BackendId, Decision, Index, Policy, Request, Signals, Table};

pub(super) const ENTRY: Entry = Entry {
    name: "weighted-least-connections",
    summary: "fewest requests in flight per weight, ties drawn",
    build: |_| Ok(Box::new(WeightedLeastConnections)),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct WeightedLeastConnections;

impl Policy for WeightedLeastConnections {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT
    }

    fn index(&self) -> Index {
        Index::LoadPerWeight
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, _: &Request, table: &Table, exclude: &[BackendId], _: Time, stream: &mut Stream) -> Decision {
        Decision::forward_or_refuse(table.least(exclude, stream))
    }
}
