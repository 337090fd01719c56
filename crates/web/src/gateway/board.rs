//! One thread's view of the dispatcher and of the backends' health: every call to the dispatcher passes here.

use std::cell::RefCell;
use std::fs::File;
use std::sync::{Arc, Mutex};

use serde_json::json;
use sojourn_bed::Events;
use sojourn_dispatch::record::Detail;
use sojourn_dispatch::{BackendId, ClientRules, Command, Decision, Dispatcher, Event, Report, Request, Signals, Table};
use sojourn_part::alarm::{Alarm, Bell};
use sojourn_part::{Probe, ServeError, clock};
use sojourn_report::Told;
use sojourn_report::upstream::Upstream;
use sojourn_stats::{Span, Time};

use super::counts::{Counts, PerBackend, Seen};
use super::{GatewayConfig, record_path};

/// How long the rate of a client counts: daemons tell it every 64 s unless told otherwise, and one report may be lost.
const RATES_EXPIRE: Span = Span(130_000_000_000);

/// A dispatcher, what it knows of the backends' health, and the alarm for its deadlines.
pub(super) struct Decider {
    dispatcher: Dispatcher,
    alarm: Alarm,
    /// When the alarm rings next.
    armed: Time,
    seen: Arc<[Seen]>,
    /// It has been said that the record cannot be written.
    record_has_failed: bool,
    /// Threads that still use it; without any, nothing is told or asked any more.
    users: usize,
}

/// How a thread reaches its decider: it has one of its own, or shares one with all threads.
pub(super) enum Access {
    Own(RefCell<Box<Decider>>),
    Shared(Arc<Mutex<Decider>>),
}

/// One thread's board.
pub(super) struct Board {
    thread: usize,
    decider: Access,
    pub(super) counts: Arc<Counts>,
    /// Of all threads.
    all: Arc<[Arc<Counts>]>,
    pub(super) requires: Signals,
    events: Events,
    upstream: Option<Arc<Upstream>>,
    names: Vec<String>,
    seen: Arc<[Seen]>,
    fall: u64,
    watched: bool,
    /// Replies say why their backend was chosen.
    explain: bool,
}

/// What the dispatcher chose.
pub(super) struct Choice {
    pub(super) decision: Decision,
    /// What each candidate had to offer, where replies say so.
    pub(super) candidates: Option<String>,
    pub(super) now: Time,
}

impl Decider {
    pub(super) fn new(config: &GatewayConfig, index: usize) -> Result<Decider, ServeError> {
        let backends: Vec<_> = config.backends.iter().map(|backend| (backend.name.clone(), backend.weight)).collect();
        let signals = config.signals();
        // The simulator's dispatchers bear the same names, so that both draw the same numbers.
        let name = format!("dispatcher {index}");
        let GatewayConfig { catalogue, policy, information, seed, .. } = config;
        let mut dispatcher =
            Dispatcher::from_catalogue(catalogue, policy, &backends, *information, signals, *seed, &name)?;
        if let Some(path) = &config.record {
            let path = record_path(path, index);
            let cannot = || format!("cannot record to {}", path.display());
            let detail = if config.explain { Detail::Explained } else { Detail::Decisions };
            let file = File::create(&path).map_err(ServeError::system(cannot()))?;
            let begun = dispatcher.record_to(Box::new(file), detail);
            begun.map_err(|error| ServeError::Config(format!("{}: {error}", cannot())))?;
        }
        if let Some(limit) = config.limit {
            dispatcher.limit(limit)?;
        }
        if config.reports.is_some() {
            dispatcher.keep_clients(ClientRules { rates_expire: Some(RATES_EXPIRE), ..ClientRules::default() });
        }
        let alarm = Alarm::new().map_err(ServeError::system("cannot make a timer"))?;
        let seen = backends.iter().map(|_| Seen::default()).collect();
        let users = if config.shared { config.threads } else { 1 };
        Ok(Decider { dispatcher, alarm, armed: Time::NEVER, seen, record_has_failed: false, users })
    }

    pub(super) fn into_own(self) -> Access {
        Access::Own(RefCell::new(Box::new(self)))
    }

    pub(super) fn into_shared(self) -> Arc<Mutex<Decider>> {
        Arc::new(Mutex::new(self))
    }

    /// What it knows of each backend, for those who look from outside.
    pub(super) fn seen(&self) -> Arc<[Seen]> {
        Arc::clone(&self.seen)
    }

    fn arm(&mut self) {
        if let Some(next) = self.dispatcher.next_deadline()
            && next < self.armed
        {
            self.armed = next;
            self.alarm.set(next);
        }
    }
}

