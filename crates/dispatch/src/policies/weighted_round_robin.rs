//! Weighted round robin, smooth: turns in proportion to the weights, spread as evenly as nginx spreads them.
//!
//! nginx gives every peer a running value; at each choice every value grows by its weight, the largest is chosen (the
//! first of equals) and falls by the sum of all weights. Done literally that is a scan per choice. Peers of equal
//! weight differ only by whole sums, so they are kept as one ring with one value: the choices are nginx's, the cost is
//! the number of *distinct* weights.
//!
//! Reads weights; counts its own turns. Weight 0 is never chosen. Values survive changes of membership. A retry takes
//! the turn of the best backend not yet tried.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, BackendId, Code, Decision, Explanation, Plain, Policy, Reason, Signals, Table};

pub(super) const ENTRY: Entry = Entry {
    name: "weighted-round-robin",
    summary: "turns in proportion to weights, smoothly spread (nginx)",
    build: |_| Ok(Box::new(WeightedRoundRobin::default())),
};

/// See the module.
#[derive(Debug, Default)]
pub struct WeightedRoundRobin {
    rings: Vec<Ring>,
    /// Sum of the weights of all members.
    sum: f64,
    generation: u64,
}

/// Backends of one weight.
#[derive(Debug)]
struct Ring {
    weight: f64,
    /// Those before `next` had their turn in this round; their running value is smaller by the sum.
    members: Vec<BackendId>,
    next: usize,
    value: f64,
}

impl Policy for WeightedRoundRobin {
    fn requires(&self) -> Signals {
        Signals::empty()
    }

    fn weighs(&self) -> bool {
        true
    }

    fn listens(&self) -> bool {
        false
    }

    fn plain(&self) -> Option<Plain> {
        Some(Plain::Blind)
    }

    fn shares(&self, table: &Table) -> Option<Vec<f64>> {
        Some(table.parts(|id| table.weight(id)))
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        if self.generation != ask.table.generation() {
            self.generation = ask.table.generation();
            self.rebuild(ask.table);
        }
        let mut best: Option<(f64, BackendId, usize, usize)> = None;
        for (at, ring) in self.rings.iter_mut().enumerate() {
            ring.value += ring.weight;
            let Some(place) = ring.first(ask.tried) else { continue };
            let value = if place < ring.next { ring.value - self.sum } else { ring.value };
            let id = ring.members[place];
            if best.is_none_or(|(most, first, ..)| value > most || (value == most && id < first)) {
                best = Some((value, id, at, place));
            }
        }
        let charged = best.is_some_and(|(_, _, at, place)| self.rings[at].take(place, self.sum));
        if !charged {
            self.rings.iter_mut().for_each(|ring| ring.value -= ring.weight);
        }
        best.map_or_else(Decision::refuse, |(_, id, at, _)| {
            Decision::forward(id, Reason { code: Code::Turn, ties: 1, value: self.rings[at].weight })
        })
    }

    /// Each candidate's weight and running value; the largest sum of the two is chosen.
    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let value = |id| {
            let ring = self.rings.iter().find(|ring| ring.members.contains(&id))?;
            let had = ring.members[..ring.next].contains(&id);
            Some(if had { ring.value - self.sum } else { ring.value })
        };
        Explanation::of(ask.candidates(), |id| {
            let mut terms = vec![("weight".into(), ask.table.weight(id))];
            terms.extend(value(id).map(|value| ("running_value".into(), value)));
            terms
        })
    }
}

impl WeightedRoundRobin {
    fn rebuild(&mut self, table: &Table) {
        let before = std::mem::take(&mut self.rings);
        self.sum = 0.0;
        for &id in table.eligible() {
            let weight = table.weight(id);
            if weight == 0.0 {
                continue;
            }
            self.sum += weight;
            match self.rings.iter_mut().find(|ring| ring.weight == weight) {
                Some(ring) => ring.members.push(id),
                None => self.rings.push(Ring { weight, members: vec![id], next: 0, value: 0.0 }),
            }
        }
        for ring in &mut self.rings {
            if let Some(old) = before.iter().find(|old| old.weight == ring.weight) {
                let next = old.members[old.next];
                ring.next = ring.members.partition_point(|&id| id < next) % ring.members.len();
                ring.value = old.value.clamp(-self.sum, self.sum);
            }
        }
    }
}

impl Ring {
    /// The place of the next member that was not tried.
    fn first(&self, tried: &[BackendId]) -> Option<usize> {
        if tried.is_empty() {
            return Some(self.next);
        }
        let count = self.members.len();
        let mut places = (0..count).map(|ahead| (self.next + ahead) % count);
        places.find(|&place| !tried.contains(&self.members[place]))
    }

    /// Gives the member at `place` its turn; false for a second turn in one round (a retry that found no other),
    /// which is not charged.
    fn take(&mut self, place: usize, sum: f64) -> bool {
        if place < self.next {
            return false;
        }
        self.members[self.next..=place].rotate_right(1); // those passed over keep their turn
        self.next += 1;
        if self.next == self.members.len() {
            self.next = 0;
            self.value -= sum;
            self.members.sort_unstable();
        }
        true
    }
}
