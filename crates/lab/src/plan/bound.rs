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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::variants::Experiment;

    fn bound(text: &str, objective: &str) -> Option<(f64, Reason)> {
        let file = Experiment::new(Path::new("x.toml"), text.into(), &[]).unwrap_or_else(|error| panic!("{error}"));
        let experiment = file.variants().unwrap_or_else(|error| panic!("{error}")).remove(0).experiment;
        Bound::of(&Objective::parse(objective).unwrap(), &experiment).map(|bound| (bound.best, bound.reason))
    }

    fn is_near(found: Option<(f64, Reason)>, wanted: f64, reason: Reason) {
        let (best, why) = found.expect("there is a bound");
        assert!(
            (best - wanted).abs() < 1e-9 * wanted && why == reason,
            "{best} for {why:?}, not {wanted} for {reason:?}"
        );
    }

    const OPEN: &str = "kind = \"open\"\narrivals = \"exponential(rate = 100 /s)\"\nsize = \"constant(1000 B)\"\n";
    const CLOSED: &str = "kind = \"closed\"\nusers = 10\nthink = \"1 s\"\nsize = \"constant(1000 B)\"\n";

    /// Two servers, the faster of speed 2, over a round trip of 30 ms.
    fn system(workload: &str, demand: &str, cores: u32) -> String {
        format!(
            "name = \"x\"\n[workload]\n{workload}[[system.tier]]\nface = \"gateway\"\npolicy = \"random\"\n\
             targets = {{ servers = 2, speeds = [1, 2] }}\n[system.server]\ndiscipline = \"ps\"\ndemand = \"{demand}\"\n\
             cores = {cores}\n[system.network]\nrtt = \"30 ms\"\n[run]\nduration = \"10 s\"\n"
        )
    }

    #[test]
    fn a_request_that_never_waits_takes_its_way_and_its_work_on_the_fastest_server() {
        let constant = system(OPEN, "20 ms", 8);
        is_near(bound(&constant, "mean < 1 s"), 0.03 + 0.01, Reason::Mean);
        is_near(bound(&constant, "p99 < 1 s"), 0.03 + 0.01, Reason::Quantile(0.99));
        let random = system(OPEN, "exponential(mean = 20 ms)", 8);
        is_near(bound(&random, "p90 < 1 s"), 0.03 + 0.01 * 10f64.ln(), Reason::Quantile(0.9));
        // 10 ms and 1000 B of 10 us each.
        let by_size = system(OPEN, "10 ms + 10 us/B", 8);
        is_near(bound(&by_size, "p50 < 1 s"), 0.03 + 0.01, Reason::Quantile(0.5));
        // The larger of either part with the least of the other: 19 in 20 exponentials of 10 kB are 30 kB at most.
        let sizes = OPEN.replace("constant(1000 B)", "exponential(mean = 10 kB)");
        let p95 = bound(&system(&sizes, "10 ms + 10 us/B", 8), "p95 < 1 s");
        is_near(p95, 0.03 + (0.01 + 0.1 * 20f64.ln()) / 2.0, Reason::Quantile(0.95));
        // Where those who wait leave, they are in no mean.
        let impatient = format!("{OPEN}patience = \"1 s\"\n");
        assert_eq!(bound(&system(&impatient, "20 ms", 8), "mean < 1 s"), None);
        assert_eq!(bound(&constant, "mean > 1 s"), None);
    }

    #[test]
    fn no_more_is_done_than_is_asked_for_or_than_the_cores_can_do() {
        is_near(bound(&system(OPEN, "20 ms", 1), "throughput > 1 /s"), 100.0, Reason::Arrivals);
        // One core and one of twice the speed.
        is_near(bound(&system(OPEN, "40 ms", 1), "throughput > 1 /s"), 75.0, Reason::Cores);
        is_near(bound(&system(CLOSED, "20 ms", 1), "throughput > 1 /s"), 10.0 / 1.04, Reason::Users);
        is_near(bound(&system(CLOSED, "400 ms", 1), "throughput > 1 /s"), 7.5, Reason::Cores);
    }

    /// A disk that three chains share, a link and a way.
    #[test]
    fn a_job_alone_in_a_network_takes_its_work_and_no_more() {
        let text = r#"
name = "x"
[[station]]
name = "disk"
discipline = "ps"
speed = 2
[[station]]
name = "line"
rate = "80 kbit/s"
[[station]]
name = "far"
discipline = "delay"
[[chain]]
name = "pages"
arrivals = "exponential(rate = 4 /s)"
size = "constant(1000 B)"
steps = [{ station = "disk", demand = "40 ms" }, { station = "line" }, { station = "far", demand = "300 ms" }]
[[chain]]
name = "few"
users = 2
think = "1 s"
steps = [{ station = "disk", demand = "200 ms" }]
[[chain]]
name = "many"
users = 50
think = "1 s"
steps = [{ station = "disk", demand = "200 ms" }]
"#;
        // 40 ms at twice the speed, 8000 bits at 80 kbit/s, and the way.
        is_near(bound(text, "response_time_mean_pages < 1 s"), 0.02 + 0.1 + 0.3, Reason::Mean);
        is_near(bound(text, "response_time_mean_few < 1 s"), 0.1, Reason::Mean);
        is_near(bound(text, "response_time_mean < 1 s"), 0.1, Reason::Mean);
        is_near(bound(text, "throughput_pages > 1 /s"), 4.0, Reason::Arrivals);
        is_near(bound(text, "throughput_few > 1 /s"), 2.0 / 1.1, Reason::Users);
        is_near(bound(text, "throughput_many > 1 /s"), 10.0, Reason::Cores);
        let (all, _) = bound(text, "throughput > 1 /s").unwrap();
        assert!((all - (4.0 + 2.0 / 1.1 + 10.0)).abs() < 1e-9, "{all}");
    }
}
