//! What can go wrong before a server serves.

use std::io;
use std::net::SocketAddr;

use sojourn_dispatch::DispatchError;
use sojourn_stats::config::Wrong;
use thiserror::Error;

/// Why a live part cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Another program listens there.
    #[error("{0} is already in use: stop what listens there, or listen on port 0 for a free port")]
    InUse(SocketAddr),
    /// The system refuses the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A setting is impossible; the message says which, and what would be right.
    #[error("{0}")]
    Config(String),
    /// The policy cannot be followed here.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    /// It has served, but its record of decisions lacks what came last.
    #[error("the record of decisions could not be written to its end; the event `record_failed` says why")]
    Record,
    /// The system refuses something else.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

/// A setting that was not checked where it was made.
impl From<Wrong> for ServeError {
    fn from(wrong: Wrong) -> ServeError {
        ServeError::Config(wrong.to_string())
    }
}

impl ServeError {
    /// What makes an error of the system out of what was tried.
    pub fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> ServeError {
        let what = what.into();
        move |source| ServeError::System { what, source }
    }
}
