//! Topologies by name: what a page feels like over a modem, a DSL line, LTE, an old Ethernet, from another continent.
//!
//! The figures are round numbers that a line of its kind was sold with or is commonly measured at; they are ours, not a
//! measurement. What matters to a study is to be written out in an experiment file.

use std::net::Ipv4Addr;

use sojourn_stats::{Dimension, Law, Span};

use super::{Segment, Topology};
use crate::link::{LinkSpec, Queue};

pub(super) const PRESETS: &[(&str, &str)] = &[
    ("modem", "a `client` behind a modem: 33.6 kbit/s up, 56 kbit/s down, round trip 150 ms, to a `server`"),
    ("dsl", "a `client` behind DSL: 1 Mbit/s up, 16 Mbit/s down, round trip 30 ms, to a `server`"),
    ("lte", "a `client` on LTE: 10 Mbit/s up, 40 Mbit/s down, round trip 40 to 80 ms, to a `server`"),
    ("ethernet", "hosts `client-1` to `client-3` and `server` share 10 Mbit/s, both directions in one medium"),
    ("continents", "hosts `europe`, `europe-2`, `america`, `america-2`: round trip 2 ms within, 100 ms between"),
    (
        "cluster",
        "a `client` 2 ms from a `router`, with `front`, `web-1` and `web-2` on its Ethernet; service address 10.0.1.100",
    ),
];

/// Bytes that wait in front of a slow line: a quarter of a second at 1 Mbit/s.
const BUFFER: Queue = Queue::DropTail { bytes: 32_000 };
/// Bytes that wait in front of a faster one.
const LARGE_BUFFER: Queue = Queue::DropTail { bytes: 256_000 };

pub(super) fn preset(name: &str) -> Option<Topology> {
    match name {
        "modem" => Some(access(Line { up: 33.6e3, down: 56e3, queue: BUFFER, one_way: milliseconds(75) })),
        "dsl" => Some(access(Line { up: 1e6, down: 16e6, queue: LARGE_BUFFER, one_way: milliseconds(15) })),
        "lte" => {
            let varies = Law::parse("uniform(20 ms, 40 ms)", Dimension::Time).expect("a law of times");
            Some(access(Line { up: 10e6, down: 40e6, queue: Queue::Codel { bytes: 1_000_000 }, one_way: varies }))
        }
        "ethernet" => Some(ethernet()),
        "continents" => Some(continents()),
        "cluster" => Some(cluster()),
        _ => None,
    }
}

/// A line between a client and everything else.
struct Line {
    up: f64,
    down: f64,
    queue: Queue,
    one_way: Law,
}

fn access(line: Line) -> Topology {
    let mut topology = Topology::default();
    let client = topology.host("client", Ipv4Addr::new(10, 0, 0, 1));
    let server = topology.host("server", Ipv4Addr::new(10, 0, 1, 1));
    let mut direction = |name: &str, rate| {
        let link = LinkSpec::constant(name, Span::ZERO).at(rate, line.queue);
        topology.link(LinkSpec { delay: line.one_way.clone(), ..link })
    };
    let (up, down) = (direction("up", line.up), direction("down", line.down));
    topology.route(client, server, [up]);
    topology.route(server, client, [down]);
    topology
}

fn ethernet() -> Topology {
    let mut topology = Topology::default();
    for name in ["client-1", "client-2", "client-3", "server"] {
        let number = topology.hosts.len() as u8 + 1;
        topology.host(name, Ipv4Addr::new(10, 0, 0, number));
    }
    let cable = topology.link(LinkSpec::constant("ethernet", Span(100_000)).at(10e6, LARGE_BUFFER));
    for (from, to) in pairs(topology.hosts.len()) {
        topology.route(from, to, [cable]);
    }
    topology
}

fn continents() -> Topology {
    let mut topology = Topology::default();
    for (index, name) in ["europe", "europe-2", "america", "america-2"].into_iter().enumerate() {
        topology.host(name, Ipv4Addr::new(10, index as u8 / 2, 0, index as u8 % 2 + 1));
    }
    for (from, to) in pairs(topology.hosts.len()) {
        let one_way = if from / 2 == to / 2 { Span(1_000_000) } else { Span(50_000_000) };
        let name = format!("{} to {}", topology.hosts[from].name, topology.hosts[to].name);
        let link = topology.link(LinkSpec::constant(name, one_way));
        topology.route(from, to, [link]);
    }
    topology
}

fn cluster() -> Topology {
    let mut topology = Topology::default();
    let client = topology.host("client", Ipv4Addr::new(10, 0, 0, 1));
    let router = topology.host("router", Ipv4Addr::new(10, 0, 1, 254));
    for (from, to, name) in [(client, router, "in"), (router, client, "out")] {
        let link = topology.link(LinkSpec::constant(name, Span(1_000_000)));
        topology.route(from, to, [link]);
    }
    let on_it = [("front", 1), ("web-1", 11), ("web-2", 12)];
    let hosts = on_it.map(|(name, last)| topology.host(name, Ipv4Addr::new(10, 0, 1, last)));
    topology.segments.push(Segment { router, hosts: hosts.into(), services: vec![Ipv4Addr::new(10, 0, 1, 100)] });
    topology
}

fn pairs(hosts: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..hosts).flat_map(move |from| (0..hosts).filter(move |to| *to != from).map(move |to| (from, to)))
}

fn milliseconds(milliseconds: u64) -> Law {
    Law::constant(milliseconds as f64 * 1e-3)
}
