//! A network of queues as data: stations, and chains of jobs that visit them.
//!
//! A chain is a class of traffic: open (jobs arrive and leave) or closed (users who think, send a job through the
//! network and think again). A job draws one branch when it enters (a cache's hit or miss, a static or a dynamic page),
//! then takes the steps of the branch in order. Each step is work at a station. The bytes that a job carries are drawn
//! once: its size is the same at every step, so that a long reply is long on the link *and* at the server.
//!
//! This is data only, for `theory` and `sim` alike; [`Text`] reads it from an experiment's `[[station]]` and
//! `[[chain]]`. Steps have a fixed order, and the price is that a loop with a random number of turns cannot be written.
//! Wherever theory knows its means, they are those of its mean number of visits.
//!
//! Both engines answer in the same rows, which carry the names given here:
//!
//! | row | of |
//! |---|---|
//! | `throughput`, `response_time_mean` (`_p90`, ...) | all jobs together, without think times |
//! | `throughput_CHAIN`, `response_time_mean_CHAIN` (`_p90`, ...) | the jobs of a chain |
//! | `share_CHAIN_BRANCH`, `response_time_mean_CHAIN_BRANCH` | the jobs that took a branch, if there are several |
//! | `share_CHAIN_size_N`, `response_time_mean_CHAIN_size_N` | the jobs of class N (from 1) of [`Chain::size_limits`] |
//! | `hit_ratio_CHAIN` | the share that took branch 0, if a cache chooses |
//! | `utilization_STATION` | work done over the most possible: cores x time, or the greatest of `rates`; not of a delay |
//! | `queue_length_mean_STATION` | jobs there, waiting or served |
//! | `throughput_STATION` | visits per second |
//! | `response_time_mean_STATION` | of a visit, from arrival to departure |

mod check;
mod text;

use std::sync::Arc;

use sojourn_stats::{Law, Span, math};

use crate::{Demand, Discipline};

pub use check::{Element, NetworkError, Unstable};
pub use text::{ChainText, StationText, Text};

/// A network of queues.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The stations, in the order of the file.
    pub stations: Vec<Node>,
    /// The chains of jobs that visit them, in the order of the file.
    pub chains: Vec<Chain>,
}

/// A station.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name: letters, digits, `-` and `_`; no other station and no chain has it.
    pub name: String,
    /// How jobs are served.
    pub kind: Kind,
    /// Work done per second of core time; 1 is the reference.
    pub speed: f64,
}

/// How a station serves.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Every job is served at once (an infinite server): a backbone's delay, a user's terminal.
    Delay,
    /// Jobs wait or share.
    Queue {
        /// Any but priorities (jobs have no class) and a delay curve.
        discipline: Discipline,
        /// Cores; a job uses at most one. 1 where there are `rates`.
        cores: u32,
        /// Work done per second (at speed 1) with 1, 2, 3, ... jobs inside, shared equally; the last rate also holds
        /// for more jobs. PS only. Empty: one per core in use.
        rates: Vec<f64>,
    },
}

/// Jobs of one class of traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// Its name, as [`Node::name`].
    pub name: String,
    /// The number of its users, or its arrivals.
    pub population: Population,
    /// Bytes that a job carries, drawn once per job (with a [`Cache`], once per object and run); none: demands do not read it.
    pub size: Option<Law>,
    /// Upper ends (B, ascending) of the classes of sizes that answers tell apart; beyond the last there is one more. Empty: none.
    pub size_limits: Vec<f64>,
    /// Chooses between branch 0 (a hit) and branch 1 (a miss) instead of their shares.
    pub cache: Option<Cache>,
    /// At least one; a job takes one of them.
    pub branches: Vec<Branch>,
}

/// Open or closed: how the jobs of a chain arrive.
#[derive(Clone, Debug, PartialEq)]
pub enum Population {
    /// Jobs arrive from outside, and leave.
    Open {
        /// Gaps between arrivals (s).
        gaps: Law,
    },
    /// A fixed number of users, each with at most one job in the network.
    Closed {
        /// Number of users, at least 1.
        users: u32,
        /// Think time, from the end of a job to the user's next one (s).
        think: Law,
    },
}

/// A route through the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Its name, as [`Node::name`]; unique in its chain.
    pub name: String,
    /// The share of the chain's jobs that take it; 0 under a cache, which chooses itself.
    pub share: f64,
    /// The visits, in order.
    pub steps: Vec<Step>,
}

/// Work at a station.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Number of the station.
    pub station: usize,
    /// Work of one visit: seconds of a core of speed 1, drawn anew at each visit, plus seconds per byte that the job carries.
    /// At a link of C bit/s it is 8/C seconds per byte.
    pub demand: Demand,
    /// Visits in a row, at least 1; between two visits the job leaves and joins again.
    pub visits: u32,
}

/// A cache that decides whether a job is a hit.
#[derive(Clone, Debug, PartialEq)]
pub struct Cache {
    /// The replacement rule, and the size.
    pub keeps: Keeps,
    /// The probability that a job asks for object 0, 1, ...: positive, not increasing, sum 1. Requests are independent
    /// draws.
    pub popularity: Arc<[f64]>,
}

/// Replacement rules of a cache; a miss brings its object in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keeps {
    /// The most recently used objects.
    Lru(Room),
    /// The most frequently used objects since the beginning, a tie going to the one used last; in the long run the most
    /// popular ones.
    Lfu(Room),
    /// Every object, for a time.
    Ttl {
        /// Time to live.
        ttl: Span,
        /// Whether it counts from the last use, rather than from the miss that brought the object in.
        renewed: bool,
    },
}

