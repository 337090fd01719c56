//! Nodes that schedule: what is asked for under the service's name is served here or at a peer, as the policy says.

mod choices;
mod copies;
mod gossip;
mod hand_over;
mod knowledge;
mod moves;
mod partition;
mod reports;
mod stored;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::OnceLock;

use sojourn_bed::Events;
use sojourn_part::settings::node::{ClusterSettings, NodeSettings, Peer};
use sojourn_report::Key;
use sojourn_stats::Span;
use sojourn_web::Node;
use tempfile::NamedTempFile;

use crate::support::{Client, Lines, Reply, free, ms, server, until};

/// The name under which clients ask for the service.
const SERVICE: &str = "service.test";

/// Between two reports.
const EVERY: Span = Span(250_000_000);

pub(crate) fn key() -> Key {
    Key::read(&key_file()).expect("a key")
}

/// The file of the key that all nodes share.
fn key_file() -> PathBuf {
    static FILE: OnceLock<NamedTempFile> = OnceLock::new();
    FILE.get_or_init(|| file_with("a secret of tests")).path().to_owned()
}

fn file_with(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("it is written");
    file
}

/// Nodes `a`, `b`, ... of one service, each an emulated processor.
struct Cluster<const N: usize> {
    addresses: [SocketAddr; N],
    nodes: [Node; N],
    events: [Lines; N],
}

impl<const N: usize> Cluster<N> {
    /// They have heard of each other.
    fn start(change: impl Fn(usize, &mut NodeSettings)) -> Cluster<N> {
        let cluster = Cluster::unacquainted(change);
        until("all nodes have heard of each other", || {
            cluster.nodes.iter().all(|node| peers(node).iter().all(|(_, is_up)| *is_up))
        });
        cluster
    }

    fn unacquainted(change: impl Fn(usize, &mut NodeSettings)) -> Cluster<N> {
        let addresses = free();
        let events: [Lines; N] = std::array::from_fn(|_| Lines::default());
        let nodes = std::array::from_fn(|index| {
            let mut config = node_of(&addresses, index);
            change(index, &mut config);
            Node::start_with(config, Events::to(events[index].clone())).expect("a node starts")
        });
        Cluster { addresses, nodes, events }
    }

    /// Asks a node for a path of the service.
    fn ask(&self, node: usize, path: &str) -> Reply {
        self.ask_for(node, SERVICE, path)
    }

    /// The same under this name.
    fn ask_for(&self, node: usize, host: &str, path: &str) -> Reply {
        ask(self.addresses[node], "GET", host, path, "")
    }

    /// Gives a node this many services that do not end, and waits until the others have heard of it.
    fn burden(&self, node: usize, services: usize) -> Vec<Client> {
        let own = self.addresses[node].to_string();
        let clients: Vec<Client> = (0..services)
            .map(|_| {
                let mut client = Client::new(self.addresses[node]);
                client.send(&format!("GET /work?demand=1h HTTP/1.1\r\nhost: {own}\r\n\r\n"));
                client
            })
            .collect();
        until("they are there", || self.nodes[node].counts().in_flight >= services as u64);
        self.await_reports();
        clients
    }

    /// Waits until each node has reported twice more: the second time to all, of what is now.
    fn await_reports(&self) {
        let reports = || self.nodes.iter().map(|node| node.counts().cluster.expect("a cluster").reports);
        let before: Vec<u64> = reports().collect();
        until("all have reported twice", || reports().zip(&before).all(|(now, before)| now >= before + 2));
        // What was sent is heard.
        let datagrams = ms(20).as_std();
        std::thread::park_timeout(datagrams);
    }
}

/// The configuration of one of the nodes at these addresses.
fn node_of(addresses: &[SocketAddr], index: usize) -> NodeSettings {
    let name = |index: usize| String::from(char::from(b'a' + index as u8));
    let others = (0..addresses.len()).filter(|other| *other != index);
    let peers = others.map(|other| Peer::new(name(other), format!("http://{}", addresses[other])));
    let mut cluster = ClusterSettings::new(SERVICE, peers.collect(), key_file());
    cluster.every = EVERY;
    NodeSettings {
        listen: vec![addresses[index]],
        model: Some(server(sojourn_model::Discipline::Ps, "1 ms", None).to_toml()),
        cluster: cluster.into(),
        grace: Some(Span::ZERO),
        ..NodeSettings::new(name(index))
    }
}

fn cluster(config: &mut NodeSettings) -> &mut ClusterSettings {
    config.cluster.as_mut().expect("it is one of a cluster")
}

fn ask(address: SocketAddr, method: &str, host: &str, path: &str, more: &str) -> Reply {
    let mut client = Client::new(address);
    client.send(&format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n{more}\r\n"));
    client.reply(method != "HEAD").expect("a reply")
}

/// The peers of a node, and whether they may be chosen.
fn peers(node: &Node) -> Vec<(String, bool)> {
    let peers = node.counts().cluster.expect("a cluster").peers;
    peers.into_iter().map(|peer| (peer.name, peer.is_up)).collect()
}
