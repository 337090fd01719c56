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

/// How a load is dealt to its endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rotation {
    /// Client `c` has endpoint `c mod n` for the whole run, as when round-robin DNS gives each client one address of `n`.
    /// Users of a saturating load, who are all client 0 to the server, are told apart by their numbers.
    #[default]
    Client,
    /// Request `k` goes to endpoint `k mod n`; an object where users browse. A connection is never used for another
    /// address, so that a closed user opens one for each request.
    Request,
}

/// When a user resolves the name of a host again: with the first connection that it opens after this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolves {
    /// When the answer's TTL is over.
    #[default]
    Ttl,
    /// So long after the last answer, whatever its TTL is (WebStone: once a minute).
    Every(#[serde(with = "sojourn_stats::nanoseconds")] Span),
    /// At once: every connection is preceded by a question.
    EachConnection,
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
