#![doc = include_str!("../README.md")]

pub mod alarm;
mod backend;
pub mod burn;
pub mod caller;
pub mod certificate;
pub mod child;
pub mod clock;
pub mod control;
pub mod current;
pub mod descriptors;
mod error;
pub mod headers;
pub mod listen;
mod memory;
pub mod netlink;
pub mod network;
pub mod program;
pub mod prometheus;
mod record;
pub mod settings;
pub mod threads;

pub use backend::{Backend, Probe};
pub use clock::now;
pub use error::ServeError;
pub use record::record;
