//! M/G/1 FCFS: Poisson arrivals, any service law, one server.
//!
//! Source: Pollaczek (1930), Khinchine (1932); Kleinrock, Queueing Systems I (1975), chapter 5.

/// Mean waiting time (s), rho/(1-rho) (1+C2)/2 E\[S\], where `scv` is C2 of the service.
///
/// Infinite when the second moment of the service is (a Pareto law of index 2 or less), or the utilisation is 1 or
/// more.
pub fn waiting_time_mean(arrival_rate: f64, service_mean_s: f64, scv: f64) -> f64 {
    let utilisation = arrival_rate * service_mean_s;
    if utilisation >= 1.0 {
        return f64::INFINITY;
    }
    utilisation / (1.0 - utilisation) * (1.0 + scv) / 2.0 * service_mean_s
}

/// Mean response time (s): the mean wait and the mean service. Infinite where the wait is.
pub fn response_time_mean(arrival_rate: f64, service_mean_s: f64, scv: f64) -> f64 {
    service_mean_s + waiting_time_mean(arrival_rate, service_mean_s, scv)
}
