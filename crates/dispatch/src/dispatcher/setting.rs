//! What a dispatcher is told of its backends beside what happens: limits, weights, what they are made of and where they are.

use sojourn_stats::Time;

use super::Dispatcher;
use crate::{BackendId, DispatchError, Hardware, Limit, Origin, Signals};

impl Dispatcher {
    /// From now on a backend with as many requests in flight as `limit` says is not chosen until it has come down to the
    /// lower mark; what it has beyond that stays.
    ///
    /// # Errors
    /// When the face does not tell the end of each request: then nothing could be counted.
    pub fn limit(&mut self, limit: Limit) -> Result<(), DispatchError> {
        self.may_limit(limit.connections())?;
        if let Some(recorder) = &mut self.recorder {
            recorder.limit(limit);
        }
        self.table.set_limit(limit);
        Ok(())
    }

    /// From now on this backend has a limit of its own, or none; what it has beyond that stays.
    ///
    /// # Errors
    /// As [`Dispatcher::limit`].
    ///
    /// # Panics
    /// When the backend's number was never given.
    pub fn limit_of(&mut self, backend: BackendId, limit: Option<Limit>) -> Result<(), DispatchError> {
        self.may_limit(limit.map_or(0, Limit::connections))?;
        if let Some(recorder) = &mut self.recorder {
            recorder.limit_of(backend, limit);
        }
        self.table.set_limit_of(backend, limit);
        Ok(())
    }

    /// From now on this backend has this weight, which may be a part of one that its policy takes
    /// ([`Policy::weighs`](crate::Policy::weighs)).
    ///
    /// # Panics
    /// When the backend's number was never given.
    pub fn set_weight(&mut self, backend: BackendId, weight: f64, now: Time) {
        self.catch_up(now);
        self.fresh = false;
        if let Some(recorder) = &mut self.recorder {
            recorder.weight(backend, weight, now);
        }
        self.table.set_weight(backend, weight);
    }

    /// As [`Policy::weighs`](crate::Policy::weighs).
    pub fn weighs(&self) -> bool {
        self.policy.weighs()
    }

    fn may_limit(&self, most: u32) -> Result<(), DispatchError> {
        match self.table.is_counted() {
            true => Ok(()),
            false => Err(DispatchError::Limit(format!(
                "a limit of {most} connections needs {}, which this face does not provide",
                Signals::IN_FLIGHT.in_words()
            ))),
        }
    }

    /// From now on a request is refused where backends are up and none of them has room for what its client asks for: its
    /// rate as told, else the mean of those told, else any room at all. The policy is then not asked. Or, with false, as usual
    /// the policy chooses in any case.
    pub fn need_room(&mut self, needs: bool) {
        self.fresh = false;
        if let Some(recorder) = &mut self.recorder {
            recorder.need_room(needs);
        }
        self.needs_room = needs;
    }

    /// Says what a backend is made of.
    ///
    /// # Panics
    /// When the backend's number was never given.
    pub fn set_hardware(&mut self, backend: BackendId, hardware: Hardware) {
        self.fresh = false;
        if let Some(recorder) = &mut self.recorder {
            recorder.hardware(backend, hardware);
        }
        self.table.set_hardware(backend, hardware);
    }

    /// Says where a backend is.
    ///
    /// # Panics
    /// When the backend's number was never given.
    pub fn set_origin(&mut self, backend: BackendId, origin: Origin) {
        self.fresh = false;
        if let Some(recorder) = &mut self.recorder {
            recorder.origin(backend, origin);
        }
        self.table.set_origin(backend, origin);
    }

    /// Says which backends own an object.
    pub fn set_owners(&mut self, object: u32, owners: &[BackendId]) {
        self.fresh = false;
        if let Some(recorder) = &mut self.recorder {
            recorder.owners(object, owners);
        }
        self.table.set_owners(object, owners);
    }
}
