//! One thread's view of its decider: every call to the [`Front`] passes here, which says who may be chosen.

use std::cell::{Ref, RefCell};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::json;
use sojourn_bed::Events;
use sojourn_dispatch::{
    BackendId, Change, ClientRules, Command, Decision, Event, Front, News, Report, Request, Signals, Standing, State,
};
use sojourn_part::alarm::{Alarm, Bell};
use sojourn_part::settings::gateway::GatewaySettings;
use sojourn_part::{Backend, Probe, ServeError, clock, record};
use sojourn_report::Told;
use sojourn_report::upstream::Upstream;
use sojourn_stats::{Span, Time};

use super::counts::{Counts, Facts, PerBackend};
use super::version::Version;
use super::waiting::Waiting;

/// How long the rate of a client counts: daemons tell it every 64 s unless told otherwise, and one report may be lost.
const RATES_EXPIRE: Span = Span(130_000_000_000);

/// Gets a front ready, before it learns or decides anything: `path` is where it records.
pub(super) fn prepare(mut front: Front, config: &GatewaySettings, path: Option<&Path>) -> Result<Front, ServeError> {
    record(&mut front, path, config.record_limits, config.explain)?;
    let (checks, reports) = sources(config);
    front.backends().for_each(|backend| _ = front.watch(backend, checks, reports, clock::now()));
    if config.reports.listen.is_some() {
        front.keep_clients(ClientRules { rates_expire: Some(RATES_EXPIRE), ..ClientRules::default() });
    }
    Ok(front)
}

/// Whether health checks of the backends run, and whether they report.
fn sources(config: &GatewaySettings) -> (bool, bool) {
    (config.health.probe != Probe::Off, config.reports.listen.is_some())
}

/// A front, and the alarm for its deadlines.
pub(super) struct Decider {
    pub(super) front: Front,
    /// Requests that wait for a backend with room.
    pub(super) waiting: Waiting,
    alarm: Alarm,
    /// When the alarm rings next.
    armed: Time,
    facts: Arc<Facts>,
    /// Why a record of an earlier front lacks something, until it is said.
    unsaid: Option<String>,
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
    /// This thread's, by number.
    backends: RefCell<Vec<Arc<PerBackend>>>,
    /// Of all threads.
    all: Arc<[Arc<Counts>]>,
    events: Events,
    upstream: Option<Arc<Upstream>>,
    facts: Arc<Facts>,
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
    /// One around `front`, which is ready ([`prepare`]).
    pub(super) fn new(config: &GatewaySettings, front: Front) -> Result<Decider, ServeError> {
        let alarm = Alarm::new().map_err(ServeError::system("cannot make a timer"))?;
        let users = if config.shared { config.threads } else { 1 };
        let (waiting, facts) = (Waiting::default(), Arc::default());
        let decider = Decider { front, waiting, alarm, armed: Time::NEVER, facts, unsaid: None, users };
        decider.publish_facts();
        Ok(decider)
    }

    /// Goes by a new version of the settings: with `successor`, which is ready, where how it decides has changed; else those join
    /// that are new or have another weight. Those leave that are named no more.
    pub(super) fn adopt(&mut self, version: &Version, successor: Option<Front>) {
        let now = clock::now();
        if let Some(mut front) = successor {
            front.take_over(&self.front, now);
            for backend in self.front.backends().filter(|backend| self.front.is_drained(*backend)) {
                front.learn(backend, News::Drained(true), now);
            }
            // All backends have the numbers that they had.
            self.front.clients().remembered(now).iter().for_each(|client| front.recall(client, now));
            self.waiting.move_to(&mut front, now);
            let unsaid = std::mem::replace(&mut self.front, front).finish_record();
            self.unsaid = self.unsaid.take().or(unsaid);
        }
        for (id, target) in version.targets() {
            let table = self.front.table();
            let Backend { name, weight, .. } = &target.backend;
            let is_known = (id.0 as usize) < table.len();
            if target.has_left {
                self.front.learn(id, News::Left, now);
            } else if !is_known || table.state(id) == State::Left || table.weight(id) != *weight {
                self.front.join(name, *weight, now).expect("the settings were tried");
            }
            let (checks, reports) = sources(&version.settings);
            self.front.watch(id, checks, reports, now);
        }
        self.publish_facts();
        self.armed = Time::NEVER;
        self.arm();
    }

