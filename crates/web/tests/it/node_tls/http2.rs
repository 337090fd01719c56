//! HTTP/2: its limits, and how a connection ends.

use std::io::Read;
use std::sync::Arc;

use hyper::Request;
use hyper::header::HOST;
use rustls::ClientConfig;
use sojourn_model::Discipline;
use sojourn_part::now;
use sojourn_part::settings::node::{NodeLimits, NodeSettings};
use sojourn_stats::{Bytes, Span};
use sojourn_web::Node;

use crate::secure::frames::{
    ENHANCE_YOUR_CALM, GOAWAY, HEADERS, PREFACE, RST_STREAM, SETTINGS, frame, get, next, send,
};
use crate::secure::{Http2, TlsClient, connect, secure_node, trusting, valid};
use crate::support::{ms, server, until};

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// A node with these settings, and a client's settings for it.
fn start(change: impl FnOnce(&mut NodeSettings)) -> (Node, Arc<ClientConfig>) {
    let folder = tempfile::tempdir().expect("a folder");
    let files = valid(folder.path(), "a", &["a.test"]);
    let client = trusting(&[&files], &["h2"]);
    let mut config = secure_node(vec![files]);
    change(&mut config);
    (Node::start(config).expect("a node starts"), client)
}

/// A connection on which the client has said its settings, and the payload of the server's.
fn by_hand(node: &Node, client: &Arc<ClientConfig>, settings: &[u8]) -> (TlsClient, Vec<u8>) {
    let mut connection = connect(node.tls_addresses()[0], client, "a.test").expect("a handshake");
    send(&mut connection, &[PREFACE, &frame(SETTINGS, 0, 0, settings)].concat());
    let (kind, _, payload) = next(&mut connection).expect("settings come first");
    assert_eq!(kind, SETTINGS);
    (connection, payload)
}

/// The value of a setting.
fn setting(payload: &[u8], id: u16) -> Option<u32> {
    let pairs = payload.chunks(6).map(|pair| (u16::from_be_bytes([pair[0], pair[1]]), u32_at(pair, 2)));
    pairs.into_iter().find(|(known, _)| *known == id).map(|(_, value)| value)
}

/// The code with which the server ends the connection.
fn goaway(connection: &mut TlsClient) -> Option<u32> {
    std::iter::from_fn(|| next(connection)).find(|(kind, ..)| *kind == GOAWAY).map(|(_, _, said)| u32_at(&said, 4))
}

#[test]
fn limits_are_announced_and_kept() {
    let limits = NodeLimits { streams: 7, head_size: Bytes(2_000), ..NodeLimits::default() };
    let (node, client) = start(|config| config.limits = limits);
    let (_, settings) = by_hand(&node, &client, &[]);
    assert_eq!((setting(&settings, 3), setting(&settings, 6)), (Some(7), Some(2_000)));
    let mut client = Http2::connect(node.tls_addresses()[0], &client);
    let with = |size: usize| {
        let request = Request::get("https://a.test/bytes/1").header("x-long", "a".repeat(size));
        request.body(Default::default()).expect("a request")
    };
    assert_eq!(client.ask(with(1_500)).expect("a reply").status, 200);
    // hyper's client keeps to the announced limit by itself: it is told of the error, and nothing is served.
    assert!(client.ask(with(3_000)).map_or(true, |reply| reply.status == 431));
    assert_eq!(node.counts().requests, 1);
}

#[test]
fn a_rapid_reset_ends_the_connection() {
    let (node, client) = start(|_| {});
    let (mut connection, _) = by_hand(&node, &client, &[]);
    let pair = |stream: u32| {
        let (end_stream, end_headers, cancel) = (1, 4, 8_u32);
        let head = frame(HEADERS, end_stream | end_headers, stream, &get());
        [head, frame(RST_STREAM, 0, stream, &cancel.to_be_bytes())].concat()
    };
    let flood: Vec<u8> = (0..500).flat_map(|index| pair(2 * index + 1)).collect();
    send(&mut connection, &flood);
    assert_eq!(goaway(&mut connection), Some(ENHANCE_YOUR_CALM));
    // A few are no attack.
    let (mut connection, _) = by_hand(&node, &client, &[]);
    let few: Vec<u8> = (0..5).flat_map(|index| pair(2 * index + 1)).collect();
    send(&mut connection, &few);
    send(&mut connection, &frame(HEADERS, 5, 101, &get()));
    let answered =
        std::iter::from_fn(|| next(&mut connection)).find(|(kind, stream, _)| (*kind, *stream) == (HEADERS, 101));
    assert!(answered.is_some(), "it is served");
}

