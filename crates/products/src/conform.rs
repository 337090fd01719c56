//! Does a product choose as its rule says? The product itself is asked, one request after the other.
//!
//! Backends hold each request until they are told to answer, so that what is in flight at each server is known at every
//! instant. Requests are opened and ended at random; after each opening the backend that has it is the product's
//! choice, and the same rule of `sojourn-dispatch` ([`sojourn_dispatch::Dispatcher`]), told the same opens and ends,
//! names its own. Where a product draws from entropy no choice can be foretold: then the requests in flight are held
//! fixed, many are opened and ended at once, and how often each server had them is compared with the rule's own shares
//! ([`Agreement::Shares`]).
//!
//! The price: one thread of one process, one request at a time, a connection for each. What differs between threads,
//! with kept connections or after a failure is not asked.

mod backends;
mod choices;
mod product;
mod shares;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sojourn_dispatch::{Catalogue, Dispatcher, Information, Limit, Signals};
use sojourn_part::ServeError;
use sojourn_part::program::{Product, Spot};

pub use choices::Difference;

use crate::Decider;
use crate::product::newest_measured;
use crate::written::Purpose;
use backends::Backends;
use product::Asked;

/// What is to be compared.
#[derive(Clone, Debug)]
pub struct Case {
    /// The product.
    pub product: Product,
    /// Its rule, in the words of its configuration: `leastconn`, `random(2)`, `least_conn`, `least-request`.
    pub rule: String,
    /// Of the servers, as many as there are weights.
    pub weights: Vec<u32>,
    /// Choices that are compared.
    pub choices: usize,
    /// Most requests that are held at a time.
    pub held: usize,
    /// Of the opens and ends.
    pub seed: u64,
    /// The program; none: the one of this name that the system finds.
    pub program: Option<PathBuf>,
    /// Whose rule it is held to; none: the rule of its own version.
    pub rules_of: Option<String>,
}

/// How a product and its rule compare.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The version that was asked, such as `2.6.12`.
    pub version: String,
    /// The policy that it was held to, as experiment files write it.
    pub policy: String,
    /// What came of it.
    pub agreement: Agreement,
}

/// What came of a comparison.
#[derive(Clone, Debug)]
pub enum Agreement {
    /// Each choice was compared.
    Choices {
        /// As many were equal before the first that was not.
        equal: usize,
        /// As many were to be compared.
        of: usize,
        /// The first that was not equal.
        difference: Option<Difference>,
    },
    /// The product draws from entropy: shares were compared.
    Shares {
        /// Requests that each server had.
        seen: Vec<u64>,
        /// What the rule gives each server of as many.
        due: Vec<f64>,
        /// Pearson's statistic of both.
        statistic: f64,
        /// What the statistic exceeds once in a million times, if the product has the rule's shares.
        limit: f64,
    },
}

/// Why a comparison could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ConformError {
    /// The program is not there, or not what it should be.
    #[error("{0}")]
    Program(ServeError),
    /// The rule or its weights are not known, or not for this version.
    #[error("{0}")]
    Rule(String),
    /// The product did not start.
    #[error("{product} did not start: {said}")]
    Start {
        /// Which.
        product: &'static str,
        /// What became of it, in its own words.
        said: String,
    },
    /// The product ended, or gave no answer, in the middle.
    #[error("{product} {how} after {choices} choices: {said}")]
    Broken {
        /// Which.
        product: &'static str,
        /// What it did.
        how: &'static str,
        /// Choices made before.
        choices: usize,
        /// The last line that it wrote.
        said: String,
    },
    /// The system refused something.
    #[error("cannot {0}: {1}")]
    System(&'static str, std::io::Error),
}

impl Agreement {
    /// Whether the product did as its rule says.
    pub fn holds(&self) -> bool {
        match self {
            Agreement::Choices { difference, .. } => difference.is_none(),
            Agreement::Shares { statistic, limit, .. } => statistic <= limit,
        }
    }
}

