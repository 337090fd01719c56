//! `leastconn` since 3.2: the servers of a key stand in four lists.
//!
//! A server whose key changes is put at the end of a list drawn for it. A choice takes the smallest key and looks at
//! the first server of each of its lists, from one drawn on; only the first of a list is looked at (`src/lb_fwlc.c` of
//! 3.2: `fwlc_queue_srv`, `fwlc_get_next_server`, `FWLC_LISTS_NB`). That HAProxy passes over a server with more than
//! two requests above its key can happen between threads only. Where it finds none of the first ones free it puts the
//! request into a queue; here the others of the lists are looked at then.
//!
//! The numbers are HAProxy's generator, started by the stream.

use std::ops::RangeInclusive;

use sojourn_stats::{Stream, Time};

use super::WEIGHTS;
use super::random::xorshift;
use crate::index::Queues;
use crate::table::next_per_weight;
use crate::{Ask, BackendId, Code, Decision, Event, Explanation, Policy, Reason, Signals, Table};

const LISTS: u64 = 4;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct LeastConnOfLists {
    /// By key and list: four numbers to a key.
    queues: Queues,
    /// State of the generator; 0 until the first choice starts it.
    state: u32,
    membership: u64,
    /// What was chosen last and has not been moved yet.
    chosen: Option<BackendId>,
}

impl LeastConnOfLists {
    /// One of the lists (`statistical_prng_range`).
    fn list(&mut self) -> u64 {
        (u64::from(xorshift(&mut self.state)) * LISTS) >> 32
    }

    /// Moves a server whose key has changed.
    fn reposition(&mut self, id: BackendId, table: &Table) {
        let key = next_per_weight(table.load(id), table.weight(id)).filter(|_| table.up().binary_search(&id).is_ok());
        match key {
            None => self.queues.remove(id.0),
            Some(key) if self.queues.key(id.0).map(|place| place / LISTS) == Some(key) => {}
            Some(key) => {
                let list = self.list();
                self.queues.set(id.0, key * LISTS + list);
            }
        }
    }

    fn catch_up(&mut self, table: &Table) {
        if let Some(id) = self.chosen.take() {
            self.reposition(id, table);
        }
        if self.membership != table.membership() {
            self.membership = table.membership();
            (0..table.len() as u32).for_each(|id| self.reposition(BackendId(id), table));
        }
    }

    /// The first server of a list of the smallest key that has one that may be chosen.
    fn find(&mut self, ask: &Ask<'_>) -> Option<(u64, BackendId)> {
        let mut from = 0;
        while let Some(key) = self.queues.next_key(from).map(|place| place / LISTS) {
            let start = self.list();
            let places = (0..LISTS).map(|step| key * LISTS + (start + step) % LISTS);
            let heads = places.filter_map(|place| self.queues.of(place).next().map(BackendId));
            // A policy around this one may have chosen too: then a key is out of date, and moves now.
            let stale = |id: &BackendId| next_per_weight(ask.table.load(*id), ask.table.weight(*id)) != Some(key);
            match heads.clone().find(stale) {
                Some(id) => self.reposition(id, ask.table),
                None => match heads.clone().find(|id| ask.may_choose(*id)) {
                    Some(id) => return Some((key, id)),
                    None => from = (key + 1) * LISTS,
                },
            }
        }
        let any = self.queues.members().map(BackendId).find(|id| ask.may_choose(*id))?;
        Some((self.queues.key(any.0).map_or(0, |place| place / LISTS), any))
    }
}

impl Policy for LeastConnOfLists {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT
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

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        if self.state == 0 {
            self.state = (draw.bits() as u32) | 1;
        }
        self.catch_up(ask.table);
        match self.find(ask) {
            None => Decision::refuse(),
            Some((key, id)) => {
                self.chosen = Some(id);
                Decision::forward(id, Reason { code: Code::LeastNextWeighted, ties: 1, value: key as f64 })
            }
        }
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let key =
            |id| next_per_weight(ask.table.load(id), ask.table.weight(id)).map_or(f64::INFINITY, |key| key as f64);
        Explanation::of(ask.candidates(), |id| {
            vec![("in_flight".into(), f64::from(ask.table.load(id))), ("key".into(), key(id))]
        })
    }

    fn observe(&mut self, event: &Event, table: &Table, _: Time) {
        self.catch_up(table);
        self.reposition(event.backend(), table);
    }

    fn reported(&mut self, backend: BackendId, table: &Table, _: Time) {
        self.catch_up(table);
        self.reposition(backend, table);
    }
}
