//! Live parts as children. The children are this test binary, run again as one of the two tests that only serve.

use std::process::Command;

use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::Value;
use sojourn_bed::{Child, SpawnError};
use sojourn_part::Backend;
use sojourn_part::settings::gateway::GatewaySettings;
use sojourn_part::settings::node::{CgiSettings, FileSettings, LogSettings, Metrics, NodeSettings, Pattern};
use sojourn_web::child;

use crate::support::{Client, PATIENCE, address, command, get, ms};

#[test]
#[ignore = "serves as a child of other tests"]
fn as_node() {
    let mut config = NodeSettings::new("n");
    let mut set = |name: &str, apply: &mut dyn FnMut(&mut NodeSettings, String)| {
        if let Ok(value) = std::env::var(name) {
            apply(&mut config, value);
        }
    };
    set("LISTEN", &mut |config, to| config.listen = vec![to.parse().expect("an address")]);
    set("THREADS", &mut |config, threads| config.threads = threads.parse().expect("a number"));
    set("GRACE_MS", &mut |config, grace| config.grace = Some(ms(grace.parse().expect("a number"))));
    set("FILES", &mut |config, folder| config.files = FileSettings::new(folder).into());
    set("LOG", &mut |config, file| config.log = LogSettings::new(file).into());
    set("METRICS", &mut |config, to| {
        config.metrics = Metrics { listen: to.parse().expect("an address"), ..Metrics::default() }.into()
    });
    set("CGI", &mut |config, scripts| {
        config.cgi = Some(CgiSettings::new(Pattern::parse(scripts).expect("a pattern")));
    });
    if let Err(error) = child::node(config, None, std::io::stdout(), Some(std::io::stdin())) {
        std::io::Write::write_all(&mut std::io::stderr(), format!("{error}\n").as_bytes()).expect("it is read");
        std::process::exit(2);
    }
}

#[test]
#[ignore = "serves as a child of other tests"]
fn as_gateway() {
    let backend = std::env::var("BACKEND").expect("a backend").parse().expect("an address");
    let mut config = GatewaySettings::new("random", vec![Backend::new("n", backend)]);
    let mut set = |name: &str, apply: &mut dyn FnMut(&mut GatewaySettings, u64)| {
        if let Ok(value) = std::env::var(name) {
            apply(&mut config, value.parse().expect("a number"));
        }
    };
    set("THREADS", &mut |config, threads| config.threads = threads as usize);
    set("GRACE_MS", &mut |config, grace| config.grace = Some(ms(grace)));
    set("PROBE_MS", &mut |config, every| config.health.every = ms(every));
    child::gateway(config, None, std::io::stdout(), Some(std::io::stdin())).expect("a gateway starts");
}

#[test]
fn children_serve_until_their_input_ends() {
    let node = Child::start(command("child::as_node"), PATIENCE).expect("a node");
    let mut gateway = command("child::as_gateway");
    gateway.env("BACKEND", address(&node).to_string());
    let gateway = Child::start(gateway, PATIENCE).expect("a gateway");
    assert_eq!(get(address(&gateway), "/bytes/7").body.len(), 7);
    let ready = &gateway.events()[0];
    assert_eq!((&ready["event"], &ready["kind"]), (&Value::from("ready"), &Value::from("gateway")));
    for (child, kind) in [(gateway, "gateway"), (node, "node")] {
        let pid = Pid::from_raw(child.pid() as i32);
        let events = child.stop();
        let last = events.last().expect("events");
        assert_eq!((&last["event"], &last["kind"]), (&Value::from("stopped"), &Value::from(kind)));
        assert_eq!(last["requests"], 1);
        assert!(kill(pid, None).is_err(), "it is gone");
    }
}

#[test]
fn a_killed_child_is_seen_to_have_ended() {
    let mut node = Child::start(command("child::as_node"), PATIENCE).expect("a node");
    let mut client = Client::new(address(&node));
    assert_eq!(client.get("/bytes/1").status, 200);
    node.kill();
    assert!(node.ended().is_some());
    client.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n");
    assert!(client.reply(true).is_none());
}

#[test]
fn a_node_survives_running_out_of_descriptors() {
    let mut limited = Command::new("bash");
    let script = "ulimit -n 24; exec \"$0\" child::as_node --exact --ignored --nocapture";
    limited.args(["-c", script]).arg(std::env::current_exe().expect("this binary"));
    let node = Child::start(limited, PATIENCE).expect("a node");
    let mut crowd: Vec<_> = (0..60).map(|_| Client::new(address(&node))).collect();
    // The first are served, the last wait in the backlog until others have gone.
    assert_eq!(crowd[0].get("/bytes/1").status, 200);
    let mut last = crowd.pop().expect("the last");
    last.send("GET /bytes/2 HTTP/1.1\r\nhost: t\r\n\r\n");
    assert!(node.ended().is_none());
    drop(crowd);
    assert_eq!(last.reply(true).expect("a reply").body.len(), 2);
}

#[test]
fn a_child_that_cannot_start_says_why() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut node = command("child::as_node");
    node.env("LISTEN", taken.local_addr().expect("an address").to_string());
    match Child::start(node, PATIENCE) {
        Err(SpawnError::Ended { status, stderr, .. }) => {
            assert_eq!(status.code(), Some(2));
            assert!(stderr.contains("already in use"), "{stderr}");
        }
        other => panic!("{:?}", other.err()),
    }
}
