//! Nodes and gateways as most tests need them, and what the tests of several crates share.

use std::net::SocketAddr;

use sojourn_bed::Events;
use sojourn_dispatch::FrontSettings;
use sojourn_model::{Demand, Discipline, Server};
use sojourn_part::Backend;
use sojourn_part::settings::gateway::{Face, Forward, InFront};
use sojourn_part::settings::node::NodeSettings;
use sojourn_stats::Span;
use sojourn_web::{Gateway, Node};

#[path = "../../../part/tests/it/support.rs"]
#[allow(dead_code, reason = "the tests of other crates use it too")]
mod common;

pub(crate) use common::*;

pub(crate) fn server(discipline: Discipline, demand: &str, capacity: Option<u32>) -> Server {
    let demand = vec![(String::new(), Demand::parse(demand).expect("a demand"))];
    Server { discipline, cores: 1, speed: 1.0, demand, capacity, drops_overflow: false, machine: None }
}

/// An emulated node with one core.
pub(crate) fn node(name: &str, discipline: Discipline) -> Node {
    let model = Some(server(discipline, "1 ms", None).to_toml());
    Node::start(NodeSettings { model, grace: Some(Span::ZERO), ..NodeSettings::new(name) }).expect("a node starts")
}

pub(crate) fn gateway<F: Face>(mut settings: InFront<F>) -> Gateway {
    settings.grace.get_or_insert(ms(1000));
    Gateway::start(settings, Events::nowhere()).expect("a gateway starts")
}

/// What a gateway does that tries requests again so often.
pub(crate) fn retrying(retries: u32) -> Forward {
    Forward { retries, ..Forward::default() }
}

/// The same, where backends are out after so many failures in a row.
pub(crate) fn falling<F: Face>(fall: u32, settings: InFront<F>) -> InFront<F> {
    let decider = FrontSettings { fall, ..settings.decider };
    InFront { decider, ..settings }
}

/// The same with counts that are polled.
pub(crate) fn polled<F: Face>(every: Span, settings: InFront<F>) -> InFront<F> {
    let decider = FrontSettings { poll: Some(every), ..settings.decider };
    InFront { decider, ..settings }
}

/// Backends `s1`, `s2`, ... at these addresses.
pub(crate) fn backends(addresses: &[SocketAddr]) -> Vec<Backend> {
    addresses.iter().enumerate().map(|(index, address)| Backend::new(format!("s{}", index + 1), *address)).collect()
}
