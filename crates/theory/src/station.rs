//! One server with its queue: which formula holds for it. The queue of a notation and each server of an experiment's
//! system are solved here, so that both say the same.

mod finite;
mod open;
mod order;
pub(crate) mod response;

use sojourn_stats::Law;

use self::response::{BySize, ResponseLaw, Spread};
use crate::answer::{Value, brief, yes};
use crate::formula::sharing::phase_lps::PhaseQueue;
use crate::kendall::Discipline;
use crate::law::PhaseType;
use crate::law::{Gaps, Moments};

/// How the queues of exponential stages are solved.
const PHASE_TYPE: &str = "Markov chain of exponential stages (matrix-geometric), exact";

/// What is wrong with a service of infinite mean, and the ways out.
pub(crate) const NO_MEAN: &str = "the law has no mean, so no server keeps up with it under FCFS, PS or any \
                                  discipline: take bounded-pareto, or redraw at `max =` (PS needs a mean, but no \
                                  variance: an index above 1)";

/// A server as the formulas see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Station {
    pub(crate) service: Moments,
    /// The service law, where more than its moments is known.
    pub(crate) law: Option<Law>,
    pub(crate) cores: u32,
    pub(crate) discipline: Discipline,
    pub(crate) capacity: Option<u32>,
    /// Whether laws of times that take long to compute are left out.
    pub(crate) means_only: bool,
}

/// What is known of a station in the steady state.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// What passes through; none where the loss of a limited room is not known.
    pub(crate) flow: Option<Flow>,
    /// The times, or one line that says why there are none.
    pub(crate) times: Result<Times, String>,
}

/// What passes through a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Flow {
    /// The part of the core time that is used.
    pub(crate) utilisation: f64,
    /// Jobs served per second.
    pub(crate) throughput: f64,
    /// The part of the arrivals that finds the station full; none without a capacity.
    pub(crate) loss: Option<f64>,
}

/// Response and waiting times.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) response_mean: Value,
    /// Time before service starts.
    pub(crate) waiting_mean: Option<Value>,
    /// The part of the jobs that does not start at once.
    pub(crate) delay_probability: Option<Value>,
    /// Standard deviation of the response time.
    pub(crate) spread: Option<Spread>,
    /// The law of the response time, where it is known.
    pub(crate) law: Option<ResponseLaw>,
    /// The mean response time by size, where it is known.
    pub(crate) by_size: Option<BySize>,
    /// The formula, with its reach.
    pub(crate) formula: String,
    /// Each assumption of the formula and whether it is met.
    pub(crate) assumptions: Vec<String>,
}

impl Times {
    fn new(response_mean: Value, formula: impl Into<String>, assumptions: Vec<String>) -> Times {
        Times {
            response_mean,
            waiting_mean: None,
            delay_probability: None,
            spread: None,
            law: None,
            by_size: None,
            formula: formula.into(),
            assumptions,
        }
    }
}

impl Station {
    /// A station of a service of which these moments are known, or its whole law.
    pub(crate) fn new(
        service: Moments,
        law: Option<Law>,
        cores: u32,
        discipline: Discipline,
        capacity: Option<u32>,
    ) -> Station {
        let law = law.or_else(|| service.law());
        Station { service, law, cores, discipline, capacity, means_only: false }
    }

    /// Cores that can be busy at once: limited PS with fewer helpers than cores leaves the rest idle.
    pub(crate) fn usable_cores(&self) -> u32 {
        match self.discipline {
            Discipline::LimitedPs { helpers } => self.cores.min(helpers),
            _ => self.cores,
        }
    }

    /// Jobs served at once at most; none: no limit, and an arrival starts at once. As many as there are usable cores is
    /// FCFS.
    pub(crate) fn places(&self) -> Option<u32> {
        match self.discipline {
            Discipline::Fcfs | Discipline::Siro | Discipline::Lcfs { preemptive: false } => Some(self.cores),
            Discipline::Priority { .. } | Discipline::RoundRobin { .. } => Some(self.cores),
            Discipline::LimitedPs { helpers } => Some(helpers),
            Discipline::Ps | Discipline::LeastAttained | Discipline::Lcfs { preemptive: true } => None,
        }
    }

    /// The arrival rate (1/s) that must stay above the actual one for a steady state; none with a capacity, which
    /// makes any load stable.
    pub(crate) fn largest_stable_rate(&self) -> Option<f64> {
        self.capacity.is_none().then(|| f64::from(self.usable_cores()) / self.service.mean_s)
    }

    /// Solves the station for arrivals with these gaps. They must be stable: see [`Station::largest_stable_rate`].
    pub(crate) fn solve(&self, gaps: &Gaps) -> Solution {
        match self.capacity {
            Some(capacity) => self.solve_finite(gaps, capacity),
            None => {
                let throughput = gaps.rate();
                let utilisation = throughput * self.service.mean_s / f64::from(self.cores);
                let flow = Flow { utilisation, throughput, loss: None };
                Solution { flow: Some(flow), times: self.times(gaps) }
            }
        }
    }

    /// E\[S^2\] (s^2).
    fn second_moment_s2(&self) -> f64 {
        (1.0 + self.service.scv) * self.service.mean_s.powi(2)
    }

    /// The queue as a Markov chain, where gaps and service are made of exponential stages and it is small enough.
    fn phase_queue(&self, gaps: &Gaps) -> Option<PhaseQueue> {
        let queue = PhaseQueue {
            gaps: PhaseType::of(&gaps.erlang_mixture()?),
            service: PhaseType::of(&self.law.as_ref()?.erlang_mixture()?),
            cores: self.usable_cores(),
            places: self.places()?,
            capacity: self.capacity,
        };
        queue.is_small().then_some(queue)
    }

    fn assumptions(&self, gaps: &Gaps, exponential_service: bool) -> Vec<String> {
        let with = |met: bool, scv: f64| {
            if met { yes(met).to_owned() } else { format!("{} (C2 = {})", yes(met), brief(scv)) }
        };
        let service = &self.service;
        let poisson = with(gaps.is_poisson(), gaps.scv());
        let mut lines = vec![format!("Poisson arrivals: {poisson}")];
        let exponential = with(service.is_exponential(), service.scv);
        let needed = if exponential_service || service.is_exponential() { "" } else { ", not assumed" };
        lines.push(format!("exponential service: {exponential}{needed}"));
        if service.scv.is_infinite() {
            lines.push("finite variance of the service: no, not assumed".into());
        }
        lines.push("gaps and services independent of each other: assumed".into());
        lines
    }
}
