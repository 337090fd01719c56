//! What is simulated, how long, and what comes out.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_dispatch::{DispatchError, Information, Signals};
use sojourn_model::{Knowledge, Link, Server};
use sojourn_stats::measure::CONFIDENCE;
use sojourn_stats::{Measure, Span, Stream};
use sojourn_traffic::{Demand, Workload, WorkloadError};
use thiserror::Error;

/// What is simulated.
#[derive(Clone)]
pub struct Scenario {
    /// What users ask for.
    pub workload: Workload,
    /// The work of each request, as the plan draws it; [`demand_of`] a server model.
    pub demand: Arc<dyn Demand>,
    /// The balancer's policy; none: there is no balancer, and one server.
    pub policy: Option<String>,
    /// How fresh the balancer's counts are.
    pub information: Information,
    /// Deciders with a state of their own; each request goes to one of them, drawn.
    pub dispatchers: u32,
    /// The servers, in the balancer's order; their names are [`server_name`].
    pub servers: Vec<Server>,
    /// Weight of each server; none: all equal.
    pub weights: Vec<f64>,
    /// Each client's own link to the balancer.
    pub client_link: Option<Link>,
    /// The link between balancer and servers, which all replies share.
    pub cluster_link: Option<Link>,
    /// What the balancer can tell its policy.
    pub signals: Signals,
}

/// How long to simulate.
#[derive(Clone, Debug)]
pub struct Control {
    /// The run's seed: replication 0 has it, the others have seeds derived from it.
    pub seed: u64,
    /// What is left out at the start of each replication.
    pub warm_up: WarmUp,
    /// Stop accepting requests then, and drain; each replication is this long. None: as long as it takes.
    pub horizon: Option<Span>,
    /// How sharp the metrics must be; none: spend all of `max_jobs` (or the least number of replications of `horizon`).
    pub precision: Option<Precision>,
    /// The metrics that must be sharp, besides `response_time_mean`, `response_time_p90` and `response_time_p99`.
    pub metrics: Vec<String>,
    /// Requests after which no more precision is asked for, over all replications.
    pub max_jobs: u64,
    /// The least number of replications: at least 2, and at least 20 where a precision stops a run without a horizon.
    pub replications: u32,
    /// Predict how long each request will be at its server when it comes there, and say how wrong that was.
    pub predict: Option<Knowledge>,
    /// Threads to compute them on; the answer does not depend on it.
    pub threads: usize,
    /// Set by anybody to stop early: the report then is of what has been simulated.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for Control {
    fn default() -> Control {
        Control {
            seed: 1,
            warm_up: WarmUp::Auto,
            horizon: None,
            precision: Some(Precision { relative: 0.05, confidence: 0.95 }),
            metrics: Vec::new(),
            max_jobs: 50_000_000,
            replications: 20,
            predict: None,
            threads: 1,
            cancel: None,
        }
    }
}

impl Control {
    /// The confidence of intervals.
    pub(crate) fn confidence(&self) -> f64 {
        self.precision.map_or(CONFIDENCE, |precision| precision.confidence)
    }
}

/// What is left out at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// Found by MSER-5 on a pilot of each replication: measuring starts at the end of the first pilot (5,000 requests,
    /// then twice as many) whose cut is not in its last half. Nothing is left out of a run that has an end, by its
    /// horizon or its log's: it starts where it starts.
    Auto,
    /// This long.
    Fixed(Span),
}

/// How sharp a metric must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Half-width of the interval over the estimate.
    pub relative: f64,
    /// Confidence of the interval.
    pub confidence: f64,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Requests simulated so far, over all replications.
    pub jobs: u64,
    /// Requests at which the present round ends.
    pub planned: u64,
    /// The widest interval among the metrics asked for (half-width over estimate), once it is known.
    pub relative: Option<f64>,
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The metrics, with intervals.
    pub measures: Vec<Measure>,
    /// The value of each metric in each replication, in order; none where one has too few samples. Empty of one run.
    pub replications_values: Vec<(String, Vec<Option<f64>>)>,
    /// Open connections at a server, and the share of the servers' time that it had so many; of users who browse only.
    pub connections: Vec<(u32, f64)>,
    /// Users attached to a server, likewise.
    pub attached: Vec<(u32, f64)>,
    /// Response times (s) and the part of the requests that took no longer, ascending.
    pub response_time_cdf: Vec<(f64, f64)>,
    /// Requests measured.
    pub jobs: u64,
    /// Replications.
    pub replications: u32,
    /// Whether every metric asked for is as sharp as asked.
    pub converged: bool,
    /// What a reader must know, one line each.
    pub notes: Vec<String>,
}

