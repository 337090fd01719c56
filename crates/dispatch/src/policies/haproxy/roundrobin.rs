//! `roundrobin`: each server has a next position, and moves on by the sum of all weights over its own.
//!
//! Three trees (`src/lb_fwrr.c`): servers that have not been placed yet, heaviest first; those of the present round by
//! position; and those of the next round, heaviest first. A choice takes the first of the present round if its position
//! has come, else the heaviest that is not placed; a remainder of the division is carried along. A server that is full
//! or was tried is moved on as if it had been chosen, and put back.
//!
//! HAProxy's trees cost O(log n). Servers of one weight come in the order of their positions, so that here each weight
//! has a queue, and a choice costs as many looks as there are *different* weights.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use sojourn_stats::Stream;

use super::WEIGHTS;
use crate::{Ask, BackendId, Code, Decision, Explanation, Policy, Reason, Signals, Table};

/// Inside, weights are so many times as fine (`BE_WEIGHT_SCALE`).
const SCALE: i64 = 16;
/// The largest weight inside (`SRV_EWGHT_MAX`).
const LARGEST: i64 = 256 * SCALE;
/// A position in a key (`SRV_UWGHT_RANGE`).
const RANGE: i64 = 256;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    servers: Vec<Server>,
    /// By weight, the heaviest first.
    classes: Vec<Class>,
    position: i64,
    /// Sum of the weights in the present round.
    weight: i64,
    /// Sum of the weights now.
    next_weight: i64,
    /// Which of the two trees by weight holds those that are not placed; the other one is the next round's.
    init: usize,
    /// Counts insertions: of equal keys the older comes first.
    inserted: u64,
    membership: u64,
    /// Passed over in the present choice.
    passed: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Server {
    weight: i64,
    next: i64,
    remainder: i64,
    tree: Tree,
    class: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tree {
    #[default]
    None,
    /// One of the two by weight.
    ByWeight(usize),
    Present,
}

/// Servers of one weight.
#[derive(Debug)]
struct Class {
    weight: i64,
    by_weight: [VecDeque<u32>; 2],
    /// Key, number of the insertion, server; in this order.
    present: VecDeque<(i64, u64, u32)>,
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

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        if self.membership != ask.table.membership() {
            self.membership = ask.table.membership();
            self.update(ask.table);
        }
        let is_open = ask.tried.is_empty() && ask.table.full() == 0;
        let chosen = self.next(|id| is_open || ask.may_choose(id));
        let reason = |id: BackendId| Reason { code: Code::Turn, ties: 1, value: ask.table.weight(id) };
        Decision::forward_or_refuse(chosen.map(|id| (id, reason(id))))
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| {
            let next = self.servers.get(id.0 as usize).map_or(0, |server| server.next);
            vec![("weight".into(), ask.table.weight(id)), ("position".into(), next as f64)]
        })
    }
}

impl RoundRobin {
    /// The next server that may be chosen (`fwrr_get_next_server`).
    fn next(&mut self, may_choose: impl Fn(BackendId) -> bool) -> Option<BackendId> {
        let mut has_switched = false;
        self.passed.clear();
        if self.weight == 0 {
            (self.position, self.weight) = (self.next_weight, self.next_weight);
        }
        let chosen = loop {
            let Some(at) = self.take_first() else {
                if has_switched {
                    break None;
                }
                has_switched = true;
                self.init = 1 - self.init;
                (self.weight, self.position) = (self.next_weight, self.next_weight);
                continue;
            };
            self.move_on(at);
            self.position += 1;
            if may_choose(BackendId(at)) {
                self.put(at);
                break Some(BackendId(at));
            }
            self.passed.push(at);
        };
        while let Some(at) = self.passed.pop() {
            // After a switch its place is lost, and only its weight matters.
            if has_switched { self.put_by_weight(at, self.init) } else { self.put(at) }
        }
        chosen
    }

