//! What stands in a configuration around what chooses: where a product listens, what it logs, where it keeps files.

pub(crate) mod envoy;
pub(crate) mod haproxy;
pub(crate) mod nginx;
