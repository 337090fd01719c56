//! A node: one server of the system, real or emulated.
//!
//! It serves static files below a root, pages that programs make (CGI, FastCGI), `/bytes/N` (N bytes), `/work` (a service, see
//! below), `/stored/N` (a file of an emulated disk, for the other nodes of a cluster), `/load` (its load, in ORCA text form) and
//! `/health`. Given a server model, `/work` is *emulated*: the request enters a
//! [`Station`](sojourn_model::Station) of each resource and is answered when they say so, no processor time is burnt, and many
//! nodes fit on a small machine. Without a model, or with `?iter=N`, it is *spun*: real processor time on a worker
//! thread.
//!
//! What a request may ask for is limited, so that no sum of it overflows: [`DEMAND_MAX`] and [`BYTES_MAX`]. More is
//! answered with 400.
//!
//! Settings come from the command line or from a file, which is read anew while it serves: then what answers, the rules of
//! connections and the certificates are replaced, and no request is lost.
//!
//! A node runs on one thread by default, so that eight of them fit on two cores; the price is that its HTTP handling
//! (some tens of microseconds per request) is serial.

mod ailment;
mod answer;
mod body;
mod broker;
mod copies;
mod dynamic;
mod emulation;
mod files;
mod hand_over;
mod limits;
mod log;
mod metrics;
mod model;
mod oracle;
mod processor;
mod reply;
mod requests;
mod running;
mod section;
mod settings;
mod stored;
mod tls;
mod work;

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use serde::Serialize;
use sojourn_bed::Events;
use sojourn_bed::supervised::Signalled;
use sojourn_part::caller::Caller;
use sojourn_part::listen::{Interim, hold_little, listeners};
use sojourn_part::network::Allow;
use sojourn_part::settings::node::NodeSettings;
use sojourn_part::settings::{Given, Settings};
use sojourn_part::threads::{Threads, Work};
use sojourn_part::{ServeError, prometheus};
use sojourn_report::Metrics;
use sojourn_stats::Span;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::{gateway::Forwarder, gateway::GatewayId};
pub use ailment::Ailment;
use answer::Handler;
pub use broker::{ClusterCounts, PeerCounts};
use broker::{Door, Numbers, Telling};
pub use model::hardware_of;
pub use oracle::{Foreseen, Oracle};
use processor::Processor;
use running::Running;
pub use settings::{check, notes};
pub use sojourn_part::listen::ConnectionCounts;

/// The longest service that a request for `/work` may ask for: 24 h.
pub const DEMAND_MAX: Span = Span(24 * 3600 * 1_000_000_000);

/// Most bytes that a request for `/bytes/N` or `/work` may ask for: 1 PB.
pub const BYTES_MAX: u64 = 1_000_000_000_000_000;

/// What the kernel holds of a reply where connections of an emulated server are counted (bytes): 8 MB/s with 2 ms of round trip.
const HELD_BYTES: usize = 16 << 10;

/// Where it says its load, and that it is well: no requests as others.
const LOAD: &str = "/load";
const HEALTH: &str = "/health";

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
    /// Emulated services that its discipline dropped, without an answer.
    pub dropped: u64,
    /// Core time that the emulated processor has worked (s).
    pub busy_s: f64,
    /// Core time that the finished services asked for (s).
    pub demand_s: f64,
    /// What has become of connections.
    #[serde(flatten)]
    pub connections: ConnectionCounts,
    /// Lines of its log that the disk did not take.
    pub log_lost: u64,
    /// Time since the node started (s).
    pub elapsed_s: f64,
    /// What it has done in its cluster, where it is in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterCounts>,
}

/// Threads that wait for disks at most, for each thread that handles HTTP.
const READERS: usize = 16;

/// Threads beside each that handles HTTP, where so many may burn processor time: those never take the place of readers.
fn blocking(workers: usize) -> usize {
    workers + READERS
}

/// A running node; dropping it stops it.
pub struct Node {
    /// Those without TLS first.
    addresses: Vec<SocketAddr>,
    plain: usize,
    metrics: Option<SocketAddr>,
    reports: Option<SocketAddr>,
    running: Arc<Running>,
    threads: Threads,
}

/// What makes the emulated server of a node stand still.
pub struct Standing(Vec<Arc<Processor>>);

impl Standing {
    /// Its clock stands still while `body` runs; what is in it goes on where it was.
    pub fn during(&self, body: impl FnOnce()) {
        self.0.iter().for_each(|station| station.stand_still());
        body();
        self.0.iter().for_each(|station| station.go_on());
    }
}

