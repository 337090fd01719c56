//! RING_HASH: the first point of a ring at or after the hash of the path.
//!
//! `source/extensions/load_balancing_policies/ring_hash/ring_hash_lb.cc`: the points of a host are xxHash64 of its
//! address, `_` and a number, so that hosts named as Envoy writes them (`10.0.0.1:8080`) stand where Envoy puts them.
//! The least weight gets a whole number of points, of `minimum` in all at least, and the others their share. A retry
//! goes to the next point.
//!
//! Envoy hashes what its route says, a header for one, by xxHash64. No face tells letters: here the key of the path is
//! spread, so that which path goes where is not Envoy's. With `key = hash` the key is taken as the hash.

use std::ops::RangeInclusive;

use sojourn_stats::Stream;
use twox_hash::XxHash64;

use super::WEIGHTS;
use crate::policies::address_hash::scramble;
use crate::policies::hashed::Layout;
use crate::{Ask, BackendId, Code, Decision, Explanation, Reason, Signals, Table};

/// See the module.
#[derive(Debug)]
pub(super) struct RingHash {
    least: u64,
    most: u64,
    is_hashed: bool,
    ring: Vec<(u64, BackendId)>,
}

impl RingHash {
    pub(super) fn new(least: u64, most: u64, is_hashed: bool) -> RingHash {
        RingHash { least, most, is_hashed, ring: Vec::new() }
    }
}

impl Layout for RingHash {
    const WEIGHTS: RangeInclusive<f64> = WEIGHTS;

    fn hashes(&self) -> Signals {
        Signals::PATH
    }

    fn lay_out(&mut self, table: &Table) {
        self.ring.clear();
        let weights: Vec<(BackendId, f64)> = table.up().iter().map(|id| (*id, table.weight(*id))).collect();
        let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let shares = || weights.iter().filter(|(_, weight)| *weight > 0.0).map(|(id, weight)| (*id, weight / sum));
        let smallest = shares().map(|(_, share)| share).fold(1.0, f64::min);
        let scale = ((smallest * self.least as f64).ceil() / smallest).min(self.most as f64);
        let (mut count, mut target) = (0.0, 0.0);
        for (id, share) in shares() {
            target += scale * share;
            let mut number = 0_u64;
            while count < target {
                let point = XxHash64::oneshot(0, format!("{}_{number}", table.name(id)).as_bytes());
                self.ring.push((point, id));
                (number, count) = (number + 1, count + 1.0);
            }
        }
        self.ring.sort_by_key(|(point, _)| *point);
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        let hash = if self.is_hashed { ask.request.key } else { scramble(ask.request.key) };
        let (before, after) = self.ring.split_at(self.ring.partition_point(|(point, _)| *point < hash));
        let found = after.iter().chain(before).map(|(_, id)| *id).find(|id| ask.may_choose(*id));
        Decision::forward_or_refuse(found.map(|id| (id, Reason { code: Code::PathHash, ties: 1, value: 0.0 })))
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| {
            let count = self.ring.iter().filter(|(_, owner)| *owner == id).count();
            vec![("points".into(), count as f64)]
        })
    }
}
