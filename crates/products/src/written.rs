//! Configurations of ours: what makes a product go by a rule, over servers whose addresses are known once they run.
//!
//! They are written for two purposes. Beyond the rule and what a purpose needs, a product has its own defaults, but for one
//! thread or worker, so that one decider decides.

mod envoy;
mod haproxy;
mod nginx;

use sojourn_part::program::{Product, Spot};

use crate::{Behind, Decider};

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

impl Decider {
    /// The configuration of the product over these servers, with which it decides in a run.
    pub fn configuration(&self, servers: &[Behind], spot: &Spot<'_>) -> String {
        match &self.settings {
            Some(settings) => settings.configuration(servers, spot),
            None => self.written(servers, spot, Purpose::Run),
        }
    }

    pub(crate) fn written(&self, servers: &[Behind], spot: &Spot<'_>, purpose: Purpose) -> String {
        match self.product {
            Product::Haproxy => haproxy::text(self, servers, spot, purpose),
            Product::Nginx => nginx::text(self, servers, spot, purpose),
            Product::Envoy => envoy::text(self, servers, spot, purpose),
        }
    }
}
