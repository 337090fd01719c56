//! What is known of response times beyond their mean: their law, and their mean by the size of the job.

use std::sync::Arc;

use sojourn_stats::{Dimension, Law, quantity, root};

use crate::answer::{Value, rounded};
use crate::formula::general::busy_period::BusyPeriod;
use crate::formula::general::mg1_fcfs::Tail;
use crate::formula::markovian::finite_fcfs::FiniteFcfs;
use crate::formula::markovian::mmc;
use crate::formula::order::las;
use crate::formula::order::mmc_order::MarkovianOrder;
use crate::formula::sharing::mmc_lps::MarkovianSharing;
use crate::formula::sharing::phase_ps::PhaseSharing;
use crate::formula::sharing::{fujita, lps, md1_ps, mg1_ps};
use crate::numeric;

/// The law of the response time.
#[derive(Clone, Debug)]
pub(crate) enum ResponseLaw {
    Exponential {
        mean_s: f64,
    },
    /// A wait of 0 or, with this probability, exponential of this rate; then an exponential service.
    Delayed {
        delay_probability: f64,
        drain_rate: f64,
        service_mean_s: f64,
    },
    /// M/G/1 under FCFS, computed on a grid.
    Fcfs {
        tail: Arc<Tail>,
        mean_s: f64,
    },
    /// M/D/1-PS.
    ConstantPs {
        arrival_rate: f64,
        service_s: f64,
    },
    /// M/D/1-LPS.
    ConstantLimited {
        fcfs: Arc<Tail>,
        arrival_rate: f64,
        service_s: f64,
        helpers: u32,
    },
    /// M/G/1-PS of mixtures of Erlang laws.
    PhaseSharing(Arc<PhaseSharing>),
    /// M/M/c under PS and limited PS.
    MarkovianSharing(Arc<MarkovianSharing>),
    /// M/M/c under LCFS and random service.
    MarkovianOrder(MarkovianOrder),
    /// M/G/1 under LCFS with preemption.
    BusyPeriod(BusyPeriod),
    /// M/M/c under FCFS where no more than so many are found.
    Finite(Arc<FiniteFcfs>),
}

impl ResponseLaw {
    /// P(T > t).
    pub(crate) fn tail(&self, t_s: f64) -> f64 {
        match *self {
            ResponseLaw::Exponential { mean_s } => (-t_s / mean_s).exp(),
            ResponseLaw::Delayed { delay_probability, drain_rate, service_mean_s } => {
                mmc::delayed_tail(t_s, delay_probability, drain_rate, service_mean_s)
            }
            ResponseLaw::Fcfs { ref tail, .. } => tail.at(t_s),
            ResponseLaw::ConstantPs { arrival_rate, service_s } => {
                md1_ps::response_time_tail(t_s, arrival_rate, service_s)
            }
            // It is known by its quantiles.
            ResponseLaw::ConstantLimited { .. } => {
                let (low, high) = (0.0, 1.0 - 1e-5);
                let end = if self.quantile(low) < t_s { high } else { low };
                1.0 - root::find(low, high, 0.0, |p| self.quantile(p) - t_s).unwrap_or(end)
            }
            ResponseLaw::PhaseSharing(ref sharing) => sharing.tail(t_s),
            ResponseLaw::MarkovianSharing(ref sharing) => sharing.tail(t_s),
            ResponseLaw::MarkovianOrder(ref law) => law.tail(t_s),
            ResponseLaw::BusyPeriod(ref period) => period.tail(t_s),
            ResponseLaw::Finite(ref law) => law.tail(t_s),
        }
    }

    /// Whether it is the law itself, and not one near it.
    pub(crate) fn is_exact(&self) -> bool {
        match self {
            ResponseLaw::Fcfs { .. } | ResponseLaw::ConstantLimited { .. } => false,
            ResponseLaw::Exponential { .. }
            | ResponseLaw::Delayed { .. }
            | ResponseLaw::ConstantPs { .. }
            | ResponseLaw::PhaseSharing(_)
            | ResponseLaw::MarkovianSharing(_)
            | ResponseLaw::MarkovianOrder(_)
            | ResponseLaw::BusyPeriod(_)
            | ResponseLaw::Finite(_) => true,
        }
    }

