//! Faults of live runs: done at their instants, told in the run folder, and given to the twin as they happened.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sojourn::{estimates, file, sojourn, stderr, stdout};

/// One server, 200 requests/s for 3.2 s: down for 0.5 s, drained for 0.5 s, and at last at a quarter of its speed.
const ONE_SERVER: &str = r#"
name = "one server that breaks"
seed = 5
[workload]
kind = "open"
arrivals = "constant(rate = 200 /s)"
[client]
timeout = "5 s"
[system.server]
discipline = "ps"
demand = "1 ms"
[[fault]]
at = "0.5 s"
until = "1 s"
server = 1
what = "down"
[[fault]]
at = "1.5 s"
until = "2 s"
server = 1
what = "drained"
[[fault]]
at = "2.2 s"
server = 1
what = "slow(0.25)"
[run]
by = ["live"]
live = { duration = "3.2 s", warm_up = "0 s" }
"#;

/// The faults in a run folder's events: what, is, planned and real instants (s).
fn told(folder: &Path) -> Vec<(String, String, f64, f64)> {
    let text = fs::read_to_string(folder.join("events.jsonl")).expect("a run folder has events");
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let number = |value: &Value| value.as_f64().expect("a number");
    let faults = events.filter(|event| event["event"] == "fault");
    faults.map(|of| (text(&of["what"]), text(&of["is"]), number(&of["planned_s"]), number(&of["at_s"]))).collect()
}

#[test]
fn a_server_breaks_when_it_was_planned_and_the_twin_has_it_so() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let path = file(folder.path(), "breaks.toml", ONE_SERVER);
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}{}", stdout(&output), stderr(&output));
    let told = told(&out);
    let names: Vec<(&str, &str)> = told.iter().map(|(what, is, ..)| (what.as_str(), is.as_str())).collect();
    let expected = [("down", "begun"), ("down", "over"), ("drained", "begun"), ("drained", "over"), ("slow", "begun")];
    assert_eq!(names, expected);
    for (what, is, planned_s, at_s) in &told {
        assert!(planned_s <= at_s && at_s - planned_s < 1.0, "{what} {is}: at {at_s} s instead of {planned_s} s");
    }
    // A request every 5 ms: as many are refused as fit into the times in which the server was not there. Twin and live may
    // differ by what is sent while a part ends or begins, a tenth of a second of 3.2 s on a busy machine.
    let gone_s = (told[1].3 - told[0].3) + (told[3].3 - told[2].3);
    for engine in ["live", "twin"] {
        let errors = estimates(&out, engine, "error_ratio")[0];
        assert!((errors - gone_s / 3.2).abs() < 0.05, "{engine}: {errors}, gone for {gone_s} s of 3.2 s");
    }
    // Of 440 requests that are served the last 200 take 4 ms instead of 1: the mean is 2.36 ms, and longer on a busy machine.
    for engine in ["live", "twin"] {
        let mean_s = estimates(&out, engine, "response_time_mean")[0];
        assert!(mean_s > 0.0022, "{engine}: {mean_s}");
    }
    // What was planned is no doubt.
    let run: Value = serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    let reasons = run["reasons"].to_string();
    assert!(!reasons.contains("server-1") && !reasons.contains("failed") && !reasons.contains("refused"), "{reasons}");
}

/// One server that is busy for 0.8 of the time with 20 requests/s; the faults follow.
const SLOW_SERVER: &str = r#"
name = "faults one after the other"
seed = 5
[workload]
kind = "open"
arrivals = "constant(rate = 20 /s)"
[client]
timeout = "2 s"
TIER
[system.server]
discipline = "ps"
demand = "40 ms"
[run]
by = ["live"]
live = { duration = "2.4 s", warm_up = "0 s" }
"#;

