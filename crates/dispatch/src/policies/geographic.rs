//! Geographic: a backend in the client's region if there is one, and of those the nearest by great-circle distance; ties
//! are drawn. No look at load.
//!
//! This is what DNS servers do with a GeoIP table: the region is what the operator says of countries and continents, and
//! distances are of the coordinates that the table has. A backend without coordinates is farther than any that has them;
//! where the client's place is not known, all are equally far. No parameters. Reads where clients and backends are; counts
//! nothing. A choice is a look at every backend: the price of exact distances, and sites are few.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, BackendId, Code, Decision, Explanation, Policy, Reason, Signals, Table};

pub(super) const ENTRY: Entry = Entry {
    name: "geographic",
    summary: "in the client's region, and there the nearest by great-circle distance",
    build: |_| Ok(Box::new(Geographic::default())),
};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Geographic {
    /// The direction of each backend from the centre of the Earth, where it is known.
    directions: Vec<Option<[f64; 3]>>,
    membership: u64,
    /// The best of the present request; kept so that a choice allocates nothing.
    best: Vec<BackendId>,
}

impl Policy for Geographic {
    fn requires(&self) -> Signals {
        Signals::ORIGIN
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        self.update(ask.table);
        let (table, origin) = (ask.table, ask.request.origin);
        let is_home = |id: &BackendId| origin.region.is_some() && table.origin(*id).region == origin.region;
        let has_home = ask.candidates().any(|id| is_home(&id));
        let here = origin.location.map(|location| location.direction());
        let mut nearest = f64::NEG_INFINITY;
        self.best.clear();
        for id in ask.candidates().filter(|id| !has_home || is_home(id)) {
            // The cosine of the angle between the two: 1 at the same place, -1 on the other side of the Earth.
            let there = self.directions[id.0 as usize];
            let cosine = here.zip(there).map_or(-2.0, |(here, there)| here.iter().zip(there).map(|(a, b)| a * b).sum());
            if cosine > nearest {
                nearest = cosine;
                self.best.clear();
            }
            if cosine == nearest {
                self.best.push(id);
            }
        }
        if self.best.is_empty() {
            return Decision::refuse();
        }
        let ties = self.best.len();
        let id = self.best[if ties > 1 { draw.below(ties) } else { 0 }];
        let km = distance_km(ask, id);
        let (code, value) = match (km, has_home) {
            (Some(km), _) => (Code::LeastKilometres, km),
            (None, true) => (Code::SameRegion, 0.0),
            (None, false) => (Code::Drawn, 0.0),
        };
        Decision::forward(id, Reason { code, ties: ties as u32, value })
    }

    fn answer(&self, ask: &Ask<'_>, _: BackendId, list: &mut Vec<BackendId>) {
        let is_away = |id| ask.table.origin(id).region != ask.request.origin.region;
        let key = |id: &BackendId| (is_away(*id), distance_km(ask, *id).map_or(i64::MAX, |km| (km * 1e3) as i64), *id);
        let mut others: Vec<BackendId> = ask.candidates().filter(|id| !list.contains(id)).collect();
        others.sort_unstable_by_key(key);
        list.extend(others);
    }

    /// Whether each candidate is in the client's region, and how far it is.
    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let region = ask.request.origin.region;
        Explanation::of(ask.candidates(), |id| {
            let is_home = region.is_some() && ask.table.origin(id).region == region;
            let km = distance_km(ask, id).map(|km| ("distance_km".into(), km));
            [("same_region".into(), f64::from(u8::from(is_home)))].into_iter().chain(km).collect()
        })
    }
}

impl Geographic {
    /// Learns where the backends are, if that has changed.
    fn update(&mut self, table: &Table) {
        if self.membership != table.membership() {
            self.membership = table.membership();
            let direction = |id| table.origin(BackendId(id)).location.map(|location| location.direction());
            self.directions = (0..table.len() as u32).map(direction).collect();
        }
    }
}

fn distance_km(ask: &Ask<'_>, id: BackendId) -> Option<f64> {
    let (here, there) = ask.request.origin.location.zip(ask.table.origin(id).location)?;
    Some(here.distance_km(there))
}
