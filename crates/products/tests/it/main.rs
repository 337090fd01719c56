//! Configurations of the products are read as the products read them, with the products themselves as judges.

mod fuzz;
mod haproxy;
mod judge;
#[path = "../../../part/tests/it/skip.rs"]
mod skip;
