//! The laboratory, behaviour by behaviour.

mod network;
mod outcome;
mod plan;
mod report;
mod sessions;
mod spec;
mod workload;
