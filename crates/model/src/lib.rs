//! The parts of a system: servers, links and networks.
//!
//! They exist as data ([`Server`], [`Link`], [`ClusterNetwork`], [`Balancing`], and whole networks of queues in
//! [`network::Network`]), read from small TOML files, and as sans-I/O state machines ([`Station`], [`Wire`], [`Flows`])
//! that the simulator and the live node's emulated service both run. The crate runs nothing itself: every call takes
//! the time as an argument.

mod cluster_network;
mod curve;
mod demand;
mod discipline;
mod flows;
mod link;
mod machine;
pub mod network;
mod order;
mod server;
mod station;
pub mod system;

pub use cluster_network::{Balancing, ClusterNetwork, Mode, Tcp};
pub use curve::{DelayCurve, Denied, Piece};
pub use demand::Demand;
pub use discipline::Discipline;
pub use flows::Flows;
pub use link::{Link, Passage, Wire};
pub use machine::{Files, Machine, Memory, Resource};
pub use server::{Server, ServerError};
pub use station::{Admission, Departure, Knowledge, Station, Ticket};
pub use system::System;
