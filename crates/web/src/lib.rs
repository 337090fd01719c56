#![doc = include_str!("../README.md")]

pub mod child;
pub mod gateway;
pub mod node;
mod redirection;
mod target;

pub use gateway::{Gateway, GatewayCounts};
pub use node::{Ailment, ClusterCounts, Node, NodeCounts};
pub use redirection::RedirectStatus;
