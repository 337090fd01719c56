//! What one client can take from others: time, connections and descriptors.

use std::process::Command;

use sojourn_bed::{Child, Events};
use sojourn_model::{Discipline, Server};
use sojourn_part::now;
use sojourn_part::settings::Limits;
use sojourn_part::settings::gateway::GatewaySettings;
use sojourn_part::settings::node::{NodeLimits, NodeSettings};
use sojourn_stats::Span;
use sojourn_web::node::DEMAND_MAX;
use sojourn_web::{Gateway, Node};

use crate::support::{Client, Origin, backends, falling, gateway, get, ms, node, ok, server, until};
use crate::support::{PATIENCE, address};

const HALF: &str = "GET /bytes/1 HTTP/1.1\r\nhost: ";

#[test]
fn a_head_must_be_complete_in_time() {
    let head_timeout = ms(200);
    let node = Node::start(NodeSettings {
        limits: NodeLimits { head_timeout, ..NodeLimits::default() },
        ..NodeSettings::new("n")
    })
    .expect("a node starts");
    let config = GatewaySettings::new("random", backends(&[node.address()]));
    let gateway = gateway(GatewaySettings { limits: Limits { head_timeout, ..Limits::default() }, ..config });
    for address in [node.address(), gateway.address()] {
        for served_before in [false, true] {
            let asked = now();
            let mut client = Client::new(address);
            if served_before {
                assert_eq!(client.get("/bytes/1").status, 200);
            }
            client.send(HALF);
            assert_eq!(client.reply(true).expect("an answer").status, 408);
            assert!(now() - asked >= head_timeout, "and not before its time: {}", now() - asked);
            assert!(client.reply(true).is_none(), "it is closed");
        }
    }
}

/// Neither time is that of the other: an idle connection outlives the time of a head and is closed without an answer.
#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let (head_timeout, keep_alive) = (ms(100), ms(300));
    let node = Node::start(NodeSettings {
        limits: NodeLimits { head_timeout, keep_alive, ..NodeLimits::default() },
        ..NodeSettings::new("n")
    })
    .expect("a node starts");
    let config = GatewaySettings::new("random", backends(&[node.address()]));
    let gateway = gateway(GatewaySettings { limits: Limits { head_timeout, keep_alive, connections: None }, ..config });
    for address in [node.address(), gateway.address()] {
        for served_before in [false, true] {
            let mut client = Client::new(address);
            let mut idle = now();
            if served_before {
                assert_eq!(client.get("/bytes/1").status, 200);
                idle = now();
            }
            assert!(client.reply(true).is_none(), "it is closed");
            // The other side's time began a little before the reply was here.
            assert!(now() - idle >= ms(200), "and not when a head would be late: {}", now() - idle);
        }
    }
}

#[test]
fn half_sent_heads_shut_others_out_for_a_time_only() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let config = GatewaySettings::new("random", backends(&[origin.address]));
    let limits = Limits { head_timeout: ms(200), connections: Some(20), ..Limits::default() };
    let gateway = gateway(GatewaySettings { limits, ..config });
    let mut crowd: Vec<_> = (0..20).map(|_| Client::new(gateway.address())).collect();
    for client in &mut crowd {
        client.send(HALF);
    }
    assert_eq!(get(gateway.address(), "/").status, 200);
    assert!(gateway.counts().held >= 1, "it had to wait for one of them to be closed");
}

#[test]
fn connections_beyond_the_limit_wait() {
    for threads in [1, 2] {
        let start = || {
            Node::start(NodeSettings {
                threads,
                limits: NodeLimits { connections: Some(2), ..NodeLimits::default() },
                ..NodeSettings::new("n")
            })
        };
        let (node, behind) = (start().expect("a node starts"), start().expect("a node starts"));
        let config = GatewaySettings::new("random", backends(&[behind.address()]));
        let limits = Limits { connections: Some(2), ..Limits::default() };
        let gateway = gateway(GatewaySettings { threads, limits, ..config });
        let held_by: [(_, &dyn Fn() -> u64); 2] =
            [(node.address(), &|| node.counts().connections.held), (gateway.address(), &|| gateway.counts().held)];
        for (address, held) in held_by {
            let mut open: Vec<_> = (0..2).map(|_| Client::new(address)).collect();
            for client in &mut open {
                assert_eq!(client.get("/bytes/1").status, 200);
            }
            let mut third = Client::new(address);
            third.send("GET /bytes/3 HTTP/1.1\r\nhost: t\r\n\r\n");
            until("the third waits", || held() == 1);
            assert_eq!(open[0].get("/bytes/1").status, 200, "those inside are served");
            drop(open.pop());
            assert_eq!(third.reply(true).expect("a reply").body.len(), 3);
        }
    }
}

