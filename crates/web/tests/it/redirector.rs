//! A redirector over real sockets: where it sends clients, what it refuses, and what becomes of bodies and connections.

use std::net::SocketAddr;

use sojourn_bed::Events;
use sojourn_dispatch::{FrontSettings, record};
use sojourn_model::Discipline;
use sojourn_part::settings::gateway::{Redirect, RedirectorSettings};
use sojourn_part::{Backend, now};
use sojourn_web::{Gateway, Node};

use crate::support::{Client, Reply, address_of, backends, gateway, get, ms, node, polled, silent_port, until};

fn nodes(count: usize) -> Vec<Node> {
    (1..=count).map(|index| node(&format!("s{index}"), Discipline::Ps)).collect()
}

fn config(policy: &str, nodes: &[Node]) -> RedirectorSettings {
    let addresses: Vec<_> = nodes.iter().map(Node::address).collect();
    over(policy, &addresses)
}

fn over(policy: &str, addresses: &[SocketAddr]) -> RedirectorSettings {
    RedirectorSettings::new(policy, backends(addresses))
}

/// Asks the redirector and then the place that it names, as a browser does.
fn follow(redirector: &mut Client, path: &str) -> Reply {
    let answer = redirector.get(path);
    assert_eq!(answer.status, 307);
    let location = answer.header("location").expect("a redirect says where to ask").to_owned();
    let (address, path) = location.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
    Client::new(address.parse().expect("an address")).get(&format!("/{path}"))
}

#[test]
fn clients_reach_the_backend_that_was_chosen() {
    let nodes = nodes(3);
    let redirector = gateway(config("round-robin", &nodes));
    // All on one connection: a redirect does not end it.
    let mut client = Client::new(redirector.address());
    for turn in 0..9 {
        let reply = follow(&mut client, "/work?demand=0ms&bytes=7");
        let backend = format!("s{}", turn % 3 + 1);
        assert_eq!((reply.status, reply.body.len(), reply.backend()), (200, 7, backend.as_str()));
    }
    let counts = redirector.stop();
    assert_eq!(counts.requests, 9);
    for (backend, node) in counts.backends.iter().zip(&nodes) {
        assert_eq!((backend.requests, backend.completed, backend.in_flight_table), (3, 3, 0));
        assert_eq!(backend.connections, 0, "a redirector has none");
        assert_eq!(node.counts().requests, 3);
    }
}

#[test]
fn the_answer_says_where_and_nothing_else() {
    let nodes = nodes(1);
    let base = format!("http://{}", nodes[0].address());
    let redirector = gateway(RedirectorSettings { explain: true, ..config("round-robin", &nodes) });
    let mut client = Client::new(redirector.address());
    for (target, path) in [
        ("/a/b?c=d%20e", "/a/b?c=d%20e"),
        ("/", "/"),
        ("//elsewhere.example/x", "//elsewhere.example/x"),
        ("http://elsewhere/x?y", "/x?y"),
    ] {
        for method in ["GET", "HEAD", "DELETE"] {
            let reply = client.ask(method, target, "");
            assert_eq!((reply.status, reply.header("location")), (307, Some(format!("{base}{path}").as_str())));
            assert_eq!((reply.header("content-length").unwrap_or("0"), reply.body.len()), ("0", 0), "{method}");
            assert!(reply.header("x-sojourn-reason").is_some_and(|reason| reason.contains("turn")));
            assert_eq!(reply.header("x-sojourn-backend"), None, "no server has replied yet");
        }
    }
    assert_eq!(client.ask("OPTIONS", "*", "").header("location"), Some(format!("{base}/").as_str()));
    // A client of 1995, and one that speaks of tunnels.
    let mut old = Client::new(redirector.address());
    old.send("GET /old HTTP/1.0\r\n\r\n");
    assert_eq!(old.head().expect("a reply").0, 307);
    assert_eq!(Client::new(redirector.address()).ask("CONNECT", "a.example:443", "").status, 405);
    assert_eq!(Client::new(redirector.address()).ask("TRACE", "/", "").status, 405);
}

