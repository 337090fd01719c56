//! M/G/1 under orders of service that do not look at sizes: FCFS, LCFS and random service.
//!
//! The mean wait is that of FCFS under each of them (Kleinrock, The conservation law, 1965); its second moment is not:
//!
//! FCFS: 2 E\[W\]^2 + lambda E\[S^3\] / (3 (1-rho)) (Takacs, A single-server queue with Poisson input, Operations
//! Research 10, 1962); LCFS: that over 1-rho; random service (SIRO): that over 1-rho/2 (Takacs, Delay distributions for
//! one line with Poisson input, general holding times, and various orders of service, Bell System Technical Journal 42,
//! 1963; Kingman, On queues in which customers are served in random order, 1962). LCFS with preemption, each going on
//! where it was, is another queue: its response time is a busy period ([`super::super::general::busy_period`]), with
//! the moments E\[S\]/(1-rho) and E\[S^2\]/(1-rho)^3 (Kleinrock, Queueing Systems I, 1975, section 5.8).

use crate::formula::general::mg1;

/// Order of service: which of the waiting jobs is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First come, first served.
    Fcfs,
    /// Last come, first served.
    Lcfs,
    /// Random order: each equally likely.
    Siro,
}

/// Second moment of the waiting time (s^2) in M/G/1, from the first three moments of the service (s, s^2, s^3);
/// infinite where the third is, or at a utilisation of 1 or more.
pub fn waiting_time_second_moment(order: Order, arrival_rate: f64, moments: [f64; 3]) -> f64 {
    let [mean_s, second, third] = moments;
    let utilisation = arrival_rate * mean_s;
    if utilisation >= 1.0 || !third.is_finite() {
        return f64::INFINITY;
    }
    let wait = mg1::waiting_time_mean(arrival_rate, mean_s, second / (mean_s * mean_s) - 1.0);
    let in_order = 2.0 * wait * wait + arrival_rate * third / (3.0 * (1.0 - utilisation));
    match order {
        Order::Fcfs => in_order,
        Order::Lcfs => in_order / (1.0 - utilisation),
        Order::Siro => in_order / (1.0 - utilisation / 2.0),
    }
}

/// Mean response time (s) of a job that needs `service_s`, M/G/1-LCFS with preemption: it is served at once, and
/// stretched by the jobs that come meanwhile.
pub fn preempted_response_time_mean_of(service_s: f64, arrival_rate: f64, service_mean_s: f64) -> f64 {
    let utilisation = arrival_rate * service_mean_s;
    if utilisation >= 1.0 { f64::INFINITY } else { service_s / (1.0 - utilisation) }
}

/// Second moment of the response time (s^2) of M/G/1-LCFS with preemption.
pub fn preempted_response_time_second_moment(arrival_rate: f64, service_mean_s: f64, second_moment_s2: f64) -> f64 {
    let utilisation = arrival_rate * service_mean_s;
    if utilisation >= 1.0 { f64::INFINITY } else { second_moment_s2 / (1.0 - utilisation).powi(3) }
}
