//! Packet switches.

use sojourn_dispatch::{Catalogue, Signals};
use sojourn_model::Mode;
use sojourn_model::system::{Face, Fault, Subject, Target, Tier, Trouble};

use super::Has::{Instead, No, Yes};
use super::Users::{Any, Browse};
use super::{Combination, Row, is_on_servers, row, targets};

pub(super) const ROWS: &[Row] = &[
    row(
        Some(Face::Switch),
        Any,
        "packet switch but on an Ethernet of a bed",
        Yes,
        Instead("say where clients and sites are, under [system.paths]"),
        |of| has_switch(of) && (!of.live.is_in_bed || of.system.paths.is_empty()),
    ),
    row(Some(Face::Switch), Browse, "users who browse behind a packet switch", Yes, No, has_switch),
    row(
        Some(Face::Switch),
        Any,
        "packet switch that decides for requests, but for connections",
        Yes,
        Instead("write `http = \"1.0\"` under [workload], a connection per request"),
        |of| has_switch(of) && !of.live.one_request_per_connection,
    ),
    row(Some(Face::Switch), Any, "real programs behind a packet switch", Yes, No, |of| {
        has_switch(of) && of.live.is_program
    }),
    row(
        Some(Face::Switch),
        Any,
        "packet switch that is `drained` and passes on to other sites",
        Yes,
        Instead("its servers can be drained"),
        |of| {
            let passes_on = front_nodes(of).any(|tier| tier.overflow.is_some());
            let is_drained = |fault: &Fault| fault.trouble == Trouble::Drained && is_of_switch(fault, of);
            passes_on && of.system.faults.iter().any(is_drained)
        },
    ),
    row(
        Some(Face::Switch),
        Any,
        "packet switch that is frozen alone, since its kernel forwards",
        Yes,
        Instead("freeze its site"),
        |of| {
            let is_alone = |fault: &Fault| matches!(fault.subject, Subject::Tier(_)) && is_of_switch(fault, of);
            of.system.faults.iter().any(|fault| fault.trouble == Trouble::Frozen && is_alone(fault))
        },
    ),
    row(
        Some(Face::Switch),
        Any,
        "server that is cut off behind a packet switch, where there is no link to cut",
        Yes,
        Instead("cut its site"),
        |of| {
            let is_of_server =
                |fault: &Fault| matches!(fault.subject, Subject::Host(_) | Subject::Share(_) | Subject::OneOf(..));
            let is_cut = |fault: &Fault| fault.trouble == Trouble::Cut && is_of_server(fault);
            has_switch(of) && of.system.faults.iter().any(is_cut)
        },
    ),
    row(Some(Face::Switch), Any, "packet switch beside gateways and redirectors", Yes, No, |of| {
        has_switch(of) && of.any_tier(|tier| !matches!(tier.face, Face::Switch | Face::Dns))
    }),
    row(Some(Face::Switch), Any, "packet switch with several dispatchers or polls", Yes, No, |of| {
        front_nodes(of).any(|tier| tier.dispatchers > 1 || tier.polled.is_some())
    }),
    row(
        Some(Face::Switch),
        Any,
        "switch that passes on to other sites and does not keep the addresses",
        Yes,
        Instead("write `mode = \"mac\"` or `\"tunnel\"`"),
        |of| {
            let keeps = |mode: Mode| matches!(mode, Mode::MacForwarding | Mode::IpTunnelling);
            front_nodes(of).any(|tier| tier.overflow.is_some() && !keeps(tier.balancing.mode))
        },
    ),
    row(
        Some(Face::Switch),
        Any,
        "addresses of clients, of which those of a region share one, and a packet switch sees nothing else",
        Yes,
        No,
        |of| {
            front_nodes(of).any(|tier| {
                let needs = Catalogue::default().build(&tier.policy).map(|policy| policy.requires());
                needs.is_ok_and(|needs| needs.contains(Signals::ADDRESS))
            })
        },
    ),
    row(Some(Face::Switch), Any, "servers behind several packet switches", Yes, No, |of| {
        let hosts = front_nodes(of).flat_map(targets);
        let mut hosts: Vec<usize> = hosts.filter_map(host_of).collect();
        hosts.sort_unstable();
        hosts.windows(2).any(|two| two[0] == two[1])
    }),
    row(Some(Face::Switch), Any, "packet switch in front of other deciders", Yes, No, |of| {
        front_nodes(of).flat_map(targets).any(|target| host_of(target).is_none())
    }),
];

/// The tiers of packet switches that have a host of their own.
fn front_nodes<'a>(of: &Combination<'a>) -> impl Iterator<Item = &'a Tier> + use<'a> {
    of.tiers(Face::Switch).filter(|tier| !is_on_servers(tier))
}

fn has_switch(of: &Combination<'_>) -> bool {
    front_nodes(of).next().is_some()
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
        Subject::Site(site) => front_nodes(of).flat_map(|tier| &tier.seats).any(|seat| seat.site == Some(site)),
        Subject::Tier(tier) => of.system.tiers[tier].face == Face::Switch,
        _ => false,
    }
}
