//! How, when and why a child ended, from the state of the real process.

use std::os::unix::process::ExitStatusExt;

use nix::sys::signal::{Signal, kill};
use serde_json::json;
use sojourn_bed::clock::since_boot;
use sojourn_bed::{Child, Events, supervised};
use sojourn_stats::Time;

use crate::support::{PATIENCE, command, is_there, pid, shell, start, until};

const READY: &str = r#"echo '{"event":"ready","port":1}'; "#;

#[test]
fn a_child_that_runs_has_not_ended() {
    let child = start(command("child::as_child"));
    assert_eq!(child.ended(), None);
    kill(pid(&child), Signal::SIGSTOP).expect("it is there");
    assert_eq!(child.ended(), None, "a stopped process runs on later");
    kill(pid(&child), Signal::SIGCONT).expect("it is there");
    child.stop();
}

#[test]
fn a_child_that_stood_still_says_from_when_until_when() {
    let child = start(command("child::as_child"));
    assert_eq!(child.pauses(), []);
    let mut instants = vec![since_boot()];
    for round in 0..2 {
        child.freeze();
        until("its pause is seen", || child.pauses().len() == round + 1);
        instants.push(since_boot());
        assert_eq!(child.pauses()[round].until, None, "it still stands");
        child.thaw();
        until("that it goes on is seen", || child.pauses()[round].until.is_some());
        instants.push(since_boot());
    }
    let pauses = child.pauses();
    let seen: Vec<Time> = pauses.iter().flat_map(|pause| [Some(pause.from), pause.until]).flatten().collect();
    assert_eq!(seen.len(), 4);
    for (bounds, at) in instants.windows(2).zip(seen) {
        assert!(bounds[0] <= at && at <= bounds[1], "{pauses:?}, {instants:?}");
    }
    assert_eq!(child.ended(), None);
    child.stop();
}

#[test]
fn an_unexpected_end_has_its_instant_and_its_code() {
    let before = since_boot();
    let mut child = start(shell(&format!("{READY} read -r _; exit 3")));
    assert_eq!(child.ended(), None);
    let alive = since_boot();
    kill(pid(&child), Signal::SIGUSR1).expect("it is there");
    until("its end is seen", || child.ended().is_some());
    let after = since_boot();
    let ended = child.ended().expect("it was seen");
    assert!(before < alive && alive <= ended.at && ended.at <= after, "{alive} {} {after}", ended.at);
    assert_eq!((ended.status.signal(), ended.status.code()), (Some(Signal::SIGUSR1 as i32), None));
    assert!(!ended.was_told, "its parent had no part in it");
    assert_eq!(child.wait(PATIENCE), Some(ended), "it ends once");
    // It was not reaped: no other process can have its id yet.
    assert!(is_there(pid(&child)));

    let mut child = start(shell(&format!("{READY} echo gone wrong >&2; exit 3")));
    let ended = child.wait(PATIENCE).expect("it ends by itself");
    assert_eq!((ended.status.code(), ended.was_told), (Some(3), false));
    assert_eq!(child.stderr_tail(), "gone wrong", "after the wait all that it said has been read");

    // Of one that complains for long the end is kept.
    let mut child = start(shell(&format!("{READY} for n in $(seq 50); do echo line $n >&2; done; exit 3")));
    child.wait(PATIENCE).expect("it ends by itself");
    let kept: Vec<String> = (31..=50).map(|number| format!("line {number}")).collect();
    assert_eq!(child.stderr_tail(), kept.join("\n"));
}

#[test]
fn an_end_that_its_parent_caused_is_no_surprise() {
    let mut child = start(command("child::as_child"));
    let id = pid(&child);
    child.kill();
    let ended = child.ended().expect("it was waited for");
    assert_eq!((ended.status.signal(), ended.was_told), (Some(Signal::SIGKILL as i32), true));
    assert!(!is_there(id), "it is gone");
    assert_eq!(child.stop().len(), 1, "it had no time to say that it stops");
}

fn has_said(child: &Child, event: &str) -> bool {
    child.events().iter().any(|said| said["event"] == event)
}

/// One that has nothing to read anew says so, and serves on.
#[test]
fn a_child_that_is_hung_up_on_serves_on() {
    let child = start(command("child::as_child"));
    kill(pid(&child), Signal::SIGHUP).expect("it is there");
    until("it says so", || has_said(&child, "hung_up"));
    assert_eq!(child.ended(), None);
    assert_eq!(child.stop().last().expect("events")["event"], "stopped", "it ran until its input ended");
}

#[test]
#[ignore = "serves as a child of the test below"]
fn as_slow_child() {
    let events = Events::to(std::io::stdout());
    let ready = json!({"event": "ready", "port": 1});
    supervised::until_told_to_stop(&events, &ready, Some(std::io::stdin()), |_| {}).expect("it can wait");
    events.emit(&json!({"event": "stopping"}));
    loop {
        std::thread::park();
    }
}

/// What takes its time to stop is told again.
#[test]
fn a_child_that_is_told_twice_ends_at_once() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let child = start(command("ended::as_slow_child"));
        kill(pid(&child), signal).expect("it is there");
        until("it stops", || has_said(&child, "stopping"));
        assert_eq!(child.ended(), None);
        kill(pid(&child), signal).expect("it is there");
        until("its end is seen", || child.ended().is_some());
        assert_eq!(child.ended().expect("it was seen").status.code(), Some(130));
    }
}

#[test]
fn a_signal_from_elsewhere_stops_a_child_in_order() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let child = start(command("child::as_child"));
        kill(pid(&child), signal).expect("it is there");
        until("its end is seen", || child.ended().is_some());
        let ended = child.ended().expect("it was seen");
        assert!(ended.status.success() && !ended.was_told, "{ended:?}");
        assert_eq!(child.stop().last().expect("events")["event"], "stopped");
    }
}
