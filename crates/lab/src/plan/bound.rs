//! What no system can beat: the best that an objective's metric could be if no request ever waited.
//!
//! A request is on its way and at work at least as long as its own work takes on the fastest server, whatever else is there,
//! so mean and percentiles of the response time are no lower than those of the work. No more requests are answered than
//! come, or than the cores can do. These bounds hold for every discipline, policy and law of arrivals; the price is that
//! most objectives that cannot be met are well inside of them, and then nothing is said here.
//!
//! Not where clients give up (those who wait leave the sample), where users browse (a page is many requests) or where a
//! delay curve has taken the place of the work.

use std::fmt;

use sojourn_model::Discipline;
use sojourn_model::network::{Chain, Kind, Network, Population};
use sojourn_traffic::Workload;

use crate::engine::theory::size_law;
use crate::objective::Objective;
use crate::report::number::{quantity, significant};
use crate::spec::{Question, Spec, SystemQuestion};

/// The best value of a metric, and what keeps it from being better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    /// In the metric's SI unit: nothing lower for an objective below its limit, nothing higher for one above it.
    pub(super) best: f64,
    pub(super) reason: Reason,
}

/// What keeps a metric from being better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reason {
    /// The mean work and the way.
    Mean,
    /// This quantile of the work, and the way.
    Quantile(f64),
    /// No more come.
    Arrivals,
    /// So many users ask no faster, even if they are answered without waiting.
    Users,
    /// The cores have no more time.
    Cores,
}

impl Bound {
    /// The bound of `objective` in the system of `experiment`; none where nothing is known.
    pub(super) fn of(objective: &Objective, experiment: &Spec) -> Option<Bound> {
        let asked = match &experiment.question {
            Question::Network(network) => return in_network(objective, network),
            Question::System(asked) => &**asked,
        };
        match (objective.metric.as_str(), objective.below) {
            ("response_time_mean", true) => {
                let work_s = unhindered(asked)?.mean_s(asked);
                Some(Bound { best: work_s, reason: Reason::Mean })
            }
            ("throughput", false) => throughput(asked),
            (metric, true) => {
                let p = metric.strip_prefix("response_time_p")?.parse::<f64>().ok()? / 100.0;
                let best = unhindered(asked)?.quantile_s(asked, p)?;
                Some(Bound { best, reason: Reason::Quantile(p) })
            }
            _ => None,
        }
    }

    /// The better of two, for `objective`.
    pub(super) fn or(self, other: Bound, objective: &Objective) -> Bound {
        let is_better = if objective.below { other.best < self.best } else { other.best > self.best };
        if is_better { other } else { self }
    }

    /// Why no system meets `objective`; none where one might.
    pub(super) fn against(&self, objective: &Objective) -> Option<String> {
        (!objective.met(self.best)).then(|| format!("`{}`: {self}", objective.text))
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, rate) = (quantity(self.best, "s"), format!("{} /s", significant(self.best)));
        let time = time.replace('\u{a0}', " ");
        match self.reason {
            Reason::Mean => write!(f, "without any waiting a request takes {time} in the mean"),
            Reason::Quantile(p) => {
                let share = ((1.0 - p) * 1e6).round() / 1e4;
                write!(f, "without any waiting {share} % of the requests take {time} and more")
            }
            Reason::Arrivals => write!(f, "no more than {rate} come"),
            Reason::Users => write!(f, "so many users ask no faster than {rate}, even if they never wait"),
            Reason::Cores => write!(f, "no cores that may be chosen do more than {rate}"),
        }
    }
}

/// A request that never waits.
struct Unhindered {
    path_s: f64,
    /// Of the fastest server.
    speed: f64,
}

/// None where the bounds of times do not hold.
fn unhindered(asked: &SystemQuestion) -> Option<Unhindered> {
    let (system, network) = (&asked.system, &asked.system.network);
    let patience = match &asked.workload {
        Workload::Open(open) => &open.patience,
        Workload::Closed(closed) => &closed.patience,
        Workload::Trace(traced) => &traced.patience,
        Workload::Replay(_) | Workload::Sessions(_) => return None,
    };
    let speed = system.servers().map(|server| server.speed).fold(0.0, f64::max);
    if patience.is_some() || has_curve(asked) || speed <= 0.0 {
        return None;
    }
    let links = [network.client_link(), network.cluster_link()];
    Some(Unhindered { path_s: links.iter().map(|link| 2.0 * link.delay.as_secs_f64()).sum(), speed })
}

/// Whether demands play no part.
fn has_curve(asked: &SystemQuestion) -> bool {
    asked.system.servers().any(|server| matches!(server.discipline, Discipline::DelayCurve(_)))
}

impl Unhindered {
    fn mean_s(&self, asked: &SystemQuestion) -> f64 {
        self.path_s + asked.demand_moments().0 / self.speed
    }

