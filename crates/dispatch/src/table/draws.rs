//! Draws among the backends that can be chosen.

use sojourn_stats::Stream;

use super::Table;
use super::key::inverse_share;
use super::said::micro;
use crate::index::Kept;
use crate::{BackendId, Code, Reason};

/// What chances are in proportion to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    pub(crate) by: ShareBy,
    /// Of all that can be chosen.
    pub(crate) total: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ShareBy {
    /// What each has free; one that has not reported counts as so much.
    Free {
        unknown: f64,
    },
    /// The weights of those that have not reported; the others have nothing free.
    WeightOfUnknown,
    Capacity,
    Weight,
}

impl Table {
    /// One of the eligible backends that are not in `tried`, each equally likely.
    #[inline]
    pub fn draw(&self, tried: &[BackendId], stream: &mut Stream) -> Option<(BackendId, Reason)> {
        let drawn =
            |backend, among: usize| Some((backend, Reason { code: Code::Drawn, ties: among as u32, value: 0.0 }));
        if tried.is_empty() {
            let among = self.eligible.len();
            return if among == 0 { None } else { drawn(self.eligible[draw(among, stream)], among) };
        }
        let left = || self.eligible.iter().filter(|id| !tried.contains(id));
        let among = left().count();
        if among == 0 { None } else { drawn(*left().nth(draw(among, stream))?, among) }
    }

    /// One of the eligible backends that are not in `tried`, with chances in proportion to 1 / (load + 1) (to one
    /// part in 2^32 of the largest). O(log n) if the policy asked for [`crate::Index::InverseLoad`] and `tried` is empty.
    #[inline]
    pub fn draw_by_inverse_load(&self, tried: &[BackendId], stream: &mut Stream) -> Option<(BackendId, Reason)> {
        let reason = |among: usize, share: u64, total: u64| Reason {
            code: Code::Drawn,
            ties: among as u32,
            value: share as f64 / total as f64,
        };
        if let (Kept::InverseLoad(sums), true) = (&self.kept, tried.is_empty()) {
            let total = sums.total();
            if total == 0 {
                return None;
            }
            let (member, share) = sums.at(draw(total as usize, stream) as u64);
            return Some((BackendId(member), reason(self.eligible.len(), share, total)));
        }
        let shares = || {
            let left = self.eligible.iter().filter(|id| !tried.contains(id));
            left.map(|&id| (id, inverse_share(self.load(id))))
        };
        let total: u64 = shares().map(|(_, share)| share).sum();
        let mut point = if total == 0 { return None } else { draw(total as usize, stream) as u64 };
        let (id, share) = shares().find(|&(_, share)| {
            let found = point < share;
            point = point.wrapping_sub(share);
            found
        })?;
        Some((id, reason(shares().count(), share, total)))
    }

    /// One of the eligible backends that are not in `tried`, with chances in proportion to what they are believed to have
    /// free ([`Table::believed_room`]). One that has not reported yet counts as the mean of the others, and where no other
    /// has room it is drawn by its weight among its like; where nothing is free, chances are in proportion to the capacity
    /// reported. O(log n) if the policy asked for [`crate::Index::Room`], `tried` is empty and something was reported.
    pub fn draw_by_room(&self, tried: &[BackendId], stream: &mut Stream) -> Option<(BackendId, Reason)> {
        let scan = |stream| self.draw_shared(tried, self.shares_by_room(tried)?, stream);
        let (Kept::Room(rooms), true) = (&self.kept, tried.is_empty()) else { return scan(stream) };
        let (among, unknown) = (self.eligible.len(), rooms.unknown().total() as usize);
        let (sums, part) = if rooms.free().total() > 0 {
            let part = unknown as f64 / among as f64;
            let of_unknown = unknown > 0 && stream.below(among) < unknown;
            if of_unknown { (rooms.unknown(), part) } else { (rooms.free(), 1.0 - part) }
        } else if unknown == 0 && rooms.capacity().total() > 0 {
            (rooms.capacity(), 1.0)
        } else {
            return scan(stream);
        };
        let total = sums.total();
        let (member, share) = sums.at(draw(total as usize, stream) as u64);
        let value = part * share as f64 / total as f64;
        Some((BackendId(member), Reason { code: Code::Drawn, ties: among as u32, value }))
    }

    /// One of the eligible backends that are not in `tried`, with chances in proportion to its share; a scan.
    pub(crate) fn draw_shared(
        &self,
        tried: &[BackendId],
        shares: Shares,
        stream: &mut Stream,
    ) -> Option<(BackendId, Reason)> {
        let share = |id: &BackendId| self.share(*id, shares);
        let left = || self.eligible.iter().copied().filter(|id| !tried.contains(id) && share(id) > 0.0);
        let mut point = shares.total * stream.uniform();
        let found = left().find(|id| {
            point -= share(id);
            point < 0.0
        });
        // Where rounding leaves the point at the very end, the last one has it.
        let id = found.or_else(|| left().next_back())?;
        let (ties, value) = (left().count() as u32, share(&id) / shares.total);
        Some((id, Reason { code: Code::Drawn, ties, value }))
    }

