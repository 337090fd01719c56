//! Live runs over emulated paths: which they are, what a bed cannot do for them, and the loads of its client hosts.
//!
//! Clients of each region, or of each machine, are one host, which sends the requests of its clients out of the one plan; the
//! shares are reported as one load. What the simulator has for each client and the bed for a host of many is refused: it
//! would be another system.

use std::net::IpAddr;

use sojourn_bed::{Ground, Host};
use sojourn_load::{Load, Report, Share, realtime_ns, run, run_share};
use sojourn_model::System;

use super::Conditions;
use crate::spec::{Engine, SpecError, SystemQuestion};
use crate::topology::{ClientHosts, as_host, check_clients};
use crate::variants::{Experiment, Variant};

/// How far ahead the loads of several hosts agree to start: each first tries whether its servers can be reached.
const START_AHEAD_NS: u64 = 5_000_000_000;

/// A start that they can keep (ns since 1970).
pub(super) fn start_at_ns() -> u64 {
    realtime_ns() + START_AHEAD_NS
}

/// Whether live answers a variant of `source` over emulated paths, and so has to be inside a bed; `by` names engines
/// instead of the file's.
///
/// # Errors
/// When a variant cannot be read.
pub fn needs_bed(source: &Experiment, by: Option<&[Engine]>) -> Result<bool, SpecError> {
    let needs = |variant: &Variant| {
        let Variant { experiment, .. } = variant;
        by.unwrap_or(&experiment.run.by).contains(&Engine::Live) && experiment.system().is_some_and(is_needed)
    };
    Ok(source.variants()?.iter().any(needs))
}

/// Whether live answers it in a bed: where anything is said of a network.
pub(super) fn is_needed(asked: &SystemQuestion) -> bool {
    asked.has_network
}

/// Refuses more machines than a bed has hosts for.
pub(super) fn check(asked: &SystemQuestion) -> Result<(), String> {
    if is_needed(asked) { check_clients(&asked.system) } else { Ok(()) }
}

/// The hosts of clients, with their numbers among all of them.
pub(super) fn client_hosts(ground: &mut dyn Ground, system: &System) -> Result<Vec<(usize, Host)>, String> {
    let all = ClientHosts::of(system);
    let host = |index: usize| Ok((index, ground.host(&all.hosts[index].name).map_err(|e| e.to_string())?));
    all.with_clients().into_iter().map(host).collect()
}

/// A host of the bed by its name, which may have been given to another part already.
///
/// # Panics
/// When it is not in a bed that has the host.
pub(super) fn place(ground: &dyn Ground, name: &str) -> Host {
    let topology = ground.links().expect("the ground is a bed").topology();
    Host(topology.find(&as_host(name)).expect("every part has a host") as u32)
}

/// The address of such a host.
pub(super) fn address(ground: &dyn Ground, name: &str) -> IpAddr {
    ground.address(place(ground, name))
}

/// Runs each load on its host, as shares of one; a single one begins when it can, if it is not told when.
pub(super) fn run_all(
    ground: &dyn Ground,
    mut loads: Vec<(Option<Host>, Load)>,
    start_at: Option<u64>,
    conditions: &Conditions<'_>,
) -> Result<Report, String> {
    let progress = |now: sojourn_load::Progress| {
        let remark = format!("{} replies, {} failed", now.ok, now.failed);
        (conditions.progress)(now.share, &remark);
    };
    if let [(None, _)] = loads.as_slice() {
        let (_, load) = loads.remove(0);
        return run(Load { start_at, ..load }, conditions.cancel, &progress).map_err(|e| e.to_string());
    }
    let start_at = start_at.or_else(|| (loads.len() > 1).then(start_at_ns));
    let progress = &progress;
    let of = loads.len() as u32;
    let mut shares = std::thread::scope(|scope| {
        let started: Vec<_> = loads
            .into_iter()
            .map(|(host, load)| {
                let load = Load { start_at, ..load };
                let host = host.expect("several loads have a host each");
                scope.spawn(move || within(ground, host, move || run_share(load, conditions.cancel, progress)))
            })
            .collect();
        let shares = started.into_iter().map(|thread| thread.join().expect("a load does not panic"));
        shares.map(|share| share?.map_err(|e| e.to_string())).collect::<Result<Vec<_>, String>>()
    })?;
    // Each ran the whole of a plan in which only its own clients were left.
    for (index, share) in (0..).zip(&mut shares) {
        share.share = Share { index, of };
    }
    Ok(Report::of_shares(shares))
}

/// What `body` gives on a host.
pub(super) fn within<T: Send>(ground: &dyn Ground, host: Host, body: impl FnOnce() -> T + Send) -> Result<T, String> {
    let (mut body, mut given) = (Some(body), None);
    let mut run = || given = body.take().map(|body| body());
    ground.within(host, &mut run).map_err(|e| e.to_string())?;
    Ok(given.expect("the body has been run"))
}
