//! A packet switch: a front node whose every choice of a server is made by the same object that the simulator runs.
//!
//! Clients reach one address. The first packet of a connection waits for the [`Dispatcher`](sojourn_dispatch::Dispatcher)'s
//! choice; all further ones take the kernel's path to that server, by rules that remember the connection
//! ([`rules`]). With [`Mode::Mac`] they arrive there unchanged, since each server has the address too
//! and keeps silent about it; it answers the client directly, and no byte of a reply passes here. The switch hears only what
//! clients send: a connection counts as load until the client's first FIN or RST.
//!
//! The rules outlive the process. One that was killed, or stopped with [`SwitchConfig::keep`], is followed by one that finds
//! the connections in the kernel and goes on: those that are open lose nothing, and new ones wait for a SYN to be
//! repeated. So a new list of servers takes effect by a restart, and a server that is not on it any more ends what it has.
//!
//! A client that finds all servers full ([`SwitchConfig::limit`]) is passed on by tunnel to the front node of another site
//! ([`SwitchConfig::overflow`]), once: that one serves or refuses it.
//!
//! The price: Linux with nftables and iptables, the rights of root in the network (a bed gives them), IPv4, no fragments of
//! TCP, and one switch per host. See Agarwal (2001), sections 2.2.2 and 3.3, and the Linux Virtual Server for the modes.

mod check;
mod counts;
mod decider;
mod health;
mod overflow;
mod packet;
mod queue;
mod record;
mod routes;
mod rules;
mod server;
mod splice;
mod system;
mod tunnel;
mod upstream;

use std::collections::BTreeSet;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as Name, UnixListener};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use sojourn_bed::Events;
use sojourn_dispatch::{Catalogue, Limit};
use sojourn_stats::Span;

use crate::gateway::{Backend, Health, Probe};
use crate::report::{Inbox, Key, ReportsConfig};
use crate::threads::{Threads, Work};
use crate::upstream::{Upstream, UpstreamConfig};
use crate::{ServeError, clock};
pub use counts::{ServerCounts, ServerLoad, SiteCounts, SpliceCounts, SwitchCounts};
use decider::{Decider, lock};
use queue::{Depth, Queue, Verdict};
use routes::Routes;
use rules::Left;
pub use server::{ServerHalf, ServerHalfConfig};
use splice::Splicing;
pub use splice::half::HalfCounts;
use tunnel::{Entrances, Exit};

/// What a switch is.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// The address and port that clients connect to.
    pub service: SocketAddrV4,
    /// How packets reach a server.
    pub mode: Mode,
    /// The servers; their ports are the service's.
    pub backends: Vec<Backend>,
    /// Names of those that end what they have and take nothing new.
    pub drained: Vec<String>,
    /// How it chooses, as text: `least-connections`, `address-hash`.
    pub policy: String,
    /// Where the policy's name is looked up; policies of your own are added there.
    pub catalogue: Catalogue,
    /// The run's seed.
    pub seed: u64,
    /// How the state of the servers is watched: a connection to the service's port is accepted, or nothing is tried.
    pub health: Health,
    /// How long a connection is remembered without a packet of its client.
    pub lifetimes: Lifetimes,
    /// Most connections that are remembered; what would open a further one is dropped.
    pub connections: u32,
    /// Most connections to each server, and with how many it is chosen again; a client that finds all full is refused.
    pub limit: Option<Limit>,
    /// Front nodes of other sites, which are given the connections that no server here can take: the one with the fewest of
    /// them. Their address is the nodes' own. They are not probed.
    pub overflow: Vec<Backend>,
    /// Most such connections to each of them, and with how many it is chosen again.
    pub overflow_limit: Option<Limit>,
    /// Services of other sites, whose front nodes pass on to this one what they cannot take.
    pub accepts: Vec<Accepted>,
    /// Where load daemons send the load of the servers; none: nowhere.
    pub reports: Option<ReportsConfig>,
    /// To whom it tells of its servers as of one; none: to none.
    pub upstream: Option<UpstreamConfig>,
    /// Where decisions are recorded.
    pub record: Option<PathBuf>,
    /// Whether the record says what each candidate had to offer.
    pub explain: bool,
    /// The key that it shares with the servers' halves; only asymmetric splicing needs one.
    pub key: Option<Key>,
    /// The names of the classes of requests, by class number; a request's own is in the header `x-sojourn-class`. Read where
    /// it splices.
    pub classes: Vec<String>,
    /// Whether the rules stay when it is stopped, for the next switch to go on with.
    pub keep: bool,
}

