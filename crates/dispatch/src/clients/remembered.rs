//! What is known of clients, to be kept over a restart: ages instead of instants, since another start has another clock.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use super::slab::Place;
use super::{Clients, RoundTrip};
use crate::BackendId;

/// What is known of one client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// [`crate::Request::client`].
    pub client: u64,
    /// Requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::record::exact::option")]
    pub rate: Option<f64>,
    /// How long ago the rate was told.
    #[serde(default, skip_serializing_if = "crate::request::is_default", with = "sojourn_stats::nanoseconds")]
    pub rate_age: Span,
    /// How long ago its round trips were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "sojourn_stats::nanoseconds")]
    pub probed_age: Option<Span>,
    /// Its round trips, the shortest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub round_trips: Vec<RememberedTrip>,
}

/// A round trip that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedTrip {
    /// The backend at the other end.
    pub from: BackendId,
    /// How long it took.
    #[serde(with = "sojourn_stats::nanoseconds")]
    pub span: Span,
    /// How long ago it was measured.
    #[serde(with = "sojourn_stats::nanoseconds")]
    pub age: Span,
    /// How many echoes came back.
    pub answers: u32,
}

impl Clients {
    /// All that is known, in an order in which it can be told again: the rate that was told first comes first.
    pub fn remembered(&self, now: Time) -> Vec<Remembered> {
        let one = |place, known: &Place| {
            let trips = self.slab.trips(place).map(|(from, trip)| RememberedTrip {
                from,
                span: trip.span,
                age: now.saturating_since(trip.measured),
                answers: trip.answers,
            });
            Remembered {
                client: known.client,
                rate: known.rate().map(|(per_s, _)| per_s),
                rate_age: known.rate().map_or(Span::ZERO, |(_, told)| now.saturating_since(told)),
                probed_age: known.probed().map(|at| now.saturating_since(at)),
                round_trips: trips.collect(),
            }
        };
        let mut all: Vec<Remembered> = self.slab.by_use().map(|(place, known)| one(place, known)).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.rate_age));
        all
    }

    /// Takes what was known at another time. What was long before this clock's begin counts from there.
    pub(crate) fn recall(&mut self, remembered: &Remembered, now: Time) {
        let before = |age: Span| Time(now.0.saturating_sub(age.0));
        let Remembered { client, rate, rate_age, probed_age, ref round_trips } = *remembered;
        if let Some(per_s) = rate {
            self.tell_rate(client, per_s, before(rate_age));
        }
        for trip in round_trips {
            let RememberedTrip { from, span, age, answers } = *trip;
            self.tell_round_trip(client, from, RoundTrip { span, measured: before(age), answers });
        }
        if let Some(age) = probed_age {
            self.probed(client, before(age));
        }
    }
}
