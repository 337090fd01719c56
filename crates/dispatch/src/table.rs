//! What is known of each backend.
//!
//! A backend is its name: it gets a dense number once and keeps it, with its counters, when it leaves and comes back
//! (requests that were in flight then still end, and are still counted).
//! A request is in flight from the moment it is chosen for a backend, not from when it was sent, so that a backend that
//! is slow to connect to does not look idle (envoy issue 44989).

mod draws;
mod limit;
mod said;

use std::collections::HashMap;

use sojourn_stats::{Span, Stream, Time, prefetch};

use crate::index::{Kept, Key, Loads};
use crate::window::{Averaging, Window, WindowTotals};
use crate::{BackendId, Code, Event, Hardware, Index, LoadBy, Origin, Reason, Report, State, Terms, Ties, Totals};
pub(crate) use draws::{ShareBy, Shares};
pub use limit::Limit;
use said::{Said, micro};

/// What is known of each backend.
#[derive(Debug)]
pub struct Table {
    backends: Vec<Backend>,
    rests: Vec<Rest>,
    said: Vec<Said>,
    /// The backends that own each object.
    owners: HashMap<u32, Box<[BackendId]>>,
    /// Ids of those that are up, in ascending order.
    up: Vec<BackendId>,
    /// Those of them that are not full.
    eligible: Vec<BackendId>,
    /// Moves whenever `up`, a weight or an origin does.
    membership: u64,
    /// Moves whenever `eligible`, a weight or an origin does.
    generation: u64,
    limit: Option<Limit>,
    /// Of each backend, where they differ; empty: all have the one above.
    limits: Vec<Option<Limit>>,
    kept: Kept,
    ties: Ties,
    window: Option<Window>,
    /// Policies see reports instead of the dispatcher's own counts.
    polled: bool,
    /// The face tells the end of each request, so they can be counted.
    counted: bool,
    names: Vec<String>,
    ids: HashMap<String, BackendId>,
}

/// What every request moves: one cache line, because with thousands of backends each request meets a cold one.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Backend {
    state: State,
    is_full: bool,
    in_flight: u32,
    leases: u32,
    waiting: u32,
    reported: u32,
    weight: f64,
    forwarded: u64,
    completed: u64,
    bytes: u64,
    /// Bytes told by `Transmitted` and not yet by `Completed`.
    ahead: u64,
}

/// What few requests move.
#[derive(Debug, Default)]
struct Rest {
    connections: u32,
    predicted: Span,
    errors: u64,
    failed: u64,
    cancelled: u64,
}

// The promise is 2 kB of statistics per server; index and name take another 100 or so.
const _: () = assert!(size_of::<Backend>() == 64 && size_of::<Rest>() <= 64);

impl Table {
    pub(crate) fn new(index: Index, ties: Ties, window: Option<Averaging>, polled: bool, counted: bool) -> Table {
        Table {
            backends: Vec::new(),
            rests: Vec::new(),
            said: Vec::new(),
            owners: HashMap::new(),
            up: Vec::new(),
            eligible: Vec::new(),
            membership: 0,
            generation: 0,
            limit: None,
            limits: Vec::new(),
            kept: Kept::new(index, ties),
            ties,
            window: window.map(Window::new),
            polled,
            counted,
            names: Vec::new(),
            ids: HashMap::new(),
        }
    }

    /// Those that can be chosen, in ascending order.
    #[inline]
    pub fn eligible(&self) -> &[BackendId] {
        &self.eligible
    }

    /// Asks for the cache line that a request to `id` moves.
    #[inline(always)]
    pub fn prefetch(&self, id: BackendId) {
        if let Some(backend) = self.backends.get(id.0 as usize) {
            prefetch(backend);
        }
    }

    /// A number that moves whenever [`Table::eligible`], a weight or an origin does.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Those that are up, in ascending order: those that can be chosen, and those that are full.
    #[inline]
    pub fn up(&self) -> &[BackendId] {
        &self.up
    }

