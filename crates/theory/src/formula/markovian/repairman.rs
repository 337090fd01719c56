//! The machine repairman: one server and a fixed number of users, each of which thinks, asks and waits for the answer.
//!
//! Source: Kleinrock, Queueing Systems I (1975), section 3.8; Baskett, Chandy, Muntz and Palacios, Open, closed, and
//! mixed networks of queues with different classes of customers, J. ACM 22 (1975): exact for exponential service under
//! FCFS, PS or limited PS and for any service law under PS, each with any think time law. With room for fewer than all:
//! Engset (1918), for exponential think times; a user that finds no room thinks again.

use crate::numeric;

/// Means of one server under a closed population of users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repairman {
    /// Throughput: answers per second.
    pub throughput: f64,
    /// Mean number of users waiting or being served.
    pub number_mean: f64,
    /// Mean response time (s).
    pub response_time_mean_s: f64,
    /// Mean time before service starts (s).
    pub waiting_time_mean_s: f64,
    /// Utilisation: the part of the core time that is used.
    pub utilisation: f64,
    /// Loss probability: the part of the requests that finds no room.
    pub loss: f64,
}

/// Probabilities of n at the server, n = 0 to `room` <= `users`.
pub fn number_probabilities(users: u32, room: u32, think_mean_s: f64, cores: u32, service_mean_s: f64) -> Vec<f64> {
    // Zero think time makes every ratio infinite: then as many as fit are always at the server.
    numeric::birth_death(room as usize, |n| {
        let thinking = f64::from(users) - (n as f64 - 1.0);
        thinking * service_mean_s / ((n as f64).min(f64::from(cores)) * think_mean_s)
    })
}

/// Solution of M/M/c//N for `users` >= 1 users with mean think time `think_mean_s` (0 is allowed) and a server of
/// `cores` cores that serves at most `helpers` jobs at once (FCFS: `cores`).
pub fn solve(users: u32, think_mean_s: f64, cores: u32, helpers: u32, service_mean_s: f64) -> Repairman {
    solve_with_room(users, users, think_mean_s, cores, helpers, service_mean_s)
}

/// Solution of M/M/c/B/N: as [`solve`], with room for `room` = B <= N jobs, those in service included.
pub fn solve_with_room(
    users: u32,
    room: u32,
    think_mean_s: f64,
    cores: u32,
    helpers: u32,
    service_mean_s: f64,
) -> Repairman {
    let busy = |n: f64| n.min(f64::from(cores));
    let p = number_probabilities(users, room, think_mean_s, cores, service_mean_s);
    let mean = |of: &dyn Fn(f64) -> f64| -> f64 { p.iter().enumerate().map(|(n, p)| p * of(n as f64)).sum() };
    let working = mean(&|n| busy(n));
    let throughput = working / service_mean_s;
    let number_mean = mean(&|n| n);
    let asking = f64::from(users) - number_mean;
    let refused = p[room as usize] * f64::from(users - room);
    Repairman {
        throughput,
        number_mean,
        response_time_mean_s: number_mean / throughput,
        waiting_time_mean_s: mean(&|n| (n - f64::from(helpers)).max(0.0)) / throughput,
        utilisation: working / f64::from(cores),
        loss: if refused > 0.0 { refused / asking } else { 0.0 },
    }
}
