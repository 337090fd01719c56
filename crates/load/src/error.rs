//! Why a run is refused.

use std::io;
use std::net::SocketAddr;

use sojourn_stats::Span;
use thiserror::Error;

/// Why there was no run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A setting that cannot be.
    #[error("{0}")]
    Invalid(String),
    /// A public address, without leave to put load on it ([`crate::Load::allowed`]).
    #[error("{target} is neither loopback nor private: a load test of another owner's server is an attack on it")]
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
    /// No server listens there.
    #[error("{target} refuses connections: is the server running on that port?")]
    Refused {
        /// The address.
        target: SocketAddr,
    },
    /// No answer came.
    #[error("{target} does not answer: no connection within {within}")]
    NoAnswer {
        /// The address.
        target: SocketAddr,
        /// How long was waited.
        within: Span,
    },
    /// It speaks no HTTP/2 over plain TCP.
    #[error("{target} does not answer in HTTP/2: ask in HTTP/1.1, or over https where it may")]
    NoHttp2 {
        /// The address.
        target: SocketAddr,
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
    /// The instant at which all shares were to start has passed.
    #[error("the common start was {late:.3} ago: begin the shares earlier, or start later")]
    Late {
        /// How long ago.
        late: Span,
    },
    /// The system refused a thread, an epoll or a timer.
    #[error("cannot start a thread of the load generator: {0}")]
    System(#[from] io::Error),
}
