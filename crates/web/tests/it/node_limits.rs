//! What one client of a node can take: connections, requests, heads, bodies, and time.

use std::io::{Read, Write};
use std::net::TcpStream;

use sojourn_model::Discipline;
use sojourn_part::listen::WhenFull;
use sojourn_part::now;
use sojourn_part::settings::node::{Metrics, NodeLimits, NodeSettings};
use sojourn_stats::Bytes;
use sojourn_web::Node;

use crate::support::{Client, get, ms, server, until};

fn limited(limits: NodeLimits) -> Node {
    Node::start(NodeSettings { limits, ..NodeSettings::new("n") }).expect("a node starts")
}

/// Whether a connection is closed without a word.
fn is_closed(address: std::net::SocketAddr) -> bool {
    let mut client = Client::new(address);
    client.send("GET /bytes/1 HTTP/1.1\r\nhost: t\r\n\r\n");
    client.reply(true).is_none()
}

#[test]
fn connections_of_an_address_beyond_its_limit_are_closed_at_once() {
    let limits = NodeLimits { per_address: Some(3), ..NodeLimits::default() };
    let node = Node::start(NodeSettings { limits, threads: 2, ..NodeSettings::new("n") }).expect("a node starts");
    let mut open: Vec<_> = (0..3).map(|_| Client::new(node.address())).collect();
    for client in &mut open {
        assert_eq!(client.get("/bytes/1").status, 200);
    }
    assert!(is_closed(node.address()) && is_closed(node.address()));
    let of = node.counts().connections;
    assert_eq!((of.refused_address, of.refused_full, of.held), (2, 0, 0));
    // Another address has connections of its own.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.bind(&std::net::SocketAddr::from(([127, 0, 0, 2], 0)).into()).expect("an address");
    socket.connect(&node.address().into()).expect("it accepts");
    let mut other = TcpStream::from(socket);
    other.write_all(b"GET /bytes/1 HTTP/1.0\r\n\r\n").expect("it is sent");
    let mut reply = String::new();
    other.read_to_string(&mut reply).expect("a reply");
    assert!(reply.starts_with("HTTP/1.0 200"), "{reply}");
    open.pop();
    until("there is room again", || !is_closed(node.address()));
}

#[test]
fn connections_beyond_all_are_closed_where_that_is_wanted() {
    let limits = NodeLimits { when_full: WhenFull::Close, connections: Some(2), ..NodeLimits::default() };
    let config = NodeSettings { limits, ..NodeSettings::new("n") };
    let node = Node::start(config).expect("a node starts");
    let mut open: Vec<_> = (0..2).map(|_| Client::new(node.address())).collect();
    for client in &mut open {
        assert_eq!(client.get("/bytes/1").status, 200);
    }
    assert!(is_closed(node.address()));
    let of = node.counts().connections;
    assert_eq!((of.refused_full, of.refused_address, of.held), (1, 0, 0));
    open.clear();
    until("there is room again", || !is_closed(node.address()));
}

#[test]
fn a_connection_ends_after_as_many_requests_as_it_may_have() {
    let node = limited(NodeLimits { requests: Some(3), ..NodeLimits::default() });
    for _ in 0..2 {
        let mut client = Client::new(node.address());
        for last in [false, false, true] {
            let reply = client.get("/bytes/1");
            assert_eq!((reply.status, reply.header("connection") == Some("close")), (200, last));
        }
        client.send("GET /bytes/1 HTTP/1.1\r\nhost: t\r\n\r\n");
        assert!(client.reply(true).is_none());
    }
    assert_eq!(node.counts().requests, 6);
}

#[test]
fn a_head_has_a_size() {
    let node = limited(NodeLimits { head_size: Bytes(2_000), ..NodeLimits::default() });
    let mut client = Client::new(node.address());
    assert_eq!(client.ask("GET", "/bytes/1", &format!("x-long: {}\r\n", "a".repeat(1_800))).status, 200);
    assert_eq!(client.ask("GET", "/bytes/1", &format!("x-long: {}\r\n", "a".repeat(2_100))).status, 431);
    assert!(client.reply(true).is_none(), "it is closed");
    // Many short lines are as long as one that is long.
    let lines: String = (0..99).map(|line| format!("x-{line}: {}\r\n", "a".repeat(20))).collect();
    assert_eq!(Client::new(node.address()).ask("GET", "/bytes/1", &lines).status, 431);
    assert_eq!(node.counts().requests, 1);
}