    /// What `of` says of each backend that is up, over the sum of all; 0 of the others. All are 0 where the sum is.
    pub fn parts(&self, of: impl Fn(BackendId) -> f64) -> Vec<f64> {
        let mut parts = vec![0.0; self.len()];
        self.up.iter().for_each(|id| parts[id.0 as usize] = of(*id));
        let sum: f64 = parts.iter().sum();
        parts.iter_mut().filter(|_| sum > 0.0).for_each(|part| *part /= sum);
        parts
    }

    /// A number that moves whenever [`Table::up`], a weight or an origin does, and not when a backend becomes full: for
    /// structures that are dear to build, and asked again where a backend is full.
    #[inline]
    pub fn membership(&self) -> u64 {
        self.membership
    }

    /// Whether `id` can be chosen; false for a number that no backend has (a cookie may say anything).
    #[inline]
    pub fn is_eligible(&self, id: BackendId) -> bool {
        self.backends.get(id.0 as usize).is_some_and(Backend::is_eligible)
    }

    /// What a policy compares: requests in flight and leases, or what the last poll said.
    #[inline]
    pub fn load(&self, id: BackendId) -> u32 {
        self.load_of(self.at(id))
    }

    /// Requests forwarded and not yet ended, pending ones included.
    #[inline]
    pub fn in_flight(&self, id: BackendId) -> u32 {
        self.at(id).in_flight
    }

    /// Those of the requests in flight that have not been sent, where the face tells `Sent`.
    pub fn waiting(&self, id: BackendId) -> u32 {
        self.at(id).waiting
    }

    /// Choices that count as load until their lease ends.
    pub fn leases(&self, id: BackendId) -> u32 {
        self.at(id).leases
    }

    /// Open connections, idle ones included.
    pub fn connections(&self, id: BackendId) -> u32 {
        self.rest(id).connections
    }

    /// Its last report.
    pub fn report(&self, id: BackendId) -> Option<&Report> {
        self.said(id).report.as_ref()
    }

    /// How many reports of it were taken that told a new room.
    pub(crate) fn reports(&self, id: BackendId) -> u64 {
        self.said(id).count
    }

    /// How old its last report is.
    pub fn report_age(&self, id: BackendId, now: Time) -> Option<Span> {
        self.report(id).map(|report| now.saturating_since(report.measured))
    }

    /// The utilisation of its processor as last reported, raised by each choice since that is held until the next report
    /// ([`crate::Hold::UntilReport`]).
    pub fn believed_cpu(&self, id: BackendId) -> Option<f32> {
        self.said(id).cpu()
    }

    /// How many share its processor with a further request, that one included: 1 + what was last reported of it, read as `by`
    /// says, raised as [`Table::believed_cpu`] is; what has not reported counts as idle.
    pub fn believed_cpu_load(&self, id: BackendId, by: LoadBy) -> f64 {
        self.said(id).cpu_load(by)
    }

    /// Its room (1/s) as last reported, less what each choice since took that is held until the next report
    /// ([`crate::Hold::UntilReport`]) and what is reserved ([`crate::Hold::Reserved`]); it may fall below 0.
    pub fn believed_room(&self, id: BackendId) -> Option<f32> {
        self.said(id).room()
    }

    /// What it is made of, where the face knows.
    pub fn hardware(&self, id: BackendId) -> Hardware {
        self.said(id).hardware
    }

    /// Where it is, where the face knows ([`crate::Signals::ORIGIN`]).
    pub fn origin(&self, id: BackendId) -> Origin {
        self.said(id).origin
    }

    /// The backends that own the object of this number, where the face knows; none where it does not.
    pub fn owners(&self, object: u32) -> &[BackendId] {
        self.owners.get(&object).map_or(&[], |owners| owners)
    }

