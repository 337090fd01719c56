//! What is the system made of?
//!
//! Servers and links as data ([`Server`], [`Link`]), read from small TOML files, and as sans-I/O state machines
//! ([`Station`]) that the simulator and the live node's emulated service both run. Runs nothing itself: every call
//! takes the time as an argument.

mod demand;
mod link;
mod server;
mod station;

pub use demand::Demand;
pub use link::{Link, Passage, Wire};
pub use server::{Discipline, Server, ServerError};
pub use station::{Admission, Departure, Station, Ticket};
