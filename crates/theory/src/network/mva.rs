//! Mean value analysis of networks whose stations are delays or serve at a fixed rate.
//!
//! Exact: a job that arrives sees the network in equilibrium with one job less of its own chain (the arrival theorem),
//! so that the means for a population follow from those for smaller ones (Reiser and Lavenberg, J. ACM 27, 1980;
//! Lavenberg and Reiser, J. Applied Probability 17, 1980). Open chains take their share of every station away from the
//! closed ones (mixed networks: Lazowska et al., Quantitative System Performance, 1984, section 7.4.3).
//!
//! The means of all populations would be a table of stations x product of (users + 1). The populations are gone through
//! in the order of their number in a mixed radix, the largest chain outermost, and a population needs those that are
//! one job smaller: at most one turn of all chains but the outermost back. Only that much is kept, a ring that fits
//! into a cache.
//!
//! Stations with several cores or rates have no such recursion that keeps its digits (the probabilities of an empty
//! station are differences of nearly equal numbers): see [`super::convolution`].

use super::demands::{Demands, Serving, Steady};

/// Means of a network of delays and stations of a fixed rate, exactly; none where a station has another rate, or none
/// of the open load can be served.
///
/// Time is proportional to chains x stations x the product of (users + 1), memory to the same product without the
/// largest chain.
pub fn exact(network: &Demands) -> Option<Steady> {
    let reduced = Reduced::of(network)?;
    let count = reduced.queues.len();
    // The largest chain outermost: the ring is one turn of all the others.
    let mut order: Vec<usize> = (0..network.closed.len()).collect();
    order.sort_by_key(|chain| network.closed[*chain].users);
    let users: Vec<usize> = order.iter().map(|chain| network.closed[*chain].users as usize).collect();
    let mut strides = Vec::with_capacity(users.len());
    let mut states = 1;
    for most in &users {
        strides.push(states);
        states *= most + 1;
    }
    let turn = strides.last().copied().unwrap_or(1);
    let demands: Vec<&[f64]> = order.iter().map(|chain| reduced.demand_s[*chain].as_slice()).collect();
    let away: Vec<f64> = order.iter().map(|chain| reduced.away_s[*chain]).collect();

    // Mean numbers at each station, a row per population.
    let mut ring = vec![0.0; turn * count];
    let mut row = vec![0.0; count];
    let mut population = vec![0usize; users.len()];
    let mut throughput = vec![0.0; users.len()];
    let mut closed = vec![vec![0.0; count]; users.len()];
    let mut slot = 0;
    while advance(&mut population, &users) {
        slot = if slot + 1 == turn { 0 } else { slot + 1 };
        let is_last = population == users;
        row.fill(0.0);
        for (place, &jobs) in population.iter().enumerate().filter(|(_, jobs)| **jobs > 0) {
            let before = if slot >= strides[place] { slot - strides[place] } else { slot + turn - strides[place] };
            let seen = &ring[before * count..(before + 1) * count];
            let response: f64 = demands[place].iter().zip(seen).map(|(demand, seen)| demand * (1.0 + seen)).sum();
            let rate = jobs as f64 / (away[place] + response);
            for ((number, demand), seen) in row.iter_mut().zip(demands[place]).zip(seen) {
                *number += rate * demand * (1.0 + seen);
            }
            if is_last {
                throughput[order[place]] = rate;
                closed[order[place]] =
                    demands[place].iter().zip(seen).map(|(demand, seen)| rate * demand * (1.0 + seen)).collect();
            }
        }
        // The outermost chain's predecessor was in this very place: it has been read.
        ring[slot * count..(slot + 1) * count].copy_from_slice(&row);
    }
    Some(reduced.steady(network, throughput, &closed))
}

/// Means of the same network, approximate, by taking what an arrival sees to be its own chain's numbers reduced by one
/// user's share (Schweitzer 1979; Bard 1979): a fixed point, of any population in no time. Stations with several cores
/// or rates are taken to be a delay and a station that works at the last rate (Seidmann, Schweitzer and Shalev-Oren,
/// Large Scale Systems 12, 1987). None where open chains ask for too much.
///
/// Throughput is typically a few per cent low; exact for one user, and in the limit of many.
pub fn schweitzer(network: &Demands) -> Option<Steady> {
    let (fixed, extra) = seidmann(network);
    let reduced = Reduced::of(&fixed)?;
    let count = reduced.queues.len();
    let chains = fixed.closed.len();
    let mut closed: Vec<Vec<f64>> = fixed
        .closed
        .iter()
        .zip(&reduced.demand_s)
        .map(|(chain, demand_s)| {
            let visited = demand_s.iter().filter(|demand| **demand > 0.0).count().max(1);
            demand_s
                .iter()
                .map(|demand| if *demand > 0.0 { f64::from(chain.users) / visited as f64 } else { 0.0 })
                .collect()
        })
        .collect();
    let mut throughput = vec![0.0; chains];
    for _ in 0..100_000 {
        let mut change = 0.0f64;
        for chain in 0..chains {
            let users = f64::from(fixed.closed[chain].users);
            if users == 0.0 {
                continue;
            }
            let times: Vec<f64> = (0..count)
                .map(|i| {
                    let all: f64 = closed.iter().map(|numbers| numbers[i]).sum();
                    reduced.demand_s[chain][i] * (1.0 + all - closed[chain][i] / users)
                })
                .collect();
            let rate = users / (reduced.away_s[chain] + times.iter().sum::<f64>());
            throughput[chain] = rate;
            for (number, time) in closed[chain].iter_mut().zip(times) {
                change = change.max((rate * time - *number).abs() / users);
                *number = rate * time;
            }
        }
        if change < 1e-13 {
            break;
        }
    }
    let mut steady = reduced.steady(&fixed, throughput, &closed);
    for (chain, numbers) in steady.closed.iter_mut().enumerate() {
        for (station, number) in numbers.iter_mut().enumerate() {
            *number += steady.throughput[chain] * network.closed[chain].demand_s[station] * extra[station];
        }
    }
    for (chain, numbers) in steady.open.iter_mut().enumerate() {
        for (station, number) in numbers.iter_mut().enumerate() {
            *number += network.open[chain][station] * extra[station];
        }
    }
    Some(steady)
}