impl Board {
    pub(super) fn new(
        thread: usize,
        decider: Access,
        all: Arc<[Arc<Counts>]>,
        events: Events,
        upstream: Option<Arc<Upstream>>,
        config: &GatewayConfig,
    ) -> Board {
        let names = config.backends.iter().map(|backend| backend.name.clone()).collect();
        let (fall, watched) = (u64::from(config.health.fall), config.health.probe != Probe::Off);
        let about = |decider: &Decider| (decider.dispatcher.requires(), decider.seen());
        let (requires, seen) = match &decider {
            Access::Own(decider) => about(&decider.borrow()),
            Access::Shared(decider) => about(&decider.lock().expect("no thread panics while it decides")),
        };
        let (counts, explain) = (Arc::clone(&all[thread]), config.explain);
        Board { thread, decider, counts, all, requires, events, upstream, names, seen, fall, watched, explain }
    }

    /// The bell of the dispatcher's deadlines on the current runtime.
    pub(super) fn bell(&self) -> Result<Bell, ServeError> {
        self.with(|decider, _| {
            decider.arm();
            decider.alarm.bell().map_err(ServeError::system("cannot watch a timer"))
        })
    }

    pub(super) fn backends(&self) -> impl Iterator<Item = BackendId> + use<> {
        (0..self.names.len() as u32).map(BackendId)
    }

    pub(super) fn name(&self, backend: BackendId) -> &str {
        &self.names[backend.0 as usize]
    }

    /// The backend of this name.
    pub(super) fn id(&self, name: &str) -> Option<BackendId> {
        self.names.iter().position(|known| known == name).map(|index| BackendId(index as u32))
    }

    pub(super) fn count(&self, backend: BackendId) -> &PerBackend {
        &self.counts.backends[backend.0 as usize]
    }

    pub(super) fn choose(&self, request: &Request, tried: &[BackendId]) -> Choice {
        self.with(|decider, now| {
            let dispatcher = &mut decider.dispatcher;
            let explanation = self.explain.then(|| dispatcher.explain(request, tried, now));
            let candidates = explanation.map(|explanation| explanation.in_words(dispatcher.table()));
            let decision = dispatcher.choose(request, tried, now);
            decider.arm();
            Choice { decision, candidates, now }
        })
    }

    /// Tells the dispatcher what happened now, and answers when that was.
    #[inline]
    pub(super) fn tell(&self, event: impl FnOnce(Time) -> Event) -> Time {
        self.with(|decider, now| {
            if decider.users > 0 {
                decider.dispatcher.observe(event(now), now);
                decider.arm();
            }
            now
        })
    }

    /// Tells the dispatcher what a backend reported.
    pub(super) fn report(&self, backend: BackendId, report: &Report) {
        self.with(|decider, now| {
            if decider.users > 0 {
                decider.dispatcher.report(backend, report, now);
                decider.arm();
            }
        });
    }

    /// Tells the dispatcher what came in reports, or that none comes. Where backends are probed, probes say which are up.
    pub(super) fn take(&self, told: &[Told]) {
        told.iter().for_each(|told| self.take_one(told));
        self.upstream.iter().for_each(|upstream| upstream.hear(told));
    }

    fn take_one(&self, told: &Told) {
        self.with(|decider, now| {
            let is_up = match told {
                Told::Lost { backend, .. } => Some((*backend, false)),
                Told::Found { backend } => Some((*backend, true)),
                _ => None,
            };
            if decider.users == 0 || is_up.is_some() && self.watched {
                return;
            }
            if let Some((backend, is_up)) = is_up {
                self.seen[backend.0 as usize].down.set(u64::from(!is_up));
            }
            told.tell(&mut decider.dispatcher, now);
            decider.arm();
        });
    }

    pub(super) fn emit(&self, event: &serde_json::Value) {
        self.events.emit(event);
    }

    /// What the dispatcher wants done now.
    pub(super) fn due(&self) -> Vec<Command> {
        self.with(|decider, now| {
            decider.armed = Time::NEVER;
            let commands = decider.dispatcher.poll(now);
            decider.arm();
            commands
        })
    }

    /// No program listens at the backend.
    pub(super) fn refused(&self, backend: BackendId) {
        let fall = self.fall;
        self.struck(backend, |seen| seen.strikes.add(fall), "no program listens there");
    }

    /// A request failed at the backend.
    pub(super) fn strike(&self, backend: BackendId, why: &str) {
        self.struck(backend, |seen| seen.strikes.add(1), why);
    }

