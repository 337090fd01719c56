//! What an open run sent, instant by instant, in bounded memory: the evidence that it followed its plan.
//!
//! Gaps lie between neighbours, so what is thinned out are stretches of 4096 requests that follow one another in
//! the plan, never single ones. All are kept until there are 256; then every second goes, and only every
//! second of those to come is kept, and so on. Stretches are told by the requests' numbers, so that threads and shares keep
//! the same ones without a word to one another.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sojourn_stats::Time;

/// Requests of a stretch.
const STRETCH: u64 = 4096;
/// Stretches kept, at most: a million requests, 16 bytes each.
const STRETCHES: usize = 256;

/// A thread's planned and begun instants, thinned.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Packed", into = "Packed")]
pub struct Emitted {
    /// Stretches whose number is no multiple of 2^thinned are left out.
    thinned: u32,
    stretches: Vec<Stretch>,
    spare: Vec<Vec<(Time, Time)>>,
}

#[derive(Clone, Debug)]
struct Stretch {
    number: u64,
    instants: Vec<(Time, Time)>,
}

impl Emitted {
    /// Request `k`, planned and begun at these instants.
    #[inline]
    pub fn push(&mut self, k: u64, planned: Time, begun: Time) {
        let number = k / STRETCH;
        if self.leaves_out(number) {
            return;
        }
        let at = match self.stretches.iter().rposition(|stretch| stretch.number == number) {
            Some(at) => at,
            None => {
                if self.stretches.len() == STRETCHES {
                    self.thin();
                    if self.leaves_out(number) {
                        return;
                    }
                }
                let instants = self.spare.pop().unwrap_or_default();
                self.stretches.push(Stretch { number, instants });
                self.stretches.len() - 1
            }
        };
        self.stretches[at].instants.push((planned, begun));
    }

    /// Adds what another thread or share kept of the same plan.
    pub fn absorb(&mut self, mut other: Emitted) {
        while self.thinned < other.thinned {
            self.thin();
        }
        while other.thinned < self.thinned {
            other.thin();
        }
        let mut all: BTreeMap<u64, Vec<(Time, Time)>> =
            self.stretches.drain(..).map(|stretch| (stretch.number, stretch.instants)).collect();
        for stretch in other.stretches {
            all.entry(stretch.number).or_default().extend(stretch.instants);
        }
        self.stretches = all.into_iter().map(|(number, instants)| Stretch { number, instants }).collect();
        while self.stretches.len() > STRETCHES {
            self.thin();
        }
    }

    /// Takes what was begun for `later` (ns) than it says.
    pub fn shift(&mut self, later: i64) {
        for (_, begun) in self.stretches.iter_mut().flat_map(|stretch| &mut stretch.instants) {
            begun.0 = begun.0.saturating_add_signed(later);
        }
    }

    /// The (planned, begun) instants in runs without a hole, each in order of the planned ones.
    pub fn runs(&self) -> Vec<Vec<(Time, Time)>> {
        let mut stretches: Vec<&Stretch> = self.stretches.iter().collect();
        stretches.sort_unstable_by_key(|stretch| stretch.number);
        let mut runs: Vec<Vec<(Time, Time)>> = Vec::new();
        for follow in stretches.chunk_by(|one, next| one.number + 1 == next.number) {
            let mut run: Vec<(Time, Time)> = follow.iter().flat_map(|stretch| &stretch.instants).copied().collect();
            run.sort_unstable();
            runs.push(run);
        }
        runs
    }

    fn leaves_out(&self, number: u64) -> bool {
        number & ((1 << self.thinned) - 1) != 0
    }

    fn thin(&mut self) {
        self.thinned += 1;
        let mask = (1 << self.thinned) - 1;
        for mut stretch in self.stretches.extract_if(.., |stretch| stretch.number & mask != 0) {
            stretch.instants.clear();
            self.spare.push(stretch.instants);
        }
    }
}

/// What goes over a pipe: per stretch the first planned instant, and of each request the planned instant since the one
/// before and the lateness.
#[derive(Serialize, Deserialize)]
struct Packed {
    thinned: u32,
    stretches: Vec<(u64, Vec<(u64, u64)>)>,
}

impl From<Emitted> for Packed {
    fn from(emitted: Emitted) -> Packed {
        let pack = |mut stretch: Stretch| {
            stretch.instants.sort_unstable();
            let mut before = 0;
            let pack = |(planned, begun): (Time, Time)| {
                let step = planned.0 - before;
                before = planned.0;
                (step, begun.saturating_since(planned).0)
            };
            (stretch.number, stretch.instants.into_iter().map(pack).collect())
        };
        Packed { thinned: emitted.thinned, stretches: emitted.stretches.into_iter().map(pack).collect() }
    }
}

impl From<Packed> for Emitted {
    fn from(packed: Packed) -> Emitted {
        let unpack = |(number, steps): (u64, Vec<(u64, u64)>)| {
            let mut planned = Time::ZERO;
            let unpack = |(step, late): (u64, u64)| {
                planned = Time(planned.0.saturating_add(step));
                (planned, Time(planned.0.saturating_add(late)))
            };
            Stretch { number, instants: steps.into_iter().map(unpack).collect() }
        };
        let stretches = packed.stretches.into_iter().map(unpack).collect();
        Emitted { thinned: packed.thinned.min(63), stretches, spare: Vec::new() }
    }
}
