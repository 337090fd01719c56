//! What a live run says of itself: its doubts reach the exit code, the table, the run folder and the report, and its twin has
//! the way that live had.

use std::path::Path;

use serde_json::Value;
use sojourn_stats::{Dimension, quantity};

use crate::sojourn::{estimates, file, sojourn, stdout};

/// Runs the experiment by live; what was printed, and `run.json`.
fn live(folder: &Path, text: &str) -> (Option<i32>, String, Value) {
    let out = folder.join("out");
    let path = file(folder, "live.toml", text);
    let output = sojourn(&["run", &path, "--by", "live", "--out", &out.display().to_string()]);
    let run = std::fs::read_to_string(out.join("run.json")).unwrap();
    (output.status.code(), stdout(&output), serde_json::from_str(&run).unwrap())
}

/// Two million requests a second are beyond any generator of one thread, and beyond its connections.
#[test]
fn a_suspect_live_run_is_suspect_wherever_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = \"beyond\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 2000000 /s)\"\n\
                [system.server]\ndiscipline = \"fcfs\"\ndemand = \"constant(1 ns)\"\n\
                [run]\nlive = { duration = \"150 ms\", warm_up = \"20 ms\", connections = 1024 }\n";
    let (code, told, run) = live(folder.path(), text);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("Live: SUSPECT") && told.contains("connections"), "{told}");
    assert_eq!((&run["verdict"], &run["variants"][0]["live"]["verdict"]), (&"SUSPECT".into(), &"SUSPECT".into()));
    assert!(!run["reasons"].as_array().unwrap().is_empty());
    let report = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(report.contains("<strong>SUSPECT</strong>"));
}

/// Servers and gateway wait for a core at times, as every process does: by the limits that is no doubt, or one.
#[test]
fn waits_of_servers_and_deciders_for_a_core_are_weighed() {
    let doubts = |limits: &str| {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "name = \"waits\"\n[workload]\nkind = \"open\"\narrivals = \"constant(rate = 100 /s)\"\n\
             [[system.tier]]\nface = \"gateway\"\npolicy = \"round-robin\"\ntargets = {{ servers = 2 }}\n\
             [system.server]\ndiscipline = \"fcfs\"\ndemand = \"constant(1 ms)\"\n\
             [run]\nlive = {{ duration = \"500 ms\", warm_up = \"50 ms\", limits = {{ {limits} }} }}\n"
        );
        let (_, told, run) = live(folder.path(), &text);
        let live = &run["variants"][0]["live"];
        let held_up = live["facts"].as_array().unwrap().iter().find(|fact| fact[0] == HELD_UP);
        assert_ne!(held_up.unwrap_or_else(|| panic!("{told}"))[1], "0", "each thread waits at times");
        live["reasons"].to_string().contains("servers, deciders and links waited")
    };
    assert!(doubts("late = \"0 s\", unnoticed = \"0\""));
    assert!(!doubts("unnoticed = \"1000\""));
}

const HELD_UP: &str = "wait of the parts for a core, per request";

/// One request at a time, always of the same work: the twin takes that work and the way there and back, as it was measured.
#[test]
fn the_twin_takes_the_way_that_live_took() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = \"way\"\n[workload]\nkind = \"closed\"\nusers = 1\nthink = \"5 ms\"\n\
                [[system.tier]]\nface = \"gateway\"\npolicy = \"round-robin\"\ntargets = { servers = 2 }\n\
                [system.server]\ndiscipline = \"fcfs\"\ndemand = \"constant(1 ms)\"\n\
                [run]\nlive = { duration = \"400 ms\", warm_up = \"50 ms\" }\n";
    let (_, told, run) = live(folder.path(), text);
    let facts = run["variants"][0]["live"]["facts"].as_array().unwrap();
    let delay_s = |name: &str| {
        let fact =
            facts.iter().find(|fact| fact[0].as_str().unwrap().starts_with(name)).unwrap_or_else(|| panic!("{told}"));
        quantity::parse(fact[1].as_str().unwrap(), Dimension::Time).unwrap()
    };
    let way_s = delay_s("path delay, client to gateway") + delay_s("path delay, gateway to server");
    assert!(way_s > 1e-6, "a way of {way_s} s was not measured");
    // Facts have three digits.
    let [twin_s] = estimates(&folder.path().join("out"), "twin", "response_time_mean")[..] else { panic!("{told}") };
    assert!((twin_s - 0.001 - way_s).abs() < 0.01 * way_s, "{twin_s} s, of which {way_s} s on the way");
}
