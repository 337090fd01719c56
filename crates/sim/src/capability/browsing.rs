//! What users who browse in sessions cannot be combined with.

use sojourn_model::Balancing;
use sojourn_model::system::{Affinity, Face, Target, Tier};
use sojourn_stats::Span;

use super::Has::{Instead, No, Yes};
use super::Users::Browse;
use super::{Combination, Row, is_on_servers, row, targets};

pub(super) const ROWS: &[Row] = &[
    row(Some(Face::Client), Browse, "tier of face `client` in front of users who browse", No, No, |of| {
        of.tiers(Face::Client).next().is_some()
    }),
    row(Some(Face::Redirect), Browse, "redirect in front of users who browse", No, Yes, |of| {
        of.tiers(Face::Redirect).next().is_some()
    }),
    row(Some(Face::Dns), Browse, "DNS behind another tier, of users who browse", No, No, |of| {
        of.system.tiers.iter().skip(1).any(|tier| tier.face == Face::Dns)
    }),
    row(None, Browse, "servers that forward what users who browse ask", No, Yes, |of| of.any_tier(is_on_servers)),
    row(None, Browse, "pools by host and path, of users who browse", No, No, |of| {
        of.any_tier(|tier| !tier.pools.is_empty())
    }),
    row(
        None,
        Browse,
        "reports and probes while users browse",
        Instead("use `information = \"polled every 1 s\"`"),
        Yes,
        |of| of.any_tier(|tier| tier.reports.is_some() || tier.probes.is_some()),
    ),
    row(None, Browse, "regions and paths of users who browse", Instead("use [system.network]"), Yes, |of| {
        let system = of.system;
        let has_addresses = || system.regions.iter().any(|region| region.addresses.is_some());
        system.regions.len() > 1 || !system.paths.is_empty() || has_addresses()
    }),
    row(
        None,
        Browse,
        "round trip between balancer and servers while users browse",
        Instead("add it to `rtt`"),
        Yes,
        |of| of.system.network.server_rtt > Span::ZERO,
    ),
    row(None, Browse, "limit of servers that users browse", No, Yes, |of| of.any_tier(|tier| tier.limit.is_some())),
    row(None, Browse, "faults while users browse", No, Yes, |of| !of.system.faults.is_empty()),
    row(None, Browse, "resources, memory and files of servers that users browse", No, Yes, |of| {
        of.system.servers().any(|server| server.machine.is_some())
    }),
    row(
        None,
        Browse,
        "work of balancers that differ or are behind one another while users browse",
        Instead("leave `balancer` out"),
        No,
        |of| {
            let first = forwarding(of).next().map(|first| first.balancing);
            let differs = |tier: &Tier| Some(tier.balancing) != first;
            let is_in_front = |tier: &Tier| targets(tier).any(|target| matches!(target, Target::Seat { .. }));
            let costs = |tier: &Tier| tier.balancing != Balancing::free(tier.balancing.mode);
            forwarding(of).any(|tier| differs(tier) || is_in_front(tier)) && forwarding(of).any(costs)
        },
    ),
    row(None, Browse, "cores of several balancers while users browse", Instead("leave `cores` out"), No, |of| {
        let seats: usize = forwarding(of).map(|tier| tier.seats.len()).sum();
        seats > 1 && forwarding(of).any(|tier| tier.balancing.cores.is_some())
    }),
    row(
        None,
        Browse,
        "choice that is held longer than the choice in front of it",
        Instead("`level` goes from session to connection to request"),
        No,
        |of| {
            let tiers = &of.system.tiers;
            let outlasts = |outer: &Tier, target: Target| match target {
                Target::Seat { tier, .. } => tiers[tier].affinity > outer.affinity,
                Target::Host(_) => false,
            };
            forwarding(of).any(|tier| targets(tier).any(|target| outlasts(tier, target)))
        },
    ),
    row(None, Browse, "servers behind tiers of different `level` or `attached` that users browse", No, No, |of| {
        let has_hosts = |tier: &Tier| targets(tier).any(|target| matches!(target, Target::Host(_)));
        let holds = |tier: &Tier| (tier.affinity, tier.attachment);
        let in_front: Vec<&Tier> = forwarding(of).filter(|tier| has_hosts(tier)).collect();
        let names_servers = of.system.tiers.first().is_some_and(|tier| tier.face == Face::Dns && has_hosts(tier));
        in_front.windows(2).any(|two| holds(two[0]) != holds(two[1])) || (names_servers && !in_front.is_empty())
    }),
    row(None, Browse, "users who browse at more than one tier", Yes, No, |of| of.system.tiers.len() > 1),
    row(
        None,
        Browse,
        "choice that is held longer than a request",
        Yes,
        Instead("the live gateway gives each request its server, so use level = \"request\""),
        |of| of.any_tier(|tier| tier.affinity != Affinity::Request),
    ),
];

/// The tiers that requests pass, with what they are allowed to differ in.
fn forwarding<'a>(of: &Combination<'a>) -> impl Iterator<Item = &'a Tier> + use<'a> {
    of.system.tiers.iter().filter(|tier| tier.face != Face::Dns)
}
