//! From a network as it is written to its means.

use sojourn_model::Discipline;
use sojourn_model::network::{Chain, Keeps, Kind, Network, Population, Step};

use super::bounds::{Bounds, highest_throughputs};
use super::demands::{Demands, Steady};
use super::visits::{VisitTime, Visits, outside_product_form};
use super::{convolution, fixed_point, hit_ratios, mva};
use crate::answer::Unanswered;
use crate::answer::brief;
use crate::cache::{self, HitRatio};

/// Populations that mean value analysis goes through at most, times chains and stations: some seconds.
const MVA_LIMIT: f64 = 2e9;
/// Numbers that convolution computes at most: the same.
const CONVOLUTION_LIMIT: f64 = 5e8;

/// Solution of a network: its means in the steady state.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Throughput of each chain (1/s).
    pub throughput: Vec<f64>,
    /// Mean response time of each chain, thinking apart (s).
    pub response_time_mean_s: Vec<f64>,
    /// Mean response time of the jobs that take each branch, by chain (s).
    pub branch_response_time_mean_s: Vec<Vec<f64>>,
    /// Share of the jobs and their mean response time (s), by chain and class of sizes that the chain tells apart.
    /// Empty where one of its queues serves in order work that depends on the size, or where a cache chooses the way.
    pub size_classes: Vec<Vec<(f64, f64)>>,
    /// Share of each chain's jobs that takes each branch.
    pub shares: Vec<Vec<f64>>,
    /// Hit ratio of each chain's cache.
    pub hit_ratios: Vec<Option<HitRatio>>,
    /// Means of each station.
    pub stations: Vec<StationMeans>,
    /// Mean number of each chain's jobs at each station.
    pub numbers: Vec<Vec<f64>>,
    /// Exactness: whether these are the means themselves.
    pub exact: bool,
    /// Bottleneck: the index of the station with the highest load; none where all are delays.
    pub bottleneck: Option<usize>,
    /// Bounds of the only chain, where there are users of one kind alone and all is within product form.
    pub bounds: Option<Bounds>,
    /// Upper bound of the throughput of each closed chain (1/s), whatever the disciplines; none of open chains.
    pub highest_throughput: Vec<Option<f64>>,
    /// Notes, one line per formula and assumption.
    pub notes: Vec<String>,
}

/// Means of a station in the steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationMeans {
    /// Utilisation: work done over the most that could be done; none at a delay.
    pub utilization: Option<f64>,
    /// Load: work done over the work done when all cores are busy, below 1 in a steady state; none at a delay.
    pub load: Option<f64>,
    /// Mean number of jobs there.
    pub queue_length_mean: f64,
    /// Throughput: visits per second.
    pub throughput: f64,
    /// Mean time of a visit (s); 0 where there are none.
    pub response_time_mean_s: f64,
    /// Forced flow: whether utilisation and throughput follow from arrivals from outside alone, whatever the queues do.
    pub is_forced: bool,
}

/// Solution of `network` by the method that fits it.
///
/// # Errors
/// [`Unanswered`] where an open chain asks too much of a station, gaps between arrivals are not exponential, a demand
/// has no mean, or no formula is known.
pub fn solve(network: &Network) -> Result<Solution, Unanswered> {
    let mut ratios = hit_ratios(network);
    if let Some(unstable) = network.unstable(&ratios) {
        return Err(Unanswered(format!(
            "`{}` is open, and the station `{}` would be asked for {} of what it can do: arrivals must stay below {} /s",
            network.chains[unstable.chain].name,
            network.stations[unstable.station].name,
            brief(unstable.load),
            brief(unstable.largest_rate)
        )));
    }
    for chain in &network.chains {
        match &chain.population {
            Population::Open { gaps } if !gaps.is_exponential() => {
                return Err(Unanswered(format!(
                    "no formula for a network that `{}` enters with gaps that are not exponential: sim answers this",
                    chain.name
                )));
            }
            Population::Closed { think, .. } if !think.mean().is_finite() => {
                return Err(Unanswered(format!("the think time of `{}` has no mean", chain.name)));
            }
            _ => {}
        }
    }
    // Only objects that live for a time and are asked for by users have a ratio that depends on the solution.
    let is_tied = |chain: &sojourn_model::network::Chain| {
        chain.arrival_rate().is_none() && chain.cache.as_ref().is_some_and(|of| matches!(of.keeps, Keeps::Ttl { .. }))
    };
    let mut solution = solve_with(network, &ratios)?;
    for _ in 0..1000 {
        let mut moved = 0.0f64;
        for (number, chain) in network.chains.iter().enumerate().filter(|(_, chain)| is_tied(chain)) {
            let cache = chain.cache.as_ref().expect("it has one");
            let ratio = cache::hit_ratio(cache, chain.size_mean(), solution.throughput[number]).value;
            moved = moved.max((ratio - ratios[number]).abs());
            ratios[number] = ratio;
        }
        if moved < 1e-12 {
            return Ok(solution);
        }
        solution = solve_with(network, &ratios)?;
    }
    Err(Unanswered("the hit ratio and the throughput that it depends on do not settle: sim answers this".into()))
}

