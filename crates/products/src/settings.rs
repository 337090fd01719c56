//! A person's own configuration for a run: what chooses is taken from it, and the servers of the run stand in the place of its
//! own.
//!
//! Taken are the `defaults` and the backend of HAProxy; the upstream of nginx, and what `proxy_...` says where it is used; the
//! cluster of Envoy. What listens, ends requests, checks, encrypts or logs is ours, with one thread or worker. What of a taken
//! part is left out stands in the written configuration as a comment. Of the servers their weights and limits are kept. The
//! rule that a simulator goes by is what [`crate::read`] reads.
//!
//! The price: rules of a frontend are not there, so that every request of a run comes to the one pool.

mod envoy;
mod haproxy;
mod nginx;

use std::path::Path;

use sojourn_part::program::{Product, Spot};

use crate::note::{ImportError, Reading, cut};
use crate::policy::policy;
use crate::pool::{Configuration, HashKey, Pool, PoolServer, WhenFull};
use crate::{Behind, Version, newest_measured, read};

/// A configuration whose servers can be replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The rule of its pool, as a policy of experiment files.
    pub policy: String,
    /// The weights of its servers, of those that serve while all is well.
    pub weights: Vec<u32>,
    /// What of the pool the rule does not say, each in a sentence.
    pub notes: Vec<String>,
    /// Most requests at a time of each of these servers (0: no limit); empty where none has a limit, or the rule cannot be
    /// simulated with it.
    pub limits: Vec<u32>,
    /// Whether a request that finds all of them full waits; else it is refused.
    pub waits: bool,
    taken: Taken,
    /// Of each server, most requests at a time.
    at_most: Vec<Option<u32>>,
}

/// What is taken of a file.
#[derive(Clone, Debug, PartialEq)]
enum Taken {
    Haproxy(haproxy::Taken),
    Nginx(nginx::Taken),
    Envoy(envoy::Taken),
}

/// A server of the run, in the place of one of the file.
#[derive(Clone, Copy)]
struct Replaced<'a> {
    behind: &'a Behind,
    at_most: Option<u32>,
}

impl Settings {
    /// Reads the file at `path`, whose rules are those of a version; of several pools `name` says which.
    ///
    /// # Errors
    /// In one line: when the file cannot be read, `name` is missing or not in it, or the pool has a rule that is not known here.
    pub fn read(
        product: Product,
        path: &Path,
        text: &str,
        version: Option<Version>,
        name: Option<&str>,
    ) -> Result<Settings, ImportError> {
        let file = path.display().to_string();
        let files = [(file.clone(), text.to_owned())];
        let environment = |name: &str| std::env::var(name).ok();
        let configuration = read(product, &files, version.unwrap_or(newest_measured(product)), &environment)?;
        let pool = one(product, &configuration, &file, name)?;
        let rule = policy(product, version, &pool.rule);
        if rule.text.split_once('(').is_none_or(|(name, _)| name != product.name()) {
            let at = pool.rule.said.as_ref().unwrap_or(&pool.at);
            let why = rule.differs.first().cloned().unwrap_or_default();
            return Err(at.refused(format!("`{}` is no rule that is known here; {why}", cut(&pool.rule.name))));
        }
        if product != Product::Envoy && pool.rule.key == Some(HashKey::Other) {
            let at = pool.rule.said.as_ref().unwrap_or(&pool.at);
            return Err(at.refused(format!("`{}` hashes what requests of a run do not have", cut(&pool.rule.name))));
        }
        let serving: Vec<&PoolServer> = pool.serving().collect();
        let mut notes = rule.differs;
        let waits = pool.when_full == WhenFull::Waits;
        let mut limits = Vec::new();
        if let Some(server) = serving.iter().find(|server| server.at_most.is_some()) {
            // Requests wait for the server that a hash names, and not for the first with room.
            if waits && pool.rule.key.is_some() {
                let most = server.at_most.unwrap_or_default();
                notes.push(format!("{}: at most {most} requests at once, which its twin does not have", server.at));
            } else {
                limits = serving.iter().map(|server| server.at_most.unwrap_or(0)).collect();
            }
        }
        if serving.len() < pool.servers.len() {
            let word = product.pool();
            notes.push(format!(
                "{}: the {word} has servers that do not serve while all is well; they are left out",
                pool.at
            ));
        }
        if product == Product::Nginx && pool.workers != Some(1) {
            notes.push(format!("{}: worker processes without a `zone` count each for itself; a run has one", pool.at));
        }
        let unknown = pool.notes.kept.iter().filter(|note| note.reading == Reading::NotUnderstood);
        notes.extend(unknown.map(|note| format!("{}: {}", note.at, note.text)));
        let taken = match product {
            Product::Haproxy => Taken::Haproxy(haproxy::Taken::of(text, pool)?),
            Product::Nginx => Taken::Nginx(nginx::Taken::of(path, text, pool)?),
            Product::Envoy => Taken::Envoy(envoy::Taken::of(text, pool)?),
        };
        let waits = waits && !limits.is_empty();
        Ok(Settings {
            policy: rule.text,
            weights: serving.iter().map(|server| server.weight).collect(),
            at_most: serving.iter().map(|server| server.at_most).collect(),
            limits,
            waits,
            notes,
            taken,
        })
    }

    /// The configuration with which the product decides over these servers, as many as the file has.
    pub fn configuration(&self, servers: &[Behind], spot: &Spot<'_>) -> String {
        let replaced: Vec<Replaced<'_>> = servers
            .iter()
            .enumerate()
            .map(|(place, behind)| Replaced { behind, at_most: self.at_most.get(place).copied().flatten() })
            .collect();
        match &self.taken {
            Taken::Haproxy(taken) => taken.text(&replaced, spot),
            Taken::Nginx(taken) => taken.text(&replaced, spot),
            Taken::Envoy(taken) => taken.text(&replaced, spot),
        }
    }
}

/// The pool that is meant.
fn one<'a>(
    product: Product,
    configuration: &'a Configuration,
    file: &str,
    name: Option<&str>,
) -> Result<&'a Pool, ImportError> {
    let word = product.pool();
    let pools: Vec<&Pool> = configuration.pools.iter().filter(|pool| pool.serving().next().is_some()).collect();
    let named = || pools.iter().map(|pool| format!("`{}`", cut(&pool.name))).collect::<Vec<_>>().join(", ");
    let refused = |why: String| Err(ImportError(format!("{file}: {why}")));
    match (name, &pools[..]) {
        (_, []) => refused(format!("it has no {word} with servers")),
        (None, [only]) => Ok(only),
        (None, _) => refused(format!("it has several {word}s: say by `backend` which is meant; there are {}", named())),
        (Some(name), _) => match pools.iter().find(|pool| pool.name == name) {
            Some(pool) => Ok(pool),
            None => refused(format!("it has no {word} `{}`; there are {}", cut(name), named())),
        },
    }
}

/// A line of a file that was left out, as a comment.
fn left_out(line: &str) -> String {
    format!("  # left out: {}\n", line.trim())
}