/// How packets reach a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Unchanged, in a frame for the server's MAC address. The server has the service's address, silently, and replies to
    /// the client directly. Switch and servers are on one Ethernet.
    #[default]
    Mac,
    /// With the server's address as the destination. The server sets it back to the service's, and replies to the client
    /// directly (single rewriting). Servers may be anywhere.
    Rewrite,
    /// With the server's address in the place of the service's; replies come back through the switch, which puts the
    /// service's address in again (double rewriting).
    Nat,
    /// As with NAT, by a server that the path of the connection's first request chooses: the switch opens the connection,
    /// reads that request, and translates the numbers of all further packets (TCP splicing).
    Splice,
    /// The same, and the server's half translates the replies, which go straight to the client.
    SpliceAsymmetric,
    /// Unchanged, inside datagrams of UDP that this process sends and the server's half takes out (see the module `tunnel`).
    /// The server has the service's address, silently, and replies to the client directly. Servers may be anywhere.
    Tunnel,
}

/// A service of another site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The address that clients connected to; the port is this switch's own service's.
    pub service: Ipv4Addr,
    /// The front node there, from which its packets come.
    pub front: Ipv4Addr,
}

/// How long a connection is remembered without a packet of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// After its first packet, before the second.
    pub opening: Span,
    /// While it is open.
    pub open: Span,
    /// After the client's FIN or RST.
    pub closing: Span,
}

impl SwitchConfig {
    /// A switch for `service` that follows `policy`, forwards by MAC address and probes each server every second.
    pub fn new(service: SocketAddrV4, policy: impl Into<String>, backends: Vec<Backend>) -> SwitchConfig {
        let second = Span(1_000_000_000);
        SwitchConfig {
            service,
            mode: Mode::Mac,
            backends,
            drained: Vec::new(),
            policy: policy.into(),
            catalogue: Catalogue::default(),
            seed: 1,
            health: Health { probe: Probe::Connect, every: second, timeout: second, fall: 3 },
            lifetimes: Lifetimes { opening: second * 10, open: second * 900, closing: second * 20 },
            connections: 1 << 18,
            limit: None,
            overflow: Vec::new(),
            overflow_limit: None,
            accepts: Vec::new(),
            reports: None,
            upstream: None,
            record: None,
            explain: false,
            key: None,
            classes: ["static", "dynamic", "secure"].map(Into::into).into(),
            keep: false,
        }
    }
}

impl SwitchConfig {
    /// The servers and the other sites' front nodes, whose addresses [`check::check`] has seen to be IPv4.
    fn places(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.backends.iter().chain(&self.overflow).map(address)
    }

    /// Whether this is the front node of another site.
    fn is_site(&self, place: Ipv4Addr) -> bool {
        self.overflow.iter().any(|site| address(site) == place)
    }
}

impl Mode {
    /// The modes, by name.
    pub const ALL: [(&str, Mode); 6] = [
        ("mac", Mode::Mac),
        ("rewrite", Mode::Rewrite),
        ("nat", Mode::Nat),
        ("tunnel", Mode::Tunnel),
        ("splice", Mode::Splice),
        ("splice-asymmetric", Mode::SpliceAsymmetric),
    ];

    /// Whether each packet passes the process, which reads the first request of a connection.
    pub fn is_spliced(self) -> bool {
        matches!(self, Mode::Splice | Mode::SpliceAsymmetric)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Mode::ALL.iter().find(|(_, mode)| mode == self).map(|(name, _)| *name);
        f.write_str(name.expect("every mode has a name"))
    }
}

impl FromStr for Mode {
    type Err = ServeError;

    fn from_str(text: &str) -> Result<Mode, ServeError> {
        let known = || Mode::ALL.map(|(name, _)| name).join(", ");
        let mode = Mode::ALL.iter().find(|(name, _)| *name == text).map(|(_, mode)| *mode);
        mode.ok_or_else(|| ServeError::Config(format!("mode {text}: the modes are {}", known())))
    }
}

