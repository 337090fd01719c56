#![doc = include_str!("../README.md")]

pub mod child;
pub mod gateway;
pub mod node;
mod redirection;
mod target;

pub use gateway::{Gateway, GatewayCounts};
pub use node::{
    Ailment, ClusterConfig, ClusterCounts, CopySettings, HandOver, Limits, Membership, Node, NodeConfig, NodeCounts,
    NodeFile, PeerConfig, TlsConfig, WhenFull,
};
pub use redirection::RedirectStatus;
