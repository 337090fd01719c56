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
mod redirect;
mod refusal;
mod reply;
mod reporting;
mod upload;
mod worker;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::service::service_fn;
use sojourn_bed::Events;
use sojourn_dispatch::{Catalogue, DispatchError, Front, Signals};
use sojourn_part::caller::Caller;
use sojourn_part::listen::{Connections, Rules, listeners};
use sojourn_part::settings::gateway::{Face, Forward, GatewaySettings, InFront};
use sojourn_part::settings::{Limits, Settings, Wrong};
use sojourn_part::threads::{Threads, Work};
use sojourn_part::{ServeError, descriptors};
use sojourn_report::upstream::{Upstream, UpstreamConfig};
use sojourn_report::{Dropped, Inbox, Key, ReportsConfig, SIGNALS};
use sojourn_stats::Span;

use crate::redirection::RedirectStatus;
use board::{Board, Decider};
pub use counts::{BackendCounts, GatewayCounts};
use counts::{Counts, Seen, total};
pub(crate) use forwarder::Forwarder;
pub(crate) use id::GatewayId;
pub(crate) use proxy::Unserved;
pub(crate) use reply::Reply;
use worker::{Peer, Worker};

/// Idle connections kept per backend and thread, and in all no more than clients may have.
const KEEP: usize = 256;

/// How long requests in flight may take when it is stopped, unless settings say otherwise.
const GRACE: Span = Span(30_000_000_000);

/// A running gateway; dropping it stops it.
pub struct Gateway {
    address: SocketAddr,
    counts: Arc<[Arc<Counts>]>,
    deciders: Vec<Arc<[Seen]>>,
    names: Vec<String>,
    connections: Connections,
    reports: Option<(SocketAddr, Arc<Mutex<Dropped>>)>,
    upstream: Option<Arc<Upstream>>,
    threads: Threads,
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
        let redirect = settings.face.redirect().map(|redirect| RedirectStatus::try_from(redirect.status));
        let redirect = redirect.transpose().map_err(ServeError::Config)?;
        let config = settings.whole();
        let key = key_of(config.key_file.as_deref()).map_err(wrong)?;
        let threads = config.threads;
        // A client's connection may need one to a backend, and leave it behind idle; a redirector needs neither.
        // Besides, each thread has some descriptors of its own, and a probe and a poll per backend.
        let each = if redirect.is_none() { 3 } else { 1 };
        let links = config.backends.len() * threads;
        let own = 16 + 4 * threads + 2 * links;
        let limit = descriptors::connections(config.limits.connections, each, own as u64)?;
        let keep = KEEP.min(limit.div_ceil(links));
        let grace = config.grace.unwrap_or(GRACE);
        let connections = {
            let Limits { keep_alive, head_timeout, .. } = config.limits;
            let patience = config.timeouts.idle;
            Connections::new(Rules { keep_alive, head_timeout, patience, grace, ..Rules::new(limit) })
        };
        let count = if config.shared { 1 } else { threads };
        let mut made = (0..count)
            .map(|index| Decider::new(&config, front(&config, redirect.is_some(), catalogue, index)?, index))
            .collect::<Result<Vec<_>, ServeError>>()?;
        let deciders = made.iter().map(Decider::seen).collect();
        let listeners = listeners(config.listen, threads)?;
        let address = listeners[0].local_addr().map_err(ServeError::system("the listener has no address"))?;
        let counts: Arc<[_]> = (0..threads).map(|_| Arc::new(Counts::new(config.backends.len()))).collect();
        let shared = config.shared.then(|| made.remove(0).into_shared());
        let mut made = made.into_iter();
        let inputs = listeners.into_iter().map(|listener| {
            let decider = match &shared {
                Some(decider) => board::Access::Shared(Arc::clone(decider)),
                None => made.next().expect("there is one per thread").into_own(),
            };
            (listener, decider)
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
        let heard = Mutex::new(inbox.zip(reports.as_ref().map(|(_, dropped)| Arc::clone(dropped))));
        let upstream = upstream.map(|upstream| Upstream::new(upstream, names.len())).transpose()?;
        let tells = upstream.clone();
        let config = Arc::new(config);
        let (all, id) = (Arc::clone(&counts), Arc::new(GatewayId::new()));
        let clients = connections.clone();
        let threads = Threads::start("gateway", inputs, 1, grace, move |index, (listener, decider), stop| {
            // With one decider for all, the first thread does what it asks for.
            let acts = index == 0 || !config.shared;
            let upstream = tells.clone();
            let board = Rc::new(Board::new(index, decider, Arc::clone(&all), events.clone(), upstream, &config));
            let bell = acts.then(|| board.bell()).transpose()?;
            let worker = Rc::new(Worker::new(board, Arc::clone(&config), (redirect, keep), Arc::clone(&id))?);
            let heard = heard.lock().unwrap_or_else(PoisonError::into_inner).take().filter(|_| acts);
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
                    for backend in worker.board.backends() {
                        chores.spawn_local(health::watch(Rc::clone(&worker), backend));
                    }
                    reporting::streams(&worker).for_each(|stream| drop(chores.spawn_local(stream)));
                }
                let service = |caller: Caller| {
                    let (worker, peer) = (Rc::clone(&worker), Rc::new(Peer::new(caller.address.ip())));
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
        Ok(Gateway { address, counts, deciders, names, connections, reports, upstream, threads })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where load daemons send their reports, if anywhere.
    pub fn reports_address(&self) -> Option<SocketAddr> {
        self.reports.as_ref().map(|(address, _)| *address)
    }

    /// What it has done so far.
    pub fn counts(&self) -> GatewayCounts {
        let dropped = |(_, dropped): &(_, Arc<Mutex<Dropped>>)| *dropped.lock().unwrap_or_else(PoisonError::into_inner);
        let reports_dropped = self.reports.as_ref().map(dropped);
        let counts = total(&self.names, &self.counts, &self.deciders, self.connections.held());
        let upstream = self.upstream.as_ref().map(|upstream| upstream.counts());
        GatewayCounts { reports_dropped, upstream, ..counts }
    }

    /// Stops it and says what it has done.
    pub fn stop(mut self) -> GatewayCounts {
        self.threads.stop();
        self.counts()
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
    front(&settings.clone().whole(), is_redirector, &Catalogue::default(), 0).map(drop).map_err(of_policy)
}

/// A decider as these settings have it, of thread `index`.
fn front(
    settings: &GatewaySettings,
    is_redirector: bool,
    catalogue: &Catalogue,
    index: usize,
) -> Result<Front, DispatchError> {
    let backends: Vec<_> = settings.backends.iter().map(|backend| (backend.name.clone(), backend.weight)).collect();
    // The simulator's dispatchers bear the same names, so that both draw the same numbers.
    let name = format!("dispatcher {index}");
    Front::new(&settings.decider, &backends, catalogue, signals(settings, is_redirector), &name)
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
        _ => "decider.policy",
    }
}

/// The key of reports, where there is one.
fn key_of(file: Option<&Path>) -> Result<Option<Key>, Wrong> {
    file.map(|file| Key::read(file).map_err(|why| Wrong::new("key_file", why))).transpose()
}

/// The file that thread `index` records to.
fn record_path(path: &Path, index: usize) -> PathBuf {
    if index == 0 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{index}"));
    PathBuf::from(name)
}
