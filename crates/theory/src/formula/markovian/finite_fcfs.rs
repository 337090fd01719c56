//! The response time law of M/M/c under FCFS where at most so many can be found inside: limited room, or a population.
//!
//! An arrival that finds n < c jobs is served at once; one that finds more waits for n-c+1 departures, each exponential
//! of rate c mu, and is served then. With G(k) the tail of k of them and a service, and E(k) the tail of k of them
//! alone, partial fractions give G(k) = (G(k-1) - E(k)/c) / (1-1/c), which loses all digits; turned round, G(k-1) =
//! (1-1/c) G(k) + E(k)/c adds what is positive, and no error grows. It begins where k departures surely take longer
//! than t.
//!
//! What an arrival finds: in a limited room the law of the number inside, given that there is room (Poisson arrivals
//! see time averages); of a population that of one member less, whatever the law of the time away (Lavenberg and
//! Reiser, J. Applied Probability 17, 1980; Sevcik and Mitrani, J. ACM 28, 1981).

use crate::formula::markovian::{mmck, repairman};
use crate::numeric;

/// Response time law of M/M/c under FCFS with limited room or a population.
#[derive(Clone, Debug, PartialEq)]
pub struct FiniteFcfs {
    /// P(an arrival that is let in finds n inside).
    found: Vec<f64>,
    cores: f64,
    service_mean_s: f64,
}

/// Standard deviations of a Poisson law beyond which there is nothing, and the least that is gone beyond its mean.
const BEYOND: (f64, f64) = (12.0, 40.0);

impl FiniteFcfs {
    /// Law of M/M/c/K: `arrival_rate` (1/s), `capacity` = K >= `cores` = c.
    pub fn with_room(cores: u32, capacity: u32, arrival_rate: f64, service_mean_s: f64) -> FiniteFcfs {
        let mut found = mmck::number_probabilities(cores, capacity, arrival_rate * service_mean_s);
        found.pop();
        FiniteFcfs::new(found, cores, service_mean_s)
    }

    /// Law of M/M/c/B/N: `users` = N >= 1, each of which stays away for `away_mean_s` (0 is allowed) and `room` = B <=
    /// N find room.
    pub fn of_population(users: u32, room: u32, away_mean_s: f64, cores: u32, service_mean_s: f64) -> FiniteFcfs {
        let found = repairman::number_probabilities(users - 1, room - 1, away_mean_s, cores, service_mean_s);
        FiniteFcfs::new(found, cores, service_mean_s)
    }

    fn new(mut found: Vec<f64>, cores: u32, service_mean_s: f64) -> FiniteFcfs {
        let total: f64 = found.iter().sum();
        found.iter_mut().for_each(|p| *p /= total);
        FiniteFcfs { found, cores: f64::from(cores), service_mean_s }
    }

    /// Departures that an arrival waits for when it finds `inside` jobs.
    fn waits_for(&self, inside: usize) -> usize {
        (inside + 1).saturating_sub(self.cores as usize)
    }

    /// Tail P(T > t) at `t_s` (s).
    pub fn tail(&self, t_s: f64) -> f64 {
        let passed = t_s * self.cores / self.service_mean_s;
        if passed <= 0.0 {
            return 1.0;
        }
        let surely = (passed + BEYOND.0 * passed.sqrt() + BEYOND.1).ceil() as usize;
        let last = self.waits_for(self.found.len() - 1).max(surely);
        let fewer = poisson_below(passed, last);
        let own = 1.0 / self.cores;
        // G(last) to G(0): of a single core G(k) is E(k+1), and of none that wait e^(-mu t).
        let mut waited = vec![1.0; last + 1];
        for k in (1..=last).rev() {
            waited[k - 1] = (1.0 - own) * waited[k] + own * fewer[k];
        }
        waited[0] = (-t_s / self.service_mean_s).exp();
        let tails = self.found.iter().enumerate().map(|(inside, p)| p * waited[self.waits_for(inside)]);
        tails.sum::<f64>().clamp(0.0, 1.0)
    }

    /// Mean (s).
    pub fn mean_s(&self) -> f64 {
        self.moments().0
    }

    /// Standard deviation (s).
    pub fn std_s(&self) -> f64 {
        self.moments().1.sqrt()
    }

    /// Mean and variance.
    fn moments(&self) -> (f64, f64) {
        let one = self.service_mean_s / self.cores;
        let (mut first, mut second) = (0.0, 0.0);
        for (inside, p) in self.found.iter().enumerate() {
            let departures = self.waits_for(inside) as f64;
            let mean = self.service_mean_s + departures * one;
            first += p * mean;
            second += p * (mean * mean + self.service_mean_s.powi(2) + departures * one * one);
        }
        (first, (second - first * first).max(0.0))
    }

    /// Quantile at `p` (s).
    pub fn quantile(&self, p: f64) -> f64 {
        numeric::smooth_quantile(p, self.mean_s(), |t| self.tail(t))
    }
}

/// P(a Poisson number of this mean is below k), for k = 0 to `most`.
fn poisson_below(mean: f64, most: usize) -> Vec<f64> {
    // From where there is something: e^-mean alone may be less than any number.
    let first = (mean - BEYOND.0 * mean.sqrt() - BEYOND.1).max(0.0).floor();
    let mut term = (first * mean.ln() - mean - statrs::function::gamma::ln_gamma(first + 1.0)).exp();
    let mut below = vec![0.0; most + 1];
    let (first, mut sum) = (first as usize, 0.0f64);
    for k in first..most {
        sum += term;
        below[k + 1] = sum.min(1.0);
        term *= mean / (k + 1) as f64;
    }
    below
}
