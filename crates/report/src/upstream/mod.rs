//! What a front node tells those in front of it: a DNS, or another front node. To them it is one server of high capacity.
//!
//! It adds up the last reports of its servers by the rules that the simulator follows (`sojourn_dispatch::reports`), and sends
//! the sum as a load daemon sends its own report: signed, proof against replay, when the busy share has changed, at every
//! heartbeat, and at once where an overload of all together begins or ends, or the last server goes. It looks a tenth of a tick
//! after its daemons do, so that what they say at an instant is in what it says of that instant. Of clients it passes on the
//! rates above the mean, at a phase of its own. Where no server reports, it tells what it counts itself.
//!
//! On its orders it measures round trips to clients ([`prober`]). The price: it knows of its servers what they said last,
//! and a front node in front of front nodes is a tick behind. Agarwal, A test bed for performance evaluation of load
//! balancing strategies for web server systems, 2001, sections 3.5.2 and 4.3.2.

mod echo;
mod prober;
mod servers;

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::json;
use sojourn_bed::Events;
use sojourn_dispatch::Front;
use sojourn_dispatch::reports::{Occasion, above_mean, phase};
use sojourn_part::settings::Wrong;
use sojourn_part::{ServeError, clock, settings};
use sojourn_stats::Span;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::{Dropped, Ears, Key, Load, Metrics, Outbox, Told, Traffic};
pub use prober::ProbeRules;
pub use prober::{Counters, Prober};
pub use servers::{Look, Servers};

/// What a front node tells, to which receivers and when.
#[derive(Clone, Debug)]
pub struct UpstreamConfig {
    /// The name by which those in front know the cluster.
    pub name: String,
    /// Where its reports go.
    pub receivers: Vec<SocketAddr>,
    /// The key that it shares with them.
    pub key: Key,
    /// Time between two looks.
    pub every: Span,
    /// The longest time between two reports.
    pub heartbeat: Span,
    /// Time between two reports of the rates of clients.
    pub client_rates: Span,
    /// Which orders to probe clients it obeys.
    pub probes: ProbeRules,
}

/// What a front node has told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UpstreamCounts {
    /// Reports of load, to how many receivers they may have gone.
    pub reports: u64,
    /// Those of them that were told at once: an overload began or ended, the last server went or the first came.
    pub alarms: u64,
    /// Reports of the rates of clients.
    pub rates: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Datagrams that could not be sent.
    pub unsent: u64,
    /// Challenges that were answered.
    pub challenges: u64,
    /// Orders to probe a client that were obeyed.
    pub probes: u64,
    /// Orders that were refused: too soon, too many, or no address.
    pub probes_refused: u64,
    /// Bytes of the echoes there and back, with the heads of their packets.
    pub echo_bytes: u64,
    /// Challenges and orders that were not believed, by cause.
    pub orders_dropped: Dropped,
}

/// What a front node is asked here.
pub trait FrontNode {
    /// Looks at what is known of its servers.
    fn look<R>(&self, look: impl FnOnce(&Front) -> R) -> R;

    /// What it counts itself: levels, since totals of reports would not go on where these end.
    fn own(&self) -> Metrics;
}

impl<T: FrontNode> FrontNode for Rc<T> {
    fn look<R>(&self, look: impl FnOnce(&Front) -> R) -> R {
        (**self).look(look)
    }

    fn own(&self) -> Metrics {
        (**self).own()
    }
}

/// What a front node tells, shared by those who hear of its servers and the one who tells.
pub struct Upstream {
    config: UpstreamConfig,
    servers: Mutex<Servers>,
    changed: Notify,
    traffic: Arc<Traffic>,
    reports: AtomicU64,
    alarms: AtomicU64,
    rates: AtomicU64,
    orders_dropped: Mutex<Dropped>,
    probed: Arc<Counters>,
}

impl UpstreamConfig {
    /// Reports as settings have them; none where no name is.
    pub fn from_settings(upstream: &settings::Upstream, key: Key) -> Option<UpstreamConfig> {
        let settings::Upstream { to, name, every, heartbeat, client_rates, echoes } = upstream.clone();
        Some(UpstreamConfig { name: name?, receivers: to, key, every, heartbeat, client_rates, probes: echoes })
    }

    fn check(&self) -> Result<(), Wrong> {
        let UpstreamConfig { name, receivers, every, heartbeat, client_rates, probes, .. } = self.clone();
        let (to, name, echoes) = (receivers, Some(name), probes);
        settings::Upstream { to, name, every, heartbeat, client_rates, echoes }.check()
    }
}

impl Upstream {
    /// For a front node with so many servers.
    pub fn new(config: UpstreamConfig, servers: usize) -> Result<Arc<Upstream>, ServeError> {
        config.check()?;
        Ok(Arc::new(Upstream {
            config,
            servers: Mutex::new(Servers::new(servers)),
            changed: Notify::new(),
            traffic: Arc::default(),
            reports: AtomicU64::new(0),
            alarms: AtomicU64::new(0),
            rates: AtomicU64::new(0),
            orders_dropped: Mutex::default(),
            probed: Arc::default(),
        }))
    }

    /// There are so many servers now; those that there were keep their numbers.
    pub fn expect(&self, servers: usize) {
        self.servers().expect(servers);
    }

    /// Hears what the servers report. The front node's table must know it already.
    pub fn hear(&self, told: &[Told]) {
        told.iter().for_each(|told| self.servers().hear(told));
        self.changed.notify_one();
    }

    /// A server went down or came back.
    pub fn changed(&self) {
        self.changed.notify_one();
    }

