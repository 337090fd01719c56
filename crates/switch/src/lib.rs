//! A packet switch: a front node whose every choice of a server is made by the same object that the simulator runs.
//!
//! Clients reach one address. The first packet of a connection waits for the [`Dispatcher`](sojourn_dispatch::Dispatcher)'s
//! choice; all further ones take the kernel's path to that server, by rules that remember the connection
//! ([`kernel::rules`]). With [`Mode::Mac`] they arrive there unchanged, since each server has the address too
//! and keeps silent about it; it answers the client directly, and no byte of a reply passes here. The switch hears only what
//! clients send: a connection counts as load until the client's first FIN or RST.
//!
//! The rules outlive the process. One that was killed, or stopped with [`SwitchSettings::keep`], is followed by one that finds
//! the connections in the kernel and goes on: those that are open lose nothing, and new ones wait for a SYN to be
//! repeated. So a new list of servers takes effect by a restart, and a server that is not on it any more ends what it has.
//! What one that was killed has changed is put back by the next one that is stopped, or by [`clean`].
//!
//! A client that finds all servers full (`limit` of its decider) is passed on by tunnel to the front node of another site
//! ([`SwitchSettings::overflow`]), once: that one serves or refuses it.
//!
//! The price: Linux with nftables and iptables, the rights of root in the network (a bed gives them), IPv4, no fragments of
//! TCP, and one switch per host. See Agarwal (2001), sections 2.2.2 and 3.3, and the Linux Virtual Server for the modes.

pub mod child;
mod clean;
mod counts;
mod decider;
mod health;
mod kernel;
mod overflow;
mod packet;
mod server;
mod splicing;
mod tunnel;
mod upstream;
mod work;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::json;
use sojourn_bed::Events;
use sojourn_dispatch::Catalogue;
use sojourn_part::control::Door;
pub use sojourn_part::settings::switch::{Accepted, Mode, SwitchServer};
use sojourn_part::settings::switch::{SwitchServerSettings, SwitchSettings};
use sojourn_part::settings::{Settings, Wrong};
use sojourn_part::threads::Threads;
use sojourn_part::{ServeError, clock};
use sojourn_report::upstream::{Upstream, UpstreamConfig};
use sojourn_report::{Ears, Inbox, Key, ReportsConfig};

pub use clean::clean;
pub use counts::{ServerCounts, ServerLoad, SiteCounts, SwitchCounts};
use decider::{Decider, lock};
use kernel::ends::Ends;
use kernel::rules::{self, Left};
use kernel::{before, only, routes};
pub use server::ServerHalf;
pub use sojourn_splice::{Lifetimes, SpliceCounts};
pub use splicing::half::HalfCounts;
use tunnel::{Entrances, Exit};
use work::{Rest, Working};

/// A running switch; dropping it stops it.
pub struct Switch {
    decider: Arc<Mutex<Decider>>,
    inherited: usize,
    reports: Option<(SocketAddr, Ears)>,
    /// Dropped before what they rely on.
    threads: Working,
    _tunnels: [Option<Threads>; 2],
    _in_force: InForce,
    _only_one: only::Held,
}

/// The rules and routes; put back when this is dropped, unless they are to stay.
struct InForce {
    is_complete: bool,
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
    pub fn start(settings: SwitchSettings, events: Events) -> Result<Switch, ServeError> {
        Switch::start_with(settings, &Catalogue::default(), events)
    }

    /// The same with the policies of `catalogue`, where those of your own have names too.
    ///
    /// # Errors
    /// As [`Switch::start`].
    pub fn start_with(settings: SwitchSettings, catalogue: &Catalogue, events: Events) -> Result<Switch, ServeError> {
        settings.check()?;
        let config = settings.whole();
        let key = key_of(config.key_file.as_deref())?;
        let only_one = be_the_only_one()?;
        let door = config.control.as_deref().map(|path| Door::open(path, "switch")).transpose()?;
        let servers = config.backends.len();
        let told = key.clone().and_then(|key| UpstreamConfig::from_settings(&config.upstream, key));
        let upstream = told.map(|upstream| Upstream::new(upstream, servers)).transpose()?;
        // From before the list of open connections is read: what ends meanwhile is not missed.
        let is_spliced = config.mode.is_spliced();
        let ends = (!is_spliced).then(|| Ends::open(config.service.port())).transpose();
        let ends = ends.map_err(ServeError::system("cannot listen to the ends of connections"))?;
        let mut decider = Decider::new(&config, catalogue, ends, upstream.clone(), events.clone())?;
        let names: Vec<String> = config.backends.iter().map(|backend| backend.name.clone()).collect();
        let heard = key.clone().map(|key| ReportsConfig::from_settings(&config.reports, key)).transpose()?.flatten();
        let inbox = heard.map(|reports| Inbox::open(&reports, Some(&names))).transpose()?;
        let reports = inbox.as_ref().map(|inbox| Ok::<_, ServeError>((inbox.address()?, inbox.ears()))).transpose()?;
        routes::check(&config)?;
        let left = Left::find(&config)?;
        let servers = left.marks(config.addresses());
        let is_far =
            |place: &Ipv4Addr| config.mode == Mode::Tunnel || config.is_site(*place) || left.far.contains(place);
        let far: BTreeSet<Ipv4Addr> = servers.keys().copied().filter(is_far).collect();
        let inherited = left.open.len();
        decider.begin(&servers, left.open, clock::now());
        let SwitchSettings { service, keep, .. } = config;
        let mut in_force = InForce { is_complete: false, service, keep, events: events.clone() };
        let tunnels = Entrances::open(far.iter().map(|place| (servers[place].number(), *place)))?;
        routes::install(&config, &servers, &far)?;
        in_force.is_complete = true;
        let accepts = config.accept.iter().map(|accepted| (accepted.front, accepted.service)).unzip();
        let exit = (!config.accept.is_empty()).then(|| Exit::open(accepts.0, accepts.1)).transpose()?;
        let processors = work::processors();
        if is_spliced {
            splicing::rules::install(&config)?;
        } else {
            rules::install(&config, &servers, &far, processors.len() as u16)?;
        }
        // Whatever is decided from here on finds its way.
        let (decider, config) = (Arc::new(Mutex::new(decider)), Arc::new(config));
        let upstream = upstream.map(|upstream| (upstream, events));
        let door = door.map(|door| (door, reports.clone()));
        let threads = Working::start(&decider, &config, processors, Rest { inbox, upstream, door, key })?;
        let tunnels = [tunnels.carry()?, exit.map(Exit::carry).transpose()?];
        routes::take_address(&config)?;
        Ok(Switch { decider, inherited, reports, threads, _tunnels: tunnels, _in_force: in_force, _only_one: only_one })
    }

