//! Packet switches.

use sojourn_dispatch::{Catalogue, Signals};
use sojourn_model::Mode;
use sojourn_model::system::{Face, Fault, Subject, Target, Trouble};

use super::Has::{Instead, No, Yes};
use super::Users::{Any, Browse};
use super::{Combination, Row, targets};

pub(super) const ROWS: &[Row] = &[
    Row {
        face: Some(Face::Switch),
        users: Any,
        what: "packet switch but on an Ethernet of a bed",
        sim: Yes,
        live: Instead("say where clients and sites are, under [system.paths]"),
        is_in: |of| has_switch(of) && (!of.live.is_in_bed || of.system.paths.is_empty()),
    },
    Row {
        face: Some(Face::Switch),
        users: Browse,
        what: "users who browse behind a packet switch",
        sim: Yes,
        live: No,
        is_in: has_switch,
    },
    Row {
        face: Some(Face::Switch),
        users: Any,
        what: "packet switch that decides for requests, but for connections",
        sim: Yes,
        live: Instead("write `http = \"1.0\"` under [workload], a connection per request"),
        is_in: |of| has_switch(of) && !of.live.one_request_per_connection,
    },
    Row {
        face: Some(Face::Switch),
        users: Any,
        what: "real programs behind a packet switch",
        sim: Yes,
        live: No,
        is_in: |of| has_switch(of) && of.live.is_program,
    },
    Row {
        face: Some(Face::Switch),
        users: Any,
        what: "packet switch that ends what it has (`drained`)",
        sim: Yes,
        live: Instead("its servers can be drained"),
        is_in: |of| of.system.faults.iter().any(|fault| fault.trouble == Trouble::Drained && is_of_switch(fault, of)),
    },
    Row {
        face: Some(Face::Switch),
        users: Any,
        what: "packet switch that is frozen alone, since its kernel forwards",
        sim: Yes,
        live: Instead("freeze its site"),
        is_in: |of| {
            let is_alone = |fault: &Fault| matches!(fault.subject, Subject::Tier(_)) && is_of_switch(fault, of);
            of.system.faults.iter().any(|fault| fault.trouble == Trouble::Frozen && is_alone(fault))
        },
    },
    Row {
        face: Some(Face::Switch),
        users: Any,
        what: "server that is cut off behind a packet switch, where there is no link to cut",
        sim: Yes,
        live: Instead("cut its site"),
        is_in: |of| {
            let is_of_server = |fault: &Fault| matches!(fault.subject, Subject::Host(_) | Subject::Share(_));
            let is_cut = |fault: &Fault| fault.trouble == Trouble::Cut && is_of_server(fault);
            has_switch(of) && of.system.faults.iter().any(is_cut)
        },
    },
    Row {
        face: Some(Face::Switch),
        users: Any,
        what: "packet switch beside gateways and redirectors",
        sim: Yes,
        live: No,
        is_in: |of| has_switch(of) && of.any_tier(|tier| !matches!(tier.face, Face::Switch | Face::Dns)),
    },
    Row {
        face: Some(Face::Switch),
        users: Any,
        what: "packet switch with several dispatchers or polls",
        sim: Yes,
        live: No,
        is_in: |of| of.tiers(Face::Switch).any(|tier| tier.dispatchers > 1 || tier.polled.is_some()),
    },
    Row {
        face: Some(Face::Switch),
        users: Any,
        what: "switch that passes on to other sites and does not keep the addresses",
        sim: Yes,
        live: Instead("write `mode = \"mac\"` or `\"tunnel\"`"),
        is_in: |of| {
            let keeps = |mode: Mode| matches!(mode, Mode::MacForwarding | Mode::IpTunnelling);
            of.tiers(Face::Switch).any(|tier| tier.overflow.is_some() && !keeps(tier.balancing.mode))
        },
    },
    Row {
        face: Some(Face::Switch),
        users: Any,
        what: "addresses of clients, of which those of a region share one, and a packet switch sees nothing else",
        sim: Yes,
        live: No,
        is_in: |of| {
            of.tiers(Face::Switch).any(|tier| {
                let needs = Catalogue::default().build(&tier.policy).map(|policy| policy.requires());
                needs.is_ok_and(|needs| needs.contains(Signals::ADDRESS))
            })
        },
    },
    Row {
        face: Some(Face::Switch),
        users: Any,
        what: "servers behind several packet switches",
        sim: Yes,
        live: No,
        is_in: |of| {
            let hosts = of.tiers(Face::Switch).flat_map(targets);
            let mut hosts: Vec<usize> = hosts.filter_map(host_of).collect();
            hosts.sort_unstable();
            hosts.windows(2).any(|two| two[0] == two[1])
        },
    },
    Row {
        face: Some(Face::Switch),
        users: Any,
        what: "packet switch in front of other deciders",
        sim: Yes,
        live: No,
        is_in: |of| of.tiers(Face::Switch).flat_map(targets).any(|target| host_of(target).is_none()),
    },
];

fn has_switch(of: &Combination<'_>) -> bool {
    of.tiers(Face::Switch).next().is_some()
}

fn host_of(target: Target) -> Option<usize> {
    match target {
        Target::Host(host) => Some(host),
        Target::Seat { .. } => None,
    }
}

/// Whether a fault is one of a front node.
fn is_of_switch(fault: &Fault, of: &Combination<'_>) -> bool {
    match fault.subject {
        Subject::Site(site) => of.tiers(Face::Switch).flat_map(|tier| &tier.seats).any(|seat| seat.site == Some(site)),
        Subject::Tier(tier) => of.system.tiers[tier].face == Face::Switch,
        _ => false,
    }
}