/// What a thread of a node listens to.
#[derive(Default)]
struct Doors {
    plain: Vec<TcpListener>,
    tls: Vec<TcpListener>,
    metrics: Option<(TcpListener, Allow)>,
}

impl Node {
    /// Starts a node whose events are thrown away.
    ///
    /// # Errors
    /// When the address is in use, the root is no directory, the log cannot be written, a certificate cannot be used, or the
    /// name cannot stand in a header.
    pub fn start(settings: NodeSettings) -> Result<Node, ServeError> {
        Node::start_with(settings, Events::nowhere())
    }

    /// Starts a node; `events` hears of reloads, and of certificates that end soon.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub fn start_with(settings: NodeSettings, events: Events) -> Result<Node, ServeError> {
        settings.check()?;
        let mut doors: Vec<Doors> = (0..settings.threads).map(|_| Doors::default()).collect();
        let mut addresses = Vec::new();
        let with_tls = settings.tls.iter().flat_map(|tls| &tls.listen).map(|address| (address, true));
        for (address, is_tls) in settings.plain().iter().map(|address| (address, false)).chain(with_tls) {
            let listeners = listeners(*address, settings.threads)?;
            addresses.push(address_of(&listeners[0])?);
            for (doors, listener) in doors.iter_mut().zip(listeners) {
                if is_tls { &mut doors.tls } else { &mut doors.plain }.push(listener);
            }
        }
        let metrics = match &settings.metrics.0 {
            Some(metrics) => listeners(metrics.listen, 1)?.pop().map(|listener| (listener, metrics.allow_from.clone())),
            None => None,
        };
        let metrics_address = metrics.as_ref().map(|(listener, _)| address_of(listener)).transpose()?;
        doors[0].metrics = metrics;
        if model::model_of(&settings)?.and_then(|model| model.machine?.connections).is_some() {
            // The model counts a connection until its reply has arrived.
            let refused = |source| ServeError::Listen { address: addresses[0], source };
            doors
                .iter()
                .flat_map(|doors| doors.plain.iter().chain(&doors.tls))
                .try_for_each(|listener| hold_little(listener, HELD_BYTES).map_err(refused))?;
        }
        let (plain, workers, grace) = (settings.plain().len(), settings.workers, settings::grace(&settings));
        let running = Arc::new(Running::new(settings, addresses[0], events)?);
        let broker = running.handler.get().broker().cloned();
        let door = broker.as_ref().map(|broker| broker.door(addresses[0])).transpose()?;
        let reports = door.as_ref().map(Door::address).transpose()?;
        let (door, id) = (Mutex::new(door), Arc::new(GatewayId::new()));
        let shared = Arc::clone(&running);
        let threads = Threads::start("node", doors, blocking(workers), grace, move |index, doors, stop| {
            let running = Arc::clone(&shared);
            let handler = running.handler.get();
            let mut bells = Vec::new();
            for station in handler.stations().iter().filter(|_| index == 0) {
                bells.push((Arc::clone(station), station.bell()?));
            }
            // The first thread tells the peers.
            let door = if index == 0 { door.lock().unwrap_or_else(PoisonError::into_inner).take() } else { None };
            let telling = door.zip(handler.broker().cloned()).map(|(door, broker)| {
                let (told, is_real) = (Arc::clone(&running), handler.stations().is_empty());
                let own = move |metrics: &mut Metrics| told.handler.get().tell(metrics);
                Telling::open(Arc::clone(&broker), door, Numbers::new(own, is_real, broker.net_rate())?)
            });
            let telling = telling.transpose()?;
            let forwarder = handler.broker().map(|broker| {
                let broker = Arc::clone(broker);
                Rc::new(Forwarder::new(move |peer| broker.inside(peer), Arc::clone(&id)))
            });
            Ok(Box::pin(async move {
                let mut chores = JoinSet::new();
                for (station, bell) in bells {
                    chores.spawn_local(async move { Processor::drive(&station, bell).await });
                }
                let telling = telling.map(|telling| tokio::task::spawn_local(telling.run(stop.clone())));
                if index == 0 {
                    let running = Arc::clone(&running);
                    chores.spawn_local(async move { running.watch_certificates().await });
                }
                doors.serve(running, forwarder, stop).await;
                if let Some(telling) = telling {
                    // It has said that the node leaves, or is about to.
                    let _ = telling.await;
                }
                chores.shutdown().await;
            }) as Work)
        })?;
        Ok(Node { addresses, plain, metrics: metrics_address, reports, running, threads })
    }

    /// Where it listens; where it does so several times, the first address.
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Where it listens without TLS.
    pub fn plain_addresses(&self) -> &[SocketAddr] {
        &self.addresses[..self.plain]
    }

    /// Where it listens with TLS.
    pub fn tls_addresses(&self) -> &[SocketAddr] {
        &self.addresses[self.plain..]
    }

    /// Where its numbers are, if they are told.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Where its peers send their reports, where it is in a cluster.
    pub fn reports_address(&self) -> Option<SocketAddr> {
        self.reports
    }

    /// What it has done so far.
    pub fn counts(&self) -> NodeCounts {
        self.running.counts()
    }

    /// What can be made to ail it.
    pub fn ailment(&self) -> Arc<Ailment> {
        Arc::clone(self.running.handler.get().ailment())
    }

    /// What makes its emulated server stand still.
    pub fn standing(&self) -> Standing {
        Standing(self.running.handler.get().stations().to_vec())
    }

    /// Reads its settings anew, where they are from a file, and an oracle's table, and takes them.
    ///
    /// # Errors
    /// In one line; what was in force stays so.
    pub fn reload(&self, given: Option<&Given<NodeSettings>>) -> Result<(), String> {
        self.running.reload(given)
    }

    /// What does as a signal tells, from any thread; what becomes of it is said as an event. `given` reads its file anew.
    pub fn told(&self, given: Option<Given<NodeSettings>>) -> impl Fn(Signalled) + Send + Sync + 'static {
        let running = Arc::clone(&self.running);
        move |told| running.told(told, given.as_ref())
    }

    /// Goes on with the file that has the name of the log now, as after it was moved away.
    ///
    /// # Errors
    /// When that cannot be written; the log goes on with the old one.
    pub fn reopen_log(&self) -> Result<(), ServeError> {
        self.running.handler.get().log().map_or(Ok(()), log::AccessLog::reopen)
    }

    /// Stops it and says what it has done.
    pub fn stop(self) -> NodeCounts {
        self.finish().0
    }

    /// The same, and whether all was written that was to be: a record of decisions, a table of what was learned.
    pub fn finish(mut self) -> (NodeCounts, Result<(), ServeError>) {
        self.threads.stop();
        let handler = self.running.handler.get();
        let written = handler.finish();
        if let Some(log) = handler.log() {
            log.flush();
        }
        let counts = self.counts();
        let is_whole = counts.cluster.as_ref().is_none_or(|cluster| cluster.records_failed == 0);
        (counts, if is_whole { written } else { Err(ServeError::Record) })
    }
}

