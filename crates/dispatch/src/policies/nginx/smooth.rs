//! Round robin, smooth (`ngx_http_upstream_get_peer`): the turns of `weighted-round-robin`, which has nginx's choices
//! at the cost of a look per different weight; here with nginx's weights, and for the others to fall back on.

use std::ops::RangeInclusive;

use sojourn_stats::Stream;

use super::WEIGHTS;
use crate::policies::weighted_round_robin::WeightedRoundRobin;
use crate::{Ask, Decision, Explanation, Plain, Policy, Signals, Table};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    turns: WeightedRoundRobin,
}

impl Policy for RoundRobin {
    fn requires(&self) -> Signals {
        Signals::empty()
    }

    fn weights(&self) -> RangeInclusive<f64> {
        WEIGHTS
    }

    fn whole_weights(&self) -> bool {
        true
    }

    fn listens(&self) -> bool {
        false
    }

    fn plain(&self) -> Option<Plain> {
        self.turns.plain()
    }

    fn shares(&self, table: &Table) -> Option<Vec<f64>> {
        self.turns.shares(table)
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        self.turns.choose(ask, draw)
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        self.turns.explain(ask)
    }
}
