//! A network as an experiment file writes it.
//!
//! ```toml
//! [[station]]
//! name = "web-server"
//! discipline = "limited-ps"        # fcfs | ps | limited-ps | least-attained-service | round-robin | time-slices
//!                                  # | lcfs | delay
//! helpers = 16                     # limited-ps and time-slices only
//! # quantum = "10 ms"              # round-robin and time-slices only
//! # preemptive = true              # lcfs only
//! cores = 1                        # or rates = [1, 1.8, 2.4] under ps: work per second with 1, 2, 3 and more jobs
//! speed = 1
//!
//! [[station]]
//! name = "access-line"
//! rate = "1.5 Mbit/s"              # a link: ps unless said otherwise, and the demand there is what a job carries
//!
//! [[chain]]
//! name = "users"
//! users = 40                       # and think = LAW; or arrivals = LAW of the gaps
//! think = "exponential(mean = 5 s)"
//! size = "lognormal(mu = 7.811, sigma = 1.573, unit = B)"
//! steps = [{ station = "access-line" }, { station = "web-server", demand = "21.55 ms + 0.4851 us/B", visits = 1 }]
//! ```
//!
//! Instead of `steps` a chain may have `[[chain.branch]]`, each with a `share` (the one without takes the rest), a
//! `name` and `steps`. `size_limits = ["1 kB", "10 kB"]` asks for the response times of three classes of sizes: up to 1
//! kB, up to 10 kB, and beyond. With `cache = { policy = "lru", size = 100, objects = 1000, popularity = 0.8 }` the
//! first branch is the hit and the second the miss. Errors give their place in the text in bytes, so that a reader can
//! give file and line.

use std::path::Path;

use serde::Deserialize;
use sojourn_stats::{Dimension, Law, Span, input, quantity};
use toml::Spanned;

use super::check::{Element, NetworkError};
use super::{Branch, Cache, Chain, Keeps, Kind, Network, Node, Population, Room, Step};
use crate::Demand;
use crate::discipline::{Discipline, Keys, Misfit};

/// The tables of a network.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// `[[station]]`.
    #[serde(default)]
    pub station: Vec<Spanned<StationText>>,
    /// `[[chain]]`.
    #[serde(default)]
    pub chain: Vec<Spanned<ChainText>>,
}

/// A `[[station]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationText {
    name: Spanned<String>,
    discipline: Option<Spanned<String>>,
    helpers: Option<Spanned<u32>>,
    quantum: Option<Spanned<String>>,
    preemptive: Option<Spanned<bool>>,
    cores: Option<Spanned<u32>>,
    speed: Option<Spanned<f64>>,
    rates: Option<Spanned<Vec<f64>>>,
    rate: Option<Spanned<String>>,
}

