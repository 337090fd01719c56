//! The redirector as a child of a run, and what its user types wrong.

use std::path::Path;
use std::time::Duration;

use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::Value;
use sojourn_bed::Child;

use crate::sojourn::{PROGRAM, sojourn, stderr, stdout};

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
        (&["--public", "https://a.example.org"], &["--public", "names no backend", "a=https://"]),
        (&["--public", "a.example.org"], &["--public", "names no backend"]),
        (&["--public", "b=https://b.example.org"], &["b=https://b.example.org", "no such backend"]),
        (&["--public", "a=b.example.org"], &["b.example.org", "http://"]),
    ] {
        let complaint = refused(more);
        for part in expected {
            assert!(complaint.contains(part), "{more:?}: no `{part}` in {complaint}");
        }
    }
}
