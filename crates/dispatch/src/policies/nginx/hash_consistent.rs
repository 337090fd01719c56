//! `hash KEY consistent`: by the path, on a ring with 160 points per server and unit of weight.
//!
//! The points are CRC-32 of the server's host, a zero byte, its port, and the point before
//! (`ngx_http_upstream_update_chash`), so that servers named as in the configuration (`10.0.0.1:8080`) stand where
//! nginx puts them. The key is the first point at or after its own hash. nginx takes CRC-32 of the key's letters, which
//! no face tells: here the key of the path is spread instead, so that which path goes where is not nginx's. A server
//! that is down, full or was tried is a miss, and the next point is looked at; after more than 20 misses turns decide.

use std::ops::RangeInclusive;

use crc32fast::Hasher;
use sojourn_stats::Stream;

use super::smooth::RoundRobin;
use super::{MISSES, WEIGHTS};
use crate::policies::address_hash::scramble;
use crate::policies::hashed::Layout;
use crate::{Ask, BackendId, Code, Decision, Explanation, Policy, Reason, Signals, State, Table};

const POINTS: u32 = 160;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct HashConsistent {
    ring: Vec<(u32, BackendId)>,
    turns: RoundRobin,
}

/// The points of a server.
fn points(server: &str, count: u32) -> impl Iterator<Item = u32> {
    let (host, port) = match server.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => (host, port),
        _ => (server, ""),
    };
    let mut base = Hasher::new();
    [host.as_bytes(), &[0], port.as_bytes()].into_iter().for_each(|part| base.update(part));
    let following = move |before: &u32| {
        let mut hasher = base.clone();
        hasher.update(&before.to_le_bytes());
        Some(hasher.finalize())
    };
    std::iter::successors(following(&0), following).take(count as usize)
}

impl Layout for HashConsistent {
    const WEIGHTS: RangeInclusive<f64> = WEIGHTS;

    fn hashes(&self) -> Signals {
        Signals::PATH
    }

    fn lay_out(&mut self, table: &Table) {
        self.ring.clear();
        for id in (0..table.len() as u32).map(BackendId) {
            if table.state(id) != State::Left {
                self.ring.extend(points(table.name(id), POINTS * table.weight(id) as u32).map(|point| (point, id)));
            }
        }
        self.ring.sort_by_key(|(point, _)| *point);
        self.ring.dedup_by_key(|(point, _)| *point);
    }

    fn choose(&mut self, ask: &Ask<'_>, stream: &mut Stream) -> Decision {
        if self.ring.is_empty() {
            return self.turns.choose(ask, stream);
        }
        let hash = (scramble(ask.request.key) >> 32) as u32;
        let first = self.ring.partition_point(|(point, _)| *point < hash);
        let mut points = (0..=MISSES as usize).map(|step| self.ring[(first + step) % self.ring.len()].1);
        match points.find(|id| ask.may_choose(*id)) {
            Some(id) => Decision::forward(id, Reason { code: Code::PathHash, ties: 1, value: 0.0 }),
            None => self.turns.choose(ask, stream),
        }
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| {
            let count = self.ring.iter().filter(|(_, owner)| *owner == id).count();
            vec![("points".into(), count as f64)]
        })
    }
}
