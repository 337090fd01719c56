//! The server side, live.
//!
//! A [`node`] is one server, real or emulated; a [`gateway`] distributes requests over nodes with the very policies
//! that the simulator runs. Both are library functions that the command line calls in child processes: see [`child`].
//! [`program`]s are real servers to compare with.
//!
//! Everything runs on single-threaded runtimes, one per thread, that share nothing on the path of a request.

mod alarm;
pub mod child;
mod clock;
mod crew;
mod error;
pub mod gateway;
pub mod headers;
mod listen;
pub mod node;
pub mod orca;
pub mod program;

pub use clock::now;
pub use error::ServeError;
pub use gateway::{Backend, Gateway, GatewayConfig, GatewayCounts, Health, Probe, Timeouts};
pub use node::{Node, NodeConfig, NodeCounts};
pub use sojourn_bed::Events;
