//! What a face tells its dispatcher.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use crate::BackendId;

/// Something that happened. A request that was forwarded ends with exactly one of `Completed`, `Failed` or `Cancelled`;
/// until then it is in flight, also while it is pending (not yet sent).
///
/// A face need not tell what nobody reads: see [`crate::Dispatcher::requires`]. The ends of requests it always tells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs)] // the fields say what their names say
pub enum Event {
    /// A forwarded request left for the backend.
    Sent { backend: BackendId },
    /// The first byte of its reply came back, this long after it was sent (or, at a face that provides only
    /// [`crate::Signals::CLIENT_FIRST_BYTE`], reached the client).
    FirstByte { backend: BackendId, round_trip: Span },
    /// Bytes of a reply passed.
    Transmitted { backend: BackendId, bytes: u64 },
    /// The reply is complete. Those of its `bytes` that no `Transmitted` told count as transmitted now. A status of 429
    /// or from 500 up is a failure to the policies that judge by speed.
    Completed { backend: BackendId, status: u16, bytes: u64, latency: Span },
    /// No reply, or a broken one, after this long.
    Failed { backend: BackendId, after: Span },
    /// The client went away first.
    Cancelled { backend: BackendId },
    /// A connection to the backend was opened (idle ones count).
    Opened { backend: BackendId },
    /// A connection to the backend was closed.
    Closed { backend: BackendId },
    /// The backend said, at `measured`, how many requests it has. One older than the last is ignored.
    Reported { backend: BackendId, in_flight: u32, measured: Time },
    /// So long would the request that is chosen for next take there (see [`crate::Signals::PREDICTED_RESPONSE`]).
    Predicted { backend: BackendId, response: Span },
    /// The backend can be chosen (again). A backend of a new name joins by [`crate::Dispatcher::join`].
    Joined { backend: BackendId },
    /// The backend takes no new requests but ends what it has.
    Draining { backend: BackendId },
    /// The backend does not answer.
    Down { backend: BackendId },
    /// The backend left for good; its counters are kept, in case it comes back under its name.
    Left { backend: BackendId },
}

impl Event {
    /// The backend it happened to.
    #[inline]
    pub fn backend(&self) -> BackendId {
        match *self {
            Event::Sent { backend }
            | Event::FirstByte { backend, .. }
            | Event::Transmitted { backend, .. }
            | Event::Completed { backend, .. }
            | Event::Failed { backend, .. }
            | Event::Cancelled { backend }
            | Event::Opened { backend }
            | Event::Closed { backend }
            | Event::Reported { backend, .. }
            | Event::Predicted { backend, .. }
            | Event::Joined { backend }
            | Event::Draining { backend }
            | Event::Down { backend }
            | Event::Left { backend } => backend,
        }
    }
}
