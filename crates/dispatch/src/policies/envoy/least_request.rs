//! LEAST_REQUEST: with equal weights the fewest requests of N hosts drawn with repetition, ties to the first drawn;
//! with unequal ones by earliest deadline, where a host weighs weight / (in flight + 1) ^ bias.
//!
//! `source/extensions/load_balancing_policies/least_request/least_request_lb.cc`: `unweightedHostPickNChoices`,
//! `hostWeight`; with `scan = full` the fewest of all, ties drawn (`unweightedHostPickFullScan`). A host's weight is
//! read only when it is picked, before the request is counted, so that a schedule lags behind. Requests that wait for a
//! connection are not counted in Envoy unless a guard says so; here a request is in flight from the choice on.

use std::ops::RangeInclusive;

use sojourn_stats::{Stream, math};

use super::WEIGHTS;
use super::edf::Edf;
use crate::{Ask, BackendId, Code, Decision, Explanation, Index, Policy, Reason, Signals, Table, Ties};

/// See the module.
#[derive(Debug)]
pub(super) struct LeastRequest {
    /// None: all are looked at.
    choices: Option<u32>,
    bias: f64,
    hosts: Vec<BackendId>,
    /// Where weights differ.
    schedule: Option<Edf>,
    membership: u64,
}

impl LeastRequest {
    pub(super) fn new(choices: Option<u32>, bias: f64) -> LeastRequest {
        LeastRequest { choices, bias, hosts: Vec::new(), schedule: None, membership: 0 }
    }

    fn weight(bias: f64, table: &Table, id: BackendId) -> f64 {
        let present = f64::from(table.load(id)) + 1.0;
        match bias {
            1.0 => table.weight(id) / present,
            0.0 => table.weight(id),
            _ => table.weight(id) / math::pow(present, bias),
        }
    }

    #[cold]
    fn refresh(&mut self, table: &Table, stream: &mut Stream) {
        self.membership = table.membership();
        self.hosts.clear();
        self.hosts.extend(table.up().iter().filter(|id| table.weight(**id) > 0.0));
        let is_even = self.hosts.windows(2).all(|pair| table.weight(pair[0]) == table.weight(pair[1]));
        let weight = |id| LeastRequest::weight(self.bias, table, id);
        self.schedule = (!is_even).then(|| Edf::new(&self.hosts, weight, table, stream));
    }
}

impl Policy for LeastRequest {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT
    }

    /// The order serves the full scan.
    fn index(&self) -> Index {
        if self.choices.is_none() { Index::Load } else { Index::None }
    }

    fn ties(&self) -> Ties {
        Ties::Drawn
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

    fn choose(&mut self, ask: &Ask<'_>, stream: &mut Stream) -> Decision {
        let Ask { table, tried, .. } = *ask;
        if self.membership != table.membership() {
            self.refresh(table, stream);
        }
        let is_free = tried.is_empty() && table.full() == 0;
        if self.hosts.is_empty() || !(is_free || self.hosts.iter().any(|id| ask.may_choose(*id))) {
            return Decision::refuse();
        }
        if let Some(schedule) = &mut self.schedule {
            let id = loop {
                let picked = schedule.pick(|id| LeastRequest::weight(self.bias, table, id)).expect("there are hosts");
                if is_free || ask.may_choose(picked) {
                    break picked;
                }
            };
            let value = f64::from(table.load(id)) / table.weight(id);
            return Decision::forward(id, Reason { code: Code::LeastWeighted, ties: 1, value });
        }
        let Some(choices) = self.choices else {
            // Those of weight 0 are none of the hosts: where there are such, all that are left are looked at.
            return match self.hosts.len() == table.up().len() {
                true => Decision::forward_or_refuse(table.least(tried, stream)),
                false => self.scan(ask, stream),
            };
        };
        let mut best: Option<(u32, BackendId)> = None;
        for _ in 0..choices {
            let drawn = loop {
                let drawn = self.hosts[stream.below(self.hosts.len())];
                if is_free || ask.may_choose(drawn) {
                    break drawn;
                }
            };
            if best.is_none_or(|(least, _)| table.load(drawn) < least) {
                best = Some((table.load(drawn), drawn));
            }
        }
        let (load, id) = best.expect("at least one is drawn");
        Decision::forward(id, Reason { code: Code::LeastInFlight, ties: 1, value: f64::from(load) })
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| {
            let load = f64::from(ask.table.load(id));
            vec![("in_flight".into(), load), ("weight".into(), ask.table.weight(id))]
        })
    }
}

impl LeastRequest {
    fn scan(&self, ask: &Ask<'_>, stream: &mut Stream) -> Decision {
        let open = || self.hosts.iter().copied().filter(|id| ask.may_choose(*id));
        let Some(least) = open().map(|id| ask.table.load(id)).min() else { return Decision::refuse() };
        let tied: Vec<BackendId> = open().filter(|id| ask.table.load(*id) == least).collect();
        let id = tied[crate::table::draw(tied.len(), stream)];
        let reason = Reason { code: Code::LeastInFlight, ties: tied.len() as u32, value: f64::from(least) };
        Decision::forward(id, reason)
    }
}
