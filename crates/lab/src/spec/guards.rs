//! What guards the targets of a tier, as `ejection`, `queue`, `breakers`, `concurrency` and `slow_start` write it: the words are
//! those of the settings of `sojourn gateway`.

use std::ops::Range;

use sojourn_dispatch::{DispatchError, Front, FrontSettings, Guards, Signals};
use sojourn_model::system::{Face, Tier, server_name};
use toml::Spanned;

use super::tier::RawTier;
use super::{Reader, SpecError};

/// The keys of guards, and where each is written.
type Places = [(&'static str, Option<Range<usize>>); 5];

/// Where a key is written.
fn span<T>(written: &Option<Spanned<T>>) -> Option<Range<usize>> {
    written.as_ref().map(Spanned::span)
}

fn value<T: Clone>(written: &Option<Spanned<T>>) -> Option<T> {
    written.as_ref().map(|written| written.get_ref().clone())
}

impl RawTier {
    /// The guards that are written, and where.
    pub(super) fn guards(&self) -> (Guards, Places) {
        let RawTier { ejection, queue, breakers, concurrency, slow_start, .. } = self;
        let guards = Guards {
            ejection: value(ejection),
            queue: value(queue),
            breakers: value(breakers),
            concurrency: value(concurrency),
            slow_start: value(slow_start),
        };
        let places = [
            ("ejection", span(ejection)),
            ("queue", span(queue)),
            ("breakers", span(breakers)),
            ("concurrency", span(concurrency)),
            ("slow_start", span(slow_start)),
        ];
        (guards, places)
    }
}

impl Reader<'_> {
    /// Gives a tier its guards; its limit is known.
    pub(super) fn guard(&self, raw: &RawTier, tier: &mut Tier) -> Result<(), SpecError> {
        let (guards, places) = raw.guards();
        if guards.are_none() {
            return Ok(());
        }
        let wrong = |key: &'static str, right: &str| {
            let place = places.iter().find(|(known, _)| *known == key).and_then(|(_, place)| place.clone());
            Err(self.error(place.map_or(0, |place| place.start), key, right))
        };
        let first = places.iter().find(|(_, place)| place.is_some()).map_or("ejection", |(key, _)| *key);
        if self.browses {
            return wrong(first, "users who browse have none so far: use an open or closed workload");
        }
        if tier.face != Face::Gateway {
            return wrong(first, "only a gateway sees how replies end; leave it out");
        }
        if raw.program.is_some() {
            return wrong(
                first,
                "our own gateway has this, not the product that `program` names: leave one of the two out",
            );
        }
        for (key, _) in
            places.iter().filter(|(key, place)| place.is_some() && !matches!(*key, "ejection" | "slow_start"))
        {
            if tier.dispatchers > 1 {
                return wrong(key, "each of several dispatchers counts its own requests: use 1, or leave it out");
            }
        }
        if let Err((key, what)) = guards.check(tier.limit.is_some()) {
            return wrong(key, &what);
        }
        let targets: Vec<_> = tier.weights.iter().enumerate().map(|(at, weight)| (server_name(at), *weight)).collect();
        let limit = tier.limit.and_then(|limit| sojourn_dispatch::Limit::new(limit.connections, limit.returns).ok());
        let settings = FrontSettings { limit, ..FrontSettings::new(&*tier.policy) }.guarded(guards.clone());
        let made = Front::new(&settings, &targets, self.catalogue, Signals::all(), "");
        if let Err(DispatchError::Settings(what)) = made.map(drop) {
            return wrong("slow_start", what.strip_prefix("slow_start: ").unwrap_or(&what));
        }
        tier.waits |= guards.queue.is_some();
        tier.guards = guards;
        Ok(())
    }
}
