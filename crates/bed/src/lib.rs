#![doc = include_str!("../README.md")]

pub mod clock;
mod executable;
mod forwarder;
mod ground;
pub mod link;
pub mod namespace;
mod namespaces;
mod network;
mod run_queue;
mod segment;
pub mod supervised;
mod supervisor;
mod topology;
mod tun;

pub use executable::install;
pub use ground::{Ground, GroundError, Host, Links, Loopback};
pub use namespaces::Namespaces;
pub use network::Network;
pub use supervised::Events;
pub use supervisor::{Child, Ended, Pause, SpawnError};
pub use topology::{Segment, Station, Topology, TopologyError};
pub use tun::Tun;