    /// What it has told so far.
    pub fn counts(&self) -> UpstreamCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        UpstreamCounts {
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
            orders_dropped: *self.orders_dropped.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// What looks and tells for as long as it is polled, on the current runtime. `ears`: what hears of the clients' rates, if
    /// anything does.
    pub fn tell<F: FrontNode>(
        self: &Arc<Self>,
        front: F,
        ears: Option<Ears>,
        events: Events,
    ) -> Result<impl Future<Output = ()> + use<F>, ServeError> {
        let UpstreamConfig { name, key, receivers, .. } = &self.config;
        let outbox = Outbox::open(name, key, receivers, events.clone(), Arc::clone(&self.traffic))?;
        Ok(Arc::clone(self).run(Rc::new(outbox), front, ears, events))
    }

    async fn run(self: Arc<Self>, outbox: Rc<Outbox>, front: impl FrontNode, ears: Option<Ears>, events: Events) {
        let mut chores = JoinSet::new();
        let prober = Rc::new(Prober::new(self.config.probes, Arc::clone(&self.probed)));
        for receiver in outbox.receivers() {
            let (prober, answers) = (Rc::clone(&prober), Rc::clone(&outbox));
            let order = move |order, client| prober.order(&answers, receiver, order, client);
            chores.spawn_local(Outbox::hear(Rc::clone(&outbox), receiver, order));
        }
        let UpstreamConfig { every, client_rates, ref name, .. } = self.config;
        let occasion = Occasion::default();
        let mut teller = Teller { upstream: &self, outbox: &outbox, front, events, occasion, told: None };
        let (lag, phase) = (every.0 / 10, phase(name, client_rates));
        let next_tick = |wall: u64| (wall - lag) / every.0 * every.0 + every.0 + lag;
        let next_rates = |wall: u64| (wall - phase.0) / client_rates.0 * client_rates.0 + client_rates.0 + phase.0;
        let (mut tick, mut rates) = (next_tick(clock::wall()), next_rates(clock::wall()));
        loop {
            // A clock that is set back must not stop the looks.
            let wait = Span(tick.min(rates).saturating_sub(clock::wall()).min(every.0));
            tokio::select! {
                () = tokio::time::sleep(wait.as_std()) => {}
                () = self.changed.notified() => teller.look(true),
            }
            let wall = clock::wall();
            if tick <= wall || tick - wall > every.0 {
                teller.look(false);
                tick = next_tick(wall);
            }
            if rates <= wall || rates - wall > client_rates.0 {
                if let Some(ears) = &ears {
                    self.rates.fetch_add(1, Ordering::Relaxed);
                    outbox.tell_rates(&above_mean(ears.rates()));
                }
                rates = next_rates(wall);
            }
            *self.orders_dropped.lock().unwrap_or_else(PoisonError::into_inner) = outbox.dropped();
        }
    }

    fn servers(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What tells, and what it told last.
struct Teller<'a, F> {
    upstream: &'a Upstream,
    outbox: &'a Outbox,
    front: F,
    events: Events,
    occasion: Occasion,
    /// The numbers, and whether they are the front node's own counts.
    told: Option<(Metrics, bool)>,
}

impl<F: FrontNode> Teller<'_, F> {
    /// Looks at the servers and tells what is worth telling; between two ticks only what is told at once.
    fn look(&mut self, between: bool) {
        let UpstreamConfig { name, every, heartbeat, .. } = &self.upstream.config;
        let now = clock::now();
        let look = self.front.look(|front| self.upstream.servers().look(front, now));
        let (metrics, is_own, is_empty, cpu, is_at_once) = match look {
            Look::Own => {
                let has_emptied = self.occasion.has_emptied(false);
                (self.front.own(), true, false, 0.0, has_emptied)
            }
            Look::Servers { as_one, cores } => {
                let has_emptied = self.occasion.has_emptied(as_one.is_empty);
                let has_turned = self.occasion.has_turned(as_one.report.in_flight, cores);
                if has_turned {
                    let event = if self.occasion.is_overloaded() { "overload" } else { "underload" };
                    let inside = as_one.report.in_flight;
                    self.events.emit(&json!({"event": event, "name": name, "inside": inside, "cores": cores}));
                }
                let metrics = Metrics::of(&as_one, cores);
                (metrics, false, as_one.is_empty, as_one.report.cpu, has_turned || has_emptied)
            }
        };
        // The first time is a tick or whatever is heard first.
        let is_at_once = is_at_once || self.told.is_none();
        let is_new = is_own && self.told.as_ref().is_none_or(|(told, _)| *told != metrics);
        let is_due = !between && (is_new || self.occasion.is_due(cpu, *heartbeat, now));
        if !is_at_once && !is_due {
            return;
        }
        if is_at_once && self.told.is_some() {
            self.upstream.alarms.fetch_add(1, Ordering::Relaxed);
        }
        let of = if is_own { "own counts" } else { "reports" };
        if self.told.as_ref().is_none_or(|(_, was_own)| *was_own != is_own) {
            self.events.emit(&json!({"event": "tells", "name": name, "of": of}));
        }
        self.occasion.told(cpu, now);
        self.told = Some((metrics.clone(), is_own));
        self.upstream.reports.fetch_add(1, Ordering::Relaxed);
        let is_overloaded = self.occasion.is_overloaded() && !is_own;
        let (every, heartbeat) = (*every, *heartbeat);
        self.outbox.tell(clock::now(), Load { every, heartbeat, is_overloaded, is_empty, metrics });
    }
}
