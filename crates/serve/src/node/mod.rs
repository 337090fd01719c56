//! A node: one server of the system, real or emulated.
//!
//! It serves static files below a root, pages that programs make (CGI, FastCGI), `/bytes/N` (N bytes), `/work` (a service, see
//! below), `/load` (its load, in ORCA text form) and `/health`. Given a server model, `/work` is *emulated*: the request enters a
//! [`Station`](sojourn_model::Station) of each resource and is answered when they say so, no processor time is burnt, and many
//! nodes fit on a small machine. Without a model, or with `?iter=N`, it is *spun*: real processor time on a worker
//! thread.
//!
//! What a request may ask for is limited, so that no sum of it overflows: [`DEMAND_MAX`] and [`BYTES_MAX`]. More is
//! answered with 400.
//!
//! A node runs on one thread by default, so that eight of them fit on two cores; the price is that its HTTP handling
//! (some tens of microseconds per request) is serial.

mod ailment;
mod answer;
mod body;
mod broker;
mod dynamic;
mod emulation;
mod files;
mod log;
mod oracle;
mod pattern;
mod processor;
mod reply;
mod requests;
mod spin;
mod work;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::service::service_fn;
use serde::Serialize;
use sojourn_bed::Events;
use sojourn_model::Server;
use sojourn_stats::Span;
use tokio::task::JoinHandle;

use crate::caller::Caller;
use crate::gateway::{Forwarder, GatewayId};
use crate::listen::{Connections, HEAD_TIMEOUT, KEEP_ALIVE, listeners};
use crate::report::Inbox;
use crate::threads::{Threads, Work};
use crate::{ServeError, clock, descriptors};
pub use ailment::Ailment;
use answer::Handler;
use broker::{Broker, Numbers, Telling};
pub use broker::{ClusterConfig, ClusterCounts, HandOver, PeerConfig, PeerCounts, hardware_of};
pub use dynamic::{CgiSettings, FastCgiSettings};
pub use files::{CacheControl, FileSettings};
use log::AccessLog;
pub use log::{LogFormat, LogSettings};
pub use oracle::{Foreseen, Oracle, Pattern as RankedPattern};
pub use pattern::Pattern;
use processor::Processor;

/// The longest service that a request for `/work` may ask for: 24 h.
pub const DEMAND_MAX: Span = Span(24 * 3600 * 1_000_000_000);

/// Most bytes that a request for `/bytes/N` or `/work` may ask for: 1 PB.
pub const BYTES_MAX: u64 = 1_000_000_000_000_000;

/// Where it says its load, and that it is well: no requests as others.
const LOAD: &str = "/load";
const HEALTH: &str = "/health";

/// How long a client may take for the next part of an upload, and take nothing of a reply.
const PATIENCE: Span = Span(60_000_000_000);

/// What a node is.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Where it listens; port 0 takes a free port.
    pub listen: SocketAddr,
    /// Threads that handle HTTP.
    pub threads: usize,
    /// Threads that burn processor time for spun work.
    pub workers: usize,
    /// The static files.
    pub files: Option<FileSettings>,
    /// Programs that are started for each request.
    pub cgi: Option<CgiSettings>,
    /// Programs that a FastCGI server runs.
    pub fastcgi: Option<FastCgiSettings>,
    /// Where it writes a line of each request.
    pub log: Option<LogSettings>,
    /// The server that it emulates.
    pub model: Option<Server>,
    /// The names of the classes of requests in the order of their priority, the most urgent first; a request's own is in
    /// the header `x-sojourn-class`.
    pub classes: Vec<String>,
    /// The name by which its replies and its random stream are known.
    pub name: String,
    /// The run's seed, for demands that no request brings along.
    pub seed: u64,
    /// How long an idle connection stays open, and how long a request's head may take; zero: a connection per request.
    pub keep_alive: Span,
    /// How long the head of a request may take from its first byte; then the answer is 408.
    pub head_timeout: Span,
    /// Most connections at once; further ones wait until one is closed. None: as many as there are descriptors for.
    pub connections: Option<usize>,
    /// How long requests in flight may take when it is stopped.
    pub grace: Span,
    /// The cluster that it is a node of.
    pub cluster: Option<ClusterConfig>,
    /// Where it writes, when it is stopped, an oracle's table of what it has served.
    pub learn: Option<PathBuf>,
}

