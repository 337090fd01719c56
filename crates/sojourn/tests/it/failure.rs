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
use sojourn_load::{Load, Proof, Schedule, Stop, Targets};
use sojourn_stats::{Dimension, Law, Span, Stream};
use sojourn_traffic::{Arrivals, Open, Plan, Sizes, Workload};

use crate::sojourn::{PROGRAM, await_that, command, estimates, experiment, file, stderr, stdout};

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

    let arrivals = Arrivals::of(Law::parse("exponential(rate = 400 /s)", Dimension::Time).unwrap());
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
    assert_ne!(report.verdict, Proof::Incomplete(String::new()));
}

/// Processes of this program with all of `marks` among their arguments.
fn processes_with(marks: &[&str]) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw));
    let is_one = |id: &Pid| {
        let line = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.starts_with(PROGRAM) && marks.iter().all(|mark| line.split('\0').any(|word| word == *mark))
    };
    ids.filter(is_one).collect()
}

/// A part of a run, by its file of settings: those of its servers are numbered from 0, one gateway measures the path and has
/// ended, and the next one serves.
fn part_of(run: &std::process::Child, verb: &str, number: usize) -> Option<Pid> {
    let settings = std::env::temp_dir().join(format!("sojourn-{}-{number}.toml", run.id()));
    processes_with(&[verb, &settings.display().to_string()]).pop()
}

/// Its gateway, in front of so many servers.
fn gateway_of(run: &std::process::Child, servers: usize) -> Option<Pid> {
    part_of(run, "gateway", servers + 1)
}

/// Waits for these and for the gateway.
fn await_parts(run: &std::process::Child, servers: usize) {
    await_that("its servers", || (0..servers).all(|number| part_of(run, "node", number).is_some()));
    await_that("its gateway", || gateway_of(run, servers).is_some());
}

/// Whether no part of it is left.
fn is_over(run: &std::process::Child, servers: usize) -> bool {
    (0..servers).all(|number| part_of(run, "node", number).is_none()) && gateway_of(run, servers).is_none()
}

/// Starts a long live run over four servers, and waits until requests are being sent.
fn long_run(out: &Path) -> std::process::Child {
    let path = experiment("four-servers.toml").display().to_string();
    let out_text = out.display().to_string();
    let set = ["--set", "run.live.duration=120 s", "--set", "policy=random"];
    let run = command(&[&["run", path.as_str(), "--by", "theory,live", "--out", &out_text], &set[..]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let events = || fs::read_to_string(out.join("events.jsonl")).unwrap_or_default();
    await_that("the live run", || events().contains("\"engine\":\"live\""));
    await_parts(&run, 4);
    run
}

#[test]
fn an_interrupted_run_keeps_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut run = long_run(&out);
    kill(Pid::from_raw(run.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let told: Value = serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(told["verdict"], "INCOMPLETE");
    assert!(!estimates(&out, "theory", "response_time_mean").is_empty(), "what was known before is kept");
    assert!(out.join("report.html").exists());
    assert!(is_over(&run, 4), "nothing survives");
}

#[test]
fn nothing_survives_a_parent_that_dies() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = long_run(&folder.path().join("out"));
    run.kill().unwrap();
    run.wait().unwrap();
    await_that("the end of all children", || is_over(&run, 4));
}

/// What becomes of a run of three seconds over two servers when `disturb` does something to a part of it, one second
/// after the load has started: exit code, verdict, reasons and the incidents among its events.
#[allow(
    clippy::disallowed_methods,
    reason = "the disturbance is to come in the middle of a run, whose length is known"
)]
fn disturbed(disturb: impl FnOnce(&std::process::Child)) -> (Option<i32>, Value, String, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = \"two\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 120 /s)\"\nclients = 50\n\
                [system]\n[[system.tier]]\nface = \"gateway\"\npolicy = \"round-robin\"\n\
                targets = { servers = 2 }\n[system.server]\ndiscipline = \"ps\"\ndemand = \"5 ms\"\n\
                [run.live]\nduration = \"4 s\"\nwarm_up = \"0.5 s\"\n";
    let path = file(folder.path(), "two.toml", text);
    let out = folder.path().join("out");
    let arguments = ["run", &path, "--by", "live", "--out", &out.display().to_string()];
    let run = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    await_parts(&run, 2);
    std::thread::sleep(Duration::from_secs(1));
    disturb(&run);
    let output = run.wait_with_output().unwrap();
    let told = fs::read_to_string(out.join("run.json"));
    let told: Value = serde_json::from_str(&told.unwrap_or_else(|_| panic!("{}", stderr(&output)))).unwrap();
    let events = fs::read_to_string(out.join("events.jsonl")).unwrap();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let incidents = events.filter(|event| event["event"] == "incident").collect();
    assert!(stdout(&output).contains(told["verdict"].as_str().unwrap()), "{}", stdout(&output));
    (output.status.code(), told["verdict"].clone(), told["reasons"].to_string(), incidents)
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a part that stands still does so for a known time")]
fn a_part_that_ends_or_stands_still_makes_a_run_suspect() {
    let server = |run: &std::process::Child, number| part_of(run, "node", number).expect("it runs");
    let at = |incident: &Value| incident["at_s"].as_f64().unwrap();
    let during = 0.0..4.0;

    let (code, verdict, reasons, incidents) = disturbed(|run| kill(server(run, 1), Signal::SIGKILL).unwrap());
    assert_eq!((code, verdict), (Some(1), "SUSPECT".into()), "{reasons}");
    assert!(reasons.contains("server-2 ended (signal: 9 (SIGKILL))"), "{reasons}");
    assert_eq!((incidents.len(), &incidents[0]["part"]), (1, &"server-2".into()), "{incidents:?}");
    assert!(during.contains(&at(&incidents[0])), "{incidents:?}");

    let (code, verdict, reasons, incidents) = disturbed(|run| {
        let server = server(run, 0);
        kill(server, Signal::SIGSTOP).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        kill(server, Signal::SIGCONT).unwrap();
    });
    assert_eq!((code, verdict), (Some(1), "SUSPECT".into()), "{reasons}");
    // Its stop is seen a little after it came, and on a busy machine the signal that ends it comes late.
    let (_, told) = reasons.split_once("server-1 stood still for ").unwrap_or_else(|| panic!("{reasons}"));
    let (length, _) = told.split_once(',').unwrap();
    let length = Law::parse(&format!("constant({length})"), Dimension::Time).unwrap().mean();
    assert!((0.1..3.0).contains(&length), "{reasons}");
    assert!(incidents.len() == 1 && during.contains(&at(&incidents[0])), "{incidents:?}");

    let (code, verdict, reasons, incidents) =
        disturbed(|run| kill(gateway_of(run, 2).expect("it runs"), Signal::SIGKILL).unwrap());
    assert_eq!(code, Some(1), "{reasons}");
    assert_eq!(verdict, "SUSPECT", "{reasons}");
    assert!(reasons.contains("ended (signal: 9 (SIGKILL))") && incidents.len() == 1, "{reasons}");

    // Left alone, it may be doubted for what the machine does meanwhile, and for nothing else.
    let (.., incidents) = disturbed(|_| ());
    assert!(incidents.is_empty(), "{incidents:?}");
}
