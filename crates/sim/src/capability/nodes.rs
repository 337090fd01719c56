//! Servers that own files, and deciders on servers.

use sojourn_dispatch::capacity;
use sojourn_model::Server;
use sojourn_model::system::{Face, Reports, Tier};

use super::Has::{Instead, No, Yes};
use super::Users::{Any, Request};
use super::{Combination, Row, is_on_servers, row};

pub(super) const ROWS: &[Row] = &[
    row(None, Any, "files that one server owns, but where nodes redirect (`at = \"servers\"`)", Yes, No, |of| {
        !of.any_tier(is_on_servers) && of.system.servers().any(has_files)
    }),
    row(None, Any, "requests over TLS (`secure`) but where nodes redirect (`at = \"servers\"`)", Yes, No, |of| {
        !of.any_tier(is_on_servers) && !of.system.rules.secure.is_empty()
    }),
    row(
        None,
        Any,
        "deciders on servers (`at = \"servers\"`) but those that redirect (`face = \"redirect\"`)",
        Yes,
        No,
        |of| of.any_tier(|tier| is_on_servers(tier) && tier.face != Face::Redirect),
    ),
    row(Some(Face::Redirect), Any, "several tiers of nodes that redirect", Yes, No, |of| {
        of.system.tiers.iter().filter(|tier| is_on_servers(tier)).count() > 1
    }),
    row(
        Some(Face::Redirect),
        Any,
        "nodes that redirect but on hosts of a bed",
        Yes,
        Instead("say what is between them and their clients, as in `[system.network]` rtt = \"2 ms\""),
        |of| !of.live.is_in_bed && of.any_tier(is_on_servers),
    ),
    row(Some(Face::Redirect), Any, "real programs that redirect", Yes, No, |of| {
        of.live.is_program && of.any_tier(is_on_servers)
    }),
    row(Some(Face::Redirect), Any, "nodes that redirect with several dispatchers, polls or a limit", Yes, No, |of| {
        any(of, |tier| tier.dispatchers > 1 || tier.polled.is_some() || tier.limit.is_some())
    }),
    row(Some(Face::Redirect), Any, "nodes that redirect and have weights", Yes, No, |of| {
        any(of, |tier| tier.weights.windows(2).any(|pair| pair[0] != pair[1]))
    }),
    row(Some(Face::Redirect), Any, "nodes that report rates of clients", Yes, No, |of| {
        any_reports(of, |reports| reports.client_rates.is_some())
    }),
    row(Some(Face::Redirect), Any, "nodes that report more seldom than in each period (`heartbeat`)", Yes, No, |of| {
        any_reports(of, |reports| reports.heartbeat.is_some_and(|heartbeat| heartbeat != reports.every))
    }),
    row(Some(Face::Redirect), Any, "nodes that learn capacity by another `estimator` than busy-share", Yes, No, |of| {
        any_reports(of, |reports| reports.estimator.is_some_and(|name| name != capacity::DEFAULT))
    }),
    row(Some(Face::Redirect), Any, "nodes that take less than saturation as `capacity`", Yes, No, |of| {
        any_reports(of, |reports| reports.capacity_at < 1.0)
    }),
    row(
        Some(Face::Redirect),
        Any,
        "copies of emulated files (`copies_after`): nodes copy real files only",
        Yes,
        No,
        |of| {
            let files = |server: &Server| server.machine.as_deref().and_then(|machine| machine.files);
            of.any_tier(is_on_servers) && of.system.servers().filter_map(files).any(|files| files.copies.is_some())
        },
    ),
    row(Some(Face::Redirect), Any, "files of nodes at several sites", Yes, No, |of| {
        let is_whole = |tier: &Tier| tier.seats.iter().all(|seat| seat.targets.len() == of.system.hosts.len());
        of.system.servers().any(has_files) && any(of, |tier| !is_whole(tier))
    }),
    row(None, Request, "files or memory of servers without a disk", Instead("give each `resources.disk`"), Yes, |of| {
        let has_disk = |server: &Server| {
            server.machine.as_ref().is_some_and(|of| of.resources.iter().any(|resource| resource.name == "disk"))
        };
        keeps_files(of) && !of.system.servers().all(has_disk)
    }),
    row(
        None,
        Request,
        "files of one owner each whose owners are in several regions",
        Instead(
            "a file crosses the network of one region, so put all servers in one, or leave `files` out where each has all of \
             them",
        ),
        Yes,
        |of| {
            let mut regions = of.system.hosts.iter().map(|host| of.system.region_of(host.site));
            let first = regions.next();
            of.system.servers().any(has_files) && regions.any(|region| Some(region) != first)
        },
    ),
    row(
        None,
        Request,
        "memory that caches what is asked for once",
        Instead("write size = \"documents(n = 60, ...)\", so that there are files"),
        Yes,
        |of| keeps_files(of) && !of.system.servers().any(has_files) && of.workload.objects().is_empty(),
    ),
];

/// Whether one of the tiers of deciders on servers is such.
fn any(of: &Combination<'_>, is_so: impl Fn(&Tier) -> bool) -> bool {
    of.any_tier(|tier| is_on_servers(tier) && is_so(tier))
}

fn any_reports(of: &Combination<'_>, are_so: impl Fn(Reports) -> bool) -> bool {
    any(of, |tier| tier.reports.is_some_and(&are_so))
}

fn has_files(server: &Server) -> bool {
    server.machine.as_ref().is_some_and(|machine| machine.files.is_some())
}

/// Whether servers own files or cache some.
fn keeps_files(of: &Combination<'_>) -> bool {
    let has_memory = |server: &Server| server.machine.as_ref().is_some_and(|machine| machine.memory.is_some());
    of.system.servers().any(|server| has_files(server) || has_memory(server))
}
