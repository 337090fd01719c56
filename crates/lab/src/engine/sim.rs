//! The simulator's two answers: the long run with its precision, and the twin of a live run.

use std::sync::Arc;

use sojourn_model::{ClusterNetwork, System};
use sojourn_sim::{Control, Progress, WarmUp};
use sojourn_traffic::Workload;

use super::Conditions;
use crate::answer::Answer;
use crate::spec::{Experiment, Question, SystemQuestion};

/// What would happen in the long run.
pub(super) fn long_run(experiment: &Experiment, conditions: &Conditions<'_>) -> Result<Answer, String> {
    let run = &experiment.run;
    let control = Control {
        seed: experiment.seed,
        warm_up: run.warm_up.map_or(WarmUp::Auto, WarmUp::Fixed),
        horizon: run.duration,
        precision: run.precision,
        metrics: experiment.objectives.iter().map(|objective| objective.metric.clone()).collect(),
        max_jobs: run.max_jobs,
        replications: run.replications,
        predict: run.predict,
        threads: conditions.threads,
        cancel: Some(Arc::clone(conditions.cancel)),
        ..Control::default()
    };
    let progress = |now: Progress| {
        let remark = now.relative.map_or(String::new(), |relative| format!("± {:.1} %", relative * 100.0));
        (conditions.progress)(now.jobs as f64 / now.planned.max(1) as f64, &remark);
    };
    let report = match &experiment.question {
        Question::Network(network) => sojourn_sim::run_network(network, &control, &progress),
        Question::System(asked) => sojourn_sim::run(&asked.system, &asked.workload, &control, &progress),
    };
    let report = report.map_err(|e| e.to_string())?;
    let mut answer = answer(report);
    answer.notes.extend(experiment.system().and_then(overload));
    Ok(answer)
}

/// A log can ask for more than the servers can do; its end comes all the same, but nothing settles before.
fn overload(asked: &SystemQuestion) -> Option<String> {
    let (what, rate, speed) = match &asked.workload {
        Workload::Replay(replay) => ("log", replay.log.requests() as f64 / replay.span().as_secs_f64(), replay.speed),
        Workload::Trace(traced) => ("trace", traced.rate(), traced.speed),
        _ => return None,
    };
    let utilization = rate / asked.capacity();
    (utilization >= 1.0).then(|| {
        let stable_speed = speed / utilization;
        let stable_speed =
            if stable_speed < 10.0 { format!("{stable_speed:.2}") } else { format!("{stable_speed:.0}") };
        format!("this {what} asks for {utilization:.2} of what the servers can do: keep below speed = {stable_speed}")
    })
}

/// What would have happened to exactly the requests that live sent, over links as slow as live's were.
pub(super) fn twin(
    experiment: &Experiment,
    asked: &SystemQuestion,
    conditions: &Conditions<'_>,
) -> Result<Answer, String> {
    let live = &experiment.run.live;
    let path = conditions.path.unwrap_or_default();
    // A connection to a gateway on this machine takes no time, and its replies no link.
    let network = match &asked.workload {
        Workload::Sessions(_) => ClusterNetwork { rtt: path.client + path.cluster, ..ClusterNetwork::default() },
        _ => ClusterNetwork { rtt: path.client, server_rtt: path.cluster, ..ClusterNetwork::default() },
    };
    let system = System { network, ..asked.system.clone() };
    let control = Control {
        seed: experiment.seed,
        horizon: Some(live.duration),
        warm_up: WarmUp::Fixed(live.warm_up),
        ..Control::default()
    };
    let report = sojourn_sim::run_plan(&system, &asked.workload, &control);
    report.map(answer).map_err(|e| e.to_string())
}

fn answer(report: sojourn_sim::Report) -> Answer {
    Answer {
        measures: report.measures,
        curve: report.response_time_cdf,
        replications: report.replications_values,
        connections: report.connections,
        notes: report.notes,
        ..Answer::default()
    }
}
