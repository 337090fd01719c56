//! The circle from a log to a model and back: four emulated nodes behind a real HAProxy, and what HAProxy's log alone tells
//! of them.
//!
//! With the log of a load under `balance roundrobin`: the fitted demand is that of the nodes, the replayed day is what
//! happened, and the prediction for `leastconn` is what a load under `balance leastconn` gives. Nothing else may run on the
//! machine meanwhile.

#![allow(clippy::print_stdout, reason = "the night reads how far off each of the three is")]

use std::fs::{self, File};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child as Process, Command, Stdio};
use std::time::Duration;

use sojourn_bed::Child;

use crate::daemons::until;
use crate::programs::is_missing;
use crate::sojourn::{PROGRAM, estimates, file, sojourn, stderr, stdout};

const DEMAND_S: f64 = 0.02;
const SERVERS: usize = 4;
/// Requests per second: each node is busy 0.7 of the time.
const RATE: f64 = 140.0;
/// How far each of the three may be off.
const DEMAND_OFF: f64 = 0.05;
const REPLAY_OFF: f64 = 0.10;
const PREDICTION_OFF: f64 = 0.10;

#[test]
#[ignore = "four minutes with nothing else on the machine: `make nightly`"]
fn from_the_log_of_a_real_balancer_to_what_another_rule_would_do() {
    if is_missing("haproxy") {
        return;
    }
    go_round("120s");
}

fn go_round(duration: &str) {
    let folder = tempfile::tempdir().unwrap();
    let model = file(folder.path(), "told.toml", "discipline = \"fcfs\"\ndemand = \"exponential(mean = 20 ms)\"\n");
    let nodes: Vec<Child> = (0..SERVERS)
        .map(|_| {
            Child::spawn(Path::new(PROGRAM), ["node", "--child", "--model", &model], Duration::from_secs(20)).unwrap()
        })
        .collect();
    let ports: Vec<u16> = nodes.iter().map(Child::port).collect();
    let log = logged(folder.path(), "roundrobin", &ports, duration, 1);
    let fitted = folder.path().join("fitted.toml").display().to_string();
    let output = sojourn(&["calibrate", "--log", &log, "--out", &fitted]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    println!("{}", stdout(&output));
    let text = fs::read_to_string(&fitted).unwrap();
    let mean_s: f64 = field(&text, "demand_mean_s = [");
    near("the demand", mean_s, DEMAND_S, DEMAND_OFF);
    // What the model says of this day, and of the other rule.
    let experiment = format!(
        "name = \"circle\"\n[workload]\nkind = \"log\"\nlog = \"{log}\"\nran = \"haproxy(2.6, roundrobin)\"\n[[system.tier]]\n\
         face = \"gateway\"\npolicy = \"haproxy(2.6, roundrobin)\"\ntargets = {{ servers = {SERVERS} }}\n[system.server]\n{}\n\
         [vary]\npolicy = [\"haproxy(2.6, roundrobin)\", \"haproxy(2.6, leastconn)\"]\n[run]\nby = [\"sim\"]\n",
        text.split("\n[measured]").next().unwrap_or_default()
    );
    let (path, out) = (file(folder.path(), "circle.toml", experiment), folder.path().join("out"));
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    println!("{}", stdout(&output));
    let (sim, happened) = (estimates(&out, "sim", "response_time_mean"), estimates(&out, "log", "response_time_mean"));
    assert_eq!((sim.len(), happened.len()), (2, 1), "{}", stdout(&output));
    near("the replayed day", sim[0], happened[0], REPLAY_OFF);
    // The other rule, for real: with other draws, so both have their chance.
    let other = logged(folder.path(), "leastconn", &ports, duration, 2);
    let experiment = fs::read_to_string(&path).unwrap().replace(&log, &other);
    let experiment = experiment.replace("ran = \"haproxy(2.6, roundrobin)\"", "ran = \"haproxy(2.6, leastconn)\"");
    let (path, out) = (file(folder.path(), "other.toml", experiment), folder.path().join("other"));
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    println!("{}", stdout(&output));
    near("the prediction", sim[1], estimates(&out, "log", "response_time_mean")[0], PREDICTION_OFF);
}

/// The log of HAProxy with this rule before the nodes, under a load of so long.
fn logged(folder: &Path, rule: &str, ports: &[u16], duration: &str, seed: u64) -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let servers: String =
        ports.iter().enumerate().map(|(at, port)| format!("    server s{at} 127.0.0.1:{port}\n")).collect();
    let configuration = format!(
        "global\n    log stdout format raw local0\n    nbthread 1\ndefaults\n    mode http\n    log global\n    \
         option httplog\n    timeout connect 5s\n    timeout client 60s\n    timeout server 60s\nfrontend front\n    \
         bind 127.0.0.1:{port}\n    default_backend app\nbackend app\n    balance {rule}\n{servers}"
    );
    let configuration = file(folder, &format!("{rule}.cfg"), configuration);
    let log = folder.join(format!("{rule}.log"));
    let mut haproxy = Guard(
        Command::new("haproxy")
            .args(["-db", "-f", &configuration])
            .stdout(File::create(&log).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    until("HAProxy listens", || {
        assert!(haproxy.0.try_wait().unwrap().is_none(), "HAProxy has ended");
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let (url, arrivals) = (format!("http://127.0.0.1:{port}/work"), format!("exponential(rate = {RATE} /s)"));
    let seed = seed.to_string();
    let output = sojourn(&["load", &url, "--arrivals", &arrivals, "-d", duration, "--seed", &seed]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    drop(haproxy);
    // What HAProxy says of itself is no line of its log.
    let mut text = String::new();
    File::open(&log).unwrap().read_to_string(&mut text).unwrap();
    let lines: String =
        text.lines().filter(|line| line.contains("\"GET /work")).map(|line| line.to_owned() + "\n").collect();
    file(folder, &format!("{rule}-requests.log"), lines)
}

/// A program that is ended when it is no longer needed.
struct Guard(Process);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn field(text: &str, before: &str) -> f64 {
    let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("no `{before}` in {text}"));
    rest.split(',').next().unwrap().trim().parse().unwrap()
}

fn near(what: &str, found: f64, truth: f64, off: f64) {
    let error = found / truth - 1.0;
    println!("{what}: {found} where it is {truth} ({:+.1} %)", 100.0 * error);
    assert!(error.abs() <= off, "{what}: {found} where it is {truth} ({:+.1} %)", 100.0 * error);
}
