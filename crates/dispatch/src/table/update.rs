//! What moves the table: who joins and leaves, what is chosen and what becomes of it, and what backends say of themselves.

use sojourn_stats::Time;

use super::said::{Said, micro};
use super::{Backend, Rest, Table};
use crate::window::Window;
use crate::{BackendId, Event, Hardware, Origin, Report, State};

impl Table {
    /// Makes a backend of this name known and eligible; one that was known keeps its number and counters.
    pub(crate) fn join(&mut self, name: &str, weight: f64) -> BackendId {
        let id = match self.ids.get(name) {
            Some(&id) => id,
            None => {
                let id = BackendId(self.backends.len() as u32);
                self.backends.push(Backend { state: State::Left, ..Backend::default() });
                self.rests.push(Rest::default());
                self.said.push(Said::default());
                if let Some(window) = &mut self.window {
                    window.join(id);
                }
                self.names.push(name.to_owned());
                self.ids.insert(name.to_owned(), id);
                id
            }
        };
        self.backends[id.0 as usize].weight = weight;
        self.changed();
        self.enter(id, State::Up);
        self.rekey(id);
        id
    }

    /// Counts a request forwarded to `id`.
    ///
    /// # Panics
    /// When `id` cannot be chosen: the policy broke its contract.
    #[inline]
    pub(crate) fn forwarded(&mut self, id: BackendId, leased: bool) {
        assert!(self.is_eligible(id), "a policy chose {id:?}, which is not eligible");
        let backend = &mut self.backends[id.0 as usize];
        backend.forwarded += 1;
        if leased {
            backend.leases += 1;
        } else if self.counted {
            backend.in_flight += 1;
            backend.waiting += 1;
        }
        self.turn(id);
        if !self.polled {
            self.rekey(id);
        }
    }

    /// Ends a lease of `id`, with what it reserved.
    pub(crate) fn lease_ended(&mut self, id: BackendId, reserved: u64) {
        self.said[id.0 as usize].release(reserved);
        let backend = &mut self.backends[id.0 as usize];
        backend.leases = backend.leases.checked_sub(1).expect("a lease ends once");
        self.turn(id);
        self.rekey(id);
    }

    /// Counts a choice of `id` that is no load: its client is sent there, or the choice only moves beliefs.
    ///
    /// # Panics
    /// When `id` cannot be chosen: the policy broke its contract.
    pub(crate) fn chosen(&mut self, id: BackendId) {
        assert!(self.is_eligible(id), "a policy chose {id:?}, which is not eligible");
        self.backends[id.0 as usize].forwarded += 1;
    }

    /// Believes that a choice raised the utilisation of `id` and took of its room, until the next report.
    pub(crate) fn believe(&mut self, id: BackendId, cpu: f32, room: f32) {
        self.said[id.0 as usize].believe(cpu, room);
        self.rekey_room(id);
    }

    /// Believes that a choice takes of the room of `id`, until [`Table::lease_ended`] is told so; how much it takes.
    pub(crate) fn reserve(&mut self, id: BackendId, room: f32) -> u64 {
        let room = micro(room.into());
        self.said[id.0 as usize].reserve(room);
        self.rekey_room(id);
        room
    }

    /// Takes a report; false for one that is older than the last or says what no backend can say.
    pub(crate) fn take_report(&mut self, id: BackendId, report: &Report) -> bool {
        let said = &mut self.said[id.0 as usize];
        let late = said.report.as_ref().is_some_and(|last| report.measured < last.measured);
        if late || !report.is_sound() {
            return false;
        }
        said.take(report);
        self.backends[id.0 as usize].reported = report.in_flight;
        self.rekey(id);
        true
    }

    pub(crate) fn set_weight(&mut self, id: BackendId, weight: f64) {
        self.backends[id.0 as usize].weight = weight;
        self.changed();
        self.rekey(id);
    }

    pub(crate) fn set_hardware(&mut self, id: BackendId, hardware: Hardware) {
        self.said[id.0 as usize].hardware = hardware;
    }

    pub(crate) fn set_origin(&mut self, id: BackendId, origin: Origin) {
        self.said[id.0 as usize].origin = origin;
        self.changed();
    }

    pub(crate) fn set_owners(&mut self, object: u32, owners: &[BackendId]) {
        self.owners.insert(object, owners.into());
    }