    /// What the chances of [`Table::draw_by_room`] are in proportion to; `None` where no one has any. O(1) as that is.
    pub(crate) fn shares_by_room(&self, tried: &[BackendId]) -> Option<Shares> {
        if let (Kept::Room(rooms), true) = (&self.kept, tried.is_empty()) {
            let [free, capacity] = [rooms.free(), rooms.capacity()].map(|sums| sums.total() as f64 / 1e6);
            let unknown = rooms.unknown().total() as f64;
            let mean = if unknown > 0.0 { free / (self.eligible.len() as f64 - unknown) } else { 0.0 };
            if free > 0.0 {
                return Some(Shares { by: ShareBy::Free { unknown: mean }, total: free + unknown * mean });
            } else if unknown == 0.0 && capacity > 0.0 {
                return Some(Shares { by: ShareBy::Capacity, total: capacity });
            }
        }
        let known = || self.eligible.iter().filter(|id| !tried.contains(id) && !self.said(**id).is_unknown());
        let (sum, count) = known().fold((0.0, 0), |(sum, count), id| (sum + self.free(*id), count + 1));
        let free = (sum > 0.0).then(|| ShareBy::Free { unknown: sum / f64::from(count) });
        let rules = free.into_iter().chain([ShareBy::WeightOfUnknown, ShareBy::Capacity, ShareBy::Weight]);
        rules.into_iter().find_map(|by| self.shares(tried, by))
    }

    /// Shares in proportion to the weights; `None` where all are 0.
    pub(crate) fn shares_by_weight(&self, tried: &[BackendId]) -> Option<Shares> {
        self.shares(tried, ShareBy::Weight)
    }

    /// The share of `id`; of all shares, its chance.
    pub(crate) fn share(&self, id: BackendId, shares: Shares) -> f64 {
        match shares.by {
            ShareBy::Free { unknown } if self.said(id).is_unknown() => unknown,
            ShareBy::Free { .. } => self.free(id),
            ShareBy::WeightOfUnknown => {
                if self.said(id).is_unknown() {
                    self.weight(id)
                } else {
                    0.0
                }
            }
            ShareBy::Capacity => self.capacity(id),
            ShareBy::Weight => self.weight(id),
        }
    }

    fn shares(&self, tried: &[BackendId], by: ShareBy) -> Option<Shares> {
        let shares = Shares { by, total: 0.0 };
        let left = self.eligible.iter().filter(|id| !tried.contains(id));
        let total = left.map(|id| self.share(*id, shares)).sum::<f64>();
        (total > 0.0).then_some(Shares { by, total })
    }

    /// What it is believed to have free (1/s): its room, but at least 0; 0 where nothing was reported.
    pub(crate) fn free(&self, id: BackendId) -> f64 {
        self.said(id).free() as f64 / 1e6
    }

    /// The capacity that it reported (1/s); 0 where it reported none.
    pub(crate) fn capacity(&self, id: BackendId) -> f64 {
        self.said(id).capacity() as f64 / 1e6
    }

    /// Whether it can be chosen and is believed to have room for more than `rate` requests per second. One that has not
    /// reported yet has room, else it would never be tried and never be known.
    #[inline]
    pub fn has_room(&self, id: BackendId, rate: f64) -> bool {
        match &self.kept {
            Kept::Room(rooms) => rooms.free().of(id.0) > micro(rate) || rooms.unknown().of(id.0) > 0,
            _ => self.is_eligible(id) && (self.said(id).is_unknown() || self.said(id).free() > micro(rate)),
        }
    }

    /// Of the eligible backends that are not in `tried` and have room for more than `rate` requests per second the one with
    /// the largest capacity, ties drawn; its capacity (1/s), and how many tied. One that has not reported has room, and the
    /// capacity 0. A look at every backend, and at two numbers of each if the policy asked for [`crate::Index::Room`].
    pub(crate) fn largest_with_room(
        &self,
        rate: f64,
        tried: &[BackendId],
        stream: &mut Stream,
    ) -> Option<(BackendId, f64, u32)> {
        if !self.any_has_room(rate) {
            return None;
        }
        let rooms = match &self.kept {
            Kept::Room(rooms) if tried.is_empty() => rooms,
            _ => return self.scan_largest(rate, tried, stream),
        };
        let (rate, leaves) = (micro(rate), || rooms.free().weights().iter().zip(rooms.capacity().weights()));
        let with_room = |(free, capacity): (&u64, &u64)| if *free > rate { *capacity } else { 0 };
        let (largest, ties) = leaves().map(with_room).fold((0, 0), |(largest, ties), capacity| {
            let ties = if capacity > largest { 0 } else { ties };
            (largest.max(capacity), ties + u32::from(capacity == largest.max(capacity)))
        });
        if largest == 0 {
            return self.scan_largest(rate as f64 / 1e6, tried, stream);
        }
        let mut tied = leaves().enumerate().filter(|(_, one)| with_room(*one) == largest);
        let (at, _) = tied.nth(draw(ties as usize, stream))?;
        Some((BackendId(at as u32), largest as f64 / 1e6, ties))
    }

    /// [`Table::largest_with_room`] by its definition.
    fn scan_largest(&self, rate: f64, tried: &[BackendId], stream: &mut Stream) -> Option<(BackendId, f64, u32)> {
        let left = self.eligible.iter().copied().filter(|id| !tried.contains(id));
        let open = || left.clone().filter(|id| self.has_room(*id, rate));
        let largest = open().map(|id| self.capacity(id)).max_by(f64::total_cmp)?;
        let mut tied = open().filter(|id| self.capacity(*id) == largest);
        let ties = tied.clone().count();
        Some((tied.nth(draw(ties, stream))?, largest, ties as u32))
    }

    /// Whether some backend has room for more than `rate` requests per second. O(1) if the policy asked for
    /// [`crate::Index::Room`].
    #[inline]
    pub fn any_has_room(&self, rate: f64) -> bool {
        match &self.kept {
            Kept::Room(rooms) => rooms.most() > micro(rate) || rooms.unknown().total() > 0,
            _ => self.eligible.iter().any(|id| self.has_room(*id, rate)),
        }
    }
}

/// A number below `among`; draws nothing where there is no choice.
#[inline]
pub(crate) fn draw(among: usize, stream: &mut Stream) -> usize {
    if among == 1 { 0 } else { stream.below(among) }
}
