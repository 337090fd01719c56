//! Why a dispatcher cannot be made.

use thiserror::Error;

/// Why a dispatcher cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// The message says which name no policy has, and the nearest known one.
    #[error("{0}")]
    UnknownPolicy(String),
    /// The message says which policy, and what is wrong with its parameters.
    #[error("{0}")]
    Policy(String),
    /// The message names the missing signal.
    #[error("{0}")]
    MissingSignal(String),
    /// The message names the backend and what is wrong with it.
    #[error("{0}")]
    Backend(String),
    /// The information model is impossible.
    #[error("{0}")]
    Information(String),
    /// The message says which setting of a decider is impossible.
    #[error("{0}")]
    Settings(String),
    /// The message says what is wrong with the limit of each backend.
    #[error("{0}")]
    Limit(String),
}
