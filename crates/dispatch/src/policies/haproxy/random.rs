//! `random(N)`: of N servers drawn on the ring, the one with the fewest requests for its weight; a tie goes to the
//! later draw.
//!
//! Each draw is a number of 32 bits, and falls to the nearest point of the ring (`src/backend.c`: `get_server_rnd`).
//! With a weight of 1 a server has 16 points only, and shares are far from even: of four servers 28.9, 18.5, 24.3 and
//! 28.3 %. A server may be drawn twice. If the winner is full, the request is refused, where HAProxy puts it into
//! the backend's queue: that is for the face to do.
//!
//! The numbers come from the stream. With `numbers = own` they are HAProxy's own from its start on, as 2.4 to 2.6 draw
//! them in one thread: for comparisons with the product, never for more than one run.

use std::ops::RangeInclusive;

use sojourn_stats::Stream;

use super::WEIGHTS;
use super::ring::Ring;
use crate::policies::product::Version;
use crate::{Ask, BackendId, Code, Decision, Explanation, Policy, Reason, Signals, Table};

/// Where the generator of the first thread begins (`statistical_prng_state`).
pub(super) const FIRST_STATE: u32 = 2_463_534_242;
/// From here on it begins anywhere; the later releases of 2.8 do.
pub(super) const FROM_ENTROPY: Version = (2, 7);

/// See the module.
#[derive(Debug)]
pub(super) struct Random {
    draws: u32,
    /// State of HAProxy's own generator.
    own: Option<u32>,
    ring: Ring,
}

impl Random {
    pub(super) fn new(draws: u32, own: Option<u32>) -> Random {
        Random { draws, own, ring: Ring::default() }
    }
}

impl Policy for Random {
    fn requires(&self) -> Signals {
        if self.draws > 1 { Signals::IN_FLIGHT } else { Signals::empty() }
    }

    fn weighs(&self) -> bool {
        true
    }

    fn weights(&self) -> RangeInclusive<f64> {
        WEIGHTS
    }

    fn whole_weights(&self) -> bool {
        true
    }

    fn listens(&self) -> bool {
        false
    }

    fn shares(&self, table: &Table) -> Option<Vec<f64>> {
        if self.draws > 1 {
            return None;
        }
        let mut ring = Ring::default();
        ring.refresh(table);
        Some(ring.shares(table.len()))
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        self.ring.refresh(ask.table);
        let Ask { table, tried, .. } = *ask;
        let mut best: Option<BackendId> = None;
        for _ in 0..self.draws {
            let number = match &mut self.own {
                Some(state) => xorshift(state),
                None => (draw.bits() >> 32) as u32,
            };
            let drawn = self.ring.nearest(number, |id| !tried.is_empty() && tried.contains(&id));
            let Some(drawn) = drawn else { return Decision::refuse() };
            best = Some(match best {
                Some(before) if before != drawn && weighs_more(ask, drawn, before) => before,
                _ => drawn,
            });
        }
        match best.filter(|id| table.is_eligible(*id)) {
            Some(id) if self.draws > 1 => {
                let value = f64::from(table.load(id)) / table.weight(id);
                Decision::forward(id, Reason { code: Code::LeastWeighted, ties: 1, value })
            }
            Some(id) => {
                let ties = table.up().len() as u32;
                Decision::forward(id, Reason { code: Code::Drawn, ties, value: 0.0 })
            }
            None => Decision::refuse(),
        }
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| {
            let load = if self.draws > 1 { f64::from(ask.table.load(id)) } else { 0.0 };
            vec![("in_flight".into(), load), ("share_of_a_draw".into(), self.ring.share(id))]
        })
    }
}

/// Whether `one` has more requests for its weight than `other`.
#[inline]
fn weighs_more(ask: &Ask<'_>, one: BackendId, other: BackendId) -> bool {
    let load = |id| f64::from(ask.table.load(id));
    load(one) * ask.table.weight(other) > load(other) * ask.table.weight(one)
}

/// Marsaglia's generator of 32 bits (Xorshift RNGs, 2003), as HAProxy has it (`statistical_prng`).
pub(super) fn xorshift(state: &mut u32) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    *state
}
