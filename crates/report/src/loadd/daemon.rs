//! The daemon's one task: it waits for its next instant, looks, and tells.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use sojourn_bed::Events;
use sojourn_dispatch::reports::{Occasion, phase};
use sojourn_part::settings::loadd::LoaddSettings;
use sojourn_part::{ServeError, clock};
use sojourn_stats::{Span, Time};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::LoaddCounts;
use super::question::Question;
use super::sampler::{Sampler, as_orca};
use crate::orca;
use crate::orca::stream;
use crate::upstream::{self, Prober};
use crate::{Key, Load, Metric, Metrics, Outbox, Traffic};

/// A daemon at work.
pub(super) struct Daemon {
    settings: LoaddSettings,
    events: Events,
    sampler: Sampler,
    question: Option<Question>,
    occasion: Occasion,
    outbox: Rc<Outbox>,
    counters: Arc<Counters>,
    /// What the last look found, and whether the server was there; at first it is taken to be.
    last: Option<(Time, Metrics)>,
    was_there: bool,
    /// Why the access log does not tell of requests.
    log_trouble: Option<&'static str>,
    /// What it found, for those who ask for it as ORCA, and where they do.
    latest: Rc<RefCell<Metrics>>,
    listener: Option<TcpListener>,
    rates_since: Time,
}

/// What it has done, for those who look from another thread.
pub(super) struct Counters {
    started: Time,
    looks: AtomicU64,
    absent: AtomicU64,
    reports: AtomicU64,
    alarms: AtomicU64,
    rates: AtomicU64,
    traffic: Arc<Traffic>,
    probed: Arc<upstream::Counters>,
}

impl Daemon {
    pub(super) fn new(
        (settings, key): (LoaddSettings, Key),
        question: Option<Question>,
        listener: Option<std::net::TcpListener>,
        events: Events,
        counters: Arc<Counters>,
    ) -> Result<Daemon, ServeError> {
        let listener = listener.map(TcpListener::from_std).transpose();
        let listener = listener.map_err(ServeError::system("cannot serve ORCA"))?;
        let outbox = Outbox::open(&settings.name, &key, &settings.to, events.clone(), Arc::clone(&counters.traffic))?;
        let now = clock::now();
        Ok(Daemon {
            sampler: Sampler::new(&settings, now)?,
            question,
            occasion: Occasion::default(),
            last: None,
            was_there: true,
            log_trouble: None,
            latest: Rc::default(),
            listener,
            rates_since: now,
            settings,
            events,
            outbox: Rc::new(outbox),
            counters,
        })
    }

    /// Looks and tells for as long as it is polled.
    pub(super) async fn run(mut self) {
        let mut ears = JoinSet::new();
        let prober = Rc::new(Prober::new(self.settings.echoes, Arc::clone(&self.counters.probed)));
        for receiver in self.outbox.receivers() {
            let (prober, answers) = (Rc::clone(&prober), Rc::clone(&self.outbox));
            let order = move |order, client| prober.order(&answers, receiver, order, client);
            ears.spawn_local(Outbox::hear(Rc::clone(&self.outbox), receiver, order));
        }
        self.look().await;
        // Those who ask are not told before something is known.
        if let Some(listener) = self.listener.take() {
            let latest = Rc::clone(&self.latest);
            let load = Rc::new(move || as_orca(&latest.borrow()));
            ears.spawn_local(stream::serve(listener, self.settings.every, load));
        }
        let LoaddSettings { every, client_rates, .. } = self.settings;
        // An overload is told by numbers inside: without any there is nothing to watch.
        let watch = self.watches().then_some(self.settings.watch).filter(|watch| *watch < every);
        let phase = phase(&self.settings.name, client_rates);
        let next_rates = |wall: u64| after(wall - phase.0, client_rates) + phase.0;
        let (mut tick, mut rates) = (after(clock::wall(), every), next_rates(clock::wall()));
        loop {
            let wall = clock::wall();
            let next = watch.map_or(tick, |watch| tick.min(after(wall, watch)));
            tokio::time::sleep(until(next, wall, every).as_std()).await;
            let wall = clock::wall();
            if !is_due(tick, every, wall) {
                self.watch().await;
                continue;
            }
            self.look().await;
            tick = after(wall, every);
            if is_due(rates, client_rates, wall) {
                self.tell_rates();
                rates = next_rates(wall);
            }
        }
    }

    fn watches(&self) -> bool {
        self.question.is_some() || self.settings.port.is_some()
    }

    async fn ask(&mut self) -> Option<orca::Load> {
        match &mut self.question {
            Some(question) => question.ask().await,
            None => None,
        }
    }

