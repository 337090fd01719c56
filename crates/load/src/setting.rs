//! The choices that a run leaves to its caller, how far it is, and why it may be refused.

use std::io;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use sojourn_stats::Span;
use thiserror::Error;

use crate::outcome::Counts;
use crate::recorder::watch::Recent;

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

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Time since the start.
    pub elapsed: Span,
    /// Share of the run that is done, from 0 to 1.
    pub share: f64,
    /// Requests whose time has come; objects where users browse.
    pub planned: u64,
    /// Good replies.
    pub ok: u64,
    /// Failed and abandoned requests.
    pub failed: u64,
    /// All of them by what became of them, and what was seen since the last time; where the run is watched
    /// ([`crate::Load::watched`]).
    pub seen: Option<Box<(Counts, Recent)>>,
}

/// Why there was no run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A setting that cannot be.
    #[error("{0}")]
    Invalid(String),
    /// A public address, and nobody has said that they may put load on it.
    #[error("{target} is neither loopback nor private: a load test of somebody else's server is an attack on it")]
    NotAllowed {
        /// The address.
        target: SocketAddr,
    },
    /// A host's name has no address.
    #[error("host `{host}` has no address: {reason}")]
    NotResolved {
        /// The name.
        host: String,
        /// What the name server says.
        reason: String,
    },
    /// The TLS handshake failed, or the certificate did not verify.
    #[error("no TLS with {endpoint} ({target}): {reason}")]
    Tls {
        /// Host and port as written.
        endpoint: String,
        /// The address.
        target: SocketAddr,
        /// Which check failed, and what helps.
        reason: String,
    },
    /// Nobody listens.
    #[error("{target} refuses connections: is the server running on that port?")]
    Refused {
        /// The address.
        target: SocketAddr,
    },
    /// Nobody answers.
    #[error("{target} does not answer: no connection within {within}")]
    NoAnswer {
        /// The address.
        target: SocketAddr,
        /// How long was waited.
        within: Span,
    },
    /// There is no way to it.
    #[error("cannot connect to {target}: {source}")]
    Unreachable {
        /// The address.
        target: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The system lets no process open so many files.
    #[error(
        "{connections} connections need as many open files, and the limit is {limit}: \
         raise it (`ulimit -n`) or lower the connections"
    )]
    Files {
        /// Connections asked for.
        connections: u64,
        /// The hard limit.
        limit: u64,
    },
    /// The instant at which all parts were to start has passed.
    #[error("the common start was {late} ago: begin the parts earlier, or start later")]
    Late {
        /// How long ago.
        late: Span,
    },
    /// The system refused a thread, an epoll or a timer.
    #[error("cannot start a thread of the load generator: {0}")]
    System(#[from] io::Error),
}
