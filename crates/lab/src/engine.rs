//! The engines behind one door: each turns an experiment into an [`Answer`].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use sojourn_sim::Level;
use sojourn_stats::Span;
use sojourn_traffic::Workload;

use crate::answer::{Answer, PathDelay};
use crate::spec::{Engine, Experiment, Face};

pub(crate) mod live;
mod sim;
pub(crate) mod theory;

/// What an engine needs besides the experiment.
pub(crate) struct Conditions<'a> {
    /// This program.
    pub(crate) program: &'a Path,
    /// The run folder.
    pub(crate) folder: &'a Path,
    /// Number of the variant.
    pub(crate) index: usize,
    /// Threads of the simulator.
    pub(crate) threads: usize,
    /// Set on Ctrl-C.
    pub(crate) cancel: &'a Arc<AtomicBool>,
    /// What live found the way to take, once it has run.
    pub(crate) path: Option<PathDelay>,
    /// Told how far it is.
    pub(crate) progress: &'a OnProgress<'a>,
}

/// Told how much is done (0 to 1), with a remark.
pub(crate) type OnProgress<'a> = dyn Fn(f64, &str) + Sync + 'a;

/// Refuses, before anything starts, what an engine asked cannot do.
pub(crate) fn check(experiment: &Experiment, by: &[Engine]) -> Result<(), String> {
    let live = by.contains(&Engine::Live);
    if experiment.network.is_some() {
        return match live {
            true => Err("live has no networks of queues: leave `live` out of `by`".into()),
            false => Ok(()),
        };
    }
    if !experiment.system.is_modelled && by.iter().any(|engine| *engine != Engine::Live) {
        return Err("only live can measure a program; theory and sim need a model of it: [system.server]".into());
    }
    if by.contains(&Engine::Sim) && experiment.run.duration.is_none() && is_sessions(experiment) {
        return Err("sim needs to know when sessions end: give `duration` under [run], e.g. `600 s`".into());
    }
    if by.contains(&Engine::Sim) && experiment.run.duration.is_none() && is_endless(experiment) {
        return Err("sim needs to know when it ends: give `duration` under [run], e.g. `60 s`".into());
    }
    if let Some(tier) = experiment.system.tier.as_ref().filter(|_| live) {
        if tier.face == Face::Switch {
            return Err("live has no packet switch: use the face `gateway`, or leave `live` out of `by`".into());
        }
        if tier.level != Level::Request && is_sessions(experiment) {
            return Err(
                "the live gateway gives each request its server: use level = \"request\", or leave out `live`".into()
            );
        }
        let costs = &tier.balancing;
        if costs.per_packet + costs.per_connection + tier.poll_cost > Span::ZERO || costs.cores.is_some() {
            return Err(
                "live's gateway and polls cost what they cost: leave out `balancer` and `poll_cost`, or `live`".into(),
            );
        }
        if !tier.told.is_empty() {
            return Err("`told` names what only a simulator can tell: leave it out, or `live` from `by`".into());
        }
    }
    if live && experiment.system.has_network {
        return Err(
            "live runs on loopback, which has no such network: leave out [system.network], or `live` from `by`".into(),
        );
    }
    Ok(())
}

fn is_sessions(experiment: &Experiment) -> bool {
    matches!(experiment.workload, Workload::Sessions(_))
}

/// Whether its requests never settle into something that lasts, and never end.
fn is_endless(experiment: &Experiment) -> bool {
    match &experiment.workload {
        Workload::Open(open) => open.arrivals.profile().is_some(),
        Workload::Trace(traced) => traced.repeat,
        _ => false,
    }
}

/// Asks `engine`.
pub(crate) fn ask(engine: Engine, experiment: &Experiment, conditions: &Conditions<'_>) -> Result<Answer, String> {
    match engine {
        Engine::Theory => Ok(theory::answer(experiment)),
        Engine::Sim => sim::long_run(experiment, conditions),
        Engine::Live => live::answer(experiment, conditions),
        Engine::Twin => sim::twin(experiment, conditions),
    }
}

/// How long ago it was made, in seconds.
#[allow(clippy::disallowed_methods, reason = "says how long a run took; nothing is computed from it")]
pub(crate) fn stopwatch() -> impl Fn() -> f64 {
    let start = Instant::now();
    move || start.elapsed().as_secs_f64()
}