/// The network with stations of a fixed rate only, and the delay per second of work that was split off each.
fn seidmann(network: &Demands) -> (Demands, Vec<f64>) {
    let mut extra = vec![0.0; network.stations.len()];
    let mut fixed = network.clone();
    for (station, serving) in fixed.stations.iter_mut().enumerate() {
        if let Serving::Rates(rates) = serving {
            let (first, last) = (rates[0], rates[rates.len() - 1]);
            extra[station] = (1.0 / first - 1.0 / last).max(0.0);
            *rates = vec![last];
        }
    }
    for chain in &mut fixed.closed {
        chain.think_s += chain.demand_s.iter().zip(&extra).map(|(demand, extra)| demand * extra).sum::<f64>();
    }
    (fixed, extra)
}

/// The queueing stations only, with the time that open chains leave of them.
struct Reduced {
    /// Their numbers in the network.
    queues: Vec<usize>,
    /// The part of each that open chains use.
    open: Vec<f64>,
    /// Per closed chain and queueing station: the demand as it takes there (s).
    demand_s: Vec<Vec<f64>>,
    /// Per closed chain: time where no job waits (s).
    away_s: Vec<f64>,
}

impl Reduced {
    fn of(network: &Demands) -> Option<Reduced> {
        let mut queues = Vec::new();
        let mut open = Vec::new();
        let mut pace = Vec::new();
        for (station, serving) in network.stations.iter().enumerate() {
            let Serving::Rates(rates) = serving else { continue };
            let [rate] = rates.as_slice() else { return None };
            let used = network.open_work(station) / rate;
            if used.is_nan() || used >= 1.0 {
                return None;
            }
            queues.push(station);
            open.push(used);
            pace.push(1.0 / (rate * (1.0 - used)));
        }
        let demand_s = |chain: &super::demands::ClosedChain| -> Vec<f64> {
            queues.iter().zip(&pace).map(|(station, pace)| chain.demand_s[*station] * pace).collect()
        };
        let demand_s = network.closed.iter().map(demand_s).collect();
        let away_s = network.closed.iter().map(|chain| network.away_s(chain)).collect();
        Some(Reduced { queues, open, demand_s, away_s })
    }

    fn steady(&self, network: &Demands, throughput: Vec<f64>, closed: &[Vec<f64>]) -> Steady {
        let stations = network.stations.len();
        let is_delay = |station: &usize| network.stations[*station] == Serving::Delay;
        let spread = |numbers: &[f64], at_delay: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let mut all = vec![0.0; stations];
            self.queues.iter().zip(numbers).for_each(|(station, number)| all[*station] = *number);
            (0..stations).filter(is_delay).for_each(|station| all[station] = at_delay(station));
            all
        };
        let of_closed = |(chain, numbers): (usize, &Vec<f64>)| {
            spread(numbers, &|station| throughput[chain] * network.closed[chain].demand_s[station])
        };
        let closed_all = closed.iter().enumerate().map(of_closed).collect();
        let of_open = |work: &Vec<f64>| {
            let numbers: Vec<f64> = (self.queues.iter().zip(&self.open).enumerate())
                .map(|(queue, (station, used))| {
                    let others: f64 = closed.iter().map(|numbers| numbers[queue]).sum();
                    let Serving::Rates(rates) = &network.stations[*station] else { unreachable!("a queue has rates") };
                    work[*station] / rates[0] * (1.0 + others) / (1.0 - used)
                })
                .collect();
            spread(&numbers, &|station| work[station])
        };
        let open = network.open.iter().map(of_open).collect();
        Steady { throughput, closed: closed_all, open }
    }
}

/// The next population, the first chain turning fastest; false after the last.
fn advance(population: &mut [usize], users: &[usize]) -> bool {
    for (jobs, most) in population.iter_mut().zip(users) {
        if *jobs < *most {
            *jobs += 1;
            return true;
        }
        *jobs = 0;
    }
    false
}
