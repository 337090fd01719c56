//! The response time law of M/M/c whose waiting jobs are served in order, last come first, or at random: exact, from
//! its transform.
//!
//! A job that has to wait meets busy cores and, with a chance of (1-rho) rho^n, n others that wait. In order, n+1
//! departures pass. Last come first, those that come meanwhile go first, which takes a busy period of one core of rate
//! c mu (Riordan, Delays for last-come first-served service and the busy period, Bell System Technical Journal 40,
//! 1961). At random, the next departure is for it with a chance of 1/(n+1), so that the transforms w(n) of what is left
//! of its wait satisfy (s + lambda + c mu) w(n) = lambda w(n+1) + c mu (1 + n w(n-1)) / (n+1) (Riordan, Delay curves
//! for calls served at random, Bell System Technical Journal 32, 1953), a recurrence that is solved from an n down that
//! is met with a chance below 1e-22. Inverted by Euler summation.

use num_complex::Complex64;

use crate::formula::markovian::mmc;
use crate::formula::order::mg1_order::Order;
use crate::numeric;
use crate::numeric::inversion::invert;

/// Others that wait at most, for which the recurrence is worth solving: some milliseconds for each point of the law.
const OTHERS_MAX: f64 = 6_000.0;
/// The chance of meeting more of them.
const NEGLIGIBLE: f64 = 1e-22;

/// Response time law of M/M/c under an order of service.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkovianOrder {
    order: Order,
    arrival_rate: f64,
    service_rate: f64,
    cores: f64,
    /// The chance of having to wait.
    delayed: f64,
    others: usize,
    mean_s: f64,
}

impl MarkovianOrder {
    /// Law of the queue with `cores` cores, `arrival_rate` (1/s) and exponential service. None at a utilisation of 1 or
    /// more, and where so many wait that it would take too long.
    pub fn new(order: Order, cores: u32, arrival_rate: f64, service_mean_s: f64) -> Option<MarkovianOrder> {
        let offered = arrival_rate * service_mean_s;
        let utilisation = offered / f64::from(cores);
        if utilisation >= 1.0 {
            return None;
        }
        let others = (NEGLIGIBLE.ln() / utilisation.ln()).ceil().max(8.0);
        if order == Order::Siro && others > OTHERS_MAX {
            return None;
        }
        Some(MarkovianOrder {
            order,
            arrival_rate,
            service_rate: 1.0 / service_mean_s,
            cores: f64::from(cores),
            delayed: mmc::erlang_c(offered, cores),
            others: others as usize,
            mean_s: mmc::response_time_mean(cores, arrival_rate, service_mean_s),
        })
    }

    /// Tail P(T > t) at `t_s` (s).
    pub fn tail(&self, t_s: f64) -> f64 {
        if t_s <= 0.0 {
            return 1.0;
        }
        let transform = |s: Complex64| {
            let wait = self.wait_of_the_delayed(s) * self.delayed + (1.0 - self.delayed);
            wait * self.service_rate / (s + self.service_rate)
        };
        invert(t_s, |s| (1.0 - transform(s)) / s).clamp(0.0, 1.0)
    }

    /// Quantile at `p` (s).
    pub fn quantile(&self, p: f64) -> f64 {
        numeric::smooth_quantile(p, self.mean_s, |t| self.tail(t))
    }

    /// E\[e^(-sW) | W > 0\].
    fn wait_of_the_delayed(&self, s: Complex64) -> Complex64 {
        let capacity = self.cores * self.service_rate;
        let utilisation = self.arrival_rate / capacity;
        let all = s + (self.arrival_rate + capacity);
        match self.order {
            Order::Fcfs => {
                let passing = capacity / (s + capacity);
                passing * (1.0 - utilisation) / (1.0 - passing * utilisation)
            }
            Order::Lcfs => 2.0 * capacity / (all + (all * all - 4.0 * self.arrival_rate * capacity).sqrt()),
            Order::Siro => {
                // w(n) = p(n) + q(n) w(n-1); at the top one other more makes no difference.
                let mut steps = Vec::with_capacity(self.others + 1);
                let (mut p, mut q) = (Complex64::ZERO, Complex64::ONE);
                for n in (0..=self.others).rev() {
                    let taken = capacity / (n + 1) as f64;
                    let divisor = all - q * self.arrival_rate;
                    p = (p * self.arrival_rate + taken) / divisor;
                    q = taken * n as f64 / divisor;
                    steps.push((p, q));
                }
                let (mut left, mut sum, mut chance) = (Complex64::ZERO, Complex64::ZERO, 1.0 - utilisation);
                for (p, q) in steps.into_iter().rev() {
                    left = p + q * left;
                    sum += left * chance;
                    chance *= utilisation;
                }
                sum
            }
        }
    }
}
