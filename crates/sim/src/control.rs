//! How long is simulated, and what comes out.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_dispatch::{Catalogue, DispatchError};
use sojourn_model::{Knowledge, Server};
use sojourn_stats::measure::CONFIDENCE;
use sojourn_stats::{Estimate, Measure, Span, Stream};
use sojourn_traffic::{Demand, WorkloadError};
use thiserror::Error;

use crate::load::Fullest;
use crate::recovery::Recovery;

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
    /// The metrics that must be sharp, whatever else is asked for; none: `response_time_mean`, `response_time_p90`,
    /// `response_time_p99`, and the mean of each chain of a network.
    pub sharp: Option<Vec<String>>,
    /// More metrics that must be.
    pub metrics: Vec<String>,
    /// Shares of which one must know on which side of a limit they are. What has no event, or nothing else, is never sharp.
    pub limits: Vec<(String, f64)>,
    /// Requests after which no more precision is asked for, over all replications.
    pub max_jobs: u64,
    /// Requests that come in one relaxation time, in which the system forgets its state. Without a horizon each replication
    /// warms up for three times as many and measures ten times as many, or there are no intervals. Where that would be more than
    /// `max_jobs` and there are several servers, it is judged by the response times. The warm-up then stays as long, up to half
    /// of the run, where none of them knows of the others; where all together forget sooner it is sought in the run. None: it
    /// is not known.
    pub relaxation: Option<u64>,
    /// The least number of replications: at least 2, and at least 20 where a precision stops a run without a horizon.
    pub replications: u32,
    /// Memory (bytes) that replications, their servers and users, and the requests inside may take together.
    pub memory: u64,
    /// Predict how long each request will be at its server when it comes there, and say how wrong that was.
    pub predict: Option<Knowledge>,
    /// Count requests of intervals of this length, where they go and whether they fail; not of users who browse.
    pub over_time: Option<Span>,
    /// Threads to compute them on; the answer does not depend on it.
    pub threads: usize,
    /// Set it to stop early: the report then is of what has been simulated.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Where names of policies are looked up; policies of your own are added there.
    pub catalogue: Catalogue,
    /// Use the routed fabric where the direct one would do: for tests that hold the one to the other.
    pub always_routed: bool,
    /// Use the event loop where replications without an event list would do ([`crate::needs_events`]).
    pub events: bool,
}

impl Default for Control {
    fn default() -> Control {
        Control {
            seed: 1,
            warm_up: WarmUp::Auto,
            horizon: None,
            precision: Some(Precision { relative: 0.05, confidence: 0.95 }),
            sharp: None,
            metrics: Vec::new(),
            limits: Vec::new(),
            max_jobs: 50_000_000,
            relaxation: None,
            replications: 20,
            memory: 4 << 30,
            predict: None,
            over_time: None,
            threads: 1,
            cancel: None,
            catalogue: Catalogue::default(),
            always_routed: false,
            events: false,
        }
    }
}

impl Control {
    /// The confidence of intervals.
    pub(crate) fn confidence(&self) -> f64 {
        self.precision.map_or(CONFIDENCE, |precision| precision.confidence)
    }

    /// What is left out at the start of a run of this length.
    ///
    /// # Errors
    /// When nothing would be left, or it is not a time.
    pub(crate) fn warm_up_of(&self, horizon: Span) -> Result<Span, SimError> {
        match self.warm_up {
            WarmUp::Auto => Ok(Span::ZERO),
            WarmUp::Fixed(warm_up) if warm_up < horizon => Ok(warm_up),
            WarmUp::Fixed(warm_up) => {
                Err(SimError::Invalid(format!("the warm-up of {warm_up} is not shorter than the run of {horizon}")))
            }
            WarmUp::Requests(_) => Err(WarmUp::not_a_time()),
        }
    }
}

/// What is left out at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// Found by MSER-5 on a pilot of each replication: measuring starts at the end of the first pilot (5,000 requests, 20 for
    /// each server, three relaxation times or five for each user, whichever is most; then twice as many) whose cut is not in its
    /// last half. Nothing is left out of a run that has an end, by its horizon or its log's: it starts where it starts.
    Auto,
    /// This long.
    Fixed(Span),
    /// Until so many requests of a replication have ended; of runs without an end alone.
    Requests(u64),
}