    /// How long the request at hand would take there, where the face tells ([`crate::Signals::PREDICTED_RESPONSE`]).
    pub fn predicted(&self, id: BackendId) -> Span {
        self.rest(id).predicted
    }

    /// What it did in the averaging window: the present one, or the last if that is what the policy reads.
    #[inline]
    pub fn window(&self, id: BackendId) -> WindowTotals {
        self.window.as_ref().map_or_else(WindowTotals::default, |window| window.totals(id))
    }

    /// Its weight: 0, or 1e-9 to 1e9.
    #[inline]
    pub fn weight(&self, id: BackendId) -> f64 {
        self.at(id).weight
    }

    /// Whether it can be chosen, and why not.
    pub fn state(&self, id: BackendId) -> State {
        self.at(id).state
    }

    /// What happened there since it was first heard of.
    pub fn totals(&self, id: BackendId) -> Totals {
        let (&Backend { forwarded, completed, bytes, .. }, rest) = (self.at(id), self.rest(id));
        Totals { forwarded, completed, errors: rest.errors, failed: rest.failed, cancelled: rest.cancelled, bytes }
    }

    /// Its name.
    pub fn name(&self, id: BackendId) -> &str {
        &self.names[id.0 as usize]
    }

    /// The backend of this name.
    pub fn id(&self, name: &str) -> Option<BackendId> {
        self.ids.get(name).copied()
    }

    /// How many backends were ever heard of; their ids are those below this number.
    pub fn len(&self) -> usize {
        self.backends.len()
    }

    /// Whether none was ever heard of.
    pub fn is_empty(&self) -> bool {
        self.backends.is_empty()
    }

    /// The values by which the order that the table keeps compares `id`; none where it keeps no order.
    pub fn terms(&self, id: BackendId) -> Terms {
        let load = f64::from(self.load(id));
        let windowed = || self.window(id);
        let with_failures = || load + f64::from(windowed().failures);
        let mean_s = || windowed().mean_round_trip().map_or(0.0, Span::as_secs_f64);
        match self.kept.index() {
            Index::None => Vec::new(),
            Index::Load => vec![("in_flight".into(), load)],
            Index::LoadPerWeight => {
                let weight = self.weight(id);
                let per_weight = if weight > 0.0 { load / weight } else { f64::INFINITY };
                vec![("in_flight".into(), load), ("weight".into(), weight), ("in_flight_per_weight".into(), per_weight)]
            }
            Index::NextLoadPerWeight => {
                let key = next_per_weight(self.load(id), self.weight(id)).map_or(f64::INFINITY, |key| key as f64);
                vec![("in_flight".into(), load), ("weight".into(), self.weight(id)), ("key".into(), key)]
            }
            Index::InverseLoad => vec![("in_flight".into(), load), ("share".into(), 1.0 / (load + 1.0))],
            Index::RoundTrip | Index::RoundTripOrZero => {
                vec![("round_trip_mean_s".into(), mean_s()), ("in_flight".into(), with_failures())]
            }
            Index::Bytes => vec![("bytes".into(), windowed().bytes as f64), ("in_flight".into(), with_failures())],
            Index::Room | Index::UsedShare => {
                let used = f64::from_bits(used_share(self.said(id)).0);
                let terms =
                    [("room_per_s", self.free(id)), ("capacity_per_s", self.capacity(id)), ("used_share", used)];
                terms.map(|(name, value)| (name.into(), value)).into()
            }
        }
    }

    /// Index entries that updates have visited since the start: a test holds this to a few per request.
    pub fn visits(&self) -> u64 {
        self.kept.visits()
    }

    /// Bytes that the statistics take, names and index included.
    pub fn memory(&self) -> usize {
        let names: usize = self.names.iter().map(|name| 2 * (size_of::<String>() + name.capacity())).sum();
        size_of::<Backend>() * self.backends.capacity()
            + size_of::<Rest>() * self.rests.capacity()
            + size_of::<Said>() * self.said.capacity()
            + self
                .owners
                .values()
                .map(|owners| size_of::<(u32, usize, usize)>() + size_of_val(&**owners))
                .sum::<usize>()
            + size_of::<BackendId>() * (self.up.capacity() + self.eligible.capacity() + 2 * self.ids.capacity())
            + names
            + self.window.as_ref().map_or(0, Window::memory)
            + self.kept.memory()
    }

