//! M/G/1/K under FCFS: room for K jobs in all, an arrival that finds K is lost.
//!
//! The number left behind by departures is a Markov chain. Balanced across each cut between n and n+1, it gives its
//! probabilities by sums of positive terms, whatever the load and K; those at a random instant follow (Gross, Shortle,
//! Thompson and Harris, Fundamentals of Queueing Theory, 4th ed. 2008, section 5.1.8). What the service law adds is how
//! many arrivals a service sees: P(more than j) is the integral of P(S > x) over an Erlang density.

use sojourn_stats::{Law, quadrature};

use crate::formula::markovian::mmck::Finite;

/// Largest room that is solved: the sums take its square.
pub const CAPACITY_MAX: u32 = 5000;

/// Solution of M/G/1/K for `capacity` = K, `arrival_rate` (1/s) and `service` (s); none for more room than
/// [`CAPACITY_MAX`] or a service law without a mean.
pub fn solve(capacity: u32, arrival_rate: f64, service: &Law) -> Option<Finite> {
    let mean_s = service.mean();
    if capacity > CAPACITY_MAX || !mean_s.is_finite() || mean_s <= 0.0 {
        return None;
    }
    let k = capacity as usize;
    let utilisation = arrival_rate * mean_s;
    // P(a service sees more than j arrivals), and with it P(it sees none).
    let more: Vec<f64> = (0..k).map(|j| sees_more_than(j, arrival_rate, service)).collect();
    // Where a service never sees none, to the last digit, at least one job is always left behind: any small number says
    // so.
    let none = (1.0 - more[0]).max(f64::EPSILON);
    // Departures that leave n behind, n = 0 to K-1, up to a factor.
    let mut left = vec![1.0];
    for n in 0..k - 1 {
        let over: f64 = left[0] * more[n] + (1..=n).map(|i| left[i] * more[n + 1 - i]).sum::<f64>();
        left.push(over / none);
        if left[n + 1] > 1e200 {
            left.iter_mut().for_each(|weight| *weight *= 1e-200);
        }
    }
    let total: f64 = left.iter().sum();
    let empty = left[0] / total;
    // At a random instant the share of each n below K is the same, and the server works whenever a job is there.
    let inside = 1.0 / (empty + utilisation);
    let loss = ((utilisation - 1.0 + empty) * inside).max(0.0);
    let number_mean = left.iter().enumerate().map(|(n, weight)| n as f64 * weight).sum::<f64>() / total * inside
        + f64::from(capacity) * loss;
    let throughput = arrival_rate * inside;
    let response_time_mean_s = number_mean / throughput;
    Some(Finite {
        loss,
        throughput,
        number_mean,
        response_time_mean_s,
        waiting_time_mean_s: (response_time_mean_s - mean_s).max(0.0),
    })
}

/// P(more than `j` Poisson arrivals during a service).
fn sees_more_than(j: usize, arrival_rate: f64, service: &Law) -> f64 {
    if j == 0 {
        return service.transform_complement(arrival_rate);
    }
    let (low, high) = service.limits();
    // ln(j!) by the gamma function; the density peaks at j / rate with a width of its root.
    let log_factorial = statrs::function::gamma::ln_gamma(j as f64 + 1.0);
    let density = |x: f64| {
        let y = arrival_rate * x;
        if y <= 0.0 { 0.0 } else { (j as f64 * y.ln() - y - log_factorial).exp() * arrival_rate }
    };
    let (peak, spread) = (j as f64 / arrival_rate, (j as f64).sqrt() / arrival_rate);
    let bounds = [0.0, peak - 4.0 * spread, peak, peak + 4.0 * spread, peak + 60.0 * (spread + 1.0 / arrival_rate)];
    let mut ends: Vec<f64> = bounds.into_iter().chain([low, high]).filter(|x| (0.0..=bounds[4]).contains(x)).collect();
    ends.sort_by(f64::total_cmp);
    let part = |ends: &[f64]| quadrature::integral(ends[0], ends[1], 1e-12, |x| density(x) * service.survival(x));
    ends.windows(2).map(part).sum::<f64>().min(1.0)
}
