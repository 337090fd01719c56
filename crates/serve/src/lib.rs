#![doc = include_str!("../README.md")]

mod alarm;
pub mod child;
mod clock;
mod descriptors;
pub mod dns;
mod error;
pub mod gateway;
pub mod headers;
mod listen;
pub mod loadd;
mod netlink;
pub mod node;
pub mod orca;
pub mod program;
pub mod report;
pub mod switch;
mod target;
mod threads;
pub mod upstream;

pub use clock::now;
pub use error::ServeError;
pub use gateway::{Backend, Face, Gateway, GatewayConfig, GatewayCounts, Health, Probe, RedirectStatus, Timeouts};
pub use node::{Ailment, Node, NodeConfig, NodeCounts};
pub use report::ReportsConfig;
pub use sojourn_bed::Events;
pub use switch::{
    Accepted, HalfCounts, Lifetimes, Mode, ServerHalf, ServerHalfConfig, SpliceCounts, Switch, SwitchConfig,
    SwitchCounts,
};
pub use upstream::{ProbeRules, UpstreamConfig, UpstreamCounts};
