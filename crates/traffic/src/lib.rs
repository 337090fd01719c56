//! What do users ask for?
//!
//! Workloads as data ([`Workload`]), and the one seeded plan drawn from them ([`Plan`] for open arrivals and logs,
//! [`Script`] for closed users) that the simulator and the load generator both follow. Opens no socket.

pub mod describe;
pub mod generate;
pub mod log;
mod plan;
pub mod webstone;
mod workload;

pub use generate::generate;
pub use plan::{Demand, Plan, Planned, Request, Script, Step};
pub use workload::{Arrivals, Closed, Open, Replay, Sizes, Workload, WorkloadError};
