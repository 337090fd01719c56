//! The busy period of M/G/1: the time from the start of a job at an idle server until it is idle again, and with it the
//! response time under LCFS with preemption, where each later arrival is served first.
//!
//! Its transform solves B(s) = S(s + lambda - lambda B(s)) (Kendall, Some problems in the theory of queues, 1951;
//! Kleinrock, Queueing Systems I, 1975, section 5.8) and is inverted numerically, where S has a transform for complex
//! s: a mixture of Erlang laws. Of constant service the period is a whole number of them, whose law is Borel's (Borel,
//! Sur l'emploi du théorème de Bernoulli pour faciliter le calcul d'une infinité de coefficients, 1942): P(n) = e^(-rho
//! n) (rho n)^(n-1) / n!.

use num_complex::Complex64;
use sojourn_stats::Law;
use sojourn_stats::law::ErlangBranch;
use statrs::function::gamma::ln_gamma;

use crate::numeric;
use crate::numeric::inversion::invert;

/// Busy period of M/G/1: its law.
#[derive(Clone, Debug)]
pub struct BusyPeriod {
    arrival_rate: f64,
    mean_s: f64,
    service: Service,
}

#[derive(Clone, Debug)]
enum Service {
    Constant(f64),
    Mixture(Vec<ErlangBranch>),
}

/// A quantile of more services than these is not looked for.
const SERVICES_MAX: u64 = 10_000_000;
/// Where the fixed point is found.
const SETTLED: f64 = 1e-14;

impl BusyPeriod {
    /// Busy period of jobs that come at `arrival_rate` (1/s) and need a time of this law (s). None at a utilisation of
    /// 1 or more, and where the law is neither constant nor a mixture of Erlang laws.
    pub fn new(arrival_rate: f64, service: &Law) -> Option<BusyPeriod> {
        let utilization = arrival_rate * service.mean();
        if utilization >= 1.0 {
            return None;
        }
        let mean_s = service.mean() / (1.0 - utilization);
        let service = match service.variance() {
            0.0 => Service::Constant(service.mean()),
            _ => Service::Mixture(service.erlang_mixture()?),
        };
        Some(BusyPeriod { arrival_rate, mean_s, service })
    }

    /// Tail P(T > t) at `t_s` (s).
    pub fn tail(&self, t_s: f64) -> f64 {
        match self.service {
            // A hair more, so that n services are n services.
            Service::Constant(service_s) => {
                let services = (t_s / service_s * (1.0 + 1e-12)).floor();
                let up_to: f64 = (1..=services as u64).map(|n| self.borel(n, service_s)).sum();
                (1.0 - up_to).max(0.0)
            }
            Service::Mixture(_) if t_s <= 0.0 => 1.0,
            Service::Mixture(ref branches) => invert(t_s, |s| (1.0 - self.transform(s, branches)) / s).clamp(0.0, 1.0),
        }
    }

    /// Quantile at `p` (s).
    pub fn quantile(&self, p: f64) -> f64 {
        match self.service {
            Service::Constant(service_s) => {
                let mut missing = p;
                let services = (1..SERVICES_MAX).find(|&n| {
                    missing -= self.borel(n, service_s);
                    missing <= 0.0
                });
                services.map_or(f64::INFINITY, |n| n as f64 * service_s)
            }
            Service::Mixture(_) => numeric::smooth_quantile(p, self.mean_s, |t| self.tail(t)),
        }
    }

    /// The probability of a busy period of `n` services.
    fn borel(&self, n: u64, service_s: f64) -> f64 {
        let (n, rho) = (n as f64, self.arrival_rate * service_s);
        (-rho * n + (n - 1.0) * (rho * n).ln() - ln_gamma(n + 1.0)).exp()
    }

    /// B(s), from its definition: the map contracts by the utilisation at least.
    fn transform(&self, s: Complex64, branches: &[ErlangBranch]) -> Complex64 {
        let mut busy = Complex64::ZERO;
        loop {
            let at = s + self.arrival_rate - busy * self.arrival_rate;
            let next = branches.iter().fold(Complex64::ZERO, |sum, branch| {
                let rate = f64::from(branch.stages) / branch.mean;
                sum + (rate / (at + rate)).powu(branch.stages) * branch.weight
            });
            let moved = next - busy;
            busy = next;
            if moved.re.abs() + moved.im.abs() < SETTLED {
                return busy;
            }
        }
    }
}