    /// Tells those who look from outside what it knows.
    fn publish_facts(&self) {
        self.facts.set_requires(self.front.requires());
        for backend in self.front.backends() {
            if self.facts.seen().len() <= backend.0 as usize {
                self.facts.join(self.front.table().name(backend));
            }
            self.publish_standing(backend, self.front.standing(backend));
        }
    }

    fn publish_standing(&self, backend: BackendId, is: Standing) {
        let seen = &self.facts.seen()[backend.0 as usize];
        seen.out.set(u64::from(is > Standing::Aside));
        seen.gone.set(u64::from(is == Standing::Left));
    }

    pub(super) fn into_own(self) -> Access {
        Access::Own(RefCell::new(Box::new(self)))
    }

    pub(super) fn into_shared(self) -> Arc<Mutex<Decider>> {
        Arc::new(Mutex::new(self))
    }

    /// What it tells those who look from outside.
    pub(super) fn facts(&self) -> Arc<Facts> {
        Arc::clone(&self.facts)
    }

    /// What has happened may let requests go on that wait, and guards may have changed something: that is given.
    fn settle(&mut self, now: Time) -> Vec<Change> {
        self.waiting.go_on(&mut self.front, now);
        let mut changes = Vec::new();
        while let Some(change) = self.front.take_change() {
            self.publish_standing(change.backend, change.is);
            changes.push(change);
        }
        self.arm();
        changes
    }

    pub(super) fn arm(&mut self) {
        if let Some(next) = self.front.deadline()
            && next < self.armed
        {
            self.armed = next;
            self.alarm.set(next);
        }
    }

    /// Lets the front learn something, unless no thread uses it any more.
    fn learn(&mut self, learn: impl FnOnce(&mut Front) -> Option<Change>) -> Option<Change> {
        if self.users == 0 {
            return None;
        }
        let change = learn(&mut self.front);
        if let Some(Change { backend, is, .. }) = change {
            self.publish_standing(backend, is);
        }
        change
    }
}

impl Board {
    pub(super) fn new(
        thread: usize,
        decider: Access,
        all: Arc<[Arc<Counts>]>,
        events: Events,
        upstream: Option<Arc<Upstream>>,
        config: &GatewaySettings,
    ) -> Board {
        let facts = match &decider {
            Access::Own(decider) => decider.borrow().facts(),
            Access::Shared(decider) => decider.lock().expect("no thread panics while it decides").facts(),
        };
        let (counts, explain) = (Arc::clone(&all[thread]), config.explain);
        let backends = RefCell::new(counts.of_backends(config.backends.len()));
        Board { thread, decider, counts, backends, all, events, upstream, facts, explain }
    }

    /// Counts what happens at all backends of a version; and lets its decider go by it, if it is this thread's own.
    pub(super) fn adopt(&self, version: &Version, successor: Option<Front>) {
        *self.backends.borrow_mut() = self.counts.of_backends(version.targets().count());
        if let Access::Own(decider) = &self.decider {
            decider.borrow_mut().adopt(version, successor);
        }
    }

    /// What the policy must be told.
    #[inline]
    pub(super) fn requires(&self) -> Signals {
        self.facts.requires()
    }

    /// The bell of the dispatcher's deadlines on the current runtime.
    pub(super) fn bell(&self) -> Result<Bell, ServeError> {
        self.with(|decider, _| {
            decider.arm();
            decider.alarm.bell().map_err(ServeError::system("cannot watch a timer"))
        })
    }

    pub(super) fn name(&self, backend: BackendId) -> String {
        self.facts.seen()[backend.0 as usize].name.clone()
    }

