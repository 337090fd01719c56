//! M/G/1-PS: Poisson arrivals, any service law, one processor shared equally.
//!
//! Source: Kleinrock, Queueing Systems II (1976), section 4.4; variance for exponential
//! service: Coffman, Muntz and Trotter, Waiting time distributions for processor-sharing systems, J. ACM 17 (1970).

use sojourn_stats::Law;

use crate::formula::general::mg1_fcfs;

/// Mean response time (s), E\[S\]/(1-rho), whatever the service law (even one of infinite variance); infinite at a
/// utilisation of 1 or more.
pub fn response_time_mean(arrival_rate: f64, service_mean_s: f64) -> f64 {
    response_time_mean_of(service_mean_s, arrival_rate, service_mean_s)
}

/// Mean response time (s) of a job that needs `service_s`: x/(1-rho), whatever the service law.
pub fn response_time_mean_of(service_s: f64, arrival_rate: f64, service_mean_s: f64) -> f64 {
    let utilisation = arrival_rate * service_mean_s;
    if utilisation >= 1.0 { f64::INFINITY } else { service_s / (1.0 - utilisation) }
}

/// Variance of the response time (s^2) when service is exponential, (2+rho)/((2-rho)(1-rho)^2) E\[S\]^2.
pub fn exponential_response_time_variance(arrival_rate: f64, service_mean_s: f64) -> f64 {
    let rho = arrival_rate * service_mean_s;
    if rho >= 1.0 {
        return f64::INFINITY;
    }
    (2.0 + rho) / ((2.0 - rho) * (1.0 - rho).powi(2)) * service_mean_s.powi(2)
}

/// Variance of the response time (s^2) for any service law: Var S/(1-rho)^2 + 2/(1-rho)^2 times the integral of P(W >
/// t) E\[(S-t)^+\], where W is the wait of the same queue under FCFS (Yashkov, Processor-sharing queues: some progress
/// in analysis, Queueing Systems 2, 1987; Ott, The sojourn-time distribution in the M/G/1 queue with processor sharing,
/// J. Applied Probability 21, 1984). Computed on the grid of [`mg1_fcfs`]. None at a utilisation of 1 or more, for a
/// service of infinite variance, and where the wait reaches too far for the grid.
pub fn response_time_variance(arrival_rate: f64, service: &Law) -> Option<f64> {
    let (step_s, wait) = mg1_fcfs::waits(arrival_rate, service)?;
    let (mean_s, variance) = (service.mean(), service.variance());
    // E[G(W)], where G is the integral of E[(S-t)^+].
    let integral = |t: f64| {
        let beyond = mean_s - service.limited_moment(1, t);
        0.5 * service.limited_moment(2, t) + t * beyond
    };
    let known: f64 = wait.iter().sum();
    let met: f64 = wait.iter().enumerate().map(|(k, p)| p * integral(k as f64 * step_s)).sum();
    let far = (1.0 - known).max(0.0) * 0.5 * (variance + mean_s * mean_s);
    Some((variance + 2.0 * (met + far)) / (1.0 - arrival_rate * mean_s).powi(2))
}
