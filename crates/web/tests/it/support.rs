//! Nodes and gateways as most tests need them, and what the tests of several crates share.

use std::net::SocketAddr;

use sojourn_bed::Events;
use sojourn_model::{Demand, Discipline, Server};
use sojourn_part::Backend;
use sojourn_stats::Span;
use sojourn_web::{Gateway, GatewayConfig, Node, NodeConfig};

#[path = "../../../part/tests/it/support.rs"]
#[allow(dead_code, reason = "the tests of other crates use it too")]
mod common;

pub(crate) use common::*;

pub(crate) fn server(discipline: Discipline, demand: &str, capacity: Option<u32>) -> Server {
    let demand = vec![(String::new(), Demand::parse(demand).expect("a demand"))];
    Server { discipline, cores: 1, speed: 1.0, demand, capacity, machine: None }
}

/// An emulated node with one core.
pub(crate) fn node(name: &str, discipline: Discipline) -> Node {
    let model = Some(server(discipline, "1 ms", None));
    Node::start(NodeConfig { model, grace: Span::ZERO, ..NodeConfig::new(name) }).expect("a node starts")
}

pub(crate) fn gateway(config: GatewayConfig) -> Gateway {
    Gateway::start(config, Events::nowhere()).expect("a gateway starts")
}

/// Backends `s1`, `s2`, ... at these addresses.
pub(crate) fn backends(addresses: &[SocketAddr]) -> Vec<Backend> {
    addresses.iter().enumerate().map(|(index, address)| Backend::new(format!("s{}", index + 1), *address)).collect()
}
