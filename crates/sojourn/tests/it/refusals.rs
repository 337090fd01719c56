//! Live runs of tiers with a limit: what it refuses is no doubt, what fails besides is one.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sojourn::{estimates, experiment, file, sojourn, stderr, stdout};

/// A server of 50 requests/s that is offered 150, with two inside at most: those who come in take 20 to 40 ms, and two of
/// three are refused.
const GATEWAY: &str = r#"
name = "too much"
seed = 7
[workload]
kind = "open"
arrivals = "constant(rate = 150 /s)"
[[system.tier]]
name = "front"
face = "gateway"
policy = "least-connections"
limit = { connections = 2, return = 1 }
targets = { servers = 1 }
[system.server]
discipline = "fcfs"
demand = "constant(20 ms)"
[run]
by = ["live"]
live = { duration = "2 s", warm_up = "0 s" }
"#;

/// Runs it by live alone; the reasons for doubt, and the facts with those numbers.
fn live(folder: &Path, path: &str, more: &[&str]) -> (String, impl Fn(&str) -> u64 + use<>) {
    let out = folder.join("out");
    let output = sojourn(&[&["run", path, "--by", "live", "--out", out.to_str().unwrap()], more].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}{}", stdout(&output), stderr(&output));
    let run: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    let live = run["variants"][0]["live"].clone();
    let number = move |name: &str| {
        let facts = live["facts"].as_array().unwrap();
        let fact = facts.iter().find(|fact| fact[0] == name);
        fact.map_or(0, |fact| fact[1].as_str().unwrap().parse().unwrap())
    };
    (run["reasons"].to_string(), number)
}

#[test]
fn what_a_limit_refuses_is_outcome_and_what_fails_besides_is_a_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "limit.toml", GATEWAY);
    let (reasons, number) = live(folder.path(), &path, &[]);
    assert!(!reasons.contains("failed"), "{reasons}");
    let refused = number("front, over limit");
    assert!((100..=220).contains(&refused), "{refused} of 300 were refused");
    assert_eq!((number("front, refused"), number("requests, status 5xx")), (refused, refused));
    let errors = estimates(&folder.path().join("out"), "live", "error_ratio")[0];
    let planned = number("requests") as f64;
    assert!((errors - refused as f64 / planned).abs() < 1e-9, "they stay errors: {errors}");

    // Those who come in and wait for the server need more than these 30 ms.
    let (reasons, number) = live(folder.path(), &path, &["--set", "run.live.timeout=30 ms"]);
    let (refused, late) = (number("front, over limit"), number("requests, timeout"));
    assert!(refused > 100 && late > 10, "{refused} refused, {late} late");
    assert!(reasons.contains(&format!("a limit refused {refused}; the other {late} are a doubt")), "{reasons}");
    // One that is said to be none is none.
    let set = ["--set", "run.live.timeout=30 ms", "--set", "run.live.limits.errors=90%"];
    assert!(!live(folder.path(), &path, &set).0.contains("failed"));
}

#[test]
fn what_a_switch_refuses_by_its_limit_is_outcome() {
    if !crate::bed::can() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(experiment("agarwal-2001/overload.toml")).unwrap();
    let (base, rest) = text.split_once("[[variant]]").expect("it has variants");
    let (_, run) = rest.split_once("[run]").expect("it says how it is run");
    let limited = base.replace("targets = { servers = 2 }", "targets = { servers = 2 }\nlimit = { connections = 2 }");
    let path = file(folder.path(), "overload.toml", format!("{limited}[run]{run}"));
    let short = ["--set", "run.live.duration=3 s", "--set", "run.live.warm_up=1 s"];
    let (reasons, number) = live(folder.path(), &path, &short);
    assert!(!reasons.contains("failed"), "{reasons}");
    let refused = number("front-node, over limit");
    assert!(refused > 20, "{refused} were refused");
    assert_eq!((number("front-node, refused"), number("requests, refused")), (refused, refused));
}
