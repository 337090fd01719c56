//! Live: real sockets, a real dispatcher, and servers that are what the experiment says they are.
//!
//! Every server and every decider of a tier is a child process of the same binary ([`parts`]); the load generator runs in
//! this one. A server is emulated on a virtual processor, so that many fit on a small machine.

pub(crate) mod bed;
mod breakdown;
mod breaking;
mod choices;
mod dns;
mod faults;
mod incidents;
mod load;
mod nodes;
mod over_time;
mod part;
mod parts;
mod path;
mod product;
mod refusals;
mod report_traffic;
mod reports;
mod run_queue;
mod servers;
mod switch;
mod tls;
mod trust;

use serde_json::Value;
use sojourn_bed::{Ground, Loopback, Namespaces, clock};
use sojourn_dispatch::Catalogue;
use sojourn_load::Attempts;
use sojourn_sim::capability::{self, Combination};
use sojourn_stats::Time;
use sojourn_traffic::{Open, Workload};

use self::breakdown::{class_means, file_means, shares};
use self::load::load;
use self::parts::Parts;
use self::report_traffic::Traffic;
use self::servers::start_servers;
pub use self::trust::facts;
use self::trust::trust;
use super::Conditions;
use crate::answer::{Answer, Traces};
use crate::spec::{Engine, Spec, SystemQuestion};

/// Refuses, before anything starts, what live cannot do.
pub(super) fn check(experiment: &Spec, asked: &SystemQuestion) -> Result<(), String> {
    check_policies(asked)?;
    let combination = combination(experiment, asked);
    capability::check(&combination, capability::Engine::Live)
        .map_err(|what| format!("not there yet: live has no {what}; leave `live` out of `by`"))?;
    bed::check(asked)?;
    nodes::check(asked)?;
    faults::check(asked, experiment.run.live.duration)
}

/// Refuses policies of one's own: a live part is another program, which knows the built-in ones.
fn check_policies(asked: &SystemQuestion) -> Result<(), String> {
    let known = Catalogue::default();
    let mut policies = asked.system.tiers.iter().flat_map(|tier| {
        std::iter::once(tier.policy.as_str()).chain(tier.pools.iter().map(|pool| pool.policy.as_str()))
    });
    match policies.find(|policy| !known.knows(policy)) {
        None => Ok(()),
        Some(own) => Err(format!(
            "live parts are other programs, which do not know your policy `{own}`: ask theory and sim of it, or write it in \
             Rust (CONTRIBUTING.md, how to add a policy)"
        )),
    }
}

/// What live is asked for, as the table of what it has reads it.
fn combination<'a>(experiment: &Spec, asked: &'a SystemQuestion) -> Combination<'a> {
    let live = &experiment.run.live;
    let live = capability::Live {
        duration: live.duration,
        is_program: asked.program.is_some(),
        is_modelled: asked.is_modelled,
        is_in_bed: bed::is_needed(asked),
        kernel_tcp: live.kernel_tcp,
        has_own_limits: asked.deciders.iter().flatten().next().is_some(),
        one_request_per_connection: live.one_request_per_connection,
    };
    Combination { system: &asked.system, workload: &asked.workload, live }
}