#[test]
fn what_is_asked_when_it_is_told_to_stop_is_answered() {
    let model = Some(server(Discipline::Ps, "1 ms", None).to_toml());
    let (node, client) = start(|config| (config.model, config.grace) = (model, Some(Span(20_000_000_000))));
    let mut idle = Http2::connect(node.tls_addresses()[0], &client);
    assert_eq!(idle.get("/bytes/1").expect("a reply").status, 200);
    let mut busy = Http2::connect(node.tls_addresses()[0], &client);
    let counts = std::thread::scope(|scope| {
        let asking = scope.spawn(|| busy.get("/work?demand=500ms").expect("a reply").status);
        until("it is there", || node.counts().in_flight == 1);
        let stopping = scope.spawn(move || node.stop());
        assert_eq!(asking.join().expect("no panic"), 200);
        stopping.join().expect("no panic")
    });
    assert_eq!((counts.requests, counts.cancelled), (2, 0));
    assert!(idle.has_ended() && busy.has_ended(), "both connections end in order");
}

#[test]
fn idle_connections_end_in_order_and_others_stay() {
    let (node, client) = start(|config| (config.limits.keep_alive, config.limits.head_timeout) = (ms(300), ms(300)));
    let begun = now();
    let mut never = Http2::connect(node.tls_addresses()[0], &client);
    assert!(never.has_ended());
    assert!(now() - begun >= ms(300), "not before its time");
    let mut used = Http2::connect(node.tls_addresses()[0], &client);
    let begun = now();
    while now() - begun < ms(700) {
        assert_eq!(used.get("/bytes/1").expect("it is open").status, 200);
        std::thread::park_timeout(std::time::Duration::from_millis(50));
    }
    assert!(used.has_ended(), "when it is used no more");
}

/// It takes the head of the reply and leaves its window shut, which no timeout of the socket would show.
#[test]
fn a_client_that_takes_nothing_is_cut() {
    let limits = NodeLimits { send_timeout: ms(300), ..NodeLimits::default() };
    let (node, client) = start(|config| config.limits = limits);
    // Its window for each stream is shut from the beginning.
    let shut = [&4_u16.to_be_bytes()[..], &0_u32.to_be_bytes()].concat();
    let (mut connection, _) = by_hand(&node, &client, &shut);
    let begun = now();
    send(&mut connection, &frame(HEADERS, 5, 1, &get()));
    let mut rest = Vec::new();
    let _ = connection.read_to_end(&mut rest);
    assert!(now() - begun >= ms(300), "not before its time");
    until("it is counted", || node.counts().connections.too_slow == 1);
    until("nothing is left of it", || node.counts().in_flight == 0);
}

#[test]
fn a_service_may_take_longer_than_a_client_may_take_nothing() {
    let model = Some(server(Discipline::Ps, "1 ms", None).to_toml());
    let limits =
        NodeLimits { send_timeout: ms(100), keep_alive: ms(100), head_timeout: ms(100), ..NodeLimits::default() };
    let (node, client) = start(|config| {
        (config.model, config.limits) = (model, limits);
    });
    let mut client = Http2::connect(node.tls_addresses()[0], &client);
    assert_eq!(client.get("/work?demand=600ms").expect("a reply").status, 200);
}

#[test]
fn a_connection_ends_after_as_many_requests_as_it_may_have() {
    let limits = NodeLimits { requests: Some(3), ..NodeLimits::default() };
    let (node, client) = start(|config| config.limits = limits);
    let mut client = Http2::connect(node.tls_addresses()[0], &client);
    for _ in 0..3 {
        assert_eq!(client.get("/bytes/1").expect("a reply").status, 200);
    }
    assert!(client.has_ended(), "in order");
    assert_eq!(node.counts().requests, 3);
}

#[test]
fn a_request_names_one_host() {
    let (node, client) = start(|_| {});
    let mut client = Http2::connect(node.tls_addresses()[0], &client);
    for (host, status) in [("a.test", 200), ("A.TEST", 200), ("b.test", 400)] {
        let request = Request::get("https://a.test/bytes/1").header(HOST, host).body(Default::default());
        assert_eq!(client.ask(request.expect("a request")).expect("a reply").status, status, "{host}");
    }
}
