//! Backends that are drained by hand while a gateway or a redirector runs.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use sojourn_bed::Events;
use sojourn_part::Probe;
use sojourn_part::settings::Checks;
use sojourn_part::settings::gateway::{Face, GatewaySettings, InFront, RedirectorSettings};
use sojourn_web::Gateway;

use crate::support::{Client, Lines, Origin, backends, ms, ok, until};

/// What the part at this socket says to a question.
fn ask(socket: &Path, question: &Value) -> Value {
    let mut stream = UnixStream::connect(socket).expect("it listens");
    writeln!(stream, "{question}").expect("it reads");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("it answers");
    serde_json::from_str(&line).expect("JSON")
}

/// Tells it to drain a backend or not, and waits until all its deciders have learned it.
fn drain(socket: &Path, lines: &Lines, name: &str, is_drained: bool, deciders: usize) {
    let event = if is_drained { "backend_drained" } else { "backend_up" };
    let heard = || lines.text().matches(event).count();
    let before = heard();
    let verb = if is_drained { "drain" } else { "undrain" };
    assert_eq!(ask(socket, &json!({"ask": verb, "name": name})), json!({"done": true}));
    until("each decider has learned it", || heard() == before + deciders);
}

/// The backends that so many requests, each on a connection of its own, reach or are sent to.
fn reached(address: SocketAddr, requests: usize) -> Vec<String> {
    let backend = |_| {
        let reply = Client::new(address).get("/");
        reply.header("x-sojourn-backend").map_or_else(|| format!("none: {}", reply.status), ToOwned::to_owned)
    };
    let mut all: Vec<String> = (0..requests).map(backend).collect();
    all.sort();
    all.dedup();
    all
}

/// Those settings with a socket, and checks that do not come in the way.
fn at<F: Face>(socket: &Path, settings: InFront<F>) -> InFront<F> {
    let health = Checks { probe: Probe::Connect, every: ms(600_000), timeout: ms(20_000) };
    InFront { health, control: Some(socket.to_owned()), ..settings }
}

fn start<F: Face>(settings: InFront<F>) -> (Gateway, Lines) {
    let lines = Lines::default();
    (Gateway::start(settings, Events::to(lines.clone())).expect("it starts"), lines)
}

/// A drained backend ends what it has and gets nothing new, whichever thread and decider a request meets; undrained it is
/// used again.
#[test]
fn a_drained_backend_ends_what_it_has_and_gets_nothing_new() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("gateway.sock");
    for (threads, shared) in [(1, false), (3, false), (3, true)] {
        let is_let_go = Arc::new(AtomicBool::new(false));
        let hold = Arc::clone(&is_let_go);
        let origins = [
            Origin::new(move |got, stream| {
                if got.line.starts_with("GET /held") {
                    until("it is let go", || hold.load(Ordering::SeqCst));
                }
                ok(stream, "ok")
            }),
            Origin::new(|_, stream| ok(stream, "ok")),
        ];
        let settings = GatewaySettings::new("round-robin", backends(&origins.each_ref().map(|origin| origin.address)));
        let settings = GatewaySettings { threads, shared, ..at(&socket, settings) };
        let (gateway, lines) = start(settings.clone());
        let deciders = if shared { 1 } else { threads };
        let mut held = Client::new(gateway.address());
        held.send("GET /held HTTP/1.1\r\nhost: t\r\n\r\n");
        until("the first backend has it", || gateway.counts().backends[0].in_flight == 1);

        drain(&socket, &lines, "s1", true, deciders);
        assert_eq!(reached(gateway.address(), 12), ["s2"], "{threads} threads, shared: {shared}");
        assert!(!gateway.counts().backends[0].up);
        // To be told twice changes nothing.
        assert_eq!(ask(&socket, &json!({"ask": "drain", "server": "s1"})), json!({"done": true}));
        // Other settings do not end it.
        let mut other = settings;
        other.decider.policy = Some("least-connections".into());
        gateway.take(other).expect("the settings are right");
        assert_eq!(reached(gateway.address(), 12), ["s2"]);
        is_let_go.store(true, Ordering::SeqCst);
        let reply = held.reply(true).expect("a reply");
        assert_eq!((reply.status, reply.backend()), (200, "s1"));

        drain(&socket, &lines, "s1", false, deciders);
        assert!(reached(gateway.address(), 12).contains(&"s1".to_owned()));
        let counts = ask(&socket, &json!({"ask": "counts"}));
        assert_eq!((&counts["requests"], &counts["backends"][0]["up"]), (&json!(37), &json!(true)));
        let unknown = ask(&socket, &json!({"ask": "drain", "name": "s9"}));
        assert_eq!(unknown, json!({"refused": "backend s9: there is no such backend; they are s1, s2"}));
        assert_eq!(gateway.stop().failed, 0);
        assert!(!socket.exists());
    }
}

/// Where all backends are drained none is left to choose.
#[test]
fn a_redirector_names_no_drained_backend() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("redirect.sock");
    let places = [SocketAddr::from(([127, 0, 0, 1], 1)), SocketAddr::from(([127, 0, 0, 1], 2))];
    let (redirector, lines) = start(at(&socket, RedirectorSettings::new("round-robin", backends(&places))));
    let answer = || {
        let reply = Client::new(redirector.address()).get("/");
        (reply.status, reply.header("location").unwrap_or("").to_owned())
    };
    drain(&socket, &lines, "s1", true, 1);
    assert_eq!([answer(), answer()].map(|(_, location)| location), ["http://127.0.0.1:2/"; 2]);
    drain(&socket, &lines, "s2", true, 1);
    assert_eq!(answer().0, 503);
    drain(&socket, &lines, "s1", false, 1);
    assert_eq!(answer(), (307, "http://127.0.0.1:1/".into()));
}
