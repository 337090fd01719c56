//! What the chains of a network ask of its stations, and at which stations that is within product form.

use sojourn_model::Discipline;
use sojourn_model::network::{Chain, Kind, Network, Population, Step};

use super::demands::{ClosedChain, Demands, Serving};

/// Visits and work per job, by chain and station.
#[derive(Clone, Debug)]
pub(super) struct Visits {
    /// The part of each chain's jobs that takes each branch.
    pub(super) shares: Vec<Vec<f64>>,
    /// Mean number of visits.
    pub(super) count: Vec<Vec<f64>>,
    /// Mean work (s at speed 1).
    pub(super) work_s: Vec<Vec<f64>>,
    /// Mean, over jobs, of the sum over visits of the squared work (s^2).
    pub(super) squares_s2: Vec<Vec<f64>>,
}

/// How long a visit takes: `wait_s` + `per_work` for each second of work that it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct VisitTime {
    pub(super) wait_s: f64,
    pub(super) per_work: f64,
}

impl Visits {
    pub(super) fn of(network: &Network, hit_ratios: &[f64]) -> Visits {
        let empty = || vec![vec![0.0; network.stations.len()]; network.chains.len()];
        let (mut count, mut work_s, mut squares_s2) = (empty(), empty(), empty());
        let mut shares = Vec::new();
        for (number, (chain, hit_ratio)) in network.chains.iter().zip(hit_ratios).enumerate() {
            let parts = chain.shares(*hit_ratio);
            for (share, step) in taken(chain, &parts) {
                let (mean, variance) = chain.demand_moments(step);
                let visits = share * f64::from(step.visits);
                count[number][step.station] += visits;
                work_s[number][step.station] += visits * mean;
                squares_s2[number][step.station] += visits * (variance + mean * mean);
            }
            shares.push(parts);
        }
        Visits { shares, count, work_s, squares_s2 }
    }

    /// The network's product form, where `taken_as` says which stations are replaced by a delay, and how long a visit
    /// is there.
    pub(super) fn demands(&self, network: &Network, taken_as: &[Option<VisitTime>]) -> Demands {
        let stations = network.stations.iter().zip(taken_as).map(|(node, replaced)| match (&node.kind, replaced) {
            (Kind::Delay, _) | (_, Some(_)) => Serving::Delay,
            (Kind::Queue { rates, cores, .. }, None) => {
                let steps = if rates.is_empty() { *cores } else { rates.len() as u32 };
                let rates: Vec<f64> = (1..=steps).map(|jobs| node.rate(jobs)).collect();
                // Rates that no longer change are the last one, over and over.
                let settled = rates.iter().rev().take_while(|rate| **rate == rates[rates.len() - 1]).count();
                Serving::Rates(rates[..rates.len() + 1 - settled].to_vec())
            }
        });
        let at = |chain: usize, station: usize| -> f64 {
            let work_s = self.work_s[chain][station];
            match (taken_as[station], network.stations[station].is_delay()) {
                (Some(time), _) => self.count[chain][station] * time.wait_s + time.per_work * work_s,
                (None, true) => work_s / network.stations[station].speed,
                (None, false) => work_s,
            }
        };
        let mut demands = Demands { stations: stations.collect(), ..Demands::default() };
        for (number, chain) in network.chains.iter().enumerate() {
            let row = (0..network.stations.len()).map(|station| at(number, station));
            match &chain.population {
                Population::Closed { users, think } => {
                    demands.closed.push(ClosedChain { users: *users, think_s: think.mean(), demand_s: row.collect() });
                }
                Population::Open { gaps } => demands.open.push(row.map(|work| work / gaps.mean()).collect()),
            }
        }
        demands
    }
}

/// The steps that some job takes, with the part of the jobs.
fn taken<'a>(chain: &'a Chain, shares: &'a [f64]) -> impl Iterator<Item = (f64, &'a Step)> {
    let branches = chain.branches.iter().zip(shares).filter(|(_, share)| **share > 0.0);
    branches.flat_map(|(branch, share)| branch.steps.iter().map(|step| (*share, step)))
}

/// Why `station` is outside product form; none where it is inside: all jobs at once, equal shares for all jobs whatever
/// the demand (Baskett et al. 1975), one core that always serves the last arrival (the same), or a queue, in order or
/// limited sharing, of exponential work with one mean for all jobs that come (Kelly, Reversibility and Stochastic
/// Networks, 1979, section 3.1: any way to part the cores among those present).
pub(super) fn outside_product_form(network: &Network, visits: &Visits, station: usize) -> Option<String> {
    let Kind::Queue { discipline, cores, .. } = &network.stations[station].kind else { return None };
    let places = match discipline {
        Discipline::Ps => return None,
        Discipline::Lcfs { preemptive: true } if *cores == 1 => return None,
        Discipline::Fcfs => *cores,
        Discipline::LimitedPs { helpers } => *helpers,
        other => return Some(format!("no formula for {} inside a network", other.name())),
    };
    let mut most = Some(0u64);
    let mut mean_s: Option<f64> = None;
    let mut why = None;
    for (chain, shares) in network.chains.iter().zip(&visits.shares) {
        let mut comes = false;
        for (_, step) in taken(chain, shares).filter(|(_, step)| step.station == station) {
            comes = true;
            let own_s = chain.demand_mean(step);
            if !chain.demand_is_exponential(step) {
                why.get_or_insert("the work there is not exponential");
            } else if (own_s / *mean_s.get_or_insert(own_s) - 1.0).abs() > 1e-9 {
                why.get_or_insert("the work there has not one mean for all jobs");
            } else if step.demand.per_byte > 0.0 && sizes_read(chain, shares) > 1 {
                why.get_or_insert("the work there is not independent of the job's work elsewhere");
            }
        }
        if comes {
            most = match &chain.population {
                Population::Closed { users, .. } => most.map(|most| most + u64::from(*users)),
                Population::Open { .. } => None,
            };
        }
    }
    // Where there is a place for every job no job waits, and the cores are shared by all.
    why.filter(|_| most.is_none_or(|most| most > u64::from(places))).map(String::from)
}

/// How many visits of a job read its size, at most.
fn sizes_read(chain: &Chain, shares: &[f64]) -> u32 {
    let reads = |branch: &sojourn_model::network::Branch| -> u32 {
        branch.steps.iter().filter(|step| step.demand.per_byte > 0.0).map(|step| step.visits).sum()
    };
    let taken = chain.branches.iter().zip(shares).filter(|(_, share)| **share > 0.0);
    taken.map(|(branch, _)| reads(branch)).max().unwrap_or(0)
}
