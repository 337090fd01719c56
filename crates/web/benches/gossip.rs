//! What 64 nodes of a cluster in one process send to know of each other, by gossip and by reports that all send to all: bytes per
//! second and node, payload of UDP, at the usual period of 2.5 s. The limit is 64 kB/s by gossip. The nodes are idle: how much
//! they tell does not hang on what they do.
//!
//! `cargo bench --profile dev -p sojourn-web --bench gossip`.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::time::Duration;

use sojourn_part::settings::node::{ClusterSettings, NodeLimits, NodeSettings, Peer};
use sojourn_stats::Span;
use sojourn_web::{ClusterCounts, Node};

const NODES: usize = 64;
const LIMIT: f64 = 64_000.0;
/// How long it is measured (s), and how long all may take to know of each other.
const MEASURED_S: f64 = 20.0;
const PATIENCE_S: f64 = 120.0;

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() {
    println!("{NODES} nodes, a period of 2.5 s, {MEASURED_S} s");
    let mut by_gossip = 0.0;
    for (name, gossips) in [("gossip", true), ("broadcast", false)] {
        let (known_s, bytes, datagrams) = measured(gossips);
        println!(
            "{name:<10} {:8.1} kB/s per node, {datagrams:6.1} datagrams/s; all known after {known_s:.1} s",
            bytes / 1e3
        );
        if gossips {
            by_gossip = bytes;
        }
    }
    assert!(by_gossip < LIMIT, "MISSED: {:.1} kB/s by gossip, and the limit is {:.0}", by_gossip / 1e3, LIMIT / 1e3);
}

/// After how long all knew of each other, and what each sent per second from then on: bytes and datagrams.
fn measured(gossips: bool) -> (f64, f64, f64) {
    let mut key = tempfile::NamedTempFile::new().expect("a file");
    key.write_all(b"a key of a bench").expect("it is written");
    let addresses = free();
    let start = sojourn_part::now();
    let passed = || (sojourn_part::now() - start).as_secs_f64();
    let nodes: Vec<Node> = (0..NODES).map(|index| node(&addresses, index, gossips, key.path())).collect();
    let counts = || nodes.iter().map(|node| node.counts().cluster.expect("a cluster"));
    let all_known = |of: ClusterCounts| of.peers.iter().filter(|peer| peer.is_up).count() == NODES - 1;
    while !counts().all(all_known) {
        assert!(passed() < PATIENCE_S, "they do not know of each other");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    let known_s = passed();
    let sent = || counts().fold((0, 0), |(bytes, datagrams), of| (bytes + of.bytes, datagrams + of.datagrams));
    let (from, before) = (passed(), sent());
    std::thread::park_timeout(Span::from_secs_f64(MEASURED_S).as_std());
    let (elapsed, after) = (passed() - from, sent());
    let rate = |after: u64, before: u64| (after - before) as f64 / elapsed / NODES as f64;
    assert!(counts().all(all_known), "one was thought to be out");
    (known_s, rate(after.0, before.0), rate(after.1, before.1))
}

fn node(addresses: &[SocketAddr], index: usize, gossips: bool, key: &Path) -> Node {
    let name = |index: usize| format!("node-{index}");
    let others = (0..NODES).filter(|other| *other != index && !gossips);
    let peers = others.map(|other| Peer::new(name(other), format!("http://{}", addresses[other]))).collect();
    let mut cluster = ClusterSettings::new("service.test", peers, key);
    if gossips {
        cluster.seeds = vec![addresses[0].to_string()];
    }
    let config = NodeSettings {
        listen: vec![addresses[index]],
        cluster: cluster.into(),
        limits: NodeLimits { connections: Some(2), ..NodeLimits::default() },
        grace: Some(Span::ZERO),
        ..NodeSettings::new(name(index))
    };
    Node::start(config).expect("a node starts")
}

/// Addresses whose ports were free for TCP and UDP a moment ago, below those that the system gives to sockets without one.
fn free() -> Vec<SocketAddr> {
    let mut ports = 20_000..32_000u16;
    let taken = (0..NODES).map(|_| {
        let found = ports.by_ref().find_map(|port| {
            let at = SocketAddr::from(([127, 0, 0, 1], port));
            Some((TcpListener::bind(at).ok()?, UdpSocket::bind(at).ok()?))
        });
        found.expect("some are free")
    });
    let taken: Vec<(TcpListener, UdpSocket)> = taken.collect();
    taken.iter().map(|(tcp, _)| tcp.local_addr().expect("an address")).collect()
}
