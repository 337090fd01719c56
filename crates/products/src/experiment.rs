//! A pool as an experiment that a person can read and change: what was read with its line, what is assumed, and what could not
//! be said.

mod parts;

use std::collections::BTreeSet;

use sojourn_dispatch::Catalogue;
use sojourn_part::program::Product;
use sojourn_stats::{Dimension, Law, nearest, unknown};

use crate::note::{ImportError, Reading, cut};
use crate::policy::policy;
use crate::pool::{Configuration, Pool, PoolServer};
use crate::version::Version;

use parts::Parts;

/// What no configuration says, from who imports one.
#[derive(Clone, Debug, Default)]
pub struct Assumptions {
    /// Requests per second.
    pub rate_per_s: Option<f64>,
    /// The law of a request's time at an idle server, with its text.
    pub service: Option<(String, Law)>,
    /// Cores of each server.
    pub cores: Option<u32>,
}

/// A service that many web applications have, where nothing is known of it.
const SERVICE: &str = "exponential(mean = 20 ms)";

impl Assumptions {
    /// The mean of the service (s).
    fn service_s(&self) -> f64 {
        match &self.service {
            Some((_, law)) => law.mean(),
            None => Law::parse(SERVICE, Dimension::Time).expect("it is a law").mean(),
        }
    }
}

/// A configuration that becomes an experiment.
#[derive(Clone, Debug)]
pub struct Import<'a> {
    /// What it is a configuration of.
    pub product: Product,
    /// Whether a person said so; else its content did.
    pub is_said: bool,
    /// The version that a person has named.
    pub version: Option<Version>,
    /// What was read.
    pub configuration: &'a Configuration,
    /// The command that repeats it.
    pub command: &'a str,
    /// What is assumed.
    pub assumptions: &'a Assumptions,
}

impl Import<'_> {
    /// The pool called `name`, or without one the one with the most servers.
    ///
    /// # Errors
    /// When there is none, or none of that name.
    pub fn pool(&self, name: Option<&str>) -> Result<&Pool, ImportError> {
        let pools = &self.configuration.pools;
        let (kind, title) = (self.product.pool(), self.product.title());
        if let Some(name) = name {
            let found = pools.iter().find(|pool| pool.name == name);
            let names = || pools.iter().map(|pool| pool.name.as_str());
            // Of very many, those are named that a line has room for.
            let meant = nearest(name, names()).into_iter().chain(names().take(20));
            return found.ok_or_else(|| ImportError(unknown(kind, &cut(name), meant)));
        }
        // Of several, the first.
        let most = pools.iter().rev().max_by_key(|pool| pool.serving().count());
        most.ok_or_else(|| {
            let notes = &self.configuration.notes.kept;
            let empty = notes.iter().find(|note| note.text.ends_with("has no servers")).or(notes.first());
            let why = empty.map(|note| format!(" ({}: {})", note.at, note.text));
            ImportError(format!("no {kind} of this configuration of {title} has servers{}", why.unwrap_or_default()))
        })
    }

    /// Why the servers of `pool` together cannot do what is asked for; none where they can, or no rate is given.
    pub fn too_much(&self, pool: &Pool) -> Option<String> {
        let rate = self.assumptions.rate_per_s?;
        let (count, cores) = (pool.serving().count(), self.assumptions.cores.unwrap_or(1));
        let (has, needs) = (count as f64 * f64::from(cores), rate * self.assumptions.service_s());
        // What a mean of a law is off by is no reason.
        (needs >= has * (1.0 - 1e-9)).then(|| {
            let (needs, plural) = ((needs * 1e3).round() / 1e3, if count == 1 { "" } else { "s" });
            let of = if cores == 1 { "1 core".into() } else { format!("{cores} cores") };
            format!(
                "--rate x --service keep {needs} cores busy all the time, and the {count} server{plural} of {} `{}` have {has} \
                 ({of} each): a lower --rate, a shorter --service or more --cores",
                self.product.pool(),
                cut(&pool.name)
            )
        })
    }

    /// How many parts of what concerns `pool` were not understood.
    pub fn not_understood(&self, pool: &Pool) -> usize {
        let all = [&self.configuration.notes, &pool.notes].into_iter().chain(pool.inherited.iter().map(|of| &**of));
        let unknown = all.flat_map(|notes| &notes.kept).filter(|note| note.reading == Reading::NotUnderstood);
        // What several ways lead to is one.
        unknown.collect::<BTreeSet<_>>().len()
    }

    /// The experiment of `pool`.
    ///
    /// # Errors
    /// When none of its servers serves, or the rule of that version is not known.
    pub fn experiment(&self, pool: &Pool) -> Result<String, ImportError> {
        let servers: Vec<&PoolServer> = pool.serving().collect();
        let kind = self.product.pool();
        if servers.is_empty() {
            let message =
                format!("no server of {kind} `{}` serves: all are disabled, down or backups", cut(&pool.name));
            return Err(pool.at.refused(message));
        }
        let named = policy(self.product, self.version, &pool.rule);
        let at = pool.rule.said.as_ref().unwrap_or(&pool.at);
        Catalogue::default().check(&named.text).map_err(|error| at.refused(error))?;
        Ok(Parts { import: self, pool, servers, named }.text())
    }
}
