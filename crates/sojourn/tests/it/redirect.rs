//! The redirector as a child of a run, and what its user types wrong.

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::Value;
use sojourn_bed::Child;

use crate::sojourn::{PROGRAM, await_that, command, sojourn, stderr, stdout};

fn child(arguments: &[&str]) -> Child {
    Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).expect("a child is ready")
}

fn node(name: &str) -> Child {
    child(&["node", "--child", "--name", name, "--model", "discipline = \"ps\"\ndemand = \"0 ms\""])
}

#[test]
fn load_follows_a_redirector_to_the_servers() {
    let nodes = [node("a"), node("b")];
    let backend = |name: &str, node: &Child| format!("{name}=127.0.0.1:{}", node.port());
    let (a, b) = (backend("a", &nodes[0]), backend("b", &nodes[1]));
    let policy = ["--policy", "round-robin", "--client-header", "x-sojourn-client"];
    let redirector = child(&[&["redirect", "--child", "--backend", &a, "--backend", &b], &policy[..]].concat());
    let ready = &redirector.events()[0];
    assert_eq!((&ready["kind"], &ready["policy"]), (&"redirect".into(), &"round-robin".into()), "{ready}");
    let url = format!("http://127.0.0.1:{}/work?bytes=100", redirector.port());
    let output = sojourn(&["load", &url, "--rate", "400 /s", "--requests", "200", "--redirects", "3", "--json"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("a report");
    assert_eq!((&report["counts"]["planned"], &report["counts"]["ok"]), (&200.into(), &200.into()), "{report}");

    let pids = [redirector.pid(), nodes[0].pid(), nodes[1].pid()];
    let told = redirector.stop().pop().expect("it says that it stops");
    assert_eq!((&told["kind"], &told["requests"]), (&"redirect".into(), &200.into()), "{told}");
    for (index, node) in nodes.into_iter().enumerate() {
        assert_eq!(told["backends"][index]["completed"], 100, "{told}");
        assert_eq!(node.stop().pop().expect("it says that it stops")["requests"], 100);
    }
    for pid in pids {
        assert!(kill(Pid::from_raw(pid as i32), None).is_err(), "nothing is left behind");
    }
}

/// A full disk: neither the ready line nor the record is lost without a word.
#[test]
fn what_cannot_be_written_is_said() {
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    let output = command(&["node"]).stdout(full()).output().expect("it can be run");
    let complaint = stderr(&output);
    assert_eq!((output.status.code(), complaint.trim_end().lines().count()), (Some(3), 1), "{complaint}");
    assert!(complaint.contains("ready line") && complaint.contains("No space left"), "{complaint}");

    let output = sojourn(&["gateway", "--backend", "127.0.0.1:9", "--record", "/dev/full"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cannot record to /dev/full: "), "{}", stderr(&output));

    // A record whose reader goes away in the middle fails later, as on a disk that fills.
    let folder = tempfile::tempdir().expect("a folder");
    let record = folder.path().join("record");
    mkfifo(&record, Mode::S_IRWXU).expect("a FIFO");
    let reader = std::fs::File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(&record);
    let node = node("a");
    let backend = format!("127.0.0.1:{}", node.port());
    let record = record.display().to_string();
    let mut gateway = child(&["gateway", "--backend", &backend, "--record", &record]);
    drop(reader.expect("it is there"));
    let url = format!("http://127.0.0.1:{}/work", gateway.port());
    // More than the record's buffer holds.
    let output = sojourn(&["load", &url, "--rate", "1000 /s", "--requests", "300"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    await_that("it is said while it serves", || gateway.events().iter().any(|event| event["event"] == "record_failed"));
    kill(Pid::from_raw(gateway.pid() as i32), Signal::SIGTERM).expect("it is there");
    let ended = gateway.wait(Duration::from_secs(20)).expect("it ends");
    assert_eq!(ended.status.code(), Some(3));
    assert_eq!(gateway.events().last().expect("events")["records_failed"], 1);
    assert!(gateway.stderr_tail().contains("record"), "{}", gateway.stderr_tail());
}

#[test]
fn what_a_redirector_cannot_do_is_refused() {
    let refused = |more: &[&str]| {
        let output = sojourn(&[&["redirect", "--backend", "a=127.0.0.1:9"], more].concat());
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {complaint}");
        assert_eq!(complaint.trim_end().lines().count(), 1, "{more:?}: {complaint}");
        complaint
    };
    for (more, expected) in [
        (&["--policy", "least-connections"][..], &["`least-connections`", "in-flight"][..]),
        (&["--policy", "transmitted-size", "--poll", "100 ms"], &["`transmitted-size`", "bytes"]),
        (&["--policy", "round-trip", "--poll", "100 ms"], &["`round-trip`", "first-byte"]),
        (&["--status", "301"], &["301", "307 or 302"]),
        (&["--public", "https://a.example.org"], &["--public", "no name before a `=`", "a=https://"]),
        (&["--public", "a.example.org"], &["--public", "no name before a `=`"]),
        (&["--public", "b=https://b.example.org"], &["b=https://b.example.org", "no such backend"]),
        (&["--public", "a=b.example.org"], &["b.example.org", "http://"]),
    ] {
        let complaint = refused(more);
        for part in expected {
            assert!(complaint.contains(part), "{more:?}: no `{part}` in {complaint}");
        }
    }
}
