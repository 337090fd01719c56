//! The deciders of a system's tiers, whatever the fabric is that asks them.

use sojourn_dispatch::{BackendId, Catalogue, TtlRule};
use sojourn_model::System;
use sojourn_model::system::{self as model, Affinity, Face, Seat, Target, Tier};
use sojourn_stats::Span;

use crate::balancer::{Balancer, client_key, signals};
use crate::control::SimError;

/// How a site chooses among those with room.
const OVERFLOW: &str = "least-connections";

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
    /// The number of that one among its targets.
    pub(super) here: Option<u32>,
    /// Work that a poll is to the server polled.
    pub(super) poll_cost: Span,
    /// Of a DNS: how long its answers may be kept, and what that depends on.
    pub(super) ttl: Span,
    pub(super) ttl_rule: TtlRule,
    /// The decider that stands for it where none of its targets can take a request; its targets are at other sites.
    pub(super) overflow: Option<u32>,
}

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Server(u32),
    Decider(u32),
}

impl Decider {
    /// How long `client` may keep the answer `target`.
    pub(super) fn ttl(&self, client: u32, target: u32) -> Span {
        let (table, clients) = (self.balancer.table(), self.balancer.clients());
        self.ttl_rule.ttl(self.ttl, client_key(client), BackendId(target), table, clients)
    }
}

/// The rule, as deciders know it.
fn rule(of: model::TtlRule) -> TtlRule {
    match of {
        model::TtlRule::Constant => TtlRule::Constant,
        model::TtlRule::Variable => TtlRule::Variable,
        model::TtlRule::Adaptive => TtlRule::Adaptive,
    }
}

/// All seats of all tiers of `system`, tier by tier; the first is where requests come in. Behind them those that stand for
/// seats that overflow. `browses`: for users who browse.
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
                here: place_of_its_host(seat),
                poll_cost: tier.poll_cost,
                ttl: tier.ttl,
                ttl_rule: rule(tier.ttl_rule),
                overflow: None,
            });
        }
    }
    for (number, (tier, index, seat)) in overflowing(system).enumerate() {
        let stands_for = offsets[index] + seat;
        let peers = &system.tiers[index].seats[seat].overflow;
        let name = |peer: &usize| format!("{} {}", tier.name, peer + 1);
        let passes_on =
            Tier { limit: tier.overflow.and_then(|overflow| overflow.limit), ..Tier::new(tier.face, OVERFLOW) };
        let stream = format!("{} {} overflow ", tier.name, seat + 1);
        let signals = signals(&passes_on, &[], browses);
        let (site, region, host) = (deciders[stands_for].site, deciders[stands_for].region, deciders[stands_for].host);
        deciders[stands_for].overflow =
            Some((system.tiers.iter().map(|tier| tier.seats.len()).sum::<usize>() + number) as u32);
        deciders.push(Decider {
            face: tier.face,
            affinity: tier.affinity,
            balancer: Balancer::of(&passes_on, peers.iter().map(name), signals, catalogue, seed, &stream)?,
            targets: peers.iter().map(|peer| Next::Decider((offsets[index] + peer) as u32)).collect(),
            site,
            region,
            host,
            here: None,
            poll_cost: Span::ZERO,
            ttl: Span::ZERO,
            ttl_rule: TtlRule::Constant,
            overflow: None,
        });
    }
    Ok(deciders)
}

/// The seats that overflow, tier by tier: each with its tier, and the numbers of both.
pub(super) fn overflowing(system: &System) -> impl Iterator<Item = (&Tier, usize, usize)> {
    system.tiers.iter().enumerate().flat_map(|(index, tier)| {
        let seats = tier.seats.iter().enumerate().filter(|(_, seat)| !seat.overflow.is_empty());
        seats.map(move |(seat, _)| (tier, index, seat))
    })
}

/// The number of the server that a seat is on, among its targets.
fn place_of_its_host(seat: &Seat) -> Option<u32> {
    let place = seat.targets.iter().position(|target| seat.host.is_some_and(|host| *target == Target::Host(host)));
    place.map(|place| place as u32)
}

/// The names of a seat's targets.
pub(super) fn names<'a>(system: &'a System, seat: &'a Seat) -> impl Iterator<Item = String> + 'a {
    seat.targets.iter().map(|target| match *target {
        Target::Host(host) => system.hosts[host].name.clone(),
        Target::Seat { tier, seat } => format!("{} {}", system.tiers[tier].name, seat + 1),
    })
}
