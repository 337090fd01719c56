//! What a policy answers.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use crate::BackendId;

/// What to do with a request, and why.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// What to do.
    pub action: Action,
    /// Why; formatted only when somebody asks.
    pub reason: Reason,
    /// Until when the choice counts as load although nobody will report its end (a DNS never sees a request complete).
    pub lease: Option<Time>,
}

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Action {
    /// Serve it on this machine.
    ServeHere,
    /// Send it on to a backend.
    Forward(BackendId),
    /// Tell the client to ask a backend itself.
    Redirect(BackendId),
    /// Answer with addresses in this order (the first `count` of `backends`), good for `ttl`.
    Answer {
        /// Best first.
        backends: [BackendId; 8],
        /// How many of them count.
        count: u8,
        /// How long the answer may be kept.
        ttl: Span,
    },
    /// Keep it until a backend is free.
    Queue,
    /// No backend can take it.
    Refuse,
}

/// Why a backend was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// The rule that decided.
    pub code: Code,
    /// How many backends were equally good (1: it was the only one).
    pub ties: u32,
    /// The value that the rule compared: in flight, bytes, seconds, weight; 0 where it compares none.
    pub value: f64,
}

/// The rule that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Code {
    /// It was its turn.
    Turn,
    /// Drawn at random.
    Drawn,
    /// Fewest requests in flight.
    LeastInFlight,
    /// Fewest in flight for its weight.
    LeastWeighted,
    /// Shortest round-trip time in the averaging window.
    LeastRoundTrip,
    /// Fewest bytes transmitted in the averaging window.
    LeastTransmitted,
    /// The client's address.
    Hash,
    /// The client's cookie.
    Cookie,
    /// Nobody is left to choose.
    NoBackend,
}
