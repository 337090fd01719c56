//! What stands between a load daemon and a gateway, clocks that are set anew, and logs that are none: what is believed, and
//! what is said of the rest.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use sojourn_bed::Child;
use sojourn_bed::clock::since_boot;
use sojourn_stats::Span;

use crate::skip::skipped;
use crate::sojourn::{PROGRAM, await_that, file, sojourn, stderr};

const KEY: &str = "0123456789abcdef\n";

/// Two heartbeats and a tick: after so much silence a server counts as down.
const PATIENCE: Span = Span(1_100_000_000);
const TIMES: [&str; 4] = ["--every", "100 ms", "--heartbeat", "500 ms"];

fn child(arguments: &[&str]) -> Child {
    Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).expect("a child is ready")
}

fn times_said(child: &Child, event: &str) -> usize {
    child.events().iter().filter(|said| said["event"] == event).count()
}

/// Lets so much time pass: what must not happen has had it.
fn wait(span: Span) {
    let start = since_boot();
    while since_boot() - start < span {
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// A gateway that takes reports of the one server `a`, which it does not probe, and where they go.
fn gateway(key: &str) -> (Child, SocketAddr) {
    let policy = ["--policy", "least-load", "--reports", "127.0.0.1:0", "--key", key];
    let gateway = child(&[&["gateway", "--child", "--backend", "a=127.0.0.1:9"], &policy[..]].concat());
    let reports = gateway.events()[0]["reports"].as_str().expect("it says where").parse().expect("an address");
    (gateway, reports)
}

/// What lies between the daemon and the gateway.
struct Between {
    socket: UdpSocket,
    gateway: SocketAddr,
    daemon: Option<SocketAddr>,
    seen: Vec<Vec<u8>>,
}

impl Between {
    fn new(gateway: SocketAddr) -> Between {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        Between { socket, gateway, daemon: None, seen: Vec::new() }
    }

    /// The next datagram of the daemon; what the gateway answers meanwhile goes back.
    fn next(&mut self) -> Vec<u8> {
        let mut buffer = [0; 2000];
        loop {
            let (length, from) = self.socket.recv_from(&mut buffer).expect("the daemon tells");
            let datagram = buffer[..length].to_vec();
            if from != self.gateway {
                self.daemon = Some(from);
                self.seen.push(datagram.clone());
                return datagram;
            }
            if let Some(daemon) = self.daemon {
                self.socket.send_to(&datagram, daemon).expect("it is sent");
            }
        }
    }

    fn send(&self, datagram: &[u8]) {
        self.socket.send_to(datagram, self.gateway).expect("it is sent");
    }

    /// Passes what comes on for so long.
    fn pass(&mut self, span: Span) {
        let start = since_boot();
        while since_boot() - start < span {
            let datagram = self.next();
            self.send(&datagram);
        }
    }
}

#[test]
fn what_was_changed_repeated_or_held_back_is_dropped_and_one_that_is_lost_is_no_loss() {
    let folder = tempfile::tempdir().unwrap();
    let key = file(folder.path(), "key", KEY);
    let (gateway, reports) = gateway(&key);
    let mut between = Between::new(reports);
    let to = between.socket.local_addr().unwrap().to_string();
    let daemon = child(&[&["loadd", "--child", "--name", "a", "--to", &to, "--key", &key][..], &TIMES].concat());
    between.pass(PATIENCE);

    // One is lost, and then none for as long as it takes to be sure: the server is not.
    drop(between.next());
    between.seen.pop();
    between.pass(PATIENCE * 2);
    assert_eq!(times_said(&gateway, "reports_silent"), 0);

    // One is held back while others pass, until it is too old.
    let held_back = between.next();
    between.pass(PATIENCE + Span(200_000_000));
    between.send(&held_back);
    let genuine = between.next();
    for place in [0, 3, 20, genuine.len() / 2, genuine.len() - 1] {
        let mut changed = genuine.clone();
        changed[place] ^= 1;
        between.send(&changed);
    }
    for length in [0, 3, 10, genuine.len() - 1] {
        between.send(&genuine[..length]);
    }
    between.send(&[&genuine[..], b"x"].concat());
    between.send(&[7; 1500]);
    between.send(&genuine);
    // All that it has said in its life, again.
    let recorded = between.seen.clone();
    recorded.iter().for_each(|datagram| between.send(datagram));
    between.pass(PATIENCE);
    assert_eq!(times_said(&gateway, "reports_silent"), 0, "{:?}", gateway.events());

    // Silence is down; and what was recorded does not bring it back.
    let start = since_boot();
    await_that("its silence is seen", || times_said(&gateway, "reports_silent") == 1);
    assert!(since_boot() - start < PATIENCE * 3, "it takes two heartbeats and a tick");
    recorded.iter().for_each(|datagram| between.send(datagram));
    wait(Span(300_000_000));
    assert_eq!(times_said(&gateway, "reports_heard"), 0, "a recording is not the server");
    // What waited in the socket meanwhile is as old; what is said from now on is believed.
    let begun = since_boot();
    while times_said(&gateway, "reports_heard") == 0 {
        assert!(since_boot() - begun < PATIENCE * 10, "it is heard again");
        let datagram = between.next();
        between.send(&datagram);
    }
    drop(daemon);
    let told = gateway.stop().pop().expect("it says that it stops");
    let dropped = &told["reports_dropped"];
    let count = |cause: &str| dropped[cause].as_u64().expect("a count");
    // Each that was recorded, and the one that was held back. The first of all was never believed: it is only old.
    assert_eq!(count("stale") + count("replayed"), recorded.len() as u64 + 1, "{dropped}");
    assert!(count("stale") >= 2 && count("replayed") >= 2, "{dropped}");
    // Magic and version, nothing at all, and noise.
    assert_eq!((count("foreign"), count("forged"), count("truncated")), (2 + 1 + 1, 3, 3 + 1), "{dropped}");
    assert!(count("challenged") > recorded.len() as u64, "{dropped}");
    assert_eq!(count("malformed") + count("unknown") + count("impossible"), 0, "{dropped}");
}

/// The system's clock as a program sees it, a number of seconds in a file off: what an operator or NTP may do at any time.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int told = real(id, at);
    long off = 0;
    FILE *file = id == CLOCK_REALTIME ? fopen(getenv("CLOCK_OFF_BY"), "r") : 0;
    if (file) { if (fscanf(file, "%ld", &off) != 1) off = 0; fclose(file); }
    at->tv_sec += off;
    return told;
}
"#;

/// The daemon's clock is an hour ahead, then two hours back, then three ahead, within seconds: its reports go on, none of them
/// is taken for old, and its server is not lost.
#[test]
fn clocks_may_be_hours_apart_and_jump() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let source = file(folder.path(), "clock.c", CLOCK);
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o", &at("clock.so"), &source, "-ldl"]).output();
    match compiled {
        Ok(output) if output.status.success() => {}
        Ok(output) => return skipped(stderr(&output)),
        Err(error) => return skipped(format!("no C compiler: {error}")),
    }
    let key = file(folder.path(), "key", KEY);
    let (gateway, reports) = gateway(&key);
    let off_by = |seconds: i64| {
        let next = file(folder.path(), "next", seconds.to_string());
        fs::rename(next, at("off")).unwrap();
    };
    off_by(3600);
    let mut daemon = Command::new(PROGRAM);
    daemon.args(["loadd", "--child", "--name", "a", "--key", &key, "--to", &reports.to_string()]).args(TIMES);
    daemon.env("LD_PRELOAD", at("clock.so")).env("CLOCK_OFF_BY", at("off"));
    let daemon = Child::start(daemon, Duration::from_secs(20)).expect("it starts");
    for seconds in [3600, -3600, 2 * 3600, 2 * 3600 + 1, 2 * 3600 - 1] {
        off_by(seconds);
        wait(PATIENCE + Span(300_000_000));
        assert_eq!(times_said(&gateway, "reports_silent"), 0, "by {seconds} s");
    }
    let told = daemon.stop().pop().expect("it says that it stops");
    assert!(told["reports"].as_u64().is_some_and(|reports| reports >= 10), "{told}");
    let told = gateway.stop().pop().expect("it says that it stops");
    let dropped = &told["reports_dropped"];
    assert_eq!((&dropped["stale"], &dropped["challenged"]), (&0.into(), &1.into()), "{dropped}");
}

/// A daemon says when its server's log ceases to tell of requests, and when it tells again; a log that is none is refused.
#[test]
fn a_log_that_is_no_file_is_said_and_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (key, log) = (file(folder.path(), "key", KEY), file(folder.path(), "access.log", ""));
    let to = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = to.local_addr().unwrap().to_string();
    let start = ["loadd", "--name", "a", "--to", &to, "--key", &key, "--log", &log];
    let daemon = child(&[&start[..], &TIMES, &["--child"]].concat());
    fs::remove_file(&log).unwrap();
    nix::unistd::mkfifo(Path::new(&log), nix::sys::stat::Mode::S_IRWXU).unwrap();
    await_that("it is said that nothing is known", || times_said(&daemon, "log_silent") == 1);
    let why = daemon.events().into_iter().find(|said| said["event"] == "log_silent").unwrap()["why"].clone();
    assert_eq!(why, Value::from("what has its name now is no file"));
    let refused = sojourn(&start);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("it is no file; name the file that the server writes"), "{}", stderr(&refused));
    fs::remove_file(&log).unwrap();
    file(folder.path(), "access.log", "");
    await_that("it is said that requests are known", || times_said(&daemon, "log_read") == 1);
}
