//! MAGLEV: the place of the path's hash in a table that the hosts have filled in turn, each by its own permutation.
//!
//! `source/extensions/load_balancing_policies/maglev/maglev_lb.cc`, after Eisenbud et al., Maglev: a fast and reliable
//! software network load balancer, NSDI 2016, section 3.4: hosts in the order of their names, which give offset and
//! skip by xxHash64; a host of weight w takes part in w of the rounds of the heaviest one. A retry asks the table for
//! the hash with other bits.
//!
//! The hash is as in `ring-hash`: the key of the path spread, or with `key = hash` the key itself.

use std::ops::RangeInclusive;

use sojourn_stats::Stream;
use twox_hash::XxHash64;

use super::WEIGHTS;
use crate::policies::address_hash::scramble;
use crate::policies::hashed::Layout;
use crate::{Ask, BackendId, Code, Decision, Explanation, Reason, Signals, Table};

/// See the module.
#[derive(Debug)]
pub(super) struct Maglev {
    size: usize,
    is_hashed: bool,
    places: Vec<BackendId>,
}

struct Host {
    id: BackendId,
    offset: u64,
    skip: u64,
    weight: f64,
    target: f64,
    next: u64,
}

const NO_HOST: BackendId = BackendId(u32::MAX);

impl Maglev {
    pub(super) fn new(size: usize, is_hashed: bool) -> Maglev {
        Maglev { size, is_hashed, places: Vec::new() }
    }
}

impl Layout for Maglev {
    const WEIGHTS: RangeInclusive<f64> = WEIGHTS;

    fn hashes(&self) -> Signals {
        Signals::PATH
    }

    fn lay_out(&mut self, table: &Table) {
        self.places.clear();
        let size = self.size as u64;
        let mut named: Vec<BackendId> = table.up().iter().copied().filter(|id| table.weight(*id) > 0.0).collect();
        named.sort_by_key(|id| table.name(*id));
        let sum: f64 = named.iter().map(|id| table.weight(*id)).sum();
        let host = |id: &BackendId| {
            let hash = |seed| XxHash64::oneshot(seed, table.name(*id).as_bytes());
            let (offset, skip) = (hash(0) % size, hash(1) % (size - 1) + 1);
            Host { id: *id, offset, skip, weight: table.weight(*id) / sum, target: 0.0, next: 0 }
        };
        let mut hosts: Vec<Host> = named.iter().map(host).collect();
        let heaviest = hosts.iter().map(|host| host.weight).fold(0.0, f64::max);
        if hosts.is_empty() {
            return;
        }
        self.places.resize(self.size, NO_HOST);
        let mut filled = 0;
        for round in 1_u64.. {
            for host in &mut hosts {
                if filled == self.size {
                    return;
                }
                if round as f64 * host.weight < host.target {
                    continue;
                }
                host.target += heaviest;
                let place = loop {
                    let place = ((host.offset + host.skip * host.next) % size) as usize;
                    host.next += 1;
                    if self.places[place] == NO_HOST {
                        break place;
                    }
                };
                self.places[place] = host.id;
                filled += 1;
            }
        }
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        if self.places.is_empty() {
            return Decision::refuse();
        }
        let hash = if self.is_hashed { ask.request.key } else { scramble(ask.request.key) };
        let place = |attempt: u64| {
            let hash = if attempt > 0 { hash ^ (u64::MAX - attempt + 1) } else { hash };
            self.places[(hash % self.size as u64) as usize]
        };
        // A host that is there for few places may be missed by all attempts; then the next ones of the table are looked at.
        let attempts = (0..=64).map(place);
        let first = (hash % self.size as u64) as usize;
        let others = (0..self.size).map(|step| self.places[(first + step) % self.size]);
        let found = attempts.chain(others).find(|id| ask.may_choose(*id));
        Decision::forward_or_refuse(found.map(|id| (id, Reason { code: Code::PathHash, ties: 1, value: 0.0 })))
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| {
            let count = self.places.iter().filter(|owner| **owner == id).count();
            vec![("places".into(), count as f64)]
        })
    }
}