    async fn look(&mut self) {
        let asked = self.ask().await;
        let now = clock::now();
        let found = self.sampler.look(asked.as_ref(), now);
        self.counters.looks.fetch_add(1, Ordering::Relaxed);
        let is_there = found.is_some();
        if is_there != std::mem::replace(&mut self.was_there, is_there) {
            let event = if is_there { "server_found" } else { "server_absent" };
            self.events.emit(&json!({"event": event, "name": self.settings.name}));
        }
        self.notice_log();
        *self.latest.borrow_mut() = found.clone().unwrap_or_default();
        let Some(metrics) = found else {
            self.counters.absent.fetch_add(1, Ordering::Relaxed);
            self.last = None;
            return;
        };
        let cpu = metrics.value(Metric::Cpu).or(metrics.machine_cpu()).unwrap_or(0.0) as f32;
        let inside = metrics.value(Metric::InFlight).map(|inside| inside as u32);
        self.last = Some((now, metrics));
        let has_turned = inside.is_some_and(|inside| self.has_turned(inside));
        // A look comes some time after its tick, now more, now less: the heartbeat must not wait for one tick more.
        let LoaddSettings { every, heartbeat, .. } = self.settings;
        if has_turned || self.occasion.is_due(cpu, Span(heartbeat.0 - every.0 / 2), now) {
            self.occasion.told(cpu, now);
            self.tell();
        }
    }

    /// Says when the access log begins or ceases to tell of requests.
    fn notice_log(&mut self) {
        let trouble = self.sampler.log_trouble();
        if std::mem::replace(&mut self.log_trouble, trouble) == trouble {
            return;
        }
        match trouble {
            Some(why) => self.events.emit(&json!({"event": "log_silent", "name": self.settings.name, "why": why})),
            None => self.events.emit(&json!({"event": "log_read", "name": self.settings.name})),
        }
    }

    /// Looks for an overload that begins or ends. What it tells then is of the last look, but for the number inside.
    async fn watch(&mut self) {
        let asked = self.ask().await;
        let Some(inside) = self.sampler.inside(asked.as_ref(), clock::now()) else { return };
        if self.last.is_some() && self.has_turned(inside) {
            let (_, metrics) = self.last.as_mut().expect("it was just there");
            metrics.set(Metric::InFlight, f64::from(inside));
            self.tell();
        }
    }

    fn has_turned(&mut self, inside: u32) -> bool {
        let cores = self.last.as_ref().and_then(|(_, metrics)| metrics.value(Metric::Cores)).unwrap_or(1.0);
        let has_turned = self.occasion.has_turned(inside, cores as u32);
        if has_turned {
            let event = if self.occasion.is_overloaded() { "overload" } else { "underload" };
            self.events.emit(&json!({"event": event, "name": self.settings.name, "inside": inside}));
            self.counters.alarms.fetch_add(1, Ordering::Relaxed);
        }
        has_turned
    }

    fn tell(&mut self) {
        let Some((measured, metrics)) = self.last.clone() else { return };
        let LoaddSettings { every, heartbeat, .. } = self.settings;
        let load = Load { every, heartbeat, is_overloaded: self.occasion.is_overloaded(), is_empty: false, metrics };
        self.counters.reports.fetch_add(1, Ordering::Relaxed);
        self.outbox.tell(measured, load);
    }

    fn tell_rates(&mut self) {
        let rates = self.take_rates(clock::now());
        if self.settings.log.is_none() || !self.was_there {
            return;
        }
        self.counters.rates.fetch_add(1, Ordering::Relaxed);
        self.outbox.tell_rates(&rates);
    }

    /// Requests per second of each client since this was last asked.
    fn take_rates(&mut self, now: Time) -> Vec<(String, f64)> {
        let elapsed_s = now.saturating_since(std::mem::replace(&mut self.rates_since, now)).as_secs_f64();
        let clients = self.sampler.take_clients().into_iter();
        clients.map(|(client, count)| (client, count as f64 / elapsed_s)).collect()
    }
}

/// The next multiple of `every`.
fn after(wall: u64, every: Span) -> u64 {
    wall - wall % every.0 + every.0
}

/// How long to wait for an instant that is due: no longer than a period, since the clock may have been set back meanwhile.
fn until(instant: u64, wall: u64, every: Span) -> Span {
    Span(instant.saturating_sub(wall).min(every.0))
}

/// Whether an instant that was the next multiple of `every` has come, or the clock was set back meanwhile.
fn is_due(instant: u64, every: Span, wall: u64) -> bool {
    instant <= wall || instant - wall > every.0
}

impl Counters {
    pub(super) fn new() -> Counters {
        let zero = AtomicU64::default;
        Counters {
            started: clock::now(),
            looks: zero(),
            absent: zero(),
            reports: zero(),
            alarms: zero(),
            rates: zero(),
            traffic: Arc::default(),
            probed: Arc::default(),
        }
    }

    pub(super) fn counts(&self) -> LoaddCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LoaddCounts {
            looks: of(&self.looks),
            absent: of(&self.absent),
            reports: of(&self.reports),
            alarms: of(&self.alarms),
            rates: of(&self.rates),
            datagrams: of(&self.traffic.datagrams),
            bytes: of(&self.traffic.bytes),
            unsent: of(&self.traffic.unsent),
            challenges: of(&self.traffic.challenges),
            probes: of(&self.probed.obeyed),
            probes_refused: of(&self.probed.refused),
            echo_bytes: of(&self.probed.bytes),
            cpu_s: clock::process_cpu().as_secs_f64(),
            elapsed_s: clock::now().saturating_since(self.started).as_secs_f64(),
        }
    }
}
