//! The limit of a tier's targets, and what becomes of requests beyond it, as `limit` and `overflow` write them.
//!
//! A limit is a count of what one decider has sent on and not heard the end of. So it needs a face that hears of ends, and one
//! decider in front of each target: two with a limit of 20 each would send 40.

use serde::Deserialize;
use sojourn_model::system::{Face, Limit, Overflow, Seat, Site, Tier};
use toml::Spanned;

use super::{Reader, SpecError, Text};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimit {
    connections: Spanned<u32>,
    #[serde(rename = "return")]
    returns: Option<Spanned<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOverflow {
    sites: Option<Spanned<Vec<Text>>>,
    limit: Option<Spanned<RawLimit>>,
}

impl Reader<'_> {
    /// Gives a tier its limit and its overflow, and its seats the other sites that they pass requests on to.
    pub(super) fn limits(
        &self,
        (limit, overflow): (Option<&Spanned<RawLimit>>, Option<&Spanned<RawOverflow>>),
        tier: &mut Tier,
        sites: &[Site],
    ) -> Result<(), SpecError> {
        if let Some(limit) = limit {
            self.check_limit(limit, tier)?;
            tier.limit = Some(self.limit(limit.get_ref())?);
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
        let limit = overflow.get_ref().limit.as_ref().map(|limit| self.limit(limit.get_ref())).transpose()?;
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

    fn limit(&self, raw: &RawLimit) -> Result<Limit, SpecError> {
        let most = *raw.connections.get_ref();
        let usual = sojourn_dispatch::Limit::usual_return(most);
        let returns = raw.returns.as_ref().map_or(usual, |returns| *returns.get_ref());
        let checked = sojourn_dispatch::Limit::new(most, returns);
        let place = raw.returns.as_ref().filter(|_| most > 0).unwrap_or(&raw.connections);
        checked.map_err(|e| self.at(place, "limit", &e.to_string()))?;
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
