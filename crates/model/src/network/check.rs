//! Checks of a network: what is wrong, and where.

use thiserror::Error;

use super::{Chain, Keeps, Kind, Network, Population, Room};
use crate::Discipline;

/// An element of a network, by its numbers from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// The network as a whole.
    Whole,
    /// A station.
    Station(usize),
    /// A chain.
    Chain(usize),
    /// A branch of a chain.
    Branch(usize, usize),
    /// A step of a branch of a chain.
    Step(usize, usize, usize),
}

/// Why a network is refused: one line with what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {message}")]
pub struct NetworkError {
    /// The element that is wrong.
    pub element: Element,
    /// Which key of a file.
    pub key: &'static str,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// An open chain that overloads a station.
#[derive(Clone, Debug, PartialEq)]
pub struct Unstable {
    /// Number of the chain: of the chains at the station, the one with the most work there.
    pub chain: usize,
    /// Number of the station.
    pub station: usize,
    /// The utilisation of the station by open chains; 1 or more.
    pub load: f64,
    /// Arrivals per second below which the chain would be stable, with the others unchanged; 0 if the others alone are
    /// too much.
    pub largest_rate: f64,
}

impl Network {
    /// Refuses an impossible network.
    ///
    /// # Errors
    /// Without stations or chains; on a name that is used twice or is no name; a station that no step visits; a rate,
    /// speed or number that is not above 0; shares that do not sum to 1; a chain without any work; a demand per byte where
    /// jobs carry none; a cache without two branches.
    pub fn check(&self) -> Result<(), NetworkError> {
        self.check_names()?;
        for (number, station) in self.stations.iter().enumerate() {
            let fail = |key, message: String| Err(NetworkError { element: Element::Station(number), key, message });
            if !(station.speed > 0.0 && station.speed.is_finite()) {
                return fail("speed", format!("{} is not above 0; 1 is the reference", station.speed));
            }
            if let Kind::Queue { discipline, cores, rates } = &station.kind {
                if *cores == 0 {
                    return fail("cores", "a station has at least 1".into());
                }
                if let Some(rate) = rates.iter().find(|rate| !(**rate > 0.0 && rate.is_finite())) {
                    return fail(
                        "rates",
                        format!("{rate} is not above 0: work done per second with 1, 2, 3, ... jobs"),
                    );
                }
                if !rates.is_empty() && *discipline != Discipline::Ps {
                    return fail("rates", "they are shared equally: discipline = \"ps\"".into());
                }
                if matches!(discipline, Discipline::DelayCurve(_)) {
                    return fail("discipline", "a delay curve is a server's, not a station's".into());
                }
                discipline.check(*cores).or_else(|fault| fail("discipline", fault))?;
            }
        }
        for (number, chain) in self.chains.iter().enumerate() {
            chain.check(number, self.stations.len())?;
        }
        let visited = |station| self.steps().any(|step| step.station == station);
        match (0..self.stations.len()).find(|station| !visited(*station)) {
            Some(number) => Err(NetworkError {
                element: Element::Station(number),
                key: "name",
                message: format!(
                    "no step visits the station `{}`: add a step of some chain there, or leave the station out",
                    self.stations[number].name
                ),
            }),
            None => Ok(()),
        }
    }

    /// The utilisation of each station by open chains, from `hit_ratios`, one per chain (used only where a cache
    /// chooses); 0 at a delay.
    pub fn open_loads(&self, hit_ratios: &[f64]) -> Vec<f64> {
        let mut loads = vec![0.0; self.stations.len()];
        for (chain, hit_ratio) in self.chains.iter().zip(hit_ratios) {
            let Some(rate) = chain.arrival_rate() else { continue };
            for (load, work) in loads.iter_mut().zip(self.work(chain, *hit_ratio)) {
                *load += rate * work;
            }
        }
        loads.iter().zip(&self.stations).map(|(work, station)| work / station.saturated_rate()).collect()
    }

    /// The first station that open chains overload, with the chain that brings most work to it.
    pub fn unstable(&self, hit_ratios: &[f64]) -> Option<Unstable> {
        let loads = self.open_loads(hit_ratios);
        let station = loads.iter().position(|load| *load >= 1.0 || load.is_nan())?;
        let asked: Vec<f64> = self
            .chains
            .iter()
            .zip(hit_ratios)
            .map(|(chain, hit_ratio)| {
                chain.arrival_rate().map_or(0.0, |rate| rate * self.work(chain, *hit_ratio)[station])
            })
            .collect();
        let chain = (0..asked.len()).max_by(|one, other| asked[*one].total_cmp(&asked[*other]))?;
        let others: f64 = asked.iter().enumerate().filter(|(number, _)| *number != chain).map(|(_, work)| work).sum();
        let left = (self.stations[station].saturated_rate() - others).max(0.0);
        let largest_rate = left / self.work(&self.chains[chain], hit_ratios[chain])[station];
        Some(Unstable { chain, station, load: loads[station], largest_rate })
    }

    /// Mean work (s at speed 1) that a job of `chain` brings to each station.
    pub fn work(&self, chain: &Chain, hit_ratio: f64) -> Vec<f64> {
        let mut work = vec![0.0; self.stations.len()];
        for (share, branch) in chain.shares(hit_ratio).into_iter().zip(&chain.branches) {
            // A branch with share 0 may have infinite demands.
            for step in branch.steps.iter().filter(|_| share > 0.0) {
                work[step.station] += share * f64::from(step.visits) * chain.demand_mean(step);
            }
        }
        work
    }

