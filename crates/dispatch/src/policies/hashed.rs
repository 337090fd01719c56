//! What the products' rules by a hash have in common: a layout of all servers, in which a request's hash is looked up.
//!
//! The layout is made anew only when who is there, or a weight, has changed. Weights are whole. Nothing is learned from what
//! becomes of requests.

use std::ops::RangeInclusive;

use sojourn_stats::Stream;

use crate::{Ask, Decision, Explanation, Policy, Signals, Table};

/// A ring, a table or shares of servers, and how a request finds its place there.
pub(super) trait Layout: Send {
    /// The weights that the product takes.
    const WEIGHTS: RangeInclusive<f64>;

    /// What is hashed.
    fn hashes(&self) -> Signals;

    /// Lays out the servers that are there.
    fn lay_out(&mut self, table: &Table);

    /// Looks up who serves a request.
    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision;

    /// See [`Policy::explain`].
    fn explain(&self, ask: &Ask<'_>) -> Explanation;
}

/// A rule by a hash, over its layout.
#[derive(Debug, Default)]
pub(super) struct Hashed<L> {
    layout: L,
    /// What it was laid out for.
    membership: u64,
}

impl<L: Layout> Hashed<L> {
    pub(super) fn over(layout: L) -> Hashed<L> {
        Hashed { layout, membership: 0 }
    }
}

impl<L: Layout> Policy for Hashed<L> {
    fn requires(&self) -> Signals {
        self.layout.hashes()
    }

    fn weights(&self) -> RangeInclusive<f64> {
        L::WEIGHTS
    }

    fn whole_weights(&self) -> bool {
        true
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        if self.membership != ask.table.membership() {
            self.membership = ask.table.membership();
            self.layout.lay_out(ask.table);
        }
        self.layout.choose(ask, draw)
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        self.layout.explain(ask)
    }
}
