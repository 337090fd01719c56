//! The least of the backends by the order that the policy asked for, and the reason that is told of it.

use sojourn_stats::{Span, Stream};

use super::Table;
use super::draws::draw;
use super::key::{mean_or_zero, next_per_weight, per_weight, used_share};
use crate::index::{Kept, Key, Loads};
use crate::{BackendId, Code, Index, Reason, Ties};

impl Table {
    /// The least of the eligible backends that are not in `tried`, by the order that the policy asked for in
    /// [`crate::Policy::index`]. O(1) or O(log n) while `tried` is empty; a scan when it is not (a retry is rare), or
    /// when the policy asked for no order.
    #[inline]
    pub fn least(&self, tried: &[BackendId], stream: &mut Stream) -> Option<(BackendId, Reason)> {
        if !tried.is_empty() {
            return self.scan(tried, stream);
        }
        let (tree, by) = match &self.kept {
            Kept::None | Kept::InverseLoad(_) | Kept::Room(_) => return self.scan(tried, stream),
            Kept::Load(loads) => return self.least_load(loads, stream),
            Kept::RoundTrip { loads, means } if means.len() < self.eligible.len() => {
                return self.least_load(loads, stream);
            }
            Kept::LoadPerWeight(tree) => (tree, By::Weight),
            Kept::NextLoadPerWeight(tree) => (tree, By::NextWeight),
            Kept::Aged(index, queues) => {
                let by = if *index == Index::LoadPerWeight { By::Weight } else { By::NextWeight };
                let (key, ties, id) = queues.first()?;
                return Some((BackendId(id), by.reason((key, 0), ties as usize)));
            }
            Kept::RoundTrip { means, .. } | Kept::RoundTripOrZero(means) => (means, By::RoundTrip),
            Kept::Bytes(tree) => (tree, By::Bytes),
            Kept::UsedShare(tree) => (tree, By::UsedShare),
        };
        let (key, ties) = tree.least()?;
        let rank = self.pick(ties as usize, stream);
        Some((BackendId(tree.tied(rank as u32)), by.reason(key, ties as usize)))
    }

    // Always inlined: it stands once on the path of each choice.
    #[inline(always)]
    fn least_load(&self, loads: &Loads, stream: &mut Stream) -> Option<(BackendId, Reason)> {
        let (load, ties, id) = loads.least(|ties| self.pick(ties, stream))?;
        Some((BackendId(id), By::Load.reason((load.into(), 0), ties)))
    }

    /// The place of the one chosen among so many that are equally good, in the order of their numbers.
    #[inline]
    fn pick(&self, ties: usize, stream: &mut Stream) -> usize {
        match self.ties {
            Ties::Drawn => draw(ties, stream),
            Ties::First | Ties::Oldest => 0,
        }
    }

    /// [`Table::least`] by its definition.
    fn scan(&self, tried: &[BackendId], stream: &mut Stream) -> Option<(BackendId, Reason)> {
        let left = || self.eligible.iter().copied().filter(|id| !tried.contains(id));
        let windowed = |id| self.load(id).saturating_add(self.window(id).failures);
        let index = self.kept.index();
        let by = match index {
            Index::LoadPerWeight => By::Weight,
            Index::NextLoadPerWeight => By::NextWeight,
            Index::Bytes => By::Bytes,
            Index::UsedShare => By::UsedShare,
            Index::RoundTripOrZero => By::RoundTrip,
            Index::RoundTrip if left().all(|id| self.window(id).round_trips > 0) => By::RoundTrip,
            _ => By::Load,
        };
        let key = |id| match by {
            By::Load if index == Index::RoundTrip => Some((windowed(id).into(), 0)),
            By::Load => Some((self.load(id).into(), 0)),
            By::Weight => per_weight(self.load(id), self.weight(id)),
            By::NextWeight => next_per_weight(self.load(id), self.weight(id)).map(|key| (key, 0)),
            By::Bytes => Some((self.window(id).bytes, windowed(id))),
            By::RoundTrip => Some((mean_or_zero(&self.window(id)), windowed(id))),
            By::UsedShare => Some(used_share(self.said(id))),
        };
        let least = left().filter_map(key).min()?;
        let tied = || left().filter(|&id| key(id) == Some(least));
        let ties = tied().count();
        let id = match &self.kept {
            Kept::Aged(_, queues) | Kept::Load(Loads::Oldest(queues)) => {
                queues.members().map(BackendId).find(|id| !tried.contains(id))?
            }
            _ => tied().nth(self.pick(ties, stream))?,
        };
        Some((id, by.reason(least, ties)))
    }
}

/// What a key was made of.
#[derive(Clone, Copy)]
enum By {
    Load,
    Weight,
    NextWeight,
    RoundTrip,
    Bytes,
    UsedShare,
}

impl By {
    #[inline]
    fn reason(self, key: Key, ties: usize) -> Reason {
        let (code, value) = match self {
            By::Load => (Code::LeastInFlight, key.0 as f64),
            By::Weight => (Code::LeastWeighted, f64::from_bits(key.0)),
            By::NextWeight => (Code::LeastNextWeighted, key.0 as f64),
            By::RoundTrip => (Code::LeastRoundTrip, Span(key.0).as_secs_f64()),
            By::Bytes => (Code::LeastTransmitted, key.0 as f64),
            By::UsedShare => (Code::LeastUsed, f64::from_bits(key.0)),
        };
        Reason { code, ties: ties as u32, value }
    }
}
