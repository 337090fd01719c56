//! What is known of clients, to be kept over a restart: ages instead of instants, since another start has another clock.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use super::{Clients, Rate, RoundTrip};
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
    #[serde(default, skip_serializing_if = "crate::request::is_default")]
    pub rate_age: Span,
    /// How long ago its round trips were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    pub span: Span,
    /// How long ago it was measured.
    pub age: Span,
    /// How many echoes came back.
    pub answers: u32,
}

impl Clients {
    /// All that is known, in an order in which it can be told again: the rate that was told first comes first.
    pub fn remembered(&self, now: Time) -> Vec<Remembered> {
        let mut all: Vec<Remembered> = self
            .known
            .iter()
            .rev()
            .map(|(client, known)| {
                let rate = self.rates.peek(client);
                let trips = known.round_trips.iter().map(|(from, trip)| RememberedTrip {
                    from: *from,
                    span: trip.span,
                    age: now.saturating_since(trip.measured),
                    answers: trip.answers,
                });
                Remembered {
                    client: *client,
                    rate: rate.map(|rate| rate.per_s),
                    rate_age: rate.map_or(Span::ZERO, |rate| now.saturating_since(rate.told)),
                    probed_age: known.probed.map(|at| now.saturating_since(at)),
                    round_trips: trips.collect(),
                }
            })
            .collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.rate_age));
        all
    }

    /// Takes what was known at another time. What was long before this clock's begin counts from there.
    pub(crate) fn recall(&mut self, remembered: &Remembered, now: Time) {
        let before = |age: Span| Time(now.0.saturating_sub(age.0));
        let Remembered { client, rate, rate_age, probed_age, ref round_trips } = *remembered;
        let sound = rate.filter(|rate| rate.is_finite() && *rate >= 0.0);
        if let Some(per_s) = sound {
            self.at(client);
            let rate = Rate { per_s, told: before(rate_age) };
            let known = self.rates.put(client, rate);
            self.sum_micro += rate.micro();
            self.sum_micro -= known.map_or(0, Rate::micro);
        }
        for trip in round_trips {
            let RememberedTrip { from, span, age, answers } = *trip;
            self.tell_round_trip(client, from, RoundTrip { span, measured: before(age), answers });
        }
        if let Some(age) = probed_age {
            self.at(client).probed = Some(before(age));
        }
    }
}
