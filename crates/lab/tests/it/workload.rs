//! The kinds of workloads as an experiment writes them.

use std::path::Path;

use sojourn_lab::{Source, Variant};
use sojourn_traffic::Workload;

use crate::spec::FOUR_SERVERS;

fn with(workload: &str) -> Result<Vec<Variant>, String> {
    let (head, rest) = FOUR_SERVERS.split_once("[workload]\n").unwrap();
    let (_, tail) = rest.split_once("[[system.tier]]").unwrap();
    let text = format!("{head}[workload]\n{workload}\n[[system.tier]]{tail}");
    Source::new(Path::new("x.toml"), text, &[]).and_then(|source| source.variants()).map_err(|e| e.to_string())
}

fn workload(text: &str) -> Workload {
    with(text).unwrap().remove(0).experiment.system().unwrap().workload.clone()
}

#[test]
fn a_trace_says_what_the_servers_are_loaded_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "10 ms,30 ms\n20 ms,50 ms\n").unwrap();
    let text = format!("kind = \"trace\"\nfile = \"{}\"\nspeed = 2\nrepeat = true\nclients = 7", path.display());
    let experiment = with(&text).unwrap().remove(0).experiment;
    let asked = experiment.system().unwrap();
    let Workload::Trace(traced) = &asked.workload else { panic!("{:?}", asked.workload) };
    assert_eq!((traced.speed, traced.repeat, traced.clients), (2.0, true, 7));
    let (mean_s, variance) = asked.demand_moments();
    assert!((mean_s - 0.04).abs() < 1e-12 && (variance - 1e-4).abs() < 1e-12);
    assert!((asked.capacity() - 100.0).abs() < 1e-9);

    std::fs::write(&path, "10 ms,30 ms\nsoon,50 ms\n").unwrap();
    let message = with(&text).unwrap_err();
    assert!(message.contains("x.toml:5: file") && message.contains("t.csv:2: `soon`"), "{message}");
}

#[test]
fn rates_change_and_batches_come() {
    let text = "kind = \"open\"\narrivals = \"exponential(utilization = 0.7)\"\n\
                profile = \"ramp(from = 0.1, to = 2, over = 60 s)\"";
    let Workload::Open(open) = workload(text) else { panic!("open") };
    // Level 1 is the rate asked for; beyond capacity for a while is what ramps are for.
    assert!((open.arrivals.peak_rate().unwrap() / open.arrivals.rate().unwrap() - 2.0).abs() < 1e-12);
    let Workload::Open(open) = workload("kind = \"open\"\narrivals = \"batches(n = 50, every = 1 s)\"") else {
        panic!("open")
    };
    assert_eq!((open.arrivals.batch(), open.arrivals.rate()), (50, Some(50.0)));
}

/// WebStone's clients open a connection for every document.
#[test]
fn webstone_speaks_http_1_0() {
    let alone = |text: &str| with(text).unwrap()[0].experiment.run.live.one_request_per_connection;
    assert!(alone("kind = \"webstone\"\nusers = 5"));
    assert!(!alone("kind = \"webstone\"\nusers = 5\nhttp = \"1.1\""));
    assert!(!alone("kind = \"closed\"\nusers = 5"));
    assert!(alone("kind = \"open\"\narrivals = \"1 s\"\nhttp = \"1.0\""));
}

#[test]
fn session_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.txt");
    std::fs::write(&path, "/a think=2\n  /b\n\n/c\n").unwrap();
    let text = format!(
        "kind = \"session-file\"\narrivals = \"exponential(rate = 10 /s)\"\nfile = \"{}\"\nsessions = 30\nparallel = 2",
        path.display()
    );
    let Workload::Sessions(sessions) = workload(&text) else { panic!("sessions") };
    let written = sessions.written.as_ref().unwrap();
    assert_eq!((sessions.users, sessions.parallel, written.list().sessions().len()), (30, 2, 2));
    std::fs::write(&path, "/a\nb\n").unwrap();
    let message = with(&text).unwrap_err();
    assert!(message.contains("x.toml:6: file") && message.contains("s.txt:2: `b`"), "{message}");
    let text = "kind = \"session-file\"\narrivals = \"1 s\"\nwsess = \"100,10,2\"";
    let Workload::Sessions(sessions) = workload(text) else { panic!("sessions") };
    assert_eq!((sessions.users, sessions.think.mean()), (100, 2.0));
}

#[test]
fn mistakes_are_named() {
    for (text, told) in [
        ("kind = \"trace\"", &["x.toml:4", "needs the key `file`"][..]),
        ("kind = \"trace\"\nfile = \"no/such\"", &["x.toml:5: file", "no/such"]),
        ("kind = \"trace\"\nfile = \"x\"\nusers = 3", &["x.toml:6: users", "it has file, speed"]),
        ("kind = \"open\"\narrivals = \"batches(n = 5)\"", &["x.toml:5: arrivals", "batches(n = 50, every = 1 s)"]),
        ("kind = \"open\"\narrivals = \"1 s\"\nprofile = \"stairs(1)\"", &["x.toml:6: profile", "steps("]),
        ("kind = \"session-file\"", &["x.toml:4", "needs the key `arrivals`"]),
        ("kind = \"session-file\"\narrivals = \"1 s\"", &["x.toml:4", "wsess"]),
        ("kind = \"session-file\"\narrivals = \"1 s\"\nwsess = \"5,0,1\"", &["x.toml:6: wsess", "100,10,2"]),
        (
            "kind = \"session-file\"\narrivals = \"1 s\"\nwsess = \"5,1,1\"\nsessions = 3",
            &["x.toml:7: sessions", "first"],
        ),
        ("kind = \"session-file\"\narrivals = \"1 s\"\nfile = \"x\"", &["x.toml:6: file", "sessions = 1000"]),
        (
            "kind = \"session-file\"\narrivals = \"exponential(utilization = 0.7)\"\nwsess = \"5,1,1\"",
            &["x.toml:5: arrivals", "at a rate"],
        ),
        ("kind = \"webstone\"\nusers = 5\nhttp = \"2\"", &["x.toml:6: http", "1.0"]),
        ("kind = \"trase\"", &["trase", "did you mean `trace`"]),
    ] {
        let message = with(text).unwrap_err();
        assert_eq!(message.lines().count(), 1, "{message}");
        told.iter().for_each(|part| assert!(message.contains(part), "`{part}` is not in: {message}"));
    }
}
