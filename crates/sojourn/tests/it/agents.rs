//! One load from several client processes.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use sojourn_bed::Child;

use crate::sojourn::{PROGRAM, await_that, command, file, sojourn, stderr, stdout};

const READY: Duration = Duration::from_secs(20);

fn child(arguments: &[&str]) -> Child {
    Child::spawn(Path::new(PROGRAM), arguments, READY).unwrap_or_else(|e| panic!("{e}"))
}

fn node() -> Child {
    child(&["node", "--child", "--model", "discipline = \"ps\"\ndemand = \"1 ms\""])
}

fn address(child: &Child) -> String {
    format!("127.0.0.1:{}", child.port())
}

#[test]
fn two_processes_send_each_request_of_the_one_plan_once() {
    let node = node();
    let url = format!("http://{}/work", address(&node));
    let arguments = ["load", &url, "--arrivals", "exponential(rate = 400 /s)", "--requests", "401", "--json"];
    let told = |more: &[&str]| -> Value {
        let output = sojourn(&[&arguments[..], more].concat());
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)))
    };
    let split = told(&["--processes", "2"]);
    assert_eq!((&split["counts"]["planned"], &split["counts"]["ok"]), (&401.into(), &401.into()), "{split}");
    let p50 = split["outcomes"].as_array().unwrap().iter().find(|row| row["metric"] == "response_time_p50").unwrap();
    assert_eq!(p50["samples"], 401, "one percentile of all replies, not one of each part: {p50}");
    let clients = split["clients"].as_array().unwrap();
    assert_eq!(clients.len(), 2);
    for client in clients {
        // They share a clock: what is known of the difference holds the truth.
        let (ahead, within) = (client["clock_ahead_s"].as_f64().unwrap(), client["within_s"].as_f64().unwrap());
        assert!(ahead.abs() <= within + 1e-6, "{client}");
    }
    let counted = node.stop().pop().unwrap();
    assert_eq!(counted["requests"], 401, "{counted}");
}

#[test]
fn agents_serve_whoever_knows_their_secret_and_one_run_after_another() {
    let folder = tempfile::tempdir().unwrap();
    let right = file(folder.path(), "right", "correct horse battery staple\n");
    let wrong = file(folder.path(), "wrong", "incorrect horse battery staple\n");
    let (node, agent) = (node(), child(&["agent", "--token-file", &right]));
    let url = format!("http://{}/work", address(&node));
    let agents = address(&agent);
    let load = ["load", &url, "--rate", "200 /s", "--requests", "60", "--json", "--agents", &agents];
    for token in [&[][..], &["--token-file", &wrong]] {
        let output = sojourn(&[&load[..], token].concat());
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        let complaint = stderr(&output);
        assert!(complaint.contains(&agents) && complaint.contains("secret"), "{complaint}");
        assert_eq!(complaint.trim_end().lines().count(), 1, "{complaint}");
    }
    // A scan is several runs on the same connection.
    let output = sojourn(&[&load[..], &["--token-file", &right, "--scan", "100:200:100"]].concat());
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    let steps = told["steps"].as_array().unwrap();
    assert_eq!(steps.iter().map(|step| &step["counts"]["ok"]).collect::<Vec<_>>(), [60, 60], "{told}");
}

#[test]
fn an_agent_that_dies_ends_the_run_and_leaves_the_other_ready_for_the_next() {
    let (node, mut dies, lives) = (node(), child(&["agent", "--child"]), child(&["agent"]));
    let url = format!("http://{}/work", address(&node));
    let agents = format!("{},{}", address(&lives), address(&dies));
    let run = command(&["load", &url, "--rate", "50 /s", "--duration", "120 s", "--agents", &agents])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let under_way = |node: &Child| {
        let path = format!("/proc/{}/net/tcp", node.pid());
        let port = format!(":{:04X} 0100007F:", node.port());
        std::fs::read_to_string(path).unwrap().lines().any(|line| line.contains(&port) && line.contains(" 01 "))
    };
    await_that("requests on their way", || under_way(&node));
    dies.kill();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("agent {}", address(&dies))), "{}", stderr(&output));
    let agents = address(&lives);
    let output = sojourn(&["load", &url, "--rate", "100 /s", "--requests", "20", "--json", "--agents", &agents]);
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    assert_eq!(told["counts"]["ok"], 20, "{told}");
}

#[test]
fn an_interrupted_load_keeps_what_all_its_processes_measured() {
    let node = node();
    let url = format!("http://{}/work", address(&node));
    let run = command(&["load", &url, "--rate", "50 /s", "--duration", "120 s", "--processes", "2", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let connections = || {
        let text = std::fs::read_to_string(format!("/proc/{}/net/tcp", node.pid())).unwrap();
        let port = format!(":{:04X} 0100007F:", node.port());
        text.lines().filter(|line| line.contains(&port) && line.contains(" 01 ")).count()
    };
    await_that("requests of both", || connections() >= 2);
    kill(Pid::from_raw(run.id() as i32), Signal::SIGINT).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(told["verdict"], "INCOMPLETE");
    assert!(told["counts"]["planned"].as_u64().unwrap() > 0, "{told}");
}

#[test]
fn agents_load_the_public_only_when_their_own_people_say_so_and_touch_no_files_for_strangers() {
    let agent = child(&["agent", "--child"]);
    let agents = address(&agent);
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().display().to_string();
    let run = |arguments: &[&str]| {
        let output = sojourn(&[&["load"], arguments, &["--agents", &agents]].concat());
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        stderr(&output)
    };
    // TEST-NET-1 (RFC 5737); nothing is sent.
    let complaint = run(&["http://192.0.2.1/", "--yes-i-may", "--rate", "1 /s"]);
    assert!(complaint.contains(&agents) && complaint.contains("--yes-i-may"), "{complaint}");
    file(folder.path(), "site.csv", "path,kind,class,bytes,requests,embedded\n/a.html,loner,static,100,1,\n");
    let output = sojourn(&["load", "http://127.0.0.1:9/", "--users", "1", "--site", &site, "--agents", &agents]);
    assert!(stderr(&output).contains("no files"), "{}", stderr(&output));
}