/// A running switch; dropping it stops it.
pub struct Switch {
    decider: Arc<Mutex<Decider>>,
    inherited: usize,
    reports: Option<SocketAddr>,
    /// Dropped before what they rely on.
    threads: Threads,
    _tunnels: [Option<Threads>; 2],
    _in_force: InForce,
    _only_one: UnixListener,
}

/// The rules and routes; put back when this is dropped, unless they are to stay.
struct InForce {
    routes: Option<Routes>,
    service: SocketAddrV4,
    keep: bool,
    events: Events,
}

impl Switch {
    /// Starts a switch, which goes on with the connections of an earlier one for the same service; `events` hears of servers
    /// that go down and come back.
    ///
    /// # Errors
    /// When the host has a switch, or another host the address; when the policy is unknown or asks for what a switch cannot
    /// see; when a setting is impossible, a server is out of reach, or the system refuses something.
    pub fn start(config: SwitchConfig, events: Events) -> Result<Switch, ServeError> {
        check::check(&config)?;
        let only_one = be_the_only_one()?;
        let servers = config.backends.len();
        let upstream = config.upstream.clone().map(|upstream| Upstream::new(upstream, servers)).transpose()?;
        let mut decider = Decider::new(&config, upstream.clone(), events.clone())?;
        let names: Vec<String> = config.backends.iter().map(|backend| backend.name.clone()).collect();
        let inbox = config.reports.as_ref().map(|reports| Inbox::open(reports, Some(&names))).transpose()?;
        let reports = inbox.as_ref().map(Inbox::address).transpose()?;
        routes::check(&config)?;
        let left = Left::find(&config)?;
        let servers = left.marks(config.places());
        let is_far =
            |place: &Ipv4Addr| config.mode == Mode::Tunnel || config.is_site(*place) || left.far.contains(place);
        let far: BTreeSet<Ipv4Addr> = servers.keys().copied().filter(is_far).collect();
        let inherited = left.open.len();
        decider.begin(&servers, left.open, clock::now());
        let SwitchConfig { service, keep, .. } = config;
        let mut in_force = InForce { routes: None, service, keep, events: events.clone() };
        let tunnels = Entrances::open(far.iter().map(|place| (servers[place].number(), *place)))?;
        in_force.routes = Some(routes::install(&config, &servers, &far)?);
        let accepts = config.accepts.iter().map(|accepted| (accepted.front, accepted.service)).unzip();
        let exit = (!config.accepts.is_empty()).then(|| Exit::open(accepts.0, accepts.1)).transpose()?;
        if config.mode.is_spliced() {
            splice::rules::install(&config)?;
        } else {
            rules::install(&config, &servers, &far)?;
        }
        // Whatever is decided from here on finds its way.
        let (decider, config) = (Arc::new(Mutex::new(decider)), Arc::new(config));
        let threads = threads(&decider, &config, inbox, upstream.map(|upstream| (upstream, events)))?;
        let tunnels = [tunnels.carry()?, exit.map(Exit::carry).transpose()?];
        routes::take_address(&config)?;
        Ok(Switch { decider, inherited, reports, threads, _tunnels: tunnels, _in_force: in_force, _only_one: only_one })
    }

    /// The connections that it went on with.
    pub fn inherited(&self) -> usize {
        self.inherited
    }

    /// Where load daemons send their reports, if anywhere.
    pub fn reports_address(&self) -> Option<SocketAddr> {
        self.reports
    }

    /// What it has done so far.
    pub fn counts(&self) -> SwitchCounts {
        counts(&self.decider)
    }

    /// The same, for those who ask for it from elsewhere while it runs.
    pub(crate) fn counter(&self) -> impl Fn() -> SwitchCounts + Send + 'static {
        let decider = Arc::clone(&self.decider);
        move || counts(&decider)
    }

    /// Stops it and says what it has done.
    pub fn stop(mut self) -> SwitchCounts {
        self.threads.stop();
        lock(&self.decider).finish();
        self.counts()
    }
}

fn counts(decider: &Mutex<Decider>) -> SwitchCounts {
    let mut counts = lock(decider).counts(clock::now());
    if let Ok([fragments, strays, undecided, full]) = rules::dropped() {
        (counts.fragments, counts.strays, counts.undecided) = (fragments, strays, undecided);
        counts.full += full;
        if let Some(spliced) = &counts.spliced {
            (counts.strays, counts.full) = (spliced.strays, spliced.full);
        }
    }
    counts
}

