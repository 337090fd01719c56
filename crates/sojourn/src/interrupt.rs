//! Ctrl-C: the first asks the run to stop and keep what was measured, the second ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SigSet, Signal};

/// A flag that Ctrl-C (or a polite kill) sets. Call it before any thread starts, so that all inherit the signal mask.
pub(crate) fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    // Cannot fail: the set is valid.
    signals.thread_block().expect("signals can be blocked");
    let set = Arc::clone(&flag);
    std::thread::spawn(move || {
        while signals.wait().is_ok() {
            if set.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        }
    });
    flag
}