impl Case {
    /// The policy that a product of this version is held to.
    pub fn policy(&self, version: &str) -> String {
        product::policy(self.product, self.rules_of.as_deref().unwrap_or(version), &self.rule)
    }

    /// Starts the product with a configuration of ours, and compares.
    ///
    /// # Errors
    /// When the product is not there, its version has no rule that is known, it does not start, or breaks off.
    pub fn compare(&self) -> Result<Comparison, ConformError> {
        let program = match &self.program {
            Some(path) if path.is_file() => Ok(path.clone()),
            Some(path) => Err(ServeError::Config(format!("{}: there is no such program", path.display()))),
            None => self.product.installed(),
        };
        let program = program.map_err(ConformError::Program)?;
        let version = self.product.version(&program).map_err(ConformError::Program)?;
        let policy = self.policy(&version);
        // Before anything is started.
        let decider = self.decider(&policy)?;
        let backends = Backends::listen(self.weights.len())?;
        let mut twin = self.twin(&policy, backends.addresses())?;
        let mut asked = Asked::start(self, &decider, &program, &backends)?;
        let agreement = if product::is_foretold(self.product, &version, &self.rule) {
            choices::compare(self, &backends, &mut asked, &mut twin)?
        } else {
            shares::compare(self, &backends, &mut asked, &mut twin)?
        };
        Ok(Comparison { version, policy, agreement })
    }

    /// The configuration that the product gets, with made-up addresses.
    ///
    /// # Errors
    /// When the rule is not one of the product's.
    pub fn configuration(&self) -> Result<String, ConformError> {
        let decider = self.decider(&self.policy(&newest_measured(self.product).to_string()))?;
        let folder = Path::new("/tmp/conform");
        let log = folder.join("access.log");
        let spot = Spot { address: local(8000), folder, access_log: &log, user: None };
        let purpose = Purpose::Comparison { at_most: self.at_most() };
        Ok(decider.written(&self.behind(&made_up(self.weights.len())), &spot, purpose))
    }

    /// What makes the product go by the policy, if that is known.
    fn decider(&self, policy: &str) -> Result<Decider, ConformError> {
        self.twin(policy, &made_up(self.weights.len()))?;
        Decider::of_policy(policy).ok_or_else(|| ConformError::Rule(format!("`{policy}` is no rule of a product")))
    }

    fn twin(&self, policy: &str, addresses: &[SocketAddr]) -> Result<Dispatcher, ConformError> {
        if self.weights.is_empty() {
            return Err(ConformError::Rule("there is no server: a weight for each, such as 1,2,3".into()));
        }
        let servers = self.behind(addresses).into_iter();
        let backends: Vec<(String, f64)> = servers.map(|server| (server.name, f64::from(server.weight))).collect();
        let made = Dispatcher::from_catalogue(
            &Catalogue::default(),
            policy,
            &backends,
            Information::Immediate,
            Signals::all(),
            self.seed,
            "conform",
        );
        let mut twin = made.map_err(|error| ConformError::Rule(error.to_string()))?;
        if let Some(most) = self.at_most() {
            let limit = Limit::new(most, most - 1).map_err(|error| ConformError::Rule(error.to_string()))?;
            twin.limit(limit).map_err(|error| ConformError::Rule(error.to_string()))?;
        }
        Ok(twin)
    }

    /// Most requests of a server: `first` would send all to one without.
    fn at_most(&self) -> Option<u32> {
        (self.rule == "first").then_some(4)
    }

    /// Most requests that may be held: with a limit, as many as fit.
    fn most_held(&self) -> usize {
        self.at_most().map_or(self.held, |most| self.held.min(most as usize * self.weights.len()))
    }
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Addresses of so many servers.
fn made_up(count: usize) -> Vec<SocketAddr> {
    (0..count).map(|number| local(8001 + number as u16)).collect()
}
