//! Formulas of single queues as plain functions, one module per queue or method.
//!
//! [`markovian`]: exponential gaps and services. [`general`]: service in order of any law. [`sharing`]: processor
//! sharing, limited or not. [`order`]: other orders than first come, first served. [`balancing`]: a dispatcher in front
//! of several servers. [`tcp`]: transfers over paths that lose packets. [`file_nodes`]: servers that read each other's files.
//!
//! A formula takes rates in 1/s and times in s (any one unit does, if it is the same throughout) and is infinite where
//! there is no steady state.

pub mod balancing;
pub mod file_nodes;
pub mod general;
pub mod markovian;
pub mod order;
pub mod sharing;
pub mod tcp;
