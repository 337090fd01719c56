//! How long a queue takes to forget the state that it was in.
//!
//! In heavy traffic the work in a GI/G/c queue goes like a Brownian motion that is kept above 0, of which the relaxation time
//! is known. Measured over less than several of these times, a queue tells mostly how it began, and no spread of its numbers
//! tells how far off they are. At low load the time is too long, of M/M/1 by up to 4 times: a run is never taken to be longer
//! than it is.

/// Relaxation time (s), 2 (ca2 + cs2) E\[S\] / (c (1 - rho)^2) in the squared coefficients of variation of gaps and services;
/// infinite without a steady state.
///
/// Source: Whitt, Planning queueing simulations, Management Science 35(11) (1989), section 4; Abate and Whitt, Transient
/// behavior of regulated Brownian motion, Advances in Applied Probability 19 (1987).
pub fn relaxation_time_s(gaps_scv: f64, service_scv: f64, service_mean_s: f64, cores: u32, utilization: f64) -> f64 {
    if utilization >= 1.0 {
        return f64::INFINITY;
    }
    2.0 * (gaps_scv + service_scv) * service_mean_s / (f64::from(cores) * (1.0 - utilization).powi(2))
}