impl NodeConfig {
    /// A node called `name` on a free port of the loopback address, without files or a model.
    pub fn new(name: impl Into<String>) -> NodeConfig {
        NodeConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            threads: 1,
            workers: 1,
            files: None,
            cgi: None,
            fastcgi: None,
            log: None,
            model: None,
            classes: ["static", "dynamic", "secure"].map(Into::into).into(),
            name: name.into(),
            seed: 1,
            keep_alive: KEEP_ALIVE,
            head_timeout: HEAD_TIMEOUT,
            connections: None,
            grace: Span(1_000_000_000),
            cluster: None,
            learn: None,
        }
    }
}

/// What a node has done.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeCounts {
    /// Requests answered or given up, `/load` and `/health` not counted.
    pub requests: u64,
    /// Requests that it has now.
    pub in_flight: u64,
    /// The most that it had at any instant.
    pub in_flight_max: u64,
    /// Emulated services that were finished.
    pub served: u64,
    /// Emulated services turned away because the server was full.
    pub denied: u64,
    /// Emulated services whose client went away first.
    pub cancelled: u64,
    /// Core time that the emulated processor has worked (s).
    pub busy_s: f64,
    /// Core time that the finished services asked for (s).
    pub demand_s: f64,
    /// Connections that had to wait because as many as may be open were open.
    pub held: u64,
    /// Lines of its log that the disk did not take.
    pub log_lost: u64,
    /// Time since the node started (s).
    pub elapsed_s: f64,
    /// What it has done in its cluster, where it is in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterCounts>,
}

/// A running node; dropping it stops it.
pub struct Node {
    address: SocketAddr,
    reports: Option<SocketAddr>,
    handler: Arc<Handler>,
    connections: Connections,
    threads: Threads,
}

impl Node {
    /// Starts a node.
    ///
    /// # Errors
    /// When the address is in use, the root is no directory, the log cannot be written, or the name cannot stand in a header.
    pub fn start(config: NodeConfig) -> Result<Node, ServeError> {
        Node::start_with(config, Events::nowhere())
    }

