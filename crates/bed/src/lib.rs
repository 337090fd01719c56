#![doc = include_str!("../README.md")]

pub mod clock;
mod ground;
pub mod supervised;
mod supervisor;

pub use ground::{Ground, GroundError, Host, Loopback};
pub use supervised::Events;
pub use supervisor::{Child, Ended, Pause, SpawnError};
