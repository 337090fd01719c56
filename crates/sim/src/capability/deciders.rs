//! Deciders of any face: what they forward to, what they are told and what they cost.

use sojourn_dispatch::{Catalogue, Signals};
use sojourn_model::system::{Face, Reports, Target, Tier};
use sojourn_stats::Span;

use super::Has::{Instead, No, Yes};
use super::Users::{Any, Request};
use super::{Combination, Row, is_on_servers, targets};

pub(super) const ROWS: &[Row] = &[
    Row {
        face: None,
        users: Request,
        what: "pools by host and path",
        sim: No,
        live: No,
        is_in: |of| of.any_tier(|tier| !tier.pools.is_empty()),
    },
    Row {
        face: Some(Face::Redirect),
        users: Request,
        what: "redirect behind a gateway or a switch",
        sim: Instead("put a DNS in front"),
        live: Yes,
        is_in: |of| {
            let forwards = |tier: &Tier| matches!(tier.face, Face::Gateway | Face::Switch);
            of.any_tier(|tier| forwards(tier) && has_redirects(tier, of))
        },
    },
    Row {
        face: Some(Face::Redirect),
        users: Request,
        what: "polls of a redirect, which does not know how many requests it has",
        sim: Instead("leave `information` out"),
        live: Yes,
        is_in: |of| of.any_tier(|tier| tier.polled.is_some() && has_redirects(tier, of)),
    },
    Row {
        face: None,
        users: Request,
        what: "overflow of a face that is no switch",
        sim: No,
        live: No,
        is_in: |of| of.any_tier(|tier| tier.face != Face::Switch && tier.overflow.is_some()),
    },
    Row {
        face: None,
        users: Any,
        what: "reports but those to a packet switch, a DNS or nodes that redirect",
        sim: Yes,
        live: No,
        is_in: |of| {
            let hears = |tier: &Tier| matches!(tier.face, Face::Switch | Face::Dns) || is_on_servers(tier);
            of.any_tier(|tier| tier.reports.is_some() && !hears(tier))
        },
    },
    Row {
        face: None,
        users: Any,
        what: "reports with a `cost`, or that are `lossy`, where they cost what they cost and no packet is lost",
        sim: Yes,
        live: Instead("leave `cost` and `lossy` out"),
        is_in: |of| {
            let is_set = |reports: Reports| reports.cost > Span::ZERO || reports.lossy;
            of.any_tier(|tier| tier.reports.is_some_and(is_set))
        },
    },
    Row {
        face: None,
        users: Any,
        what: "probes but those that a DNS orders",
        sim: Yes,
        live: No,
        is_in: |of| of.any_tier(|tier| tier.probes.is_some() && tier.face != Face::Dns),
    },
    Row {
        face: None,
        users: Any,
        what: "work of gateways and polls but what they really cost",
        sim: Yes,
        live: Instead("leave out `balancer` and `poll_cost`"),
        is_in: |of| {
            of.any_tier(|tier| {
                let costs = &tier.balancing;
                costs.per_packet + costs.per_connection + tier.poll_cost > Span::ZERO || costs.cores.is_some()
            })
        },
    },
    Row {
        face: None,
        users: Any,
        what: "`told`, which names what only a simulator can tell",
        sim: Yes,
        live: Instead("leave it out"),
        is_in: |of| of.any_tier(|tier| !tier.told.is_empty()),
    },
    Row {
        face: None,
        users: Any,
        what: "twin of a program whose files' names a policy reads",
        sim: Yes,
        live: No,
        is_in: |of| {
            let reads_paths = |tier: &Tier| {
                Catalogue::default().build(&tier.policy).is_ok_and(|policy| policy.requires().contains(Signals::PATH))
            };
            of.live.is_program && of.live.is_modelled && of.any_tier(reads_paths)
        },
    },
];

fn has_redirects(tier: &Tier, of: &Combination<'_>) -> bool {
    let tiers = &of.system.tiers;
    targets(tier).any(|target| matches!(target, Target::Seat { tier, .. } if tiers[tier].face == Face::Redirect))
}
