//! Live: real sockets, a real dispatcher, and servers that are what the experiment says they are.
//!
//! Every server and the gateway is a child process of the same binary; the load generator runs in this one. A server is
//! emulated on a virtual processor, so that many fit on a small machine.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sojourn_dispatch::Information;
use sojourn_load::{Load, Pacing, Schedule, Stop, Targets};
use sojourn_model::Server;
use sojourn_serve::supervisor::Child;
use sojourn_sim::server_name;
use sojourn_stats::{Measure, Span, Time, measure};
use sojourn_traffic::{Plan, Planned, Request, Script, Workload};

use super::Conditions;
use crate::answer::{Answer, PathDelay};
use crate::folder::{LiveFile, Verdict};
use crate::spec::Experiment;

/// A child that is not ready by then never will be.
const READY: Duration = Duration::from_secs(20);

/// Requests that measure the way to a server and back, and the time between them: a quarter of a second in all.
const PROBES: u64 = 100;
const PROBE_GAP: Span = Span(2_500_000);

/// The header by which the gateway knows the clients of a plan, who all come from one address.
const CLIENT_HEADER: &str = "x-sojourn-client";

pub(super) fn answer(experiment: &Experiment, conditions: &Conditions<'_>) -> Result<Answer, String> {
    let nodes = start_nodes(experiment, conditions.program)?;
    let path = path_delay(experiment, &nodes, conditions)?;
    let system = System::start(experiment, nodes, conditions)?;
    let load = load(experiment, system.entrance)?;
    let report = sojourn_load::run(load, conditions.cancel, &|now: sojourn_load::Progress| {
        let remark = format!("{} replies, {} failed", now.ok, now.failed);
        (conditions.progress)(now.share, &remark);
    })
    .map_err(|e| e.to_string())?;
    let mut live = trust(&report, &system.stop());
    let shares = shares(&report, experiment.system.servers.len());
    live.facts.push(("path delay, client to gateway and back".into(), path.client.to_string()));
    live.facts.push(("path delay, gateway to server and back".into(), path.cluster.to_string()));
    Ok(Answer {
        measures: report.measures.into_iter().chain(shares).collect(),
        curve: report.response_time_cdf,
        notes: Vec::new(),
        live: Some(live),
        path: Some(path),
    })
}

fn start_nodes(experiment: &Experiment, program: &Path) -> Result<Vec<Child>, String> {
    let seed = experiment.seed.to_string();
    let node = |(index, server): (usize, &Server)| {
        let (name, model) = (server_name(index), server.to_toml());
        spawn(program, &["node", "--child", "--name", &name, "--model", &model, "--seed", &seed])
    };
    experiment.system.servers.iter().enumerate().map(node).collect()
}

/// Measures what the way takes when the servers have nothing to do: the median of requests without work, evenly
/// spaced, straight to a server and through a gateway of their own (the run's has not begun to draw and to count).
fn path_delay(experiment: &Experiment, nodes: &[Child], conditions: &Conditions<'_>) -> Result<PathDelay, String> {
    let median = |target: SocketAddr| {
        let nothing =
            Request { client: 0, class: 0, object: 0, size: 1000, demand: Span::ZERO, patience: Span::FOREVER };
        let plan = (1..=PROBES).map(move |k| Planned { at: Time(k * PROBE_GAP.0), request: nothing });
        let load = Load {
            pacing: pacing(experiment),
            stop: Stop::Requests(PROBES),
            ..Load::new(target, target.to_string(), Schedule::open(plan), Targets::Work)
        };
        let report = sojourn_load::run(load, conditions.cancel, &|_| {}).map_err(|e| e.to_string())?;
        Ok::<Span, String>(Span(report.response.quantile(0.5).unwrap_or(0)))
    };
    let to_server = median(address(&nodes[0]))?;
    if experiment.system.tier.is_none() {
        return Ok(PathDelay { client: Span::ZERO, cluster: to_server });
    }
    let backend = format!("{}={}", server_name(0), address(&nodes[0]));
    let gateway = spawn(conditions.program, &["gateway", "--child", "--backend", &backend])?;
    let through = median(address(&gateway))?;
    Ok(PathDelay { client: Span(through.0.saturating_sub(to_server.0)), cluster: to_server })
}

/// The servers and the gateway.
struct System {
    nodes: Vec<Child>,
    gateway: Option<Child>,
    /// Where clients go.
    entrance: SocketAddr,
}

impl System {
    fn start(experiment: &Experiment, nodes: Vec<Child>, conditions: &Conditions<'_>) -> Result<System, String> {
        let seed = experiment.seed.to_string();
        let Some(tier) = &experiment.system.tier else {
            let entrance = address(&nodes[0]);
            return Ok(System { nodes, gateway: None, entrance });
        };
        let mut arguments: Vec<String> = ["gateway", "--child", "--policy", &tier.policy, "--seed", &seed]
            .into_iter()
            .chain(["--client-header", CLIENT_HEADER])
            .map(String::from)
            .collect();
        for (index, (node, weight)) in nodes.iter().zip(&tier.weights).enumerate() {
            arguments.extend(["--backend".into(), format!("{}={}*{weight}", server_name(index), address(node))]);
        }
        arguments.extend(["--threads".into(), tier.dispatchers.to_string()]);
        if let Information::Polled { every } = tier.information {
            arguments.extend(["--poll".into(), every.to_string()]);
        }
        if experiment.run.live.record {
            let file = conditions.folder.join(format!("decisions-{}.jsonl", conditions.index + 1));
            arguments.extend(["--record".into(), file.display().to_string()]);
        }
        let gateway = spawn(conditions.program, &arguments)?;
        Ok(System { nodes, entrance: address(&gateway), gateway: Some(gateway) })
    }

