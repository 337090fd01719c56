//! The simulator's two answers: the long run with its precision, and the twin of a live run.

use std::sync::Arc;

use serde_json::json;
use sojourn_dispatch::Catalogue;
use sojourn_model::network::{Chain, Network};
use sojourn_model::{ClusterNetwork, Discipline, Server, System, TcpStack};
use sojourn_sim::{Control, Load, Progress, SimError, WarmUp};
use sojourn_stats::{Dimension, quantity};
use sojourn_theory::formula::general::relaxation::relaxation_time_s;
use sojourn_traffic::log::Silences;
use sojourn_traffic::{Open, Replay, Workload};

use super::{Conditions, over_time};
use crate::answer::{Answer, SIMULATED, Traces};
use crate::heavy::Work;
use crate::host;
use crate::objective::wide_of_few;
use crate::spec::{Engine, Question, Spec, SystemQuestion};

/// What would happen in the long run, and how that was found.
pub(super) fn long_run(experiment: &Spec, conditions: &Conditions<'_>) -> Result<(Answer, Traces), String> {
    let run = &experiment.run;
    let control = Control {
        seed: experiment.seed,
        warm_up: run.warm_up.map_or(WarmUp::Auto, WarmUp::Fixed),
        horizon: run.duration,
        precision: run.precision,
        sharp: run.precise.clone(),
        metrics: experiment.objectives.iter().map(|objective| objective.metric.clone()).collect(),
        limits: experiment.objectives.iter().map(|objective| (objective.metric.clone(), objective.limit)).collect(),
        max_jobs: run.max_jobs,
        relaxation: relaxation(&experiment.question),
        memory: memory(),
        replications: run.replications,
        predict: run.predict,
        events: run.events,
        threads: conditions.threads,
        over_time: experiment.system().and_then(|asked| over_time::interval(&asked.system, run.duration)),
        cancel: Some(Arc::clone(conditions.cancel)),
        catalogue: experiment.system().map_or_else(Catalogue::default, |asked| asked.catalogue.clone()),
        ..Control::default()
    };
    let progress = |now: Progress| {
        let remark = now.relative.map_or(String::new(), |relative| format!("± {:.1} %", relative * 100.0));
        (conditions.progress)(now.jobs as f64 / now.planned.max(1) as f64, &remark);
    };
    let mut traces = Traces::default();
    let mut report = match &experiment.question {
        Question::Network(network) => sojourn_sim::run_network(network, &control, &progress),
        Question::System(asked) => {
            let why = sojourn_sim::needs_events(&asked.system, &asked.workload, &control);
            traces.events.push(json!({"event": SIMULATED, "variant": conditions.index, "why": why}));
            sojourn_sim::run(&asked.system, &asked.workload, &control, &progress)
        }
    };
    if let (Ok(report), Some(work)) = (&mut report, experiment.system().and_then(Work::of_system)) {
        work.withhold(report);
    }
    let replications = report.as_ref().map_or(0, |report| report.replications);
    let mut answer = answered(report, experiment.system().map(|asked| &asked.system))?;
    answer.notes.extend(experiment.system().and_then(overload));
    let wide = wide_of_few(&answer.measures, replications);
    answer.notes.extend(wide.into_iter().map(|(metric, why)| format!("{metric}: {why}")));
    answer.notes.extend(experiment.system().and_then(of_a_sample));
    answer.notes.extend(experiment.system().and_then(of_a_silence));
    Ok((answer, traces))
}

/// What the simulator may take of memory (bytes): its default, and no more than half of what there is.
fn memory() -> u64 {
    let usual = Control::default().memory;
    host::available_memory().map_or(usual, |bytes| usual.min(bytes / 2))
}

/// Requests that come while the system forgets its state. None where that is not known, or does not matter: users who wait
/// for replies, requests that are given up or denied, gaps that depend on one another, and laws without a variance.
fn relaxation(question: &Question) -> Option<u64> {
    let (time_s, rate) = match question {
        Question::System(asked) => of_system(asked.left().as_ref().unwrap_or(asked))?,
        Question::Network(network) => of_network(network)?,
    };
    Some(time_s * rate).filter(|requests| requests.is_finite()).map(|requests| requests.ceil() as u64)
}

