//! The load generator against small raw TCP servers.
