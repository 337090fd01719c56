//! Queues served in another order than first come, first served.

pub mod las;
pub mod mg1_order;
pub mod mmc_order;
pub mod priority;
