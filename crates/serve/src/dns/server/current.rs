//! The zones that are served now: put in place of others as one, while threads answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::dns::zone::Zones;

/// Held by the server.
#[derive(Debug)]
pub(super) struct Current {
    zones: Mutex<Arc<Zones>>,
    /// How often they were replaced: what a thread looks at, since a lock per query would cost more than the answer.
    changes: AtomicU64,
}

/// A thread's view of it.
#[derive(Debug)]
pub(super) struct View {
    current: Arc<Current>,
    seen: u64,
    zones: Arc<Zones>,
}

impl Current {
    pub(super) fn new(zones: Arc<Zones>) -> Arc<Current> {
        Arc::new(Current { zones: Mutex::new(zones), changes: AtomicU64::new(0) })
    }

    pub(super) fn set(&self, zones: Arc<Zones>) {
        let mut current = self.zones.lock().unwrap_or_else(PoisonError::into_inner);
        *current = zones;
        self.changes.fetch_add(1, Ordering::Release);
    }

    pub(super) fn view(self: &Arc<Current>) -> View {
        let seen = self.changes.load(Ordering::Acquire);
        View { current: Arc::clone(self), seen, zones: self.zones() }
    }

    fn zones(&self) -> Arc<Zones> {
        Arc::clone(&self.zones.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl View {
    /// What is served now.
    pub(super) fn zones(&mut self) -> &Zones {
        let changes = self.current.changes.load(Ordering::Acquire);
        if changes != self.seen {
            self.seen = changes;
            self.zones = self.current.zones();
        }
        &self.zones
    }
}
