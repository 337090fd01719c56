//! What a policy answers.

use std::fmt;

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

impl Decision {
    /// Send it on to `backend`.
    #[inline]
    pub fn forward(backend: BackendId, reason: Reason) -> Decision {
        Decision { action: Action::Forward(backend), reason, lease: None }
    }

    /// Nobody is left to choose.
    #[inline]
    pub fn refuse() -> Decision {
        Decision { action: Action::Refuse, reason: Reason { code: Code::NoBackend, ties: 0, value: 0.0 }, lease: None }
    }

    /// The least backend, or a refusal where there is none; what [`crate::Table::least`] answers.
    #[inline]
    pub fn forward_or_refuse(found: Option<(BackendId, Reason)>) -> Decision {
        found.map_or_else(Decision::refuse, |(backend, reason)| Decision::forward(backend, reason))
    }

    /// The backend a request is sent on to, if it is.
    #[inline]
    pub fn forwarded_to(&self) -> Option<BackendId> {
        match self.action {
            Action::Forward(backend) => Some(backend),
            _ => None,
        }
    }
}

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// How many backends were equally good (1: it was the only one); for a draw, how many it was drawn from.
    pub ties: u32,
    /// The value that the rule compared: in flight, bytes, seconds, in flight per weight; for a weighted draw the chance
    /// it had; 0 where the rule compares none.
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
    /// Shortest predicted response time.
    LeastPredicted,
    /// The client's address.
    Hash,
    /// The client's cookie.
    Cookie,
    /// Nobody is left to choose.
    NoBackend,
}

impl fmt::Display for Reason {
    /// A fragment that ends the sentence "It went to s3: ...".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.code {
            Code::Turn => write!(f, "it was its turn"),
            Code::Drawn if value > 0.0 => write!(f, "drawn among {} with a chance of {value:.4}", self.ties),
            Code::Drawn => write!(f, "drawn at random among {}", self.ties),
            Code::LeastInFlight => write!(f, "fewest requests in flight ({value})"),
            Code::LeastWeighted => write!(f, "fewest requests in flight for its weight ({value:.4})"),
            Code::LeastRoundTrip => {
                write!(f, "shortest mean round trip in the window ({})", Span::from_secs_f64(value))
            }
            Code::LeastTransmitted => write!(f, "fewest bytes in the window ({value} B)"),
            Code::LeastPredicted => write!(f, "shortest predicted response time ({})", Span::from_secs_f64(value)),
            Code::Hash => write!(f, "the hash of the client's address falls to it"),
            Code::Cookie => write!(f, "the client's cookie names it"),
            Code::NoBackend => write!(f, "no backend can take it"),
        }?;
        let compares = !matches!(self.code, Code::Drawn | Code::NoBackend);
        if compares && self.ties > 1 { write!(f, ", one of {} such", self.ties) } else { Ok(()) }
    }
}
