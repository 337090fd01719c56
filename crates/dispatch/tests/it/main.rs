//! Behaviours of the dispatcher, one file each.

mod affinity;
mod broker;
mod capacity;
mod catalogue;
mod claims;
mod clients;
mod common;
mod cost;
mod counting;
mod drawn;
mod explanations;
mod failures;
mod holds;
mod information;
mod lard;
mod least;
mod limits;
mod naming;
mod occasions;
mod own_policy;
mod paths;
mod rates;
mod record;
mod rooms;
mod sites;
mod turns;