    /// The least of the eligible backends that are not in `tried`, by the order that the policy asked for in
    /// [`crate::Policy::index`]. O(1) or O(log n) while `tried` is empty; a scan when it is not (a retry is rare), or
    /// when the policy asked for no order.
    #[inline]
    pub fn least(&self, tried: &[BackendId], stream: &mut Stream) -> Option<(BackendId, Reason)> {
        if !tried.is_empty() {
            return self.scan(tried, stream);
        }
        let (tree, by) = match &self.kept {
            Kept::None | Kept::InverseLoad(_) | Kept::Room(_) => return self.scan(tried, stream),
            Kept::Load(loads) => return self.least_load(loads, stream),
            Kept::RoundTrip { loads, means } if means.len() < self.eligible.len() => {
                return self.least_load(loads, stream);
            }
            Kept::LoadPerWeight(tree) => (tree, By::Weight),
            Kept::NextLoadPerWeight(tree) => (tree, By::NextWeight),
            Kept::Aged(index, queues) => {
                let by = if *index == Index::LoadPerWeight { By::Weight } else { By::NextWeight };
                let (key, ties, id) = queues.first()?;
                return Some((BackendId(id), by.reason((key, 0), ties as usize)));
            }
            Kept::RoundTrip { means, .. } | Kept::RoundTripOrZero(means) => (means, By::RoundTrip),
            Kept::Bytes(tree) => (tree, By::Bytes),
            Kept::UsedShare(tree) => (tree, By::UsedShare),
        };
        let (key, ties) = tree.least()?;
        let rank = self.pick(ties as usize, stream);
        Some((BackendId(tree.tied(rank as u32)), by.reason(key, ties as usize)))
    }

    // Always inlined: it stands once on the path of each choice.
    #[inline(always)]
    fn least_load(&self, loads: &Loads, stream: &mut Stream) -> Option<(BackendId, Reason)> {
        let (load, ties, id) = loads.least(|ties| self.pick(ties, stream))?;
        Some((BackendId(id), By::Load.reason((load.into(), 0), ties)))
    }

    /// The place of the one chosen among so many that are equally good, in the order of their numbers.
    #[inline]
    fn pick(&self, ties: usize, stream: &mut Stream) -> usize {
        match self.ties {
            Ties::Drawn => draw(ties, stream),
            Ties::First | Ties::Oldest => 0,
        }
    }

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