    /// Takes away the rules of one that was killed on this host, and with them its connections, as a new start of the machine
    /// would: what comes for the service is refused until another one starts.
    ///
    /// # Errors
    /// When there are none, or the system refuses.
    pub fn clear() -> Result<(), ServeError> {
        rules::remove()
    }

    /// The connections that it went on with.
    pub fn inherited(&self) -> usize {
        self.inherited
    }

    /// Where load daemons send their reports, if anywhere.
    pub fn reports_address(&self) -> Option<SocketAddr> {
        self.reports.as_ref().map(|(address, _)| *address)
    }

    /// What it has done so far.
    pub fn counts(&self) -> SwitchCounts {
        counts(&self.decider, self.reports.as_ref())
    }

    /// The same, for those who ask for it from elsewhere while it runs.
    pub(crate) fn counter(&self) -> impl Fn() -> SwitchCounts + Send + 'static {
        let (decider, reports) = (Arc::clone(&self.decider), self.reports.clone());
        move || counts(&decider, reports.as_ref())
    }

    /// Lets it end the connections that it has and refuse new ones, or take them again.
    pub(crate) fn drain(&self) -> impl Fn(bool) + Send + 'static {
        let decider = Arc::clone(&self.decider);
        move |is_drained| lock(&decider).drain_all(is_drained, clock::now())
    }

    /// Stops it and says what it has done.
    pub fn stop(mut self) -> SwitchCounts {
        self.threads.stop();
        lock(&self.decider).finish();
        self.counts()
    }
}

/// What only a switch can say of settings that are right as such: its key is read, and its policy made.
///
/// # Errors
/// The first setting that cannot be followed.
pub fn check(settings: &SwitchSettings) -> Result<(), Wrong> {
    key_of(settings.key_file.as_deref())?;
    let front = decider::front(&settings.clone().whole(), &Catalogue::default());
    front.map(drop).map_err(|error| Wrong::new("decider.policy", error))
}

/// What only a server's half can say of settings that are right as such: its key is read.
///
/// # Errors
/// When it cannot be.
pub fn check_server(settings: &SwitchServerSettings) -> Result<(), Wrong> {
    key_of(settings.key_file.as_deref()).map(drop)
}

fn key_of(file: Option<&Path>) -> Result<Option<Key>, Wrong> {
    file.map(Key::read).transpose().map_err(|error| Wrong::new("key_file", error))
}

/// How long connections are remembered.
fn lifetimes(settings: &SwitchSettings) -> Lifetimes {
    Lifetimes { opening: settings.opening, open: settings.idle, closing: settings.closing }
}

fn counts(decider: &Mutex<Decider>, reports: Option<&(SocketAddr, Ears)>) -> SwitchCounts {
    let mut counts = {
        let mut decider = lock(decider);
        let now = clock::now();
        decider.hear_ends(now);
        decider.counts(now)
    };
    counts.exchanged = reports.map(|(_, ears)| ears.exchanged());
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
        if !self.is_complete || self.keep {
            return;
        }
        // The rules go last: until then they drop what the host would refuse for itself.
        let put_back = routes::remove(Some(*self.service.ip())).and_then(|_| before::put_back(before::FRONT));
        if let Err(error) = put_back.and_then(|_| rules::remove()) {
            self.events.emit(&json!({"event": "not_put_back", "why": error.to_string()}));
        }
    }
}

/// Holds the name that one switch per host can have; it is gone with the process.
fn be_the_only_one() -> Result<only::Held, ServeError> {
    only::hold("sojourn-switch")?.ok_or_else(|| {
        ServeError::Config("a switch runs on this host already: stop it first; each host has room for one".into())
    })
}