    /// What to know of its percentiles.
    pub(crate) fn caveat(&self) -> Option<String> {
        match self {
            ResponseLaw::Fcfs { tail, .. } => Some(format!(
                "response_time percentiles: computed on a grid of times {} apart",
                quantity::format(rounded(tail.step_s()), Dimension::Time)
            )),
            _ => None,
        }
    }

    /// The `p`-quantile (s).
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        match *self {
            ResponseLaw::Fcfs { ref tail, mean_s, .. } => tail.quantile(p, mean_s),
            ResponseLaw::ConstantPs { arrival_rate, service_s } => {
                let found = numeric::quantile(p, service_s, |t| md1_ps::response_time_tail(t, arrival_rate, service_s));
                // Who meets no other takes exactly its service.
                if (found - service_s).abs() <= 1e-9 * service_s { service_s } else { found }
            }
            ResponseLaw::ConstantLimited { ref fcfs, arrival_rate, service_s, helpers } => {
                let first = fcfs.quantile(p, service_s);
                let shared = ResponseLaw::ConstantPs { arrival_rate, service_s }.quantile(p);
                lps::constant_quantile(first, shared, helpers, service_s)
            }
            ResponseLaw::Exponential { mean_s } => -(-p).ln_1p() * mean_s,
            ResponseLaw::Delayed { delay_probability, drain_rate, service_mean_s } => {
                let scale = service_mean_s + delay_probability / drain_rate;
                numeric::quantile(p, scale, |t| mmc::delayed_tail(t, delay_probability, drain_rate, service_mean_s))
            }
            ResponseLaw::PhaseSharing(ref sharing) => sharing.quantile(p),
            ResponseLaw::MarkovianSharing(ref sharing) => sharing.quantile(p),
            ResponseLaw::MarkovianOrder(ref law) => law.quantile(p),
            ResponseLaw::BusyPeriod(ref period) => period.quantile(p),
            ResponseLaw::Finite(ref law) => law.quantile(p),
        }
    }
}

/// The mean response time of a job by the service it needs.
#[derive(Clone, Debug)]
pub(crate) enum BySize {
    /// A wait that does not depend on the size, and the service.
    After(Value),
    /// The service times this.
    Stretched(f64),
    /// M/G/1 under least attained service.
    LeastAttained { arrival_rate: f64, law: Law },
    /// M/G/1 under limited PS by Fujita's equation 2.1, approximate.
    Limited { helpers: u32, arrival_rate: f64, service_mean_s: f64, service_second_moment_s2: f64 },
}

impl BySize {
    /// Mean response time (s) of a job that needs `service_s`.
    pub(crate) fn response_mean(&self, service_s: f64) -> Value {
        match *self {
            BySize::After(wait) => wait.plus(service_s),
            BySize::Stretched(factor) => Value::exact(service_s * factor),
            BySize::LeastAttained { arrival_rate, ref law } => {
                Value::exact(las::response_time_mean_of(service_s, arrival_rate, law))
            }
            BySize::Limited { helpers, arrival_rate, service_mean_s, service_second_moment_s2 } => {
                let second = service_second_moment_s2;
                Value::approximate(fujita::response_time_mean_of(
                    service_s,
                    Some(helpers),
                    arrival_rate,
                    service_mean_s,
                    second,
                ))
            }
        }
    }

    /// What it is, for a reader.
    pub(crate) fn formula(&self) -> &'static str {
        match self {
            BySize::After(_) => "by size: the mean wait and the service",
            BySize::Stretched(_) => "by size: in proportion to the service, exact",
            BySize::LeastAttained { .. } => "by size: M/G/1-LAS (Schrage 1967), exact",
            BySize::Limited { .. } => "by size: Fujita's equation 2.1, approximate (its mean is the two-moment form)",
        }
    }
}

/// The standard deviation of the response time (s).
#[derive(Clone, Debug)]
pub(crate) enum Spread {
    Known(f64),
    /// M/G/1-PS, whose is computed on a grid, and therefore only if asked for.
    Shared {
        arrival_rate: f64,
        law: Law,
    },
}

impl Spread {
    pub(crate) fn std_s(&self) -> Option<f64> {
        match *self {
            Spread::Known(std_s) => Some(std_s),
            Spread::Shared { arrival_rate, ref law } => {
                mg1_ps::response_time_variance(arrival_rate, law).map(f64::sqrt)
            }
        }
    }
}
