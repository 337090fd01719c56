//! `least_conn`: fewest requests in flight per weight; those that tie take smooth weighted turns among themselves.
//!
//! nginx gives every server a running value. Where several tie, the value of each of these grows by its weight, the largest is
//! chosen (the first of equals) and falls by the sum of the weights of those that tied
//! (`ngx_http_upstream_get_least_conn_peer`). Done literally that is a look at all servers per choice, twice.
//!
//! Here the servers of one value of in flight per weight stand together, and those of one weight among them in a heap. What
//! grows by the same number for all in a heap is kept once for the heap; a server that leaves takes its sum along. A server that
//! has left stays in the heap until it comes to the top. The choices are nginx's, and a choice costs O(log n).

use std::collections::{BTreeMap, BinaryHeap};
use std::ops::RangeInclusive;

use sojourn_stats::{Stream, Time};

use super::WEIGHTS;
use crate::{Ask, BackendId, Code, Decision, Event, Explanation, Policy, Reason, Signals, Table};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct LeastConn {
    servers: Vec<Server>,
    /// By in flight per weight, as bits of a double, which sort as it does: equal shares have equal bits.
    levels: BTreeMap<u64, Level>,
    membership: u64,
    /// What was chosen last and has not been moved yet.
    chosen: Option<BackendId>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Server {
    /// Its running value, without what its heap has grown by since it came in.
    value: i64,
    weight: i64,
    level: Option<u64>,
    /// Counts its moves: an entry of a heap with another number is of the past.
    moves: u32,
}

/// Servers with the same number in flight per weight.
#[derive(Debug, Default)]
struct Level {
    count: u32,
    sum: i64,
    heaps: Vec<Heap>,
}

/// Those of one weight.
#[derive(Debug)]
struct Heap {
    weight: i64,
    grown: i64,
    /// Value without growth, the lowest number first among equals, its moves.
    entries: BinaryHeap<(i64, std::cmp::Reverse<u32>, u32)>,
}

impl Policy for LeastConn {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT
    }

    fn weights(&self) -> RangeInclusive<f64> {
        WEIGHTS
    }

    fn whole_weights(&self) -> bool {
        true
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        self.catch_up(ask.table);
        let found = match ask.tried.is_empty() && ask.table.full() == 0 {
            true => self.first(ask.table),
            false => self.scan(ask),
        };
        self.chosen = found.map(|(id, _)| id);
        Decision::forward_or_refuse(found)
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| {
            let load = f64::from(ask.table.load(id));
            vec![("in_flight".into(), load), ("weight".into(), ask.table.weight(id))]
        })
    }

    fn observe(&mut self, event: &Event, table: &Table, _: Time) {
        self.catch_up(table);
        self.place(event.backend(), table);
    }

    fn reported(&mut self, backend: BackendId, table: &Table, _: Time) {
        self.catch_up(table);
        self.place(backend, table);
    }
}

impl LeastConn {
    fn catch_up(&mut self, table: &Table) {
        if let Some(id) = self.chosen.take() {
            self.place(id, table);
        }
        if self.membership != table.membership() {
            self.membership = table.membership();
            self.servers.resize(table.len(), Server::default());
            (0..table.len() as u32).for_each(|id| self.place(BackendId(id), table));
        }
    }

    /// The first by the orders that are kept.
    fn first(&mut self, table: &Table) -> Option<(BackendId, Reason)> {
        loop {
            let (&key, level) = self.levels.first_key_value()?;
            let ties = level.count;
            if let Some(id) = self.turn(key, table) {
                return Some((id, Reason { code: Code::LeastWeighted, ties, value: f64::from_bits(key) }));
            }
        }
    }

    /// Whose turn it is in a level; none where the level was out of date and has changed.
    fn turn(&mut self, key: u64, table: &Table) -> Option<BackendId> {
        let LeastConn { servers, levels, .. } = self;
        let level = levels.get_mut(&key).expect("it was just looked up");
        // A server alone at its level has no turn to take.
        let (growth, sum) = if level.count > 1 { (1, level.sum) } else { (0, 0) };
        let mut best: Option<(i64, u32, usize)> = None;
        for (at, heap) in level.heaps.iter_mut().enumerate() {
            while heap.entries.peek().is_some_and(|(_, id, moves)| servers[id.0 as usize].moves != *moves) {
                heap.entries.pop();
            }
            let Some(&(value, id, _)) = heap.entries.peek() else { continue };
            heap.grown += growth * heap.weight;
            let value = value + heap.grown;
            if best.is_none_or(|(most, first, _)| value > most || (value == most && id.0 < first)) {
                best = Some((value, id.0, at));
            }
        }
        let (value, id, at) = best.expect("a level has members");
        if share(BackendId(id), table) != Some(key) {
            // A policy around this one has chosen it: it moves now, and no turn was taken.
            level.heaps.iter_mut().filter(|heap| !heap.entries.is_empty()).for_each(|heap| heap.grown -= growth * heap.weight);
            self.place(BackendId(id), table);
            return None;
        }
        let heap = &mut level.heaps[at];
        let server = &mut servers[id as usize];
        server.value = value - sum - heap.grown;
        heap.entries.pop();
        heap.entries.push((server.value, std::cmp::Reverse(id), server.moves));
        Some(BackendId(id))
    }

