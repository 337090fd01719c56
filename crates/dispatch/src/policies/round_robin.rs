//! Round robin: each backend in turn, in ascending order of id.
//!
//! Reads nothing but who is eligible; counts nothing. A backend that joins or leaves does not restart the turn: it goes
//! on after the one that was chosen last. A retry takes the next turn of a backend not yet tried. Weights are ignored.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, BackendId, Code, Decision, Explanation, Plain, Policy, Reason, Signals};

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

    fn plain(&self) -> Option<Plain> {
        Some(Plain::Turns)
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        let eligible = ask.table.eligible();
        if self.generation != ask.table.generation() {
            self.generation = ask.table.generation();
            self.next = self.after_last(eligible);
        }
        for _ in 0..eligible.len() {
            if self.next >= eligible.len() {
                self.next = 0;
            }
            let id = eligible[self.next];
            self.next += 1;
            if ask.tried.is_empty() || !ask.tried.contains(&id) {
                self.last = Some(id);
                return Decision::forward(id, Reason { code: Code::Turn, ties: 1, value: 0.0 });
            }
        }
        Decision::refuse()
    }

    /// Each candidate's turns until its own: 0 is next.
    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let eligible = ask.table.eligible();
        let fresh = self.generation == ask.table.generation();
        let next = if fresh { self.next } else { self.after_last(eligible) };
        let turns = |id| {
            let place = eligible.binary_search(&id).expect("a candidate is eligible");
            (place + eligible.len() - next % eligible.len()) % eligible.len()
        };
        Explanation::of(ask.candidates(), |id| vec![("turns_before".into(), turns(id) as f64)])
    }
}

impl RoundRobin {
    /// The place of the first backend after the one that was chosen last.
    fn after_last(&self, eligible: &[BackendId]) -> usize {
        self.last.map_or(0, |last| eligible.partition_point(|&id| id <= last))
    }
}
