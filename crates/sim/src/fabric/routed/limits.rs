//! What the routed fabric does not have yet.

use sojourn_model::System;
use sojourn_model::system::{Face, Fault, Seat, Subject, Target, Tier, Trouble};
use sojourn_traffic::Workload;

use super::{balancers, faults, servers};
use crate::control::SimError;

/// Refuses by name what this fabric does not have yet.
pub(crate) fn refuse(system: &System, workload: &Workload) -> Result<(), SimError> {
    let tiers = &system.tiers;
    // Gateways and switches with what they forward to.
    let forwards = || {
        let forwards = |tier: &&Tier| matches!(tier.face, Face::Gateway | Face::Switch);
        tiers
            .iter()
            .filter(forwards)
            .flat_map(|tier| &tier.seats)
            .flat_map(|seat| seat.targets.iter().map(move |target| (seat, *target)))
    };
    // Those that pass on what they cannot take, with where to.
    let overflows = || {
        tiers.iter().enumerate().flat_map(|(index, tier)| {
            let seats = tier.seats.iter();
            seats.flat_map(move |own| own.overflow.iter().map(move |&seat| (own, Target::Seat { tier: index, seat })))
        })
    };
    let is_redirect =
        |target: Target| matches!(target, Target::Seat { tier, .. } if tiers[tier].face == Face::Redirect);
    let site_of = |target: Target| match target {
        Target::Host(host) => system.hosts[host].site,
        Target::Seat { tier, seat } => tiers[tier].seats[seat].site,
    };
    let loses = |(seat, target): (&Seat, Target)| {
        let path = system.paths.between(system.region_of(seat.site), system.region_of(site_of(target)));
        let is_lossy = |fault: &Fault| {
            let regions = [seat.site, site_of(target)].map(|site| system.region_of(site));
            let (a, b) = (regions[0].min(regions[1]), regions[0].max(regions[1]));
            fault.subject == Subject::Path(a, b) && matches!(fault.trouble, Trouble::Loss(_))
        };
        seat.site != site_of(target)
            && (path.is_some_and(|path| path.loses() || path.medium.is_some()) || system.faults.iter().any(is_lossy))
    };
    let polls_redirect = |tier: &Tier| {
        tier.polled.is_some() && tier.seats.iter().flat_map(|seat| &seat.targets).any(|of| is_redirect(*of))
    };
    let rules = &system.rules;
    let is_impatient = match workload {
        Workload::Open(open) => open.patience.is_some(),
        Workload::Closed(closed) => closed.patience.is_some(),
        Workload::Trace(_) | Workload::Replay(_) | Workload::Sessions(_) => false,
    };
    let missing = [
        (
            tiers.iter().any(|tier| tier.face == Face::Client && tier.polled.is_some()),
            "polls by clients, which go by what happens to their own requests: leave `information` out",
        ),
        (tiers.iter().any(|tier| !tier.pools.is_empty()), "pools by host and path"),
        (
            forwards().any(|(_, target)| is_redirect(target)),
            "redirect behind a gateway or a switch: put a DNS in front",
        ),
        (
            tiers.iter().any(polls_redirect),
            "polls of a redirect, which does not know how many requests it has: leave `information` out",
        ),
        (
            forwards().chain(overflows()).any(loses),
            "loss or medium of a path between a gateway or a switch and what it forwards to: give that path a rate only",
        ),
        (
            tiers.iter().any(|tier| tier.face != Face::Switch && tier.overflow.is_some()),
            "overflow of a face that is no switch",
        ),
        (rules.hedge.is_some(), "clients that hedge ([client])"),
        (rules.retries.is_some() && is_impatient, "clients that retry and lose patience: leave `patience` out"),
    ];
    match missing.into_iter().find(|(is_written, _)| *is_written) {
        Some((_, what)) => Err(SimError::NotYet(what.into())),
        None => balancers::check(system, workload)
            .and_then(|()| faults::check(system))
            .and_then(|()| servers::check(system, workload.objects().len())),
    }
}
