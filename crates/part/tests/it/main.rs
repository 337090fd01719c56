//! Settings, and real programs on free loopback ports.

mod apache;
mod balancer;
mod files;
mod gateway;
mod mutated;
mod program;
mod settings;
mod skip;
#[allow(dead_code, reason = "the tests of other crates use it too")]
mod support;
