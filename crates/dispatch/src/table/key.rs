//! The keys by which backends are compared, and the order that the table keeps by them: the one that the policy asked for in
//! [`crate::Policy::index`].

use sojourn_stats::Span;

use super::Table;
use super::said::Said;
use crate::index::{Kept, Key};
use crate::window::WindowTotals;
use crate::{BackendId, Index, Terms};

impl Table {
    /// The values by which the order that the table keeps compares `id`; none where it keeps no order.
    pub fn terms(&self, id: BackendId) -> Terms {
        let load = f64::from(self.load(id));
        let windowed = || self.window(id);
        let with_failures = || load + f64::from(windowed().failures);
        let mean_s = || windowed().mean_round_trip().map_or(0.0, Span::as_secs_f64);
        match self.kept.index() {
            Index::None => Vec::new(),
            Index::Load => vec![("in_flight".into(), load)],
            Index::LoadPerWeight => {
                let weight = self.weight(id);
                let per_weight = if weight > 0.0 { load / weight } else { f64::INFINITY };
                vec![("in_flight".into(), load), ("weight".into(), weight), ("in_flight_per_weight".into(), per_weight)]
            }
            Index::NextLoadPerWeight => {
                let key = next_per_weight(self.load(id), self.weight(id)).map_or(f64::INFINITY, |key| key as f64);
                vec![("in_flight".into(), load), ("weight".into(), self.weight(id)), ("key".into(), key)]
            }
            Index::InverseLoad => vec![("in_flight".into(), load), ("share".into(), 1.0 / (load + 1.0))],
            Index::RoundTrip | Index::RoundTripOrZero => {
                vec![("round_trip_mean_s".into(), mean_s()), ("in_flight".into(), with_failures())]
            }
            Index::Bytes => vec![("bytes".into(), windowed().bytes as f64), ("in_flight".into(), with_failures())],
            Index::Room | Index::UsedShare => {
                let used = f64::from_bits(used_share(self.said(id)).0);
                let terms =
                    [("room_per_s", self.free(id)), ("capacity_per_s", self.capacity(id)), ("used_share", used)];
                terms.map(|(name, value)| (name.into(), value)).into()
            }
        }
    }

    /// Puts an eligible backend where it belongs in the index.
    #[inline]
    pub(super) fn rekey(&mut self, id: BackendId) {
        let backend = &self.backends[id.0 as usize];
        if !backend.is_eligible() {
            return;
        }
        let load = self.load_of(backend);
        match &mut self.kept {
            Kept::None => {}
            Kept::Load(loads) => loads.set(id.0, load),
            Kept::LoadPerWeight(tree) => match per_weight(load, backend.weight) {
                Some(key) => tree.set(id.0, key),
                None => tree.remove(id.0),
            },
            Kept::NextLoadPerWeight(tree) => match next_per_weight(load, backend.weight) {
                Some(key) => tree.set(id.0, (key, 0)),
                None => tree.remove(id.0),
            },
            Kept::Aged(index, queues) => {
                let key = match index {
                    Index::LoadPerWeight => per_weight(load, backend.weight).map(|(key, _)| key),
                    _ => next_per_weight(load, backend.weight),
                };
                match key {
                    Some(key) => queues.set(id.0, key),
                    None => queues.remove(id.0),
                }
            }
            Kept::InverseLoad(sums) => sums.set(id.0, inverse_share(load)),
            Kept::RoundTrip { loads, means } => {
                let totals = self.window.as_ref().map_or_else(WindowTotals::default, |window| window.totals(id));
                let load = load.saturating_add(totals.failures);
                loads.set(id.0, load);
                match totals.mean_round_trip() {
                    Some(mean) => means.set(id.0, (mean.0, load)),
                    None => means.remove(id.0),
                }
            }
            Kept::RoundTripOrZero(tree) => {
                let totals = self.window.as_ref().map_or_else(WindowTotals::default, |window| window.totals(id));
                tree.set(id.0, (mean_or_zero(&totals), load.saturating_add(totals.failures)));
            }
            Kept::Bytes(tree) => {
                let totals = self.window.as_ref().map_or_else(WindowTotals::default, |window| window.totals(id));
                tree.set(id.0, (totals.bytes, load.saturating_add(totals.failures)));
            }
            Kept::Room(_) | Kept::UsedShare(_) => self.rekey_room(id),
        }
    }

    /// Puts a backend whose room has changed where it belongs in the index.
    pub(super) fn rekey_room(&mut self, id: BackendId) {
        if !self.is_eligible(id) {
            return;
        }
        let said = &self.said[id.0 as usize];
        match &mut self.kept {
            Kept::Room(rooms) if said.is_unknown() => rooms.set_unknown(id.0),
            Kept::Room(rooms) => rooms.set(id.0, said.free(), said.capacity()),
            Kept::UsedShare(tree) => tree.set(id.0, used_share(said)),
            _ => {}
        }
    }

    pub(super) fn unlist(&mut self, id: BackendId) {
        match &mut self.kept {
            Kept::None => {}
            Kept::Load(loads) => loads.remove(id.0),
            Kept::LoadPerWeight(tree)
            | Kept::NextLoadPerWeight(tree)
            | Kept::RoundTripOrZero(tree)
            | Kept::Bytes(tree)
            | Kept::UsedShare(tree) => tree.remove(id.0),
            Kept::Aged(_, queues) => queues.remove(id.0),
            Kept::InverseLoad(sums) => sums.set(id.0, 0),
            Kept::Room(rooms) => rooms.remove(id.0),
            Kept::RoundTrip { loads, means } => {
                loads.remove(id.0);
                means.remove(id.0);
            }
        }
    }
}

/// Load per weight as a key: the bits of a non-negative double sort as it does. None for weight 0.
#[inline]
pub(super) fn per_weight(load: u32, weight: f64) -> Option<Key> {
    (weight > 0.0).then(|| ((f64::from(load) / weight).to_bits(), 0))
}

/// HAProxy's key: weights are whole there, and 16 times as fine inside (`BE_WEIGHT_SCALE`); the scale is 256 * 16
/// (`SRV_EWGHT_MAX`). None for weight 0.
#[inline]
pub(crate) fn next_per_weight(load: u32, weight: f64) -> Option<u64> {
    let fine = (16.0 * weight) as u64;
    (weight > 0.0).then(|| if load == 0 { 0 } else { (u64::from(load) + 1) * 4096 / fine.max(1) })
}

/// The used share of the capacity as a key; 0 where no capacity was reported.
#[inline]
pub(super) fn used_share(said: &Said) -> Key {
    let (free, capacity) = (said.free(), said.capacity());
    (((capacity - free.min(capacity)) as f64 / capacity.max(1) as f64).to_bits(), 0)
}

/// The mean round trip in ns, 0 without a sample.
#[inline]
pub(super) fn mean_or_zero(totals: &WindowTotals) -> u64 {
    totals.mean_round_trip().map_or(0, |mean| mean.0)
}

/// 2^32 / (load + 1), at least 1.
#[inline]
pub(super) fn inverse_share(load: u32) -> u64 {
    (1 << 32) / (u64::from(load) + 1)
}
