//! Queues whose gaps or services follow any law, served in order.

pub mod busy_period;
pub mod ekm1;
pub mod gig1;
pub mod gimc;
pub mod mg1;
pub mod mg1_fcfs;
pub mod mg1k;
pub mod relaxation;
