//! Behaviours of the dispatcher, one file each.

mod affinity;
mod common;
mod cost;
mod counting;
mod drawn;
mod failures;
mod information;
mod least;
mod naming;
mod own_policy;
mod record;
mod turns;
