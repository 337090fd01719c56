//! Least connections: the backend with the fewest requests in flight; ties drawn at random, to the lowest number, or to the one
//! whose count has not changed for longest.
//!
//! Parameter: `ties`, `drawn` (the default), `first` or `oldest`. Reads the load of each backend (requests in flight, pending
//! ones included, or what the last poll said); counts nothing of its own. Idle connections are not counted. The tie
//! rule is that of Zhang 2002, section 5.1.2, and matters: with ties to the lowest number (Bryhni, Klovning and Kure
//! 2000), whenever the system is empty the same server is chosen, and light load all goes to it (Zhang, section
//! 5.2.1, figures 5.2 and 5.3).

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, Decision, Index, Plain, Policy, Signals, Ties};

pub(super) const ENTRY: Entry = Entry {
    name: "least-connections",
    summary: "fewest requests in flight, ties drawn",
    build: |params| Ok(Box::new(LeastConnections { ties: params.ties_by_age()? })),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct LeastConnections {
    pub(super) ties: Ties,
}

impl Policy for LeastConnections {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT
    }

    fn index(&self) -> Index {
        Index::Load
    }

    fn ties(&self) -> Ties {
        self.ties
    }

    fn listens(&self) -> bool {
        false
    }

    fn plain(&self) -> Option<Plain> {
        Some(Plain::Least(self.ties))
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        Decision::forward_or_refuse(ask.table.least(ask.tried, draw))
    }
}
