//! The DNS: its wire, its zones, its sockets, and the sites that it chooses.

mod decider;
mod load;
#[path = "../../../part/tests/it/mutated.rs"]
mod mutated;
mod places;
mod reload;
mod settings;
#[path = "../../../part/tests/it/skip.rs"]
mod skip;
#[path = "../../../part/tests/it/support.rs"]
#[allow(dead_code, reason = "the tests of other crates use it too")]
mod support;
mod wire;
