//! The limit of a tier's targets, and what becomes of requests beyond it, as `limit` and `overflow` write them.
//!
//! A limit is a count of what one decider has sent on and not heard the end of. So it needs a face that hears of ends, and one
//! decider in front of each target: two with a limit of 20 each would send 40.

use serde::Deserialize;
use sojourn_model::system::{Face, Limit, Overflow, Seat, Site, Tier};
use sojourn_products::{Decider, Product};
use toml::Spanned;

use super::{Reader, SpecError, Text, unknown};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimit {
    connections: Spanned<Connections>,
    #[serde(rename = "return")]
    returns: Option<Spanned<u32>>,
    /// What becomes of a request that finds all targets full.
    full: Option<Text>,
}

/// One limit for all targets, or one for each.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a number of connections, or a list with one per target (0: no limit); it is not negative"
)]
enum Connections {
    Alike(u32),
    Each(Vec<u32>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOverflow {
    sites: Option<Spanned<Vec<Text>>>,
    limit: Option<Spanned<RawLimit>>,
}

/// Whether a policy is a rule of HAProxy that does not look for another server where one is full.
fn of_a_hash(policy: &str) -> bool {
    let decider = Decider::of_policy(policy).filter(|decider| decider.product == Product::Haproxy);
    decider.is_some_and(|decider| matches!(decider.rule.as_str(), "source" | "uri"))
}

impl Reader<'_> {
    /// Gives a tier its limit and its overflow, and its seats the other sites that they pass requests on to.
    pub(super) fn limits(
        &self,
        (limit, overflow): (Option<&Spanned<RawLimit>>, Option<&Spanned<RawOverflow>>),
        has_queue: bool,
        tier: &mut Tier,
        sites: &[Site],
    ) -> Result<(), SpecError> {
        if let Some(limit) = limit {
            self.check_limit(limit, tier)?;
            if let Some(full) = limit.get_ref().full.as_ref().filter(|full| has_queue && full.get_ref() == "refused") {
                return Err(self.at(
                    full,
                    "full",
                    "this tier has a `queue`, in which requests wait: leave one of the two out",
                ));
            }
            tier.waits = self.waits(limit.get_ref(), tier)? || has_queue;
            self.limit_of_tier(limit.get_ref(), tier)?;
        }
        let Some(overflow) = overflow else { return Ok(()) };
        if tier.face != Face::Switch {
            let right = "a tier of face `switch` passes on what its servers cannot take; leave it out";
            return Err(self.at(overflow, "overflow", right));
        }
        if tier.limit.is_none() {
            let right = "it begins where servers are full: add `limit = { connections = 20 }`";
            return Err(self.at(overflow, "overflow", right));
        }
        let limit = overflow.get_ref().limit.as_ref().map(|limit| self.limit(limit.get_ref(), false)).transpose()?;
        tier.overflow = Some(Overflow { limit });
        self.peers(overflow, &mut tier.seats, sites)
    }

    /// The seats that each seat passes requests on to.
    fn peers(&self, raw: &Spanned<RawOverflow>, seats: &mut [Seat], sites: &[Site]) -> Result<(), SpecError> {
        let known: Vec<&str> = sites.iter().map(|site| site.name.as_str()).collect();
        let written = raw.get_ref().sites.as_ref();
        let named = written.map(|list| self.indices(list, "sites", "site", &known)).transpose()?;
        if let (Some(list), Some(named)) = (written, &named) {
            let is_there = |site: &usize| seats.iter().any(|seat| seat.site == Some(*site));
            if let Some(place) = named.iter().position(|site| !is_there(site)) {
                let text = &list.get_ref()[place];
                let right = format!("this tier is not at `{}`: name sites where it is", text.get_ref());
                return Err(self.at(text, "sites", &right));
            }
        }
        let places: Vec<Option<usize>> = seats.iter().map(|seat| seat.site).collect();
        let takes = |site: Option<usize>| named.as_ref().is_none_or(|named| site.is_some_and(|it| named.contains(&it)));
        for seat in &mut *seats {
            let others = places.iter().enumerate().filter(|(_, place)| **place != seat.site && takes(**place));
            seat.overflow = others.map(|(other, _)| other).collect();
        }
        if seats.iter().all(|seat| seat.overflow.is_empty()) {
            let right = "there is no other site to pass requests on to: name one in `sites`, where this tier is";
            return Err(self.at(raw, "overflow", right));
        }
        Ok(())
    }

    /// Gives a tier its limit, or its targets one each.
    fn limit_of_tier(&self, raw: &RawLimit, tier: &mut Tier) -> Result<(), SpecError> {
        let Connections::Each(each) = raw.connections.get_ref() else {
            tier.limit = Some(self.limit(raw, tier.waits)?);
            return Ok(());
        };
        let wrong = |right: &str| Err(self.at(&raw.connections, "limit", right));
        let targets = tier.seats.iter().map(|seat| seat.targets.len()).max().unwrap_or(0);
        if each.len() != targets {
            return wrong(&format!("connections: one number per target: {targets}, not {}", each.len()));
        }
        let Some(most) = each.iter().copied().max().filter(|most| *most > 0) else {
            return wrong("connections: 0 is no limit; at least one target has one, or leave it out");
        };
        if let Some(returns) = &raw.returns {
            return Err(self.at(
                returns,
                "return",
                "targets with limits of their own return with one request less: leave it out",
            ));
        }
        tier.limit = Some(Limit { connections: most, returns: most - 1 });
        tier.limits.clone_from(each);
        Ok(())
    }

    /// Whether requests wait while all targets are full.
    fn waits(&self, raw: &RawLimit, tier: &Tier) -> Result<bool, SpecError> {
        let Some(text) = &raw.full else { return Ok(false) };
        match text.get_ref().as_str() {
            "refused" => Ok(false),
            "waits" if of_a_hash(&tier.policy) => Err(self.at(
                text,
                "full",
                "with a rule by a hash HAProxy lets requests wait for the server that the hash names: discipline = \
                 \"limited-ps\", helpers = N",
            )),
            "waits" if tier.face == Face::Gateway => Ok(true),
            "waits" => Err(self.at(text, "full", "packets do not wait at a switch: only a gateway has a queue")),
            other => Err(self.at(
                text,
                "full",
                &unknown("way of a request that finds all full", other, &["refused", "waits"]),
            )),
        }
    }

    /// One limit; where requests wait, a target takes the next one as soon as one has ended.
    fn limit(&self, raw: &RawLimit, waits: bool) -> Result<Limit, SpecError> {
        let Connections::Alike(most) = *raw.connections.get_ref() else {
            return Err(self.at(&raw.connections, "limit", "connections: one number, the same for all"));
        };
        let usual = if waits { most.saturating_sub(1) } else { sojourn_dispatch::Limit::usual_return(most) };
        let returns = raw.returns.as_ref().map_or(usual, |returns| *returns.get_ref());
        let checked = sojourn_dispatch::Limit::new(most, returns);
        let place = raw.returns.as_ref().filter(|_| most > 0).map(Spanned::span).unwrap_or(raw.connections.span());
        checked.map_err(|e| self.error(place.start, "limit", &e.to_string()))?;
        Ok(Limit { connections: most, returns })
    }

    /// Refuses a limit that cannot be kept.
    fn check_limit(&self, limit: &Spanned<RawLimit>, tier: &Tier) -> Result<(), SpecError> {
        let wrong = |right: &str| Err(self.at(limit, "limit", right));
        if self.browses {
            return wrong("users who browse have no limit of servers; use an open or closed workload");
        }
        if !matches!(tier.face, Face::Gateway | Face::Switch) {
            return wrong("only a gateway or a switch hears when what it sent on ends; leave it out");
        }
        if tier.dispatchers > 1 {
            return wrong("each of several dispatchers counts its own requests: use 1, or leave it out");
        }
        let all: Vec<_> = tier.seats.iter().flat_map(|seat| &seat.targets).collect();
        let is_shared = all.iter().enumerate().any(|(place, target)| all[..place].contains(target));
        if is_shared {
            return wrong("several deciders would each count their own requests to a server: use one at each site");
        }
        Ok(())
    }
}
