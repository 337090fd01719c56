//! What the configurations of all products come to: pools of servers, with a rule for each.

use std::sync::Arc;

use sojourn_stats::Span;

use crate::note::{FileLine, Notes};

/// What a configuration says, as far as it concerns who serves a request.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// Its pools that have servers, in the order of the files.
    pub pools: Vec<Pool>,
    /// What concerns all of them.
    pub notes: Notes,
}

/// Servers of which one is chosen for a request: a backend of HAProxy, an upstream of nginx, a cluster of Envoy.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub at: FileLine,
    /// How a server is chosen.
    pub rule: Rule,
    /// All servers that are written, also those that serve only when others do not.
    pub servers: Vec<PoolServer>,
    /// What becomes of a request where each server has as many as it may have.
    pub when_full: WhenFull,
    /// How long the product waits for a server's answer. None where it waits for ever.
    pub timeout: Option<Timeout>,
    /// Processes that choose without knowing what the others have chosen; none where the file does not say how many.
    pub workers: Option<u32>,
    /// What was read of it and is not said above.
    pub notes: Notes,
    /// The same of what it inherits from, such as `defaults`, and of what leads to it.
    pub inherited: Vec<Arc<Notes>>,
}

/// How long a server's answer is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// How long.
    pub span: Span,
    /// Where it is said; none where the product's default counts.
    pub said: Option<FileLine>,
}

/// How a server is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name in the product's words: `leastconn`, `random(2)`, `least_conn`.
    pub name: String,
    /// Where it is said; none where the product's default counts.
    pub said: Option<FileLine>,
    /// What of a request it is chosen by, for a rule that hashes.
    pub key: Option<HashKey>,
    /// Whether a hash keeps nearly all keys at their servers when one leaves.
    pub is_consistent: bool,
    /// Whether the hash is mixed once more, so that keys near each other spread.
    pub is_mixed: bool,
}

/// What is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashKey {
    /// The client's address.
    Client,
    /// The path that is asked for.
    Path,
    /// Something else of the request: a header, a cookie, a parameter.
    Other,
}

/// A server of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolServer {
    /// Its name, or its address where it has none.
    pub name: String,
    /// Its address as it is written; names of the DNS are not resolved.
    pub address: String,
    /// Its weight, 1 where none is written.
    pub weight: u32,
    /// Most requests that it gets at once.
    pub at_most: Option<u32>,
    /// Whether it gets requests.
    pub standing: Standing,
    /// Where it is written.
    pub at: FileLine,
}

/// Whether a server gets requests while all is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Serves,
    /// Only when others are down.
    Backup,
    /// Not at all: disabled, down, or of weight 0.
    Out,
}

/// What becomes of a request while every server has as many as it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It waits at the balancer.
    Waits,
    /// It is refused at once.
    Refused,
}

impl Pool {
    /// The servers that get requests while all is well.
    pub fn serving(&self) -> impl Iterator<Item = &PoolServer> {
        self.servers.iter().filter(|server| server.standing == Standing::Serves)
    }
}
