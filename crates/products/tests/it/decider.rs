//! Each product accepts the configuration that is written for each of its rules, and goes by it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use sojourn_part::program::Balancer;
use sojourn_products::{Behind, Decider};

use crate::skip::skipped;

const RULES: [&str; 11] = [
    "haproxy(2.6, leastconn)",
    "haproxy(2.6, roundrobin)",
    "haproxy(2.6, random(2))",
    "haproxy(2.6, random(1))",
    "haproxy(2.6, first)",
    "haproxy(2.6, default)",
    "haproxy(2.6, uri, avalanche = true)",
    "nginx(round-robin)",
    "nginx(least_conn)",
    "nginx(random two)",
    "nginx(hash consistent)",
];

const OF_ENVOY: [&str; 7] = [
    "envoy(round-robin)",
    "envoy(1.40, least-request)",
    "envoy(least-request, choices = 3, bias = 1.5)",
    "envoy(least-request, scan = full, bias = 2)",
    "envoy(random)",
    "envoy(ring-hash, minimum = 64, maximum = 128)",
    "envoy(maglev, table = 251)",
];

/// A server that answers each connection's first request, and closes.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
        }
    });
    address
}

pub(crate) fn answered_by(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("it accepts");
    stream.write_all(b"GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("it reads");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("it is text");
    let header = reply.lines().find_map(|line| line.strip_prefix("x-sojourn-backend: "));
    header.unwrap_or_else(|| panic!("{reply}")).to_owned()
}

#[test]
fn every_rule_has_a_configuration_that_its_product_accepts_and_replies_that_name_the_server() {
    let servers = servers();
    for policy in RULES {
        let decider = Decider::of_policy(policy).expect("it is one");
        if let Err(missing) = decider.product.installed() {
            skipped(missing);
            continue;
        }
        it_decides(policy, &decider, &servers);
    }
}

/// Its program is large; `make nightly` fetches it and says where it is.
#[test]
fn envoy_accepts_what_is_written_of_each_of_its_rules_and_goes_by_it() {
    if std::env::var_os("SOJOURN_ENVOY").is_none() {
        return; // no part of `make test`
    }
    let servers = servers();
    for policy in OF_ENVOY {
        it_decides(policy, &Decider::of_policy(policy).expect("it is one"), &servers);
    }
}

pub(crate) fn servers() -> Vec<Behind> {
    let behind = |weight| {
        let at_most = (weight == 2).then_some(7);
        Behind { name: format!("server-{weight}"), address: server(), weight, at_most }
    };
    [1, 2].map(behind).to_vec()
}

/// Started over these servers, its replies say which of them gave each; by turns twice as often with twice the weight.
fn it_decides(policy: &str, decider: &Decider, servers: &[Behind]) {
    let started = Balancer::new(decider.product).start(|spot| decider.configuration(servers, spot));
    let running = started.unwrap_or_else(|error| panic!("{policy}: {error}"));
    let chosen: Vec<String> = (0..3).map(|_| answered_by(running.address())).collect();
    assert!(chosen.iter().all(|name| servers.iter().any(|server| server.name == *name)), "{policy}: {chosen:?}");
    if decider.rule.starts_with("round") {
        let second = chosen.iter().filter(|name| *name == "server-2").count();
        assert_eq!(second, 2, "{policy}: twice the weight, twice as often: {chosen:?}");
    }
}
