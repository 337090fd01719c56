//! What a face tells its dispatcher.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use crate::BackendId;

/// Something that happened. A request that was forwarded ends with exactly one of `Completed`, `Failed` or `Cancelled`;
/// until then it is in flight, also while it is pending (not yet sent).
///
/// A face need not tell what is not read: see [`crate::Dispatcher::requires`]. The ends of requests it always tells. An
/// event is small, because each request makes several: what a backend reports is told apart, as a [`Report`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs)] // the fields say what their names say
pub enum Event {
    /// A forwarded request left for the backend.
    Sent { backend: BackendId },
    /// The first byte of its reply came back, this long after it was sent (or, at a face that provides only
    /// [`crate::Signals::CLIENT_FIRST_BYTE`], reached the client).
    FirstByte {
        backend: BackendId,
        #[serde(with = "sojourn_stats::nanoseconds")]
        round_trip: Span,
    },
    /// Bytes of a reply passed.
    Transmitted { backend: BackendId, bytes: u64 },
    /// The reply is complete. Those of its `bytes` that no `Transmitted` told count as transmitted now. A status of 429
    /// or from 500 up is a failure to the policies that judge by speed.
    Completed {
        backend: BackendId,
        status: u16,
        bytes: u64,
        #[serde(with = "sojourn_stats::nanoseconds")]
        latency: Span,
    },
    /// No reply, or a broken one, after this long.
    Failed {
        backend: BackendId,
        #[serde(with = "sojourn_stats::nanoseconds")]
        after: Span,
    },
    /// The client went away first, this long after the request was sent; 0 where that says nothing of the backend, as when the
    /// first byte had come, or the client's own upload was what took so long.
    Cancelled {
        backend: BackendId,
        #[serde(default, skip_serializing_if = "crate::request::is_default", with = "sojourn_stats::nanoseconds")]
        after: Span,
    },
    /// A request is in flight there that another dispatcher forwarded, before this one took its place.
    Inherited { backend: BackendId },
    /// A connection to the backend was opened (idle ones count).
    Opened { backend: BackendId },
    /// A connection to the backend was closed.
    Closed { backend: BackendId },
    /// So long would the request that is chosen for next take there (see [`crate::Signals::PREDICTED_RESPONSE`]).
    Predicted {
        backend: BackendId,
        #[serde(with = "sojourn_stats::nanoseconds")]
        response: Span,
    },
    /// The backend can be chosen (again). A backend of a new name joins by [`crate::Dispatcher::join`].
    Joined { backend: BackendId },
    /// The backend takes no new requests but ends what it has.
    Draining { backend: BackendId },
    /// The backend does not answer.
    Down { backend: BackendId },
    /// The backend left for good; its counters are kept, in case it comes back under its name.
    Left { backend: BackendId },
}

const _: () = assert!(size_of::<Event>() <= 24);

/// What a backend says of itself. A value that the face does not tell is 0: see [`crate::Signals`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// When it was measured, by the clock of the face. A report older than the last is ignored.
    pub measured: Time,
    /// Requests that the backend has.
    pub in_flight: u32,
    /// Mean time that its requests take.
    #[serde(with = "sojourn_stats::nanoseconds")]
    pub latency: Option<Span>,
    /// Busy share of the processor; above 1 where work waits.
    #[serde(with = "crate::record::exact")]
    pub cpu: f32,
    /// Busy share of the disk.
    #[serde(with = "crate::record::exact")]
    pub disk: f32,
    /// Busy share of the network.
    #[serde(with = "crate::record::exact")]
    pub net: f32,
    /// Requests at the processor, the disk and the network, waiting or served; 0 where that is not told.
    #[serde(skip_serializing_if = "are_none")]
    pub queues: [u32; 3],
    /// Requests per second that it could take in addition.
    #[serde(with = "crate::record::exact")]
    pub room: f32,
    /// Requests per second that it can take in all.
    #[serde(with = "crate::record::exact")]
    pub capacity: f32,
    /// It came too soon after the one before to tell a new room, as an alarm does: its room and capacity are what was told
    /// before, and what choices since then took of the room still counts.
    #[serde(skip_serializing_if = "is_not")]
    pub is_early: bool,
    /// Requests completed since the last report.
    pub requests: u32,
    /// Bytes of replies since the last report.
    pub bytes: u64,
    /// Further values by name, for policies of your own.
    #[serde(with = "crate::record::exact::map")]
    pub extras: BTreeMap<String, f64>,
}

/// By what a report tells how loaded a resource is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadBy {
    /// The requests at the resource at the look, or its busy share since the look before, whichever is larger: an instant
    /// without a request does not hide that the resource was busy.
    #[default]
    Larger,
    /// The requests at the resource at the look alone.
    Queue,
    /// Its busy share since the look before alone.
    Busy,
}

impl LoadBy {
    /// The load of a resource with this busy share and so many requests.
    pub fn of(self, busy: f32, queue: u32) -> f64 {
        match self {
            LoadBy::Larger => f64::from(busy).max(queue.into()),
            LoadBy::Queue => queue.into(),
            LoadBy::Busy => busy.into(),
        }
    }
}

impl Report {
    /// The report of a backend that says only how many requests it has.
    pub fn of_in_flight(in_flight: u32, measured: Time) -> Report {
        Report { measured, in_flight, ..Report::default() }
    }

    /// Whether each value is one that a backend can have: finite and not below 0.
    pub(crate) fn is_sound(&self) -> bool {
        let shares = [self.cpu, self.disk, self.net, self.room, self.capacity];
        shares.iter().all(|value| value.is_finite() && *value >= 0.0) && self.extras.values().all(|v| v.is_finite())
    }
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
            | Event::Cancelled { backend, .. }
            | Event::Inherited { backend }
            | Event::Opened { backend }
            | Event::Closed { backend }
            | Event::Predicted { backend, .. }
            | Event::Joined { backend }
            | Event::Draining { backend }
            | Event::Down { backend }
            | Event::Left { backend } => backend,
        }
    }
}

fn is_not(flag: &bool) -> bool {
    !flag
}

/// Whether no queues are told.
fn are_none(queues: &[u32; 3]) -> bool {
    *queues == [0; 3]
}
