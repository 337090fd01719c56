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

/// Runs it by live alone into a folder; the reasons for doubt, and the facts that are numbers.
fn live(out: &Path, path: &str, more: &[&str]) -> (String, impl Fn(&str) -> u64 + use<>) {
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
    let out = |name: &str| folder.path().join(name);
    let (reasons, number) = live(&out("all"), &path, &[]);
    assert!(!reasons.contains("failed"), "{reasons}");
    let refused = number("front, over limit");
    assert!((100..=220).contains(&refused), "{refused} of 300 were refused");
    assert_eq!((number("front, refused"), number("requests, status 5xx")), (refused, refused));
    let errors = estimates(&out("all"), "live", "error_ratio")[0];
    let planned = number("requests") as f64;
    assert!((errors - refused as f64 / planned).abs() < 1e-9, "they stay errors: {errors}");

    // Those who come in and wait for the server need more than these 30 ms.
    let (reasons, number) = live(&out("late"), &path, &["--set", "run.live.timeout=30 ms"]);
    // On a slow machine a client does not wait for its refusal either.
    let (refused, late) = (number("requests, status 5xx"), number("requests, timeout"));
    assert!(refused > 50 && late > 10, "{refused} refused, {late} late");
    assert!(reasons.contains(&format!("a limit refused {refused}; the other {late} are a doubt")), "{reasons}");
    // One that is said to be none is none.
    let set = ["--set", "run.live.timeout=30 ms", "--set", "run.live.limits.errors=90%"];
    assert!(!live(&out("wide"), &path, &set).0.contains("failed"));
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
    let (reasons, number) = live(&folder.path().join("out"), &path, &short);
    assert!(!reasons.contains("failed"), "{reasons}");
    let (refused, heard) = (number("front-node, over limit"), number("requests, refused"));
    assert!(refused > 20, "{refused} were refused");
    assert_eq!(number("front-node, refused"), refused);
    // Where the machine is busy, a SYN is sent again before its refusal comes, and refused again.
    assert!(heard <= refused && heard * 10 >= refused * 9, "{refused} refused, {heard} heard of it");
}

/// Two sites of one server each for half of the requests, each with one connection at most: what finds it taken goes to the other
/// site, which serves or refuses it.
const SITES: &str = r#"
name = "two sites"
seed = 11
[workload]
kind = "open"
arrivals = "exponential(rate = 20 /s)"
size = "constant(1 kB)"
clients = [{ region = "europe", number = 60 }]
resolves = "request"
http = "1.0"
[[system.region]]
name = "europe"
[system.paths]
within = { rtt = "2 ms" }
[system.tcp]
stack = "linux-6"
[[system.site]]
name = "c1"
region = "europe"
[[system.site]]
name = "c2"
region = "europe"
[[system.tier]]
name = "dns"
face = "dns"
policy = "round-robin"
targets = { sites = ["c1", "c2"] }
[[system.tier]]
name = "front node"
face = "switch"
mode = "mac"
policy = "least-connections"
limit = { connections = 1 }
overflow = {}
targets = { servers = 1 }
[system.server]
discipline = "ps"
demand = "exponential(mean = 50 ms)"
[run]
by = ["live"]
live = { duration = "8 s", warm_up = "1 s" }
"#;

/// All of `expected` and hardly more: a client that a busy machine keeps waiting for a second sends its SYN again, and what was
/// refused is not remembered, so it is refused and counted again.
fn is_nearly(counted: u64, expected: u64) -> bool {
    (expected..=expected + 2 + expected / 5).contains(&counted)
}

#[test]
fn what_one_site_cannot_take_another_serves_or_refuses() {
    if !crate::bed::can() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "sites.toml", SITES);
    let out = folder.path().join("out");
    let (reasons, number) = live(&out, &path, &[]);
    assert!(!reasons.contains("failed"), "{reasons}");
    let of_both = |what: &str| [1, 2].map(|site| number(&format!("front-node-{site}, {what}")));
    let (overflowed, accepted, refused) = (of_both("overflowed"), of_both("accepted"), of_both("refused"));
    // What one passes on the other takes or refuses.
    assert!(overflowed.iter().all(|count| *count > 5), "{overflowed:?} were passed on");
    let [first, second] = [0, 1].map(|site| accepted[site] + refused[site]);
    for (taken, passed) in [(second, overflowed[0]), (first, overflowed[1])] {
        assert!(is_nearly(taken, passed), "{passed} were passed on, the other site took and refused {taken}");
    }
    let told = number("requests, refused");
    assert!(is_nearly(refused.iter().sum(), told), "{refused:?} were refused, clients were told so {told} times");
    // The twin's sites take and refuse the same requests, but for those that meet while a busy machine is late: of 140 some.
    let [live, twin] = ["live", "twin"].map(|engine| estimates(&out, engine, "error_ratio")[0]);
    assert!((live - twin).abs() < 0.15, "refused: live {live}, twin {twin}");

    let output = sojourn(&["run", &path, "--by", "live", "--set", "system.tier.front node.mode=nat"]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stderr(&output).contains("write `mode = \"mac\"`"), "{}", stderr(&output));
    let drained = format!("{SITES}[[fault]]\nat = \"2 s\"\nsite = \"c1\"\nwhat = \"drained\"\n");
    let output = sojourn(&["run", &file(folder.path(), "drained.toml", drained), "--by", "live"]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stderr(&output).contains("`drained` and passes on to other sites"), "{}", stderr(&output));
}