    /// Stops everything, the gateway first, and gives what each said last.
    fn stop(self) -> Told {
        let last = |child: Child| child.stop().pop().unwrap_or(Value::Null);
        Told { gateway: self.gateway.map(last), nodes: self.nodes.into_iter().map(last).collect() }
    }
}

/// The counts that the children gave when they stopped.
struct Told {
    gateway: Option<Value>,
    nodes: Vec<Value>,
}

fn spawn<S: AsRef<std::ffi::OsStr>>(program: &Path, arguments: &[S]) -> Result<Child, String> {
    Child::spawn(program, arguments, READY).map_err(|e| e.to_string())
}

fn address(child: &Child) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], child.port()))
}

fn load(experiment: &Experiment, target: SocketAddr) -> Result<Load, String> {
    let live = &experiment.run.live;
    let demand = experiment.demand();
    let schedule = match &experiment.workload {
        Workload::Closed(closed) => {
            let script = |user| Script::new(closed, user, experiment.seed, Arc::clone(&demand));
            Schedule::users((0..closed.users).map(script))
        }
        open => Schedule::open(Plan::new(open, experiment.seed, demand).map_err(|e| e.to_string())?),
    };
    Ok(Load {
        threads: live.load_threads as usize,
        pacing: pacing(experiment),
        warm_up: live.warm_up,
        stop: Stop::After(live.duration),
        cookies: experiment.system.tier.as_ref().is_some_and(|tier| tier.policy.starts_with("cookie")),
        ..Load::new(target, target.to_string(), schedule, Targets::Work)
    })
}

fn pacing(experiment: &Experiment) -> Pacing {
    if experiment.run.live.spin { Pacing::Spin } else { Pacing::Timer }
}

/// How far the run can be trusted, and on what that rests.
fn trust(report: &sojourn_load::Report, told: &Told) -> LiveFile {
    let (verdict, reasons) = match &report.verdict {
        sojourn_load::Verdict::Valid => (Verdict::Valid, Vec::new()),
        sojourn_load::Verdict::Suspect(reasons) => (Verdict::Suspect, reasons.clone()),
        sojourn_load::Verdict::Incomplete(reason) => (Verdict::Incomplete, vec![reason.clone()]),
    };
    let mut facts = facts(report);
    if let Some(gateway) = &told.gateway {
        for key in ["retried", "connect_failed", "broken", "truncated", "timed_out", "refused"] {
            match gateway[key].as_u64() {
                Some(0) | None => {}
                Some(count) => facts.push((format!("gateway, {}", key.replace('_', " ")), count.to_string())),
            }
        }
    }
    for (index, node) in told.nodes.iter().enumerate() {
        if let (Some(busy_s), Some(elapsed_s)) = (node["busy_s"].as_f64(), node["elapsed_s"].as_f64()) {
            facts.push((format!("{}, busy", server_name(index)), format!("{:.1} s of {elapsed_s:.1} s", busy_s)));
        }
    }
    LiveFile { verdict, reasons, facts }
}

/// What a reader needs to judge a measurement, as names and texts.
pub fn facts(report: &sojourn_load::Report) -> Vec<(String, String)> {
    let percent =
        |shares: &[f64]| shares.iter().map(|share| format!("{:.0} %", share * 100.0)).collect::<Vec<_>>().join(", ");
    let lateness = |metric: &str| match report.measures.iter().find(|measure| measure.metric == metric) {
        Some(Measure { estimate, .. }) => {
            estimate.value().map_or("too few samples".into(), |s| format!("{:.0} us", s * 1e6))
        }
        None => "not paced".into(),
    };
    let pacing = match report.pacing {
        Pacing::Timer => "timer",
        Pacing::Spin => "spin",
    };
    let mut facts = vec![
        ("generator lateness, median".into(), lateness("lateness_p50")),
        ("generator lateness, p99".into(), lateness("lateness_p99")),
        ("generator pacing".into(), pacing.into()),
        ("rate, offered and achieved".into(), format!("{:.1} /s, {:.1} /s", report.pace.offered, report.pace.achieved)),
        ("generator threads busy".into(), percent(&report.client_busy)),
        ("cores busy".into(), percent(&report.cores_busy)),
        ("requests".into(), report.counts.planned.to_string()),
    ];
    let counts = &report.counts;
    let more = [("abandoned", counts.abandoned), ("unfinished", counts.unfinished), ("sent again", counts.retried)];
    let told = counts.causes().into_iter().chain(more.into_iter().filter(|(_, count)| *count > 0));
    facts.extend(told.map(|(cause, count)| (format!("requests, {cause}"), count.to_string())));
    facts
}

/// The part of the requests that each server answered.
fn shares(report: &sojourn_load::Report, servers: usize) -> Vec<Measure> {
    let total: u64 = report.backends.iter().map(|(_, count)| count).sum();
    if !(2..=16).contains(&servers) || total == 0 {
        return Vec::new();
    }
    let share = |index: usize| {
        let name = server_name(index);
        let count = report.backends.iter().find(|(of, _)| *of == name).map_or(0, |(_, count)| *count);
        Measure::new(format!("share_{}", index + 1), "1", measure::ratio(count, total))
    };
    (0..servers).map(share).collect()
}
