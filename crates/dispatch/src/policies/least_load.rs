//! Least load: the backend that uses the smallest share of its capacity, as it reported last; ties drawn at random, or to
//! the lowest number.
//!
//! Parameter: `ties`, `drawn` (the default) or `first`. Reads the reported room and capacity; counts nothing, so between
//! two reports all go to one backend (a herd; see Mitzenmacher, How useful is old information?, IEEE TPDS 11, 2000).
//! A backend that has not reported a capacity yet counts as idle.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, Decision, Index, Policy, Signals, Ties};

pub(super) const ENTRY: Entry = Entry {
    name: "least-load",
    summary: "smallest used share of the capacity last reported, ties drawn",
    build: |params| Ok(Box::new(LeastLoad { ties: params.ties()? })),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct LeastLoad {
    ties: Ties,
}

impl Policy for LeastLoad {
    fn requires(&self) -> Signals {
        Signals::REPORTS | Signals::ROOM
    }

    fn index(&self) -> Index {
        Index::UsedShare
    }

    fn ties(&self) -> Ties {
        self.ties
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        Decision::forward_or_refuse(ask.table.least(ask.tried, draw))
    }
}