pub(super) fn answer(
    experiment: &Spec,
    asked: &SystemQuestion,
    conditions: &Conditions<'_>,
) -> Result<(Answer, Traces), String> {
    let in_bed = bed::is_needed(asked);
    let mut ground: Box<dyn Ground> = match in_bed {
        true => {
            let topology = asked.topology(experiment.seed)?;
            Box::new(Namespaces::new(topology, experiment.seed).map_err(|e| e.to_string())?)
        }
        false => Box::new(Loopback::new()),
    };
    let ground = ground.as_mut();
    let servers = start_servers(experiment, asked, ground, conditions)?;
    // The paths of a bed are known, and the twin has them already; a program without a model has no twin.
    let path =
        if in_bed || !asked.is_modelled { None } else { Some(path::measure(experiment, asked, &servers, conditions)?) };
    let mut system = Parts::start(experiment, asked, servers, ground, conditions)?;
    let mut loads = Vec::new();
    // One budget is of all clients, wherever they are.
    let attempts = faults::attempts(&asked.system).then(|| Attempts::new(&asked.system.rules, experiment.seed));
    if in_bed {
        for (index, host) in bed::client_hosts(ground, &asked.system)? {
            loads.push((Some(host), load(experiment, asked, &system.entrances, Some(index), &attempts)?));
        }
    } else {
        loads.push((None, load(experiment, asked, &system.entrances, None, &attempts)?));
    }
    nodes::meet(&asked.system, &system.servers)?;
    let waited_before = run_queue::waited(&system, ground);
    let (report, happened) = faults::run(experiment, asked, &mut system, ground, |start_at| {
        let start_at = start_at.or_else(|| nodes::start_at_ns(&asked.system, loads.len()));
        bed::run_all(ground, loads, start_at, conditions)
    })?;
    let waited = run_queue::waited(&system, ground);
    let told = system.stop(&asked.system.hosts, ground);
    let start = clock::since_boot_at(report.started_at_ns);
    let mut live = trust(&report, &told, start);
    live.doubt(path.as_ref().and_then(|path| path.doubt(report.response.mean())), false);
    let errors = faults::limits(asked, experiment.run.live.limits).errors;
    live.doubt(refusals::doubt(&asked.system, &report, &told, errors), true);
    live.facts.extend(told.choices.iter().map(choices::Choices::fact));
    live.doubt(choices::doubt(&told.choices, &report.backends), false);
    let held_up = run_queue::per_request(waited_before, waited, &report);
    live.facts.push(("wait of the parts for a core, per request".into(), format!("{held_up:.3}")));
    live.doubt(run_queue::doubt(held_up, report.response.mean(), &report.limits), false);
    let path = path.map(|path| path.delay);
    let shares = shares(&report, asked.system.hosts.len());
    let report_traffic = report_traffic::of(&told);
    live.facts.extend(report_traffic.iter().map(Traffic::fact));
    let report_traffic = report_traffic.and_then(|traffic| traffic.measure(&report));
    let by_file = report.as_far_as_settled(file_means(experiment, asked, &report));
    let by_class = report.as_far_as_settled(class_means(experiment, asked, &report));
    let flows = over_time::of(experiment, asked, &report);
    let (over_time, outcomes, recoveries) = over_time::outcomes(experiment, asked, &report, &happened.faults);
    let events = told.incidents.iter().map(|of| of.event(start)).chain(said(&told.events, start));
    let (hurst, mut notes) = match &asked.workload {
        Workload::Open(Open { arrivals, .. }) => {
            let planned = report.counts.planned;
            (arrivals.hurst_of(experiment.seed, planned), arrivals.caveats("this run", planned))
        }
        _ => (None, Vec::new()),
    };
    notes.extend(report.unsettled.map(|unsettled| unsettled.to_string()));
    notes.extend(super::over_time::aftermath(&asked.system, &over_time, &outcomes, &recoveries));
    let recovery_untold = super::over_time::untold(&asked.system, &over_time, &outcomes, &recoveries);
    notes.extend(told.notes);
    if experiment.run.live.kernel_tcp {
        live.facts.push(("TCP, of live and its twin".into(), "this kernel's, whatever the file says of it".into()));
    }
    if let Some(path) = &path {
        live.facts.push(("path delay, client to gateway and back".into(), format!("{:.3}", path.client)));
        live.facts.push(("path delay, gateway to server and back".into(), format!("{:.3}", path.cluster)));
    }
    let events = happened.events.into_iter().chain(events).collect();
    let traces = Traces { events, path, faults: Some(happened.faults) };
    let answer = Answer {
        measures: report
            .measures
            .into_iter()
            .chain(shares)
            .chain(by_file)
            .chain(by_class)
            .chain(report_traffic)
            .chain(hurst)
            .chain(outcomes)
            .collect(),
        curve: report.response_time_cdf,
        seconds: report.seconds,
        flows,
        over_time,
        recovery_untold,
        trust: Some(live),
        notes,
        ..Answer::new(Engine::Live)
    };
    Ok((answer, traces))
}

/// What deciders said from the start of a run on, beside that they began and ended, as lines of the run folder's events.
fn said(events: &[(String, Time, Value)], start: Time) -> impl Iterator<Item = Value> {
    let is_news = |event: &Value| !matches!(event["event"].as_str(), Some("ready" | "stopped" | "counts" | "state"));
    events.iter().filter(move |(_, at, event)| *at >= start && is_news(event)).map(move |(part, at, event)| {
        let mut event = event.clone();
        event["part"] = part.as_str().into();
        event["at_s"] = (*at - start).as_secs_f64().into();
        event
    })
}
