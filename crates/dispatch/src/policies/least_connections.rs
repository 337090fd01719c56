//! Least connections: the backend with the fewest requests in flight; ties drawn at random.
//!
//! Reads the load of each backend (requests in flight, pending ones included, or what the last poll said); counts
//! nothing of its own. Idle connections are not counted. The tie rule is that of Zhang 2002, section 5.1.2, and matters:
//! with ties to the lowest number, light load all goes to one server (section 5.2.1).

use sojourn_stats::{Stream, Time};

use super::Entry;
use crate::{BackendId, Decision, Index, Policy, Request, Signals, Table};

pub(super) const ENTRY: Entry = Entry {
    name: "least-connections",
    summary: "fewest requests in flight, ties drawn",
    build: |_| Ok(Box::new(LeastConnections)),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct LeastConnections;

impl Policy for LeastConnections {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT
    }

    fn index(&self) -> Index {
        Index::Load
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, _: &Request, table: &Table, exclude: &[BackendId], _: Time, stream: &mut Stream) -> Decision {
        Decision::forward_or_refuse(table.least(exclude, stream))
    }
}
