//! The last decisions of a service: what it says of itself when it is asked why, and what it answers to the other half of a
//! pair of queries.
//!
//! A host that wants a name asks for IPv4 and IPv6 addresses at once: the second question is no new one. The last decisions
//! are kept in a ring, and the last of each client is found by a table of its slots, so that both are bounded and cost no
//! more than a look. The price: of clients that share a slot only the later one's is found.

use std::collections::VecDeque;

use serde_json::{Value, json};
use sojourn_dispatch::{BackendId, Decision};
use sojourn_stats::{Span, Time};

use crate::dns::chooser::Family;
use crate::dns::subnet::Client;

/// How many decisions are kept.
const KEPT: usize = 8192;

/// How long a query for the other family belongs to the one before.
const PAIRED: Span = Span(SECOND);

/// In ns.
const SECOND: u64 = 1_000_000_000;

/// A decision.
#[derive(Clone, Debug)]
pub(in crate::dns) struct Decided {
    /// Counts the service's decisions, from 1.
    pub(in crate::dns) number: u64,
    pub(in crate::dns) at: Time,
    pub(in crate::dns) client: Client,
    pub(in crate::dns) family: Family,
    pub(in crate::dns) decision: Decision,
    /// How long its answer may be kept.
    pub(in crate::dns) ttl: Span,
    /// The sites that it names, best first.
    pub(in crate::dns) sites: Vec<BackendId>,
    /// Another query has had it too.
    pub(in crate::dns) is_paired: bool,
}

/// The last decisions.
pub(in crate::dns) struct Journal {
    kept: VecDeque<Decided>,
    next: u64,
    slots: Vec<u64>,
}

impl Journal {
    pub(in crate::dns) fn new() -> Journal {
        Journal { kept: VecDeque::with_capacity(KEPT), next: 1, slots: vec![0; KEPT] }
    }

    /// How many decisions there were.
    pub(in crate::dns) fn count(&self) -> u64 {
        self.next - 1
    }

    /// Adds a decision, and gives its number.
    pub(in crate::dns) fn add(&mut self, decided: impl FnOnce(u64, Vec<BackendId>) -> Decided) -> &Decided {
        // The memory of the oldest is that of the newest.
        let spare = if self.kept.len() == KEPT { self.kept.pop_front() } else { None };
        let mut sites = spare.map_or_else(Vec::new, |oldest| oldest.sites);
        sites.clear();
        let decided = decided(self.next, sites);
        self.slots[slot(decided.client)] = self.next;
        self.next += 1;
        self.kept.push_back(decided);
        self.kept.back().expect("it was just added")
    }

    /// The decision of which this query is the second half, if there is one.
    pub(in crate::dns) fn pair(&mut self, client: Client, family: Family, now: Time) -> Option<&mut Decided> {
        let place = self.place(client)?;
        let decided = &mut self.kept[place];
        let is_pair = decided.family != family && !decided.is_paired && now.saturating_since(decided.at) < PAIRED;
        is_pair.then_some(decided)
    }

    /// The last decision for a client.
    pub(in crate::dns) fn of(&self, client: Client) -> Option<&Decided> {
        self.place(client).map(|place| &self.kept[place])
    }

    /// The last so many, the oldest first.
    pub(in crate::dns) fn last(&self, count: usize) -> impl Iterator<Item = &Decided> {
        self.kept.iter().skip(self.kept.len().saturating_sub(count))
    }

    /// Forgets all: their sites mean nothing any more.
    pub(in crate::dns) fn clear(&mut self) {
        self.kept.clear();
        self.slots.fill(0);
    }

    fn place(&self, client: Client) -> Option<usize> {
        let number = self.slots[slot(client)];
        let first = self.kept.front()?.number;
        let place = number.checked_sub(first)? as usize;
        self.kept.get(place).filter(|decided| decided.client == client).map(|_| place)
    }
}

fn slot(client: Client) -> usize {
    // The low bits of FNV are its best.
    client.key as usize % KEPT
}

impl Decided {
    /// It in one line, as `_why` and `explain` say it.
    pub(in crate::dns) fn in_words(&self, name: impl Fn(BackendId) -> String, now: Time) -> String {
        let ago = now.saturating_since(self.at).as_secs_f64();
        let sites: Vec<String> = self.sites.iter().map(|id| name(*id)).collect();
        let (number, client, reason, ttl) = (self.number, self.client, self.decision.reason, self.ttl.0 / SECOND);
        match sites.split_first() {
            None => format!("decision {number}, {ago:.1} s ago: {client} got no site: {reason}"),
            Some((first, [])) => {
                format!("decision {number}, {ago:.1} s ago: {client} got {first} for {ttl} s: {reason}")
            }
            Some((first, rest)) => {
                let rest = rest.join(", ");
                format!("decision {number}, {ago:.1} s ago: {client} got {first} for {ttl} s: {reason}; then {rest}")
            }
        }
    }

    /// It as JSON; the decision itself as the record has it.
    pub(in crate::dns) fn json(&self, name: impl Fn(BackendId) -> String, now: Time) -> Value {
        json!({
            "number": self.number,
            "at": self.at,
            "age_s": now.saturating_since(self.at).as_secs_f64(),
            "client": self.client.to_string(),
            "sites": self.sites.iter().map(|id| name(*id)).collect::<Vec<_>>(),
            "ttl_s": self.ttl.0 / SECOND,
            "decision": self.decision,
            "reason": self.decision.reason.to_string(),
        })
    }
}
