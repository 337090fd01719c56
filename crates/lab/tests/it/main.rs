//! The laboratory, behaviour by behaviour.

mod network;
mod outcome;
mod report;
mod sessions;
mod spec;
mod workload;
