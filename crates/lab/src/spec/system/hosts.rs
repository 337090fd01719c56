//! The hosts of a system: the servers of each tier at each of its places, and those of pools.

use sojourn_model::system::{Host, Pool, Target, server_name};
use sojourn_model::{Server, System};
use toml::Spanned;

use super::super::tier::{RawPool, RawTargets, RawTier};
use super::super::{Reader, SpecError};
use super::target::Kind;

/// A server takes about a kilobyte.
const SERVERS_LIMIT: u64 = 100_000;

impl Reader<'_> {
    pub(super) fn server_count(&self, number: &Spanned<u32>) -> Result<u32, SpecError> {
        match *number.get_ref() {
            0 => Err(self.at(number, "servers", "at least 1 server is needed")),
            count if u64::from(count) > SERVERS_LIMIT => {
                Err(self.at(number, "servers", &format!("at most {SERVERS_LIMIT} in all")))
            }
            count => Ok(count),
        }
    }

    /// Makes the hosts of each tier at each of its places, and gives their indices.
    pub(super) fn hosts_of_tiers(
        &self,
        raw: &[Spanned<RawTier>],
        kinds: &[Kind],
        places: &[Vec<Option<usize>>],
        model: &Server,
        system: &mut System,
    ) -> Result<Vec<Vec<Vec<usize>>>, SpecError> {
        let mut hosts = Vec::with_capacity(raw.len());
        for (index, tier) in raw.iter().enumerate() {
            let Kind::Servers(number) = kinds[index] else {
                hosts.push(vec![Vec::new(); places[index].len()]);
                continue;
            };
            let targets = tier.get_ref().targets.as_ref().expect("it has a kind");
            let total = system.hosts.len() as u64 + u64::from(number) * places[index].len() as u64;
            if total > SERVERS_LIMIT {
                let message = format!("{total} servers at all sites together: at most {SERVERS_LIMIT}");
                return Err(self.at(targets, "servers", &message));
            }
            let speeds = self.per_target(&targets.get_ref().speeds, "speeds", number as usize)?;
            let mut make = |site: &Option<usize>| {
                let first = system.hosts.len();
                system.hosts.extend(self.make_hosts(model, number, speeds.clone(), *site, first));
                (first..system.hosts.len()).collect()
            };
            hosts.push(places[index].iter().map(&mut make).collect());
        }
        Ok(hosts)
    }

    pub(super) fn make_hosts(
        &self,
        model: &Server,
        number: u32,
        speeds: Option<Vec<f64>>,
        site: Option<usize>,
        first: usize,
    ) -> Vec<Host> {
        let speeds = speeds.unwrap_or_else(|| vec![1.0; number as usize]);
        let host = |(index, speed): (usize, &f64)| Host {
            name: server_name(first + index),
            server: Server { speed: model.speed * speed, ..model.clone() },
            site,
        };
        speeds.iter().enumerate().map(host).collect()
    }

    /// A list with a number above 0 for each target.
    pub(in crate::spec) fn per_target(
        &self,
        list: &Option<Spanned<Vec<f64>>>,
        key: &str,
        targets: usize,
    ) -> Result<Option<Vec<f64>>, SpecError> {
        match list {
            Some(list) if list.get_ref().len() != targets => {
                Err(self.at(list, key, &format!("one number per target: {targets}, not {}", list.get_ref().len())))
            }
            Some(list) if list.get_ref().iter().any(|x| !(*x > 0.0 && x.is_finite())) => {
                Err(self.at(list, key, "every number is above 0"))
            }
            Some(list) => Ok(Some(list.get_ref().clone())),
            None => Ok(None),
        }
    }

    pub(super) fn pools(&self, raw: &RawTier, model: &Server, system: &mut System) -> Result<Vec<Pool>, SpecError> {
        let mut pools = Vec::with_capacity(raw.pool.len());
        for pool in &raw.pool {
            let RawPool { host, path, policy, targets } = pool.get_ref();
            if !["gateway", "redirect"].contains(&raw.face.get_ref().as_str()) {
                let right = "only a gateway or a redirect sees the host and path of a request: leave it out";
                return Err(self.at(pool, "pool", right));
            }
            if host.is_none() && path.is_none() {
                return Err(self.at(pool, "pool", "a pool is for a `host` or a `path`; give at least one of them"));
            }
            if let Some(path) = path.as_ref().filter(|path| !path.get_ref().starts_with('/')) {
                return Err(self.at(path, "path", "a path begins with a slash, e.g. `/images/`"));
            }
            let RawTargets { servers, sites, tiers, weights, speeds } = targets.get_ref();
            let (Some(number), None, None) = (servers, sites, tiers) else {
                return Err(self.at(targets, "targets", "a pool has servers: `targets = { servers = 2 }`"));
            };
            let same = |other: &Pool| other.host == *host && other.path.as_ref() == path.as_ref().map(Spanned::get_ref);
            if pools.iter().any(same) {
                return Err(self.at(pool, "pool", "an earlier pool is for the same `host` and `path`"));
            }
            let (first, count) = (system.hosts.len(), self.server_count(number)?);
            let speeds = self.per_target(speeds, "speeds", count as usize)?;
            system.hosts.extend(self.make_hosts(model, count, speeds, None, first));
            pools.push(Pool {
                host: host.clone(),
                path: path.as_ref().map(|path| path.get_ref().clone()),
                policy: policy.get_ref().clone(),
                targets: (first..system.hosts.len()).map(Target::Host).collect(),
                weights: self.per_target(weights, "weights", count as usize)?.unwrap_or_default(),
            });
        }
        Ok(pools)
    }
}
