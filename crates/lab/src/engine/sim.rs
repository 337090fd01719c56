//! The simulator's two answers: the long run with its precision, and the twin of a live run.

use std::sync::Arc;

use sojourn_dispatch::{Catalogue, Information, Signals};
use sojourn_model::{Balancing, ClusterNetwork, Link, Mode};
use sojourn_sim::{Attached, Cluster, Control, Level, Progress, Scenario, WarmUp};
use sojourn_stats::Span;
use sojourn_traffic::{Sessions, Workload};

use super::Conditions;
use crate::answer::Answer;
use crate::spec::Experiment;

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
    };
    let progress = |now: Progress| {
        let remark = now.relative.map_or(String::new(), |relative| format!("± {:.1} %", relative * 100.0));
        (conditions.progress)(now.jobs as f64 / now.planned.max(1) as f64, &remark);
    };
    let report = match (&experiment.network, &experiment.workload) {
        (Some(network), _) => sojourn_sim::run_network(network, &control, &progress),
        (None, Workload::Sessions(sessions)) => {
            sojourn_sim::run_sessions(&cluster(experiment, sessions, experiment.system.network), &control, &progress)
        }
        _ => sojourn_sim::run(&scenario(experiment), &control, &progress),
    };
    let report = report.map_err(|e| e.to_string())?;
    let mut answer = answer(report);
    answer.notes.extend(overload(experiment));
    Ok(answer)
}

/// A log can ask for more than the servers can do; its end comes all the same, but nothing settles before.
fn overload(experiment: &Experiment) -> Option<String> {
    let (what, rate, speed) = match &experiment.workload {
        Workload::Replay(replay) => ("log", replay.log.requests() as f64 / replay.span().as_secs_f64(), replay.speed),
        Workload::Trace(traced) => ("trace", traced.rate(), traced.speed),
        _ => return None,
    };
    let utilization = rate / experiment.capacity();
    (utilization >= 1.0).then(|| {
        let stable_speed = speed / utilization;
        let stable_speed =
            if stable_speed < 10.0 { format!("{stable_speed:.2}") } else { format!("{stable_speed:.0}") };
        format!("this {what} asks for {utilization:.2} of what the servers can do: keep below speed = {stable_speed}")
    })
}

/// What would have happened to exactly the plan that live ran, over the way that live had.
pub(super) fn twin(experiment: &Experiment, conditions: &Conditions<'_>) -> Result<Answer, String> {
    let live = &experiment.run.live;
    let path = conditions.path.unwrap_or_default();
    if let Workload::Sessions(sessions) = &experiment.workload {
        // A connection to a gateway on this machine takes no time, and its replies no link.
        let network = ClusterNetwork { rtt: path.client + path.cluster, ..ClusterNetwork::default() };
        let cluster = cluster(experiment, sessions, network);
        let report = sojourn_sim::run_sessions_plan(&cluster, experiment.seed, live.duration, live.warm_up);
        return report.map(answer).map_err(|e| e.to_string());
    }
    let one_way = |round_trip: Span| Some(Link { delay: Span(round_trip.0 / 2), rate: None });
    let scenario =
        Scenario { client_link: one_way(path.client), cluster_link: one_way(path.cluster), ..scenario(experiment) };
    let report =
        sojourn_sim::run_plan(&scenario, experiment.seed, live.duration, live.warm_up).map_err(|e| e.to_string())?;
    Ok(answer(report))
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

fn scenario(experiment: &Experiment) -> Scenario {
    let system = &experiment.system;
    let tier = system.tier.as_ref();
    Scenario {
        workload: experiment.workload.clone(),
        demand: experiment.demand(),
        policy: tier.map(|tier| tier.policy.clone()),
        catalogue: Catalogue::default(),
        information: tier.map_or(Information::Immediate, |tier| tier.information),
        dispatchers: tier.map_or(1, |tier| tier.dispatchers),
        servers: system.servers.clone(),
        weights: tier.map_or(Vec::new(), |tier| tier.weights.clone()),
        client_link: system.client_link,
        cluster_link: system.cluster_link,
        signals: tier.map_or(Signals::all(), |tier| tier.face.signals() | tier.told),
    }
}

fn cluster(experiment: &Experiment, sessions: &Sessions, network: ClusterNetwork) -> Cluster {
    let system = &experiment.system;
    let tier = system.tier.as_ref();
    Cluster {
        sessions: sessions.clone(),
        demand: experiment.demand(),
        policy: tier.map(|tier| tier.policy.clone()),
        catalogue: Catalogue::default(),
        information: tier.map_or(Information::Immediate, |tier| tier.information),
        poll_cost: tier.map_or(Span::ZERO, |tier| tier.poll_cost),
        level: tier.map_or(Level::Session, |tier| tier.level),
        attached: tier.map_or(Attached::Session, |tier| tier.attached),
        servers: system.servers.clone(),
        weights: tier.map_or(Vec::new(), |tier| tier.weights.clone()),
        network,
        balancing: tier.map_or(Balancing::free(Mode::Nat), |tier| tier.balancing),
        signals: tier.map_or(Signals::all(), |tier| tier.face.signals() | tier.told),
    }
}
