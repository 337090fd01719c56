//! A gateway: an HTTP/1.1 reverse proxy whose every choice is made by the same object that the simulator runs.
//!
//! Thread per core: each thread has its own listener (`SO_REUSEPORT`), runtime, connection pool and, unless they are
//! told to share one, its own [`Dispatcher`](sojourn_dispatch::Dispatcher), because n gateway threads *are* n deciders.
//! A request is one task from the client's socket to the backend's: the upstream connection is driven by the task that waits
//! for it, not by a task of its own. The price: an idle upstream connection notices that it was closed only when it is
//! next looked at, so each is looked at before use and once a second.
//!
//! With [`Face::Redirector`] it answers where to ask instead of asking itself; the choices, the health checks and the
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
use sojourn_dispatch::{Catalogue, Information, Limit, Signals};
use sojourn_part::caller::Caller;
use sojourn_part::listen::{Connections, HEAD_TIMEOUT, KEEP_ALIVE, Rules, listeners};
use sojourn_part::threads::{Threads, Work};
use sojourn_part::{Backend, Health, Probe, ServeError, descriptors, headers};
use sojourn_report::upstream::{Upstream, UpstreamConfig};
use sojourn_report::{Dropped, Inbox, ReportsConfig, SIGNALS};
use sojourn_stats::Span;

use crate::redirection::{RedirectStatus, is_origin};
use board::{Board, Decider};
pub use counts::{BackendCounts, GatewayCounts};
use counts::{Counts, Seen, total};
pub(crate) use forwarder::Forwarder;
pub(crate) use id::GatewayId;
pub(crate) use proxy::Unserved;
pub(crate) use reply::Reply;
use worker::{Peer, Worker};

/// What a gateway is.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Where it listens; port 0 takes a free port.
    pub listen: SocketAddr,
    /// Those it sends requests to.
    pub backends: Vec<Backend>,
    /// What it does with a request once it has chosen.
    pub face: Face,
    /// How it chooses, as text: `least-connections`, `round-trip(window = 1 s)`.
    pub policy: String,
    /// Where the policy's name is looked up; policies of your own are added there.
    pub catalogue: Catalogue,
    /// How fresh the counts are that the policy sees.
    pub information: Information,
    /// Where load daemons send the load of the backends; none: nowhere. Only with one decider.
    pub reports: Option<ReportsConfig>,
    /// Reports of ORCA that it takes from the backends themselves; none: none.
    pub orca: Option<OrcaConfig>,
    /// Where it tells of its backends as of one; none: nowhere. Only with one decider.
    pub upstream: Option<UpstreamConfig>,
    /// Most requests at each backend, and with how many it is chosen again; a request that finds all full is answered 503.
    /// Only with one decider.
    pub limit: Option<Limit>,
    /// Threads, and unless `shared` deciders.
    pub threads: usize,
    /// Whether all threads ask one decider, at the price of a lock.
    pub shared: bool,
    /// The run's seed; thread i draws from the stream `dispatcher i`.
    pub seed: u64,
    /// The request header that says who the client is; none: its address does. Only for clients that are trusted.
    pub client_header: Option<String>,
    /// The cookie that names a backend, where the policy reads cookies. Gateways in front of gateways need different ones.
    pub cookie: String,
    /// The names of the classes of requests, by class number; a request's own is in the header `x-sojourn-class`. One
    /// without, or of another name, is of class 0.
    pub classes: Vec<String>,
    /// How many further backends a request may be tried at: any request whose connection was refused, and after that
    /// those that may safely reach a backend twice (an idempotent method, no body) and had no byte of a reply. One that
    /// took too long is not tried again.
    pub retries: u32,
    /// How the state of the backends is watched.
    pub health: Health,
    /// How long it waits for what.
    pub timeouts: Timeouts,
    /// How long an idle connection of a client stays open, as [`crate::NodeConfig::keep_alive`]; those to the backends
    /// stay open for as long as the backends want.
    pub keep_alive: Span,
    /// How long the head of a request may take from its first byte; then the answer is 408.
    pub head_timeout: Span,
    /// Most connections of clients at once, as [`crate::NodeConfig::connections`].
    pub connections: Option<usize>,
    /// Idle connections kept per backend and thread, and in all no more than clients may have.
    pub keep: usize,
    /// Where decisions are recorded; further threads append `.1`, `.2` and so on to the name.
    pub record: Option<PathBuf>,
    /// Whether replies say why their backend was chosen (`x-sojourn-reason`) and what each candidate had to offer
    /// (`x-sojourn-candidates`), and the record as well.
    pub explain: bool,
    /// How long requests in flight may take when it is stopped.
    pub grace: Span,
}

