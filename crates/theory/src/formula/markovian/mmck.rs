//! M/M/c/K: room for K jobs in all, those in service included; an arrival that finds K is lost.
//!
//! Source: Gross et al., Fundamentals of Queueing Theory (4th ed. 2008), chapter 2. A finite room is stable at any
//! load. The number in the system, and so the loss and the means, do not depend on the service law when the jobs share
//! the servers (M/G/c/K-PS; Cohen, Acta Informatica 12, 1979; used for a web server by Cao, Andersson, Nyberg and
//! Kihl, ICT 2003) nor when K = c (Erlang's loss system; Sevastyanov 1957).

use crate::numeric;

/// Probabilities of n in the system for n = 0..=`capacity`. The offered load is arrival rate x mean service.
pub fn number_probabilities(servers: u32, capacity: u32, offered: f64) -> Vec<f64> {
    let busy = |n: usize| (n as f64).min(f64::from(servers));
    numeric::birth_death(capacity as usize, |n| offered / busy(n))
}

/// Means of a queue with limited room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finite {
    /// Loss probability: the part of the arrivals that is lost, p_K.
    pub loss: f64,
    /// Throughput: jobs served per second.
    pub throughput: f64,
    /// Mean number in the system.
    pub number_mean: f64,
    /// Mean response time of the jobs let in (s).
    pub response_time_mean_s: f64,
    /// Mean time before service starts, of the jobs let in (s).
    pub waiting_time_mean_s: f64,
}

/// Solution of M/M/c/K in which at most `helpers` jobs (FCFS: c) are served at once.
pub fn solve(servers: u32, capacity: u32, helpers: u32, arrival_rate: f64, service_mean_s: f64) -> Finite {
    let p = number_probabilities(servers, capacity, arrival_rate * service_mean_s);
    let mean = |of: &dyn Fn(f64) -> f64| -> f64 { p.iter().enumerate().map(|(n, p)| p * of(n as f64)).sum() };
    let loss = p[capacity as usize];
    let number_mean = mean(&|n| n);
    let waiting = mean(&|n| (n - f64::from(helpers)).max(0.0));
    // The service done is also the throughput, and stays right when nearly everything is lost.
    let throughput = mean(&|n| n.min(f64::from(servers))) / service_mean_s;
    Finite {
        loss,
        throughput,
        number_mean,
        response_time_mean_s: number_mean / throughput,
        waiting_time_mean_s: waiting / throughput,
    }
}
