//! Probabilistic least connections: the chance of a backend is in proportion to 1 / load, with load = requests in
//! flight + 1 (the request to be placed is counted, so that an idle backend has a finite chance).
//!
//! Reads the load of each backend; counts nothing. Against `least-connections` it trades some balance for calm: when
//! counts are stale, no backend is chosen by all dispatchers at once (Aversa and Bestavros 2000, by way of Zhang 2002, section
//! 2.3).

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, Decision, Index, Policy, Signals};

pub(super) const ENTRY: Entry = Entry {
    name: "probabilistic-least-connections",
    summary: "drawn with chances in proportion to 1 / (requests in flight + 1)",
    build: |_| Ok(Box::new(ProbabilisticLeastConnections)),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct ProbabilisticLeastConnections;

impl Policy for ProbabilisticLeastConnections {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT
    }

    fn index(&self) -> Index {
        Index::InverseLoad
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        Decision::forward_or_refuse(ask.table.draw_by_inverse_load(ask.tried, draw))
    }
}
