//! `leastconn` up to 3.1: smallest key, ties to the server whose key changed longest ago.
//!
//! The key is (in flight + 1) * 4096 / (16 * weight) by whole division, and 0 for a server without requests, so that
//! idle servers tie whatever their weights (`src/lb_fwlc.c`: `fwlc_queue_srv`, `fwlc_srv_reposition`,
//! `fwlc_get_next_server`). In flight are requests served and requests in the server's queue.

use std::ops::RangeInclusive;

use sojourn_stats::Stream;

use super::WEIGHTS;
use crate::{Ask, Decision, Index, Policy, Signals, Ties};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeastConn;

impl Policy for LeastConn {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT
    }

    fn index(&self) -> Index {
        Index::NextLoadPerWeight
    }

    fn ties(&self) -> Ties {
        Ties::Oldest
    }

    fn weighs(&self) -> bool {
        true
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

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        Decision::forward_or_refuse(ask.table.least(ask.tried, draw))
    }
}
