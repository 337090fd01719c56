//! The protocol between children and parents.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use sojourn_bed::{Child, Events, SpawnError, supervised};

use crate::support::{PATIENCE, command, is_there, pid, shell, start, until};

#[test]
#[ignore = "serves as a child of the tests below"]
fn as_child() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let events = Events::to(std::io::stdout());
    let ready = json!({"event": "ready", "kind": "test", "port": port});
    supervised::until_told_to_stop(&events, &ready, Some(std::io::stdin()), {
        let events = events.clone();
        move |told| events.emit(&json!({"event": "heard", "told": told}))
    })
    .expect("it can wait");
    events.emit(&json!({"event": "stopped", "kind": "test"}));
}

#[test]
fn children_serve_until_their_input_ends() {
    let child = start(command("child::as_child"));
    let ready = &child.events()[0];
    assert_eq!((&ready["event"], &ready["kind"]), (&Value::from("ready"), &Value::from("test")));
    assert!(TcpStream::connect(("127.0.0.1", child.port())).is_ok(), "the ready line has its port");
    let id = pid(&child);
    assert_eq!(child.stop().last().expect("events")["event"], "stopped");
    assert!(!is_there(id), "it is gone");
}

#[test]
#[ignore = "serves as a child of the test below"]
fn as_early_child() {
    let events = Events::once_ready(std::io::stdout());
    let happens = |event: &str| events.emit(&json!({ "event": event }));
    happens("first");
    happens("second");
    let ready = json!({"event": "ready", "port": 1});
    supervised::until_told_to_stop(&events, &ready, Some(std::io::stdin()), |_| {}).expect("it can wait");
    happens("stopped");
}

#[test]
fn the_ready_line_comes_first() {
    let said = start(command("child::as_early_child")).stop();
    assert_eq!(said.iter().map(|event| &event["event"]).collect::<Vec<_>>(), ["ready", "first", "second", "stopped"]);
}

/// What is no JSON is no message, and what was said last has been heard when the input ends.
#[test]
fn a_child_hears_what_it_is_told() {
    let mut child = start(command("child::as_child"));
    child.say(&json!({"speed": 0.5})).expect("it listens");
    child.say(&json!({"speed": 1.0})).expect("it listens");
    child.dismiss();
    assert!(child.say(&json!({"speed": 0.1})).is_err(), "its input is closed");
    let ended = child.wait(PATIENCE).expect("it ends in order");
    assert!(ended.status.success() && ended.was_told, "{ended:?}");
    let told: Vec<Value> = child.stop().into_iter().map(|event| event["told"]["speed"].clone()).collect();
    assert_eq!(told, [Value::Null, 0.5.into(), 1.0.into(), Value::Null], "between ready and stopped");
}

#[test]
#[ignore = "serves as a child of the test below"]
fn as_parent() {
    let child = start(command("child::as_child"));
    let line = format!("{{\"event\":\"ready\",\"port\":{},\"pid\":{}}}\n", child.port(), child.pid());
    std::io::stdout().write_all(line.as_bytes()).expect("it is read");
    let _ = std::io::stdin().read(&mut [0; 1]);
    unreachable!("it is killed before its input ends");
}

#[test]
fn nothing_survives_a_parent_that_is_killed() {
    let parent = start(command("child::as_parent"));
    let child = Pid::from_raw(parent.events()[0]["pid"].as_i64().expect("an id") as i32);
    assert!(is_there(child), "the child runs");
    kill(pid(&parent), Signal::SIGKILL).expect("it is there");
    until("the parent has ended", || parent.ended().is_some());
    // Whether its id is free depends on which process reaps orphans; that its port is closed is what counts.
    until("the child has gone", || TcpStream::connect(("127.0.0.1", parent.port())).is_err());
}

#[test]
fn a_child_that_cannot_start_says_why() {
    match Child::start(shell("echo the port is taken >&2; exit 2"), PATIENCE) {
        Err(SpawnError::Ended { status, stderr, .. }) => {
            assert_eq!((status.code(), stderr.as_str()), (Some(2), "the port is taken"));
        }
        other => panic!("{:?}", other.err()),
    }
    let missing = Child::spawn(Path::new("/no/such/program"), ["x"], PATIENCE).err().expect("there is none");
    assert!(missing.to_string().contains("/no/such/program"), "{missing}");
    let late = Child::spawn(Path::new("sleep"), ["600"], Duration::from_millis(20)).err().expect("it says nothing");
    assert!(matches!(late, SpawnError::Late { .. }), "{late}");
}

/// A grandchild that outlives the child keeps its outputs open; its parent's end is an end all the same.
#[test]
fn a_grandchild_does_not_keep_a_child_from_ending() {
    let child = start(shell(r#"sleep 600 & printf '{"event":"ready","port":1,"sleeper":%d}\n' $!; read -r _"#));
    let sleeper = child.events()[0]["sleeper"].as_i64().expect("a process id");
    let sleeper = Pid::from_raw(sleeper as i32);
    child.stop();
    kill(sleeper, Signal::SIGKILL).expect("the child's end did not wait for the grandchild's");
}