#[test]
fn a_body_has_a_size() {
    let model = Some(server(Discipline::Ps, "1 ms", None).to_toml());
    let limits = NodeLimits { body_size: Bytes(1_000), ..NodeLimits::default() };
    let node = Node::start(NodeSettings { model, limits, ..NodeSettings::new("n") }).expect("a node starts");
    let post = |client: &mut Client, framing: &str, body: &str| {
        client.send(&format!("POST /work?demand=1ms HTTP/1.1\r\nhost: t\r\n{framing}\r\n\r\n{body}"));
        client.reply(true).expect("a reply")
    };
    let mut client = Client::new(node.address());
    assert_eq!(post(&mut client, "content-length: 1000", &"a".repeat(1_000)).status, 200);
    assert_eq!(post(&mut client, "transfer-encoding: chunked", "3\r\nabc\r\n0\r\n\r\n").status, 200);
    // It is answered before a byte of the body has come, and not a byte of it is taken for a request.
    let reply = post(&mut client, "content-length: 1001", "");
    assert_eq!((reply.status, reply.header("connection")), (413, Some("close")), "{}", reply.text());
    assert!(reply.text().contains("at most 1000 bytes"), "{}", reply.text());
    // A client that sends on all the same is not cut off while it reads why.
    let mut client = TcpStream::connect(node.address()).expect("it accepts");
    client.write_all(b"POST /work HTTP/1.1\r\nhost: t\r\ncontent-length: 900000\r\n\r\n").expect("it is sent");
    let mut reply = [0; 12];
    client.read_exact(&mut reply).expect("a reply");
    assert_eq!(&reply, b"HTTP/1.1 413");
    for part in 0..10 {
        client.write_all(&b"GET / HTTP/1.1\r\n\r\n".repeat(500)).unwrap_or_else(|error| panic!("part {part}: {error}"));
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    assert_eq!(node.counts().requests, 2, "nothing of it is a request");
    // Nor is one that sends all of a large body before it reads a byte.
    let mut client = TcpStream::connect(node.address()).expect("it accepts");
    client.write_all(b"POST /work HTTP/1.1\r\nhost: t\r\ncontent-length: 32000000\r\n\r\n").expect("it is sent");
    for part in 0..32 {
        client.write_all(&vec![b'a'; 1_000_000]).unwrap_or_else(|error| panic!("part {part}: {error}"));
    }
    client.read_exact(&mut reply).expect("a reply");
    assert_eq!(&reply, b"HTTP/1.1 413");
    let chunks = format!("{}0\r\n\r\n", format!("1f4\r\n{}\r\n", "a".repeat(500)).repeat(3));
    assert_eq!(post(&mut Client::new(node.address()), "transfer-encoding: chunked", &chunks).status, 413);
    assert_eq!(node.counts().served, 2);
}

#[test]
fn a_body_has_a_time() {
    let model = Some(server(Discipline::Ps, "1 ms", None).to_toml());
    let limits = NodeLimits { body_timeout: ms(300), ..NodeLimits::default() };
    let node = Node::start(NodeSettings { model, limits, ..NodeSettings::new("n") }).expect("a node starts");
    let begun = now();
    let mut client = Client::new(node.address());
    client.send("POST /work?demand=1ms HTTP/1.1\r\nhost: t\r\ncontent-length: 1000\r\n\r\n");
    // A part now and then is not enough.
    std::thread::scope(|scope| {
        let mut trickling = Client::new(node.address());
        let trickle = scope.spawn(move || {
            trickling.send("POST /work?demand=1ms HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n");
            while now() - begun < ms(2_000) {
                trickling.send("1\r\na\r\n");
                std::thread::park_timeout(std::time::Duration::from_millis(50));
            }
            trickling.reply(true).map(|reply| reply.status)
        });
        assert_eq!(client.reply(true).expect("a reply").status, 408);
        assert!(now() - begun >= ms(300), "not before its time");
        assert_eq!(trickle.join().expect("no panic"), Some(408));
    });
    assert_eq!(node.counts().served, 0);
}

#[test]
fn a_client_that_takes_nothing_is_cut() {
    let node = limited(NodeLimits { send_timeout: ms(500), ..NodeLimits::default() });
    let mut client = Client::new(node.address());
    let begun = now();
    client.send("GET /bytes/1000000000 HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it is sent", || node.counts().in_flight == 1);
    until("it is cut", || node.counts().in_flight == 0);
    assert!(now() - begun >= ms(500), "not before its time");
    until("it is counted", || node.counts().connections.too_slow == 1);
    // One that takes a little now and then is served.
    let mut slow = Client::new(node.address());
    slow.send("GET /bytes/20000000 HTTP/1.1\r\nhost: t\r\n\r\n");
    let reply = slow.reply(true).expect("a reply");
    assert_eq!((reply.whole, reply.body.len()), (true, 20_000_000));
}

/// `endpoint-load-metrics-format` asks for the load in the reply, as gRPC has it.
#[test]
fn a_reply_tells_the_load_where_that_is_asked_for() {
    let node = limited(NodeLimits::default());
    let mut client = Client::new(node.address());
    let reply = client.ask("GET", "/bytes/1", "endpoint-load-metrics-format: TEXT\r\n");
    let told = reply.header("endpoint-load-metrics").expect("it is told");
    assert_eq!(sojourn_report::orca::Load::parse(told).expect("a report").in_flight(), Some(1), "{told}");
    for form in ["", "endpoint-load-metrics-format: BIN\r\n"] {
        assert_eq!(client.ask("GET", "/bytes/1", form).header("endpoint-load-metrics"), None, "{form}");
    }
}

#[test]
fn its_numbers_are_told_to_prometheus() {
    let limits = NodeLimits { per_address: Some(1), ..NodeLimits::default() };
    let metrics = Metrics::default().into();
    let node = Node::start(NodeSettings { limits, metrics, ..NodeSettings::new("n") }).expect("a node starts");
    let mut client = Client::new(node.address());
    assert_eq!(client.get("/bytes/1000").status, 200);
    assert_eq!(client.get("/none").status, 404);
    assert_eq!(client.ask("DELETE", "/bytes/1", "").status, 405);
    assert!(is_closed(node.address()));
    let page = || get(node.metrics_address().expect("it tells"), "/metrics").text();
    let text = page();
    for line in [
        "sojourn_node_requests_total{method=\"GET\",class=\"2xx\"} 1",
        "sojourn_node_requests_total{method=\"GET\",class=\"4xx\"} 1",
        "sojourn_node_requests_total{method=\"other\",class=\"4xx\"} 1",
        "sojourn_node_connections 1",
        "sojourn_node_connections_refused_total{limit=\"per_address\"} 1",
        "sojourn_node_connections_refused_total{limit=\"connections\"} 0",
        "sojourn_node_tls_handshakes_total{outcome=\"done\"} 0",
        "# TYPE sojourn_node_in_flight gauge",
    ] {
        assert!(text.lines().any(|said| said == line), "{line} in\n{text}");
    }
    let sent = |text: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("sojourn_node_sent_bytes_total ")).map(str::to_owned);
        line.and_then(|number| number.parse::<u64>().ok()).expect("a number")
    };
    assert!(sent(&text) > 1_000, "{text}");
    // As Prometheus reads it: each name has its help and its type once, before its values.
    let mut names = std::collections::HashSet::new();
    for line in text.lines() {
        match line.strip_prefix("# TYPE ").and_then(|rest| rest.split(' ').next()) {
            Some(name) => assert!(names.insert(name.to_owned()), "{name} is there twice"),
            None if line.starts_with("# HELP ") => {}
            None => {
                let name = line.split(['{', ' ']).next().expect("a name");
                let value = line.rsplit(' ').next().expect("a value");
                assert!(names.contains(name) && value.parse::<f64>().is_ok(), "{line}");
            }
        }
    }
    assert_eq!(get(node.metrics_address().expect("it tells"), "/").status, 404);
    // Who only connects is in no one's way, and who may not have them gets none.
    let stranger = || TcpStream::connect(node.metrics_address().expect("it tells")).expect("it listens");
    let held: Vec<TcpStream> = (0..100).map(|_| stranger()).collect();
    assert!(page().contains("sojourn_node_connections"));
    drop(held);
    let allow_from = "10.0.0.0/8".parse().expect("networks");
    let metrics = Metrics { allow_from, ..Metrics::default() }.into();
    let node = Node::start(NodeSettings { metrics, ..NodeSettings::new("n") }).expect("a node starts");
    assert_eq!(get(node.metrics_address().expect("it tells"), "/metrics").status, 403);
}

#[test]
fn trace_is_not_answered() {
    let node = limited(NodeLimits::default());
    for path in ["/bytes/1", "/work", "/health", "/none"] {
        assert_eq!(Client::new(node.address()).ask("TRACE", path, "").status, 405, "{path}");
    }
}
