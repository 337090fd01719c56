//! An authoritative DNS server that chooses addresses by a policy.

mod answer;
mod chooser;
mod server;
mod wire;
mod zone;

pub use answer::{Done, Responder, Transport};
pub use chooser::{Answered, Asker, Chooser, Family, ServiceId};
pub use server::{Limits, Server, ServerConfig, ServerCounts};
pub use zone::{Zone, Zones};