    /// At least the quantile of either part of the work with the least of the other: which of them are long together does
    /// not matter then.
    fn quantile_s(&self, asked: &SystemQuestion, p: f64) -> Option<f64> {
        if !(p > 0.0 && p < 1.0) || asked.workload.demand_moments().is_some() {
            return None;
        }
        // Of several classes no bound is known.
        let classes = asked.workload.classes();
        let [class] = classes[..] else { return None };
        let demand = asked.system.hosts[0].server.demand(class);
        let mut work_s = demand.fixed.quantile(p).ok()?;
        if let Some(sizes) = size_law(asked, 0).filter(|_| demand.per_byte > 0.0) {
            let by_fixed = work_s + demand.per_byte * sizes.limits().0.max(0.0);
            let by_size =
                sizes.quantile(p).map_or(0.0, |size| demand.fixed.limits().0.max(0.0) + demand.per_byte * size);
            work_s = by_fixed.max(by_size);
        }
        Some(self.path_s + work_s / self.speed)
    }
}

fn throughput(asked: &SystemQuestion) -> Option<Bound> {
    let most = match &asked.workload {
        Workload::Open(open) => Bound { best: open.arrivals.peak_rate()?, reason: Reason::Arrivals },
        Workload::Trace(traced) => Bound { best: traced.rate(), reason: Reason::Arrivals },
        Workload::Closed(closed) => {
            let cycle_s = closed.think.mean() + unhindered(asked)?.mean_s(asked);
            Bound { best: f64::from(closed.users) / cycle_s, reason: Reason::Users }
        }
        Workload::Replay(_) | Workload::Sessions(_) => return None,
    };
    Some(if has_curve(asked) { most } else { tighter(most, asked.capacity()) })
}

/// No more than the cores do, either.
fn tighter(asked: Bound, capacity: f64) -> Bound {
    if capacity < asked.best { Bound { best: capacity, reason: Reason::Cores } } else { asked }
}

/// Of means and throughputs, of a chain or of all together.
fn in_network(objective: &Objective, network: &Network) -> Option<Bound> {
    let chain = |name: &str| network.chains.iter().find(|chain| chain.name == name);
    let all = || network.chains.iter();
    match (objective.metric.as_str(), objective.below) {
        ("response_time_mean", true) => {
            let times: Option<Vec<f64>> = all().map(|chain| alone_s(network, chain)).collect();
            let best = times?.into_iter().fold(f64::INFINITY, f64::min);
            Some(Bound { best, reason: Reason::Mean })
        }
        ("throughput", false) => {
            let rates: Option<Vec<Bound>> = all().map(|chain| rate(network, chain)).collect();
            let rates = rates?;
            let slowest = rates.iter().max_by(|one, other| one.best.total_cmp(&other.best))?;
            Some(Bound { best: rates.iter().map(|bound| bound.best).sum(), reason: slowest.reason })
        }
        (metric, true) => {
            let chain = chain(metric.strip_prefix("response_time_mean_")?)?;
            Some(Bound { best: alone_s(network, chain)?, reason: Reason::Mean })
        }
        (metric, false) => rate(network, chain(metric.strip_prefix("throughput_")?)?),
    }
}

/// The mean time of a job of `chain` that is alone (s); none where a cache chooses its way.
fn alone_s(network: &Network, chain: &Chain) -> Option<f64> {
    if chain.cache.is_some() {
        return None;
    }
    let work_s = network.work(chain, 0.0);
    let of = |(node, work_s): (&sojourn_model::network::Node, &f64)| match &node.kind {
        Kind::Delay => work_s / node.speed,
        // Rates may grow by more than the number there: then company is of use.
        Kind::Queue { rates, .. } => {
            let of_each = rates.iter().zip(1u32..).map(|(rate, jobs)| rate / f64::from(jobs));
            work_s / (node.speed * if rates.is_empty() { 1.0 } else { of_each.fold(0.0, f64::max) })
        }
    };
    Some(network.stations.iter().zip(&work_s).map(of).sum())
}

/// The most jobs of `chain` per second.
fn rate(network: &Network, chain: &Chain) -> Option<Bound> {
    let asked = match &chain.population {
        Population::Open { gaps } => return Some(Bound { best: 1.0 / gaps.mean(), reason: Reason::Arrivals }),
        Population::Closed { users, think } => {
            let cycle_s = think.mean() + alone_s(network, chain)?;
            Bound { best: f64::from(*users) / cycle_s, reason: Reason::Users }
        }
    };
    let work_s = network.work(chain, 0.0);
    let limits = network.stations.iter().zip(&work_s).map(|(node, work_s)| node.largest_rate() / work_s);
    Some(tighter(asked, limits.filter(|limit| !limit.is_nan()).fold(f64::INFINITY, f64::min)))
}
