//! What a switch is told.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;

use sojourn_dispatch::{BackendId, Catalogue, Limit};
use sojourn_part::{Backend, Health, Probe};
use sojourn_report::upstream::UpstreamConfig;
use sojourn_report::{Key, ReportsConfig};
use sojourn_splice::Lifetimes;
use sojourn_stats::Span;

use super::mode::Mode;

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
    /// Socket at which it is asked and told what to do while it runs; none: nowhere.
    pub control: Option<PathBuf>,
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
    /// Servers here that redirect (`sojourn redirect`), which are given the connections that no other one can take,
    /// in the place of other sites' front nodes: their clients are told where to go. They are not probed.
    pub redirectors: Vec<Backend>,
    /// Most such connections to each other site or redirector, and with how many it is chosen again.
    pub overflow_limit: Option<Limit>,
    /// Services of other sites, whose front nodes pass on to this one what they cannot take.
    pub accepts: Vec<Accepted>,
    /// Where load daemons send the load of the servers; none: nowhere.
    pub reports: Option<ReportsConfig>,
    /// Where it tells of its servers as of one; none: nowhere.
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

/// A service of another site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The address that clients connected to; the port is this switch's own service's.
    pub service: Ipv4Addr,
    /// The front node there, from which its packets come.
    pub front: Ipv4Addr,
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
            control: None,
            policy: policy.into(),
            catalogue: Catalogue::default(),
            seed: 1,
            health: Health { probe: Probe::Connect, every: second, timeout: second, fall: 3, rise: 1 },
            lifetimes: Lifetimes { opening: second * 10, open: second * 900, closing: second * 20 },
            connections: 1 << 18,
            limit: None,
            overflow: Vec::new(),
            redirectors: Vec::new(),
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
    /// Numbers of the servers.
    pub(super) fn ids(&self) -> impl Iterator<Item = BackendId> + use<> {
        (0..self.backends.len() as u32).map(BackendId)
    }

    /// Those who get the connections that no server here can take: other sites' front nodes, or redirectors.
    pub(super) fn others(&self) -> impl Iterator<Item = &Backend> {
        self.overflow.iter().chain(&self.redirectors)
    }

    /// The servers and those others, whose addresses [`super::check`] has seen to be IPv4.
    pub(super) fn places(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.backends.iter().chain(self.others()).map(address)
    }

    /// Whether this is the front node of another site.
    pub(super) fn is_site(&self, place: Ipv4Addr) -> bool {
        self.overflow.iter().any(|site| address(site) == place)
    }
}

/// The address of a server, which [`super::check`] has seen to be IPv4.
pub(super) fn address(backend: &Backend) -> Ipv4Addr {
    match backend.address {
        SocketAddr::V4(address) => *address.ip(),
        SocketAddr::V6(_) => unreachable!("a switch's servers have IPv4 addresses"),
    }
}
