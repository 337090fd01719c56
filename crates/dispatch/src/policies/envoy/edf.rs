//! Earliest deadline first: who is picked gets the deadline now + 1 / weight, where now is the deadline it was picked
//! at.
//!
//! `source/common/upstream/edf_scheduler.h`. Equal deadlines go in the order in which they were set. Envoy makes a
//! schedule as if so many picks had been made as a random number says (`createWithPicks`), so that workers do not begin
//! at the same host; the picks of one turn of all weights are enough for that.

use std::collections::{BinaryHeap, VecDeque};

use sojourn_stats::Stream;

use crate::{BackendId, Table};

#[derive(Debug, Default)]
pub(super) struct Edf {
    entries: BinaryHeap<Entry>,
    now: f64,
    order: u64,
}

/// The least is the greatest for a heap: deadline as bits of a double that is not negative, which sort as it does, and
/// order.
type Entry = (std::cmp::Reverse<(u64, u64)>, BackendId);

impl Edf {
    /// A schedule of these hosts, as if some picks had been made.
    pub(super) fn new(
        hosts: &[BackendId],
        weight: impl Fn(BackendId) -> f64,
        table: &Table,
        stream: &mut Stream,
    ) -> Edf {
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

/// The same for weights that do not change. Those of one weight are picked in the order in which they came, so that
/// each weight has a queue, and a pick costs as many looks as there are *different* weights.
#[derive(Debug, Default)]
pub(super) struct Turns {
    classes: Vec<Class>,
    order: u64,
}

#[derive(Debug)]
struct Class {
    weight: f64,
    /// Deadline, order, host.
    queue: VecDeque<(f64, u64, BackendId)>,
}

impl Turns {
    /// The turns of these hosts, as if some picks had been made.
    pub(super) fn new(hosts: &[BackendId], table: &Table, stream: &mut Stream) -> Turns {
        let mut turns = Turns::default();
        for id in hosts {
            let weight = table.weight(*id);
            let place = turns.classes.iter().position(|class| class.weight == weight).unwrap_or_else(|| {
                turns.classes.push(Class { weight, queue: VecDeque::new() });
                turns.classes.len() - 1
            });
            turns.classes[place].queue.push_back((1.0 / weight, turns.order, *id));
            turns.order += 1;
        }
        let sum: f64 = hosts.iter().map(|id| table.weight(*id)).sum();
        for _ in 0..stream.below((sum as usize).max(1)) {
            turns.pick();
        }
        turns
    }

    /// The next one.
    #[inline]
    pub(super) fn pick(&mut self) -> Option<BackendId> {
        let heads = self.classes.iter_mut().filter_map(|class| Some((*class.queue.front()?, class)));
        let sooner = |one: &(f64, u64, BackendId), other: &(f64, u64, BackendId)| (one.0, one.1) < (other.0, other.1);
        let ((now, _, id), class) = heads.reduce(|best, head| if sooner(&head.0, &best.0) { head } else { best })?;
        class.queue.pop_front();
        class.queue.push_back((now + 1.0 / class.weight, self.order, id));
        self.order += 1;
        Some(id)
    }
}
