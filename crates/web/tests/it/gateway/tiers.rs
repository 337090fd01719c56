//! Gateways beside each other and in front of each other.

use std::net::SocketAddr;

use sojourn_model::Discipline;
use sojourn_part::settings::gateway::GatewaySettings;
use sojourn_part::{Backend, now};
use sojourn_web::{Gateway, Node};

use crate::support::{Client, Origin, backends, gateway, get, ms, node, ok, until};

fn nodes(names: &[&str]) -> Vec<Node> {
    names.iter().map(|name| node(name, Discipline::Ps)).collect()
}

fn addresses(nodes: &[Node]) -> Vec<SocketAddr> {
    nodes.iter().map(Node::address).collect()
}

/// A gateway in front of gateways `g1`, `g2`, ...
fn in_front(policy: &str, inner: &[&Gateway]) -> GatewaySettings {
    let named =
        inner.iter().enumerate().map(|(index, gateway)| Backend::new(format!("g{}", index + 1), gateway.address()));
    GatewaySettings::new(policy, named.collect())
}

/// How often each of `names` replied to 60 requests of each of 4 clients.
fn shares(address: SocketAddr, names: &[&str]) -> Vec<usize> {
    let ask = move || {
        let mut client = Client::new(address);
        let replies = (0..60).map(|_| client.get("/work?demand=0ms&bytes=3"));
        replies.map(|reply| (reply.status, reply.text(), reply.backend().to_owned())).collect::<Vec<_>>()
    };
    let clients: Vec<_> = (0..4).map(|_| std::thread::spawn(ask)).collect();
    let replies: Vec<_> = clients.into_iter().flat_map(|client| client.join().expect("no client fails")).collect();
    assert!(replies.iter().all(|(status, text, _)| (*status, text.as_str()) == (200, "xxx")));
    names.iter().map(|name| replies.iter().filter(|(_, _, backend)| backend == name).count()).collect()
}

#[test]
fn two_gateways_in_front_of_one_set_of_nodes() {
    let names = ["s1", "s2", "s3"];
    let nodes = nodes(&names);
    let gateways: Vec<_> =
        (0..2).map(|_| gateway(GatewaySettings::new("round-robin", backends(&addresses(&nodes))))).collect();
    // Each takes turns of its own: both halves of the load are in thirds.
    for gateway in &gateways {
        assert_eq!(shares(gateway.address(), &names), [80, 80, 80]);
    }
    for node in &nodes {
        assert_eq!(node.counts().requests, 160, "every request was served once");
    }
    for gateway in gateways {
        let counts = gateway.stop();
        assert_eq!((counts.requests, counts.failed, counts.retried, counts.refused), (240, 0, 0, 0));
    }
}

#[test]
fn a_gateway_in_front_of_gateways() {
    let names = ["a1", "a2", "b1", "b2"];
    let nodes = nodes(&names);
    let named = |part: std::ops::Range<usize>| {
        part.map(|index| Backend::new(names[index], nodes[index].address())).collect::<Vec<_>>()
    };
    let inner = [
        gateway(GatewaySettings::new("round-robin", named(0..2))),
        gateway(GatewaySettings::new("round-robin", named(2..4))),
    ];
    let mut config = in_front("round-robin", &[&inner[0], &inner[1]]);
    // Health is asked for a thousand times a second meanwhile, and takes no turn of any server.
    config.health.every = ms(1);
    let outer = gateway(config);
    assert_eq!(shares(outer.address(), &names), [60, 60, 60, 60], "the innermost server is named");
    for node in &nodes {
        assert_eq!(node.counts().requests, 60, "every request was served once");
    }
    let counts = outer.stop();
    assert_eq!((counts.requests, counts.failed, counts.retried), (240, 0, 0));
    let split: Vec<_> = counts.backends.iter().map(|backend| (backend.name.as_str(), backend.completed)).collect();
    assert_eq!(split, [("g1", 120), ("g2", 120)]);
    for gateway in inner {
        assert_eq!(gateway.stop().requests, 120, "probes are not requests");
    }
}

#[test]
fn headers_pass_through_gateways() {
    let origin = Origin::new(|_, stream| ok(stream, "hello"));
    let explain = |config: GatewaySettings| gateway(GatewaySettings { explain: true, ..config });
    let inner = explain(GatewaySettings::new("round-robin", backends(&[origin.address])));
    let outer = explain(in_front("random", &[&inner]));
    let headers = "x-sojourn-client: 7\r\nx-sojourn-demand: 5000\r\nx-sojourn-class: secure\r\n\
                   cookie: SOJOURN=s9\r\nvia: 1.0 old\r\nx-forwarded-for: 10.0.0.9\r\nconnection: x-hop\r\nx-hop: 1\r\n";
    let reply = Client::new(outer.address()).ask("GET", "/a?b", headers);
    assert_eq!((reply.text().as_str(), reply.backend()), ("hello", "s1"));
    let why: Vec<_> = reply.headers.iter().filter(|(name, _)| name == "x-sojourn-reason").map(|(_, why)| why).collect();
    assert_eq!(why.len(), 2, "{why:?}");
    assert!(why[0].contains("turn") && !why[1].contains("turn"), "the inner one first: {why:?}");
    let got = origin.last();
    for (name, value) in [
        ("x-sojourn-client", "7"),
        ("x-sojourn-demand", "5000"),
        ("x-sojourn-class", "secure"),
        ("cookie", "SOJOURN=s9"),
        ("x-forwarded-for", "10.0.0.9, 127.0.0.1, 127.0.0.1"),
    ] {
        assert_eq!(got.header(name), Some(value), "{name}");
    }
    assert_eq!(got.header("x-hop"), None);
    let via: Vec<_> = got.headers.iter().filter(|(name, _)| name == "via").map(|(_, value)| value.as_str()).collect();
    assert!(via.len() == 3 && via[0] == "1.0 old" && via[1..].iter().all(|value| value.starts_with("1.1 sojourn-")));
    assert_ne!(via[1], via[2], "each has a name of its own");
    let mut old = Client::new(outer.address());
    old.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(old.head().expect("a reply").0, 200);
    assert!(origin.last().header("via").is_some_and(|via| via.starts_with("1.0 sojourn-")));
}