    /// A probe failed at the backend.
    pub(super) fn probe_failed(&self, backend: BackendId, why: &str) {
        self.struck(backend, |seen| seen.failed_probes.add(1), why);
    }

    /// The backend has served a request whole: what failed before was not in a row.
    #[inline]
    pub(super) fn served(&self, backend: BackendId) {
        let strikes = &self.seen[backend.0 as usize].strikes;
        if strikes.now() > 0 {
            strikes.set(0);
        }
    }

    /// The backend has answered a probe.
    pub(super) fn probed(&self, backend: BackendId) {
        let came_back = self.with(|decider, now| {
            let seen = &self.seen[backend.0 as usize];
            seen.failed_probes.set(0);
            let came_back = decider.users > 0 && seen.down.now() == 1;
            if came_back {
                seen.strikes.set(0);
                seen.down.set(0);
                decider.dispatcher.observe(Event::Joined { backend }, now);
                decider.arm();
            }
            came_back
        });
        if came_back {
            let name = self.name(backend);
            self.events.emit(&json!({"event": "backend_up", "backend": name, "thread": self.thread}));
            self.upstream.iter().for_each(|upstream| upstream.changed());
        }
    }

    /// No probe could be made, for want of something on this side.
    pub(super) fn not_probed(&self, backend: BackendId, why: &str) {
        let name = self.name(backend);
        self.events.emit(&json!({"event": "probe_not_made", "backend": name, "why": why, "thread": self.thread}));
    }

    fn struck(&self, backend: BackendId, count: impl FnOnce(&Seen), why: &str) {
        if !self.watched {
            return;
        }
        let fell = self.with(|decider, now| {
            let seen = &self.seen[backend.0 as usize];
            count(seen);
            let in_a_row = seen.strikes.now().max(seen.failed_probes.now());
            let fell = decider.users > 0 && seen.down.now() == 0 && in_a_row >= self.fall;
            if fell {
                seen.down.set(1);
                decider.dispatcher.observe(Event::Down { backend }, now);
                decider.arm();
            }
            fell
        });
        if fell {
            let name = self.name(backend);
            self.events.emit(&json!({"event": "backend_down", "backend": name, "why": why, "thread": self.thread}));
            self.upstream.iter().for_each(|upstream| upstream.changed());
        }
    }

    /// Looks at what is known of the backends.
    pub(super) fn look<R>(&self, look: impl FnOnce(&Table) -> R) -> R {
        self.with(|decider, _| look(decider.dispatcher.table()))
    }

    /// Requests in flight in all threads.
    pub(super) fn in_flight_of_all(&self) -> u64 {
        self.all.iter().map(|counts| counts.in_flight()).sum()
    }

    /// How many backends are down.
    pub(super) fn down(&self) -> usize {
        self.seen.iter().filter(|seen| seen.down.now() == 1).count()
    }

    /// Writes down what the table says is in flight, and says when the record has failed.
    pub(super) fn publish(&self) {
        let failed = self.with(|decider, _| {
            let table = decider.dispatcher.table();
            for (index, seen) in self.seen.iter().enumerate() {
                seen.in_flight.set(u64::from(table.in_flight(BackendId(index as u32))));
            }
            let why = decider.dispatcher.record_error().map(ToString::to_string);
            why.filter(|_| !std::mem::replace(&mut decider.record_has_failed, true))
        });
        if let Some(why) = failed {
            self.record_failed(&why);
        }
    }

    /// This thread asks and tells nothing more. The last one ends the record.
    pub(super) fn close(&self) {
        self.publish();
        let ended = self.with(|decider, _| {
            decider.users -= 1;
            let ended = if decider.users == 0 { decider.dispatcher.finish_record() } else { Ok(()) };
            ended.map_err(|error| (error.to_string(), decider.record_has_failed))
        });
        if let Err((why, false)) = ended {
            self.record_failed(&why);
        }
    }

    fn record_failed(&self, why: &str) {
        self.counts.records_failed.add(1);
        self.events.emit(&json!({"event": "record_failed", "why": why, "thread": self.thread}));
    }

    /// The time is read under the lock, so that a shared dispatcher sees it in order.
    #[inline]
    fn with<R>(&self, act: impl FnOnce(&mut Decider, Time) -> R) -> R {
        match &self.decider {
            Access::Own(decider) => act(&mut decider.borrow_mut(), clock::now()),
            Access::Shared(decider) => {
                let mut decider = decider.lock().expect("no thread panics while it decides");
                act(&mut decider, clock::now())
            }
        }
    }
}
