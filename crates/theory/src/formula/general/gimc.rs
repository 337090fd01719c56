//! GI/M/c, exactly: renewal arrivals of any law, exponential service, c servers and one queue.
//!
//! An arrival finds c-1+j jobs with a probability that falls by omega in j, omega = A*(c mu (1-omega)), so that the
//! wait is 0 or exponential with the rate c mu (1-omega); with which probability it is 0, Takacs's sum says
//! (Introduction to the Theory of Queues, 1962, section 2.3). One root, and c values of the transform A* of the gaps.
//! For c = 1 it is [`super::gig1::GiM1`], for Poisson arrivals M/M/c.

use super::gig1::idle_root;
use crate::law::Gaps;

/// Largest number of servers: each takes a value of the transform, which may be an integral.
pub const SERVERS_MAX: u32 = 2000;

/// Queue GI/M/c, solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GiMc {
    /// Decay factor: P(an arrival finds one job more) over P(it finds that many), beyond c-1.
    pub omega: f64,
    /// Delay probability: an arrival has to wait.
    pub delay_probability: f64,
    servers: f64,
    service_mean_s: f64,
    /// 1 - omega, with all its digits.
    idle: f64,
}

impl GiMc {
    /// Solution of the queue. None when the transform of the gaps is not known, the utilisation is 1 or more, or there
    /// are more than [`SERVERS_MAX`] servers.
    pub fn solve(gaps: &Gaps, servers: u32, service_mean_s: f64) -> Option<GiMc> {
        let c = f64::from(servers);
        if gaps.rate() * service_mean_s >= c || servers > SERVERS_MAX {
            return None;
        }
        gaps.transform_complement(1.0)?;
        let complement = |s: f64| gaps.transform_complement(s).unwrap_or(0.0);
        // As for one server that is c times as fast.
        let idle = idle_root(|x| complement(x * c / service_mean_s));
        // The sum over j of (c over j) / (C_j (1-g_j)) (c (1-g_j) - j) / (c (1-omega) - j), where g_j = A*(j mu) and
        // C_j is the product of g_i / (1-g_i) up to j; in logarithms, as its terms leave the range of numbers.
        let mut sum = 1.0 / idle;
        let mut log_term = 0.0;
        for server in 1..=servers {
            let j = f64::from(server);
            let u = complement(j / service_mean_s);
            log_term += ((c - j + 1.0) / j).ln() + u.ln() - (-u).ln_1p();
            // Both change their sign at the same j.
            let ratio = |j: f64| (c * complement(j / service_mean_s) - j) / (c * idle - j);
            let near = (c * idle - j).abs() < 1e-6 * j;
            let ratio = if near { 0.5 * (ratio(j * (1.0 - 1e-5)) + ratio(j * (1.0 + 1e-5))) } else { ratio(j) };
            sum += (log_term.min(700.0)).exp() / u * ratio;
        }
        let delay_probability = 1.0 / (sum * idle);
        Some(GiMc { omega: 1.0 - idle, delay_probability, servers: c, service_mean_s, idle })
    }

    /// Rate (1/s) of the exponential wait of the delayed, c mu (1-omega).
    pub fn drain_rate(&self) -> f64 {
        self.servers * self.idle / self.service_mean_s
    }

    /// Mean response time (s); the same under any sharing of the servers that does not look at sizes.
    pub fn response_time_mean(&self) -> f64 {
        self.service_mean_s + self.delay_probability / self.drain_rate()
    }

    /// Mean time before service starts (s) when `helpers` >= c jobs (FCFS: c) share the servers.
    pub fn waiting_time_mean(&self, helpers: u32) -> f64 {
        let beyond = f64::from(helpers) - self.servers;
        self.omega.powf(beyond.max(0.0)) * self.delay_probability / self.drain_rate()
    }
}
