//! One load from several processes, on this machine or on others: a coordinator and its agents.
//!
//! Every agent gets the same order and the number of its [`crate::Share`], so that the one plan is split by arithmetic.
//! What an order says is the program's own affair: any value that `serde` can send, from which the agent's [`Host`] makes
//! a [`crate::Load`]. Clocks are compared by pings (the shortest round trip counts, as in NTP; the true offset is within
//! half of it), each agent is told the start in its own time, and the shares are merged before anything is concluded.
//! When one agent fails all others are stopped: part of a load is not the load.
//!
//! The price of plain JSON lines over TCP: a secret is proved and never sent, but what follows is neither encrypted nor
//! signed. Over a network that others can write to, agents belong behind a tunnel.

mod agent;
mod coordinator;
mod message;
mod secret;

pub use agent::{Agent, Host};
pub use coordinator::{AgentClock, AgentsError, Coordinator};
pub use secret::new_secret;
