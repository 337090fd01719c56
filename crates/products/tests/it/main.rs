//! Configurations of the products are read as the products read them, with the products themselves as judges.

mod conform;
mod decider;
mod envoy;
mod experiment;
mod fuzz;
mod haproxy;
mod judge;
mod nginx;
mod settings;
#[path = "../../../part/tests/it/skip.rs"]
mod skip;
