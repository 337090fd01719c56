//! The requests of a node: how many it has had, and how many it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of a node's requests.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    all: AtomicU64,
    in_flight: AtomicU64,
    most: AtomicU64,
}

/// A request that the node has; it is counted out when this is dropped.
pub(crate) struct InFlight(Arc<Requests>);

impl Requests {
    /// Counts a request in.
    pub(crate) fn enter(self: &Arc<Self>) -> InFlight {
        self.all.fetch_add(1, Ordering::Relaxed);
        let inside = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(inside, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    /// Requests so far.
    pub(crate) fn all(&self) -> u64 {
        self.all.load(Ordering::Relaxed)
    }

    /// The most requests at any instant so far.
    pub(crate) fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    /// Requests at present.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
