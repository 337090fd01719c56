//! What is known of clients: how fast they ask, and how far they are from the backends.
//!
//! There may be more clients than memory, so the number kept is bounded and the least recently used goes first. A client
//! is used when something is told of it and, under a policy that reads clients, when a request of it is placed. The
//! price of the bound: a client that comes back after a long time is unknown.
//!
//! A rate that was not told anew for a while expires. Rates are kept in the order in which they were told, so that the
//! oldest is at hand, and their sum in whole millionths of a request per second, so that nothing piles up: the mean rate
//! costs no look at the clients. Of the round trips of a client the shortest are kept, of equal ones that with more answers
//! (Agarwal 2001, section 3.5.1, `update_rtts`); one that is measured anew replaces the last to the same backend, whichever
//! is shorter.

mod remembered;

use std::cmp::Reverse;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::num::NonZeroUsize;

use lru::LruCache;
use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use crate::BackendId;
pub use remembered::{Remembered, RememberedTrip};

/// What is kept of clients, and when it is old.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRules {
    /// How many clients are kept at most.
    pub at_most: NonZeroUsize,
    /// How long a rate counts after it was told; `None`: until another is told.
    pub rates_expire: Option<Span>,
    /// To how many backends the round trip of one client is measured, and how many of its round trips are kept.
    pub sites_probed: u32,
    /// When round trips are measured anew.
    pub refresh: Span,
}

impl Default for ClientRules {
    fn default() -> ClientRules {
        ClientRules {
            at_most: NonZeroUsize::new(65_536).expect("it is not zero"),
            rates_expire: None,
            sites_probed: 3,
            refresh: Span(120_000_000_000),
        }
    }
}

/// What is known of clients, by [`Request::client`](crate::Request::client).
#[derive(Debug)]
pub struct Clients {
    known: LruCache<u64, Client, BuildHasherDefault<DefaultHasher>>,
    /// Rates of those known, the one that was told last in front.
    rates: LruCache<u64, Rate, BuildHasherDefault<DefaultHasher>>,
    /// Of all rates.
    sum_micro: u128,
    rules: ClientRules,
}

/// A round trip between a client and a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// How long it took.
    pub span: Span,
    /// When it was measured.
    pub measured: Time,
    /// How many of the echoes that were sent for it came back.
    pub answers: u32,
}

#[derive(Debug, Default)]
struct Client {
    /// When its round trips were last asked for.
    probed: Option<Time>,
    /// The shortest first.
    round_trips: Vec<(BackendId, RoundTrip)>,
}

#[derive(Clone, Copy, Debug)]
struct Rate {
    per_s: f64,
    told: Time,
}

impl Rate {
    fn micro(self) -> u128 {
        (self.per_s * 1e6).round().min(1e18) as u128
    }
}

impl Default for Clients {
    fn default() -> Clients {
        Clients::new(ClientRules::default())
    }
}

impl Clients {
    /// No clients yet.
    pub fn new(rules: ClientRules) -> Clients {
        Clients {
            known: LruCache::unbounded_with_hasher(BuildHasherDefault::default()),
            rates: LruCache::unbounded_with_hasher(BuildHasherDefault::default()),
            sum_micro: 0,
            rules,
        }
    }

    /// What is kept of them, and when it is old.
    pub fn rules(&self) -> &ClientRules {
        &self.rules
    }

    /// Requests per second that the client last sent, where the face tells ([`crate::Signals::CLIENT_RATES`]).
    pub fn rate(&self, client: u64) -> Option<f64> {
        self.rates.peek(&client).map(|rate| rate.per_s)
    }

    /// The mean rate of all clients whose rate is known.
    pub fn mean_rate(&self) -> Option<f64> {
        (!self.rates.is_empty()).then(|| self.sum_micro as f64 / 1e6 / self.rates.len() as f64)
    }

    /// The round trips between the client and the backends nearest to it, the shortest first, where the face tells
    /// ([`crate::Signals::ROUND_TRIPS`]).
    pub fn round_trips(&self, client: u64) -> &[(BackendId, RoundTrip)] {
        self.known.peek(&client).map_or(&[], |known| &known.round_trips)
    }

    /// The last round trip between the client and `from`, if it is among those kept.
    pub fn round_trip(&self, client: u64, from: BackendId) -> Option<RoundTrip> {
        let mut known = self.round_trips(client).iter();
        known.find(|(backend, _)| *backend == from).map(|(_, round_trip)| *round_trip)
    }

    /// Whether the round trips of the client were never asked for, or longer ago than [`ClientRules::refresh`].
    pub fn probes_are_due(&self, client: u64, now: Time) -> bool {
        let probed = self.known.peek(&client).and_then(|known| known.probed);
        probed.is_none_or(|probed| now.saturating_since(probed) >= self.rules.refresh)
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Counts as a use of the client, if it is known.
    #[inline]
    pub(crate) fn touch(&mut self, client: u64) {
        self.known.promote(&client);
    }

    /// The client sends this many requests per second; false for a rate that no client can have, which is ignored.
    pub(crate) fn tell_rate(&mut self, client: u64, per_s: f64, told: Time) -> bool {
        let sound = per_s.is_finite() && per_s >= 0.0;
        if sound {
            self.at(client);
            let rate = Rate { per_s, told };
            let before = self.rates.put(client, rate);
            self.sum_micro += rate.micro();
            self.sum_micro -= before.map_or(0, Rate::micro);
        }
        sound
    }

    /// A round trip was measured; one older than the last between the two is ignored, and one longer than all of those
    /// kept, where no more are kept.
    pub(crate) fn tell_round_trip(&mut self, client: u64, from: BackendId, round_trip: RoundTrip) {
        let at_most = self.rules.sites_probed as usize;
        let round_trips = &mut self.at(client).round_trips;
        match round_trips.iter().position(|(backend, _)| *backend == from) {
            Some(last) if round_trip.measured < round_trips[last].1.measured => return,
            Some(last) => drop(round_trips.remove(last)),
            None => {}
        }
        let order = |of: &RoundTrip| (of.span, Reverse(of.answers));
        let place = round_trips.partition_point(|(_, other)| order(other) <= order(&round_trip));
        // There are many clients, and each has few.
        round_trips.reserve_exact(1);
        round_trips.insert(place, (from, round_trip));
        round_trips.truncate(at_most);
    }

    /// The round trips of the client are being measured.
    pub(crate) fn probed(&mut self, client: u64, now: Time) {
        self.at(client).probed = Some(now);
    }

    /// When the next rate expires.
    pub(crate) fn next_expiry(&self) -> Option<Time> {
        let (_, oldest) = self.rates.peek_lru()?;
        self.rules.rates_expire.map(|after| oldest.told + after)
    }

    /// Forgets the rates that are too old at `now`.
    pub(crate) fn expire(&mut self, now: Time) {
        while self.next_expiry().is_some_and(|expiry| expiry <= now) {
            let (client, _) = self.rates.peek_lru().expect("it expires");
            self.forget_rate(*client);
        }
    }

    fn forget_rate(&mut self, client: u64) {
        self.sum_micro -= self.rates.pop(&client).map_or(0, Rate::micro);
    }

    fn at(&mut self, client: u64) -> &mut Client {
        if self.known.len() == self.rules.at_most.get()
            && !self.known.contains(&client)
            && let Some((gone, _)) = self.known.pop_lru()
        {
            self.forget_rate(gone);
        }
        self.known.get_or_insert_mut(client, Client::default)
    }
}