impl WarmUp {
    /// Why a run with an end, whose instants are asked for, takes no number of requests.
    pub(crate) fn not_a_time() -> SimError {
        SimError::Invalid("a run with an end has a warm-up that is a time, not a number of requests".into())
    }
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
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// Where requests went over time, where that was asked for.
    pub over_time: Option<OverTime>,
    /// Requests measured.
    pub jobs: u64,
    /// Replications.
    pub replications: u32,
    /// Whether every metric asked for is as sharp as asked.
    pub converged: bool,
    /// What a reader must know, one line each.
    pub notes: Vec<String>,
}

/// Where requests went over time, by the instants at which they were planned, from the beginning of a run on: its warm-up
/// counts too. Mean over the replications.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverTime {
    /// The length of an interval.
    pub every: Span,
    /// Requests per second that were sent to each server, interval by interval; some of them may have failed there.
    pub servers: Vec<Vec<f64>>,
    /// Requests per second that failed or were given up.
    pub failed: Vec<f64>,
    /// Outcomes interval by interval, each in the interval in which it happened: `arrivals`, `attempts`, `goodput`, `failed`
    /// and, of its causes, `timed_out`, `refused`, `errors` and `given_up` where there are any (1/s), `in_flight` at its end,
    /// `faults` that last in it (1), and `response_time_p50` and `response_time_p99` (s). With intervals over replications; of
    /// a run with a horizon, up to it.
    pub columns: Vec<Column>,
    /// How each replication recovered from the last fault; empty where there is no fault, or one that never ends.
    pub recoveries: Vec<Recovery>,
}

/// A metric over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// Its name.
    pub metric: String,
    /// Its SI unit.
    pub unit: String,
    /// Its values, interval by interval.
    pub values: Vec<Estimate>,
}

/// Why a system cannot be simulated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimError {
    /// It makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// An open system that never settles.
    #[error(
        "utilization {utilization:.3} is not below 1, so an open system never settles: stable below {stable:.4} /s in \
         all (now {rate:.4} /s); lower the rate, add servers, limit patience or room, or give a horizon"
    )]
    Unstable {
        /// Demand over capacity.
        utilization: f64,
        /// The arrival rate (1/s).
        rate: f64,
        /// The arrival rate (1/s) at which the utilisation is 1.
        stable: f64,
    },
    /// All servers together could do what is asked for, and one of them cannot do its share.
    #[error(
        "{}; lower the rate, give that server less weight or more cores, take a policy that looks at the load, or give a horizon",
        .0.in_words()
    )]
    ServerUnstable(Fullest),
    /// The same, seen afterwards where nothing says beforehand what each server gets.
    #[error(
        "{server} was never idle while {requests} requests came to it: it gets as much as it can do or more, or so nearly as \
         much that no run is long enough; lower the rate, take a policy that looks at the load, or give a horizon"
    )]
    NeverIdle {
        /// Its name.
        server: String,
        /// Requests that it got, in all replications.
        requests: u64,
    },
    /// It forgets its state so slowly that an interval would take more requests than are allowed.
    #[error(
        "so near saturation the system takes {relaxation} requests to forget its state, and an interval takes ten times as \
         many in each of {replications} replications, after their warm-up: set max_jobs = {needed} (now {max_jobs}), \
         lower the load, or give a horizon"
    )]
    TooSlow {
        /// Requests that come in one relaxation time.
        relaxation: u64,
        /// Replications.
        replications: u64,
        /// Requests that it takes.
        needed: u64,
        /// Requests that are allowed.
        max_jobs: u64,
    },
    /// All that is allowed would be left out.
    #[error(
        "a warm-up of {warm_up} requests leaves nothing to measure: each of {replications} replications has {each}; set \
         max_jobs = {needed} (now {max_jobs}), or a shorter warm-up"
    )]
    AllWarmUp {
        /// Requests that each replication leaves out.
        warm_up: u64,
        /// Requests that each has in all.
        each: u64,
        /// Replications.
        replications: u64,
        /// Requests that it takes.
        needed: u64,
        /// Requests that are allowed.
        max_jobs: u64,
    },
    /// It finds no room in memory.
    #[error("{what}: that takes {needed} MB of memory, and {memory} MB may be used")]
    Memory {
        /// What takes it.
        what: String,
        /// How much (MB).
        needed: u64,
        /// How much there is (MB).
        memory: u64,
    },
    /// It has what the simulator does not have yet.
    #[error("not there yet: sim has no {0}")]
    NotYet(String),
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
