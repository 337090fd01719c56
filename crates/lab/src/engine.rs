//! The engines behind one door: each turns an experiment into an [`Answer`].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use sojourn_model::system::Fault;
use sojourn_traffic::Workload;

use crate::answer::{Answer, PathDelay, Traces};
use crate::spec::{Engine, Question, Spec, SystemQuestion};

pub(crate) mod live;
pub(crate) mod log;
mod over_time;
mod sim;
pub(crate) mod theory;

pub(crate) use over_time::seen_after;

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
    /// The faults as they happened in live, once it has run.
    pub(crate) faults: Option<&'a [Fault]>,
    /// Told how far it is.
    pub(crate) progress: &'a OnProgress<'a>,
}

/// Told how much is done (0 to 1), with a remark.
pub(crate) type OnProgress<'a> = dyn Fn(f64, &str) + Sync + 'a;

/// Refuses, before anything starts, what an engine asked cannot do.
pub(crate) fn check(experiment: &Spec, by: &[Engine]) -> Result<(), String> {
    let Question::System(asked) = &experiment.question else {
        return match by.contains(&Engine::Live) {
            true => Err("live has no networks of queues: leave `live` out of `by`".into()),
            false => Ok(()),
        };
    };
    if !asked.is_modelled && by.iter().any(|engine| *engine != Engine::Live) {
        return Err("only live can measure a program; theory and sim need a model of it: [system.server]".into());
    }
    if by.contains(&Engine::Sim) && experiment.run.duration.is_none() && is_sessions(asked) {
        return Err("sim needs to know when sessions end: give `duration` under [run], e.g. `600 s`".into());
    }
    if by.contains(&Engine::Sim) && experiment.run.duration.is_none() && is_endless(asked) {
        return Err("sim needs to know when it ends: give `duration` under [run], e.g. `60 s`".into());
    }
    if by.contains(&Engine::Sim) {
        if experiment.run.duration.is_none() {
            is_steady(experiment, asked)?;
        }
        sojourn_sim::check(&asked.system, &asked.workload).map_err(|e| e.to_string())?;
    }
    if by.contains(&Engine::Live) { live::check(experiment, asked) } else { Ok(()) }
}

/// Refuses faults of which it is not known when to end; those that are there from the beginning to the end are a steady state.
fn is_steady(experiment: &Spec, asked: &SystemQuestion) -> Result<(), String> {
    if !asked.system.faults.iter().all(Fault::lasts) {
        return Err("sim needs to know how long a run with faults is: give `duration` under [run], e.g. `60 s`".into());
    }
    if asked.system.loses_all() {
        return Err("no server is left, for ever: let a server stay, or give the fault an `until`".into());
    }
    match experiment.overload().filter(|_| !asked.system.faults.is_empty()) {
        Some(utilization) => Err(format!(
            "what is left would be at a utilisation of {utilization:.2}, and queues would grow for ever: give `duration` \
             under [run], e.g. `60 s`"
        )),
        None => Ok(()),
    }
}

fn is_sessions(asked: &SystemQuestion) -> bool {
    matches!(asked.workload, Workload::Sessions(_))
}

/// Whether its requests never settle into something that lasts, and never end.
fn is_endless(asked: &SystemQuestion) -> bool {
    match &asked.workload {
        Workload::Open(open) => open.arrivals.profile().is_some(),
        Workload::Trace(traced) => traced.repeat,
        _ => false,
    }
}

/// Asks `engine`.
pub(crate) fn ask(engine: Engine, experiment: &Spec, conditions: &Conditions<'_>) -> Result<(Answer, Traces), String> {
    let alone = |answer| (answer, Traces::default());
    let (answer, traces) = match (engine, &experiment.question) {
        (Engine::Theory, question) => Ok(alone(theory::answer(question))),
        (Engine::Sim, _) => sim::long_run(experiment, conditions),
        (Engine::Live, Question::System(asked)) => live::answer(experiment, asked, conditions),
        (Engine::Twin, Question::System(asked)) => sim::twin(experiment, asked, conditions).map(alone),
        (Engine::Log, Question::System(asked)) => {
            Ok(alone(log::answer(experiment, asked, conditions.index).unwrap_or_else(|| Answer::new(engine))))
        }
        (Engine::Live | Engine::Twin | Engine::Log, Question::Network(_)) => unreachable!("refused before the run"),
    }?;
    let mut notes = answer.notes;
    if let (Some(asked), Engine::Theory | Engine::Sim) = (experiment.system(), engine)
        && !answer.measures.is_empty()
    {
        notes.extend(asked.findings.notes(engine == Engine::Sim));
    }
    // The simulator does not know that it is the twin.
    Ok((Answer { engine, notes, ..answer }, traces))
}

/// How long ago it was made, in seconds.
#[allow(clippy::disallowed_methods, reason = "says how long a run took; nothing is computed from it")]
pub(crate) fn stopwatch() -> impl Fn() -> f64 {
    let start = Instant::now();
    move || start.elapsed().as_secs_f64()
}
