//! M/M/c and M/M/c/K whose clients give up after an exponential time, waiting or in service: a birth and death process.
//!
//! With n inside, min(n, c) are served at the rate of the service and n give up at that of the patience, in any order of
//! service without preference. A job that is served in order of coming goes through as many stages as there are jobs before
//! it and no free server: each ends by one of those going, or by its own patience. It settles at any load. Source: Gross et
//! al., Fundamentals of Queueing Theory (4th ed. 2008), section 2.10, with the rate of reneging in service too.

use crate::numeric;

/// Jobs inside that are looked at.
const STATES_MAX: usize = 5_000_000;

/// Means of such a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impatient {
    /// Part of the arrivals that finds no room.
    pub loss: f64,
    /// Part of the arrivals that gives up.
    pub given_up: f64,
    /// Jobs served to their end per second.
    pub throughput: f64,
    /// Mean number in the system.
    pub number_mean: f64,
    /// Mean number of busy servers.
    pub busy_mean: f64,
    /// Mean response time (s), and time before service starts, of the jobs that are served to their end in order of coming.
    pub response_time_mean_s: f64,
    /// See above.
    pub waiting_time_mean_s: f64,
}

/// Solution of M/M/c(/K) with this mean patience (s); none where more states than [`STATES_MAX`] are likely.
pub fn solve(
    servers: u32,
    room: Option<u32>,
    arrival_rate: f64,
    service_mean_s: f64,
    patience_mean_s: f64,
) -> Option<Impatient> {
    let (cores, served, gives_up) = (f64::from(servers), 1.0 / service_mean_s, 1.0 / patience_mean_s);
    let busy = |n: f64| n.min(cores);
    let ratio = |n: usize| arrival_rate / (busy(n as f64) * served + n as f64 * gives_up);
    let last = match room {
        Some(room) => room as usize,
        None => likely(ratio)?,
    };
    let p = numeric::birth_death(last, ratio);
    let mean = |of: &dyn Fn(f64) -> f64| -> f64 { p.iter().enumerate().map(|(n, p)| p * of(n as f64)).sum() };
    let (mut all, mut waits, mut stages) = (0.0, 0.0, 0.0);
    // Those who find so many are served to their end with this chance, after these stages of waiting.
    for (found, p) in p.iter().enumerate().take(room.map_or(p.len(), |room| room as usize)) {
        let found = found as f64;
        let mut chance = served / (served + gives_up);
        if found >= cores {
            stages += 1.0 / (cores * served + (found + 1.0) * gives_up);
            chance = cores * served / (cores * served + (found + 1.0) * gives_up);
        }
        all += p * chance;
        waits += p * chance * stages;
    }
    let waiting_time_mean_s = waits / all;
    let number_mean = mean(&|n| n);
    Some(Impatient {
        loss: if room.is_some() { p[last] } else { 0.0 },
        given_up: gives_up * number_mean / arrival_rate,
        throughput: served * mean(&busy),
        number_mean,
        busy_mean: mean(&busy),
        response_time_mean_s: waiting_time_mean_s + 1.0 / (served + gives_up),
        waiting_time_mean_s,
    })
}

/// The first state that is e^-42 times as likely as the likeliest, where each follows from the one before by `ratio`.
fn likely(ratio: impl Fn(usize) -> f64) -> Option<usize> {
    let (mut chance, mut most) = (0.0f64, 0.0f64);
    (1..=STATES_MAX).find(|&state| {
        chance += ratio(state).ln();
        most = most.max(chance);
        chance < most - 42.0
    })
}
