//! Queues with Poisson arrivals and exponential service, in order: unlimited room, limited room, a population, clients who
//! give up.

pub mod finite_fcfs;
pub mod impatient;
pub mod mm1;
pub mod mmc;
pub mod mmck;
pub mod repairman;
