//! `least_conn`: fewest requests in flight per weight; those that tie take smooth weighted turns among themselves.
//!
//! nginx gives every server a running value. Where several tie, the value of each of these grows by its weight, the
//! largest is chosen (the first of equals) and falls by the sum of the weights of those that tied
//! (`ngx_http_upstream_get_least_conn_peer`). Done literally that is a look at all servers per choice, twice.
//!
//! Here the servers of one value of in flight per weight stand together, and those of one weight among them in a heap.
//! What grows by the same number for all in a heap is kept once for the heap; a server that leaves takes its sum along.
//! A server that has left stays in the heap until it comes to the top. The choices are nginx's, and a choice costs
//! O(log n).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::RangeInclusive;

use sojourn_stats::{Stream, Time};

use super::WEIGHTS;
use crate::{Ask, BackendId, Code, Decision, Event, Explanation, Policy, Reason, Signals, State, Table};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct LeastConn {
    servers: Vec<Server>,
    /// Place of the level by in flight per weight, as bits of a double, which sort as it does: equal shares have equal
    /// bits.
    order: BTreeMap<u64, usize>,
    levels: Vec<Level>,
    /// Places of levels without servers.
    free: Vec<usize>,
    membership: u64,
    /// What was chosen last: it is not in its heap, and has not been moved yet.
    chosen: Option<BackendId>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Server {
    /// Its running value, without what its heap has grown by since it came in.
    value: i64,
    weight: i64,
    /// Where it is: the level and the heap.
    place: Option<(usize, usize)>,
    /// Counts its moves: an entry of a heap with another number is of the past.
    moves: u32,
}

/// Servers with the same number in flight per weight.
#[derive(Debug, Default)]
struct Level {
    key: u64,
    count: u32,
    sum: i64,
    heaps: Vec<Heap>,
}

/// Those of one weight.
#[derive(Debug)]
struct Heap {
    weight: i64,
    grown: i64,
    entries: BinaryHeap<Entry>,
}

/// Value without growth, the lowest number first among equals, its moves.
type Entry = (i64, Reverse<u32>, u32);

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
            let moves = self.servers[id.0 as usize].moves;
            self.place(id, table);
            if self.servers[id.0 as usize].moves == moves {
                self.push(id.0);
            }
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
            let (&key, &level) = self.order.first_key_value()?;
            let ties = self.levels[level].count;
            if let Some(id) = self.turn(level, table) {
                return Some((id, Reason { code: Code::LeastWeighted, ties, value: f64::from_bits(key) }));
            }
        }
    }

    /// Whose turn it is in a level; none where the level was out of date and has changed.
    fn turn(&mut self, level: usize, table: &Table) -> Option<BackendId> {
        let Level { key, count, sum, heaps } = &mut self.levels[level];
        // A server alone at its level has no turn to take.
        let (growth, sum) = if *count > 1 { (1, *sum) } else { (0, 0) };
        let mut best: Option<(i64, u32, usize)> = None;
        for (at, heap) in heaps.iter_mut().enumerate() {
            while heap.entries.peek().is_some_and(|(_, id, moves)| self.servers[id.0 as usize].moves != *moves) {
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
        if share(BackendId(id), table) != Some(*key) {
            // A policy around this one has chosen it: it moves now, and no turn was taken.
            let grown = heaps.iter_mut().filter(|heap| !heap.entries.is_empty());
            grown.for_each(|heap| heap.grown -= growth * heap.weight);
            self.place(BackendId(id), table);
            return None;
        }
        // Its entry would be of the past when it moves, which it nearly always does.
        heaps[at].entries.pop();
        let server = &mut self.servers[id as usize];
        server.moves = server.moves.wrapping_add(1);
        server.value = value - sum - heaps[at].grown;
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
        server.value + server.place.map_or(0, |(level, heap)| self.levels[level].heaps[heap].grown)
    }

    /// Gives a server another running value, where it is.
    fn set_value(&mut self, at: u32, value: i64) {
        let server = &mut self.servers[at as usize];
        if let Some((level, heap)) = server.place {
            server.value = value - self.levels[level].heaps[heap].grown;
            server.moves = server.moves.wrapping_add(1);
            self.push(at);
        }
    }

    /// Puts a server where its requests in flight and its weight say, if it is not there.
    #[inline]
    fn place(&mut self, id: BackendId, table: &Table) {
        let Some(server) = self.servers.get(id.0 as usize).copied() else { return };
        let is_up = table.state(id) == State::Up;
        let (weight, key) = (table.weight(id) as i64, share(id, table).filter(|_| is_up));
        let present = server.place.map(|(level, _)| self.levels[level].key);
        if present == key && (server.weight == weight || key.is_none()) {
            return;
        }
        self.take_out(id.0);
        self.servers[id.0 as usize].weight = weight;
        if let Some(key) = key {
            self.put(id.0, key);
        }
    }

    fn take_out(&mut self, at: u32) {
        let server = &mut self.servers[at as usize];
        let Some((place, heap)) = server.place.take() else { return };
        let level = &mut self.levels[place];
        server.value += level.heaps[heap].grown;
        server.moves = server.moves.wrapping_add(1);
        level.count -= 1;
        level.sum -= server.weight;
        if level.count == 0 {
            self.order.remove(&level.key);
            // What the heaps have allocated is kept for another level, unless weights are many.
            if level.heaps.len() > 8 {
                level.heaps.clear();
            }
            level.heaps.iter_mut().for_each(|heap| heap.entries.clear());
            self.free.push(place);
        }
    }

    fn put(&mut self, at: u32, key: u64) {
        let LeastConn { servers, order, levels, free, .. } = self;
        let server = &mut servers[at as usize];
        let place = *order.entry(key).or_insert_with(|| match free.pop() {
            Some(place) => {
                levels[place].key = key;
                place
            }
            None => {
                levels.push(Level { key, ..Level::default() });
                levels.len() - 1
            }
        });
        let level = &mut levels[place];
        level.count += 1;
        level.sum += server.weight;
        let heap = level.heaps.iter().position(|heap| heap.weight == server.weight).unwrap_or_else(|| {
            level.heaps.push(Heap { weight: server.weight, grown: 0, entries: BinaryHeap::new() });
            level.heaps.len() - 1
        });
        server.place = Some((place, heap));
        server.value -= level.heaps[heap].grown;
        self.push(at);
    }

    /// Puts the entry of a server into its heap.
    #[inline]
    fn push(&mut self, at: u32) {
        let LeastConn { servers, levels, .. } = self;
        let server = &servers[at as usize];
        let Some((level, heap)) = server.place else { return };
        let Level { count, heaps, .. } = &mut levels[level];
        let entries = &mut heaps[heap].entries;
        entries.push((server.value, Reverse(at), server.moves));
        // What has left is still in there, and is cleared away before it is most of it.
        if entries.len() > 2 * *count as usize + 64 {
            entries.retain(|(_, id, moves)| servers[id.0 as usize].moves == *moves);
        }
    }
}

/// In flight per weight as the bits of a double. Of whole numbers below 2^26 two quotients are equal if and only if
/// their doubles are: it is what nginx compares crosswise.
#[inline]
fn share(id: BackendId, table: &Table) -> Option<u64> {
    let weight = table.weight(id);
    (weight > 0.0).then(|| (f64::from(table.load(id)) / weight).to_bits())
}
