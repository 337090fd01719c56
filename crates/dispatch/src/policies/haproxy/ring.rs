//! HAProxy's ring: 16 points of a server for each unit of its weight, and the nearest one either side.
//!
//! `src/lb_chash.c`: `chash_queue_dequeue_srv` puts the points, `chash_get_server_hash` finds the nearest, a tie going
//! to the one before. A server that is to be avoided is passed over towards higher numbers. The points hang on the
//! place of a server in its backend, which here is its number, and on nothing else.

use crate::{BackendId, Table};

/// Points of a unit of weight (`BE_WEIGHT_SCALE`).
const POINTS: f64 = 16.0;
/// What the number of a server is multiplied with (`SRV_EWGHT_RANGE`).
const RANGE: u32 = 256 * 16;

#[derive(Debug, Default)]
pub(super) struct Ring {
    /// In ascending order; apart from whose they are, so that a search reads little.
    points: Vec<u32>,
    owners: Vec<BackendId>,
    membership: u64,
}

impl Ring {
    /// Puts the points of all that are up, unless they stand already.
    #[inline]
    pub(super) fn refresh(&mut self, table: &Table) {
        if self.membership != table.membership() {
            self.membership = table.membership();
            self.lay_out(table);
        }
    }

    /// Puts the points of all that are up.
    #[cold]
    pub(super) fn lay_out(&mut self, table: &Table) {
        let mut ring: Vec<(u32, BackendId)> = Vec::new();
        for &id in table.up() {
            let key = (id.0 + 1).wrapping_mul(RANGE);
            let count = (POINTS * table.weight(id)) as u32;
            ring.extend((0..count).map(|number| (full_hash(key.wrapping_add(number)), id)));
        }
        // Stable: points at one place stay in the order in which they were put there.
        ring.sort_by_key(|(point, _)| *point);
        (self.points, self.owners) = ring.into_iter().unzip();
    }

    /// The server of the point that is nearest to `hash`, or else of the first one after it that is not avoided.
    #[inline]
    pub(super) fn nearest(&self, hash: u32, mut is_avoided: impl FnMut(BackendId) -> bool) -> Option<BackendId> {
        let count = self.points.len();
        if count == 0 {
            return None;
        }
        let after = self.points.partition_point(|point| *point < hash);
        let after = if after == count { 0 } else { after };
        let before = if after == 0 { count - 1 } else { after - 1 };
        let is_before = hash.wrapping_sub(self.points[before]) <= self.points[after].wrapping_sub(hash);
        let place = if is_before { before } else { after };
        if !is_avoided(self.owners[place]) {
            return Some(self.owners[place]);
        }
        let (head, tail) = self.owners.split_at(place);
        tail.iter().chain(head).copied().find(|id| !is_avoided(*id))
    }

    /// The part of all numbers that falls to each of `backends`.
    pub(super) fn shares(&self, backends: usize) -> Vec<f64> {
        let mut shares = vec![0.0; backends];
        self.owners.iter().zip(0..).for_each(|(owner, place)| shares[owner.0 as usize] += self.part(place));
        shares
    }

    /// The part of all numbers that falls to `id`.
    pub(super) fn share(&self, id: BackendId) -> f64 {
        let own = (0..self.points.len()).filter(|place| self.owners[*place] == id);
        own.map(|place| self.part(place)).sum()
    }

    /// The part of all numbers that falls to a point: half of the way to either neighbour.
    fn part(&self, place: usize) -> f64 {
        let count = self.points.len();
        let all = 2_f64.powi(32);
        let width = |from: usize, to: usize| match count {
            1 => all,
            _ => f64::from(self.points[to].wrapping_sub(self.points[from])),
        };
        let (before, after) = ((place + count - 1) % count, (place + 1) % count);
        (width(before, place) + width(place, after)) / 2.0 / all
    }
}

/// One of Jenkins's hashes of whole numbers, and a multiplication that spreads it (`include/haproxy/intops.h`:
/// `__full_hash`).
pub(super) fn full_hash(number: u32) -> u32 {
    let mut a = number;
    a = a.wrapping_add(0x7ed5_5d16).wrapping_add(a << 12);
    a = (a ^ 0xc761_c23c) ^ (a >> 19);
    a = a.wrapping_add(0x1656_67b1).wrapping_add(a << 5);
    a = a.wrapping_add(0xd3a2_646c) ^ (a << 9);
    a = a.wrapping_add(0xfd70_46c5).wrapping_add(a << 3);
    a = (a ^ 0xb55a_4f09) ^ (a >> 16);
    a.wrapping_mul(3_221_225_473)
}