    /// The same by its definition, where some may not be chosen: a look at every server.
    fn scan(&mut self, ask: &Ask<'_>) -> Option<(BackendId, Reason)> {
        let open = || ask.candidates().filter(|id| ask.table.weight(*id) > 0.0);
        open().for_each(|id| self.place(id, ask.table));
        let key = open().filter_map(|id| share(id, ask.table)).min()?;
        let tied: Vec<u32> = open().filter(|id| share(*id, ask.table) == Some(key)).map(|id| id.0).collect();
        let reason = Reason { code: Code::LeastWeighted, ties: tied.len() as u32, value: f64::from_bits(key) };
        let mut best = (self.value(tied[0]), tied[0]);
        if tied.len() > 1 {
            let sum: i64 = tied.iter().map(|at| self.servers[*at as usize].weight).sum();
            let grown = |at: &u32| (self.value(*at) + self.servers[*at as usize].weight, *at);
            let values: Vec<(i64, u32)> = tied.iter().map(grown).collect();
            let first = values[1..].iter().fold(values[0], |best, one| if one.0 > best.0 { *one } else { best });
            best = (first.0 - sum, first.1);
            for (value, at) in values.into_iter().filter(|(_, at)| *at != best.1).chain([best]) {
                self.set_value(at, value);
            }
        }
        Some((BackendId(best.1), reason))
    }

    /// The running value of a server.
    fn value(&self, at: u32) -> i64 {
        let server = &self.servers[at as usize];
        let heaps = server.level.map(|key| &self.levels[&key].heaps);
        let heap = heaps.and_then(|heaps| heaps.iter().find(|heap| heap.weight == server.weight));
        server.value + heap.map_or(0, |heap| heap.grown)
    }

    /// Gives a server another running value, at the level where it is.
    fn set_value(&mut self, at: u32, value: i64) {
        let level = self.servers[at as usize].level;
        self.take_out(at);
        self.servers[at as usize].value = value;
        if let Some(key) = level {
            self.put(at, key);
        }
    }

    /// Puts a server where its requests in flight and its weight say, if it is not there.
    fn place(&mut self, id: BackendId, table: &Table) {
        let Some(server) = self.servers.get(id.0 as usize).copied() else { return };
        let weight = table.weight(id) as i64;
        let key = share(id, table).filter(|_| table.up().binary_search(&id).is_ok());
        if server.level == key && (server.weight == weight || key.is_none()) {
            return;
        }
        self.take_out(id.0);
        self.servers[id.0 as usize].weight = weight;
        if let Some(key) = key {
            self.put(id.0, key);
        }
    }

    fn take_out(&mut self, at: u32) {
        let value = self.value(at);
        let server = &mut self.servers[at as usize];
        server.value = value;
        server.moves = server.moves.wrapping_add(1);
        let Some(key) = server.level.take() else { return };
        let level = self.levels.get_mut(&key).expect("a server's level is kept");
        level.count -= 1;
        level.sum -= server.weight;
        if level.count == 0 {
            self.levels.remove(&key);
        }
    }

    fn put(&mut self, at: u32, key: u64) {
        let server = &mut self.servers[at as usize];
        let level = self.levels.entry(key).or_default();
        level.count += 1;
        level.sum += server.weight;
        let place = level.heaps.iter().position(|heap| heap.weight == server.weight).unwrap_or_else(|| {
            level.heaps.push(Heap { weight: server.weight, grown: 0, entries: BinaryHeap::new() });
            level.heaps.len() - 1
        });
        let heap = &mut level.heaps[place];
        server.level = Some(key);
        server.value -= heap.grown;
        // What has left the heap is still in it: it is cleared before it is more than half of it.
        if heap.entries.len() > 2 * level.count as usize + 16 {
            heap.entries.retain(|(_, id, moves)| self.servers[id.0 as usize].moves == *moves);
        }
        let server = &self.servers[at as usize];
        heap.entries.push((server.value, std::cmp::Reverse(at), server.moves));
    }
}

/// In flight per weight as the bits of a double. Of whole numbers below 2^26 two quotients are equal if and only if their
/// doubles are: it is what nginx compares crosswise.
fn share(id: BackendId, table: &Table) -> Option<u64> {
    let weight = table.weight(id);
    (weight > 0.0).then(|| (f64::from(table.load(id)) / weight).to_bits())
}
