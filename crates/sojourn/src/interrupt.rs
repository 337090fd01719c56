//! Ctrl-C: the first asks the run to stop and keep what was measured, the second ends the program at once. And the
//! signal of a file that may grow no more (`ulimit -f`), which would end it without a word.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SigSet, Signal};

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
