//! What passes through a gateway, and what does not.

use std::io::Write;

use sojourn_bed::Events;
use sojourn_model::Discipline;
use sojourn_part::now;
use sojourn_part::settings::Limits;
use sojourn_part::settings::gateway::GatewaySettings;
use sojourn_part::settings::node::{NodeLimits, NodeSettings};
use sojourn_web::{Gateway, Node};

use crate::support::{Client, Origin, backends, gateway, get, ms, node, ok, retrying, until};

#[test]
fn requests_and_replies_pass_whole() {
    let origin = Origin::new(|got, stream| {
        if got.line.starts_with("POST") {
            return ok(stream, &format!("{} bytes", got.body.len()));
        }
        let head = "HTTP/1.1 201 Created\r\nx-own: 1\r\nkeep-alive: timeout=5\r\nconnection: keep-alive, x-hop\r\n";
        let text =
            format!("{head}x-hop: 1\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
        stream.write_all(text.as_bytes()).is_ok()
    });
    let gateway = gateway(GatewaySettings::new("round-robin", backends(&[origin.address])));
    let mut client = Client::new(gateway.address());
    let headers = "x-mine: 7\r\nconnection: keep-alive, x-secret\r\nx-secret: 1\r\nte: gzip\r\nupgrade: websocket\r\n\
                   x-forwarded-for: 10.0.0.9\r\n";
    let reply = client.ask("GET", "/a/b?c=d%20e", headers);
    assert_eq!((reply.status, reply.text().as_str(), reply.whole), (201, "hello world", true));
    assert_eq!((reply.header("x-own"), reply.header("x-hop"), reply.header("keep-alive")), (Some("1"), None, None));
    assert_eq!(reply.backend(), "s1", "the gateway names a backend that does not name itself");
    assert_eq!(reply.header("x-sojourn-reason"), None);
    let got = origin.last();
    assert_eq!(got.line, "GET /a/b?c=d%20e HTTP/1.1");
    assert_eq!((got.header("host"), got.header("x-mine")), (Some("test"), Some("7")));
    assert_eq!(got.header("x-forwarded-for"), Some("10.0.0.9, 127.0.0.1"));
    for gone in ["x-secret", "te", "upgrade", "connection", "keep-alive"] {
        assert_eq!(got.header(gone), None, "{gone}");
    }

    // Bodies pass in either framing.
    client.send("POST /p HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(client.reply(true).expect("a reply").text(), "3 bytes");
    let large = "x".repeat(1_000_000);
    client.send(&format!("POST /p HTTP/1.1\r\nhost: t\r\ncontent-length: 1000000\r\n\r\n{large}"));
    assert_eq!(client.reply(true).expect("a reply").text(), "1000000 bytes");
    assert_eq!(origin.last().header("x-forwarded-for"), Some("127.0.0.1"));
    // A whole URL, and a client of 1995 that sends no host.
    client.send("GET http://elsewhere/x?y HTTP/1.1\r\nhost: elsewhere\r\n\r\n");
    assert_eq!(client.reply(true).expect("a reply").status, 201);
    assert_eq!(origin.last().line, "GET /x?y HTTP/1.1");
    let mut old = Client::new(gateway.address());
    old.send("GET /old HTTP/1.0\r\n\r\n");
    assert_eq!(old.head().expect("a reply").0, 201);
    assert_eq!(origin.last().header("host"), Some(origin.address.to_string().as_str()));
    until("the last is through", || gateway.counts().backends[0].in_flight == 0);

    let counts = gateway.stop();
    assert_eq!((counts.requests, counts.backends[0].completed), (5, 5));
    assert_eq!(counts.backends[0].connections, 0, "all are closed at the end");
}

#[test]
fn replies_stream_as_they_come() {
    // The origin sends the second half only after the client has got the first.
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let origin = Origin::new(move |_, stream| {
        let sent = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfirst").is_ok();
        let _ = wait.lock().expect("no panic").recv();
        sent && stream.write_all(b"later").is_ok()
    });
    let gateway = gateway(GatewaySettings::new("round-robin", backends(&[origin.address])));
    let mut client = Client::new(gateway.address());
    client.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n");
    assert_eq!(client.head().expect("the head comes before the end").0, 200);
    assert_eq!(gateway.counts().backends[0].in_flight, 1, "a reply half read is in flight");
    go.send(()).expect("the origin waits");
    until("it is complete", || gateway.counts().backends[0].completed == 1);
    assert_eq!(gateway.stop().backends[0].bytes, 10);
}

#[test]
fn connections_are_kept_and_used_again() {
    let node = node("n", Discipline::Ps);
    let gateway = gateway(GatewaySettings::new("least-connections", backends(&[node.address()])));
    let mut client = Client::new(gateway.address());
    for size in [0, 1, 100_000, 3_000_000] {
        for method in ["GET", "HEAD"] {
            let reply = client.ask(method, &format!("/bytes/{size}"), "");
            assert_eq!(reply.header("content-length"), Some(size.to_string().as_str()), "{method}");
            assert!(reply.whole && reply.backend() == "n");
        }
    }
    for _ in 0..20 {
        assert_eq!(get(gateway.address(), "/work?demand=0ms&bytes=5").body, b"xxxxx");
    }
    let counts = gateway.counts();
    assert_eq!(counts.backends[0].connections, 1, "one at a time needs one connection");
    assert_eq!((counts.backends[0].completed, counts.reconnected, counts.retried), (28, 0, 0));
}

#[test]
fn a_connection_closed_meanwhile_is_no_failure() {
    // Replies keep-alive and closes, as a server does whose idle time is over.
    let origin = Origin::new(|_, stream| {
        ok(stream, "bye");
        false
    });
    let config =
        GatewaySettings { face: retrying(0), ..GatewaySettings::new("round-robin", backends(&[origin.address])) };
    let gateway = gateway(config);
    let mut client = Client::new(gateway.address());
    for _ in 0..50 {
        assert_eq!(client.get("/").text(), "bye");
    }
    let counts = gateway.stop();
    assert_eq!((counts.failed, counts.broken, counts.backends[0].failed, origin.requests()), (0, 0, 0, 50));
}

#[test]
fn a_clients_idle_connection_is_closed() {
    // The backend closes idle connections too, and sooner: that is no failure of its, and no client hears of it.
    let node = Node::start(NodeSettings {
        limits: NodeLimits { keep_alive: ms(50), ..NodeLimits::default() },
        ..NodeSettings::new("s1")
    })
    .expect("a node starts");
    let config = GatewaySettings::new("random", backends(&[node.address()]));
    let gateway = gateway(GatewaySettings { limits: Limits { keep_alive: ms(200), ..Limits::default() }, ..config });
    for _ in 0..3 {
        let mut client = Client::new(gateway.address());
        let asked = now();
        assert_eq!(client.get("/bytes/1").status, 200);
        assert!(client.reply(true).is_none());
        assert!(now() - asked >= ms(200), "not before its time: {}", now() - asked);
    }
    let counts = gateway.stop();
    assert_eq!((counts.requests, counts.failed, counts.retried), (3, 0, 0), "{counts:?}");
}

#[test]
fn a_gateway_says_why_if_asked_to() {
    let node = node("n", Discipline::Ps);
    let config = GatewaySettings { explain: true, ..GatewaySettings::new("round-robin", backends(&[node.address()])) };
    let gateway = gateway(config);
    let reply = get(gateway.address(), "/bytes/1");
    assert!(reply.header("x-sojourn-reason").is_some_and(|reason| reason.contains("turn")));
}

#[test]
fn bad_settings_are_said_in_one_line() {
    let node = node("n", Discipline::Ps);
    let good = GatewaySettings::new("random", backends(&[node.address()]));
    let error = |config: GatewaySettings| {
        let error = Gateway::start(config, Events::nowhere()).err().expect("it cannot start").to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    };
    let running = gateway(good.clone());
    for threads in [1, 2] {
        let said = error(GatewaySettings { listen: running.address(), threads, ..good.clone() });
        assert!(said.contains("already in use"), "{said}");
    }
    let said =
        error(GatewaySettings { decider: sojourn_dispatch::FrontSettings::new("least-conections"), ..good.clone() });
    assert!(said.contains("least-connections"), "{said}");
    let said = error(GatewaySettings { backends: Vec::new(), ..good.clone() });
    assert!(said.contains("backend"), "{said}");
    let twice = [good.backends.clone(), good.backends.clone()].concat();
    let said = error(GatewaySettings { backends: twice, ..good.clone() });
    assert!(said.contains("s1") && said.contains("twice"), "{said}");
    let said = error(GatewaySettings { record: Some("/no/such/folder/record".into()), ..good.clone() });
    assert!(said.contains("/no/such/folder/record"), "{said}");
    let said = error(GatewaySettings { client_header: Some("no header".into()), ..good });
    assert!(said.contains("no header"), "{said}");
}
