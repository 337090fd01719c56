//! Weighted round robin, classic: rounds in ascending order of id, each backend in as many rounds as its weight.
//!
//! Weights 4, 3, 2 of A, B, C give ABC ABC AB A, and again: the interleaved order that the literature before nginx calls
//! weighted round robin. (Linux IPVS runs the same rounds last first: A AB ABC ABC.) Heavy backends get their
//! surplus turns in a row at the end of a cycle, which is what the smooth variant mends.
//!
//! Reads weights, to three decimals, divided by their greatest common divisor; counts its own turns. Weight 0 is never
//! chosen. Its place in the cycle survives changes of membership. A retry takes the next turn of a backend not yet
//! tried.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, BackendId, Code, Decision, Explanation, Plain, Policy, Reason, Signals, Table};

pub(super) const ENTRY: Entry = Entry {
    name: "weighted-round-robin-classic",
    summary: "rounds in order, each backend in as many as its weight (4, 3, 2: ABCABCABA)",
    build: |_| Ok(Box::new(WeightedRoundRobinClassic::default())),
};

/// See the module.
#[derive(Debug, Default)]
pub struct WeightedRoundRobinClassic {
    /// Backends and their rounds per cycle, in ascending order of id.
    members: Vec<Member>,
    /// Those in the present round, in order.
    round: Vec<Member>,
    /// Number of the present round, from 1.
    number: u64,
    next: usize,
    last: Option<BackendId>,
    generation: u64,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    id: BackendId,
    rounds: u64,
}

impl Policy for WeightedRoundRobinClassic {
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
        if self.members.is_empty() {
            return Decision::refuse();
        }
        if self.next == self.round.len() {
            self.begin_round();
        }
        let free = |member: &Member| !ask.tried.contains(&member.id);
        let id = match self.round[self.next..].iter().position(free) {
            Some(ahead) => {
                let chosen = self.round[self.next + ahead].id;
                self.round[self.next..=self.next + ahead].rotate_right(1); // those passed over keep their turn
                self.next += 1;
                self.last = Some(chosen);
                chosen
            }
            // No other backend in this round: an extra turn, so that the retry has a backend.
            None => {
                let after = self.last.map_or(0, |last| self.members.partition_point(|member| member.id <= last));
                let (before, from) = self.members.split_at(after);
                let Some(member) = from.iter().chain(before).find(|member| free(member)) else {
                    return Decision::refuse();
                };
                self.last = Some(member.id);
                member.id
            }
        };
        Decision::forward(id, Reason { code: Code::Turn, ties: 1, value: ask.table.weight(id) })
    }

    /// Each candidate's weight, and whether it still has a turn in the present round.
    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let left = |id| self.round.iter().skip(self.next).any(|member| member.id == id);
        Explanation::of(ask.candidates(), |id| {
            let turn_left = f64::from(u8::from(left(id)));
            vec![("weight".into(), ask.table.weight(id)), ("turn_left".into(), turn_left)]
        })
    }
}

impl WeightedRoundRobinClassic {
    fn begin_round(&mut self) {
        let number = self.number + 1;
        self.round.retain(|member| member.rounds >= number);
        self.number = number;
        if self.round.is_empty() {
            self.number = 1;
            self.round.clone_from(&self.members);
        } else {
            self.round.sort_unstable_by_key(|member| member.id);
        }
        self.next = 0;
    }

    fn rebuild(&mut self, table: &Table) {
        let thousandths = |id| ((table.weight(id) * 1000.0).round() as u64).max(1);
        let candidates = table.eligible().iter().filter(|&&id| table.weight(id) > 0.0);
        self.members = candidates.map(|&id| Member { id, rounds: thousandths(id) }).collect();
        let divisor = self.members.iter().fold(0, |divisor, member| common_divisor(divisor, member.rounds));
        for member in &mut self.members {
            member.rounds /= divisor;
        }
        let number = self.number.max(1);
        self.round = self.members.iter().copied().filter(|member| member.rounds >= number).collect();
        self.number = number;
        self.next = self.last.map_or(0, |last| self.round.partition_point(|member| member.id <= last));
    }
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
