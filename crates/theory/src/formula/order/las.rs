//! M/G/1 under least attained service (foreground-background): the job that has been served least so far is served;
//! several that are equal share.
//!
//! A job of size x never waits for what others want beyond x, so that to it every other job is min(S, x) long:
//!
//! E\[T(x)\] = lambda E\[min(S,x)^2\] / (2 (1-rho_x)^2) + x / (1-rho_x),  rho_x = lambda E\[min(S,x)\]
//!
//! Source: Schrage, The queue M/G/1 with feedback to lower priority queues, Management Science 13 (1967); Kleinrock,
//! Queueing Systems II (1976), section 4.6; Nuyens and Wierman, The foreground-background queue: a survey, Performance
//! Evaluation 65 (2008). The mean over all sizes is the integral of the derivative of this times P(S > x): exact for
//! any law, to nine digits, and finite for some whose variance is not.

use sojourn_stats::{Law, quadrature};

/// Relative error of the integral.
const RELATIVE: f64 = 1e-10;

/// Mean response time (s) of a job that needs `service_s`; infinite where the parts of the jobs up to its size overload
/// the server.
pub fn response_time_mean_of(service_s: f64, arrival_rate: f64, service: &Law) -> f64 {
    let seen = arrival_rate * service.limited_moment(1, service_s);
    if seen >= 1.0 {
        return f64::INFINITY;
    }
    let delay = arrival_rate * service.limited_moment(2, service_s) / (2.0 * (1.0 - seen).powi(2));
    delay + service_s / (1.0 - seen)
}

/// Mean response time (s); infinite at a utilisation of 1 or more.
pub fn response_time_mean(arrival_rate: f64, service: &Law) -> f64 {
    let mean_s = service.mean();
    let utilisation = arrival_rate * mean_s;
    if !utilisation.is_finite() || utilisation >= 1.0 {
        return f64::INFINITY;
    }
    // The derivative of E[T(x)], less its limit 1/(1-rho), which integrates to the mean of PS: what is left decays
    // faster, and is negative for small x and positive for large ones where sizes vary much. The two parts of a sign.
    let slope = |x: f64| {
        let above = service.survival(x);
        let free = 1.0 - arrival_rate * service.limited_moment(1, x);
        let squares = service.limited_moment(2, x);
        let behind = 2.0 * arrival_rate * x * above / free.powi(2)
            + arrival_rate * arrival_rate * squares * above / free.powi(3);
        (above * behind, above * (1.0 / (1.0 - utilisation) - 1.0 / free))
    };
    let (low, high) = service.limits();
    let width = mean_s / 1024.0;
    // Up to the smallest size nothing is random.
    let certain = response_time_mean_of(low, arrival_rate, service) - low / (1.0 - utilisation);
    let slower = quadrature::over_scales(low, high, width, RELATIVE, |x| slope(x).0);
    let faster = quadrature::over_scales(low, high, width, RELATIVE, |x| slope(x).1);
    mean_s / (1.0 - utilisation) + certain + slower - faster
}
