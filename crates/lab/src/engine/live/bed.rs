//! Live runs over emulated paths: which they are, what a bed cannot do for them, and the loads of its client hosts.
//!
//! Clients of each region, or of each machine, are one host, which sends the requests of its clients out of the one plan; the
//! shares are reported as one load. What the simulator has for each client and the bed for a host of many is refused: it
//! would be another system.

use std::net::IpAddr;

use sojourn_bed::{Ground, Host};
use sojourn_load::{Load, Report, Share, realtime_ns, run, run_share};
use sojourn_model::system::{Directions, Path};
use sojourn_model::{System, Tcp, TcpStack};
use sojourn_stats::Span;
use sojourn_traffic::Workload;

use super::Conditions;
use crate::spec::{Engine, Spec, SpecError, SystemQuestion};
use crate::topology::{ClientHosts, are_by_machine, as_host, check_clients};
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

/// Refuses what a bed cannot do.
pub(super) fn check(experiment: &Spec, asked: &SystemQuestion) -> Result<(), String> {
    let system = &asked.system;
    let not_yet = |what: &str| Err(format!("not there yet: live has no {what}; leave `live` out of `by`"));
    check_clients(system)?;
    if !system.first_on_machine().is_empty() && system.paths.is_empty() {
        return not_yet("clients that share machines without [system.paths]: leave `machines` out");
    }
    let has_many = match &asked.workload {
        Workload::Closed(closed) => closed.users > 1,
        Workload::Sessions(sessions) => sessions.users > 1,
        _ => true,
    };
    let has_many = if system.clients.is_empty() { has_many } else { system.clients.iter().any(|of| of.number > 1) };
    if has_many
        && (system.paths.iter().any(|path| path.rate != Directions::default()) || system.network.client_rate.is_some())
    {
        return not_yet("rate of each client's own where a region has several: share a `medium`");
    }
    let do_differ = || system.paths.iter().any(|Path { rtt, .. }| rtt.variance() > 0.0);
    if has_many && !are_by_machine(system) && do_differ() {
        return not_yet("round trips that differ among the clients of a region: write one, such as `rtt = \"80 ms\"`");
    }
    let network = &system.network;
    let has_rates = network.shared_rate().or(network.server_rate).is_some();
    if !system.paths.is_empty() && (has_rates || network.server_rtt > Span::ZERO) {
        return not_yet("rates and round trips of [system.network] beside paths: write them in [system.paths]");
    }
    let is_kernel = system.transport.as_ref().is_none_or(|transport| transport.stack == TcpStack::LINUX_6);
    if !(is_kernel || experiment.run.live.kernel_tcp) || system.network.tcp != Tcp::default() {
        return Err(
            "live has the TCP of this kernel: write `stack = \"linux-6\"` and nothing else of TCP, or under [run] \
                    `live = { tcp = \"kernel\" }` for live and its twin alone, or leave `live` out of `by`"
                .into(),
        );
    }
    Ok(())
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
