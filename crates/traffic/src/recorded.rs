//! What was recorded of real users: access logs, sessions of browsers, captures of packets, and traces of gaps and demands.

pub mod capture;
pub mod har;
pub mod log;
pub mod trace;
