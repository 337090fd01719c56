//! What is known of clients: how fast they ask, and how far they are from the backends.
//!
//! There may be more clients than memory, so the number kept is bounded and the least recently used goes first. A client
//! is used when something is told of it and, under a policy that reads clients, when a request of it is placed. The
//! price of the bound: a client that comes back after a long time is unknown.

use std::hash::{BuildHasherDefault, DefaultHasher};
use std::num::NonZeroUsize;

use lru::LruCache;
use sojourn_stats::{Span, Time};

use crate::BackendId;

/// How many clients are kept at most, unless told otherwise.
const AT_MOST: NonZeroUsize = NonZeroUsize::new(65_536).expect("it is not zero");

/// What is known of clients, by [`Request::client`](crate::Request::client).
#[derive(Debug)]
pub struct Clients {
    known: LruCache<u64, Client, BuildHasherDefault<DefaultHasher>>,
    at_most: NonZeroUsize,
}

/// A round trip between a client and a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// How long it took.
    pub span: Span,
    /// When it was measured.
    pub measured: Time,
}

#[derive(Debug, Default)]
struct Client {
    rate: Option<f64>,
    round_trips: Vec<(BackendId, RoundTrip)>,
}

impl Default for Clients {
    fn default() -> Clients {
        Clients::new(AT_MOST)
    }
}

impl Clients {
    /// No clients yet, and never more than `at_most`.
    pub fn new(at_most: NonZeroUsize) -> Clients {
        Clients { known: LruCache::unbounded_with_hasher(BuildHasherDefault::default()), at_most }
    }

    /// Requests per second that the client last sent, where the face tells ([`crate::Signals::CLIENT_RATES`]).
    pub fn rate(&self, client: u64) -> Option<f64> {
        self.known.peek(&client)?.rate
    }

    /// The last round trip between the client and `from`, where the face tells ([`crate::Signals::ROUND_TRIPS`]).
    pub fn round_trip(&self, client: u64, from: BackendId) -> Option<RoundTrip> {
        let known = self.known.peek(&client)?;
        known.round_trips.iter().find(|(backend, _)| *backend == from).map(|(_, round_trip)| *round_trip)
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

    /// The client sends this many requests per second.
    pub(crate) fn tell_rate(&mut self, client: u64, rate: f64) {
        self.at(client).rate = Some(rate);
    }

    /// A round trip was measured; one older than the last between the two is ignored.
    pub(crate) fn tell_round_trip(&mut self, client: u64, from: BackendId, round_trip: RoundTrip) {
        let round_trips = &mut self.at(client).round_trips;
        match round_trips.iter_mut().find(|(backend, _)| *backend == from) {
            Some((_, last)) if round_trip.measured < last.measured => {}
            Some((_, last)) => *last = round_trip,
            None => round_trips.push((from, round_trip)),
        }
    }

    fn at(&mut self, client: u64) -> &mut Client {
        if self.known.len() == self.at_most.get() && !self.known.contains(&client) {
            self.known.pop_lru();
        }
        self.known.get_or_insert_mut(client, Client::default)
    }
}