/// Reports of ORCA that backends make by themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct OrcaConfig {
    /// Whether those are taken that replies bear (the header `endpoint-load-metrics`); each forwarded request asks for one.
    pub headers: bool,
    /// Backends, by name, that are asked for a stream of reports (gRPC, without TLS), and where. Only with one decider.
    pub streams: Vec<(String, SocketAddr)>,
    /// Time between two reports of a stream.
    pub every: Span,
}

/// What a gateway does with a request once it has chosen a backend for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Face {
    /// It forwards the request, and the reply passes through it. It sees all of both.
    #[default]
    Proxy,
    /// It answers where to ask, and the client asks there itself. It sees only its own choices.
    Redirector {
        /// The status of its answers.
        status: RedirectStatus,
    },
}

/// How long a gateway waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection to a backend.
    pub connect: Span,
    /// For the head of a reply, from when the request was sent, its body included.
    pub reply: Span,
    /// For the next part of a reply and for the client to take it; for the next part of an upload and for the backend
    /// to take it.
    pub idle: Span,
}

impl GatewayConfig {
    /// A gateway on a free port of the loopback address that follows `policy`; one thread, one retry, health checked by
    /// `GET /health` every second.
    pub fn new(policy: impl Into<String>, backends: Vec<Backend>) -> GatewayConfig {
        let second = Span(1_000_000_000);
        GatewayConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            backends,
            face: Face::Proxy,
            policy: policy.into(),
            catalogue: Catalogue::default(),
            information: Information::Immediate,
            reports: None,
            orca: None,
            upstream: None,
            limit: None,
            threads: 1,
            shared: false,
            seed: 1,
            client_header: None,
            cookie: "SOJOURN".into(),
            classes: ["static", "dynamic", "secure"].map(Into::into).into(),
            retries: 1,
            health: Health { probe: Probe::Get("/health".into()), every: second, timeout: second, fall: 3, rise: 1 },
            timeouts: Timeouts { connect: second * 2, reply: second * 60, idle: second * 60 },
            keep_alive: KEEP_ALIVE,
            head_timeout: HEAD_TIMEOUT,
            connections: None,
            keep: 256,
            record: None,
            explain: false,
            grace: second,
        }
    }
}

impl GatewayConfig {
    /// What its policy can be told.
    fn signals(&self) -> Signals {
        let reports = if self.reports.is_some() { SIGNALS } else { Signals::empty() };
        let orca = if self.orca.is_some() { Signals::REPORTS | Signals::ROOM } else { Signals::empty() };
        self.face.signals() | self.information.signals() | reports | orca
    }
}