    fn check_names(&self) -> Result<(), NetworkError> {
        if self.stations.is_empty() {
            return Err(whole("station", "a network has at least one: [[station]] with a name and a discipline"));
        }
        if self.chains.is_empty() {
            return Err(whole("chain", "a network has at least one: [[chain]] with users or arrivals, and steps"));
        }
        let stations = self.stations.iter().enumerate().map(|(number, of)| (Element::Station(number), &of.name));
        let chains = self.chains.iter().enumerate().map(|(number, of)| (Element::Chain(number), &of.name));
        let mut seen: Vec<&str> = Vec::new();
        for (element, name) in stations.chain(chains) {
            check_name(element, name)?;
            if seen.contains(&name.as_str()) {
                let message = format!("`{name}` is the name of two: outcomes could not tell them apart");
                return Err(NetworkError { element, key: "name", message });
            }
            seen.push(name);
        }
        Ok(())
    }

    fn steps(&self) -> impl Iterator<Item = &super::Step> {
        self.chains.iter().flat_map(|chain| &chain.branches).flat_map(|branch| &branch.steps)
    }
}

impl Chain {
    fn check(&self, number: usize, stations: usize) -> Result<(), NetworkError> {
        let fail = |key, message: String| Err(NetworkError { element: Element::Chain(number), key, message });
        match &self.population {
            Population::Open { gaps } if !(gaps.mean() > 0.0 && gaps.mean().is_finite()) => {
                return fail("arrivals", "the mean gap between arrivals is positive and finite".into());
            }
            Population::Closed { users: 0, .. } => return fail("users", "a closed chain has at least 1 user".into()),
            Population::Closed { think, .. } if think.limits().0 < 0.0 => {
                return fail("think", "a time is not negative".into());
            }
            _ => {}
        }
        if let Some(size) = self.size.as_ref().filter(|size| size.limits().0 < 0.0) {
            return fail("size", format!("a size is not negative, and this goes down to {}", size.limits().0));
        }
        if !self.size_limits.is_empty() && self.size.is_none() {
            return fail("size_limits", format!("what would be classed? give the chain `{}` a `size`", self.name));
        }
        let mut below = 0.0;
        for limit in &self.size_limits {
            if !(*limit > below && limit.is_finite()) {
                return fail("size_limits", format!("{limit} B is not above {below} B: write them in ascending order"));
            }
            below = *limit;
        }
        match (&self.cache, self.branches.len()) {
            (_, 0) => return fail("steps", "a chain visits something: `steps`, or `[[chain.branch]]`".into()),
            (Some(_), branches) if branches != 2 => {
                return fail("cache", format!("it chooses between two branches, a hit and a miss, not {branches}"));
            }
            (Some(cache), _) => self.check_cache(cache).or_else(|message| fail("cache", message))?,
            (None, _) => {
                let total: f64 = self.branches.iter().map(|branch| branch.share).sum();
                if (total - 1.0).abs() > 1e-9 {
                    let rounded = (total * 1e9).round() / 1e9;
                    return fail(
                        "share",
                        format!("the shares of the branches of `{}` sum to {rounded}, not 1", self.name),
                    );
                }
            }
        }
        let mut names: Vec<&str> = Vec::new();
        for (index, branch) in self.branches.iter().enumerate() {
            let element = Element::Branch(number, index);
            check_name(element, &branch.name)?;
            if names.contains(&branch.name.as_str()) {
                let message = format!("two branches of `{}` are called `{}`", self.name, branch.name);
                return Err(NetworkError { element, key: "name", message });
            }
            names.push(&branch.name);
            if !(0.0..=1.0).contains(&branch.share) {
                return Err(NetworkError {
                    element,
                    key: "share",
                    message: format!("{} is not from 0 to 1", branch.share),
                });
            }
            for (at, step) in branch.steps.iter().enumerate() {
                let wrong = |key, message: String| {
                    Err(NetworkError { element: Element::Step(number, index, at), key, message })
                };
                if step.station >= stations {
                    return wrong("station", format!("there is no station number {}", step.station));
                }
                if step.visits == 0 {
                    return wrong("visits", "a step is at least 1 visit; leave it out otherwise".into());
                }
                if step.demand.per_byte != 0.0 && self.size.is_none() {
                    let message = format!("it reads the size of the job: give the chain `{}` a `size`", self.name);
                    return wrong("demand", message);
                }
            }
        }
        let works = |branch: &super::Branch| branch.steps.iter().any(|step| self.demand_mean(step) > 0.0);
        if !self.branches.iter().any(works) {
            return fail(
                "demand",
                format!("the chain `{}` has no work at any station: give a step a demand", self.name),
            );
        }
        Ok(())
    }

    fn check_cache(&self, cache: &super::Cache) -> Result<(), String> {
        if cache.popularity.is_empty() || cache.popularity.iter().any(|p| !(*p > 0.0 && p.is_finite())) {
            return Err("every object is asked for now and then: popularities above 0".into());
        }
        let (Keeps::Lru(room) | Keeps::Lfu(room)) = cache.keeps else { return Ok(()) };
        match room {
            Room::Objects(0) | Room::Bytes(0) => Err("size: a cache has room for something".into()),
            Room::Bytes(_) if !self.size_mean().is_finite() || self.size_mean() <= 0.0 => {
                Err(format!("a size in bytes needs objects with a mean size: give the chain `{}` a `size`", self.name))
            }
            _ => Ok(()),
        }
    }
}

fn whole(key: &'static str, message: &str) -> NetworkError {
    NetworkError { element: Element::Whole, key, message: message.into() }
}

fn check_name(element: Element, name: &str) -> Result<(), NetworkError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.chars().all(is_name) {
        true => Ok(()),
        false => {
            let message = format!("`{name}` is no name: letters, digits, `-` and `_`, as in `access-line`");
            Err(NetworkError { element, key: "name", message })
        }
    }
}