/// A `[[chain]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainText {
    name: Spanned<String>,
    arrivals: Option<Spanned<String>>,
    users: Option<Spanned<u32>>,
    think: Option<Spanned<String>>,
    size: Option<Spanned<String>>,
    size_limits: Option<Spanned<Vec<Spanned<String>>>>,
    cache: Option<Spanned<CacheText>>,
    steps: Option<Spanned<Vec<Spanned<StepText>>>>,
    #[serde(default)]
    branch: Vec<Spanned<BranchText>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BranchText {
    name: Option<Spanned<String>>,
    share: Option<Spanned<f64>>,
    steps: Vec<Spanned<StepText>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    station: Spanned<String>,
    demand: Option<Spanned<String>>,
    size: Option<Spanned<String>>,
    visits: Option<Spanned<u32>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheText {
    policy: Spanned<String>,
    size: Option<Spanned<toml::Value>>,
    ttl: Option<Spanned<String>>,
    renewed: Option<Spanned<bool>>,
    objects: Option<Spanned<u64>>,
    popularity: Spanned<toml::Value>,
}

/// Most objects of a cache whose popularity is one number; a larger number is probably a mistake.
const OBJECTS_LIMIT: u64 = 100_000_000;

/// A mistake, and the byte at which its value begins.
type Misplaced = (usize, NetworkError);

impl Network {
    /// Reads a network from TOML that has nothing else in it.
    ///
    /// # Errors
    /// One line: what, where, and what would be right.
    pub fn from_toml(text: &str) -> Result<Network, String> {
        let tables: Text = toml::from_str(text).map_err(|error| crate::message::one_line(&error, text))?;
        tables.read(None).map_err(|(at, error)| {
            let line = text[..at.min(text.len())].matches('\n').count() + 1;
            format!("line {line}: {error}")
        })
    }
}

impl Text {
    /// Whether there is no station and no chain.
    pub fn is_empty(&self) -> bool {
        self.station.is_empty() && self.chain.is_empty()
    }

    /// The network; `folder` is where relative paths start when they lead nowhere from here.
    ///
    /// # Errors
    /// What is wrong, and the byte of the text at which it is.
    pub fn read(&self, folder: Option<&Path>) -> Result<Network, (usize, NetworkError)> {
        let stations = self.station.iter().map(|text| text.get_ref().read()).collect::<Result<Vec<_>, _>>()?;
        let chains: Result<Vec<_>, _> = self.chain.iter().map(|text| text.get_ref().read(&stations, folder)).collect();
        let network = Network { stations: stations.into_iter().map(|(node, _)| node).collect(), chains: chains? };
        network.check().map_err(|error| (self.offset(error.element), error))?;
        Ok(network)
    }

    /// Where `element` begins.
    fn offset(&self, element: Element) -> usize {
        let chain = |number: usize| self.chain[number].get_ref();
        match element {
            Element::Whole => 0,
            Element::Station(number) => self.station[number].get_ref().name.span().start,
            Element::Chain(number) => chain(number).name.span().start,
            Element::Branch(number, index) | Element::Step(number, index, _) if chain(number).branch.len() <= index => {
                chain(number).steps.as_ref().map_or(0, |steps| steps.span().start)
            }
            Element::Branch(number, index) => chain(number).branch[index].span().start,
            Element::Step(number, index, at) => chain(number).branch[index].get_ref().steps[at].span().start,
        }
    }
}

fn at<T>(value: &Spanned<T>, key: &'static str, message: impl Into<String>) -> Misplaced {
    (value.span().start, NetworkError { element: Element::Whole, key, message: message.into() })
}

impl StationText {
    /// The station, and its rate (bit/s) where it is a link.
    fn read(&self) -> Result<(Node, Option<f64>), Misplaced> {
        let link = match &self.rate {
            None => None,
            Some(text) => match quantity::parse(text.get_ref(), Dimension::Bandwidth) {
                Ok(rate) if rate > 0.0 => Some(rate),
                Ok(_) => return Err(at(text, "rate", "a link's rate is above 0, as in `1.5 Mbit/s`")),
                Err(error) => return Err(at(text, "rate", error.to_string())),
            },
        };
        let (name, text) = match &self.discipline {
            Some(text) => (text.get_ref().as_str(), text),
            None if link.is_some() => ("ps", &self.name),
            None => {
                let right = "how does it serve? discipline = \"fcfs\", \"ps\", \"limited-ps\" or \"delay\"";
                return Err(at(&self.name, "discipline", right));
            }
        };
        let discipline = self.discipline(name, text)?;
        let kind = match (discipline, &self.cores, &self.rates) {
            (None, Some(cores), _) => return Err(at(cores, "cores", "a delay serves all jobs at once; leave it out")),
            (None, _, Some(rates)) => return Err(at(rates, "rates", "a delay serves all jobs at once; leave it out")),
            (None, None, None) => Kind::Delay,
            (_, Some(cores), Some(_)) => return Err(at(cores, "cores", "give either cores or rates")),
            (_, _, Some(rates)) if rates.get_ref().is_empty() => {
                return Err(at(
                    rates,
                    "rates",
                    "work done per second with 1, 2, 3, ... jobs inside, e.g. [1, 1.8, 2.4]",
                ));
            }
            (Some(discipline), cores, rates) => Kind::Queue {
                discipline,
                cores: cores.as_ref().map_or(1, |cores| *cores.get_ref()),
                rates: rates.as_ref().map_or(Vec::new(), |rates| rates.get_ref().clone()),
            },
        };
        let speed = self.speed.as_ref().map_or(1.0, |speed| *speed.get_ref());
        Ok((Node { name: self.name.get_ref().clone(), kind, speed }, link))
    }

    /// The discipline called `name` with the keys that only it has; none of a delay.
    fn discipline(&self, name: &str, text: &Spanned<String>) -> Result<Option<Discipline>, Misplaced> {
        let own = |key: &'static str, what: &str| match key {
            "helpers" => self.helpers.as_ref().map(|text| at(text, key, what)),
            "quantum" => self.quantum.as_ref().map(|text| at(text, key, what)),
            "preemptive" => self.preemptive.as_ref().map(|text| at(text, key, what)),
            _ => None,
        };
        let misplaced = |key, what: &str| own(key, what).unwrap_or_else(|| at(text, "discipline", what));
        match name {
            "delay" => {
                let written = ["helpers", "quantum", "preemptive"];
                let what = "a delay serves all jobs at once; leave it out";
                return written.into_iter().find_map(|key| own(key, what)).map_or(Ok(None), Err);
            }
            "priority" => {
                let what = "priorities go by the class of a request, and the jobs of a chain have none";
                return Err(misplaced("discipline", what));
            }
            name if !Discipline::NAMES.contains(&name) => {
                let known: Vec<&str> = Discipline::NAMES.into_iter().filter(|name| *name != "priority").collect();
                let known = [known.as_slice(), &["delay"]].concat();
                return Err(misplaced("discipline", &crate::message::unknown("discipline", name, &known)));
            }
            _ => {}
        }
        let keys = Keys {
            helpers: self.helpers.as_ref().map(|text| *text.get_ref()),
            quantum: self.quantum.as_ref().map(|text| text.get_ref().as_str()),
            preemptive: self.preemptive.as_ref().map(|text| *text.get_ref()),
            drops: None,
        };
        let read = Discipline::read(name, &keys).map_err(|Misfit { key, what }| misplaced(key, &what))?;
        Ok(Some(read))
    }
}

