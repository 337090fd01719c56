//! M/M/1: Poisson arrivals, exponential service, one server, unlimited room.
//!
//! Source: Kleinrock, Queueing Systems I (1975), section 3.2; Gross, Shortle, Thompson and Harris,
//! Fundamentals of Queueing Theory (4th ed. 2008), chapter 2. Means hold for every work-conserving discipline that
//! does not look at sizes; the quantiles are those of FCFS. Every result is infinite at a utilisation of 1 or more.

/// Mean response time (s), E\[S\]/(1-rho).
pub fn response_time_mean(arrival_rate: f64, service_mean_s: f64) -> f64 {
    let utilisation = arrival_rate * service_mean_s;
    if utilisation >= 1.0 { f64::INFINITY } else { service_mean_s / (1.0 - utilisation) }
}

/// Mean waiting time (s), rho E\[S\]/(1-rho).
pub fn waiting_time_mean(arrival_rate: f64, service_mean_s: f64) -> f64 {
    arrival_rate * service_mean_s * response_time_mean(arrival_rate, service_mean_s)
}

/// Mean number in the system, rho/(1-rho).
pub fn number_mean(arrival_rate: f64, service_mean_s: f64) -> f64 {
    arrival_rate * response_time_mean(arrival_rate, service_mean_s)
}

/// Probability of n in the system, (1-rho) rho^n.
pub fn number_probability(n: u32, arrival_rate: f64, service_mean_s: f64) -> f64 {
    let utilisation = arrival_rate * service_mean_s;
    (1.0 - utilisation).max(0.0) * utilisation.powf(f64::from(n))
}

/// Quantile at `p` of the FCFS response time (s): it is exponential, -ln(1-p) E\[T\].
pub fn response_time_quantile(p: f64, arrival_rate: f64, service_mean_s: f64) -> f64 {
    -(-p).ln_1p() * response_time_mean(arrival_rate, service_mean_s)
}

/// Quantile at `p` of the FCFS waiting time (s): zero with probability 1-rho, else exponential.
pub fn waiting_time_quantile(p: f64, arrival_rate: f64, service_mean_s: f64) -> f64 {
    let utilisation = arrival_rate * service_mean_s;
    if utilisation >= 1.0 {
        return f64::INFINITY;
    }
    (utilisation / (1.0 - p)).ln().max(0.0) * response_time_mean(arrival_rate, service_mean_s)
}