fn solve_with(network: &Network, ratios: &[f64]) -> Result<Solution, Unanswered> {
    let visits = Visits::of(network, ratios);
    for (chain, work_s) in network.chains.iter().zip(&visits.work_s) {
        if let Some(station) = work_s.iter().position(|work_s| !work_s.is_finite()) {
            let name = &network.stations[station].name;
            return Err(Unanswered(format!(
                "the demand of `{}` at `{name}` has no mean: sim answers this",
                chain.name
            )));
        }
    }
    let mut notes = Vec::new();
    let mut outside = Vec::new();
    for (station, node) in network.stations.iter().enumerate() {
        if let Some(why) = outside_product_form(network, &visits, station) {
            notes.push(format!(
                "`{}`: {why}; taken as a delay, of what M/G/1 under limited PS takes at its throughput (Fujita 2000, \
                 section 4.3)",
                node.name
            ));
            outside.push(station);
        }
    }
    let method = Method::of(&visits.demands(network, &placeholders(network, &outside)));
    notes.insert(0, format!("formula: {}", method.name()));
    let found = fixed_point::solve(network, &visits, &outside, &|demands| method.solve(demands))?;
    let fixed_point::Found { steady, throughput, taken_as } = found;

    let hits: Vec<Option<HitRatio>> = network
        .chains
        .iter()
        .zip(&throughput)
        .map(|(chain, rate)| chain.cache.as_ref().map(|cache| cache::hit_ratio(cache, chain.size_mean(), *rate)))
        .collect();
    for (chain, hit) in network.chains.iter().zip(&hits) {
        let Some(hit) = hit else { continue };
        let how = if hit.exact { "exact" } else { "approximate" };
        notes.push(format!(
            "cache of `{}`: {}, {how}; hits are taken to be independent of each other",
            chain.name, hit.formula
        ));
    }
    // The most popular ones, kept for good, are hit independently; under all else hits come in runs.
    let independent = network.chains.iter().zip(&hits).all(|(chain, hit)| match (&chain.cache, hit) {
        (Some(cache), Some(hit)) => hit.exact && matches!(cache.keeps, Keeps::Lfu(_)),
        _ => true,
    });
    let exact = outside.is_empty() && method.is_exact() && independent;

    let (mut closed, mut open) = (steady.closed.iter(), steady.open.iter());
    let numbers: Vec<Vec<f64>> = network
        .chains
        .iter()
        .map(|chain| match chain.population {
            Population::Closed { .. } => closed.next(),
            Population::Open { .. } => open.next(),
        })
        .map(|row| row.expect("a row per chain").clone())
        .collect();
    let times = visit_times(network, &visits, &throughput, &numbers, &taken_as);
    let stations = station_means(network, &visits, &throughput, &numbers, &hits);
    let loads = |station: &usize| stations[*station].load.unwrap_or(-1.0);
    let bottleneck = (0..stations.len())
        .filter(|station| stations[*station].load.is_some())
        .max_by(|one, other| loads(one).total_cmp(&loads(other)));
    let by_branch: Vec<Vec<f64>> =
        network.chains.iter().zip(&times).map(|(chain, times)| branch_times(chain, times, chain.size_mean())).collect();
    let size_classes = network.chains.iter().zip(&times).zip(&visits.shares);
    let size_classes = size_classes
        .map(|((chain, times), shares)| {
            let known = chain.cache.is_none() && is_proportional(network, chain, &taken_as);
            let classes = chain.size_classes().into_iter().filter(|_| known);
            let mean = |size: f64| -> f64 {
                branch_times(chain, times, size).iter().zip(shares).map(|(of, share)| of * share).sum()
            };
            classes.map(|(share, size)| (share, mean(size))).collect()
        })
        .collect();
    // As the work is: a delay in a station's place is longer than a job needs.
    let mut highest = highest_throughputs(&visits.demands(network, &vec![None; network.stations.len()])).into_iter();
    let highest_throughput =
        network.chains.iter().map(|chain| if chain.arrival_rate().is_none() { highest.next() } else { None }).collect();
    let response = |(row, rate): (&Vec<f64>, &f64)| row.iter().sum::<f64>() / rate;
    Ok(Solution {
        response_time_mean_s: numbers.iter().zip(&throughput).map(response).collect(),
        throughput,
        branch_response_time_mean_s: by_branch,
        size_classes,
        shares: visits.shares.clone(),
        hit_ratios: hits,
        stations,
        bounds: outside.is_empty().then(|| Bounds::of(&visits.demands(network, &taken_as))).flatten(),
        highest_throughput,
        numbers,
        exact,
        bottleneck,
        notes,
    })
}

/// How product form is solved.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    /// All that is open: a station is a queue of its own.
    Open,
    Mva,
    Convolution,
    Schweitzer,
}

