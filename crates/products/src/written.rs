//! Configurations of ours: what makes a product go by a rule, with one thread or worker.
//!
//! They are written for two purposes. Beyond the rule and what a purpose needs, a product has its own defaults.

pub(crate) mod envoy;
pub(crate) mod haproxy;
pub(crate) mod nginx;

/// What a configuration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To decide in a run: connections to servers are kept, each decision is logged, and each reply says who gave it.
    Run,
    /// To compare choices one by one: a connection for each request, none of which is tried twice.
    Comparison {
        /// Most requests of a server at a time.
        at_most: Option<u32>,
    },
}
