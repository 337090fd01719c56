//! Round robin: each backend in turn, in ascending order of id.
//!
//! Reads nothing but who is eligible; counts nothing. A backend that joins or leaves does not restart the turn: it goes
//! on after the one that was chosen last. A retry takes the next turn of a backend not yet tried. Weights are ignored.

use sojourn_stats::{Stream, Time};

use super::Entry;
use crate::{BackendId, Code, Decision, Policy, Reason, Request, Signals, Table};

pub(super) const ENTRY: Entry =
    Entry { name: "round-robin", summary: "each backend in turn", build: |_| Ok(Box::new(RoundRobin::default())) };

/// See the module.
#[derive(Debug, Default)]
pub struct RoundRobin {
    /// Place in the eligible list of the next turn, right for this generation of it.
    next: usize,
    generation: u64,
    last: Option<BackendId>,
}

impl Policy for RoundRobin {
    fn requires(&self) -> Signals {
        Signals::empty()
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, _: &Request, table: &Table, exclude: &[BackendId], _: Time, _: &mut Stream) -> Decision {
        let eligible = table.eligible();
        if self.generation != table.generation() {
            self.generation = table.generation();
            self.next = self.last.map_or(0, |last| eligible.partition_point(|&id| id <= last));
        }
        for _ in 0..eligible.len() {
            if self.next >= eligible.len() {
                self.next = 0;
            }
            let id = eligible[self.next];
            self.next += 1;
            if exclude.is_empty() || !exclude.contains(&id) {
                self.last = Some(id);
                return Decision::forward(id, Reason { code: Code::Turn, ties: 1, value: 0.0 });
            }
        }
        Decision::refuse()
    }
}
