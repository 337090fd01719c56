//! The last decisions of a service: what it says of itself when it is asked why, and what it answers to the other half of a
//! pair of queries.
//!
//! A host that wants a name asks for IPv4 and IPv6 addresses at once: the second question is no new one. The last decisions
//! are kept in a ring, whole and side by side, and the last of each client is found by a table of its slots, so that both are
//! bounded and cost no more than a look. The price: of clients that share a slot only the later one's is found.

use serde_json::{Value, json};
use sojourn_dispatch::{BackendId, Decision};
use sojourn_part::settings::dns::ANSWERS_MAX;
use sojourn_stats::{Span, Time};

use crate::chooser::Family;

use crate::subnet::Client;

/// How many decisions are kept.
const KEPT: usize = 8192;

/// How long a query for the other family belongs to the one before.
const PAIRED: Span = Span(SECOND);

/// In ns.
const SECOND: u64 = 1_000_000_000;

/// A decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided {
    /// Counts the service's decisions, from 1.
    pub(crate) number: u64,
    pub(crate) at: Time,
    pub(crate) client: Client,
    pub(crate) family: Family,
    pub(crate) decision: Decision,
    /// How long its answer may be kept.
    pub(crate) ttl: Span,
    pub(crate) named: Named,
    /// Another query has had it too.
    pub(crate) is_paired: bool,
}

/// The sites that an answer names, best first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    all: [BackendId; ANSWERS_MAX],
    count: u8,
}

/// The last decisions.
pub(crate) struct Journal {
    /// The decision of number n is at (n - begun) modulo [`KEPT`].
    kept: Vec<Decided>,
    begun: u64,
    next: u64,
    /// Numbers of decisions, by client.
    slots: Vec<u64>,
}

impl Named {
    /// The first of these, as many as an answer has.
    pub(crate) fn new(sites: &[BackendId]) -> Named {
        let (mut all, count) = ([BackendId::default(); ANSWERS_MAX], sites.len().min(ANSWERS_MAX));
        all[..count].copy_from_slice(&sites[..count]);
        Named { all, count: count as u8 }
    }

    pub(crate) fn sites(&self) -> &[BackendId] {
        &self.all[..usize::from(self.count)]
    }
}

impl Journal {
    pub(crate) fn new() -> Journal {
        Journal { kept: Vec::with_capacity(KEPT), begun: 1, next: 1, slots: vec![0; KEPT] }
    }

    /// How many decisions there were.
    pub(crate) fn count(&self) -> u64 {
        self.next - 1
    }

    /// Adds a decision, which is given its number.
    pub(crate) fn add(&mut self, decided: impl FnOnce(u64) -> Decided) {
        let number = self.next;
        self.next += 1;
        let decided = decided(number);
        self.slots[slot(decided.client)] = number;
        let place = self.place(number);
        match self.kept.get_mut(place) {
            Some(oldest) => *oldest = decided,
            None => self.kept.push(decided),
        }
    }

    /// The decision of which this query is the second half, if there is one.
    pub(crate) fn pair(&mut self, client: Client, family: Family, now: Time) -> Option<&mut Decided> {
        let place = self.place_of(client)?;
        let decided = &mut self.kept[place];
        let is_pair = decided.family != family && !decided.is_paired && now.saturating_since(decided.at) < PAIRED;
        is_pair.then_some(decided)
    }

    /// The last decision for a client.
    pub(crate) fn of(&self, client: Client) -> Option<&Decided> {
        self.place_of(client).map(|place| &self.kept[place])
    }

    /// The last so many, the oldest first.
    pub(crate) fn last(&self, count: usize) -> impl Iterator<Item = &Decided> {
        let count = count.min(self.kept.len()) as u64;
        (self.next - count..self.next).map(|number| &self.kept[self.place(number)])
    }

    /// Forgets all: their sites mean nothing any more.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.begun = self.next;
        self.slots.fill(0);
    }

    fn place(&self, number: u64) -> usize {
        (number - self.begun) as usize % KEPT
    }

    /// Where the last decision for a client is, if it is still kept.
    fn place_of(&self, client: Client) -> Option<usize> {
        let number = self.slots[slot(client)];
        let place = if number < self.begun { return None } else { self.place(number) };
        let is_it = |decided: &Decided| decided.number == number && decided.client == client;
        self.kept.get(place).is_some_and(is_it).then_some(place)
    }
}

fn slot(client: Client) -> usize {
    // The low bits of FNV are its best.
    client.key as usize % KEPT
}

impl Decided {
    /// It in one line, as `_why` and `explain` say it.
    pub(crate) fn in_words(&self, name: impl Fn(BackendId) -> String, now: Time) -> String {
        let ago = now.saturating_since(self.at).as_secs_f64();
        let sites: Vec<String> = self.named.sites().iter().map(|id| name(*id)).collect();
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
    pub(crate) fn json(&self, name: impl Fn(BackendId) -> String, now: Time) -> Value {
        json!({
            "number": self.number,
            "at": self.at,
            "age_s": now.saturating_since(self.at).as_secs_f64(),
            "client": self.client.to_string(),
            "sites": self.named.sites().iter().map(|id| name(*id)).collect::<Vec<_>>(),
            "ttl_s": self.ttl.0 / SECOND,
            "decision": self.decision,
            "reason": self.decision.reason.to_string(),
        })
    }
}