/// Size of a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    /// A number of objects.
    Objects(u64),
    /// Bytes: the objects' sizes are draws of [`Chain::size`].
    Bytes(u64),
}

impl Network {
    /// The number of the station called `name`.
    pub fn station(&self, name: &str) -> Option<usize> {
        self.stations.iter().position(|station| station.name == name)
    }

    /// The number of the chain called `name`.
    pub fn chain(&self, name: &str) -> Option<usize> {
        self.chains.iter().position(|chain| chain.name == name)
    }
}

impl Node {
    /// Work done per second with `jobs` inside; infinite at a delay.
    pub fn rate(&self, jobs: u32) -> f64 {
        let work = match &self.kind {
            Kind::Delay if jobs == 0 => 0.0,
            Kind::Delay => f64::INFINITY,
            Kind::Queue { .. } if jobs == 0 => 0.0,
            Kind::Queue { rates, .. } if !rates.is_empty() => rates[(jobs as usize).min(rates.len()) - 1],
            Kind::Queue { discipline, cores, .. } => f64::from(jobs.min(usable_cores(discipline, *cores))),
        };
        work * self.speed
    }

    /// Work done per second when there is as much of it as can be (the last of the rates); infinite at a delay.
    pub fn saturated_rate(&self) -> f64 {
        self.rate(u32::MAX)
    }

    /// Work done per second at best, which utilisation is relative to; infinite at a delay.
    pub fn largest_rate(&self) -> f64 {
        match &self.kind {
            Kind::Delay => f64::INFINITY,
            Kind::Queue { rates, .. } if !rates.is_empty() => self.speed * rates.iter().copied().fold(0.0, f64::max),
            Kind::Queue { cores, .. } => self.speed * f64::from(*cores),
        }
    }

    /// Time on a core that `work` takes here.
    pub fn service_time(&self, work: Span) -> Span {
        if self.speed == 1.0 { work } else { Span::from_secs_f64(work.as_secs_f64() / self.speed) }
    }

    /// Whether every job is served at once.
    pub fn is_delay(&self) -> bool {
        matches!(self.kind, Kind::Delay)
    }
}

/// Limited PS with fewer helpers than cores leaves the rest idle.
fn usable_cores(discipline: &Discipline, cores: u32) -> u32 {
    match discipline {
        Discipline::LimitedPs { helpers } => cores.min(*helpers),
        _ => cores,
    }
}

impl Chain {
    /// The part of its jobs that takes each branch; `hit_ratio` is the cache's, and is not read without one.
    pub fn shares(&self, hit_ratio: f64) -> Vec<f64> {
        match self.cache {
            Some(_) => vec![hit_ratio, 1.0 - hit_ratio],
            None => self.branches.iter().map(|branch| branch.share).collect(),
        }
    }

    /// Mean bytes of a job; 0 where it carries none.
    pub fn size_mean(&self) -> f64 {
        self.size.as_ref().map_or(0.0, Law::mean)
    }

    /// The part of the jobs in each class of sizes, and what they carry in the mean (B; of a class without any jobs, 0).
    pub fn size_classes(&self) -> Vec<(f64, f64)> {
        let Some(size) = self.size.as_ref().filter(|_| !self.size_limits.is_empty()) else { return Vec::new() };
        let up_to = self.size_limits.iter().map(|limit| (size.cdf(*limit), size.partial_moment(1, *limit)));
        let mut below = (0.0, 0.0);
        let class = |(chance, moment): (f64, f64)| {
            let (share, part) = (chance - below.0, moment - below.1);
            below = (chance, moment);
            (share, if share > 0.0 { part / share } else { 0.0 })
        };
        up_to.chain([(1.0, size.mean())]).map(class).collect()
    }

    /// Mean work (s at speed 1) of one visit of `step`.
    pub fn demand_mean(&self, step: &Step) -> f64 {
        step.demand.moments(self.size_mean(), 0.0).0
    }

    /// Mean and variance (s, s^2, at speed 1) of the work of one visit of `step`.
    pub fn demand_moments(&self, step: &Step) -> (f64, f64) {
        step.demand.moments(self.size_mean(), self.size.as_ref().map_or(0.0, Law::variance))
    }

    /// Whether the work of a visit of `step` follows the exponential law.
    pub fn demand_is_exponential(&self, step: &Step) -> bool {
        let fixed = &step.demand.fixed;
        match step.demand.per_byte {
            0.0 => fixed.is_exponential(),
            _ => fixed.mean() == 0.0 && self.size.as_ref().is_some_and(Law::is_exponential),
        }
    }

    /// Jobs per second that come from outside; none of users.
    pub fn arrival_rate(&self) -> Option<f64> {
        match &self.population {
            Population::Open { gaps } => Some(1.0 / gaps.mean()),
            Population::Closed { .. } => None,
        }
    }
}

impl Cache {
    /// A cache over `objects` objects of which the i-th is asked for with chance proportional to i^-`exponent`.
    pub fn zipf(keeps: Keeps, objects: u64, exponent: f64) -> Cache {
        let weights: Vec<f64> = (1..=objects).map(|rank| math::pow(rank as f64, -exponent)).collect();
        Cache::weighted(keeps, weights)
    }

    /// A cache over objects that are asked for in proportion to `weights` (positive; put in order here).
    pub fn weighted(keeps: Keeps, mut weights: Vec<f64>) -> Cache {
        weights.sort_by(|one, other| other.total_cmp(one));
        // From the smallest, so that a long tail is not lost in the sum.
        let total: f64 = weights.iter().rev().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        Cache { keeps, popularity: weights.into() }
    }
}
