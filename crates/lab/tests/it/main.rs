//! The laboratory, behaviour by behaviour.

mod answers;
mod ask;
mod compare;
mod experiments;
mod guards;
mod happened;
mod heavy;
mod limits;
mod network;
mod outcome;
mod pairs;
mod paths;
mod plan;
mod report;
mod same;
mod seconds;
mod sessions;
#[path = "../../../part/tests/it/skip.rs"]
mod skip;
mod spec;
mod storm;
mod sweep;
mod systems;
mod topology;
mod workload;
