//! A server model from an access log alone: nothing is sent to the server.
//!
//! A log that says when each request came to a server and how long it was there says everything but how the server
//! shared itself among them. For any given sharing the demands follow exactly ([`inverse`]), and the likelihood of
//! the log with these demands tells which sharing it was ([`choose`]). What the demand depends on, and its law,
//! come from these demands ([`demand`]).
//!
//! Three decisions:
//!
//! - *One family of servers*: `cores` cores that serve `helpers` requests at once, the others first come, first served.
//!   First come, first served, is that with as many helpers as cores; processor sharing that without a limit.
//! - *Fitted to the first half, judged by the second*: the second half is simulated with demands drawn from the fitted law, and
//!   the response times are compared with the log's, over bins of load ([`judge`]).
//! - *A model that does not explain the second half is refused*, with how far it is off.
//!
//! The price: what the path to the server takes counts as its work, a server that does something else besides the
//! logged requests is fitted as a slower one, and a rule of service outside of the family is found only by its
//! misses.

mod choose;
mod demand;
mod inverse;
mod judge;
mod visits;
mod write;

use serde::{Serialize, Serializer};
use sojourn_model::{Discipline, Server};
use sojourn_traffic::log::Log;

pub use self::judge::{LoadBin, Seen};
use self::visits::Visits;
use crate::log::inverse::Sharing;
use crate::settings::{CalibrateError, Interval};

/// A server model that was fitted to a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogCalibration {
    /// The model, whose speed is that of the servers together.
    #[serde(serialize_with = "as_toml")]
    pub server: Server,
    /// Each server of the log.
    pub servers: Vec<LoggedServer>,
    /// What the time at a server is taken from, in words.
    pub times_are: &'static str,
    /// Requests that were fitted to, and those that the model was judged by.
    pub requests: (usize, usize),
    /// How exactly instants and durations were logged (s).
    pub steps_s: (f64, f64),
    /// The mean demand (s).
    pub demand_mean_s: Interval,
    /// Coefficient of variation of the demands.
    pub demand_cv: f64,
    /// Other sharings that the log does not tell from the chosen one: cores and, where not as many as come, those served at once.
    pub not_told_apart: Vec<(u32, Option<u32>)>,
    /// Most requests that were at a server at once.
    pub most_at_once: usize,
    /// The second half as it was and as the model has it: the whole first, then by load.
    pub judged: Vec<LoadBin>,
    /// Why it is SUSPECT; empty when it is not.
    pub reasons: Vec<String>,
    /// What to beware of.
    pub notes: Vec<String>,
}

/// A server of a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoggedServer {
    /// As the log calls it; empty where it names none.
    pub server: String,
    /// Requests that were fitted to.
    pub requests: usize,
    /// Its mean demand (s).
    pub demand_mean_s: Interval,
    /// How fast it is beside the model: 1 where no difference is seen.
    pub speed: f64,
    /// Busy share of its cores.
    pub utilization: f64,
}

fn as_toml<S: Serializer>(server: &Server, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&server.to_toml())
}

/// Fits a server model to the first half of `log` and judges it by the second; `seed` is that of the simulations.
///
/// # Errors
/// When the log has no times, too few requests or too coarse ones, is a sample, and when the model does not explain its second
/// half; one line that says by how much.
pub fn calibrate_log(log: &Log, seed: u64) -> Result<LogCalibration, CalibrateError> {
    let Visits { by_server, steps_s, times_are, mut notes } = visits::visits(log)?;
    let halves = visits::halves(&by_server);
    let chosen = choose::choose(&halves.first, steps_s.0.max(steps_s.1))?;
    let demands: Vec<Vec<f64>> = halves.first.iter().map(|visits| inverse::demands(visits, chosen.sharing)).collect();
    let fitted = demand::fit(log, &halves.first, &demands, steps_s.1)?;
    let Sharing { cores, helpers } = chosen.sharing;
    let discipline = match helpers {
        helpers if helpers == cores => Discipline::Fcfs,
        u32::MAX => Discipline::Ps,
        helpers => Discipline::LimitedPs { helpers },
    };
    let server = Server {
        discipline,
        cores,
        speed: 1.0,
        demand: fitted.demand,
        capacity: None,
        drops_overflow: false,
        machine: None,
    };
    // A silence at the log's start, behind a request of another day, is no time of the servers.
    let start = log.silences().at_start.zip(log.entries().first());
    let silent_s = start.map_or(0.0, |(silence, first)| (silence.to_us - first.time_us) as f64 / 1e6);
    let span_s = halves.first_span_s.min(halves.split_s - silent_s).max(1e-9);
    let mut order: Vec<usize> = (0..by_server.len()).collect();
    order.sort_by_key(|at| log.servers().get(*at));
    let servers: Vec<LoggedServer> = order
        .into_iter()
        .filter(|at| !halves.first[*at].is_empty())
        .map(|at| LoggedServer {
            server: log.servers().get(at).cloned().unwrap_or_default(),
            requests: halves.first[at].len(),
            demand_mean_s: fitted.means[at],
            speed: fitted.speeds[at],
            utilization: demands[at].iter().sum::<f64>() / (span_s * f64::from(cores)),
        })
        .collect();
    notes.extend(fitted.notes);
    if servers.iter().any(|server| server.speed != 1.0) {
        let speeds: Vec<String> = servers.iter().map(|server| format!("{:.3}", server.speed)).collect();
        notes.push(format!("servers differ: write `speeds = [{}]` in the targets of the tier", speeds.join(", ")));
    }
    let judged = judge::judge(log, &by_server, &halves, &server, &fitted.speeds, (&fitted.keys, fitted.error), seed)?;
    let mut reasons = judge::reasons(&judged)?;
    if chosen.has_no_contention {
        reasons.push(format!(
            "no more than {} requests were at a server at once, and none was seen to wait or to share: the model has \
             {cores} cores, and whether the server has fewer or more is not known; loads above those of the log are not \
             to be predicted with it",
            chosen.most_at_once
        ));
    }
    Ok(LogCalibration {
        server,
        servers,
        times_are,
        requests: (halves.first.iter().map(Vec::len).sum(), halves.second_count),
        steps_s,
        demand_mean_s: fitted.mean,
        demand_cv: fitted.cv,
        not_told_apart: chosen.others.iter().map(|other| (other.cores, other.limit())).collect(),
        most_at_once: chosen.most_at_once,
        judged,
        reasons,
        notes,
    })
}
