#![doc = include_str!("../README.md")]

mod alarm;
mod caller;
pub mod child;
mod clock;
mod control;
mod current;
mod descriptors;
pub mod dns;
mod error;
pub mod gateway;
pub mod headers;
mod listen;
pub mod loadd;
mod membership;
mod netlink;
mod network;
pub mod node;
pub mod orca;
mod place;
pub mod program;
mod prometheus;
mod redirection;
pub mod report;
pub mod switch;
mod target;
mod threads;
pub mod upstream;

pub use clock::now;
pub use error::ServeError;
pub use gateway::{Backend, Face, Gateway, GatewayConfig, GatewayCounts, Health, OrcaConfig, Probe, Timeouts};
pub use node::{
    Ailment, CertificateFiles, ClusterConfig, ClusterCounts, CopySettings, HandOver, Limits, Membership, Node,
    NodeConfig, NodeCounts, NodeFile, PeerConfig, TlsConfig, WhenFull,
};
pub use redirection::RedirectStatus;
pub use report::ReportsConfig;
pub use sojourn_bed::Events;
pub use switch::{
    Accepted, HalfCounts, Lifetimes, Mode, ServerHalf, ServerHalfConfig, SpliceCounts, Switch, SwitchConfig,
    SwitchCounts,
};
pub use upstream::{ProbeRules, UpstreamConfig, UpstreamCounts};
