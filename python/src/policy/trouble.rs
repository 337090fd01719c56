//! What goes wrong with policies while the simulator runs, and policies that do not return.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;

use crate::error;

/// Looks per second.
const LOOKS_PER_S: f64 = 20.0;
/// How long (s) one choice may take, unless the caller says.
const PATIENCE_S: f64 = 10.0;

/// The first thing that went wrong, and who is at work.
pub(crate) struct Trouble {
    /// Ends the run.
    pub(crate) cancel: Arc<AtomicBool>,
    patience_s: f64,
    first: Mutex<Option<PyErr>>,
    watches: Mutex<Vec<Weak<Watch>>>,
}

/// Whether a policy is inside a choice.
pub(crate) struct Watch {
    policy: String,
    /// Rises when a choice begins and when it ends: odd inside.
    steps: AtomicU64,
    /// Python's number of the thread it is on; 0 of compiled functions, into which nothing can be thrown.
    thread: AtomicU64,
    /// At the last look, and how many looks had seen the same.
    seen: AtomicU64,
    looks: AtomicU64,
}

impl Trouble {
    /// None so far; one choice may take `patience_s` (s).
    pub(crate) fn new(patience_s: Option<f64>) -> Arc<Trouble> {
        Arc::new(Trouble {
            cancel: Arc::default(),
            patience_s: patience_s.unwrap_or(PATIENCE_S),
            first: Mutex::default(),
            watches: Mutex::default(),
        })
    }

    /// Notes what went wrong, and ends the run. What went wrong first counts.
    pub(crate) fn note(&self, message: String, cause: Option<PyErr>) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Some(error::policy(&message, cause));
        }
        self.cancel.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// What went wrong, if anything did.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A watch over a policy.
    pub(crate) fn watch(&self, policy: &str) -> Arc<Watch> {
        let watch = Arc::new(Watch {
            policy: policy.to_owned(),
            steps: AtomicU64::new(0),
            thread: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            looks: AtomicU64::new(0),
        });
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        watches.retain(|watch| watch.strong_count() > 0);
        watches.push(Arc::downgrade(&watch));
        watch
    }

    fn watches(&self) -> Vec<Arc<Watch>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
    }

    /// Throws into every choice that is under way in Python.
    pub(crate) fn interrupt_policies(&self, py: Python<'_>) {
        for watch in self.watches() {
            watch.throw(py);
        }
    }

    /// Whether a choice takes longer than it may: that is noted, and ends the run. Called [`LOOKS_PER_S`] times a second.
    pub(crate) fn look_for_the_stuck(&self) -> bool {
        let most = (self.patience_s * LOOKS_PER_S) as u64;
        let stuck = self.watches().into_iter().filter(|watch| watch.look() > most).last();
        let Some(watch) = stuck else { return false };
        let (policy, seconds) = (&watch.policy, self.patience_s);
        let left = match watch.thread.load(Ordering::Relaxed) {
            0 => "; compiled code cannot be stopped, and its thread is left behind",
            _ => "",
        };
        self.note(format!("policy `{policy}` has not returned from one choice for {seconds} s{left}"), None);
        true
    }
}

impl Watch {
    /// A choice begins, on Python's thread of this number.
    #[inline]
    pub(crate) fn enter(&self, thread: u64) {
        self.thread.store(thread, Ordering::Relaxed);
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// It has ended.
    #[inline]
    pub(crate) fn leave(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// How many looks have seen it in the same choice.
    fn look(&self) -> u64 {
        let steps = self.steps.load(Ordering::Relaxed);
        if steps.is_multiple_of(2) || self.seen.swap(steps, Ordering::Relaxed) != steps {
            self.looks.store(0, Ordering::Relaxed);
        }
        self.looks.fetch_add(1, Ordering::Relaxed)
    }

    fn throw(&self, py: Python<'_>) {
        let thread = self.thread.load(Ordering::Relaxed);
        if thread != 0 && self.steps.load(Ordering::Relaxed) % 2 == 1 {
            let thrown = py.import("sojourn._errors").and_then(|errors| errors.getattr("throw_into")?.call1((thread,)));
            // It may have returned by now.
            drop(thrown);
        }
    }
}
