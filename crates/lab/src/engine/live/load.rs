//! The load of a live run: what its clients ask for, when, and on which terms.

mod targets;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;

use sojourn_load::{AS_NEEDED, Allowed, Attempts, Load, Pacing, Resolves, Schedule, Stop, Targets, Url, Version};
use sojourn_stats::Span;
use sojourn_traffic::{Closed, Http, Open, Plan, Script, Visitor, Workload};

pub(super) use self::targets::{counted_classes, counted_files, probe_targets, site};
use self::targets::{named_classes, targets};
use super::parts::Entrances;
use super::{dns, faults, nodes, over_time, refusals, tls};
use crate::spec::{Spec, SystemQuestion};
use crate::topology::ClientHosts;

/// Redirections that a request follows at most: one for each tier that a sane system has, and some.
pub(super) const REDIRECTS: u32 = 8;

/// What requests under way at the end of a run have, at least and at most.
const GRACE_LEAST: Span = Span(10_000_000_000);
const GRACE_MOST: Span = Span(30_000_000_000);

/// The load of the clients of one host, by its number among those of clients, or of all.
pub(super) fn load(
    experiment: &Spec,
    asked: &SystemQuestion,
    entrances: &Entrances,
    host: Option<usize>,
    attempts: &Option<Attempts>,
) -> Result<Load, String> {
    let live = &experiment.run.live;
    let ClientHosts { homes, .. } = ClientHosts::of(&asked.system);
    let is_here = move |client: u32| host.is_none() || homes.get(client as usize).copied().or(Some(0)) == host;
    let demand = asked.demand();
    let schedule = match &asked.workload {
        Workload::Closed(closed) => {
            let script = |user| Script::new(closed, user, experiment.seed, Arc::clone(&demand));
            Schedule::users((0..closed.users).filter(|user| is_here(*user)).map(script))
        }
        Workload::Sessions(sessions) => {
            let visitor = |user| Visitor::new(sessions, user, experiment.seed, Arc::clone(&demand));
            // The keep-alive timeout as scaled, like the users' own times.
            let http = sessions.keep_alive().map_or(Http::V10, |keep_alive| Http::V11 { keep_alive });
            Schedule::sessions((0..sessions.users).map(visitor), sessions.parallel, http)
        }
        open => {
            let plan = Plan::new(open, experiment.seed, demand).map_err(|e| e.to_string())?;
            Schedule::open(plan.filter(move |planned| is_here(planned.request.client)))
        }
    };
    let gaps = match &asked.workload {
        Workload::Open(open) => open.arrivals.law().cloned(),
        _ => None,
    };
    let timeout = asked.system.rules.timeout.map_or(live.timeout, |timeout| timeout.min(live.timeout));
    let load = Load {
        classes: named_classes(&asked.workload),
        threads: live.load_threads as usize,
        asked: gaps,
        pacing: pacing(experiment),
        http: if live.one_request_per_connection { Version::Http10 } else { Version::Http11 },
        warm_up: live.warm_up,
        timeout,
        attempts: attempts.clone(),
        stop: Stop::After(live.duration),
        // Whatever a server may still answer, it has the time to, and clients have theirs.
        grace: live.timeout.max(grace(&asked.workload)),
        connections_max: live.connections.unwrap_or(AS_NEEDED),
        limits: refusals::limits(&asked.system, faults::limits(asked, live.limits)),
        redirects: REDIRECTS,
        keep_records: counted_files(asked).is_some() || !counted_classes(asked).is_empty() || over_time::is_kept(asked),
        // The addresses of a bed lead nowhere else, whatever they are elsewhere.
        allowed: if host.is_some() { Allowed::Anywhere } else { Allowed::default() },
        cookies: asked.system.tiers.iter().any(|tier| tier.policy.starts_with("cookie")),
        ..match entrances {
            Entrances::One(to) => Load::new(*to, to.to_string(), schedule, targets(asked)),
            Entrances::Proxy { proxy, origin } => through(*proxy, *origin, schedule, targets(asked)),
            Entrances::Rotated(all, rotation) if nodes::tier_of(&asked.system).is_some() => {
                let load = Load::to(&[nodes::url()], schedule, targets(asked)).rotated(all, *rotation);
                tls::secured(load, &asked.system, nodes::SERVICE, (all, *rotation))
            }
            Entrances::Rotated(all, rotation) => {
                Load::new(all[0], all[0].to_string(), schedule, targets(asked)).rotated(all, *rotation)
            }
            Entrances::Named(dns) => Load {
                resolver: Some(*dns),
                // A client goes elsewhere when it is refused, not when its way is long.
                next_address: timeout,
                resolves: resolves(asked.system.rules.resolves),
                ..Load::to(&[Url::parse(&dns::url()).expect("it is one")], schedule, targets(asked))
            },
        }
    };
    Ok(match entrances {
        // A try would be a question to the DNS.
        Entrances::Named(_) => Load { tries_first: false, ..load },
        // Where packets are lost it would prove nothing.
        _ if asked.system.paths.iter().any(|path| path.loses()) => Load { tries_first: false, ..load },
        _ => load,
    })
}

/// A load on a web server through the forward proxy in front of it.
pub(super) fn through(proxy: SocketAddr, origin: SocketAddr, schedule: Schedule, targets: Targets) -> Load {
    let url = Url::parse(&format!("http://{proxy}/")).expect("it is one");
    Load { proxy: Some(url), ..Load::new(origin, origin.to_string(), schedule, targets) }
}

/// How long what is under way at the end may take: what is cut off there is slow, so this is longer where clients wait for long.
fn grace(workload: &Workload) -> Span {
    let patience = match workload {
        Workload::Open(Open { patience, .. }) | Workload::Closed(Closed { patience, .. }) => patience.as_ref(),
        _ => None,
    };
    let wait = patience.map_or(Span::ZERO, |law| Span::from_secs_f64(law.mean()));
    wait.clamp(GRACE_LEAST, GRACE_MOST)
}

/// When clients ask the DNS again: each request has a connection of its own.
fn resolves(rule: sojourn_model::system::Resolves) -> Resolves {
    match rule {
        sojourn_model::system::Resolves::Ttl => Resolves::Ttl,
        sojourn_model::system::Resolves::Every(span) => Resolves::Every(span),
        sojourn_model::system::Resolves::EachRequest => Resolves::EachConnection,
    }
}

pub(super) fn pacing(experiment: &Spec) -> Pacing {
    if experiment.run.live.spin { Pacing::Spin } else { Pacing::Timer }
}
