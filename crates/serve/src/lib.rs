#![doc = include_str!("../README.md")]

mod alarm;
pub mod child;
mod clock;
mod descriptors;
mod error;
pub mod gateway;
pub mod headers;
mod listen;
pub mod node;
pub mod orca;
pub mod program;
mod target;
mod threads;

pub use clock::now;
pub use error::ServeError;
pub use gateway::{Backend, Face, Gateway, GatewayConfig, GatewayCounts, Health, Probe, RedirectStatus, Timeouts};
pub use node::{Node, NodeConfig, NodeCounts};
pub use sojourn_bed::Events;
