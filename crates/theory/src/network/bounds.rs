//! Bounds of closed chains, from their demands alone: both ways where there is one chain, from above where there are
//! several.
//!
//! Source: Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance (1984), chapter 5; the balanced job
//! bounds are those of Zahorjan, Sevcik, Eager and Galler, CACM 25 (1982).

use super::demands::{ClosedChain, Demands, Serving};

/// Bounds of the throughput (1/s); Little's law over a user's cycle turns them into bounds of the response time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Upper bound (1/s): no user ever waits, or the busiest station is always busy.
    pub throughput_high: f64,
    /// Lower bound (1/s): every job waits for all others at every station.
    pub throughput_low: f64,
    /// Number of users at which the two limits of `throughput_high` meet.
    pub saturation_users: f64,
    /// Balanced job bounds, which are narrower, from networks in which every station is as busy as any other. Only for
    /// product form and where stations are delays or work at a fixed rate.
    pub balanced: Option<Balanced>,
}

/// Balanced job bounds of the throughput (1/s).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balanced {
    /// Upper bound (1/s).
    pub throughput_high: f64,
    /// Lower bound (1/s).
    pub throughput_low: f64,
}

impl Bounds {
    /// Bounds of the only chain of `network`; none where there are others, or no work.
    pub fn of(network: &Demands) -> Option<Bounds> {
        let ([chain], []) = (network.closed.as_slice(), network.open.as_slice()) else { return None };
        let users = f64::from(chain.users);
        let away_s = network.away_s(chain);
        let (mut total_s, mut shortest_s, mut largest_s) = (0.0, 0.0, 0.0f64);
        let (mut queues, mut fixed) = (0.0, true);
        for (serving, demand) in network.stations.iter().zip(&chain.demand_s) {
            let Serving::Rates(rates) = serving else { continue };
            let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
            fixed &= rates.len() == 1;
            if least < rates[0] {
                return None;
            }
            total_s += demand / rates[0];
            shortest_s += demand / fastest(rates);
            largest_s = largest_s.max(demand / most(rates));
            queues += if *demand > 0.0 { 1.0 } else { 0.0 };
        }
        if users == 0.0 || away_s + total_s <= 0.0 {
            return None;
        }
        let balanced = (fixed && total_s > 0.0).then(|| {
            let mean_s = total_s / queues;
            let waits =
                |demand_s: f64, ratio: f64| users / (total_s + away_s + (users - 1.0) * demand_s / (1.0 + ratio));
            Balanced {
                throughput_high: (1.0 / largest_s).min(waits(mean_s, away_s / total_s)),
                throughput_low: waits(largest_s, away_s / (users * total_s)),
            }
        });
        Some(Bounds {
            throughput_high: (1.0 / largest_s).min(users / (shortest_s + away_s)),
            throughput_low: users / (users * total_s + away_s),
            saturation_users: (shortest_s + away_s) / largest_s,
            balanced,
        })
    }
}

/// Upper bound of the throughput (1/s) of each closed chain: its users never wait, or some station is always busy with
/// them and the open chains alone. Holds under any discipline; infinite where nothing takes time.
pub fn highest_throughputs(network: &Demands) -> Vec<f64> {
    let highest = |chain: &ClosedChain| {
        let (mut cycle_s, mut highest) = (network.away_s(chain), f64::INFINITY);
        for (station, (serving, demand)) in network.stations.iter().zip(&chain.demand_s).enumerate() {
            let Serving::Rates(rates) = serving else { continue };
            if *demand > 0.0 {
                cycle_s += demand / fastest(rates);
                highest = f64::min(highest, (most(rates) - network.open_work(station)).max(0.0) / demand);
            }
        }
        highest.min(f64::from(chain.users) / cycle_s)
    };
    network.closed.iter().map(highest).collect()
}

/// Work per second of all jobs together at most.
fn most(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(0.0, f64::max)
}

/// Work per second of one job at most: alone, or in company that speeds all of them up.
fn fastest(rates: &[f64]) -> f64 {
    rates.iter().zip(1..).map(|(rate, jobs)| rate / f64::from(jobs)).fold(0.0, f64::max)
}
