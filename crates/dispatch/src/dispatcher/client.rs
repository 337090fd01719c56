//! What a dispatcher is told of clients: how often they ask, how far away backends are of them, and what of it is kept.

use sojourn_stats::Time;

use super::Dispatcher;
use crate::{Ask, BackendId, ClientRules, Clients, Origin, Remembered, Request, RoundTrip};

impl Dispatcher {
    /// Says what is kept of clients and when it is old ([`ClientRules::default`] unless this is called), and forgets those
    /// known so far: call it at the start.
    pub fn keep_clients(&mut self, rules: ClientRules) {
        self.fresh = false;
        if let Some(recorder) = &mut self.recorder {
            recorder.clients(rules);
        }
        self.clients = Clients::new(rules);
        self.reschedule();
    }

    /// A client, which is where `origin` says, sends this many requests per second; false for a number that no client can
    /// send (not finite, below 0), which is ignored.
    pub fn tell_rate(&mut self, client: u64, origin: Origin, rate: f64, now: Time) -> bool {
        self.catch_up(now);
        self.fresh = false;
        let taken = self.clients.tell_rate(client, rate, now);
        if taken {
            if let Some(recorder) = &mut self.recorder {
                recorder.rate(client, origin, rate, now);
            }
            self.reschedule();
            if self.listens {
                let request = Request { client, origin, ..Request::default() };
                let ask = Ask { request: &request, table: &self.table, clients: &self.clients, tried: &[], now };
                self.policy.rated(&ask, &mut self.stream);
                self.ask_policy();
            }
        }
        taken
    }

    /// What was known of a client before a restart: call it before the first choice, the oldest rate first. It orders nothing.
    ///
    /// # Panics
    /// When a backend's number was never given.
    pub fn recall(&mut self, remembered: &Remembered, now: Time) {
        assert!(
            remembered.round_trips.iter().all(|trip| self.table.knows(trip.from)),
            "round trips are of known backends"
        );
        self.catch_up(now);
        self.fresh = false;
        if let Some(recorder) = &mut self.recorder {
            recorder.recall(remembered, now);
        }
        self.clients.recall(remembered, now);
        self.reschedule();
    }

    /// A round trip between a client and a backend was measured.
    pub fn tell_round_trip(&mut self, client: u64, from: BackendId, round_trip: RoundTrip, now: Time) {
        self.catch_up(now);
        self.fresh = false;
        if let Some(recorder) = &mut self.recorder {
            recorder.round_trip(client, from, round_trip, now);
        }
        self.clients.tell_round_trip(client, from, round_trip);
    }
}
