//! What is in force now: put in place of what was before as one, while threads use it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Held by what replaces it.
#[derive(Debug)]
pub struct Current<T> {
    value: Mutex<Arc<T>>,
    /// How often it was replaced: what a thread looks at, since a lock per use would cost more than many uses.
    changes: AtomicU64,
}

/// A thread's view of it.
#[derive(Debug)]
pub struct View<T> {
    current: Arc<Current<T>>,
    seen: u64,
    value: Arc<T>,
}

impl<T> Current<T> {
    /// With `value` in force.
    pub fn new(value: Arc<T>) -> Arc<Current<T>> {
        Arc::new(Current { value: Mutex::new(value), changes: AtomicU64::new(0) })
    }

    /// From now on `value` is in force.
    pub fn set(&self, value: Arc<T>) {
        let mut current = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        *current = value;
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// What is in force now, by a lock.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.value.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A view for one thread, which needs no lock while nothing changes.
    pub fn view(self: &Arc<Current<T>>) -> View<T> {
        let seen = self.changes.load(Ordering::Acquire);
        View { current: Arc::clone(self), seen, value: self.get() }
    }
}

impl<T> View<T> {
    /// What is in force now.
    pub fn now(&mut self) -> &Arc<T> {
        let changes = self.current.changes.load(Ordering::Acquire);
        if changes != self.seen {
            self.seen = changes;
            self.value = self.current.get();
        }
        &self.value
    }
}
