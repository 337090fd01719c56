//! The books of connections, kept in step with the kernel's: what has ended, and what is not there any more.
//!
//! Ends are heard before each choice, and every [`HEARD`] where none is made; so reports and counts know them that much later
//! at most. Copies of them may be lost, and an idle connection ends without a packet: for these the kernel's list is read
//! every few seconds, and less often where that takes long: for each part of a list the kernel begins anew, so that a long one
//! costs more than its length. A connection that is not on it is forgotten if the next list has not got it either, since a list
//! that is read while packets change the map may miss some.

use std::sync::{Arc, Mutex};

use serde_json::json;
use sojourn_part::clock;
use sojourn_stats::{Span, Time};

use super::super::kernel::rules::{self, Listed};
use super::super::overflow::Sites;
use super::super::packet::{Kind, Packet};
use super::flow::End;
use super::{Decider, lock};
use sojourn_splice::Lifetimes;

/// Longest time between two comparisons with the kernel's connections, where they are few.
const COMPARED: Span = Span(5_000_000_000);

/// Comparisons take this part of the time at most, one in so many.
const COMPARING: u64 = 200;

/// And are no rarer than this many times the usual.
const RARER: u64 = 12;

/// What was decided this short a time before may not be in the kernel's list yet.
const SETTLED: Span = Span(100_000_000);

/// Longest time between two looks at what has ended.
const HEARD: Span = Span(50_000_000);

/// Compares with the kernel's connections for as long as it is polled.
pub(crate) async fn keep(decider: Arc<Mutex<Decider>>, lifetimes: Lifetimes) {
    let Lifetimes { opening, open, closing } = lifetimes;
    let every = opening.min(open).min(closing).min(COMPARED);
    let mut wait = every;
    loop {
        tokio::time::sleep(wait.as_std()).await;
        let asked = clock::now();
        // A list that cannot be had now is had the next time.
        if let Ok(Ok(listed)) = tokio::task::spawn_blocking(rules::connections).await {
            lock(&decider).compare(&listed, asked);
        }
        wait = pause(every, clock::now().saturating_since(asked));
    }
}

/// How long to wait after a comparison that took so long.
pub(super) fn pause(every: Span, took: Span) -> Span {
    (took * COMPARING).clamp(every, every * RARER)
}

/// Listens to what ends for as long as it is polled.
pub(crate) async fn listen(decider: Arc<Mutex<Decider>>) {
    loop {
        tokio::time::sleep(HEARD.as_std()).await;
        lock(&decider).hear_ends(clock::now());
    }
}

impl Decider {
    /// Takes note of what has ended since it was last called.
    pub(crate) fn hear_ends(&mut self, now: Time) {
        let Some(mut ends) = self.ends.take() else { return };
        ends.take(|packet| {
            let Packet { client, service, kind } = packet;
            let is_ours = service == self.service || self.accepted.contains(&service);
            if kind == Kind::Closes && is_ours {
                self.end(client, End::Closed, now);
            }
        });
        self.ends = Some(ends);
    }

    /// Ends those that the kernel, which was asked at `asked`, knows to be over or does not know.
    pub(super) fn compare(&mut self, listed: &Listed, asked: Time) {
        let Listed { open, closing } = listed;
        let mut ended = Vec::new();
        for (client, flow) in self.flows.iter_mut().filter(|(_, flow)| flow.since + SETTLED < asked) {
            let was_missing = std::mem::replace(&mut flow.is_missing, !open.contains(client));
            if closing.contains(client) {
                ended.push((*client, End::Closed));
            } else if was_missing && flow.is_missing {
                ended.push((*client, End::Forgotten));
            }
        }
        // In an order that a replay has too.
        ended.sort_by_key(|(client, _)| *client);
        let now = clock::now();
        for (client, end) in ended {
            self.end(client, end, now);
        }
        let of_sites = self.sites.as_mut().and_then(Sites::record_failure);
        let failure = self.front.record_failure().or(of_sites);
        self.record_failed(failure);
    }

    /// Ends the record, with what ended before.
    pub(crate) fn finish(&mut self) {
        self.hear_ends(clock::now());
        let of_sites = self.sites.as_mut().and_then(Sites::finish);
        let failure = self.front.finish_record().or(of_sites);
        self.record_failed(failure);
    }

    /// Says the first failure of a record.
    fn record_failed(&mut self, failure: Option<String>) {
        let Some(why) = failure.filter(|_| self.counts.records_failed == 0) else { return };
        self.counts.records_failed += 1;
        self.events.emit(&json!({"event": "record_failed", "why": why}));
    }
}
