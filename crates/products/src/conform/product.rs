//! A product that is asked: which rule it is held to, and the program that runs.

use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use sojourn_part::ServeError;
use sojourn_part::program::{Balancer, Product, Running};

use super::backends::Backends;
use super::{Case, ConformError};
use crate::written::Purpose;
use crate::{Behind, Decider, Version};

/// The policy of a rule of a version.
pub(super) fn policy(product: Product, version: &str, rule: &str) -> String {
    let own = match product {
        // Its own numbers, where they begin at the same one each time.
        Product::Haproxy if rule.starts_with("random") && is_before(version, 2, 7) => ", numbers = own",
        Product::Envoy if matches!(rule, "ring-hash" | "maglev") => ", key = hash",
        _ => "",
    };
    format!("{}({version}, {rule}{own})", product.name())
}

/// Whether each choice can be foretold: it draws nothing, or numbers that are known, and reads no letters of a path.
pub(super) fn is_foretold(product: Product, version: &str, rule: &str) -> bool {
    match (product, rule) {
        (Product::Haproxy, "leastconn") => is_before(version, 3, 2),
        (Product::Haproxy, "default") => is_before(version, 3, 3),
        (Product::Haproxy, "roundrobin" | "first") => true,
        (Product::Haproxy, rule) if rule.starts_with("random") => is_before(version, 2, 7),
        (Product::Haproxy, rule) => rule.starts_with("source"),
        (Product::Nginx, rule) => matches!(rule, "round-robin" | "least_conn" | "ip_hash"),
        (Product::Envoy, rule) => matches!(rule, "ring-hash" | "maglev"),
    }
}

/// Whether it chooses by the client's address.
pub(super) fn reads_addresses(product: Product, rule: &str) -> bool {
    match product {
        Product::Haproxy => rule.starts_with("source"),
        Product::Nginx => rule == "ip_hash",
        Product::Envoy => false,
    }
}

/// A product that runs, with a folder of its own; dropping it ends both.
pub(super) struct Asked {
    pub(super) running: Running,
    product: Product,
}

impl Asked {
    /// Starts it with a configuration for these backends.
    pub(super) fn start(
        case: &Case,
        decider: &Decider,
        program: &Path,
        backends: &Backends,
    ) -> Result<Asked, ConformError> {
        let product = case.product;
        let balancer = Balancer { executable: Some(program.to_owned()), ..Balancer::new(product) };
        let servers = case.behind(backends.addresses());
        let purpose = Purpose::Comparison { at_most: case.at_most() };
        let started = balancer.start(|spot| decider.written(&servers, spot, purpose));
        let failed = |error: ServeError| ConformError::Start { product: product.title(), said: error.to_string() };
        Ok(Asked { running: started.map_err(failed)?, product })
    }

    /// What has become of it after so many choices.
    pub(super) fn broken(&mut self, choices: usize) -> ConformError {
        // Its end is told a moment after its connections are.
        let is_over = self.running.wait(Duration::from_millis(200));
        let how = if is_over { "ended" } else { "gave no answer" };
        let said = self.running.child().stderr_tail();
        let said = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing").trim();
        ConformError::Broken { product: self.product.title(), how, choices, said: said.to_owned() }
    }
}

impl Case {
    /// The servers with their weights, named by their addresses, as rules that hash names need them.
    pub(super) fn behind(&self, addresses: &[SocketAddr]) -> Vec<Behind> {
        let one = |(address, weight): (&SocketAddr, &u32)| Behind {
            name: address.to_string(),
            address: *address,
            weight: *weight,
            at_most: None,
        };
        addresses.iter().zip(&self.weights).map(one).collect()
    }
}

/// Whether a version is older than `major.minor`; one that cannot be read is not.
fn is_before(version: &str, major: u32, minor: u32) -> bool {
    Version::from_str(version).is_ok_and(|version| version < Version::new(major, minor))
}
