//! `random` and `random two`: drawn in proportion to weights.
//!
//! `random two` draws two different servers and takes the one with fewer requests for its weight, the second if they
//! tie (`ngx_http_upstream_get_random2_peer`). A draw of one that is down, full, was tried or is drawn already is a
//! miss; after more than 20 misses turns decide. The draw is a number below the sum of the weights, and a search among
//! running sums.

use std::ops::RangeInclusive;

use sojourn_stats::Stream;

use super::smooth::RoundRobin;
use super::{MISSES, WEIGHTS};
use crate::{Ask, BackendId, Code, Decision, Explanation, Policy, Reason, Signals, State, Table};

/// See the module.
#[derive(Debug)]
pub(super) struct Random {
    draws: usize,
    /// Where the share of each server ends, of all that have not left.
    ends: Vec<u64>,
    servers: Vec<BackendId>,
    /// Weight of all, if they have the same one.
    even: Option<u64>,
    membership: u64,
    turns: RoundRobin,
}

impl Random {
    pub(super) fn new(draws: usize) -> Random {
        Random { draws, ends: Vec::new(), servers: Vec::new(), even: None, membership: 0, turns: RoundRobin::default() }
    }

    #[cold]
    fn rebuild(&mut self, table: &Table) {
        let all = (0..table.len() as u32).map(BackendId);
        let listed = all.filter(|id| table.state(*id) != State::Left && table.weight(*id) > 0.0);
        self.servers = listed.collect();
        let weights: Vec<u64> = self.servers.iter().map(|id| table.weight(*id) as u64).collect();
        self.even = weights.first().copied().filter(|first| weights.iter().all(|weight| weight == first));
        self.ends =
            weights.iter().scan(0, |sum, weight| Some(std::mem::replace(sum, *sum + weight) + weight)).collect();
    }

    #[inline]
    fn draw(&self, stream: &mut Stream) -> BackendId {
        let point = stream.below(self.ends.last().map_or(1, |sum| *sum as usize)) as u64;
        self.servers[match self.even {
            Some(1) => point as usize,
            Some(weight) => (point / weight) as usize,
            None => self.ends.partition_point(|end| *end <= point),
        }]
    }
}

impl Policy for Random {
    fn requires(&self) -> Signals {
        if self.draws > 1 { Signals::IN_FLIGHT } else { Signals::empty() }
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
        (self.draws == 1).then(|| table.parts(|id| table.weight(id)))
    }

    fn choose(&mut self, ask: &Ask<'_>, stream: &mut Stream) -> Decision {
        let Ask { table, tried, .. } = *ask;
        if self.membership != table.membership() {
            self.membership = table.membership();
            self.rebuild(table);
        }
        if self.servers.len() < 2 {
            return self.turns.choose(ask, stream);
        }
        let per_weight = |id: BackendId| f64::from(table.load(id)) / table.weight(id);
        let (mut misses, mut first) = (0, None);
        while misses <= MISSES {
            let drawn = self.draw(stream);
            if first == Some(drawn) || !table.is_eligible(drawn) || (!tried.is_empty() && tried.contains(&drawn)) {
                misses += 1;
                continue;
            }
            let Some(before) = first else {
                if self.draws == 1 {
                    let ties = self.servers.len() as u32;
                    return Decision::forward(drawn, Reason { code: Code::Drawn, ties, value: 0.0 });
                }
                first = Some(drawn);
                continue;
            };
            // Crosswise, as nginx has it; whole numbers, so exact.
            let load = |id| f64::from(table.load(id));
            let is_more = load(drawn) * table.weight(before) > load(before) * table.weight(drawn);
            let id = if is_more { before } else { drawn };
            return Decision::forward(id, Reason { code: Code::LeastWeighted, ties: 1, value: per_weight(id) });
        }
        self.turns.choose(ask, stream)
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| {
            let load = if self.draws > 1 { f64::from(ask.table.load(id)) } else { 0.0 };
            vec![("in_flight".into(), load), ("weight".into(), ask.table.weight(id))]
        })
    }
}
