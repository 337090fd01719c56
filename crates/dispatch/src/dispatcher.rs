//! A table, a policy and its stream, held together.

use sojourn_stats::Time;
use thiserror::Error;

use crate::{BackendId, Command, Decision, Event, Information, Request, Signals, Table};

/// One decider: what the simulator's balancer and the live gateway both hold.
pub struct Dispatcher {
    table: Table,
}

/// Why a dispatcher cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// The message says which policy, and the nearest known one.
    #[error("{0}")]
    Policy(String),
    /// The message names the missing signal.
    #[error("{0}")]
    MissingSignal(String),
}

impl Dispatcher {
    /// A dispatcher that follows `policy` (a text such as `least-connections` or `round-trip(window = 1 s)`) at a face
    /// that provides `signals`, over backends of these names and weights. `name` names its random stream.
    ///
    /// # Errors
    /// On an unknown policy, a bad parameter, or a signal that the policy requires and the face does not provide.
    pub fn new(
        policy: &str,
        backends: &[(String, f64)],
        information: Information,
        signals: Signals,
        seed: u64,
        name: &str,
    ) -> Result<Dispatcher, DispatchError> {
        let _ = (policy, backends, information, signals, seed, name);
        Ok(Dispatcher { table: Table {} })
    }

    /// Chooses a backend for `request` and counts the request as in flight there. `exclude`: those already tried.
    pub fn choose(&mut self, request: &Request, exclude: &[BackendId], now: Time) -> Decision {
        let _ = (request, exclude, now);
        unreachable!()
    }

    /// Tells the table and the policy what happened.
    pub fn observe(&mut self, event: Event, now: Time) {
        let _ = (event, now);
    }

    /// Does what is due by `now` (window ends, polls) and returns what the face must do.
    pub fn poll(&mut self, now: Time) -> Vec<Command> {
        let _ = now;
        Vec::new()
    }

    /// When [`Dispatcher::poll`] is next due.
    pub fn next_deadline(&self) -> Option<Time> {
        None
    }

    /// What is known of the backends.
    pub fn table(&self) -> &Table {
        &self.table
    }
}
