//! Long calls: on a thread of their own, without the interpreter's lock, until they end or Python is interrupted.
//!
//! Python only sets a flag when a signal comes, and looks at it between its own steps. So the caller's thread waits, looks every
//! [`TICK`], shows how far the work is, and passes an interruption on as the cancellation that the engines know. Work that does
//! not end then (a compiled policy that never returns) is left behind on its thread after [`PATIENCE`]: the caller gets its
//! prompt back, and a warning.

use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use sojourn_lab::{Progress, Step};

use crate::error;
use crate::policy::Trouble;

/// Between two looks at signals.
const TICK: Duration = Duration::from_millis(50);
/// Looks after an interruption before work that has not ended is left behind: 0.7 s.
const PATIENCE: u32 = 14;

/// How far the work is, as it was last told.
struct Shown {
    variant: (usize, usize),
    label: String,
    engine: &'static str,
    done: f64,
    remark: String,
}

/// What came of long work.
pub(crate) enum Ended<T> {
    /// It came to its end.
    Whole(T),
    /// It was interrupted, and this is what there is until then, if it ended in time. With the exception of the interruption.
    Interrupted(Option<T>, PyErr),
}

/// Does `work` and tells `show` how far it is: (variant, variants, label, engine, done, remark).
///
/// # Errors
/// When a policy of the user's own has failed, `show` raises, or the work stopped for a broken invariant.
pub(crate) fn attended<T: Send + 'static>(
    py: Python<'_>,
    show: Option<&Bound<'_, PyAny>>,
    trouble: &Arc<Trouble>,
    work: impl FnOnce(&Progress<'_>) -> T + Send + 'static,
) -> PyResult<Ended<T>> {
    let cancel: Arc<AtomicBool> = Arc::clone(&trouble.cancel);
    let shown: Arc<Mutex<Option<Shown>>> = Arc::default();
    let (send, receive) = channel();
    // Without the interpreter's lock only what threads may share can be used.
    let receive = Mutex::new(receive);
    let (flag, told) = (Arc::clone(&cancel), Arc::clone(&shown));
    let body = move || {
        let tell = |step: Step<'_>| {
            let Step { variant, label, engine, done, remark } = step;
            let of = Shown { variant, label: label.into(), engine: engine.name(), done, remark: remark.into() };
            *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(of);
        };
        // Attached once, without the lock while it works: each call of a policy finds Python's state of this thread, whose making
        // would cost more than the call.
        let all = || Python::attach(|py| py.detach(|| work(&Progress::new(&flag, &tell))));
        let done = catch_unwind(AssertUnwindSafe(all));
        // None waits for it where it was left behind.
        let _ = send.send(done);
    };
    thread::Builder::new().name("sojourn".into()).spawn(body).map_err(error::run)?;
    let mut interruption: Option<PyErr> = None;
    let (mut is_ending, mut looks) = (false, 0);
    let done = loop {
        match py.detach(|| receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TICK)) {
            Ok(done) => break Some(done),
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if is_ending {
            looks += 1;
            trouble.interrupt_policies(py);
            if looks >= PATIENCE {
                break None;
            }
        }
        let step = shown.lock().unwrap_or_else(PoisonError::into_inner).take();
        let heard = py.check_signals().and_then(|()| match (show, step) {
            (Some(show), Some(Shown { variant: (variant, variants), label, engine, done, remark })) => {
                show.call1((variant, variants, label, engine, done, remark)).map(drop)
            }
            _ => Ok(()),
        });
        if let Err(raised) = heard {
            cancel.store(true, Ordering::Relaxed);
            interruption.get_or_insert(raised);
        }
        is_ending = interruption.is_some() || is_ending || trouble.look_for_the_stuck(py);
    };
    if let Some(fault) = trouble.take() {
        return Err(fault);
    }
    if let (None, Some(words)) = (&done, trouble.left_behind()) {
        warn(py, words)?;
    }
    match (done, interruption) {
        (Some(Err(payload)), _) => Err(error::panicked(&*payload)),
        (Some(Ok(done)), None) => Ok(Ended::Whole(done)),
        (Some(Ok(done)), Some(raised)) => Ok(Ended::Interrupted(Some(done), raised)),
        (None, Some(raised)) => Ok(Ended::Interrupted(None, raised)),
        (None, None) => Err(error::run("the thread that computed has gone")),
    }
}

/// Tells what an interruption has left behind.
fn warn(py: Python<'_>, words: String) -> PyResult<()> {
    let words = CString::new(words).map_err(error::run)?;
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &words, 1)
}
