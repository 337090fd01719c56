//! `first`: the first server in the order of the configuration that is not full (`src/lb_fas.c`:
//! `fas_get_next_server`).
//!
//! Without a limit of requests per server all go to the first one. Weights are ignored, but for 0.

use std::ops::RangeInclusive;

use sojourn_stats::Stream;

use super::WEIGHTS;
use crate::{Ask, Code, Decision, Explanation, Policy, Reason, Signals, Table};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct First;

impl Policy for First {
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

    fn shares(&self, table: &Table) -> Option<Vec<f64>> {
        // With a limit of requests those before it decide who is full.
        let first = table.up().iter().copied().find(|id| table.weight(*id) > 0.0);
        let has_limits = table.up().iter().any(|id| table.limit_of(*id).is_some());
        (!has_limits).then(|| table.parts(|id| f64::from(Some(id) == first)))
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        let first = ask.candidates().find(|id| ask.table.weight(*id) > 0.0);
        let reason = Reason { code: Code::Turn, ties: 1, value: 0.0 };
        Decision::forward_or_refuse(first.map(|id| (id, reason)))
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| vec![("place".into(), f64::from(id.0 + 1))])
    }
}
