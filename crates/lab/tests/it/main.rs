//! The laboratory, behaviour by behaviour.

mod outcome;
mod report;
mod sessions;
mod spec;
mod workload;
