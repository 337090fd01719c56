//! The engines behind one door: each turns an experiment into an [`Answer`].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::answer::{Answer, PathDelay};
use crate::spec::{Engine, Experiment};

pub(crate) mod live;
mod sim;
mod theory;

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
    if live && (experiment.system.client_link.is_some() || experiment.system.cluster_link.is_some()) {
        return Err(
            "live runs on loopback, which has no such network: leave out [system.network], or `live` from `by`".into(),
        );
    }
    Ok(())
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