#[test]
fn cookies_of_two_tiers_keep_a_client_at_its_server() {
    let nodes = nodes(&["s1", "s2", "s3", "s4"]);
    let pair = |part: &[SocketAddr]| gateway(GatewaySettings::new("cookie", backends(part)));
    let inner = [pair(&addresses(&nodes[..2])), pair(&addresses(&nodes[2..]))];
    let config = in_front("cookie", &[&inner[0], &inner[1]]);
    let outer = gateway(GatewaySettings { cookie: "SITE".into(), ..config });
    let first = get(outer.address(), "/bytes/1");
    let cookies: Vec<_> = first.headers.iter().filter(|(name, _)| name == "set-cookie").collect();
    let pairs: Vec<_> = cookies.iter().filter_map(|(_, value)| value.split(';').next()).collect();
    assert!(pairs.len() == 2 && pairs[0].starts_with("SOJOURN=s") && pairs[1].starts_with("SITE=g"), "{pairs:?}");
    let header = format!("cookie: {}\r\n", pairs.join("; "));
    for _ in 0..20 {
        let again = Client::new(outer.address()).ask("GET", "/bytes/1", &header);
        assert_eq!((again.backend(), again.header("set-cookie")), (first.backend(), None));
    }
}

#[test]
fn a_gateway_answers_for_itself_only_where_it_is_asked_itself() {
    let origin = Origin::new(|got, stream| ok(stream, &got.line));
    let inner = gateway(GatewaySettings { threads: 2, ..GatewaySettings::new("random", backends(&[origin.address])) });
    let ask = |path: &str, headers: &str| Client::new(inner.address()).ask("GET", path, headers).text();
    assert_eq!(ask("/load", ""), "GET /load HTTP/1.1", "a client's path is the server's");
    assert_eq!(ask("/other", "x-sojourn-probe: 1\r\n"), "GET /other HTTP/1.1");
    assert!(ask("/load", "x-sojourn-probe: 1\r\n").contains("named_metrics.in_flight=0"));
    assert!(ask("/health", "x-sojourn-probe: 1\r\n").contains("0 of 1"));
    assert_eq!(inner.counts().requests, 2, "probes are not requests");
}

#[test]
fn a_gateway_reports_its_own_load_and_health() {
    let nodes = nodes(&["s1", "s2"]);
    let inner: Vec<_> = nodes
        .iter()
        .map(|node| {
            let mut config = GatewaySettings::new("random", backends(&[node.address()]));
            config.health.every = ms(2);
            gateway(config)
        })
        .collect();
    let mut busy = Client::new(inner[0].address());
    busy.send("GET /work?demand=1h HTTP/1.1\r\nhost: t\r\n\r\n");
    until("the first is busy", || inner[0].counts().backends[0].in_flight == 1);
    let mut config = in_front("least-connections", &[&inner[0], &inner[1]]);
    config.decider.poll = Some(ms(1));
    config.health.every = ms(2);
    config.decider.fall = 1;
    let outer = gateway(config);
    let mut client = Client::new(outer.address());
    let mut row = 0;
    until("only the idle one is chosen", || {
        row = if client.get("/bytes/1").backend() == "s1" { 0 } else { row + 1 };
        row == 40
    });
    let of_inner: u64 = inner.iter().map(|gateway| gateway.counts().requests).sum();
    assert_eq!(of_inner, outer.counts().requests + 1, "polls are not requests");
    // With its only server a gateway goes down, and comes back with it.
    let mut nodes = nodes;
    let last = nodes.pop().expect("two nodes");
    drop(last);
    until("the one without a server is out", || !outer.counts().backends[1].up);
    assert!(outer.counts().backends[0].up);
}

#[test]
fn a_circle_of_gateways_is_refused() {
    // The inner one forwards to the outer one; it is started first, towards a port that the outer one then takes.
    let port = crate::support::silent_port();
    let address = crate::support::address_of(&port);
    let mut config = GatewaySettings::new("random", vec![Backend::new("outer", address)]);
    config.health.probe = sojourn_part::Probe::Off;
    let inner = gateway(config);
    drop(port);
    let mut config = in_front("random", &[&inner]);
    config.health.probe = sojourn_part::Probe::Off;
    let outer = gateway(GatewaySettings { listen: address, ..config });
    let asked = now();
    let reply = get(outer.address(), "/");
    assert_eq!(reply.status, 508);
    assert!(reply.text().contains("circle"), "{}", reply.text());
    assert!(now() - asked < ms(10_000), "it goes round once");
    assert_eq!((outer.stop().requests, inner.stop().requests), (2, 1));
}
