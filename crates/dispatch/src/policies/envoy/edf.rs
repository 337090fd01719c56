//! Earliest deadline first: who is picked gets the deadline now + 1 / weight, where now is the deadline it was picked at.
//!
//! `source/common/upstream/edf_scheduler.h`. Equal deadlines go in the order in which they were set. Envoy makes a schedule as if so
//! many picks had been made as a random number says (`createWithPicks`), so that workers do not begin at the same host; the
//! picks of one turn of all weights are enough for that.

use std::collections::BinaryHeap;

use sojourn_stats::Stream;

use crate::{BackendId, Table};

#[derive(Debug, Default)]
pub(super) struct Edf {
    entries: BinaryHeap<Entry>,
    now: f64,
    order: u64,
}

/// The least is the greatest for a heap: deadline as bits of a double that is not negative, which sort as it does, and order.
type Entry = (std::cmp::Reverse<(u64, u64)>, BackendId);

impl Edf {
    /// A schedule of these hosts, as if some picks had been made.
    pub(super) fn new(hosts: &[BackendId], weight: impl Fn(BackendId) -> f64, table: &Table, stream: &mut Stream) -> Edf {
        let mut edf = Edf::default();
        for id in hosts {
            edf.add(*id, weight(*id));
        }
        let sum: f64 = hosts.iter().map(|id| table.weight(*id)).sum();
        for _ in 0..stream.below((sum as usize).max(1)) {
            edf.pick(&weight);
        }
        edf
    }

    /// The next one, which gets a deadline by its weight of now.
    #[inline]
    pub(super) fn pick(&mut self, weight: impl Fn(BackendId) -> f64) -> Option<BackendId> {
        let mut top = self.entries.peek_mut()?;
        let (std::cmp::Reverse((deadline, _)), id) = *top;
        self.now = f64::from_bits(deadline);
        let next = (self.now + 1.0 / weight(id)).to_bits();
        *top = (std::cmp::Reverse((next, self.order)), id);
        drop(top); // sifts it down
        self.order += 1;
        Some(id)
    }

    fn add(&mut self, id: BackendId, weight: f64) {
        self.entries.push((std::cmp::Reverse(((self.now + 1.0 / weight).to_bits(), self.order)), id));
        self.order += 1;
    }
}
