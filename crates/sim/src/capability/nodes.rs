//! Servers that own files, and deciders on servers.

use sojourn_dispatch::capacity;
use sojourn_model::Server;
use sojourn_model::system::{Face, Reports, Tier};

use super::Has::{Instead, No, Yes};
use super::Users::{Any, Request};
use super::{Combination, Row, is_on_servers};

pub(super) const ROWS: &[Row] = &[
    Row {
        face: None,
        users: Any,
        what: "files that one server owns, but where nodes redirect (`at = \"servers\"`)",
        sim: Yes,
        live: No,
        is_in: |of| !of.any_tier(is_on_servers) && of.system.servers().any(has_files),
    },
    Row {
        face: None,
        users: Any,
        what: "requests over TLS (`secure`) but where nodes redirect (`at = \"servers\"`)",
        sim: Yes,
        live: No,
        is_in: |of| !of.any_tier(is_on_servers) && !of.system.rules.secure.is_empty(),
    },
    Row {
        face: None,
        users: Any,
        what: "deciders on servers (`at = \"servers\"`) but those that redirect (`face = \"redirect\"`)",
        sim: Yes,
        live: No,
        is_in: |of| of.any_tier(|tier| is_on_servers(tier) && tier.face != Face::Redirect),
    },
    Row {
        face: Some(Face::Redirect),
        users: Any,
        what: "several tiers of nodes that redirect",
        sim: Yes,
        live: No,
        is_in: |of| of.system.tiers.iter().filter(|tier| is_on_servers(tier)).count() > 1,
    },
    Row {
        face: Some(Face::Redirect),
        users: Any,
        what: "nodes that redirect but on hosts of a bed",
        sim: Yes,
        live: Instead("say what is between them and their clients, as in `[system.network]` rtt = \"2 ms\""),
        is_in: |of| !of.live.is_in_bed && of.any_tier(is_on_servers),
    },
    Row {
        face: Some(Face::Redirect),
        users: Any,
        what: "real programs that redirect",
        sim: Yes,
        live: No,
        is_in: |of| of.live.is_program && of.any_tier(is_on_servers),
    },
    Row {
        face: Some(Face::Redirect),
        users: Any,
        what: "nodes that redirect with several dispatchers, polls or a limit",
        sim: Yes,
        live: No,
        is_in: |of| any(of, |tier| tier.dispatchers > 1 || tier.polled.is_some() || tier.limit.is_some()),
    },
    Row {
        face: Some(Face::Redirect),
        users: Any,
        what: "nodes that redirect and have weights",
        sim: Yes,
        live: No,
        is_in: |of| any(of, |tier| tier.weights.windows(2).any(|pair| pair[0] != pair[1])),
    },
    Row {
        face: Some(Face::Redirect),
        users: Any,
        what: "nodes that report rates of clients",
        sim: Yes,
        live: No,
        is_in: |of| any_reports(of, |reports| reports.client_rates.is_some()),
    },
    Row {
        face: Some(Face::Redirect),
        users: Any,
        what: "nodes that report more seldom than in each period (`heartbeat`)",
        sim: Yes,
        live: No,
        is_in: |of| any_reports(of, |reports| reports.heartbeat.is_some_and(|heartbeat| heartbeat != reports.every)),
    },
    Row {
        face: Some(Face::Redirect),
        users: Any,
        what: "nodes that learn capacity by another `estimator` than busy-share",
        sim: Yes,
        live: No,
        is_in: |of| any_reports(of, |reports| reports.estimator.is_some_and(|name| name != capacity::DEFAULT)),
    },
    Row {
        face: Some(Face::Redirect),
        users: Any,
        what: "copies of emulated files (`copies_after`): nodes copy real files only",
        sim: Yes,
        live: No,
        is_in: |of| {
            let files = |server: &Server| server.machine.as_deref().and_then(|machine| machine.files);
            of.any_tier(is_on_servers) && of.system.servers().filter_map(files).any(|files| files.copies.is_some())
        },
    },
    Row {
        face: Some(Face::Redirect),
        users: Any,
        what: "files of nodes at several sites",
        sim: Yes,
        live: No,
        is_in: |of| {
            let is_whole = |tier: &Tier| tier.seats.iter().all(|seat| seat.targets.len() == of.system.hosts.len());
            of.system.servers().any(has_files) && any(of, |tier| !is_whole(tier))
        },
    },
    Row {
        face: None,
        users: Request,
        what: "files or memory of servers without a disk",
        sim: Instead("give each `resources.disk`"),
        live: Yes,
        is_in: |of| {
            let has_disk = |server: &Server| {
                server.machine.as_ref().is_some_and(|of| of.resources.iter().any(|resource| resource.name == "disk"))
            };
            keeps_files(of) && !of.system.servers().all(has_disk)
        },
    },
    Row {
        face: None,
        users: Request,
        what: "files of one owner each whose owners are in several regions",
        sim: Instead(
            "a file crosses the network of one region, so put all servers in one, or leave `files` out where each has all of \
             them",
        ),
        live: Yes,
        is_in: |of| {
            let mut regions = of.system.hosts.iter().map(|host| of.system.region_of(host.site));
            let first = regions.next();
            of.system.servers().any(has_files) && regions.any(|region| Some(region) != first)
        },
    },
    Row {
        face: None,
        users: Request,
        what: "memory that caches what is asked for once",
        sim: Instead("write size = \"documents(n = 60, ...)\", so that there are files"),
        live: Yes,
        is_in: |of| keeps_files(of) && !of.system.servers().any(has_files) && of.workload.objects().is_empty(),
    },
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
