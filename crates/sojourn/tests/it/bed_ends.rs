//! The ways in which a bed learns that what keeps it has gone, each by itself: in a whole bed one covers for the other.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sojourn_bed::clock::since_boot;
use sojourn_stats::Span;

use crate::bed::{Bed, can, marked};
use crate::sojourn::{PROGRAM, await_that};

/// The first process of a bed without hosts, started by `unshare`: its standard input is its life line. Its mark is in its
/// environment.
fn base(name: &str) -> (Child, String) {
    let (key, value) = ("SOJOURN_TEST_MARK", format!("{name}-{};", std::process::id()));
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--pid", "--fork", PROGRAM, "bed", "base", "--life-line", "0", "--"]);
    unshare.args(["sleep", "600"]).env(key, &value).stdin(Stdio::piped());
    let child = unshare.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("util-linux");
    let mark = format!("{key}={value}");
    // unshare, the first process, and what it runs.
    await_that("the bed is there", || marked(&mark).0.len() >= 3);
    (child, mark)
}

/// Whether nothing with this mark is left after at most ten seconds.
fn ends(mark: &str) -> bool {
    let start = since_boot();
    while since_boot() - start < Span(10_000_000_000) {
        if marked(mark).0.is_empty() {
            return true;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    false
}

#[test]
fn a_bed_ends_with_its_life_line_while_its_parent_lives() {
    if !can() {
        return;
    }
    let (mut parent, mark) = base("line");
    drop(parent.stdin.take());
    let has_ended = ends(&mark);
    parent.kill().and_then(|()| parent.wait()).expect("it was started");
    assert!(has_ended, "the process that kept it was gone, and it ran on");
}

#[test]
fn a_bed_ends_with_its_parent_while_its_life_line_is_open() {
    if !can() {
        return;
    }
    let (mut parent, mark) = base("parent");
    let line = parent.stdin.take().expect("it is piped");
    parent.kill().and_then(|()| parent.wait()).expect("it was started");
    let has_ended = ends(&mark);
    drop(line);
    assert!(has_ended, "its parent was killed, and it ran on");
}

#[test]
fn a_command_on_a_host_ends_with_what_started_it() {
    if !can() {
        return;
    }
    let bed = Bed::up("dsl");
    let mark = format!("SOJOURN_TEST_MARK=command-{};", std::process::id());
    let mut exec = bed.start("client", &["env", &mark, "sleep", "600"]);
    await_that("it runs", || !marked(&mark).0.is_empty());
    exec.kill().and_then(|()| exec.wait()).expect("it was started");
    let has_ended = ends(&mark);
    drop(bed);
    assert!(has_ended, "what started it was killed, and it ran on");
}
