//! The packet switch in namespaces, and clusters behind front nodes.

mod clusters;
mod clusters_bed;
mod servers_forward;
#[path = "../../../part/tests/it/skip.rs"]
mod skip;
mod splice;
#[path = "../../../web/tests/it/support.rs"]
#[allow(dead_code, unused_imports, reason = "the tests of other crates use it too")]
mod support;
mod switch;