impl ChainText {
    fn read(&self, stations: &[(Node, Option<f64>)], folder: Option<&Path>) -> Result<Chain, Misplaced> {
        let law = |text: &Spanned<String>, key, dimension| {
            Law::parse(text.get_ref(), dimension).map_err(|error| at(text, key, error.to_string()))
        };
        let think = self.think.as_ref().map(|text| law(text, "think", Dimension::Time)).transpose()?;
        let population = match (&self.arrivals, &self.users) {
            (Some(text), None) => {
                if let Some(think) = &self.think {
                    return Err(at(think, "think", "only users think; a chain that arrives leaves again"));
                }
                Population::Open { gaps: law(text, "arrivals", Dimension::Time)? }
            }
            (None, Some(users)) => {
                Population::Closed { users: *users.get_ref(), think: think.unwrap_or_else(|| Law::constant(0.0)) }
            }
            (Some(_), Some(users)) => {
                return Err(at(users, "users", "give either users (closed) or arrivals (open)"));
            }
            (None, None) => {
                let right = "it needs `users = 40` (closed) or `arrivals = \"exponential(rate = 10 /s)\"` (open)";
                return Err(at(&self.name, "chain", right));
            }
        };
        let size = self.size.as_ref().map(|text| law(text, "size", Dimension::Size)).transpose()?;
        let limits = self.size_limits.iter().flat_map(|limits| limits.get_ref());
        let limit = |text: &Spanned<String>| {
            let parsed = quantity::parse(text.get_ref(), Dimension::Size);
            parsed.map_err(|error| at(text, "size_limits", error.to_string()))
        };
        let size_limits = limits.map(limit).collect::<Result<_, _>>()?;
        let cache = self.cache.as_ref().map(|cache| cache.get_ref().read(folder)).transpose()?;
        let branches = match (&self.steps, self.branch.as_slice()) {
            (Some(steps), []) => {
                let steps = read_steps(steps.get_ref(), stations)?;
                vec![Branch { name: "all".into(), share: 1.0, steps }]
            }
            (None, []) => {
                return Err(at(&self.name, "steps", "what does a job visit? steps = [{ station = ... }, ...]"));
            }
            (Some(steps), _) => return Err(at(steps, "steps", "give either steps or [[chain.branch]]")),
            (None, branches) => self.branches(branches, stations)?,
        };
        Ok(Chain { name: self.name.get_ref().clone(), population, size, size_limits, cache, branches })
    }

