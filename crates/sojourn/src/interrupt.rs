//! Ctrl-C: the first asks the run to stop and keep what was measured, the second ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
