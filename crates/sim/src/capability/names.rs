//! A DNS in front of a system. Live, either the load generator deals out its addresses in turn, or it is a process that is
//! asked (`sojourn dns`), where all that it names are packet switches on paths.

use sojourn_model::system::{Face, Resolves, Target, Tier};
use sojourn_stats::Span;

use super::Has::{Instead, No, Yes};
use super::Users::Any;
use super::{Combination, Row, row, targets};

/// The most sites that an answer of `sojourn dns` names.
const ANSWERS_MOST: usize = 8;

pub(super) const ROWS: &[Row] = &[
    row(
        Some(Face::Dns),
        Any,
        "DNS but rotation, and `sojourn dns` over packet switches on paths",
        Yes,
        Instead("use policy = \"round-robin\" with equal weights"),
        |of| dns(of).is_some_and(|dns| !can_be_served(dns, of) && !rotates(dns)),
    ),
    row(Some(Face::Dns), Any, "resolvers", Yes, No, |of| !of.system.resolvers.is_empty()),
    row(
        Some(Face::Dns),
        Any,
        "clients that keep an address for less than the whole run",
        Yes,
        Instead("give a longer ttl, or resolves = \"request\""),
        |of| dns(of).is_some_and(|dns| !can_be_served(dns, of) && !is_kept(dns, of)),
    ),
    row(Some(Face::Dns), Any, "reports and probes but those of a DNS over packet switches on paths", Yes, No, |of| {
        dns(of).is_some_and(|dns| !can_be_served(dns, of) && hears(dns))
    }),
    row(Some(Face::Dns), Any, "several DNS servers", Yes, No, |of| {
        served(of, |dns| dns.seats.len() > 1 || dns.dispatchers > 1)
    }),
    row(Some(Face::Dns), Any, "DNS that polls", Yes, No, |of| served(of, |dns| dns.polled.is_some())),
    row(Some(Face::Dns), Any, "limit of a DNS", Yes, No, |of| served(of, |dns| dns.limit.is_some())),
    row(
        Some(Face::Dns),
        Any,
        "TTL but of whole seconds (RFC 1035)",
        Yes,
        Instead("write e.g. `ttl = \"60 s\"`"),
        |of| {
            let is_zero = |dns: &Tier| dns.ttl == Span::ZERO && of.system.rules.resolves == Resolves::Ttl;
            served(of, |dns| !dns.ttl.0.is_multiple_of(1_000_000_000) || is_zero(dns))
        },
    ),
    row(
        Some(Face::Dns),
        Any,
        "fail-over of clients among more than the 8 sites that an answer of a DNS names",
        Yes,
        Instead("leave out `fails_over`"),
        |of| of.system.rules.fails_over && served(of, |dns| dns.seats[0].targets.len() > ANSWERS_MOST),
    ),
    row(Some(Face::Dns), Any, "hidden load of resolvers (`hidden_load`)", Yes, No, |of| {
        served(of, |dns| dns.reports.is_some_and(|reports| reports.hidden_load))
    }),
];

/// Whether the DNS in front of a system is a process that clients ask live; else, where there is one, addresses are dealt.
pub fn is_served(of: &Combination<'_>) -> bool {
    dns(of).is_some_and(|dns| can_be_served(dns, of) && (hears(dns) || !rotates(dns) || !is_kept(dns, of)))
}

fn served(of: &Combination<'_>, is_so: impl Fn(&Tier) -> bool) -> bool {
    is_served(of) && dns(of).is_some_and(is_so)
}

fn dns<'a>(of: &Combination<'a>) -> Option<&'a Tier> {
    of.system.tiers.first().filter(|tier| tier.face == Face::Dns)
}

fn hears(dns: &Tier) -> bool {
    dns.reports.is_some() || dns.probes.is_some()
}

/// Whether all that it can answer with are packet switches on Ethernets of a bed, and clients ask it themselves.
fn can_be_served(dns: &Tier, of: &Combination<'_>) -> bool {
    let system = of.system;
    let is_switch =
        |target: Target| matches!(target, Target::Seat { tier, .. } if system.tiers[tier].face == Face::Switch);
    let has_bed = of.live.is_in_bed && !system.paths.is_empty();
    has_bed && system.resolvers.is_empty() && targets(dns).all(is_switch)
}

/// Whether it gives all addresses in turn.
fn rotates(dns: &Tier) -> bool {
    dns.policy.trim() == "round-robin" && dns.weights.windows(2).all(|pair| pair[0] == pair[1])
}

/// Whether clients keep an address for the whole live run, or ask before each request.
fn is_kept(dns: &Tier, of: &Combination<'_>) -> bool {
    match of.system.rules.resolves {
        Resolves::EachRequest => true,
        Resolves::Ttl => dns.ttl >= of.live.duration,
        Resolves::Every(span) => span >= of.live.duration,
    }
}
