//! A test that cannot run on this machine says so past the capture of the test harness, and fails in CI: no check may
//! quietly stop. The tests of other crates use this file too.

use std::io::Write;

/// Says that the calling test does not run, or not the whole of it, and why.
///
/// # Panics
/// Where `CI` is set.
pub(crate) fn skipped(why: impl std::fmt::Display) {
    assert!(std::env::var_os("CI").is_none(), "in CI nothing is skipped: {why}; `make test` installs what is missing");
    let thread = std::thread::current();
    // The harness captures what is printed by macros, and names a test's thread after it.
    let _ = writeln!(std::io::stderr(), "\nSKIPPED {}: {why}", thread.name().unwrap_or("a test"));
}
