//! M/G/1-PS: Poisson arrivals, any service law, one processor shared equally.
//!
//! Source: Kleinrock, Queueing Systems II (1976), section 4.4; variance for exponential
//! service: Coffman, Muntz and Trotter, Waiting time distributions for processor-sharing systems, J. ACM 17 (1970).

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
