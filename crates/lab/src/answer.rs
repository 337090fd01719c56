//! What an engine answers.

use sojourn_load::Second;
use sojourn_model::system::Fault;
use sojourn_stats::{Measure, Span};

use crate::folder::LiveFile;

/// What one engine says of one variant.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Its numbers; none where it cannot answer.
    pub measures: Vec<Measure>,
    /// The distribution of the response time: (seconds, share that took no longer).
    pub curve: Vec<(f64, f64)>,
    /// Every metric's value in each replication, in their order (none where a replication has none); only the simulator
    /// has replications. With common random numbers, differences between variants are taken replication by replication.
    pub replications: Vec<(String, Vec<Option<f64>>)>,
    /// Open connections at a server and the share of the time that servers had so many; sessions only.
    pub connections: Vec<(u32, f64)>,
    /// The run second by second, where it is live.
    pub seconds: Vec<Second>,
    /// Where requests went over time; only where faults are planned.
    pub over_time: Vec<Place>,
    /// Why it cannot answer, or what to beware of.
    pub notes: Vec<String>,
    /// What happened meanwhile, for the run folder's events.
    pub events: Vec<serde_json::Value>,
    /// How far it can be trusted, where it is live.
    pub live: Option<LiveFile>,
    /// What the way to the servers and back took by itself, where it is live.
    pub path: Option<PathDelay>,
    /// The faults as they really happened, where it is live and some were planned.
    pub faults: Option<Vec<Fault>>,
}

/// How many requests a part of the system got over time, by the instants at which they were planned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// A site, or a server where there are no sites; or [`FAILED`].
    pub name: String,
    /// Beginnings of intervals (s) and requests per second in them.
    pub points: Vec<(f64, f64)>,
}

/// The place of requests that no server has answered well.
pub const FAILED: &str = "failed";

/// What the way to the servers and back takes when they have nothing to do: sockets, wake-ups and the gateway's work.
/// Measured live before each run, and given to the twin, whose servers would else be nearer than live's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathDelay {
    /// From a client to the balancer and back; zero without a balancer.
    pub client: Span,
    /// From the balancer (or the client, without one) to a server and back.
    pub cluster: Span,
}
