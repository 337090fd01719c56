//! A retry storm over real sockets: the same dead and alive states as the simulator has, in a run that is five times as quick.
//!
//! What is random is only how late this machine is: a time-out of 100 ms, and attempts that come to three times what the
//! server can do, or stay below it, leave room for much of that.

use std::fs;

use serde_json::Value;
use sojourn_lab::Answers;

use crate::sojourn::{estimates, file, sojourn, stderr, stdout};

/// 35 requests/s of the 50 that the server can do, a time-out of five services, and a fifth of a second in which it stands still.
const STORM: &str = r#"
name = "a storm"
seed = 1
[workload]
kind = "open"
arrivals = "constant(28571428 ns)"
[client]
timeout = "99999999 ns"
retries = { at_most = 3, backoff = "10 ms"BUDGET }
abandoned = "served"
[system.server]
discipline = "fcfs"DROPS
demand = "20 ms"
[[fault]]
at = "2 s"
until = "2.2 s"
server = 1
what = "frozen"
[run]
by = ["live"]
live = { duration = "7 s", warm_up = "0 s" }
"#;

/// Good replies, attempts and failures per second of live and of its twin, over the last two seconds; and the run's facts.
fn last_seconds(name: &str, budget: &str, drops: &str) -> ([[f64; 3]; 2], Value) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let path = file(folder.path(), &format!("{name}.toml"), STORM.replace("BUDGET", budget).replace("DROPS", drops));
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}{}", stdout(&output), stderr(&output));
    let answers = Answers::open(&out).unwrap();
    let of = |engine: &str, metric: &str| {
        let answer = answers.iter().find(|answer| answer.engine.name() == engine).expect("both answered");
        let over_time = answer.over_time.iter().find(|of| of.metric == metric).expect("it is told over time");
        let last = &over_time.points[5..7];
        last.iter().map(|(_, estimate)| estimate.value().unwrap()).sum::<f64>() / 2.0
    };
    let told = ["live", "twin"].map(|engine| ["goodput", "attempts", "failed"].map(|metric| of(engine, metric)));
    let attempts = ["live", "twin"].map(|engine| estimates(&out, engine, "attempts_ratio")[0]);
    assert!((attempts[0] / attempts[1] - 1.0).abs() < 0.25, "attempts per request: {attempts:?}");
    let events = fs::read_to_string(out.join("events.jsonl")).unwrap();
    assert!(events.contains(r#""what":"frozen""#), "{events}");
    let run: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    let reasons = run["reasons"].to_string();
    assert!(!reasons.contains("server-1") && !reasons.contains("failed"), "a planned fault is no doubt: {reasons}");
    (told, run)
}

/// Three seconds after the fault nothing is answered in time, and each request comes four times.
#[test]
fn a_storm_outlives_its_cause_live() {
    let (told, run) = last_seconds("dead", "", "");
    for [goodput, attempts, failed] in told {
        assert!(goodput < 3.5 && attempts > 112.0 && failed > 28.0, "{told:?}");
    }
    let facts = run["variants"][0]["live"]["facts"].to_string();
    assert!(facts.contains("tried again, hedges among them"), "{facts}");
}

/// With a budget of 10 % it has passed by then, and so it has where the server drops what would be too late.
#[test]
fn a_budget_or_deadlines_end_it_live() {
    for (name, budget, drops) in
        [("budget", ", budget = \"token-bucket(10 %, 10)\"", ""), ("too-late", "", "\ndrops = \"too-late\"")]
    {
        let (told, _) = last_seconds(name, budget, drops);
        for [goodput, attempts, failed] in told {
            assert!(goodput > 31.5 && attempts < 42.0 && failed < 3.5, "{name}: {told:?}");
        }
    }
}

/// One of two servers stands still for four seconds. The gateway knows of it from the first check that has no answer, one to two
/// seconds after that: until then 20 requests a second fail there. The twin looks at whole seconds, and knows after 1.5 s; with
/// three checks nothing would be known before all is over, and 75 would fail.
#[test]
fn a_gateway_knows_of_a_silence_as_soon_as_its_twin() {
    const SILENT: &str = r#"
name = "silence"
seed = 1
[workload]
kind = "open"
arrivals = "constant(25 ms)"
[client]
timeout = "250 ms"
[[system.tier]]
face = "gateway"
policy = "round-robin"
targets = { servers = 2 }
[system.server]
discipline = "ps"
demand = "1 ms"
[[fault]]
at = "1.5 s"
until = "5.5 s"
server = 2
what = "frozen"
[run]
by = ["live"]
live = { duration = "7 s", warm_up = "0 s" }
"#;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let path = file(folder.path(), "silence.toml", SILENT);
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}{}", stdout(&output), stderr(&output));
    let [live, twin] = ["live", "twin"].map(|engine| 280.0 * estimates(&out, engine, "error_ratio")[0]);
    assert!((15.0..55.0).contains(&live) && (27.0..34.0).contains(&twin), "live {live}, twin {twin}");
}
