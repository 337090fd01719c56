//! What is the system made of?
//!
//! Servers and links as data ([`Server`], [`Link`], [`Network`], [`Balancing`]), read from small TOML files, and as
//! sans-I/O state machines ([`Station`], [`Wire`], [`Flows`]) that the simulator and the live node's emulated service
//! both run. Runs nothing itself: every call takes the time as an argument.

mod curve;
mod demand;
mod flows;
mod link;
mod network;
mod order;
mod server;
mod station;

pub use curve::{DelayCurve, Denied, Piece};
pub use demand::Demand;
pub use flows::Flows;
pub use link::{Link, Passage, Wire};
pub use network::{Balancing, Mode, Network, Tcp};
pub use server::{Discipline, Server, ServerError};
pub use station::{Admission, Departure, Knowledge, Station, Ticket};
