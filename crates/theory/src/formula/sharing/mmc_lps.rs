//! The response time law of M/M/c under limited PS and PS: exact, from its transform.
//!
//! c cores are shared equally by at most K jobs, the others wait in FIFO order. Once in service, a job with n others
//! inside leaves at rate mu min(1, c/s), where s = min(n+1, K) jobs share; the transform of what is left of its
//! response time satisfies a recurrence in n, whose coefficients do not change from n = K-1 on, so that its bounded
//! solution there is a constant and one geometric term. A job that has to wait meets K-1 others and those that came
//! while it waited. Both sums over what an arrival finds are geometric, and nothing is cut off. Inverted by Euler
//! summation. K = c is FCFS.
//!
//! PS is taken as K so large that more jobs are met with a chance below 1e-11. The chain is that of Avi-Itzhak and
//! Halfin, Response times in gated and limited processor sharing queues (1988), and of Coffman, Muntz and Trotter,
//! Waiting time distributions for processor-sharing systems, J. ACM 17 (1970), for PS.

use num_complex::Complex64;

use crate::numeric;
use crate::numeric::inversion::invert;

/// Jobs in service at most for which the recurrence is worth solving: some milliseconds for each point of the law.
const PLACES_MAX: f64 = 6_000.0;
/// The chance of meeting more jobs than PS is computed for.
const NEGLIGIBLE: f64 = 1e-11;

/// Response time law of M/M/c under PS or limited PS.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkovianSharing {
    arrival_rate: f64,
    service_rate: f64,
    cores: f64,
    places: usize,
    /// P(n inside), n = 0 to K.
    found: Vec<f64>,
    mean_s: f64,
}

impl MarkovianSharing {
    /// Law of the queue with `cores` cores and at most `places` >= `cores` jobs in service; none: PS.
    ///
    /// None at a utilisation of 1 or more, and where so many jobs share that it would take too long.
    pub fn new(cores: u32, places: Option<u32>, arrival_rate: f64, service_mean_s: f64) -> Option<MarkovianSharing> {
        let (c, offered) = (f64::from(cores), arrival_rate * service_mean_s);
        let utilisation = offered / c;
        if utilisation >= 1.0 || places.is_some_and(|places| places < cores) {
            return None;
        }
        let unlimited = c + (NEGLIGIBLE.ln() / utilisation.ln()).ceil().max(1.0);
        let places = places.map_or(unlimited, f64::from).min(unlimited);
        if places > PLACES_MAX {
            return None;
        }
        let places = places as usize;
        let mut found = numeric::birth_death(places, |n| offered / (n as f64).min(c));
        // The last one stands for itself only: beyond it the law is geometric.
        let total = 1.0 + found[places] * utilisation / (1.0 - utilisation);
        found.iter_mut().for_each(|p| *p /= total);
        let mean_s = crate::formula::markovian::mmc::response_time_mean(cores, arrival_rate, service_mean_s);
        Some(MarkovianSharing { arrival_rate, service_rate: 1.0 / service_mean_s, cores: c, places, found, mean_s })
    }

    /// Tail P(T > t) at `t_s` (s).
    pub fn tail(&self, t_s: f64) -> f64 {
        if t_s <= 0.0 {
            return 1.0;
        }
        invert(t_s, |s| (1.0 - self.transform(s)) / s).clamp(0.0, 1.0)
    }

    /// Quantile at `p` (s).
    pub fn quantile(&self, p: f64) -> f64 {
        numeric::smooth_quantile(p, self.mean_s, |t| self.tail(t))
    }

    /// E\[e^(-sT)\].
    fn transform(&self, s: Complex64) -> Complex64 {
        let (rate, k) = (self.arrival_rate, self.places);
        // With n others inside: the rate at which the job ends, and at which one of the others does.
        let ends = |n: usize| {
            let sharing = (n + 1).min(k) as f64;
            let own = self.service_rate * (self.cores / sharing).min(1.0);
            (own, own * (sharing - 1.0))
        };
        let (own, others) = ends(k - 1);
        let all = s + (rate + own + others);
        // The bounded solution from K-1 others on: constant + (phi(K-1) - constant) ratio^(n-K+1).
        let constant = own / (s + own);
        let ratio = 2.0 * others / (all + (all * all - 4.0 * rate * others).sqrt());
        // phi(n) = p(n) + q(n) phi(n-1), from the top down.
        let top = all - ratio * rate;
        let mut steps = Vec::with_capacity(k);
        steps.push(((constant * (1.0 - ratio) * rate + own) / top, others / top));
        for n in (0..k - 1).rev() {
            let (own, others) = ends(n);
            let (p, q) = steps[steps.len() - 1];
            let divisor = s + (rate + own + others) - q * rate;
            steps.push(((p * rate + own) / divisor, others / divisor));
        }
        // A job alone sees no other leave: q(0) = 0.
        let mut phi = Complex64::ZERO;
        let mut sum = Complex64::ZERO;
        for (n, (p, q)) in steps.into_iter().rev().enumerate() {
            phi = p + q * phi;
            sum += phi * self.found[n];
        }
        // Jobs that wait for 1, 2, ... departures; those that come meanwhile share later.
        let capacity = self.cores * self.service_rate;
        let utilisation = rate / capacity;
        let waits = |passing: Complex64| passing / (1.0 - passing * utilisation);
        let alone = capacity / (s + capacity);
        let with_those = capacity / (s + capacity + (1.0 - ratio) * rate);
        sum + (constant * waits(alone) + (phi - constant) * waits(with_those)) * self.found[k]
    }
}