/// Relaxation time (s) of the slowest server, as if all were as busy as the busiest of those whose share is known, or else the
/// requests were spread evenly; and the arrival rate.
fn of_system(asked: &SystemQuestion) -> Option<(f64, f64)> {
    let Workload::Open(Open { arrivals, patience: None, .. }) = &asked.workload else { return None };
    let servers = || asked.system.servers();
    let is_known =
        |server: &Server| server.capacity.is_none() && !matches!(server.discipline, Discipline::DelayCurve(_));
    if arrivals.hurst().is_some() || arrivals.profile().is_some() || !servers().all(is_known) {
        return None;
    }
    let (gaps, rate) = (arrivals.gaps()?, arrivals.rate()?);
    let (demand_mean_s, demand_variance_s2) = asked.demand_moments();
    let busiest = asked.load().and_then(|load| load.fullest).map_or(0.0, |fullest| fullest.utilization);
    let utilization = busiest.max(rate / asked.capacity());
    let gaps_scv = gaps.variance() / gaps.mean().powi(2) * f64::from(arrivals.batch());
    let demand_scv = demand_variance_s2 / demand_mean_s.powi(2);
    let of = |server: &Server| {
        relaxation_time_s(gaps_scv, demand_scv, demand_mean_s / server.speed, server.cores, utilization)
    };
    Some((servers().map(of).fold(0.0, f64::max), rate))
}

/// The same of the slowest station of an open network, as if its arrivals and services were exponential.
fn of_network(network: &Network) -> Option<(f64, f64)> {
    let rates: Vec<f64> = network.chains.iter().map(Chain::arrival_rate).collect::<Option<_>>()?;
    let known = sojourn_theory::network::answer(network).ok()?;
    let of = |station: &str| {
        let (utilization, rate) =
            (known.value(&format!("utilization_{station}"))?, known.value(&format!("throughput_{station}"))?);
        (rate > 0.0).then(|| relaxation_time_s(1.0, 1.0, utilization / rate, 1, utilization))
    };
    let slowest = network.stations.iter().filter_map(|station| of(&station.name)).fold(0.0, f64::max);
    Some((slowest, rates.iter().sum()))
}

/// A log can ask for more than the servers can do; its end comes all the same, but nothing settles before.
fn overload(asked: &SystemQuestion) -> Option<String> {
    let rate_of = |replay: &Replay| {
        // In a silence at an end of the log nothing is asked.
        let (covered, with_silence) = (replay.log.covered(), replay.log.covered_with_silences());
        let length = |(from_us, to_us): (i64, i64)| (to_us - from_us).max(1) as f64;
        replay.log.requests() as f64 / (replay.span().as_secs_f64() * length(covered) / length(with_silence))
    };
    let (what, rate, (key, now)) = match &asked.workload {
        Workload::Replay(replay) if replay.speed == 1.0 => ("log", rate_of(replay), ("growth", replay.growth)),
        Workload::Replay(replay) => ("log", rate_of(replay), ("speed", replay.speed)),
        Workload::Trace(traced) => ("trace", traced.rate(), ("speed", traced.speed)),
        _ => return None,
    };
    let utilization = rate / asked.capacity();
    (utilization >= 1.0).then(|| {
        let stable = now / utilization;
        let stable = if stable < 10.0 { format!("{stable:.2}") } else { format!("{stable:.0}") };
        format!("this {what} asks for {utilization:.2} of what the servers can do: keep below {key} = {stable}")
    })
}

/// What a replay of a sample rests on.
fn of_a_sample(asked: &SystemQuestion) -> Option<String> {
    let Workload::Replay(Replay { sampled: every @ 2.., .. }) = &asked.workload else { return None };
    Some(format!(
        "one in {every} requests was logged, and the others are copies of these, somewhat later: the rate is that of all, but \
         bursts, and which requests came together, are made up"
    ))
}

/// What a replay is that has the silence at an end of its log.
fn of_a_silence(asked: &SystemQuestion) -> Option<String> {
    let Workload::Replay(Replay { log, .. }) = &asked.workload else { return None };
    let Silences { at_start, at_end, rate, .. } = log.silences();
    let requests = log.requests();
    let (silence, place) = match (at_start, at_end) {
        (Some(silence), _) => (silence, format!("after its first {}", silence.before)),
        (None, Some(silence)) => (silence, format!("before its last {}", requests - silence.before)),
        (None, None) => return None,
    };
    let length_s = (silence.length_s() * 1e3).round() / 1e3;
    Some(format!(
        "the log that is replayed has a silence of {} {place} of {requests} requests: throughput, utilization and all else that \
         is over the time has it in it; in the other time {rate:.3} requests came per second",
        quantity::format(length_s, Dimension::Time)
    ))
}

