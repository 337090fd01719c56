//! What goes wrong with policies while the simulator runs, and policies that do not return.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;

use crate::error;

/// Looks per second.
const LOOKS_PER_S: f64 = 20.0;
/// How long (s) one call may take, unless the caller says.
const PATIENCE_S: f64 = 10.0;
/// Of machine code in an endless loop.
const LEFT_BEHIND: &str =
    "compiled code cannot be stopped, so its thread is left behind, and keeps a core busy until this process ends";

/// The first thing that went wrong, and who is at work.
pub(crate) struct Trouble {
    /// Ends the run.
    pub(crate) cancel: Arc<AtomicBool>,
    patience_s: f64,
    first: Mutex<Option<PyErr>>,
    watches: Mutex<Vec<Weak<Watch>>>,
}

/// Whether a policy is inside a call.
pub(crate) struct Watch {
    policy: String,
    /// Where it is written, `FILE:LINE`; empty where that is not known.
    place: String,
    /// Rises when a call begins and when it ends: odd inside.
    steps: AtomicU64,
    /// Which call it is, a [`Call`].
    call: AtomicU8,
    /// Python's number of the thread it is on; 0 of compiled functions, into which nothing can be thrown.
    thread: AtomicU64,
    /// At the last look, and how many looks had seen the same.
    seen: AtomicU64,
    looks: AtomicU64,
}

/// What is called of a policy.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    Init,
    Choose,
    Observe,
    /// Compiled.
    It,
    Feedback,
}

/// What each [`Call`] is called.
const CALLS: [&str; 5] = ["__init__", "choose", "observe", "it", "its feedback"];

impl Trouble {
    /// None so far; one call may take `patience_s` (s).
    pub(crate) fn new(patience_s: Option<f64>) -> Arc<Trouble> {
        Arc::new(Trouble {
            cancel: Arc::default(),
            patience_s: patience_s.unwrap_or(PATIENCE_S),
            first: Mutex::default(),
            watches: Mutex::default(),
        })
    }

    /// Notes what went wrong, and ends the run. What went wrong first counts, and nothing after the run was ended: what is thrown
    /// into a policy then is no fault of its own.
    pub(crate) fn note(&self, message: String, cause: Option<PyErr>) {
        if !self.is_over() {
            // Made before the lock is taken: it takes the interpreter's, whose holder may wait for this one.
            let error = error::policy(&message, cause);
            self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
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

    /// A watch over the calls of a policy that is written at `place`.
    pub(crate) fn watch(&self, policy: &str, place: &str) -> Arc<Watch> {
        let watch = Arc::new(Watch {
            policy: policy.to_owned(),
            place: place.to_owned(),
            steps: AtomicU64::new(0),
            call: AtomicU8::new(0),
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

    /// Throws into every call that is under way in Python.
    pub(crate) fn interrupt_policies(&self, py: Python<'_>) {
        for watch in self.watches() {
            watch.throw(py);
        }
    }

    /// Whether a call takes longer than it may: that is noted, and ends the run. Called [`LOOKS_PER_S`] times a second.
    pub(crate) fn look_for_the_stuck(&self, py: Python<'_>) -> bool {
        let most = (self.patience_s * LOOKS_PER_S) as u64;
        let stuck = self.watches().into_iter().filter(|watch| watch.look() > most).last();
        let Some(watch) = stuck else { return false };
        let (policy, call, seconds) = (&watch.policy, watch.call(), self.patience_s);
        let left = if watch.is_compiled() { format!("; {LEFT_BEHIND}") } else { String::new() };
        let what = format!("policy `{policy}`: {call} has not returned for {seconds} s{left}");
        self.note(located(&watch.stands_at(py), &what), None);
        true
    }

    /// What to know of compiled code that an interruption has left behind.
    pub(crate) fn left_behind(&self) -> Option<String> {
        let inside = self.watches().into_iter().find(|watch| watch.is_compiled() && watch.is_inside())?;
        let what = format!("policy `{}`: {} does not return; {LEFT_BEHIND}", inside.policy, inside.call());
        Some(located(&inside.place, &what))
    }
}

/// What went wrong, behind where it did.
pub(crate) fn located(place: &str, what: &str) -> String {
    if place.is_empty() { what.to_owned() } else { format!("{place}: {what}") }
}

impl Watch {
    /// A call begins, on Python's thread of this number.
    #[inline]
    pub(crate) fn enter(&self, call: Call, thread: u64) {
        self.call.store(call as u8, Ordering::Relaxed);
        self.thread.store(thread, Ordering::Relaxed);
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// It has ended.
    #[inline]
    pub(crate) fn leave(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    fn call(&self) -> &'static str {
        CALLS[usize::from(self.call.load(Ordering::Relaxed))]
    }

    fn is_inside(&self) -> bool {
        !self.steps.load(Ordering::Relaxed).is_multiple_of(2)
    }

    fn is_compiled(&self) -> bool {
        self.thread.load(Ordering::Relaxed) == 0
    }

    /// How many looks have seen it in the same call.
    fn look(&self) -> u64 {
        let steps = self.steps.load(Ordering::Relaxed);
        if steps.is_multiple_of(2) || self.seen.swap(steps, Ordering::Relaxed) != steps {
            self.looks.store(0, Ordering::Relaxed);
        }
        self.looks.fetch_add(1, Ordering::Relaxed)
    }

    /// The line that its own code is at, `FILE:LINE`; of compiled code where it begins.
    fn stands_at(&self, py: Python<'_>) -> String {
        let thread = self.thread.load(Ordering::Relaxed);
        let asked = || -> PyResult<Option<String>> {
            py.import("sojourn._errors")?.getattr("where")?.call1((thread,))?.extract()
        };
        let known = if self.is_compiled() { None } else { asked().ok().flatten() };
        known.unwrap_or_else(|| self.place.clone())
    }

    fn throw(&self, py: Python<'_>) {
        let thread = self.thread.load(Ordering::Relaxed);
        if thread != 0 && self.is_inside() {
            let thrown = py.import("sojourn._errors").and_then(|errors| errors.getattr("throw_into")?.call1((thread,)));
            // It may have returned by now.
            drop(thrown);
        }
    }
}
