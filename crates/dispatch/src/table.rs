//! What is known of each backend.
//!
//! A backend is its name: it gets a dense number once and keeps it, with its counters, when it leaves and comes back
//! (requests that were in flight then still end, and are still counted).
//! A request is in flight from the moment it is chosen for a backend, not from when it was sent, so that a backend that
//! is slow to connect to does not look idle (envoy issue 44989).

mod draws;
mod key;
mod limit;
mod minimum;
mod said;
mod update;

use std::collections::HashMap;

use sojourn_stats::{Span, Time, prefetch};

use crate::index::Kept;
use crate::window::{Averaging, Window, WindowTotals};
use crate::{BackendId, Hardware, Index, LoadBy, Origin, Report, State, Ties, Totals};
pub(crate) use draws::{ShareBy, Shares, draw};
pub(crate) use key::next_per_weight;
pub use limit::Limit;
use said::Said;

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

    /// Whether a backend of this number was ever heard of.
    pub(crate) fn knows(&self, id: BackendId) -> bool {
        (id.0 as usize) < self.backends.len()
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