    /// Counts what happened.
    ///
    /// # Panics
    /// When a request ends that was never forwarded, or a connection closes that was never opened: the face's books are
    /// wrong, and every later choice would be.
    #[inline]
    pub(crate) fn observe(&mut self, event: &Event) {
        let id = event.backend();
        let backend = &mut self.backends[id.0 as usize];
        let rest = &mut self.rests[id.0 as usize];
        match *event {
            Event::Sent { .. } => {
                backend.waiting = backend.waiting.saturating_sub(1);
                return;
            }
            Event::Inherited { .. } => {
                if !self.counted {
                    return;
                }
                backend.in_flight += 1;
            }
            Event::Opened { .. } => {
                rest.connections += 1;
                return;
            }
            Event::Closed { .. } => {
                rest.connections = rest.connections.checked_sub(1).expect("a connection closed that was not open");
                return;
            }
            Event::FirstByte { round_trip, .. } => match &mut self.window {
                Some(window) => window.round_trip(id, round_trip),
                None => return,
            },
            Event::Transmitted { bytes, .. } => {
                backend.ahead = backend.ahead.saturating_add(bytes);
                backend.bytes = backend.bytes.saturating_add(bytes);
                match &mut self.window {
                    Some(window) => window.transmitted(id, bytes),
                    None => return,
                }
            }
            Event::Completed { status, bytes, latency, .. } => {
                let untold = bytes.saturating_sub(backend.ahead);
                backend.ahead = backend.ahead.saturating_sub(bytes);
                backend.bytes = backend.bytes.saturating_add(untold);
                backend.completed += 1;
                let error = status >= 500 || status == 429;
                if error {
                    rest.errors += 1;
                }
                if let Some(window) = &mut self.window {
                    if untold > 0 {
                        window.transmitted(id, untold);
                    }
                    if error {
                        window.failed(id, latency);
                    }
                }
                backend.end(self.counted);
            }
            Event::Failed { after, .. } => {
                rest.failed += 1;
                if let Some(window) = &mut self.window {
                    window.failed(id, after);
                }
                backend.end(self.counted);
            }
            Event::Cancelled { .. } => {
                rest.cancelled += 1;
                backend.end(self.counted);
            }
            Event::Predicted { response, .. } => {
                rest.predicted = response;
                return;
            }
            Event::Joined { .. } => return self.enter(id, State::Up),
            Event::Draining { .. } => return self.enter(id, State::Draining),
            Event::Down { .. } => return self.enter(id, State::Down),
            Event::Left { .. } => return self.enter(id, State::Left),
        }
        self.turn(id);
        self.rekey(id);
    }

    /// Why `event` cannot have happened, if it cannot: for events that were read from a file.
    pub(crate) fn contradicts(&self, event: &Event) -> Option<String> {
        let id = event.backend();
        let Some(backend) = self.backends.get(id.0 as usize) else {
            return Some(format!("there is no backend {}", id.0));
        };
        match event {
            Event::Completed { .. } | Event::Failed { .. } | Event::Cancelled { .. } => (self.counted
                && backend.in_flight == 0)
                .then(|| format!("a request ends at `{}`, which has none", self.name(id))),
            Event::Closed { .. } => (self.rest(id).connections == 0)
                .then(|| format!("a connection closes at `{}`, which has none", self.name(id))),
            _ => None,
        }
    }

    /// When the window's totals next forget something.
    #[inline]
    pub(crate) fn window_end(&self) -> Option<Time> {
        self.window.as_ref().map(Window::end)
    }

    /// Takes out of the window's totals what is too old at `now`.
    pub(crate) fn roll(&mut self, now: Time) {
        let Some(window) = self.window.as_mut().filter(|window| window.end() <= now) else { return };
        let changed = window.roll(now);
        for &id in &changed {
            self.rekey(id);
        }
        if let Some(window) = &mut self.window {
            window.recycle(changed);
        }
    }

    fn enter(&mut self, id: BackendId, state: State) {
        let could_be_chosen = self.is_eligible(id);
        let was = std::mem::replace(&mut self.backends[id.0 as usize].state, state) == State::Up;
        if was == (state == State::Up) {
            return;
        }
        toggle(&mut self.up, id);
        self.changed();
        self.list(id, could_be_chosen);
    }

    /// Notes that `id`, which could be chosen or not, now perhaps cannot, or can.
    pub(super) fn list(&mut self, id: BackendId, was: bool) {
        let is = self.is_eligible(id);
        if was == is {
            return;
        }
        self.generation += 1;
        toggle(&mut self.eligible, id);
        if is { self.rekey(id) } else { self.unlist(id) }
    }

    /// Who is up, a weight or an origin has changed.
    fn changed(&mut self) {
        self.membership += 1;
        self.generation += 1;
    }
}

/// Puts `id` into an ascending list, or takes it out. O(n), once per change: an ascending list is what a round robin can
/// keep its place in.
fn toggle(list: &mut Vec<BackendId>, id: BackendId) {
    match list.binary_search(&id) {
        Ok(position) => drop(list.remove(position)),
        Err(position) => list.insert(position, id),
    }
}