#[test]
fn a_backends_public_url_and_the_older_status() {
    let nodes = nodes(2);
    let mut config = config("round-robin", &nodes);
    config.backends[0].public = Some("https://a.example.org/site/".into());
    let redirector = gateway(config.clone());
    assert_eq!(get(redirector.address(), "/x?y").header("location"), Some("https://a.example.org/site/x?y"));
    let other = format!("http://{}/x", nodes[1].address());
    assert_eq!(get(redirector.address(), "/x").header("location"), Some(other.as_str()));
    let found = gateway(RedirectorSettings { face: Redirect { status: 302, ..Redirect::default() }, ..config.clone() });
    assert_eq!(get(found.address(), "/").status, 302);
    for wrong in ["ftp://a.example.org", "a.example.org", "http:///x", "http://a/?q", "http://a/#f", "http://u@a/"] {
        config.backends[1].public = Some(wrong.into());
        let error = Gateway::start(config.clone(), Events::nowhere()).err().expect(wrong).to_string();
        assert!(error.contains("s2") && error.contains(wrong) && error.contains("https://a.example.org"), "{error}");
    }
}

#[test]
fn bodies_are_not_wanted() {
    let nodes = nodes(1);
    let redirector = gateway(config("random", &nodes));
    // A short one is read and thrown away, and the connection carries the next request.
    let mut client = Client::new(redirector.address());
    for _ in 0..3 {
        client.send("POST /p HTTP/1.1\r\nhost: t\r\ncontent-length: 5\r\n\r\nhello");
        assert_eq!(client.reply(true).expect("a reply").status, 307);
        client.send("POST /p HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
        assert_eq!(client.reply(true).expect("a reply").status, 307);
    }
    // The answer comes before the body, however long that takes to come.
    client.send("POST /p HTTP/1.1\r\nhost: t\r\ncontent-length: 5\r\n\r\nhe");
    assert_eq!(client.reply(true).expect("a reply").status, 307);
    client.send("lloGET /next HTTP/1.1\r\nhost: t\r\n\r\n");
    assert!(client.reply(true).expect("a reply").header("location").expect("a place").ends_with("/next"));
    // A client that asks first is told to go elsewhere with it, and not to send it here.
    let mut polite = Client::new(redirector.address());
    polite.send("POST /p HTTP/1.1\r\nhost: t\r\nexpect: 100-continue\r\ncontent-length: 1000000\r\n\r\n");
    let reply = polite.reply(true).expect("a reply");
    assert_eq!((reply.status, reply.header("connection")), (307, Some("close")));
    // A long one ends the connection, after the answer.
    let mut long = Client::new(redirector.address());
    long.send("POST /p HTTP/1.1\r\nhost: t\r\ncontent-length: 100000000\r\n\r\n");
    assert_eq!(long.reply(true).expect("a reply").status, 307);
    long.send(&"x".repeat(2_000_000));
    let sent = now();
    assert!(long.reply(true).is_none() && now() - sent < ms(15_000), "it is closed, not left waiting");
}

#[test]
fn policies_that_need_what_it_cannot_see_are_refused_by_name() {
    let nodes = nodes(2);
    let refused =
        |config: RedirectorSettings| Gateway::start(config, Events::nowhere()).err().expect("refused").to_string();
    for (policy, signal) in [("least-connections", "in-flight"), ("power-of-d", "in-flight"), ("cookie", "in-flight")] {
        let error = refused(config(policy, &nodes));
        assert!(error.contains(policy) && error.contains(signal), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    for policy in ["random", "round-robin", "weighted-round-robin", "address-hash"] {
        gateway(config(policy, &nodes));
    }
    // Reports of the backends make up for the ends that it does not see, and for nothing else.
    let with_polls = |policy| polled(ms(1), config(policy, &nodes));
    gateway(with_polls("least-connections"));
    gateway(with_polls("cookie"));
    for (policy, signal) in [("round-trip(window = 1 s)", "first-byte"), ("transmitted-size", "bytes")] {
        let error = refused(with_polls(policy));
        assert!(error.contains(policy) && error.contains(signal), "{error}");
    }
}

#[test]
fn polled_counts_stand_in_for_the_ends_of_requests() {
    let nodes = nodes(2);
    let mut busy = Client::new(nodes[0].address());
    busy.send("GET /work?demand=1h HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it is busy", || nodes[0].counts().in_flight == 1);
    let config = config("least-connections", &nodes);
    let redirector = gateway(polled(ms(1), config));
    let mut client = Client::new(redirector.address());
    let idle = format!("http://{}/x", nodes[1].address());
    let mut row = 0;
    until("only the idle one is named", || {
        row = if client.get("/x").header("location") == Some(idle.as_str()) { row + 1 } else { 0 };
        row == 40
    });
}

#[test]
fn a_cookie_brings_a_client_back() {
    let nodes = nodes(4);
    let config = config("cookie", &nodes);
    let redirector = gateway(polled(ms(10), config));
    let first = get(redirector.address(), "/x");
    let cookie = first.header("set-cookie").expect("a cookie").split(';').next().expect("its value").to_owned();
    for _ in 0..10 {
        let again = Client::new(redirector.address()).ask("GET", "/x", &format!("cookie: {cookie}\r\n"));
        assert_eq!((again.header("location"), again.header("set-cookie")), (first.header("location"), None));
    }
}

#[test]
fn a_backend_that_is_down_is_not_named() {
    let nodes = nodes(1);
    let silent = silent_port();
    let mut config = config("round-robin", &nodes);
    config.backends.push(Backend::new("down", address_of(&silent)));
    config.health.every = ms(2);
    let redirector = gateway(config);
    until("it is seen to be down", || !redirector.counts().backends[1].up);
    let place = format!("http://{}/", nodes[0].address());
    for _ in 0..10 {
        assert_eq!(get(redirector.address(), "/").header("location"), Some(place.as_str()));
    }
    drop(nodes);
    until("none is left", || !redirector.counts().backends[0].up);
    let reply = get(redirector.address(), "/");
    assert_eq!((reply.status, reply.header("location")), (503, None));
    assert!(reply.text().contains("2 of 2"), "{}", reply.text());
}

#[test]
fn many_requests_are_shared_by_weight_and_their_record_replays() {
    const REQUESTS: u64 = 20_000;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("record");
    // No client follows, so no server need listen there.
    let silent: Vec<_> = (0..4).map(|_| silent_port()).collect();
    let mut config = over("random", &silent.iter().map(address_of).collect::<Vec<_>>());
    config.health.probe = sojourn_part::Probe::Off;
    config.record = Some(path.clone());
    let redirector = gateway(config.clone());
    let address = redirector.address();
    let clients: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = Client::new(address);
                for _ in 0..REQUESTS / 4 {
                    assert_eq!(client.get("/").status, 307);
                }
            })
        })
        .collect();
    for client in clients {
        client.join().expect("no client fails");
    }
    let counts = redirector.stop();
    assert_eq!(counts.requests, REQUESTS);
    assert_eq!(counts.backends.iter().map(|backend| backend.completed).sum::<u64>(), REQUESTS);
    for backend in &counts.backends {
        // A quarter each: 5000 within 5.3 standard deviations of 61, one in a million for all four together. The draws
        // are the seed's, so the counts are the same in every run.
        assert!(backend.requests.abs_diff(REQUESTS / 4) < 325, "{counts:?}");
    }
    let file = std::io::BufReader::new(std::fs::File::open(path).expect("a record"));
    let replay = record::replay(file).expect("a whole record");
    assert_eq!((replay.choices, replay.first_difference), (REQUESTS, None));

    config.record = None;
    config.decider = FrontSettings::new("weighted-round-robin");
    config.backends[3].weight = 5.0;
    let weighted = gateway(config);
    let mut client = Client::new(weighted.address());
    for _ in 0..800 {
        client.get("/");
    }
    let shares: Vec<u64> = weighted.stop().backends.iter().map(|backend| backend.requests).collect();
    assert_eq!(shares, [100, 100, 100, 500]);
}