impl Face {
    /// What it sees of requests and replies; reports of the backends come on top of that, where it polls.
    pub fn signals(self) -> Signals {
        match self {
            Face::Proxy => Signals::GATEWAY,
            Face::Redirector { .. } => Signals::ADDRESS | Signals::COOKIE | Signals::PATH,
        }
    }
}

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
    pub fn start(mut config: GatewayConfig, events: Events) -> Result<Gateway, ServeError> {
        check(&config)?;
        let threads = config.threads;
        // A client's connection may need one to a backend, and leave it behind idle; a redirector needs neither.
        // Besides, each thread has some descriptors of its own, and a probe and a poll per backend.
        let each = if config.face == Face::Proxy { 3 } else { 1 };
        let links = config.backends.len() * threads;
        let own = 16 + 4 * threads + 2 * links;
        let limit = descriptors::connections(config.connections, each, own as u64)?;
        config.keep = config.keep.min(limit.div_ceil(links));
        let grace = config.grace;
        let connections = {
            let (keep_alive, head_timeout, patience) = (config.keep_alive, config.head_timeout, config.timeouts.idle);
            Connections::new(Rules { keep_alive, head_timeout, patience, grace, ..Rules::new(limit) })
        };
        let count = if config.shared { 1 } else { threads };
        let mut made = (0..count).map(|index| Decider::new(&config, index)).collect::<Result<Vec<_>, _>>()?;
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
        let inbox = config.reports.as_ref().map(|reports| Inbox::open(reports, Some(&names))).transpose()?;
        let address_of_reports = inbox.as_ref().map(Inbox::address).transpose()?;
        let reports = address_of_reports.map(|address| (address, Arc::<Mutex<Dropped>>::default()));
        let heard = Mutex::new(inbox.zip(reports.as_ref().map(|(_, dropped)| Arc::clone(dropped))));
        let upstream = config.upstream.clone().map(|upstream| Upstream::new(upstream, names.len())).transpose()?;
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
            let worker = Rc::new(Worker::new(board, Arc::clone(&config), Arc::clone(&id))?);
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

fn check(config: &GatewayConfig) -> Result<(), ServeError> {
    for (count, what) in [
        (config.threads, "threads"),
        (config.health.fall as usize, "failures that take a backend out"),
        (config.health.rise as usize, "probes that bring a backend back"),
    ] {
        if count == 0 {
            return Err(ServeError::Config(format!("0 {what}: at least 1 is needed")));
        }
    }
    if config.threads > 1 && !config.shared {
        let (deciders, right) = (config.threads, "one thread, or one decider for all (--shared)");
        if config.reports.is_some() {
            return Err(ServeError::Config(format!("reports with {deciders} deciders: they are told to {right}")));
        }
        if config.upstream.is_some() {
            return Err(ServeError::Config(format!("reports of {deciders} deciders: one is told of {right}")));
        }
        if config.orca.as_ref().is_some_and(|orca| !orca.streams.is_empty()) {
            return Err(ServeError::Config(format!("streams of ORCA with {deciders} deciders: they go to {right}")));
        }
    }
    if config.limit.is_some() && config.threads > 1 && !config.shared {
        let right = "one thread, or one decider for all (--shared)";
        return Err(ServeError::Config(format!("a limit with {} deciders, who count apart: {right}", config.threads)));
    }
    for (name, _) in config.orca.iter().flat_map(|orca| &orca.streams) {
        if !config.backends.iter().any(|backend| backend.name == *name) {
            return Err(ServeError::Config(format!("stream of ORCA of {name}: there is no such backend")));
        }
    }
    if config.backends.is_empty() {
        return Err(ServeError::Config("a gateway needs at least one backend".into()));
    }
    for (index, backend) in config.backends.iter().enumerate() {
        headers::name_value(&backend.name)?;
        if config.backends[..index].iter().any(|other| other.name == backend.name) {
            let name = &backend.name;
            return Err(ServeError::Config(format!("backend {name} is named twice; each needs a name of its own")));
        }
        if let Some(url) = &backend.public
            && !is_origin(url)
        {
            let right = "it is http:// or https://, a host and perhaps a path, as in `https://a.example.org`";
            return Err(ServeError::Config(format!("backend {}: public URL {url:?}: {right}", backend.name)));
        }
    }
    if let Some(header) = &config.client_header
        && header.parse::<hyper::header::HeaderName>().is_err()
    {
        return Err(ServeError::Config(format!("client header {header:?} is not the name of a header")));
    }
    let cookie = &config.cookie;
    if cookie.is_empty() || !cookie.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
        let right = "a cookie's name is letters, digits, `-`, `_` and `.`";
        return Err(ServeError::Config(format!("cookie {cookie:?}: {right}")));
    }
    Ok(())
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