impl Drop for InForce {
    fn drop(&mut self) {
        let Some(routes) = self.routes.take().filter(|_| !self.keep) else { return };
        // The rules go last: until then they drop what the host would refuse for itself.
        if let Err(error) = routes.remove(*self.service.ip()).and_then(|()| rules::remove()) {
            self.events.emit(&json!({"event": "not_put_back", "why": error.to_string()}));
        }
    }
}

/// The thread that decides, keeps the books, hears reports, tells of the servers and probes them.
fn threads(
    decider: &Arc<Mutex<Decider>>,
    config: &Arc<SwitchConfig>,
    inbox: Option<Inbox>,
    upstream: Option<(Arc<Upstream>, Events)>,
) -> Result<Threads, ServeError> {
    let (decider, config) = (Arc::clone(decider), Arc::clone(config));
    let inbox = Mutex::new(inbox);
    Threads::start("switch", vec![()], 2, Span::ZERO, move |_, (), mut stop| {
        let is_spliced = config.mode.is_spliced();
        let depth = if is_spliced { Depth::Whole } else { Depth::Heads };
        let queue = Queue::open(rules::QUEUE, depth).map_err(ServeError::system("cannot take the netfilter queue"))?;
        let splicing = is_spliced.then(|| Splicing::new(&config, Arc::clone(&decider))).transpose()?;
        let (decider, config) = (Arc::clone(&decider), Arc::clone(&config));
        let inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ears = inbox.as_ref().map(Inbox::ears);
        let telling =
            upstream.as_ref().map(|(upstream, events)| upstream.tell(Arc::clone(&decider), ears, events.clone()));
        let telling = telling.transpose()?;
        Ok(Box::pin(async move {
            let mut chores = tokio::task::JoinSet::new();
            if let Some(splicing) = splicing {
                chores.spawn_local(splicing.serve(queue));
            } else {
                chores.spawn_local(serve(queue, Arc::clone(&decider)));
                chores.spawn_local(decider::keep_books(Arc::clone(&decider), config.lifetimes));
            }
            if let Some(inbox) = inbox {
                chores.spawn_local(hear(inbox, Arc::clone(&decider)));
            }
            if let Some(telling) = telling {
                chores.spawn_local(telling);
            }
            for backend in decider::ids(&config) {
                chores.spawn_local(health::watch(Arc::clone(&decider), Arc::clone(&config), backend));
            }
            // It is told once, or the side that tells is gone.
            let _ = stop.changed().await;
            chores.shutdown().await;
        }) as Work)
    })
}

/// Takes reports for as long as it is polled.
async fn hear(inbox: Inbox, decider: Arc<Mutex<Decider>>) {
    let Err(error) = inbox
        .hear(|told, dropped, now| {
            let mut decider = lock(&decider);
            decider.hear(told, now);
            decider.count_dropped(dropped);
        })
        .await;
    lock(&decider).say(&json!({"event": "reports_not_heard", "why": error.to_string()}));
}

/// Decides packets for as long as it is polled.
async fn serve(mut queue: Queue, decider: Arc<Mutex<Decider>>) {
    loop {
        let decide = |waiting: queue::Waiting<'_>| lock(&decider).decide(waiting.packet, waiting.mark, clock::now());
        let served = queue.serve(|waiting| Verdict::Pass(decide(waiting)));
        if let Err(error) = served.await {
            return lock(&decider).say(&json!({"event": "queue_failed", "why": error.to_string()}));
        }
    }
}

/// The address of a server, which [`check::check`] has seen to be IPv4.
fn address(backend: &Backend) -> Ipv4Addr {
    match backend.address {
        SocketAddr::V4(address) => *address.ip(),
        SocketAddr::V6(_) => unreachable!("a switch's servers have IPv4 addresses"),
    }
}

/// Holds the name that one switch per host can have; it is gone with the process.
fn be_the_only_one() -> Result<UnixListener, ServeError> {
    let name = Name::from_abstract_name("sojourn-switch").map_err(ServeError::system("cannot name the switch"))?;
    UnixListener::bind_addr(&name).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            ServeError::Config("a switch runs on this host already: stop it first; each host has room for one".into())
        }
        _ => ServeError::system("cannot name the switch")(error),
    })
}
