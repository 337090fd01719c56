//! Deciders of any face: what they forward to, what they are told and what they cost.

use sojourn_dispatch::{Catalogue, Signals};
use sojourn_model::system::{Face, Reports, Target, Tier};
use sojourn_stats::Span;

use super::Has::{self, Instead, No, Yes};
use super::Users::{Any, Request};
use super::{Combination, Row, is_on_servers, row, targets};

/// What to write where targets report the capacity of the servers behind them.
const INSIDE: Has = Instead("give `capacity` to the reports of the tier behind");

pub(super) const ROWS: &[Row] = &[
    row(None, Request, "pools by host and path", No, No, |of| of.any_tier(|tier| !tier.pools.is_empty())),
    row(
        Some(Face::Redirect),
        Request,
        "redirect behind a gateway or a switch",
        Instead("put a DNS in front"),
        Yes,
        |of| {
            let forwards = |tier: &Tier| matches!(tier.face, Face::Gateway | Face::Switch);
            of.any_tier(|tier| forwards(tier) && has_redirects(tier, of))
        },
    ),
    row(
        Some(Face::Redirect),
        Request,
        "polls of a redirect, which does not know how many requests it has",
        Instead("leave `information` out"),
        Yes,
        |of| of.any_tier(|tier| tier.polled.is_some() && has_redirects(tier, of)),
    ),
    row(None, Request, "overflow of a face that is no switch", No, No, |of| {
        of.any_tier(|tier| tier.face != Face::Switch && tier.overflow.is_some())
    }),
    row(
        None,
        Request,
        "limits that differ from target to target, of our own gateway",
        Yes,
        Instead("write `program = \"haproxy\"` where a rule of HAProxy decides"),
        |of| !of.live.has_own_limits && of.any_tier(|tier| !tier.limits.is_empty()),
    ),
    row(None, Any, "reports but those to a packet switch, a DNS or nodes that redirect", Yes, No, |of| {
        let hears = |tier: &Tier| matches!(tier.face, Face::Switch | Face::Dns) || is_on_servers(tier);
        of.any_tier(|tier| tier.reports.is_some() && !hears(tier))
    }),
    row(None, Any, "share of saturation as `capacity` of targets that report their own", INSIDE, INSIDE, |of| {
        of.any_tier(|tier| tier.reports.is_some_and(|reports| reports.capacity_at < 1.0) && adds_up(tier, of))
    }),
    row(
        None,
        Any,
        "reports with a `cost`, or that are `lossy`, where they cost what they cost and no packet is lost",
        Yes,
        Instead("leave out `cost` and `lossy`"),
        |of| {
            let is_set = |reports: Reports| reports.cost > Span::ZERO || reports.lossy;
            of.any_tier(|tier| tier.reports.is_some_and(is_set))
        },
    ),
    row(None, Any, "probes but those that a DNS orders", Yes, No, |of| {
        of.any_tier(|tier| tier.probes.is_some() && tier.face != Face::Dns)
    }),
    row(
        None,
        Any,
        "work of gateways and polls but what they really cost",
        Yes,
        Instead("leave out `balancer` and `poll_cost`"),
        |of| {
            of.any_tier(|tier| {
                let costs = &tier.balancing;
                costs.per_packet + costs.per_connection + tier.poll_cost > Span::ZERO || costs.cores.is_some()
            })
        },
    ),
    row(None, Any, "`told`, which names what only a simulator can tell", Yes, Instead("leave it out"), |of| {
        of.any_tier(|tier| !tier.told.is_empty())
    }),
    row(None, Any, "twin of a program whose files' names a policy reads", Yes, No, |of| {
        let reads_paths = |tier: &Tier| {
            Catalogue::default().build(&tier.policy).is_ok_and(|policy| policy.requires().contains(Signals::PATH))
        };
        of.live.is_program && of.live.is_modelled && of.any_tier(reads_paths)
    }),
];

fn has_redirects(tier: &Tier, of: &Combination<'_>) -> bool {
    let tiers = &of.system.tiers;
    targets(tier).any(|target| matches!(target, Target::Seat { tier, .. } if tiers[tier].face == Face::Redirect))
}

/// Whether all its targets report what those behind them report.
fn adds_up(tier: &Tier, of: &Combination<'_>) -> bool {
    let tiers = &of.system.tiers;
    targets(tier).all(|target| matches!(target, Target::Seat { tier, .. } if tiers[tier].reports.is_some()))
}
