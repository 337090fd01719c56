//! Path hash: a path always goes to the same backend, as long as that one is eligible, so that each backend's cache
//! holds a part of the site and not all of it.
//!
//! Consistent hashing (Karger et al., Consistent hashing and random trees, STOC 1997): every backend stands at many
//! points of a ring, at hashes of its name; a path belongs to the first point at or after its own hash. When a backend
//! goes, only its own keys move, and to many backends; when one joins, keys move only to it. The points of a backend
//! depend on its own name and weight and on nothing else, since whatever were scaled by the others' weights would move
//! when they do. A choice is a binary search; the price against rendezvous hashing (`address-hash`) is 16 bytes per
//! point, a sort whenever membership changes, and shares that only tend to the weights: the relative standard deviation
//! of a share is about 1 / sqrt(points x weight), a tenth with the default, and popular paths add theirs.
//!
//! Parameter: `points`, default 100, of a backend of weight 1. One of weight w has `points` x w, rounded; a weight that
//! makes less than one point or more than 65 536 is refused, and weight 0 is never chosen. Reads the key of the path,
//! names and weights; counts nothing, and does not look at load: one path that is asked for more often than a backend can
//! serve overloads it. The hash is pinned: every dispatcher, in every later version, agrees where a path belongs. A retry
//! goes to the next point of a backend not yet tried, which is where the path belongs if those tried leave.

use std::ops::RangeInclusive;

use sojourn_stats::Stream;

use super::Entry;
use super::address_hash::scramble;
use crate::{Ask, BackendId, Code, Decision, DispatchError, Explanation, Policy, Reason, Signals, Table, key};

pub(super) const ENTRY: Entry = Entry {
    name: "path-hash",
    summary: "by the hash of the path (a ring with many points per server)",
    build: |params| match params.text("points").unwrap_or("100").parse() {
        Ok(points) if (1..=MOST_POINTS).contains(&points) => Ok(Box::new(PathHash::new(points))),
        _ => Err(DispatchError::Policy(format!(
            "policy `path-hash`: points is a whole number from 1 to {MOST_POINTS}, as in `points = 100`"
        ))),
    },
};

/// Of one backend.
const MOST_POINTS: u32 = 1 << 16;

/// See the module.
#[derive(Clone, Debug)]
pub struct PathHash {
    points: u32,
    /// Those of all backends that are up, in ascending order.
    ring: Vec<(u64, BackendId)>,
    membership: u64,
}

impl Policy for PathHash {
    fn requires(&self) -> Signals {
        Signals::PATH
    }

    /// Those that make at least one point, and no more than can be kept.
    fn weights(&self) -> RangeInclusive<f64> {
        let points = f64::from(self.points);
        1.0 / points..=f64::from(MOST_POINTS) / points
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        if self.membership != ask.table.membership() {
            self.membership = ask.table.membership();
            self.rebuild(ask.table);
        }
        let place = scramble(ask.request.key);
        let (before, after) = self.ring.split_at(self.ring.partition_point(|&(point, _)| point < place));
        let mut clockwise = after.iter().chain(before);
        clockwise.find(|(_, id)| ask.may_choose(*id)).map_or_else(Decision::refuse, |&(_, id)| {
            Decision::forward(id, Reason { code: Code::PathHash, ties: 1, value: 0.0 })
        })
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let place = scramble(ask.request.key);
        Explanation::of(ask.candidates(), |id| {
            let nearest = self.points_of(ask.table, id).map(|point| point.wrapping_sub(place)).min();
            let turns = nearest.map_or(f64::INFINITY, |distance| distance as f64 / 2_f64.powi(64));
            vec![("points".into(), f64::from(self.count(ask.table, id))), ("distance".into(), turns)]
        })
    }
}

impl PathHash {
    fn new(points: u32) -> PathHash {
        PathHash { points, ring: Vec::new(), membership: 0 }
    }

    fn rebuild(&mut self, table: &Table) {
        let mut ring = std::mem::take(&mut self.ring);
        ring.clear();
        for &id in table.up() {
            ring.extend(self.points_of(table, id).map(|point| (point, id)));
        }
        ring.sort_unstable();
        self.ring = ring;
    }

    /// How many points `id` has.
    fn count(&self, table: &Table, id: BackendId) -> u32 {
        (f64::from(self.points) * table.weight(id)).round() as u32
    }

    /// Where `id` stands: SplitMix64's sequence from the hash of its name, so that a further point moves no other.
    fn points_of(&self, table: &Table, id: BackendId) -> impl Iterator<Item = u64> + use<> {
        let start = scramble(key(table.name(id)));
        (1..=u64::from(self.count(table, id))).map(move |n| scramble(start.wrapping_add(n.wrapping_mul(GOLDEN))))
    }
}

/// The step of SplitMix64: 2^64 over the golden ratio, odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
