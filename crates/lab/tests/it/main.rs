//! The laboratory, behaviour by behaviour.

mod experiments;
mod network;
mod outcome;
mod plan;
mod report;
mod seconds;
mod sessions;
mod spec;
mod systems;
mod workload;