    fn branches(
        &self,
        branches: &[Spanned<BranchText>],
        stations: &[(Node, Option<f64>)],
    ) -> Result<Vec<Branch>, Misplaced> {
        let given = |branch: &Spanned<BranchText>| branch.get_ref().share.as_ref().map(|share| *share.get_ref());
        let total: f64 = branches.iter().filter_map(given).sum();
        let mut rest = (1.0 - total > 1e-9).then_some(1.0 - total);
        let mut read = Vec::with_capacity(branches.len());
        for (index, spanned) in branches.iter().enumerate() {
            let branch = spanned.get_ref();
            let share = match (&branch.share, &self.cache) {
                (Some(share), Some(_)) => return Err(at(share, "share", "the cache chooses; leave it out")),
                (None, Some(_)) => 0.0,
                (Some(share), None) => *share.get_ref(),
                (None, None) => rest.take().ok_or_else(|| {
                    let message = match 1.0 - total > 1e-9 {
                        true => "only one branch may leave its share out, and takes the rest".into(),
                        false => format!("the others sum to {}, which leaves nothing", (total * 1e9).round() / 1e9),
                    };
                    at(spanned, "share", message)
                })?,
            };
            let default = match (&self.cache, index) {
                (Some(_), 0) => "hit".to_string(),
                (Some(_), 1) => "miss".to_string(),
                _ => (index + 1).to_string(),
            };
            let name = branch.name.as_ref().map_or(default, |name| name.get_ref().clone());
            read.push(Branch { name, share, steps: read_steps(&branch.steps, stations)? });
        }
        Ok(read)
    }
}

fn read_steps(steps: &[Spanned<StepText>], stations: &[(Node, Option<f64>)]) -> Result<Vec<Step>, Misplaced> {
    steps.iter().map(|step| step.get_ref().read(stations)).collect()
}

impl StepText {
    fn read(&self, stations: &[(Node, Option<f64>)]) -> Result<Step, Misplaced> {
        let name = self.station.get_ref();
        let Some(station) = stations.iter().position(|(node, _)| node.name == *name) else {
            let known: Vec<&str> = stations.iter().map(|(node, _)| node.name.as_str()).collect();
            return Err(at(&self.station, "station", crate::message::unknown("station", name, &known)));
        };
        let demand = match (stations[station].1, &self.demand, &self.size) {
            (Some(rate), None, None) => Demand::carried(rate),
            (Some(rate), None, Some(text)) => {
                let size = Law::parse(text.get_ref(), Dimension::Size).map_err(|e| at(text, "size", e.to_string()))?;
                if size.limits().0 < 0.0 {
                    return Err(at(text, "size", "a size is not negative"));
                }
                Demand::message(size, rate)
            }
            (Some(_), Some(demand), _) => {
                let right = format!("`{name}` is a link: it carries the job's size, or `size = \"500 B\"` of its own");
                return Err(at(demand, "demand", right));
            }
            (None, _, Some(size)) => return Err(at(size, "size", format!("only a link has it; `{name}` has no rate"))),
            (None, Some(demand), None) => {
                Demand::parse(demand.get_ref()).map_err(|message| at(demand, "demand", message))?
            }
            (None, None, None) => {
                let right = format!("what work is it at `{name}`? e.g. demand = \"1 ms + 1 us/B\"");
                return Err(at(&self.station, "demand", right));
            }
        };
        Ok(Step { station, demand, visits: self.visits.as_ref().map_or(1, |visits| *visits.get_ref()) })
    }
}

