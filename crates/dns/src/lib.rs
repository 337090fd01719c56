//! An authoritative DNS server that chooses addresses by a policy: the very objects of the simulation, fed with what sites
//! report, with the rates of clients and with round trips that sites measure.
//!
//! Two halves that share one trait ([`Chooser`]). The wire ([`Server`]) turns queries into replies and knows no policy; the
//! decider knows no packet. Threads of the wire choose under one lock per service; one further thread, with a runtime, hears
//! reports, orders probes, tries sites, and answers people and Prometheus. Several DNS servers of one zone share what sites
//! report to each and nothing else: each remembers the clients that asked it, and their turns and draws are their own.
//!
//! A thread keeps the lock for up to 16 of the queries that it has taken in at once. The price of one lock: choices are made
//! one at a time, a microsecond each, and one may wait for 16 others. Agarwal, A test bed for performance evaluation of
//! load balancing strategies for web server systems, 2001, sections 3.5.1 and 4.3.3.

mod answer;
mod checks;
pub mod child;
mod chooser;
mod control;
mod decider;
mod metrics;
mod notify;
mod running;
mod server;
mod subnet;
mod wire;
mod zone;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use sojourn_bed::Events;
use sojourn_part::control::Door;
use sojourn_part::network::Allow;
use sojourn_part::settings::dns::DnsSettings;
use sojourn_part::settings::{Given, Settings};
use sojourn_part::threads::{Threads, Work};
use sojourn_part::{ServeError, listen, prometheus};
use sojourn_report::{Ears, Inbox};
use sojourn_stats::Span;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

pub use answer::{Done, Replies, Responder, Transport};
pub use chooser::{Answered, Asker, Choices, Chooser, Family, ServiceId};
use decider::Order;
use notify::Notice;
use running::Running;
pub use running::check;
pub use server::{Server, ServerConfig, ServerCounts};
pub use sojourn_part::settings::dns::DnsLimits;
pub use wire::tsig::TransferKey;
pub use zone::{Zone, Zones};

/// Orders to measure round trips that may wait to be sent.
const ORDERS: usize = 1024;

/// A running DNS; dropping it stops it.
pub struct Dns {
    running: Arc<Running>,
    addresses: Vec<SocketAddr>,
    reports: Option<SocketAddr>,
    metrics: Option<SocketAddr>,
    recalled: Option<Result<u64, String>>,
    desk: Threads,
}

/// What one thread does beside the wire.
struct Desk {
    inbox: Option<Inbox>,
    orders: mpsc::Receiver<Order>,
    notices: mpsc::UnboundedReceiver<Notice>,
    listen: Vec<SocketAddr>,
    events: Events,
    door: Option<Door>,
    metrics: Option<(TcpListener, Allow)>,
}

