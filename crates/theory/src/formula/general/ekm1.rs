//! E_k/M/1: what each of N servers sees when round robin deals a Poisson stream to them in turn.
//!
//! The gaps between every N-th arrival of a Poisson process are Erlang-N, so that N exponential servers behind round
//! robin are N copies of E_N/M/1 (FCFS, PS and limited PS have the same mean). As N grows the gaps become constant:
//! D/M/1. Source: Kleinrock, Queueing Systems I (1975), chapter 6.

use crate::formula::general::gig1::GiM1;
use crate::law::{Gaps, Moments};

/// Mean response time (s) at each of `servers` exponential servers behind round robin; `arrival_rate` is that of one
/// server (1/s). Infinite at a utilisation of 1 or more.
pub fn response_time_mean(servers: u32, arrival_rate: f64, service_mean_s: f64) -> f64 {
    solve(servers, arrival_rate, service_mean_s).map_or(f64::INFINITY, |queue| queue.response_time_mean())
}

/// Quantile at `p` of the FCFS response time (s) at each of `servers` exponential servers behind round robin.
pub fn response_time_quantile(p: f64, servers: u32, arrival_rate: f64, service_mean_s: f64) -> f64 {
    solve(servers, arrival_rate, service_mean_s).map_or(f64::INFINITY, |queue| queue.response_time_quantile(p))
}

fn solve(servers: u32, arrival_rate: f64, service_mean_s: f64) -> Option<GiM1> {
    GiM1::solve(&Gaps::all(Moments::erlang(servers, 1.0 / arrival_rate)), service_mean_s)
}