    /// Whether a backend of this number was ever heard of.
    pub(crate) fn knows(&self, id: BackendId) -> bool {
        (id.0 as usize) < self.backends.len()
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
    fn list(&mut self, id: BackendId, was: bool) {
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

    /// Puts an eligible backend where it belongs in the index.
    #[inline]
    fn rekey(&mut self, id: BackendId) {
        let backend = &self.backends[id.0 as usize];
        if !backend.is_eligible() {
            return;
        }
        let load = self.load_of(backend);
        match &mut self.kept {
            Kept::None => {}
            Kept::Load(loads) => loads.set(id.0, load),
            Kept::LoadPerWeight(tree) => match per_weight(load, backend.weight) {
                Some(key) => tree.set(id.0, key),
                None => tree.remove(id.0),
            },
            Kept::NextLoadPerWeight(tree) => match next_per_weight(load, backend.weight) {
                Some(key) => tree.set(id.0, (key, 0)),
                None => tree.remove(id.0),
            },
            Kept::Aged(index, queues) => {
                let key = match index {
                    Index::LoadPerWeight => per_weight(load, backend.weight).map(|(key, _)| key),
                    _ => next_per_weight(load, backend.weight),
                };
                match key {
                    Some(key) => queues.set(id.0, key),
                    None => queues.remove(id.0),
                }
            }
            Kept::InverseLoad(sums) => sums.set(id.0, inverse_share(load)),
            Kept::RoundTrip { loads, means } => {
                let totals = self.window.as_ref().map_or_else(WindowTotals::default, |window| window.totals(id));
                let load = load.saturating_add(totals.failures);
                loads.set(id.0, load);
                match totals.mean_round_trip() {
                    Some(mean) => means.set(id.0, (mean.0, load)),
                    None => means.remove(id.0),
                }
            }
            Kept::RoundTripOrZero(tree) => {
                let totals = self.window.as_ref().map_or_else(WindowTotals::default, |window| window.totals(id));
                tree.set(id.0, (mean_or_zero(&totals), load.saturating_add(totals.failures)));
            }
            Kept::Bytes(tree) => {
                let totals = self.window.as_ref().map_or_else(WindowTotals::default, |window| window.totals(id));
                tree.set(id.0, (totals.bytes, load.saturating_add(totals.failures)));
            }
            Kept::Room(_) | Kept::UsedShare(_) => self.rekey_room(id),
        }
    }

    /// Puts a backend whose room has changed where it belongs in the index.
    fn rekey_room(&mut self, id: BackendId) {
        if !self.is_eligible(id) {
            return;
        }
        let said = &self.said[id.0 as usize];
        match &mut self.kept {
            Kept::Room(rooms) if said.is_unknown() => rooms.set_unknown(id.0),
            Kept::Room(rooms) => rooms.set(id.0, said.free(), said.capacity()),
            Kept::UsedShare(tree) => tree.set(id.0, used_share(said)),
            _ => {}
        }
    }

    fn unlist(&mut self, id: BackendId) {
        match &mut self.kept {
            Kept::None => {}
            Kept::Load(loads) => loads.remove(id.0),
            Kept::LoadPerWeight(tree)
            | Kept::NextLoadPerWeight(tree)
            | Kept::RoundTripOrZero(tree)
            | Kept::Bytes(tree)
            | Kept::UsedShare(tree) => tree.remove(id.0),
            Kept::Aged(_, queues) => queues.remove(id.0),
            Kept::InverseLoad(sums) => sums.set(id.0, 0),
            Kept::Room(rooms) => rooms.remove(id.0),
            Kept::RoundTrip { loads, means } => {
                loads.remove(id.0);
                means.remove(id.0);
            }
        }
    }

    /// [`Table::least`] by its definition.
    fn scan(&self, tried: &[BackendId], stream: &mut Stream) -> Option<(BackendId, Reason)> {
        let left = || self.eligible.iter().copied().filter(|id| !tried.contains(id));
        let windowed = |id| self.load(id).saturating_add(self.window(id).failures);
        let index = self.kept.index();
        let by = match index {
            Index::LoadPerWeight => By::Weight,
            Index::NextLoadPerWeight => By::NextWeight,
            Index::Bytes => By::Bytes,
            Index::UsedShare => By::UsedShare,
            Index::RoundTripOrZero => By::RoundTrip,
            Index::RoundTrip if left().all(|id| self.window(id).round_trips > 0) => By::RoundTrip,
            _ => By::Load,
        };
        let key = |id| match by {
            By::Load if index == Index::RoundTrip => Some((windowed(id).into(), 0)),
            By::Load => Some((self.load(id).into(), 0)),
            By::Weight => per_weight(self.load(id), self.weight(id)),
            By::NextWeight => next_per_weight(self.load(id), self.weight(id)).map(|key| (key, 0)),
            By::Bytes => Some((self.window(id).bytes, windowed(id))),
            By::RoundTrip => Some((mean_or_zero(&self.window(id)), windowed(id))),
            By::UsedShare => Some(used_share(self.said(id))),
        };
        let least = left().filter_map(key).min()?;
        let tied = || left().filter(|&id| key(id) == Some(least));
        let ties = tied().count();
        let id = match &self.kept {
            Kept::Aged(_, queues) | Kept::Load(Loads::Oldest(queues)) => {
                queues.members().map(BackendId).find(|id| !tried.contains(id))?
            }
            _ => tied().nth(self.pick(ties, stream))?,
        };
        Some((id, by.reason(least, ties)))
    }

    #[inline]
    fn load_of(&self, backend: &Backend) -> u32 {
        if self.polled { backend.reported } else { backend.in_flight.saturating_add(backend.leases) }
    }

    #[inline]
    fn at(&self, id: BackendId) -> &Backend {
        &self.backends[id.0 as usize]
    }

    #[inline]
    fn said(&self, id: BackendId) -> &Said {
        &self.said[id.0 as usize]
    }

    #[inline]
    fn rest(&self, id: BackendId) -> &Rest {
        &self.rests[id.0 as usize]
    }
}

impl Backend {
    #[inline]
    fn is_eligible(&self) -> bool {
        self.state == State::Up && !self.is_full
    }

    #[inline]
    fn end(&mut self, counted: bool) {
        if counted {
            self.in_flight = self.in_flight.checked_sub(1).expect("a request ended that was not in flight");
            self.waiting = self.waiting.min(self.in_flight);
        }
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

/// What a key was made of.
#[derive(Clone, Copy)]
enum By {
    Load,
    Weight,
    NextWeight,
    RoundTrip,
    Bytes,
    UsedShare,
}

impl By {
    #[inline]
    fn reason(self, key: Key, ties: usize) -> Reason {
        let (code, value) = match self {
            By::Load => (Code::LeastInFlight, key.0 as f64),
            By::Weight => (Code::LeastWeighted, f64::from_bits(key.0)),
            By::NextWeight => (Code::LeastNextWeighted, key.0 as f64),
            By::RoundTrip => (Code::LeastRoundTrip, Span(key.0).as_secs_f64()),
            By::Bytes => (Code::LeastTransmitted, key.0 as f64),
            By::UsedShare => (Code::LeastUsed, f64::from_bits(key.0)),
        };
        Reason { code, ties: ties as u32, value }
    }
}

/// Load per weight as a key: the bits of a non-negative double sort as it does. None for weight 0.
#[inline]
fn per_weight(load: u32, weight: f64) -> Option<Key> {
    (weight > 0.0).then(|| ((f64::from(load) / weight).to_bits(), 0))
}

/// HAProxy's key: weights are whole there, and 16 times as fine inside (`BE_WEIGHT_SCALE`); the scale is 256 * 16
/// (`SRV_EWGHT_MAX`). None for weight 0.
#[inline]
pub(crate) fn next_per_weight(load: u32, weight: f64) -> Option<u64> {
    let fine = (16.0 * weight) as u64;
    (weight > 0.0).then(|| if load == 0 { 0 } else { (u64::from(load) + 1) * 4096 / fine.max(1) })
}

/// The used share of the capacity as a key; 0 where no capacity was reported.
#[inline]
fn used_share(said: &Said) -> Key {
    let (free, capacity) = (said.free(), said.capacity());
    (((capacity - free.min(capacity)) as f64 / capacity.max(1) as f64).to_bits(), 0)
}

/// The mean round trip in ns, 0 without a sample.
#[inline]
fn mean_or_zero(totals: &WindowTotals) -> u64 {
    totals.mean_round_trip().map_or(0, |mean| mean.0)
}

/// 2^32 / (load + 1), at least 1.
#[inline]
fn inverse_share(load: u32) -> u64 {
    (1 << 32) / (u64::from(load) + 1)
}

/// A number below `among`; draws nothing where there is no choice.
#[inline]
pub(crate) fn draw(among: usize, stream: &mut Stream) -> usize {
    if among == 1 { 0 } else { stream.below(among) }
}