#[test]
fn impossible_counts_are_refused() {
    let most = |connections| NodeLimits { connections: Some(connections), ..NodeLimits::default() };
    let node = |config: NodeSettings| Node::start(config).err().expect("it cannot start").to_string();
    for (said, expected) in [
        (
            node(NodeSettings { limits: most(0), ..NodeSettings::new("n") }),
            "connections: it is a whole number of at least 1",
        ),
        (node(NodeSettings { limits: most(usize::MAX), ..NodeSettings::new("n") }), "ulimit"),
        (node(NodeSettings { threads: 0, ..NodeSettings::new("n") }), "threads: 0: it is a whole number of at least 1"),
        (node(NodeSettings { workers: 0, ..NodeSettings::new("n") }), "workers: 0: it is a whole number of at least 1"),
    ] {
        assert!(said.contains(expected) && said.lines().count() == 1, "{said}");
    }
    let good = GatewaySettings::new("random", backends(&[([127, 0, 0, 1], 9).into()]));
    let gateway = |config| Gateway::start(config, Events::nowhere()).err().expect("it cannot start").to_string();
    let connections = |most| Limits { connections: Some(most), ..Limits::default() };
    for (said, expected) in [
        (gateway(GatewaySettings { limits: connections(0), ..good.clone() }), "limits.connections: it is"),
        (gateway(GatewaySettings { limits: connections(1 << 40), ..good.clone() }), "ulimit"),
        (gateway(GatewaySettings { threads: 0, ..good.clone() }), "threads: it is"),
        (gateway(falling(0, good)), "decider.fall: it is"),
    ] {
        assert!(said.contains(expected) && said.lines().count() == 1, "{said}");
    }
}

/// A child under a shell's limit of descriptors.
fn limited(limit: &str, test: &str, environment: &[(&str, &str)]) -> Child {
    let mut shell = Command::new("bash");
    let script = format!("{limit}; exec \"$0\" {test} --exact --ignored --nocapture");
    shell.args(["-c", &script]).arg(std::env::current_exe().expect("this binary")).envs(environment.iter().copied());
    Child::start(shell, PATIENCE).expect("a child starts")
}

#[test]
fn the_limit_of_descriptors_is_raised_as_far_as_allowed() {
    let node = limited("ulimit -Hn 400; ulimit -Sn 40", "child::as_node", &[]);
    let mut crowd: Vec<_> = (0..200).map(|_| Client::new(address(&node))).collect();
    for client in &mut crowd {
        assert_eq!(client.get("/bytes/1").status, 200);
    }
}

#[test]
fn a_probe_that_cannot_be_made_says_nothing_of_its_backend() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let backend = origin.address.to_string();
    // Most descriptors are taken from the start, by what the gateway does not know of.
    let limit = "ulimit -n 100; for ((i = 0; i < 62; i++)); do exec {fd}</dev/null; done";
    let gateway = limited(limit, "child::as_gateway", &[("BACKEND", &backend), ("PROBE_MS", "2")]);
    assert_eq!(get(address(&gateway), "/").status, 200);
    let crowd: Vec<_> = (0..60).map(|_| Client::new(address(&gateway))).collect();
    let said = |what: &str| gateway.events().iter().filter(|event| event["event"] == what).count();
    until("a probe lacks a descriptor", || said("probe_not_made") > 0);
    drop(crowd);
    assert_eq!(get(address(&gateway), "/").status, 200);
    assert_eq!((said("backend_down"), said("backend_up")), (0, 0), "{:?}", gateway.events());
}

#[test]
fn a_node_serves_no_request_for_longer_than_it_says() {
    let node = node("n", Discipline::Fcfs);
    let mut client = Client::new(node.address());
    for headers in ["x-sojourn-demand: 18446744073709551615\r\n", "x-sojourn-demand: 86400000000001\r\n"] {
        let reply = client.ask("GET", "/work", headers);
        assert_eq!(reply.status, 400, "{headers}: {}", reply.text());
        assert!(reply.text().contains("86400 s"), "{}", reply.text());
    }
    for path in ["/work?demand=25h", "/work?demand=1e300s", "/work?bytes=18446744073709551615"] {
        // Of a reply that is served after all, no byte is waited for.
        assert_eq!(client.ask("HEAD", path, "").status, 400, "{path}");
    }
    assert_eq!(client.ask("HEAD", "/bytes/18446744073709551615", "").status, 400);
    assert_eq!(client.ask("HEAD", "/bytes/1000000000000001", "").status, 400);
    // The longest is taken, and takes its time.
    client.send(&format!("GET /work HTTP/1.1\r\nhost: t\r\nx-sojourn-demand: {}\r\n\r\n", DEMAND_MAX.0));
    until("it is inside", || node.counts().in_flight == 1);
    drop(client);
    until("it is out", || node.counts().in_flight == 0);

    // A slow server makes a long service of a short demand.
    let model = Some(Server { speed: 1e-9, ..server(Discipline::Ps, "1 ms", None) }.to_toml());
    let node =
        Node::start(NodeSettings { model, grace: Some(Span::ZERO), ..NodeSettings::new("n") }).expect("a node starts");
    assert_eq!(get(node.address(), "/work?demand=1h").status, 500);
}