    /// Takes out the first server whose position has come, else the heaviest that is not placed, else the first at all
    /// (`fwrr_get_server_from_group`).
    #[inline]
    fn take_first(&mut self) -> Option<u32> {
        let mut first: Option<(i64, u64, u32, usize)> = None;
        for (place, class) in self.classes.iter().enumerate() {
            if let Some(&(key, inserted, at)) = class.present.front()
                && first.is_none_or(|(least, older, ..)| (key, inserted) < (least, older))
            {
                first = Some((key, inserted, at, place));
            }
        }
        let has_come = first.is_some_and(|(.., at, _)| self.servers[at as usize].next <= self.position);
        if !has_come {
            let init = self.init;
            let heaviest = self.classes.iter_mut().find_map(|class| class.by_weight[init].pop_front());
            if let Some(at) = heaviest {
                let server = &mut self.servers[at as usize];
                (server.next, server.remainder, server.tree) = (0, 0, Tree::None);
                return Some(at);
            }
        }
        let (.., at, place) = first?;
        self.classes[place].present.pop_front();
        self.servers[at as usize].tree = Tree::None;
        Some(at)
    }

    /// `fwrr_update_position`.
    fn move_on(&mut self, at: u32) {
        let (position, sum) = (self.position, self.next_weight);
        let server = &mut self.servers[at as usize];
        if server.next == 0 {
            server.next = position; // it was never placed
        }
        server.next += sum / server.weight;
        server.remainder += sum % server.weight;
        if server.remainder >= server.weight {
            server.remainder -= server.weight;
            server.next += 1;
        }
    }

    /// Takes out a server that is anywhere.
    fn take_out(&mut self, at: u32) {
        let server = &mut self.servers[at as usize];
        match std::mem::take(&mut server.tree) {
            Tree::None => {}
            Tree::ByWeight(which) => self.classes[server.class].by_weight[which].retain(|other| *other != at),
            Tree::Present => self.classes[server.class].present.retain(|(.., other)| *other != at),
        }
    }

    /// Into the present round, or the next one if it does not fit (`fwrr_queue_srv`).
    fn put(&mut self, at: u32) {
        let server = &mut self.servers[at as usize];
        if server.next >= (2 * self.weight).min(self.weight + self.next_weight) {
            server.next -= self.weight;
            return self.put_by_weight(at, 1 - self.init);
        }
        server.tree = Tree::Present;
        let key = RANGE * server.next + (LARGEST + server.remainder - server.weight) / SCALE;
        self.inserted += 1;
        let queue = &mut self.classes[server.class].present;
        if queue.back().is_none_or(|(last, ..)| *last <= key) {
            return queue.push_back((key, self.inserted, at));
        }
        let place = queue.partition_point(|(other, ..)| *other <= key);
        queue.insert(place, (key, self.inserted, at));
    }

    fn put_by_weight(&mut self, at: u32, which: usize) {
        let server = &mut self.servers[at as usize];
        server.tree = Tree::ByWeight(which);
        self.classes[server.class].by_weight[which].push_back(at);
    }

    /// Takes in who has come, has gone or has another weight (`fwrr_set_server_status_up`, `_down`).
    #[cold]
    fn update(&mut self, table: &Table) {
        let is_first = self.servers.is_empty();
        self.servers.resize(table.len(), Server::default());
        let weight = |id: u32| match table.up().binary_search(&BackendId(id)) {
            Ok(_) => (SCALE as f64 * table.weight(BackendId(id))) as i64,
            Err(_) => 0,
        };
        for at in 0..table.len() as u32 {
            let before = self.servers[at as usize].weight;
            if before != weight(at) {
                self.take_out(at);
                self.next_weight -= before;
                self.servers[at as usize].weight = 0;
            }
        }
        for at in 0..table.len() as u32 {
            let weight = weight(at);
            if self.servers[at as usize].weight == weight {
                continue;
            }
            if weight == 0 {
                continue;
            }
            let class = self.class(weight);
            self.next_weight += weight;
            let next = self.position + (self.next_weight + self.weight - self.position) / weight;
            let remainder = self.servers[at as usize].remainder;
            self.servers[at as usize] = Server { weight, next, remainder, tree: Tree::None, class };
            if is_first { self.put_by_weight(at, self.init) } else { self.put(at) }
        }
        if is_first {
            (self.position, self.weight) = (self.next_weight, self.next_weight);
        }
    }

    /// The place of the class of this weight, which is made if there is none.
    fn class(&mut self, weight: i64) -> usize {
        if let Some(place) = self.classes.iter().position(|class| class.weight == weight) {
            return place;
        }
        let place = self.classes.partition_point(|class| class.weight > weight);
        self.classes.insert(place, Class { weight, by_weight: Default::default(), present: VecDeque::new() });
        self.servers.iter_mut().filter(|server| server.class >= place).for_each(|server| server.class += 1);
        place
    }
}