/// Runs it with these faults as `at, until, what`; its folder, and a fact of it by name (0 where it is not told).
fn with_faults(folder: &Path, tier: &str, faults: &[(&str, &str, &str)]) -> impl Fn(&str) -> u64 + use<> {
    let subject = if tier.is_empty() { "server = 1" } else { "tier = \"front\"" };
    let fault = |(at, until, what): &(&str, &str, &str)| {
        let until = if until.is_empty() { String::new() } else { format!("until = \"{until}\"\n") };
        format!("[[fault]]\nat = \"{at}\"\n{until}{subject}\nwhat = \"{what}\"\n")
    };
    let text = SLOW_SERVER.replace("TIER", tier) + &faults.iter().map(fault).collect::<String>();
    let path = file(folder, "faults.toml", text);
    let output = sojourn(&["run", &path, "--out", &folder.join("out").display().to_string()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}{}", stdout(&output), stderr(&output));
    let run: Value = serde_json::from_slice(&fs::read(folder.join("out/run.json")).unwrap()).unwrap();
    let reasons = run["reasons"].to_string();
    assert!(!reasons.contains("failed") && !reasons.contains("did not answer"), "{reasons}");
    let facts = run["variants"][0]["live"]["facts"].clone();
    move |name: &str| {
        let fact = facts.as_array().unwrap().iter().find(|fact| fact[0] == name);
        fact.map_or(0, |fact| fact[1].as_str().unwrap().parse().unwrap())
    }
}

/// Of two faults that meet the first is over before the second begins; what is frozen beyond the end of the run is told to stop
/// all the same, and nothing is done after the end.
#[test]
fn faults_follow_each_other_and_end_with_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let faults = [("300 ms", "700 ms", "down"), ("700 ms", "1.1 s", "down"), ("2.2 s", "", "frozen")];
    let fact = with_faults(folder.path(), "", &faults);
    let told: Vec<String> =
        told(&folder.path().join("out")).iter().map(|(what, is, ..)| format!("{what} {is}")).collect();
    assert_eq!(told, ["down begun", "down over", "down begun", "down over", "frozen begun"]);
    // The server is not there for twice 0.4 s: 16 requests, or more where another one listens late.
    assert!(fact("requests, refused") >= 12, "{} were refused", fact("requests, refused"));
}

/// What a server has when it is drained it ends: those that fail are refused, and none is broken off.
#[test]
fn a_drained_server_ends_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    // While it was slow some were left over, so that it has several.
    let faults = [("500 ms", "1.01 s", "slow(0.5)"), ("1.02 s", "1.5 s", "drained")];
    let fact = with_faults(folder.path(), "", &faults);
    let [refused, reset, early] = ["refused", "reset", "closed early"].map(|cause| fact(&format!("requests, {cause}")));
    assert!(refused >= 5 && (reset, early) == (0, 0), "{refused} refused, {reset} reset, {early} closed early");
}

/// What was slow is fast again: at a quarter of its speed it falls behind by ten requests, of which some wait for more than their
/// two seconds, and then it catches up. If it stayed slow, nearly all of the 47 would wait for too long.
#[test]
fn a_slow_server_is_fast_again() {
    let folder = tempfile::tempdir().unwrap();
    let fact = with_faults(folder.path(), "", &[("300 ms", "800 ms", "slow(0.25)")]);
    assert!(fact("requests") > 40 && fact("requests, timeout") < 20, "{}", fact("requests, timeout"));
}

/// A tier that is down takes its deciders with it: while it is, its clients are refused.
#[test]
fn a_tier_that_is_down_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let tier = "[[system.tier]]\nname = \"front\"\nface = \"gateway\"\npolicy = \"random\"\ntargets = { servers = 1 }";
    let fact = with_faults(folder.path(), tier, &[("1 s", "1.5 s", "down")]);
    assert!(fact("requests, refused") >= 5, "{}", fact("requests, refused"));
}

/// 100 requests/s of two regions for 3.6 s: one region is cut off, the server fails, it stands still, and the other path loses.
const LINKS: &str = r#"
name = "paths that break"
seed = 6
[workload]
kind = "open"
arrivals = "constant(rate = 100 /s)"
size = "constant(2 kB)"
clients = [{ region = "near", number = 5 }, { region = "far", number = 5 }]
http = "1.0"
[client]
timeout = "300 ms"
[[system.region]]
name = "home"
[[system.region]]
name = "near"
[[system.region]]
name = "far"
[system.paths]
within = { rtt = "1 ms" }
between = { rtt = "60 ms" }
"home..near" = { rtt = "20 ms" }
"home..far" = { rtt = "60 ms" }
[system.tcp]
stack = "linux-6"
[system.server]
discipline = "ps"
demand = "1 ms"
[[fault]]
at = "0.5 s"
until = "1.2 s"
path = "home..far"
what = "cut"
[[fault]]
at = "1.5 s"
until = "2 s"
share = 1.0
what = "errors(0.5)"
[[fault]]
at = "2.2 s"
until = "2.6 s"
server = 1
what = "frozen"
[[fault]]
at = "2.8 s"
path = "home..near"
what = "loss(0.3)"
[run]
by = ["live"]
live = { duration = "3.6 s", warm_up = "0 s" }
"#;

