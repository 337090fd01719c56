//! Fujita's model of a Web server (Performance modeling and evaluation of Web server systems with proxy caching, 2000,
//! section 2.3): Poisson requests, a FIFO queue, and r helpers that share the processor.
//!
//! His approximation (2.1) for a request of work x, of which (2.2) is the mean over all x, (2.3) the case r = 1 and
//! (2.4) the limit of many helpers, both exact:
//!
//! E\[R|S=x\] = rho^r/(1-rho) E\[S^2\]/(2E\[S\]) + Delta + (1-rho^r)/(1-rho) x
//!
//! Its mean is the two-moment form of [`super::lps`], with the error stated there. The work of a document of x bytes is
//! g(x) = a x + b (2.5), so that work has the law of the sizes, moved and stretched (2.6).

use sojourn_stats::Law;

/// Mean response time (s) of a request that takes `service_s` of work, with `helpers` = r (none: no limit): equation
/// 2.1, without the time for dispatching. Exact for r = 1 and without limit. Infinite at a utilisation of 1 or more.
pub fn response_time_mean_of(
    service_s: f64,
    helpers: Option<u32>,
    arrival_rate: f64,
    service_mean_s: f64,
    service_second_moment_s2: f64,
) -> f64 {
    let rho = arrival_rate * service_mean_s;
    if rho >= 1.0 {
        return f64::INFINITY;
    }
    let Some(helpers) = helpers else { return service_s / (1.0 - rho) };
    let crowded = rho.powf(f64::from(helpers));
    let wait = crowded / (1.0 - rho) * break_even_size(service_mean_s, service_second_moment_s2);
    wait + (1.0 - crowded) / (1.0 - rho) * service_s
}

/// Mean response time (s) of all requests: equation 2.2.
pub fn response_time_mean(
    helpers: Option<u32>,
    arrival_rate: f64,
    service_mean_s: f64,
    service_second_moment_s2: f64,
) -> f64 {
    response_time_mean_of(service_mean_s, helpers, arrival_rate, service_mean_s, service_second_moment_s2)
}

/// Size (s) up to which PS is the faster: the work to which FCFS and PS give the same mean response time, E\[S^2\] / (2
/// E\[S\]): what is shorter gains from sharing, what is longer loses (M/G/1 at any load; Kleinrock, Queueing Systems
/// II, 1976, section 4.4).
pub fn break_even_size(service_mean_s: f64, service_second_moment_s2: f64) -> f64 {
    service_second_moment_s2 / (2.0 * service_mean_s)
}

/// Work of documents: equations 2.5 and 2.6.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Work per byte a (s).
    pub per_byte_s: f64,
    /// Work of any document b (s).
    pub fixed_s: f64,
    /// Document sizes (B).
    pub sizes: Law,
}

impl Work {
    /// Work of a document of `size` bytes (s), g(x) = a x + b.
    pub fn of(&self, size: f64) -> f64 {
        self.per_byte_s * size + self.fixed_s
    }

    /// Mean work E\[S\] (s).
    pub fn mean_s(&self) -> f64 {
        self.of(self.sizes.mean())
    }

    /// Second moment of the work E\[S^2\] (s^2).
    pub fn second_moment_s2(&self) -> f64 {
        self.per_byte_s.powi(2) * self.sizes.variance() + self.mean_s().powi(2)
    }

    /// Distribution function P(S <= y) of the work: the law of the sizes at the inverse of g.
    pub fn cdf(&self, work_s: f64) -> f64 {
        if self.per_byte_s > 0.0 {
            self.sizes.cdf((work_s - self.fixed_s) / self.per_byte_s)
        } else {
            f64::from(u8::from(work_s >= self.fixed_s))
        }
    }
}