impl CacheText {
    fn read(&self, folder: Option<&Path>) -> Result<Cache, Misplaced> {
        let keeps = self.keeps()?;
        let objects = self.objects.as_ref();
        match (self.popularity.get_ref(), objects) {
            (toml::Value::Array(weights), None) => {
                let number = |value: &toml::Value| value.as_float().or(value.as_integer().map(|whole| whole as f64));
                let weights: Option<Vec<f64>> = weights.iter().map(number).collect();
                self.weighted(keeps, weights.ok_or("one number per object, e.g. [5, 3, 1]".into()))
            }
            (toml::Value::String(file), None) => {
                let beside = folder.map(|folder| folder.join(file));
                let path = beside.filter(|_| !Path::new(file).exists()).unwrap_or_else(|| file.into());
                let text = input::text(&path)
                    .map_err(|e| at(&self.popularity, "popularity", format!("cannot read {}: {e}", path.display())))?;
                let lines = text.lines().filter(|line| !line.trim().is_empty());
                let weights: Result<Vec<f64>, _> = lines
                    .map(|line| line.trim().parse().map_err(|_| format!("`{}` in {file} is no number", line.trim())))
                    .collect();
                self.weighted(keeps, weights)
            }
            (toml::Value::Array(_) | toml::Value::String(_), Some(objects)) => {
                Err(at(objects, "objects", "`popularity` has one number per object already; leave it out"))
            }
            (value, objects) => {
                let exponent = value.as_float().or(value.as_integer().map(|whole| whole as f64));
                let Some(exponent) = exponent.filter(|s| (0.0..=10.0).contains(s)) else {
                    let right = "Zipf's exponent, from 0 to 10; a list of weights; or a file with a number per line";
                    return Err(at(&self.popularity, "popularity", right));
                };
                match objects {
                    None => Err(at(&self.policy, "objects", "how many can be asked for? e.g. objects = 1000")),
                    Some(objects) if !(1..=OBJECTS_LIMIT).contains(objects.get_ref()) => {
                        Err(at(objects, "objects", format!("from 1 to {OBJECTS_LIMIT}")))
                    }
                    Some(objects) => Ok(Cache::zipf(keeps, *objects.get_ref(), exponent)),
                }
            }
        }
    }

    fn weighted(&self, keeps: Keeps, weights: Result<Vec<f64>, String>) -> Result<Cache, Misplaced> {
        match weights {
            Ok(weights) if !weights.is_empty() && weights.iter().all(|w| *w > 0.0 && w.is_finite()) => {
                Ok(Cache::weighted(keeps, weights))
            }
            Ok(_) => Err(at(&self.popularity, "popularity", "weights are above 0, one per object")),
            Err(message) => Err(at(&self.popularity, "popularity", message)),
        }
    }

    fn keeps(&self) -> Result<Keeps, Misplaced> {
        let policy = self.policy.get_ref().as_str();
        if policy == "ttl" {
            if let Some(size) = &self.size {
                return Err(at(size, "size", "a ttl cache keeps every object for its time; leave it out"));
            }
            let Some(text) = &self.ttl else {
                return Err(at(&self.policy, "policy", "how long is an object kept? e.g. ttl = \"60 s\""));
            };
            let ttl_s = quantity::parse(text.get_ref(), Dimension::Time).map_err(|e| at(text, "ttl", e.to_string()))?;
            let renewed = self.renewed.as_ref().is_some_and(|renewed| *renewed.get_ref());
            return Ok(Keeps::Ttl { ttl: Span::from_secs_f64(ttl_s), renewed });
        }
        if !["lru", "lfu"].contains(&policy) {
            let message = crate::message::unknown("policy of a cache", policy, &["lru", "lfu", "ttl"]);
            return Err(at(&self.policy, "policy", message));
        }
        if let Some(ttl) = &self.ttl {
            return Err(at(ttl, "ttl", format!("only the policy ttl has it, not {policy}")));
        }
        if let Some(renewed) = &self.renewed {
            return Err(at(renewed, "renewed", format!("only the policy ttl has it, not {policy}")));
        }
        let Some(size) = &self.size else {
            return Err(at(&self.policy, "size", "how much does it hold? size = 100 (objects) or size = \"100 MB\""));
        };
        let room = match size.get_ref() {
            toml::Value::Integer(objects) if *objects > 0 => Room::Objects(*objects as u64),
            toml::Value::String(text) => {
                let bytes = quantity::parse(text, Dimension::Size).map_err(|e| at(size, "size", e.to_string()))?;
                Room::Bytes(bytes as u64)
            }
            _ => return Err(at(size, "size", "a number of objects above 0, as in 100, or bytes, as in \"100 MB\"")),
        };
        Ok(if policy == "lru" { Keeps::Lru(room) } else { Keeps::Lfu(room) })
    }
}
