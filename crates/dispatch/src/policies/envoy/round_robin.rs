//! ROUND_ROBIN: with equal weights each host in turn, from a drawn place on; with unequal ones by earliest deadline.
//!
//! `source/extensions/load_balancing_policies/round_robin/round_robin_lb.h`, and `EdfLoadBalancerBase::refresh` of
//! `common/load_balancer_impl.cc`: the place is a count that goes on when hosts come and go, while a schedule is made
//! anew.

use std::ops::RangeInclusive;

use sojourn_stats::Stream;

use super::WEIGHTS;
use super::edf::Turns;
use crate::{Ask, BackendId, Code, Decision, Explanation, Policy, Reason, Signals, Table};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    hosts: Vec<BackendId>,
    next: Option<usize>,
    /// Where weights differ.
    schedule: Option<Turns>,
    membership: u64,
}

impl Policy for RoundRobin {
    fn requires(&self) -> Signals {
        Signals::empty()
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
        Some(table.parts(|id| table.weight(id)))
    }

    fn choose(&mut self, ask: &Ask<'_>, stream: &mut Stream) -> Decision {
        let table = ask.table;
        if self.membership != table.membership() {
            self.membership = table.membership();
            self.hosts.clear();
            self.hosts.extend(table.up().iter().filter(|id| table.weight(**id) > 0.0));
            let is_even = self.hosts.windows(2).all(|pair| table.weight(pair[0]) == table.weight(pair[1]));
            self.schedule = (!is_even).then(|| Turns::new(&self.hosts, table, stream));
        }
        let is_free = ask.tried.is_empty() && table.full() == 0;
        if self.hosts.is_empty() || !(is_free || self.hosts.iter().any(|id| ask.may_choose(*id))) {
            return Decision::refuse();
        }
        let mut place = *self.next.get_or_insert_with(|| stream.bits() as u32 as usize);
        let id = loop {
            let id = match &mut self.schedule {
                Some(schedule) => schedule.pick().expect("there are hosts"),
                None => {
                    place += 1;
                    self.hosts[(place - 1) % self.hosts.len()]
                }
            };
            if is_free || ask.may_choose(id) {
                break id;
            }
        };
        self.next = Some(place);
        Decision::forward(id, Reason { code: Code::Turn, ties: 1, value: table.weight(id) })
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| vec![("weight".into(), ask.table.weight(id))])
    }
}