    pub(super) fn count(&self, backend: BackendId) -> Ref<'_, PerBackend> {
        Ref::map(self.backends.borrow(), |backends| &*backends[backend.0 as usize])
    }

    pub(super) fn choose(&self, request: &Request, tried: &[BackendId]) -> Choice {
        let (choice, changes) = self.with(|decider, now| {
            let front = &mut decider.front;
            let explanation = self.explain.then(|| front.explain(request, tried, now));
            let candidates = explanation.map(|explanation| explanation.in_words(front.table()));
            let decision = front.choose(request, tried, now);
            (Choice { decision, candidates, now }, decider.settle(now))
        });
        self.say_all(changes);
        choice
    }

    /// Tells the dispatcher what happened now, and answers when that was.
    #[inline]
    pub(super) fn tell(&self, event: impl FnOnce(Time) -> Event) -> Time {
        let (now, changes) = self.with(|decider, now| {
            if decider.users == 0 {
                return (now, Vec::new());
            }
            decider.front.observe(event(now), now);
            (now, decider.settle(now))
        });
        self.say_all(changes);
        now
    }

    /// Takes a report of a backend.
    pub(super) fn report(&self, backend: BackendId, report: &Report) {
        self.learn_by(|front, now| front.report(backend, report, now), "by its report");
    }

    /// Takes what came in reports, or that none comes.
    pub(super) fn take(&self, told: &[Told]) {
        for told in told {
            self.learn_by(|front, now| told.learn(front, now), told.why());
        }
        self.upstream.iter().for_each(|upstream| upstream.hear(told));
    }

    pub(super) fn emit(&self, event: &serde_json::Value) {
        self.events.emit(event);
    }

    /// What the dispatcher wants done now.
    pub(super) fn due(&self) -> Vec<Command> {
        let (commands, changes) = self.with(|decider, now| {
            decider.armed = Time::NEVER;
            let commands = decider.front.due(now);
            (commands, decider.settle(now))
        });
        self.say_all(changes);
        commands
    }

    /// No program listens at the backend.
    pub(super) fn refused(&self, backend: BackendId) {
        self.learn(backend, News::Refused, "no program listens there");
    }

    /// Learns of a backend what a probe or a request has met there, and `why` it may be out by that.
    pub(super) fn learn(&self, backend: BackendId, news: News<'_>, why: &str) {
        self.learn_by(|front, now| front.learn(backend, news, now), why);
    }

    fn learn_by(&self, learn: impl FnOnce(&mut Front, Time) -> Option<Change>, why: &str) {
        let (change, changes) = self.with(|decider, now| {
            let change = decider.learn(|front| learn(front, now));
            (change, decider.settle(now))
        });
        self.say(change, why);
        self.say_all(changes);
    }

    /// Says what guards have changed.
    #[inline]
    fn say_all(&self, changes: Vec<Change>) {
        changes.into_iter().for_each(|change| self.say(Some(change), "its requests fail, or take longer than others'"));
    }

    /// Says what has changed, and why.
    fn say(&self, change: Option<Change>, why: &str) {
        let Some(Change { backend, is, .. }) = change else { return };
        let (event, name) = (format!("backend_{is}"), self.name(backend));
        self.events.emit(&match is {
            Standing::Up => json!({"event": event, "backend": name, "thread": self.thread}),
            _ => json!({"event": event, "backend": name, "why": why, "thread": self.thread}),
        });
        self.upstream.iter().for_each(|upstream| upstream.changed());
    }

    /// No probe could be made, for want of something on this side.
    pub(super) fn not_probed(&self, backend: BackendId, why: &str) {
        let name = self.name(backend);
        self.events.emit(&json!({"event": "probe_not_made", "backend": name, "why": why, "thread": self.thread}));
    }

    /// Acts on the decider's queue.
    pub(super) fn at_queue<R>(&self, act: impl FnOnce(&mut Front, &mut Waiting, Time) -> R) -> R {
        self.with(|decider, now| {
            let done = act(&mut decider.front, &mut decider.waiting, now);
            decider.arm();
            done
        })
    }

    /// An attempt has ended that was made after another one had failed.
    pub(super) fn retry_ended(&self) {
        self.with(|decider, _| decider.front.retry_ended());
    }

    /// Looks at what is known of the backends.
    pub(super) fn look<R>(&self, look: impl FnOnce(&Front) -> R) -> R {
        self.with(|decider, _| look(&decider.front))
    }

    /// Requests in flight in all threads.
    pub(super) fn in_flight_of_all(&self) -> u64 {
        self.all.iter().map(|counts| counts.in_flight()).sum()
    }

    /// How many backends are out, and of how many.
    pub(super) fn down(&self) -> (usize, usize) {
        self.facts.down()
    }

    /// Writes down what the table says is in flight, and says when the record has failed.
    pub(super) fn publish(&self) {
        let failed = self.with(|decider, _| {
            let table = decider.front.table();
            for (index, seen) in self.facts.seen().iter().enumerate() {
                seen.in_flight.set(u64::from(table.in_flight(BackendId(index as u32))));
            }
            decider.unsaid.take().or_else(|| decider.front.record_failure())
        });
        self.record_failed(failed);
    }

    /// This thread asks and tells nothing more. The last one ends the record.
    pub(super) fn close(&self) {
        self.publish();
        let failed = self.with(|decider, _| {
            decider.users -= 1;
            if decider.users == 0 { decider.front.finish_record() } else { None }
        });
        self.record_failed(failed);
    }

    fn record_failed(&self, why: Option<String>) {
        let Some(why) = why else { return };
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