/// Why a scenario cannot be simulated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimError {
    /// It makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// An open system that never settles.
    #[error(
        "utilization {utilization:.3} is not below 1, so an open system never settles: stable below {stable:.4} /s in \
         all (now {rate:.4} /s); lower the rate, add servers, or give a horizon"
    )]
    Unstable {
        /// Demand over capacity.
        utilization: f64,
        /// The arrival rate (1/s).
        rate: f64,
        /// The arrival rate (1/s) at which the utilisation is 1.
        stable: f64,
    },
    /// What the dispatcher says.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    /// What the workload says.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The threads could not be started.
    #[error("no threads to simulate on: {0}")]
    Threads(String),
}

/// The work of each request as `server` says, by the classes of session workloads (other requests are all `static`).
/// What TLS costs is part of the demand of `secure`.
pub fn demand_of(server: &Server) -> Arc<dyn Demand> {
    demand_of_classes(server, &["static", "dynamic", "secure"])
}

/// The same for a workload with these classes, by class number ([`Workload::classes`]).
pub fn demand_of_classes(server: &Server, classes: &[&str]) -> Arc<dyn Demand> {
    let demands: Vec<_> = classes.iter().map(|class| server.demand(class).clone()).collect();
    Arc::new(move |class: u8, size: u64, stream: &mut Stream| demands[usize::from(class)].draw(size, stream))
}

/// The name of server number `index` (from 0) among the balancer's backends: `server-1` is the first.
pub fn server_name(index: usize) -> String {
    format!("server-{}", index + 1)
}

impl Scenario {
    /// The scenario of one server that clients meet without a balancer or links.
    pub fn single(workload: Workload, server: Server) -> Scenario {
        Scenario {
            demand: demand_of_classes(&server, &workload.classes()),
            workload,
            policy: None,
            information: Information::Immediate,
            dispatchers: 1,
            servers: vec![server],
            weights: Vec::new(),
            client_link: None,
            cluster_link: None,
            signals: Signals::all(),
        }
    }

    /// Refuses what makes no sense.
    pub(crate) fn check(&self) -> Result<(), SimError> {
        let fault = if self.servers.is_empty() {
            "no servers: a system has at least 1"
        } else if self.policy.is_none() && self.servers.len() > 1 {
            "several servers need a balancer: name a policy"
        } else if self.dispatchers == 0 {
            "no dispatchers: a balancer has at least 1"
        } else if !(self.weights.is_empty() || self.weights.len() == self.servers.len()) {
            "one weight per server"
        } else {
            return Ok(());
        };
        Err(SimError::Invalid(fault.into()))
    }

    /// Whether an overload is shed: every server denies, or clients give up.
    pub(crate) fn sheds_load(&self) -> bool {
        let patient = matches!(&self.workload, Workload::Open(open) if open.patience.is_none());
        !patient || self.servers.iter().all(|server| server.capacity.is_some())
    }

    /// Whether the arrival rate changes with time.
    pub(crate) fn changes_with_time(&self) -> bool {
        matches!(&self.workload, Workload::Open(open) if open.arrivals.profile().is_some())
    }

    /// The mean demand (s) on a server of speed 1, as the workload or else the first server's model says.
    pub(crate) fn demand_mean_s(&self) -> f64 {
        if let Some((mean_s, _)) = self.workload.demand_moments() {
            return mean_s;
        }
        let (size_mean, size_variance) = self.workload.size_moments();
        self.servers[0].demand("static").moments(size_mean, size_variance).0
    }

    /// Utilisation, arrival rate (the highest, where it changes) and largest stable arrival rate of an open workload,
    /// where its rate and the mean demand are known.
    pub(crate) fn load(&self) -> Option<(f64, f64, f64)> {
        let Workload::Open(open) = &self.workload else { return None };
        let rate = open.arrivals.peak_rate()?;
        let (size_mean, size_variance) = open.sizes.moments();
        let (demand_mean_s, _) = self.servers[0].demand("static").moments(size_mean, size_variance);
        let cores = self.servers.iter().map(|server| f64::from(server.cores) * server.speed).sum::<f64>();
        let stable = cores / demand_mean_s;
        stable.is_finite().then_some((rate / stable, rate, stable))
    }
}