impl Dns {
    /// Starts a DNS. `given`: where its settings are from, to be read anew; `events` hears of sites that go down and come back,
    /// and of reloads.
    ///
    /// # Errors
    /// When a setting is impossible, or the system refuses an address, a file or a thread.
    pub fn start(settings: DnsSettings, given: Option<Given<DnsSettings>>, events: Events) -> Result<Dns, ServeError> {
        settings.check().map_err(running::wrong)?;
        let (orders, waiting) = mpsc::channel(ORDERS);
        let (notices, unsent) = mpsc::unbounded_channel();
        let takes = running::key_of_reports(&settings).map_err(running::wrong)?;
        let inbox = takes.map(|reports| Inbox::open(&reports, Some(&[]))).transpose()?;
        let reports = inbox.as_ref().map(Inbox::address).transpose()?;
        let listener = settings.metrics.map(|address| listen::listeners(address, 1)).transpose()?;
        let listener = listener.and_then(|mut listeners| listeners.pop());
        let metrics_address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
        let metrics = listener.map(|listener| (listener, settings.metrics_allow_from.clone()));
        let door = settings.control.as_deref().map(|path| Door::open(path, "DNS")).transpose()?;
        let ears = inbox.as_ref().map(Inbox::ears);
        let wire = ServerConfig {
            listen: settings.listen.clone(),
            threads: settings.threads,
            limits: settings.limits.clone(),
            cookie_secret: None,
        };
        let state = settings.state.clone();
        let (running, zones) = Running::begin(settings, given, ears.clone(), (orders, notices), events.clone())?;
        let running = Arc::new(running);
        let recalled = state.as_deref().map(|path| running.recall(path));
        let decider: Arc<dyn Chooser> = Arc::clone(&running.decider) as Arc<dyn Chooser>;
        let server = Server::start(wire, Arc::clone(&zones), decider)?;
        let addresses = server.addresses().to_vec();
        running.serve(server);
        running.notify(&zones);
        let listen = addresses.clone();
        let desk = Desk { inbox, orders: waiting, notices: unsent, listen, events, door, metrics };
        let desk = Mutex::new(Some(desk));
        let shared = Arc::clone(&running);
        let desk = Threads::start("desk", vec![()], 1, Span::ZERO, move |_, (), stop| {
            let desk = desk.lock().unwrap_or_else(PoisonError::into_inner).take().expect("there is one thread");
            Ok(Box::pin(desk.work(Arc::clone(&shared), ears.clone(), stop)) as Work)
        })?;
        Ok(Dns { running, addresses, reports, metrics: metrics_address, recalled, desk })
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where it takes reports, if it does.
    pub fn reports_address(&self) -> Option<SocketAddr> {
        self.reports
    }

    /// Where its numbers are, if they are told.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Of how many clients it knows from before a restart, or why not of all; none where nothing is kept.
    pub fn recalled(&self) -> Option<&Result<u64, String>> {
        self.recalled.as_ref()
    }

    /// What chooses, for those who ask without packets; services are numbered in the order of the configuration.
    pub fn chooser(&self) -> Arc<dyn Chooser> {
        Arc::clone(&self.running.decider) as Arc<dyn Chooser>
    }

    /// What reads the file anew and takes it, from any thread; what becomes of it is said as an event.
    pub fn reloader(&self) -> impl Fn() + Send + Sync + 'static {
        let running = Arc::clone(&self.running);
        move || drop(running.reload())
    }

    /// What says [`Dns::state`], from any thread.
    pub fn teller(&self) -> impl Fn() -> Value + Send + Sync + 'static {
        let running = Arc::clone(&self.running);
        move || running.state()
    }

    /// Reads the file anew and takes it.
    ///
    /// # Errors
    /// In one line; what was in force stays so.
    pub fn reload(&self) -> Result<(), String> {
        self.running.reload()
    }

    /// What it knows and has done, as JSON: `services` with their sites and counts, and the `wire`'s counts.
    pub fn state(&self) -> Value {
        self.running.state()
    }

    /// Stops it and says what it has done, and whether its records are whole.
    pub fn stop(mut self) -> (Value, bool) {
        self.desk.stop();
        let server = self.running.end();
        let counts = server.map(|mut server| {
            server.stop();
            json!(server.counts())
        });
        let mut state = self.running.state();
        state["wire"] = json!(counts);
        self.running.keep();
        (state, self.running.decider.finish())
    }
}

impl Desk {
    async fn work(self, running: Arc<Running>, ears: Option<Ears>, mut stop: watch::Receiver<bool>) {
        let Desk { inbox, orders, notices, listen, events, door, metrics } = self;
        let mut chores = JoinSet::new();
        if let Some(inbox) = inbox {
            let decider = Arc::clone(&running.decider);
            chores.spawn_local(async move {
                let _: Result<Infallible, _> = inbox.hear(|told, _, now| decider.hear(told, now)).await;
            });
        }
        chores.spawn_local(send(orders, ears));
        chores.spawn_local(notify::run(notices, listen, events));
        chores.spawn_local(checks::run(Arc::clone(&running.decider)));
        if let Some((listener, allow)) = metrics {
            let running = Arc::clone(&running);
            chores.spawn_local(prometheus::serve(listener, allow, move || metrics::text(&running), stop.clone()));
        }
        if let Some(door) = door {
            let running = Arc::clone(&running);
            chores.spawn_local(
                async move { drop(door.serve(move |question| control::answer(question, &running)).await) },
            );
        }
        // One that is stopped drops its sender, too.
        let _ = stop.wait_for(|stop| *stop).await;
        chores.shutdown().await;
    }
}

/// Sends out the orders that are given, for as long as it is polled.
async fn send(mut orders: mpsc::Receiver<Order>, ears: Option<Ears>) {
    while let Some(Order { sender, client }) = orders.recv().await {
        if let Some(ears) = &ears {
            // A site that has not been heard measures nothing; it is asked again when the round trips are due.
            ears.order(sender, &client.to_string());
        }
    }
}
