//! The limit of a backend: no more requests are in flight there, however many come.
//!
//! It is a count, not a rate: a count holds at every instant and needs to know nothing of what requests take. A backend that
//! has as many as that is full, and is as good as gone to every policy until it has come down to a lower mark, so that it is
//! not full again with the next request. Backends may have limits of their own. The price: each turn moves the list of those
//! that can be chosen, and a policy that keeps weights over them builds its structure anew. `maxconn` of HAProxy is such a
//! count, without the lower mark.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Table;
use crate::{BackendId, DispatchError};

/// Most requests in flight at each backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(u32, u32)", into = "(u32, u32)")]
pub struct Limit {
    /// A backend with so many is full.
    connections: u32,
    /// One that was full can be chosen again with no more than these.
    returns: u32,
}

impl Limit {
    /// A backend is full with so many requests `connections` in flight, and can be chosen again with `returns` or fewer.
    ///
    /// # Errors
    /// When no request could ever be sent, or one that is full would be chosen.
    pub fn new(connections: u32, returns: u32) -> Result<Limit, DispatchError> {
        let wrong = |what: String| Err(DispatchError::Limit(what));
        match (connections, returns) {
            (0, _) => wrong("a limit of 0 connections: at least 1, or nothing would ever be served".into()),
            (most, returns) if returns >= most => wrong(format!(
                "a limit of {most} with a return at {returns}: the lower mark is below the limit, at most {}",
                most - 1
            )),
            _ => Ok(Limit { connections, returns }),
        }
    }

    /// The lower mark of a limit of so many where none is named: a quarter below.
    pub fn usual_return(connections: u32) -> u32 {
        connections - connections.div_ceil(4)
    }

    /// With so many a backend is full.
    pub fn connections(self) -> u32 {
        self.connections
    }

    /// With no more than these a backend that was full can be chosen again.
    pub fn returns(self) -> u32 {
        self.returns
    }
}

impl FromStr for Limit {
    type Err = DispatchError;

    /// Reads `N` or `N,RETURN`; the lower mark is the usual one where none is named.
    fn from_str(text: &str) -> Result<Limit, DispatchError> {
        let numbers: Option<Vec<u32>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[most]) => Limit::new(most, Limit::usual_return(most)),
            Some(&[most, returns]) => Limit::new(most, returns),
            _ => Err(DispatchError::Limit("a number, or two with a comma, e.g. `20` or `20,15`".into())),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.connections, self.returns)
    }
}

impl TryFrom<(u32, u32)> for Limit {
    type Error = DispatchError;

    fn try_from((connections, returns): (u32, u32)) -> Result<Limit, DispatchError> {
        Limit::new(connections, returns)
    }
}

impl From<Limit> for (u32, u32) {
    fn from(limit: Limit) -> (u32, u32) {
        (limit.connections, limit.returns)
    }
}

impl Table {
    /// The limit of each backend, if there is one.
    pub fn limit(&self) -> Option<Limit> {
        self.limit
    }

    /// The limit of `id`, if it has one.
    #[inline]
    pub fn limit_of(&self, id: BackendId) -> Option<Limit> {
        self.limits.get(id.0 as usize).copied().unwrap_or(self.limit)
    }

    /// Limits that backends have of their own.
    pub(crate) fn own_limits(&self) -> impl Iterator<Item = (BackendId, Option<Limit>)> + '_ {
        (0..).map(BackendId).zip(self.limits.iter().copied())
    }

    /// Whether `id` has as many requests as its limit, or had and has not come down to the lower mark.
    pub fn is_full(&self, id: BackendId) -> bool {
        self.at(id).is_full
    }

    /// How many of those that are up are full.
    pub fn full(&self) -> usize {
        self.up.len() - self.eligible.len()
    }

    /// Whether ends of requests are told, so that those in flight can be counted.
    pub(crate) fn is_counted(&self) -> bool {
        self.counted
    }

    /// From now on each backend has this limit.
    pub(crate) fn set_limit(&mut self, limit: Limit) {
        self.limit = Some(limit);
        self.limits.clear();
        (0..self.backends.len() as u32).for_each(|id| self.turn(BackendId(id)));
    }

    /// From now on `id` has this limit, whatever the others have.
    pub(crate) fn set_limit_of(&mut self, id: BackendId, limit: Option<Limit>) {
        let all = self.limit;
        self.limits.resize(self.backends.len().max(self.limits.len()), all);
        self.limits[id.0 as usize] = limit;
        if limit.is_none() && self.is_full(id) {
            self.fill(id, false);
        }
        self.turn(id);
    }

    /// Notes whether `id` has become full or has come down.
    #[inline]
    pub(super) fn turn(&mut self, id: BackendId) {
        let Some(limit) = self.limit_of(id) else { return };
        let backend = &self.backends[id.0 as usize];
        let most = if backend.is_full { limit.returns } else { limit.connections - 1 };
        let is_full = backend.in_flight.saturating_add(backend.leases) > most;
        if is_full != backend.is_full {
            self.fill(id, is_full);
        }
    }

    fn fill(&mut self, id: BackendId, is_full: bool) {
        let was = self.is_eligible(id);
        self.backends[id.0 as usize].is_full = is_full;
        self.list(id, was);
    }
}