    /// The same; `events` hears of peers that come and go.
    ///
    /// # Errors
    /// As [`Node::start`]; also when the cluster is impossible, or a record or a table cannot be written.
    pub fn start_with(mut config: NodeConfig, events: Events) -> Result<Node, ServeError> {
        for (count, what) in [(config.threads, "threads"), (config.workers, "workers")] {
            if count == 0 {
                return Err(ServeError::Config(format!("0 {what}: a node needs at least 1")));
            }
        }
        // A connection may take a file besides, the pipes of a program, or a connection to a peer, which may be left behind idle;
        // each thread has some descriptors of its own.
        let has_programs = config.cgi.is_some() || config.fastcgi.is_some();
        let (each, kept) = match config.files.is_some() || has_programs {
            true => (2 + u64::from(has_programs), descriptors::kept() as u64),
            false => (1, 0),
        };
        let each = each + 2 * u64::from(config.cluster.is_some());
        let limit = descriptors::connections(config.connections, each, 16 + (4 + kept) * config.threads as u64)?;
        let connections = Connections::new(limit, config.keep_alive, config.head_timeout, PATIENCE, config.grace);
        let listeners = listeners(config.listen, config.threads)?;
        let address = listeners[0].local_addr().map_err(ServeError::system("the listener has no address"))?;
        let (workers, grace) = (config.workers, config.grace);
        config.listen = address;
        let cluster = config.cluster.take();
        let broker = cluster.map(|cluster| Broker::new(cluster, &config, address, events).map(Arc::new)).transpose()?;
        let inbox = broker.as_ref().map(|broker| broker.inbox(address)).transpose()?;
        let reports = inbox.as_ref().map(Inbox::address).transpose()?;
        let (inbox, id) = (Mutex::new(inbox), Arc::new(GatewayId::new()));
        let handler = Arc::new(Handler::new(config, broker)?);
        let (shared, clients) = (Arc::clone(&handler), connections.clone());
        let threads = Threads::start("node", listeners, workers, grace, move |index, listener, stop| {
            let (handler, clients) = (Arc::clone(&shared), clients.clone());
            let mut bells = Vec::new();
            for station in handler.stations().iter().filter(|_| index == 0) {
                bells.push((Arc::clone(station), station.bell()?));
            }
            // The first thread tells the peers.
            let inbox = if index == 0 { inbox.lock().unwrap_or_else(PoisonError::into_inner).take() } else { None };
            let telling = inbox.zip(handler.broker().cloned()).map(|(inbox, broker)| {
                let (told, is_real) = (Arc::clone(&handler), handler.stations().is_empty());
                let numbers = Numbers::new(move |metrics| told.tell(metrics), is_real, broker.net_rate())?;
                Telling::open(broker, inbox, numbers)
            });
            let telling = telling.transpose()?;
            let forwarder =
                handler.broker().map(|broker| Forwarder::new(broker.inside()?, Arc::clone(&id)).map(Rc::new));
            let forwarder = forwarder.transpose()?;
            Ok(Box::pin(async move {
                let telling = telling.map(|telling| tokio::task::spawn_local(telling.run(stop.clone())));
                let drive =
                    |(station, bell)| tokio::task::spawn_local(async move { Processor::drive(&station, bell).await });
                let drivers: Vec<_> = bells.into_iter().map(drive).collect();
                let service = |caller: Caller| {
                    let (handler, forwarder) = (Arc::clone(&handler), forwarder.clone());
                    service_fn(move |request| Handler::answer(Arc::clone(&handler), caller, forwarder.clone(), request))
                };
                clients.accept(listener, stop, service).await;
                if let Some(telling) = telling {
                    // It has said that the node leaves, or is about to.
                    let _ = telling.await;
                }
                drivers.iter().for_each(JoinHandle::abort);
            }) as Work)
        })?;
        Ok(Node { address, reports, handler, connections, threads })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its peers send their reports, where it is in a cluster.
    pub fn reports_address(&self) -> Option<SocketAddr> {
        self.reports
    }

    /// What reads the oracle's table anew; in one line what is wrong with it, and then the old one stays. Without a cluster
    /// there is nothing to read.
    pub fn reloader(&self) -> impl Fn() -> Result<bool, String> + Send + 'static {
        let broker = self.handler.broker().cloned();
        move || broker.as_ref().map_or(Ok(false), |broker| broker.reload().map(|()| true))
    }

    /// What it has done so far.
    pub fn counts(&self) -> NodeCounts {
        NodeCounts { held: self.connections.held(), ..self.handler.counts(clock::now()) }
    }

    /// What can be made to ail it.
    pub fn ailment(&self) -> Arc<Ailment> {
        Arc::clone(self.handler.ailment())
    }

    /// Goes on with the file that has the name of the log now, as after it was moved away.
    ///
    /// # Errors
    /// When that cannot be written; the log goes on with the old one.
    pub fn reopen_log(&self) -> Result<(), ServeError> {
        self.handler.log().map_or(Ok(()), AccessLog::reopen)
    }

    /// Stops it and says what it has done.
    pub fn stop(self) -> NodeCounts {
        self.finish().0
    }

    /// The same, and whether all was written that was to be: a record of decisions, a table of what was learned.
    pub fn finish(mut self) -> (NodeCounts, Result<(), ServeError>) {
        self.threads.stop();
        let written = self.handler.finish();
        if let Some(log) = self.handler.log() {
            log.flush();
        }
        let counts = self.counts();
        let is_whole = counts.cluster.as_ref().is_none_or(|cluster| cluster.records_failed == 0);
        (counts, if is_whole { written } else { Err(ServeError::Record) })
    }
}