/// What would have happened to exactly the requests that live sent, over links as slow as live's were and with the faults as
/// they happened.
pub(super) fn twin(experiment: &Spec, asked: &SystemQuestion, conditions: &Conditions<'_>) -> Result<Answer, String> {
    let faults = conditions.faults.unwrap_or_default().to_vec();
    let asked = &as_live(experiment, asked);
    let Some(path) = conditions.path else {
        // Over emulated paths: they are the system's own.
        return run_twin(&System { faults, ..asked.system.clone() }, experiment, asked);
    };
    // A connection to a gateway on this machine takes no time, and its replies no link.
    let network = match &asked.workload {
        Workload::Sessions(_) => ClusterNetwork { rtt: path.client + path.cluster, ..ClusterNetwork::default() },
        _ => ClusterNetwork { rtt: path.client, server_rtt: path.cluster, ..ClusterNetwork::default() },
    };
    run_twin(&System { network, faults, ..asked.system.clone() }, experiment, asked)
}

/// What was asked, with the TCP that live had.
fn as_live(experiment: &Spec, asked: &SystemQuestion) -> SystemQuestion {
    let mut asked = asked.clone();
    if let Some(transport) = asked.system.transport.as_mut().filter(|_| experiment.run.live.kernel_tcp) {
        transport.stack = TcpStack::LINUX_6;
    }
    asked
}

fn run_twin(system: &System, experiment: &Spec, asked: &SystemQuestion) -> Result<Answer, String> {
    let live = &experiment.run.live;
    let control = Control {
        seed: experiment.seed,
        horizon: Some(live.duration),
        warm_up: WarmUp::Fixed(live.warm_up),
        memory: memory(),
        catalogue: asked.catalogue.clone(),
        // Of the faults that live had none may be left.
        over_time: over_time::interval(&asked.system, Some(live.duration)),
        ..Control::default()
    };
    let report = sojourn_sim::run_plan(system, &asked.workload, &control);
    let mut answer = answered(report, Some(system))?;
    let load = asked.load().filter(|_| !sojourn_sim::sheds_load(system, &asked.workload));
    if let Some(fullest) = load.as_ref().and_then(Load::overloaded) {
        answer.notes.push(format!("{}: response times say how long the run was", fullest.in_words()));
    }
    Ok(answer)
}

/// The simulator's report, or why it has none: what takes too many requests or too much memory is said in a note, so that
/// the answers of other variants and engines are not lost.
fn answered(report: Result<sojourn_sim::Report, SimError>, system: Option<&System>) -> Result<Answer, String> {
    match report {
        Ok(report) => Ok(answer(report, system)),
        // The twin of a live run is not refused before it, as the simulator's own answer is.
        Err(
            refused @ (SimError::TooSlow { .. }
            | SimError::Memory { .. }
            | SimError::NotYet(_)
            | SimError::ServerUnstable(_)
            | SimError::NeverIdle { .. }),
        ) => Ok(Answer { notes: vec![refused.to_string()], ..Answer::new(Engine::Sim) }),
        Err(error) => Err(error.to_string()),
    }
}

fn answer(report: sojourn_sim::Report, system: Option<&System>) -> Answer {
    let mut answer = Answer::new(Engine::Sim);
    if let (Some(of), Some(system)) = (report.over_time, system) {
        answer.flows = over_time::by_site(system, of.every, &of.servers, &of.failed);
        answer.over_time = over_time::outcomes(of.every, of.columns);
        let (over_time, recoveries) = (&answer.over_time, &of.recoveries);
        answer.recovery_untold = over_time::untold(system, over_time, &report.measures, recoveries);
        answer.notes.extend(over_time::aftermath(system, over_time, &report.measures, recoveries));
    }
    answer.notes.extend(report.notes);
    Answer {
        measures: report.measures,
        curve: report.response_time_cdf,
        replications: report.replications_values,
        connections: report.connections,
        ..answer
    }
}
