//! Weighted: drawn with chances in proportion to the weights, or to what is free.
//!
//! The draw is the published one (Agarwal 2001, section 5.1.3): a number from the sum of all weights, and the first backend
//! whose running sum covers it. Parameter: `by`, `weight` (the default), the static weights that were measured before, or
//! `free-capacity`, the room that the backends reported last; a backend that has not reported yet counts as the mean of the
//! others, and where no one has room, capacity counts. He ran the second at his DNS.
//!
//! Reads weights, or reports; counts nothing. Weight 0 is never drawn. A draw is a binary search, or one way down a tree
//! of what is free. What it does not see: that those who drew after the last report took of the room too.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, BackendId, Code, Decision, Explanation, Index, Plain, Policy, Reason, Signals, Table};

pub(super) const ENTRY: Entry = Entry {
    name: "weighted",
    summary: "drawn in proportion to weights, or to the free capacity last reported",
    build: |params| {
        let by = params.choice("by", &[("weight", By::Weight), ("free-capacity", By::FreeCapacity)])?;
        Ok(Box::new(Weighted::by(by.unwrap_or(By::Weight))))
    },
};

/// What chances are in proportion to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Weight,
    FreeCapacity,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Weighted {
    by: By,
    /// Running sums of the weights above 0, each with its backend.
    sums: Vec<(f64, BackendId)>,
    generation: u64,
}

impl Weighted {
    pub(super) fn by(by: By) -> Weighted {
        Weighted { by, sums: Vec::new(), generation: 0 }
    }
}

impl Policy for Weighted {
    fn requires(&self) -> Signals {
        match self.by {
            By::Weight => Signals::empty(),
            By::FreeCapacity => Signals::REPORTS | Signals::ROOM,
        }
    }

    fn index(&self) -> Index {
        match self.by {
            By::Weight => Index::None,
            By::FreeCapacity => Index::Room,
        }
    }

    fn listens(&self) -> bool {
        false
    }

    fn plain(&self) -> Option<Plain> {
        (self.by == By::Weight).then_some(Plain::Blind)
    }

    fn shares(&self, table: &Table) -> Option<Vec<f64>> {
        (self.by == By::Weight).then(|| table.parts(|id| table.weight(id)))
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        Decision::forward_or_refuse(match self.by {
            By::FreeCapacity => ask.table.draw_by_room(ask.tried, draw),
            By::Weight if ask.tried.is_empty() => self.draw(ask.table, draw),
            By::Weight => {
                let shares = ask.table.shares_by_weight(ask.tried);
                shares.and_then(|shares| ask.table.draw_shared(ask.tried, shares, draw))
            }
        })
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let shares = match self.by {
            By::Weight => ask.table.shares_by_weight(ask.tried),
            By::FreeCapacity => ask.table.shares_by_room(ask.tried),
        };
        Explanation::of(ask.candidates(), |id| {
            let chance = ("chance".into(), shares.map_or(0.0, |shares| ask.table.share(id, shares) / shares.total));
            ask.table.terms(id).into_iter().chain([("weight".into(), ask.table.weight(id)), chance]).collect()
        })
    }
}

impl Weighted {
    fn draw(&mut self, table: &Table, draw: &mut Stream) -> Option<(BackendId, Reason)> {
        if self.generation != table.generation() {
            self.generation = table.generation();
            let weighed = table.eligible().iter().filter(|id| table.weight(**id) > 0.0);
            let mut sum = 0.0;
            let mut running = |id: BackendId| {
                sum += table.weight(id);
                sum
            };
            self.sums = weighed.map(|id| (running(*id), *id)).collect();
        }
        let (total, last) = *self.sums.last()?;
        let point = total * draw.uniform();
        let place = self.sums.partition_point(|(running, _)| *running <= point);
        // Where rounding leaves the point at the very end, the last one has it.
        let id = self.sums.get(place).map_or(last, |(_, id)| *id);
        Some((id, Reason { code: Code::Drawn, ties: self.sums.len() as u32, value: table.weight(id) / total }))
    }
}
