//! A gateway: an HTTP/1.1 reverse proxy whose every choice is made by the same object that the simulator runs.
//!
//! Thread per core: each thread has its own listener (`SO_REUSEPORT`), runtime, connection pool and, unless they are
//! told to share one, its own [`Dispatcher`](sojourn_dispatch::Dispatcher), because n gateway threads *are* n deciders.
//! A request is one task from the client's socket to the backend's: the upstream connection is driven by the task that waits
//! for it, not by a task of its own. The price: an idle upstream connection notices that it was closed only when it is
//! next looked at, so each is looked at before use and once a second.
//!
//! As a redirector it answers where to ask instead of asking itself; the choices, the health checks and the
//! polls are the same. Gateways may stand in front of gateways: each asks those behind it for their own health and load,
//! and refuses a request that it has forwarded before.
//!
//! What is in flight is counted by a guard that tells the dispatcher `Cancelled` when it is
//! dropped unless it has told it something else: the counts are right on every path, those not thought of included.

mod answer;
mod asked;
mod board;
mod control;
mod counts;
mod flight;
mod forwarder;
mod health;
mod id;
mod link;
mod polling;
#[cfg(test)]
mod proof;
mod proxy;
mod queue;
mod redirect;
mod refusal;
mod reload;
mod reply;
mod reporting;
mod upload;
mod version;
mod waiting;
mod worker;

use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::service::service_fn;
use sojourn_bed::Events;
use sojourn_dispatch::{Catalogue, DispatchError, Front, Signals};
use sojourn_part::ServeError;
use sojourn_part::caller::Caller;
use sojourn_part::control::{Door, Order};
use sojourn_part::listen::{Connections, Interim, listeners};
use sojourn_part::settings::gateway::{Face, Forward, GatewaySettings, InFront};
use sojourn_part::settings::{Given, Settings, Wrong};
use sojourn_part::threads::{Threads, Work};
use sojourn_report::upstream::{Upstream, UpstreamConfig};
use sojourn_report::{Dropped, Inbox, Key, ReportsConfig, SIGNALS};
use sojourn_stats::Span;
use tokio::sync::mpsc;

use board::{Board, Decider, prepare};
use control::Drained;
pub use counts::{BackendCounts, GatewayCounts};
use counts::{Counts, Facts, total};
pub(crate) use forwarder::Forwarder;
pub(crate) use id::GatewayId;
pub(crate) use proxy::Unserved;
use reload::{InForce, Reloader};
pub(crate) use reply::Reply;
use version::Version;
use worker::{Peer, Worker};

/// Idle connections kept per backend and thread, and in all no more than clients may have.
const KEEP: usize = 256;

/// How long requests in flight may take when it is stopped, unless settings say otherwise.
const GRACE: Span = Span(30_000_000_000);

/// A running gateway; dropping it stops it.
pub struct Gateway {
    address: SocketAddr,
    books: Books,
    reloader: Arc<Reloader>,
    threads: Threads,
}

/// Where it is counted what a gateway does, for those who look from outside.
#[derive(Clone)]
struct Books {
    counts: Arc<[Arc<Counts>]>,
    deciders: Vec<Arc<Facts>>,
    connections: Connections,
    reports: Option<(SocketAddr, Arc<Mutex<Dropped>>)>,
    upstream: Option<Arc<Upstream>>,
}

impl Gateway {
    /// Starts a gateway; `events` hears of backends that go down and come back.
    ///
    /// # Errors
    /// When the address is in use, the policy is unknown or asks for what a gateway cannot see, a setting is
    /// impossible, or the record cannot be written.
    pub fn start<F: Face>(settings: InFront<F>, events: Events) -> Result<Gateway, ServeError> {
        Gateway::start_with(settings, &Catalogue::default(), events)
    }

