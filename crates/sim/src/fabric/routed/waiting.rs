//! What a connection does for a request that has to wait for a time-out.

use sojourn_model::{Connecting, Sending};
use sojourn_stats::Time;

use crate::fabric::deciders::Next;

/// What a connection does for a request that has to wait for a time-out.
pub(super) struct Waiting {
    pub(super) task: Task,
    /// The end that is no client.
    pub(super) next: Next,
    pub(super) rate: Option<f64>,
    pub(super) since: Time,
}

/// What it does.
#[derive(Clone, Copy)]
pub(super) enum Task {
    SetsUp(Connecting),
    /// The client's part of a handshake of TLS, and the server's answer.
    Greets(Sending),
    Proves(Sending),
    Asks(Sending),
    /// A redirection.
    TurnsBack(Sending),
    Replies(Sending),
    /// A file, from the server that owns it.
    Crosses(Sending),
}
