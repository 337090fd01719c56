//! Children to test with, and waiting for a condition.

use std::process::Command;
use std::time::Duration;

use nix::sys::signal::kill;
use nix::unistd::Pid;
use sojourn_bed::Child;
use sojourn_bed::clock::since_boot;
use sojourn_stats::Span;

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until `condition` holds.
#[track_caller]
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = since_boot();
    while !condition() {
        assert!(since_boot() - start < Span(PATIENCE.as_nanos() as u64), "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_micros(200));
    }
}

/// This binary, run as a test that only serves.
pub(crate) fn command(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args([test, "--exact", "--ignored", "--nocapture"]);
    command
}

/// A shell that runs `script`.
pub(crate) fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command
}

pub(crate) fn start(command: Command) -> Child {
    Child::start(command, PATIENCE).expect("a child starts")
}

pub(crate) fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.pid() as i32)
}

pub(crate) fn is_there(pid: Pid) -> bool {
    kill(pid, None).is_ok()
}