    /// The same with the policies of `catalogue`, where those of your own have names too.
    ///
    /// # Errors
    /// As [`Gateway::start`].
    pub fn start_with<F: Face>(
        settings: InFront<F>,
        catalogue: &Catalogue,
        events: Events,
    ) -> Result<Gateway, ServeError> {
        let wrong = |wrong: Wrong| ServeError::Config(wrong.to_string());
        settings.check().map_err(wrong)?;
        let redirect = reload::redirect_of(&settings).map_err(wrong)?;
        let config = settings.whole();
        let key = key_of(config.key_file.as_deref()).map_err(wrong)?;
        let threads = config.threads;
        let (rules, keep) = reload::rules(&config, redirect.is_none())?;
        let (connections, grace) = (Connections::new(rules), reload::grace(&config));
        let count = if config.shared { 1 } else { threads };
        let decider = |index| {
            let front = front(&config, &reload::backends_of(&config), redirect.is_some(), catalogue, index)?;
            Decider::new(&config, prepare(front, &config, reload::record_path(&config, index).as_deref())?)
        };
        let mut made = (0..count).map(decider).collect::<Result<Vec<_>, ServeError>>()?;
        let deciders = made.iter().map(Decider::facts).collect();
        let listeners = listeners(config.listen, threads)?;
        let address = listeners[0].local_addr().map_err(ServeError::system("the listener has no address"))?;
        let counts: Arc<[_]> = (0..threads).map(|_| Arc::<Counts>::default()).collect();
        let shared = config.shared.then(|| made.remove(0).into_shared());
        let mut made = made.into_iter();
        let mut orders = Vec::new();
        let inputs = listeners.into_iter().map(|listener| {
            let (order, ordered) = mpsc::unbounded_channel();
            orders.push(order);
            let decider = match &shared {
                Some(decider) => board::Access::Shared(Arc::clone(decider)),
                None => made.next().expect("there is one per thread").into_own(),
            };
            (listener, decider, ordered)
        });
        let inputs: Vec<_> = inputs.collect();
        let names: Vec<String> = config.backends.iter().map(|backend| backend.name.clone()).collect();
        let (reports, upstream) = match key {
            Some(key) => (
                ReportsConfig::from_settings(&config.reports, key.clone())?,
                UpstreamConfig::from_settings(&config.upstream, key),
            ),
            None => (None, None),
        };
        let inbox = reports.map(|reports| Inbox::open(&reports, Some(&names))).transpose()?;
        let address_of_reports = inbox.as_ref().map(Inbox::address).transpose()?;
        let reports = address_of_reports.map(|address| (address, Arc::<Mutex<Dropped>>::default()));
        let ears = inbox.as_ref().map(Inbox::ears);
        let heard = Mutex::new(inbox.zip(reports.as_ref().map(|(_, dropped)| Arc::clone(dropped))));
        let upstream = upstream.map(|upstream| Upstream::new(upstream, names.len())).transpose()?;
        let tells = upstream.clone();
        let books = Books { counts, deciders, connections, reports, upstream };
        let kept = books.clone();
        let door = config.control.as_deref().map(|path| Door::open(path, "gateway or redirector")).transpose()?;
        let (door, drained) = (Mutex::new(door), Arc::new(Drained::default()));
        let config = Arc::new(config);
        let reloader = Arc::new(Reloader {
            catalogue: catalogue.clone(),
            in_force: Mutex::new(InForce {
                version: Version::new(Arc::clone(&config), redirect, keep, Version::default()),
                successions: 0,
            }),
            threads: orders,
            shared,
            connections: books.connections.clone(),
            ears,
            upstream: books.upstream.clone(),
            events: events.clone(),
        });
        let (all, id) = (Arc::clone(&books.counts), Arc::new(GatewayId::new()));
        let clients = books.connections.clone();
        let threads = Threads::start("gateway", inputs, 1, grace, move |index, (listener, decider, orders), stop| {
            // With one decider for all, the first thread does what it asks for.
            let acts = index == 0 || !config.shared;
            let upstream = tells.clone();
            let board = Rc::new(Board::new(index, decider, Arc::clone(&all), events.clone(), upstream, &config));
            let bell = acts.then(|| board.bell()).transpose()?;
            let version = Version::new(Arc::clone(&config), redirect, keep, Version::default());
            let worker = Rc::new(Worker::new(board, version, Arc::clone(&id)));
            let heard = heard.lock().unwrap_or_else(PoisonError::into_inner).take().filter(|_| acts);
            let door = door.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (drained, kept) = (Arc::clone(&drained), kept.clone());
            let clients = clients.clone();
            let ears = heard.as_ref().map(|(inbox, _)| inbox.ears());
            let telling = tells.as_ref().filter(|_| acts);
            let telling =
                telling.map(|upstream| upstream.tell(Rc::clone(&worker), ears, events.clone())).transpose()?;
            Ok(Box::pin(async move {
                let mut chores = tokio::task::JoinSet::new();
                chores.spawn_local(Worker::keep_time(Rc::clone(&worker)));
                if let Some(bell) = bell {
                    chores.spawn_local(polling::drive(Rc::clone(&worker), bell));
                    chores.spawn_local(Arc::clone(&drained).follow(Rc::clone(&worker)));
                }
                if let Some(door) = door {
                    let counts = move || serde_json::to_value(kept.counts()).unwrap_or_default();
                    let of = Rc::clone(&worker);
                    let drain = move |name: &str, is_drained| drained.set(&of, name, is_drained);
                    let answer = move |order: Order| order.answer(&counts, &drain);
                    chores.spawn_local(async move { drop(door.serve(answer).await) });
                }
                chores.spawn_local(reload::attend(Rc::clone(&worker), acts, orders));
                let service = |caller: Caller, interim: &Interim| {
                    let peer = Rc::new(Peer::new(caller.address.ip(), Some(interim.clone())));
                    let worker = Rc::clone(&worker);
                    service_fn(move |request| answer::answer(Rc::clone(&worker), Rc::clone(&peer), request))
                };
                if let Some((inbox, dropped)) = heard {
                    chores.spawn_local(reporting::hear(inbox, Rc::clone(&worker), dropped));
                }
                if let Some(telling) = telling {
                    chores.spawn_local(telling);
                }
                clients.accept(listener, None, stop, service).await;
                chores.shutdown().await;
                worker.close();
            }) as Work)
        })?;
        Ok(Gateway { address, books, reloader, threads })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where load daemons send their reports, if anywhere.
    pub fn reports_address(&self) -> Option<SocketAddr> {
        self.books.reports.as_ref().map(|(address, _)| *address)
    }

    /// What it has done so far.
    pub fn counts(&self) -> GatewayCounts {
        self.books.counts()
    }

    /// Goes by these settings from now on, without losing a request or a count. A backend that is named no more gets nothing new.
    ///
    /// # Errors
    /// On the first setting that is impossible, or cannot change while it runs; what was in force stays so.
    pub fn take<F: Face>(&self, settings: InFront<F>) -> Result<(), Wrong> {
        self.reloader.take(settings)
    }

    /// What reads settings anew, and goes by them or says why not; also as the events `reloaded` and `reload_failed`.
    pub fn reload<F: Face>(&self, given: Given<InFront<F>>) -> impl Fn() + use<F> {
        let reloader = Arc::clone(&self.reloader);
        move || drop(reloader.reload(&given))
    }

    /// Stops it and says what it has done.
    pub fn stop(mut self) -> GatewayCounts {
        self.threads.stop();
        self.counts()
    }
}

impl Books {
    fn counts(&self) -> GatewayCounts {
        let dropped = |(_, dropped): &(_, Arc<Mutex<Dropped>>)| *dropped.lock().unwrap_or_else(PoisonError::into_inner);
        let reports_dropped = self.reports.as_ref().map(dropped);
        let counts = total(&self.counts, &self.deciders, self.connections.held());
        let upstream = self.upstream.as_ref().map(|upstream| upstream.counts());
        GatewayCounts { reports_dropped, upstream, ..counts }
    }
}

/// What only a gateway can say of settings that are right as such: whether it can follow the policy, and read the key.
///
/// # Errors
/// The first setting that cannot be followed.
pub fn check<F: Face>(settings: &InFront<F>) -> Result<(), Wrong> {
    key_of(settings.key_file.as_deref())?;
    let is_redirector = settings.face.redirect().is_some();
    let of_policy = |error: DispatchError| Wrong::new(key_of_error(&error), error);
    let whole = settings.clone().whole();
    let made = front(&whole, &reload::backends_of(&whole), is_redirector, &Catalogue::default(), 0);
    made.map(drop).map_err(of_policy)
}

/// A decider as these settings have it, of thread `index`, over backends of these names and weights.
fn front(
    settings: &GatewaySettings,
    backends: &[(String, f64)],
    is_redirector: bool,
    catalogue: &Catalogue,
    index: usize,
) -> Result<Front, DispatchError> {
    // The simulator's dispatchers bear the same names, so that both draw the same numbers.
    let name = format!("dispatcher {index}");
    Front::new(&settings.decider, backends, catalogue, signals(settings, is_redirector), &name)
}

/// What a policy can be told.
fn signals(settings: &GatewaySettings, is_redirector: bool) -> Signals {
    // A redirector sees the request and its own answer.
    let seen = match is_redirector {
        true => Signals::ADDRESS | Signals::COOKIE | Signals::PATH,
        false => Signals::GATEWAY,
    };
    let reports = if settings.reports.listen.is_some() { SIGNALS } else { Signals::empty() };
    let Forward { orca_headers, orca, .. } = &settings.face;
    let has_orca = *orca_headers || !orca.is_empty();
    let orca = if has_orca { Signals::REPORTS | Signals::ROOM } else { Signals::empty() };
    seen | settings.decider.information().signals() | reports | orca
}

/// The setting to which a mistake of the decider's belongs.
fn key_of_error(error: &DispatchError) -> &'static str {
    match error {
        DispatchError::Backend(_) => "backend",
        DispatchError::Limit(_) => "decider.limit",
        DispatchError::Information(_) => "decider.poll",
        DispatchError::Settings(_) => "decider",
        _ => "decider.policy",
    }
}

/// The key of reports, where there is one.
fn key_of(file: Option<&Path>) -> Result<Option<Key>, Wrong> {
    file.map(|file| Key::read(file).map_err(|why| Wrong::new("key_file", why))).transpose()
}
