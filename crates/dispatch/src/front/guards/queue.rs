//! The queue of a decider, and its circuit breakers.
//!
//! A request that finds all servers full waits, and the oldest goes to the first that has room, as HAProxy's do
//! (`process_srv_queue` in its `src/queue.c`). It waits no longer than `wait` (HAProxy's `timeout queue`), and no more than
//! `most` wait (Envoy's `max_pending_requests`; HAProxy's `maxqueue`). What is more, or waits longer, is refused.
//!
//! A breaker counts requests that are in flight or wait, and retries that are in flight: Envoy's `max_requests` and
//! `max_retries`, with its defaults. A retry is what is sent on after another server has failed at it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use crate::BackendId;

/// How requests wait where all servers are full.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Queue {
    /// Most requests that wait; 0: as many as come.
    pub most: u32,
    /// How long one waits; none: until it is served or its client goes away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
}

/// What is refused as too much; 0: nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Breakers {
    /// Most requests in flight and waiting.
    pub requests: u32,
    /// Most retries in flight.
    pub retries: u32,
}

impl Default for Breakers {
    fn default() -> Breakers {
        Breakers { requests: 1024, retries: 3 }
    }
}

impl Queue {
    pub(super) fn check(&self, has_limit: bool) -> Result<(), String> {
        match self.wait {
            _ if !has_limit => Err("nothing is ever full: add a `limit`, or `concurrency`".into()),
            Some(Span::ZERO) => Err("wait: some time, e.g. `2 s`; leave it out for no end".into()),
            _ => Ok(()),
        }
    }
}

impl Breakers {
    pub(super) const NONE: Breakers = Breakers { requests: 0, retries: 0 };

    pub(super) fn check(&self) -> Result<(), String> {
        if *self == Breakers::NONE { Err("both are 0, which is off: leave it out".into()) } else { Ok(()) }
    }
}

/// Those that wait, in the order in which they came, and the servers of which something was heard that may have made room.
#[derive(Debug)]
pub(in super::super) struct WaitingRoom {
    settings: Queue,
    waiters: VecDeque<Option<Waiter>>,
    /// The number of the first of them.
    first: u64,
    waiting: u32,
    pub(in super::super) freed: VecDeque<BackendId>,
    /// Those that have waited for too long, until their face asks: numbers and names.
    late: VecDeque<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    /// What its face knows it by.
    name: u64,
    since: Time,
}

impl WaitingRoom {
    pub(super) fn new(settings: Queue) -> WaitingRoom {
        let (waiters, freed, late) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        WaitingRoom { settings, waiters, first: 0, waiting: 0, freed, late }
    }

    pub(in super::super) fn waiting(&self) -> u32 {
        self.waiting
    }

    pub(in super::super) fn is_full(&self) -> bool {
        self.settings.most > 0 && self.waiting >= self.settings.most
    }

    /// When the oldest has waited for too long.
    pub(super) fn due(&self) -> Time {
        let oldest = self.waiters.front().and_then(Option::as_ref);
        oldest.zip(self.settings.wait).map_or(Time::NEVER, |(waiter, wait)| waiter.since + wait)
    }

    /// Those that have waited for too long wait no more.
    pub(in super::super) fn expire(&mut self, now: Time) {
        while self.due() <= now
            && let Some((name, _)) = self.oldest()
        {
            self.late.push_back((self.first, name));
            self.pop();
        }
    }

    /// The next one that has waited for too long.
    pub(in super::super) fn next_late(&mut self) -> Option<u64> {
        self.late.pop_front().map(|(_, name)| name)
    }

    /// A server may have room: something has ended there, or it is something else than before.
    #[inline]
    pub(in super::super) fn may_have_room(&mut self, backend: BackendId) {
        if self.waiting > 0 {
            self.freed.push_back(backend);
        }
    }

    /// One comes that its face knows by this name; its number.
    pub(in super::super) fn enter(&mut self, name: u64, now: Time) -> u64 {
        self.waiters.push_back(Some(Waiter { name, since: now }));
        self.waiting += 1;
        self.first + self.waiters.len() as u64 - 1
    }

    /// The one of this number goes away; nothing, if it has gone.
    pub(in super::super) fn leave(&mut self, number: u64) {
        let place = number.checked_sub(self.first).map(|place| place as usize);
        let waiter = place.and_then(|place| self.waiters.get_mut(place)).and_then(Option::take);
        self.waiting -= u32::from(waiter.is_some());
        self.late.retain(|(late, _)| *late != number);
        self.tidy();
    }

    /// The oldest: its name, and since when it waits.
    pub(in super::super) fn oldest(&self) -> Option<(u64, Time)> {
        let waiter = self.waiters.front().copied().flatten()?;
        Some((waiter.name, waiter.since))
    }

    /// The oldest goes on, or away.
    pub(in super::super) fn pop(&mut self) {
        if self.waiters.pop_front().flatten().is_some() {
            self.waiting -= 1;
            self.first += 1;
        }
        self.tidy();
    }

    /// The first is one that waits.
    fn tidy(&mut self) {
        while let Some(None) = self.waiters.front() {
            self.waiters.pop_front();
            self.first += 1;
        }
    }
}
