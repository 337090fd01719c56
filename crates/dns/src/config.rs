//! What a DNS is: zones, the services in them, and the sites that each service may name. [`file`] reads it.

mod file;
mod names;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use sojourn_dispatch::{Location, TtlRule};
use sojourn_report::ReportsConfig;
use sojourn_stats::Span;

use super::server::Limits;
use super::wire::tsig::TransferKey;

/// The most sites that an answer names.
pub(super) const ANSWERS_MAX: usize = 8;

/// What a DNS is.
#[derive(Clone, Debug)]
pub struct DnsConfig {
    /// Where it listens, by UDP and TCP; port 0 takes a free one.
    pub listen: Vec<SocketAddr>,
    /// Threads that answer.
    pub threads: usize,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The socket at which it is asked and told by hand.
    pub control: Option<PathBuf>,
    /// What the wire allows.
    pub limits: Limits,
    /// Where its numbers are told, for Prometheus.
    pub metrics: Option<SocketAddr>,
    /// Where sites report.
    pub reports: Option<ReportsConfig>,
    /// How many clients are remembered by each service.
    pub clients: NonZeroUsize,
    /// Where what is known of clients is kept over a restart.
    pub state: Option<PathBuf>,
    /// Where addresses are on Earth: a table in MaxMind's format.
    pub geo: Option<PathBuf>,
    /// The regions, by number.
    pub regions: Vec<Region>,
    /// The keys by which secondaries ask for zones.
    pub keys: Vec<TransferKey>,
    /// What it answers for.
    pub zones: Vec<ZoneConfig>,
}

/// A region: the addresses that are in it, and its countries and continents by the GeoIP table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// By which sites name it.
    pub name: String,
    /// Prefixes and their lengths.
    pub addresses: Vec<(IpAddr, u8)>,
    /// ISO 3166 codes of countries.
    pub countries: Vec<String>,
    /// Codes of continents, as `EU`.
    pub continents: Vec<String>,
}

/// A zone.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneConfig {
    /// Its name, in lower case, without a dot at its end.
    pub name: String,
    /// The file of its static records.
    pub file: Option<PathBuf>,
    /// The servers of the zone, where no file says them.
    pub ns: Vec<String>,
    /// The names of the keys by which secondaries may ask for it as a whole.
    pub transfer: Vec<String>,
    /// Secondaries that are told that it has changed.
    pub notify: Vec<SocketAddr>,
    /// The names whose addresses are chosen.
    pub services: Vec<ServiceConfig>,
}

/// A name whose addresses are chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceConfig {
    /// Its name under the zone; `@`: the zone itself.
    pub label: String,
    /// Its whole name, in lower case, without a dot at its end.
    pub name: String,
    /// How it chooses, as text: `nearest-with-room`.
    pub policy: String,
    /// How long answers may be kept, and what that depends on.
    pub ttl: Span,
    /// What the TTL depends on.
    pub ttl_rule: TtlRule,
    /// How many sites an answer names at most.
    pub answers: usize,
    /// What is answered where no site is up.
    pub none_up: NoneUp,
    /// What is answered where sites are up and none has room for the client.
    pub none_with_room: NoneWithRoom,
    /// To how many sites the round trip of a client is measured.
    pub sites_probed: u32,
    /// When round trips are measured anew.
    pub refresh: Span,
    /// The senders' period of the rates of clients, where they tell any; a rate expires after three of them.
    pub client_rates: Option<Span>,
    /// Where decisions are recorded.
    pub record: Option<PathBuf>,
    /// Whether the record says what each site had to offer.
    pub explain: bool,
    /// Those that may be named.
    pub sites: Vec<SiteConfig>,
}

/// What is answered where no site is up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoneUp {
    /// All of them: one may be up that is thought to be down.
    #[default]
    All,
    /// SERVFAIL: resolvers may serve what they had before.
    ServFail,
}

/// What is answered where sites are up and none of them has room for what the client asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoneWithRoom {
    /// What the policy chooses all the same.
    #[default]
    Policy,
    /// All that are up.
    All,
    /// SERVFAIL: resolvers may serve what they had before.
    ServFail,
}

/// A site, or a lone server: what an answer names.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteConfig {
    /// The name by which its front node or load daemon reports.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Its share, for policies that read weights.
    pub weight: f64,
    /// Number of its region.
    pub region: Option<u16>,
    /// Where on Earth it is.
    pub location: Option<Location>,
    /// The port of TCP at which it is tried whether it is up.
    pub check: Option<u16>,
    /// It reports; where it is silent for two heartbeats, it is down.
    pub reports: bool,
    /// It keeps the clients that it has and is named no more.
    pub is_drained: bool,
}
