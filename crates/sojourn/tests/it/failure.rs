//! What happens when things end in the middle: a server is killed, a person presses Ctrl-C, a parent dies.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use sojourn_bed::Child;
use sojourn_load::{Load, Schedule, Stop, Targets, Verdict};
use sojourn_stats::{Law, Span, Stream};
use sojourn_traffic::{Arrivals, Open, Plan, Sizes, Workload};

use crate::sojourn::{PROGRAM, await_that, command, estimates, experiment};

const READY: Duration = Duration::from_secs(20);

fn spawn(arguments: &[String]) -> Child {
    Child::spawn(Path::new(PROGRAM), arguments, READY).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn killing_a_node_loses_no_request() {
    let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    let mut nodes: Vec<Child> = (1..=4)
        .map(|number| {
            let mut arguments = words(&format!("node --child --name server-{number} --model"));
            arguments.push("discipline = \"ps\"\ndemand = \"5 ms\"\n".into());
            spawn(&arguments)
        })
        .collect();
    let mut arguments = words("gateway --child --policy least-connections --client-header x-sojourn-client");
    for (index, node) in nodes.iter().enumerate() {
        arguments.extend(["--backend".into(), format!("server-{}=127.0.0.1:{}", index + 1, node.port())]);
    }
    let gateway = spawn(&arguments);

    let arrivals = Arrivals::of(Law::parse("exponential(rate = 400 /s)", sojourn_stats::Dimension::Time).unwrap());
    let sizes = Sizes::Law(Law::constant(1000.0));
    let workload = Workload::Open(Open { arrivals, clients: 100, sizes, patience: None });
    let demand = |_: u8, _: u64, _: &mut Stream| Span(5_000_000);
    let plan = Plan::new(&workload, 1, std::sync::Arc::new(demand)).unwrap();
    let target = SocketAddr::from(([127, 0, 0, 1], gateway.port()));
    let load = Load {
        stop: Stop::Requests(800),
        ..Load::new(target, target.to_string(), Schedule::open(plan), Targets::Work)
    };
    let victim = Mutex::new(Some(nodes.remove(1)));
    let report = sojourn_load::run(load, &AtomicBool::new(false).into(), &|now| {
        if now.planned >= 200 {
            // Dropping the child would stop it politely.
            if let Some(mut victim) = victim.lock().unwrap().take() {
                victim.kill();
            }
        }
    })
    .unwrap();
    assert!(victim.into_inner().unwrap().is_none(), "the node was killed while requests came");
    // Every request is a GET, so those in flight on the dead node were sent to another: none is lost.
    assert_eq!((report.counts.planned, report.counts.ok), (800, 800), "{:?}", report.counts);
    let told = gateway.stop().pop().unwrap();
    let dead = &told["backends"][1];
    assert_eq!(told["requests"], 800);
    assert_eq!(dead["up"], false, "{told}");
    assert_eq!(dead["in_flight"], 0, "{told}");
    // What failed on the dead node was tried again, each once, and counted.
    assert_eq!(told["retried"], dead["failed"], "{told}");
    assert_ne!(report.verdict, Verdict::Incomplete(String::new()));
}

/// Processes of this program with `mark` among their arguments.
fn processes_with(mark: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.starts_with(PROGRAM) && line.split('\0').any(|word| word == mark)).collect()
}

/// Starts a long live run with a seed that marks its processes, and waits until requests are being sent.
fn long_run(out: &Path, seed: &str) -> std::process::Child {
    let path = experiment("four-servers.toml").display().to_string();
    let out_text = out.display().to_string();
    let set = ["--set", "run.live.duration=120 s", "--set", "policy=random", "--seed", seed];
    let run = command(&[&["run", path.as_str(), "--by", "theory,live", "--out", &out_text], &set[..]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let events = || fs::read_to_string(out.join("events.jsonl")).unwrap_or_default();
    await_that("the live run", || events().contains("\"engine\":\"live\""));
    await_that("its servers and its gateway", || processes_with(seed).len() == 6);
    run
}

#[test]
fn an_interrupted_run_keeps_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut run = long_run(&out, "987001");
    kill(Pid::from_raw(run.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let told: Value = serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(told["verdict"], "INCOMPLETE");
    assert!(!estimates(&out, "theory", "response_time_mean").is_empty(), "what was known before is kept");
    assert!(out.join("report.html").exists());
    assert!(processes_with("987001").is_empty(), "nothing survives");
}

#[test]
fn nothing_survives_a_parent_that_dies() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = long_run(&folder.path().join("out"), "987002");
    run.kill().unwrap();
    run.wait().unwrap();
    await_that("the end of all children", || processes_with("987002").is_empty());
}
