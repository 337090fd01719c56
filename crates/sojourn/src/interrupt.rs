//! Ctrl-C: the first asks the run to stop and keep what was measured, the second ends the program at once. And the
//! signal of a file that may grow no more (`ulimit -f`), which would end it without a word.
//!
//! A parent that names [`STOP_AT_END`] in the environment stops a run by closing standard input, as it does when it dies: what
//! Python starts does not outlive a kernel that is restarted.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SigSet, Signal};

/// Set in the environment: the end of standard input is as Ctrl-C is.
const STOP_AT_END: &str = "SOJOURN_STOP_AT_END_OF_INPUT";

/// A flag that Ctrl-C (or a polite kill) sets. Signals are handled, not blocked: a child would inherit what is blocked,
/// and a program that we start, such as Apache, could then not be stopped by one.
pub(crate) fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    let handler = move || {
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    if std::env::var_os(STOP_AT_END).is_some() {
        let stop = handler.clone();
        // Where the thread cannot be had, a signal stops it still.
        let reader = move || {
            _ = io::copy(&mut io::stdin(), &mut io::sink());
            stop();
        };
        let _ = std::thread::Builder::new().spawn(reader);
    }
    // Fails only when a handler is there already: each verb asks once.
    ctrlc::set_handler(handler).expect("no other handler of Ctrl-C");
    flag
}

/// A file that reaches its limit is an error of the write, which is told. For all threads: called before there are any.
/// What children inherit of this is as well for them.
pub(crate) fn survive_full_files() {
    let mut full = SigSet::empty();
    full.add(Signal::SIGXFSZ);
    full.thread_block().expect("a thread may block a signal");
}
