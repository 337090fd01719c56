//! `ip_hash`: by the first three numbers of the client's IPv4 address.
//!
//! The hash is a remainder of 6,271, and its remainder by the sum of the weights falls into the share of a server
//! (`ngx_http_upstream_get_ip_hash_peer`). One that is down, full or was tried is a miss, and the hash goes on from
//! there; after more than 20 misses turns decide. A face that does not tell addresses refuses this policy.

use std::ops::RangeInclusive;

use sojourn_stats::Stream;

use super::smooth::RoundRobin;
use super::{MISSES, WEIGHTS};
use crate::policies::hashed::Layout;
use crate::{Ask, BackendId, Code, Decision, Explanation, Policy, Reason, Signals, State, Table};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct IpHash {
    /// Where the share of each server ends, of all that have not left.
    ends: Vec<(u64, BackendId)>,
    turns: RoundRobin,
}

impl Layout for IpHash {
    const WEIGHTS: RangeInclusive<f64> = WEIGHTS;

    fn hashes(&self) -> Signals {
        Signals::ORIGIN
    }

    fn lay_out(&mut self, table: &Table) {
        self.ends.clear();
        let mut sum = 0;
        for id in (0..table.len() as u32).map(BackendId) {
            if table.state(id) != State::Left && table.weight(id) > 0.0 {
                sum += table.weight(id) as u64;
                self.ends.push((sum, id));
            }
        }
    }

    fn choose(&mut self, ask: &Ask<'_>, stream: &mut Stream) -> Decision {
        if self.ends.len() < 2 {
            return self.turns.choose(ask, stream);
        }
        let [a, b, c, _] = ask.request.origin.address.map_or([0; 4], |address| address.octets());
        let sum = self.ends.last().map_or(1, |(end, _)| *end);
        let mut hash = 89;
        for _ in 0..=MISSES {
            hash = [a, b, c].into_iter().fold(hash, |hash: u64, number| (hash * 113 + u64::from(number)) % 6271);
            let point = hash % sum;
            let (_, id) = self.ends[self.ends.partition_point(|(end, _)| *end <= point)];
            if ask.may_choose(id) {
                return Decision::forward(id, Reason { code: Code::Hash, ties: 1, value: 0.0 });
            }
        }
        self.turns.choose(ask, stream)
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| vec![("weight".into(), ask.table.weight(id))])
    }
}
