//! Signals: what has been asked is answered, nothing more is taken in, and told twice, a server ends at once.

use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use sojourn_bed::Child;

use crate::support::{Client, Origin, get, ok, until};
use crate::support::{PATIENCE, address, command};

fn start(test: &str, environment: &[(&str, &str)]) -> Child {
    let mut command = command(test);
    command.envs(environment.iter().copied());
    Child::start(command, PATIENCE).expect("a child starts")
}

fn tell(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.pid() as i32), signal).expect("it is there");
}

#[track_caller]
fn last_word(mut child: Child) -> Value {
    let ended = child.wait(PATIENCE).expect("it ends");
    assert_eq!((ended.status.code(), ended.was_told), (Some(0), false));
    child.events().pop().expect("it says that it stops")
}

/// A gate that is shut until it is opened for good.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn open(&self) {
        *self.0.0.lock().expect("no panic") = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        drop(self.0.1.wait_while(self.0.0.lock().expect("no panic"), |is_open| !*is_open).expect("no panic"));
    }
}

/// An origin that replies to `/slow` when the gate is open.
fn gated() -> (Origin, Gate) {
    let gate = Gate::default();
    let inner = gate.clone();
    let origin = Origin::new(move |got, stream| {
        if got.line.starts_with("GET /slow ") {
            inner.pass();
        }
        ok(stream, "ok")
    });
    (origin, gate)
}

#[test]
fn requests_in_flight_are_answered_and_no_more_are_taken_in() {
    for (signal, threads) in [(Signal::SIGTERM, "1"), (Signal::SIGINT, "2")] {
        let (origin, gate) = gated();
        let backend = origin.address.to_string();
        let environment = [("BACKEND", backend.as_str()), ("THREADS", threads), ("GRACE_MS", "60000")];
        let gateway = start("child::as_gateway", &environment);
        let mut idle: Vec<_> = (0..4).map(|_| Client::new(address(&gateway))).collect();
        for client in &mut idle {
            assert_eq!(client.get("/").status, 200);
        }
        let mut asking: Vec<_> = (0..12).map(|_| Client::new(address(&gateway))).collect();
        for client in &mut asking {
            client.send("GET /slow HTTP/1.1\r\nhost: t\r\n\r\n");
        }
        until("all are there", || origin.requests() == 16);
        tell(&gateway, signal);
        until("it takes in no more", || TcpStream::connect(address(&gateway)).is_err());
        for client in &mut idle {
            assert!(client.reply(true).is_none(), "idle connections are closed");
        }
        assert!(gateway.ended().is_none(), "it waits for those in flight");
        gate.open();
        for client in &mut asking {
            let reply = client.reply(true).expect("a reply");
            assert_eq!((reply.status, reply.whole, reply.header("connection")), (200, true, Some("close")));
        }
        let said = last_word(gateway);
        assert_eq!((&said["requests"], &said["cancelled"]), (&16.into(), &0.into()), "{said}");
    }
}

#[test]
fn an_upload_to_a_node_is_awaited() {
    let node = start("child::as_node", &[("GRACE_MS", "60000")]);
    let mut client = Client::new(address(&node));
    client.send("POST /work?iter=1&bytes=5 HTTP/1.1\r\nhost: t\r\ncontent-length: 6\r\n\r\nabc");
    // A request on another connection, asked later, has been answered: the first has arrived.
    assert_eq!(get(address(&node), "/bytes/1").status, 200);
    tell(&node, Signal::SIGTERM);
    until("it takes in no more", || TcpStream::connect(address(&node)).is_err());
    client.send("def");
    let reply = client.reply(true).expect("a reply");
    assert_eq!((reply.status, reply.body.len()), (200, 5));
    assert_eq!(last_word(node)["requests"], 2);
}

/// Clients that connected while it did nothing, and asked, before it was told to stop: more than it takes in before it
/// hears of the stop.
#[test]
fn what_has_connected_before_is_served() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let backend = origin.address.to_string();
    for (test, threads) in [("child::as_gateway", "1"), ("child::as_node", "1"), ("child::as_gateway", "2")] {
        let environment = [("BACKEND", backend.as_str()), ("THREADS", threads), ("GRACE_MS", "60000")];
        let child = start(test, &environment);
        tell(&child, Signal::SIGSTOP);
        let mut clients: Vec<_> = (0..400).map(|_| Client::new(address(&child))).collect();
        for client in &mut clients {
            client.send("GET /bytes/2 HTTP/1.1\r\nhost: t\r\n\r\n");
        }
        tell(&child, Signal::SIGTERM);
        tell(&child, Signal::SIGCONT);
        for client in &mut clients {
            let reply = client.reply(true).expect("a reply");
            assert_eq!((reply.status, reply.body.len()), (200, 2), "{test}");
        }
        assert_eq!(last_word(child)["requests"], 400, "{test}");
    }
}

#[test]
fn what_takes_longer_than_the_grace_is_cut() {
    let (origin, gate) = gated();
    let gateway = start("child::as_gateway", &[("BACKEND", &origin.address.to_string()), ("GRACE_MS", "50")]);
    let mut client = Client::new(address(&gateway));
    client.send("GET /slow HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it is there", || origin.requests() == 1);
    tell(&gateway, Signal::SIGTERM);
    assert!(client.reply(true).is_none());
    assert_eq!(last_word(gateway)["cancelled"], 1);
    gate.open();
}

#[test]
fn told_twice_it_ends_at_once() {
    let (origin, gate) = gated();
    let environment = [("BACKEND", &*origin.address.to_string()), ("GRACE_MS", "3600000")];
    let mut gateway = start("child::as_gateway", &environment);
    let mut client = Client::new(address(&gateway));
    client.send("GET /slow HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it is there", || origin.requests() == 1);
    tell(&gateway, Signal::SIGINT);
    until("it takes in no more", || TcpStream::connect(address(&gateway)).is_err());
    tell(&gateway, Signal::SIGINT);
    let ended = gateway.wait(PATIENCE).expect("it ends");
    assert_eq!(ended.status.code(), Some(130));
    gate.open();
}

#[test]
fn a_hang_up_changes_nothing() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let backend = origin.address.to_string();
    for test in ["child::as_gateway", "child::as_node"] {
        let child = start(test, &[("BACKEND", &backend)]);
        let mut client = Client::new(address(&child));
        assert_eq!(client.get("/bytes/1").status, 200);
        for count in 2..4 {
            tell(&child, Signal::SIGHUP);
            until("it says so", || child.events().len() == count);
            assert_eq!(client.get("/bytes/1").status, 200, "the same connection, too");
        }
        assert_eq!(child.events()[1]["event"], "hung_up");
        tell(&child, Signal::SIGTERM);
        assert_eq!(last_word(child)["requests"], 3, "{test}");
    }
}
