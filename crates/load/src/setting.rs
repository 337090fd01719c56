//! The choices that a run leaves to its caller and that several files read.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

/// How a thread waits for the next planned instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Sleeps until a timerfd fires: tens of microseconds late, and the core is free for others meanwhile.
    #[default]
    Timer,
    /// Sleeps until 200 us before it and then polls: a few microseconds late, at the price of a core.
    Spin,
}

/// The HTTP that requests are sent in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// HTTP/1.0: a connection per request.
    Http10,
    /// HTTP/1.1 with connections that are kept.
    #[default]
    Http11,
    /// HTTP/2, over TLS where the server agrees (ALPN) and with prior knowledge over plain TCP.
    Http2,
}

/// When no more requests are planned. A plan that ends ends the run too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// After this time.
    After(Span),
    /// After this many requests; objects where users browse.
    Requests(u64),
}

impl Stop {
    /// How many jobs a closed schedule has and when it ends, as far as this says.
    pub(crate) fn known(self) -> (Option<u64>, Option<Time>) {
        match self {
            Stop::After(end) => (None, Some(Time(end.0))),
            Stop::Requests(most) => (Some(most), None),
        }
    }
}
