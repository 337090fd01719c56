//! The simulator's two answers: the long run with its precision, and the twin of a live run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_dispatch::{Information, Signals};
use sojourn_sim::{Control, Scenario, WarmUp};

use super::OnProgress;
use crate::run::Answer;
use crate::spec::Experiment;

/// What would happen in the long run.
pub(super) fn long_run(
    experiment: &Experiment,
    threads: usize,
    cancel: &Arc<AtomicBool>,
    progress: &OnProgress<'_>,
) -> Result<Answer, String> {
    let run = &experiment.run;
    let control = Control {
        seed: experiment.seed,
        warm_up: run.warm_up.map_or(WarmUp::Auto, WarmUp::Fixed),
        precision: Some(run.precision),
        metrics: experiment.objectives.iter().map(|objective| objective.metric.clone()).collect(),
        max_jobs: run.max_jobs,
        replications: run.replications,
        threads,
        cancel: Some(Arc::clone(cancel)),
        ..Control::default()
    };
    let report = sojourn_sim::run(&scenario(experiment), &control, &|now: sojourn_sim::Progress| {
        let remark = now.relative.map_or(String::new(), |relative| format!("± {:.1} %", relative * 100.0));
        progress(now.jobs as f64 / now.planned.max(1) as f64, &remark);
    })
    .map_err(|e| e.to_string())?;
    Ok(answer(report))
}

/// What would have happened to exactly the plan that live ran.
pub(super) fn twin(experiment: &Experiment) -> Result<Answer, String> {
    let live = &experiment.run.live;
    let report = sojourn_sim::run_plan(&scenario(experiment), experiment.seed, live.duration, live.warm_up)
        .map_err(|e| e.to_string())?;
    Ok(answer(report))
}

fn answer(report: sojourn_sim::Report) -> Answer {
    Answer { measures: report.measures, curve: report.response_time_cdf, notes: report.notes, live: None }
}

fn scenario(experiment: &Experiment) -> Scenario {
    let system = &experiment.system;
    let tier = system.tier.as_ref();
    Scenario {
        workload: experiment.workload.clone(),
        demand: experiment.demand(),
        policy: tier.map(|tier| tier.policy.clone()),
        information: tier.map_or(Information::Immediate, |tier| tier.information),
        dispatchers: tier.map_or(1, |tier| tier.dispatchers),
        servers: system.servers.clone(),
        weights: tier.map_or(Vec::new(), |tier| tier.weights.clone()),
        client_link: system.client_link,
        cluster_link: system.cluster_link,
        signals: tier.map_or(Signals::all(), |tier| tier.face.signals()),
    }
}
