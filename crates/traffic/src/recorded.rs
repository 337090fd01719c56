//! What was recorded of real users: access logs, captures of packets, and traces of gaps and demands.

pub mod capture;
pub mod log;
pub mod trace;
