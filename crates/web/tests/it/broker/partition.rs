//! A cluster of nodes whose network falls apart: each side serves by itself, and all are one again when it has healed.
//!
//! This test binary is run again inside namespaces, as for the switch.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use sojourn_bed::link::LinkSpec;
use sojourn_bed::{Events, Ground, Host, Namespaces, Topology};
use sojourn_web::Node;

use super::gossip::{gossiping, up};
use super::{EVERY, SERVICE, ask, cluster, node_of};
use crate::support::inside;
use crate::support::run;
use crate::support::{ms, until};

#[test]
fn each_side_of_a_partition_serves_and_all_are_one_again_when_it_heals() {
    inside("broker::partition::as_nodes", &[]);
}

const NODES: [&str; 4] = ["a", "b", "c", "d"];

fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 7, 0, 1 + node as u8)
}

/// The names of all but this one, of so many nodes from `first` on.
fn others(node: usize, first: usize, number: usize) -> Vec<&'static str> {
    (first..first + number).filter(|other| *other != node).map(|other| NODES[other]).collect()
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_nodes() {
    for gossips in [false, true] {
        let mut bed = Namespaces::new(topology(), 1).expect("a bed");
        let hosts = NODES.map(|name| bed.host(name).expect("a host"));
        let nodes = start(&bed, hosts, gossips);
        let all_know = |known: fn(usize) -> Vec<&'static str>| (0..4).all(|node| up(&nodes[node]) == known(node));
        until("all know of each other", || all_know(|node| others(node, 0, 4)));
        let served_by = |node: usize| -> BTreeSet<String> {
            let asked = (0..12).map(|_| {
                let to = SocketAddr::from((address(node), 80));
                let reply = bed.on(hosts[node], || ask(to, "GET", SERVICE, "/work?demand=1ms", "")).expect("a host");
                assert_eq!(reply.status, 200, "{}: {}", NODES[node], reply.text());
                reply.backend().to_owned()
            });
            asked.collect()
        };
        assert_eq!(Vec::from_iter(served_by(0)), NODES);

        let cut = sojourn_part::now();
        for (node, host) in hosts.into_iter().enumerate() {
            let far = if node < 2 { [2, 3] } else { [0, 1] }.map(|far| address(far).to_string()).join(", ");
            let chain = "add table ip t; add chain ip t c { type filter hook input priority 0; }";
            run(&bed, host, &format!("nft '{chain}; add rule ip t c ip saddr {{ {far} }} drop'"));
        }
        until("each side knows of itself only", || all_know(|node| others(node, node / 2 * 2, 2)));
        // A report that is lost, or two, takes none out.
        let after = sojourn_part::now() - cut;
        assert!(after >= EVERY * 2, "after {after:?}");
        for (node, name) in NODES.iter().enumerate() {
            assert_eq!(Vec::from_iter(served_by(node)), NODES[node / 2 * 2..][..2], "asked {name}");
        }

        hosts.into_iter().for_each(|host| run(&bed, host, "nft flush ruleset"));
        until("all are one again", || all_know(|node| others(node, 0, 4)));
        for (node, name) in NODES.iter().enumerate() {
            assert_eq!(Vec::from_iter(served_by(node)), NODES, "asked {name}");
        }
        for (node, host) in nodes.into_iter().zip(hosts) {
            bed.on(host, || drop(node)).expect("a host");
        }
    }
}

/// Nodes that serve by turns, through each other.
fn start(bed: &Namespaces, hosts: [Host; 4], gossips: bool) -> [Node; 4] {
    let addresses: [SocketAddr; 4] = std::array::from_fn(|node| SocketAddr::from((address(node), 80)));
    std::array::from_fn(|node| {
        let mut config = node_of(&addresses, node);
        config.name = NODES[node].into();
        if gossips {
            gossiping(&mut config, addresses[0]);
        }
        cluster(&mut config).forward = true;
        cluster(&mut config).policy = "round-robin".into();
        bed.on(hosts[node], || Node::start_with(config, Events::nowhere()).expect("a node starts")).expect("a host")
    })
}

/// All joined to all, 1 ms apart.
fn topology() -> Topology {
    let mut topology = Topology::default();
    let hosts: Vec<usize> = NODES.iter().enumerate().map(|(node, name)| topology.host(*name, address(node))).collect();
    for from in &hosts {
        for to in hosts.iter().filter(|to| *to != from) {
            let link = topology.link(LinkSpec::constant(format!("{from} to {to}"), ms(1)));
            topology.route(*from, *to, [link]);
        }
    }
    topology
}
