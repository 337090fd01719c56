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
mod slab;

use std::cmp::Reverse;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use crate::BackendId;
pub use remembered::{Remembered, RememberedTrip};
use slab::Slab;

/// What is kept of clients, and when it is old.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRules {
    /// How many clients are kept at most.
    pub at_most: NonZeroUsize,
    /// How long a rate counts after it was told; `None`: until another is told.
    #[serde(default, with = "sojourn_stats::nanoseconds")]
    pub rates_expire: Option<Span>,
    /// To how many backends the round trip of one client is measured, and how many of its round trips are kept.
    pub sites_probed: u32,
    /// When round trips are measured anew.
    #[serde(with = "sojourn_stats::nanoseconds")]
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
    slab: Slab,
    /// How many have a rate, and the sum of all rates in millionths.
    rates: usize,
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

impl Default for Clients {
    fn default() -> Clients {
        Clients::new(ClientRules::default())
    }
}

impl Clients {
    /// No clients yet.
    pub fn new(rules: ClientRules) -> Clients {
        Clients { slab: Slab::new(rules.at_most.get()), rates: 0, sum_micro: 0, rules }
    }

    /// What is kept of them, and when it is old.
    pub fn rules(&self) -> &ClientRules {
        &self.rules
    }

    /// Requests per second that the client last sent, where the face tells ([`crate::Signals::CLIENT_RATES`]).
    pub fn rate(&self, client: u64) -> Option<f64> {
        self.slab.known(client)?.rate().map(|(per_s, _)| per_s)
    }

    /// The mean rate of all clients whose rate is known.
    pub fn mean_rate(&self) -> Option<f64> {
        (self.rates > 0).then(|| self.sum_micro as f64 / 1e6 / self.rates as f64)
    }

    /// The round trips between the client and the backends nearest to it, the shortest first, where the face tells
    /// ([`crate::Signals::ROUND_TRIPS`]).
    pub fn round_trips(&self, client: u64) -> impl ExactSizeIterator<Item = (BackendId, RoundTrip)> + Clone + '_ {
        self.slab.trips_of(client)
    }

    /// The last round trip between the client and `from`, if it is among those kept.
    pub fn round_trip(&self, client: u64, from: BackendId) -> Option<RoundTrip> {
        self.round_trips(client).find(|(backend, _)| *backend == from).map(|(_, round_trip)| round_trip)
    }

    /// Whether the round trips of the client were never asked for, or longer ago than [`ClientRules::refresh`].
    pub fn probes_are_due(&self, client: u64, now: Time) -> bool {
        let probed = self.slab.known(client).and_then(|known| known.probed());
        probed.is_none_or(|probed| now.saturating_since(probed) >= self.rules.refresh)
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.slab.len() == 0
    }

    /// Counts as a use of the client, if it is known.
    #[inline]
    pub(crate) fn touch(&mut self, client: u64) {
        self.slab.promote(client);
    }

    /// The client sends this many requests per second; false for a rate that no client can have, which is ignored.
    pub(crate) fn tell_rate(&mut self, client: u64, per_s: f64, told: Time) -> bool {
        let sound = per_s.is_finite() && per_s >= 0.0;
        if sound {
            let place = self.at(client);
            let before = self.slab.set_rate(place, per_s, told);
            self.rates += 1;
            self.sum_micro += micro(per_s);
            before.into_iter().for_each(|before| self.forgotten(before));
        }
        sound
    }

    /// A round trip was measured; one older than the last between the two is ignored, and one longer than all of those
    /// kept, where no more are kept.
    pub(crate) fn tell_round_trip(&mut self, client: u64, from: BackendId, round_trip: RoundTrip) {
        let at_most = self.rules.sites_probed as usize;
        let place = self.at(client);
        let last = self.slab.trips(place).enumerate().find(|(_, (backend, _))| *backend == from);
        if let Some((index, (_, last))) = last {
            if round_trip.measured < last.measured {
                return;
            }
            self.slab.remove_trip(place, index);
        }
        let order = |of: &RoundTrip| (of.span, Reverse(of.answers));
        let shorter = self.slab.trips(place).take_while(|(_, other)| order(other) <= order(&round_trip)).count();
        self.slab.insert_trip(place, shorter, from, round_trip, at_most);
    }

    /// The round trips of the client are being measured.
    pub(crate) fn probed(&mut self, client: u64, now: Time) {
        let place = self.at(client);
        self.slab.at_mut(place).set_probed(now);
    }

    /// When the next rate expires.
    #[inline]
    pub(crate) fn next_expiry(&self) -> Option<Time> {
        let (_, told) = self.slab.at(self.slab.oldest_told()?).rate()?;
        self.rules.rates_expire.map(|after| told + after)
    }

    /// Forgets the rates that are too old at `now`.
    pub(crate) fn expire(&mut self, now: Time) {
        while self.next_expiry().is_some_and(|expiry| expiry <= now) {
            let oldest = self.slab.oldest_told().expect("it expires");
            let rate = self.slab.take_rate(oldest).expect("it has one");
            self.forgotten(rate);
        }
    }

    /// A rate counts no more.
    fn forgotten(&mut self, per_s: f64) {
        self.rates -= 1;
        self.sum_micro -= micro(per_s);
    }

    /// The place of a client, which is used by this.
    fn at(&mut self, client: u64) -> u32 {
        let mut gone = None;
        let place = self.slab.place_of(client, |rate| gone = Some(rate));
        gone.into_iter().for_each(|rate| self.forgotten(rate));
        place
    }
}

/// A rate in whole millionths of a request per second.
fn micro(per_s: f64) -> u128 {
    (per_s * 1e6).round().min(1e18) as u128
}