impl Doors {
    /// Serves who comes in until told to stop.
    async fn serve(self, running: Arc<Running>, forwarder: Option<Rc<Forwarder>>, stop: watch::Receiver<bool>) {
        let mut open = JoinSet::new();
        // Each connection asks it for every request, so that a reload reaches those that are open too.
        let view = Rc::new(RefCell::new(running.handler.view()));
        let plain = self.plain.into_iter().map(|listener| (listener, None));
        let tls = self.tls.into_iter().map(|listener| (listener, running.tls.clone()));
        for (listener, tls) in plain.chain(tls) {
            let (running, view, stop) = (Arc::clone(&running), Rc::clone(&view), stop.clone());
            let forwarder = forwarder.clone();
            open.spawn_local(async move {
                let clients = running.connections.clone();
                let service = |caller: Caller, _: &Interim| {
                    let (running, view, forwarder) = (Arc::clone(&running), Rc::clone(&view), forwarder.clone());
                    service_fn(move |request: Request<Incoming>| {
                        let (running, method) = (Arc::clone(&running), metrics::place_of(request.method()));
                        let handler = Arc::clone(view.borrow_mut().now());
                        let reply = Handler::answer(handler, caller, forwarder.clone(), request);
                        async move {
                            let reply = reply.await;
                            running.replies.count(method, reply.status());
                            Ok::<_, Infallible>(reply)
                        }
                    })
                };
                clients.accept(listener, tls, stop, service).await;
            });
        }
        let numbers = Arc::clone(&running);
        if let Some((listener, allow)) = self.metrics {
            open.spawn_local(prometheus::serve(listener, allow, move || numbers.numbers(), stop));
        }
        while open.join_next().await.is_some() {}
    }
}

fn address_of(listener: &TcpListener) -> Result<SocketAddr, ServeError> {
    listener.local_addr().map_err(ServeError::system("the listener has no address"))
}
