//! What a policy answers.

mod explanation;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use crate::BackendId;
pub use explanation::{Candidate, Explanation};

/// What to do with a request, and why. It is small, because every request passes one on: a list of addresses is asked
/// for apart ([`crate::Dispatcher::answer`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// What to do.
    pub action: Action,
    /// Why; formatted only on request.
    pub reason: Reason,
    /// How long the choice counts.
    pub hold: Hold,
}

const _: () = assert!(size_of::<Decision>() <= 40);

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Serve it on this machine.
    ServeHere,
    /// Send it on to a backend.
    Forward(BackendId),
    /// Tell the client to ask a backend itself.
    Redirect(BackendId),
    /// Answer with addresses: this backend's first, then those of [`crate::Dispatcher::answer`].
    Answer(BackendId),
    /// Keep it until a backend is free.
    Queue,
    /// No backend can take it.
    Refuse,
}

/// How long a choice counts at the backend that was chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Until the face tells the end of the request.
    #[default]
    UntilTold,
    /// As load until this time, whatever becomes of the request (a DNS server never sees a request complete).
    Until(Time),
    /// As a guess until the backend's next report: [`crate::Table::believed_cpu`] rises and
    /// [`crate::Table::believed_room`] falls. Where the face tells ends of requests, a request that was forwarded is in
    /// flight as well.
    UntilReport {
        /// Relative rise of the processor's utilisation: 0.3 is 30 %.
        cpu: f32,
        /// Fall of the room, in requests per second.
        room: f32,
    },
    /// As load until a time, as [`Hold::Until`]; and until then [`crate::Table::believed_room`] is lower, whatever the
    /// backend reports meanwhile.
    Reserved {
        /// When it ends.
        until: Time,
        /// Fall of the room, in requests per second.
        room: f32,
    },
}

impl Decision {
    /// Send it on to `backend`, until the end of the request is told.
    #[inline]
    pub fn forward(backend: BackendId, reason: Reason) -> Decision {
        Decision { action: Action::Forward(backend), reason, hold: Hold::UntilTold }
    }

    /// No backend is left to choose.
    #[inline]
    pub fn refuse() -> Decision {
        let reason = Reason { code: Code::NoBackend, ties: 0, value: 0.0 };
        Decision { action: Action::Refuse, reason, hold: Hold::UntilTold }
    }

    /// The least backend, or a refusal where there is none; what [`crate::Table::least`] answers.
    #[inline]
    pub fn forward_or_refuse(found: Option<(BackendId, Reason)>) -> Decision {
        found.map_or_else(Decision::refuse, |(backend, reason)| Decision::forward(backend, reason))
    }

    /// The same, held for as long as `hold` says.
    #[inline]
    pub fn held(self, hold: Hold) -> Decision {
        Decision { hold, ..self }
    }

    /// The backend a request is sent on to, if it is.
    #[inline]
    pub fn forwarded_to(&self) -> Option<BackendId> {
        match self.action {
            Action::Forward(backend) => Some(backend),
            _ => None,
        }
    }

    /// The backend that was chosen, whatever is to be done with it.
    #[inline]
    pub fn chosen(&self) -> Option<BackendId> {
        match self.action {
            Action::Forward(backend) | Action::Redirect(backend) | Action::Answer(backend) => Some(backend),
            Action::ServeHere | Action::Queue | Action::Refuse => None,
        }
    }
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
    /// Fewest in flight for its weight, counted with the request at hand, in whole numbers (HAProxy).
    LeastNextWeighted,
    /// Shortest round-trip time in the averaging window.
    LeastRoundTrip,
    /// Fewest bytes transmitted in the averaging window.
    LeastTransmitted,
    /// Smallest estimate of a time, times the requests in flight.
    LeastExpected,
    /// Shortest predicted response time.
    LeastPredicted,
    /// Shortest round trip to the client.
    LeastDistance,
    /// Shortest great-circle distance to the client.
    LeastKilometres,
    /// Most leading bits of its address in common with the client's.
    LongestPrefix,
    /// The region of the client.
    SameRegion,
    /// Smallest used share of its capacity.
    LeastUsed,
    /// Largest capacity.
    LargestCapacity,
    /// The client's address.
    Hash,
    /// The path.
    PathHash,
    /// The path's own backend.
    PathHome,
    /// The client's cookie.
    Cookie,
    /// Shortest estimate of all that the request would take.
    LeastCost,
    /// It owns what is asked for.
    Owner,
    /// It was redirected already.
    Redirected,
    /// The request came to it, or could not stay where it came.
    Here,
    /// The rule of a policy of your own.
    Own,
    /// No backend is left to choose.
    NoBackend,
    /// The same, and of those that are up some are full.
    Full,
    /// A circuit breaker is open, or the queue has no place ([`crate::Guards`]).
    Breaker,
    /// None has room for what the client asks for, and room is needed ([`crate::Dispatcher::need_room`]).
    NoRoom,
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
            Code::LeastNextWeighted => write!(f, "smallest key of requests in flight and weight ({value})"),
            Code::LeastRoundTrip => {
                write!(f, "shortest mean round trip in the window ({:.3})", Span::from_secs_f64(value))
            }
            Code::LeastTransmitted => write!(f, "fewest bytes in the window ({value} B)"),
            Code::LeastExpected if value < 1e300 => {
                write!(f, "shortest estimate for those in flight and this one ({:.3})", Span::from_secs_f64(value))
            }
            Code::LeastExpected => write!(f, "nothing has come back from it yet"),
            Code::LeastPredicted => write!(f, "shortest predicted response time ({:.3})", Span::from_secs_f64(value)),
            Code::LeastDistance => write!(f, "shortest round trip to the client ({:.3})", Span::from_secs_f64(value)),
            Code::LeastKilometres => write!(f, "shortest great-circle distance to the client ({value:.0} km)"),
            Code::LongestPrefix => write!(f, "most leading bits in common with the client's address ({value})"),
            Code::SameRegion => write!(f, "it is in the client's region"),
            Code::LeastUsed => write!(f, "smallest used share of its capacity ({value:.4})"),
            Code::LargestCapacity => write!(f, "largest capacity ({value:.4}/s)"),
            Code::Hash => write!(f, "the hash of the client's address falls to it"),
            Code::PathHash => write!(f, "the hash of the path falls to it"),
            Code::PathHome => write!(f, "the path's own ({value} in flight)"),
            Code::Cookie => write!(f, "the client's cookie names it"),
            Code::LeastCost => write!(f, "shortest estimate of what it takes ({:.3})", Span::from_secs_f64(value)),
            Code::Owner => write!(f, "it owns what is asked for"),
            Code::Here if value > 0.0 => write!(f, "the request came to it"),
            Code::Here => write!(f, "the request could not stay where it came"),
            Code::Redirected => write!(f, "it was redirected already"),
            Code::Own => write!(f, "its policy's own rule ({value})"),
            Code::NoBackend => write!(f, "no backend can take it"),
            Code::Full => write!(f, "no backend can take it, {value} are full"),
            Code::Breaker => write!(f, "{value} are there already, and no more may be"),
            Code::NoRoom => write!(f, "no backend has room for {value:.4} requests/s"),
        }?;
        let compares = !matches!(self.code, Code::Drawn | Code::NoBackend | Code::Full | Code::Breaker | Code::NoRoom);
        if compares && self.ties > 1 { write!(f, ", one of {} such", self.ties) } else { Ok(()) }
    }
}

/// Named values.
pub type Terms = Vec<(Cow<'static, str>, f64)>;
