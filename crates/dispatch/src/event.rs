//! What a face tells its dispatcher.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use crate::BackendId;

/// Something that happened. A request that was forwarded ends with exactly one of `Completed`, `Failed` or `Cancelled`;
/// until then it is in flight, also while it is pending (not yet sent).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A forwarded request left for the backend.
    Sent { backend: BackendId },
    /// The first byte of its reply came back, this long after it was sent.
    FirstByte { backend: BackendId, round_trip: Span },
    /// Bytes of a reply passed.
    Transmitted { backend: BackendId, bytes: u64 },
    /// The reply is complete.
    Completed { backend: BackendId, status: u16, bytes: u64, latency: Span },
    /// No reply, or a broken one, after this long.
    Failed { backend: BackendId, after: Span },
    /// The client went away first.
    Cancelled { backend: BackendId },
    /// A connection to the backend was opened (idle ones count).
    Opened { backend: BackendId },
    /// A connection to the backend was closed.
    Closed { backend: BackendId },
    /// The backend said, at `measured`, how many requests it has.
    Reported { backend: BackendId, in_flight: u32, measured: Time },
    /// The backend can be chosen (again).
    Joined { backend: BackendId },
    /// The backend takes no new requests but ends what it has.
    Draining { backend: BackendId },
    /// The backend does not answer.
    Down { backend: BackendId },
    /// The backend left for good; its counters are kept, in case it comes back under its name.
    Left { backend: BackendId },
}