#[test]
fn links_and_servers_in_a_bed_break_when_it_was_planned() {
    if !crate::bed::can() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let path = file(folder.path(), "links.toml", LINKS);
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}{}", stdout(&output), stderr(&output));
    let told = told(&out);
    let names: Vec<String> = told.iter().map(|(what, is, ..)| format!("{what} {is}")).collect();
    let expected =
        ["cut begun", "cut over", "errors begun", "errors over", "frozen begun", "frozen over", "loss begun"];
    assert_eq!(names, expected);
    for (what, is, planned_s, at_s) in &told {
        assert!(planned_s <= at_s && at_s - planned_s < 1.0, "{what} {is}: at {at_s} s instead of {planned_s} s");
    }
    // The cut fails 35 of 360 requests at least, the errors 25 (sd 3.5), the frozen server 10 or more, the losses 11 (sd 3). What
    // is drawn is drawn apart in live and twin: their difference has a standard deviation of 0.02, and 0.12 are 6 of them.
    let [live, twin] = ["live", "twin"].map(|engine| estimates(&out, engine, "error_ratio")[0]);
    assert!(live > 0.15 && twin > 0.15 && (live - twin).abs() < 0.12, "live {live}, twin {twin}");
    let run: Value = serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    // The clients of each region send their own requests, and only these.
    let facts = run["variants"][0]["live"]["facts"].as_array().unwrap();
    let sent = facts.iter().find(|fact| fact[0] == "requests").and_then(|fact| fact[1].as_str()?.parse::<u64>().ok());
    assert!(sent.is_some_and(|sent| (355..=360).contains(&sent)), "{facts:?}");
    let reasons = run["reasons"].to_string();
    assert!(
        !reasons.contains("server-1") && !reasons.contains("failed") && !reasons.contains("stood still"),
        "{reasons}"
    );
}

/// Of each of 300 requests five packets matter, of which the path loses 15 % each way: more than half fail. Both have their own
/// draws, so that their difference has a standard deviation of 0.041, of which 0.2 are almost 5; with twice the losses live would
/// fail for 0.83, and for 0.3 more than its twin.
#[test]
fn a_path_loses_as_much_as_in_the_twin() {
    if !crate::bed::can() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (text, _) = LINKS.split_once("[[fault]]").unwrap();
    let loses = "[[fault]]\nat = \"1 ms\"\npath = \"home..near\"\nwhat = \"loss(0.3)\"\n\
                 [run]\nby = [\"live\"]\nlive = { duration = \"3 s\", warm_up = \"0 s\" }\n";
    let both = "{ region = \"near\", number = 5 }, { region = \"far\", number = 5 }";
    let text = text.replace(both, "{ region = \"near\", number = 10 }") + loses;
    let out = folder.path().join("out");
    let path = file(folder.path(), "loses.toml", text);
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}{}", stdout(&output), stderr(&output));
    let [live, twin] = ["live", "twin"].map(|engine| estimates(&out, engine, "error_ratio")[0]);
    assert!(live > 0.3 && (live - twin).abs() < 0.2, "live {live}, twin {twin}");
}

#[test]
fn faults_that_live_cannot_do_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |from: &str, to: &str, expected: &[&str]| {
        assert!(ONE_SERVER.contains(from), "{from}");
        let path = file(folder.path(), "wrong.toml", ONE_SERVER.replacen(from, to, 1));
        let output = sojourn(&["run", &path]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        assert!(expected.iter().all(|word| said.contains(word)), "{said}");
    };
    refused("at = \"2.2 s\"", "at = \"4 s\"", &["4 s", "3.2 s", "live.duration"]);
    refused("what = \"down\"", "what = \"cut\"", &["cut", "[system.paths]"]);
    refused("at = \"2.2 s\"", "at = \"2.2 s\"\nuntil = \"9 s\"", &["to 9 s", "live run of 3.2 s", "live.duration"]);
}