impl Method {
    fn of(demands: &Demands) -> Method {
        let fixed = demands.stations.iter().all(|serving| *serving == super::Serving::Delay || serving.is_fixed_rate());
        let work = demands.lattice() * demands.stations.len() as f64 * demands.closed.len() as f64;
        match () {
            () if demands.closed.is_empty() => Method::Open,
            () if fixed && work <= MVA_LIMIT => Method::Mva,
            () if !fixed && convolution::cost(demands) <= CONVOLUTION_LIMIT => Method::Convolution,
            () => Method::Schweitzer,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Method::Open => "open network of product form (Jackson 1963; Baskett et al. 1975)",
            Method::Mva => "mean value analysis of product form (Reiser and Lavenberg 1980)",
            Method::Convolution => "convolution of product form (Buzen 1973)",
            Method::Schweitzer => "Schweitzer's approximation (1979): too many populations for the exact analysis",
        }
    }

    fn is_exact(self) -> bool {
        self != Method::Schweitzer
    }

    fn solve(self, demands: &Demands) -> Result<Steady, Unanswered> {
        let steady = match self {
            Method::Mva => mva::exact(demands),
            // Without closed chains a single number is left of the populations.
            Method::Open | Method::Convolution => convolution::exact(demands),
            Method::Schweitzer => mva::schweitzer(demands),
        };
        steady.ok_or_else(|| Unanswered("open chains ask a station for more than it can do".into()))
    }
}

/// Any delay in place of each of `outside`, to see what is left.
fn placeholders(network: &Network, outside: &[usize]) -> Vec<Option<VisitTime>> {
    (0..network.stations.len()).map(|station| outside.contains(&station).then(VisitTime::default)).collect()
}

/// How long a visit takes, by chain and station. In a queue all exponential visits are of one mean, and under PS they
/// take time in proportion to their work: either way a visit is its part of the work.
fn visit_times(
    network: &Network,
    visits: &Visits,
    throughput: &[f64],
    numbers: &[Vec<f64>],
    taken_as: &[Option<VisitTime>],
) -> Vec<Vec<VisitTime>> {
    let of = |chain: usize, station: usize| match taken_as[station] {
        Some(time) => time,
        None => {
            let work = throughput[chain] * visits.work_s[chain][station];
            let per_work = if work > 0.0 { numbers[chain][station] / work } else { 0.0 };
            VisitTime { wait_s: 0.0, per_work }
        }
    };
    let stations = network.stations.len();
    (0..network.chains.len()).map(|chain| (0..stations).map(|station| of(chain, station)).collect()).collect()
}

/// Mean response time (s) by branch of those jobs of `chain` that carry `size` bytes in the mean.
fn branch_times(chain: &Chain, times: &[VisitTime], size: f64) -> Vec<f64> {
    let step = |step: &Step| {
        let VisitTime { wait_s, per_work } = times[step.station];
        f64::from(step.visits) * (wait_s + per_work * step.demand.moments(size, 0.0).0)
    };
    chain.branches.iter().map(|branch| branch.steps.iter().map(step).sum()).collect()
}

/// Whether a visit whose work depends on the size takes time in proportion to its own work, or to that after a wait: at
/// delays, under PS (each slice of the work is a phase of its own, and phases of a symmetric queue are visited in
/// proportion to their work; Kelly 1979, section 3.3), and where a delay is in the station's place.
fn is_proportional(network: &Network, chain: &Chain, taken_as: &[Option<VisitTime>]) -> bool {
    let of = |step: &Step| {
        let kind = &network.stations[step.station].kind;
        let shares = matches!(kind, Kind::Delay | Kind::Queue { discipline: Discipline::Ps, .. });
        step.demand.per_byte == 0.0 || shares || taken_as[step.station].is_some()
    };
    chain.branches.iter().flat_map(|branch| &branch.steps).all(of)
}

fn station_means(
    network: &Network,
    visits: &Visits,
    throughput: &[f64],
    numbers: &[Vec<f64>],
    hits: &[Option<HitRatio>],
) -> Vec<StationMeans> {
    let of = |station: usize| {
        let node = &network.stations[station];
        let sum =
            |table: &[Vec<f64>]| -> f64 { table.iter().zip(throughput).map(|(row, rate)| row[station] * rate).sum() };
        let (visits_per_s, work) = (sum(&visits.count), sum(&visits.work_s));
        let queue_length_mean = numbers.iter().map(|row| row[station]).sum::<f64>();
        let is_forced = network.chains.iter().zip(hits).zip(&visits.count).all(|((chain, hit), count)| {
            count[station] == 0.0 || (chain.arrival_rate().is_some() && hit.is_none_or(|hit| hit.exact))
        });
        StationMeans {
            utilization: (!node.is_delay()).then(|| work / node.largest_rate()),
            load: (!node.is_delay()).then(|| work / node.saturated_rate()),
            queue_length_mean,
            throughput: visits_per_s,
            response_time_mean_s: if visits_per_s > 0.0 { queue_length_mean / visits_per_s } else { 0.0 },
            is_forced,
        }
    };
    (0..network.stations.len()).map(of).collect()
}
