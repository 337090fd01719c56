//! Weighted least connections: the backend with the smallest (requests in flight / weight); ties drawn at random, to
//! the lowest number, or to the one whose value has not changed for longest.
//!
//! Parameter: `ties`, `drawn` (the default), `first` or `oldest`. Reads the load and weight of each backend; counts nothing.
//! Weight 0 is never chosen. The comparison is of the load before the request is placed (Zhang 2002, section 2.3), so
//! that idle backends tie whatever their weights: shares follow the weights under load, not at rest.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, Decision, Index, Policy, Signals, Ties};

pub(super) const ENTRY: Entry = Entry {
    name: "weighted-least-connections",
    summary: "fewest requests in flight per weight, ties drawn",
    build: |params| Ok(Box::new(WeightedLeastConnections { ties: params.ties_by_age()? })),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct WeightedLeastConnections {
    ties: Ties,
}

impl Policy for WeightedLeastConnections {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT
    }

    fn index(&self) -> Index {
        Index::LoadPerWeight
    }

    fn ties(&self) -> Ties {
        self.ties
    }

    fn weighs(&self) -> bool {
        true
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        Decision::forward_or_refuse(ask.table.least(ask.tried, draw))
    }
}
