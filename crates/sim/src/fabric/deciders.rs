//! The deciders of a system's tiers, whatever the fabric is that asks them.

use sojourn_dispatch::Catalogue;
use sojourn_model::System;
use sojourn_model::system::{Affinity, Face, Seat, Target, TtlRule};
use sojourn_stats::Span;

use crate::balancer::{Balancer, signals};
use crate::control::SimError;

/// One seat of a tier.
pub(super) struct Decider {
    pub(super) face: Face,
    /// What its choices are held for, where users browse.
    pub(super) affinity: Affinity,
    pub(super) balancer: Balancer,
    pub(super) targets: Vec<Next>,
    /// Its site; none where nothing is said of places.
    pub(super) site: Option<usize>,
    pub(super) region: usize,
    /// The server that it is on.
    pub(super) host: Option<u32>,
    /// Work that a poll is to the server polled.
    pub(super) poll_cost: Span,
    /// Of a DNS: how long its answers may be kept, and what that depends on.
    pub(super) ttl: Span,
    pub(super) ttl_rule: TtlRule,
    /// Its machine is down.
    pub(super) is_down: bool,
}

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Server(u32),
    Decider(u32),
}

/// All seats of all tiers of `system`, tier by tier; the first is where requests come in. `browses`: for users who browse.
pub(super) fn deciders(
    system: &System,
    browses: bool,
    catalogue: &Catalogue,
    seed: u64,
) -> Result<Vec<Decider>, SimError> {
    let offsets: Vec<usize> = system
        .tiers
        .iter()
        .scan(0, |next, tier| {
            let first = *next;
            *next += tier.seats.len();
            Some(first)
        })
        .collect();
    let mut deciders = Vec::new();
    for (index, tier) in system.tiers.iter().enumerate() {
        for (number, seat) in tier.seats.iter().enumerate() {
            let next = |target: &Target| match *target {
                Target::Host(host) => Next::Server(host as u32),
                Target::Seat { tier, seat } => Next::Decider((offsets[tier] + seat) as u32),
            };
            // The streams of a system's first decider are those of its only one.
            let stream = if index + number == 0 { String::new() } else { format!("{} {} ", tier.name, number + 1) };
            let signals = signals(tier, &system.regions, browses);
            deciders.push(Decider {
                face: tier.face,
                affinity: tier.affinity,
                balancer: Balancer::of(tier, names(system, seat), signals, catalogue, seed, &stream)?,
                targets: seat.targets.iter().map(next).collect(),
                site: seat.site,
                region: system.region_of(seat.site),
                host: seat.host.map(|host| host as u32),
                poll_cost: tier.poll_cost,
                ttl: tier.ttl,
                ttl_rule: tier.ttl_rule,
                is_down: false,
            });
        }
    }
    Ok(deciders)
}

/// The names of a seat's targets.
pub(super) fn names<'a>(system: &'a System, seat: &'a Seat) -> impl Iterator<Item = String> + 'a {
    seat.targets.iter().map(|target| match *target {
        Target::Host(host) => system.hosts[host].name.clone(),
        Target::Seat { tier, seat } => format!("{} {}", system.tiers[tier].name, seat + 1),
    })
}
