//! The settings of a DNS: zones, the services in them, and the sites that each service may name.

mod service;
mod text;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use sojourn_dispatch::capacity;
use sojourn_stats::{Span, meant_aside};

use super::{CapacityShare, Settings, Wrong, seed};
use crate::network::Allow;
pub use crate::network::Range;
pub use service::{ANSWERS_MAX, NoneUp, NoneWithRoom, Probing, ServiceSettings, SiteSettings, TcpCheck, Ttl};
use text::under;

/// Where a DNS listens, what it answers, and what it goes by.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DnsSettings {
    /// Where to listen, by UDP and TCP, e.g. 192.0.2.1:53,[2001:db8::1]:53; port 0 takes a free one and says which
    #[arg(long, value_name = "IP:PORT", value_delimiter = ',')]
    pub listen: Vec<SocketAddr>,
    /// Threads that answer, on each address
    #[arg(long, value_name = "N")]
    pub threads: usize,
    /// Seed of all random numbers
    #[arg(long)]
    #[serde(with = "seed")]
    pub seed: u64,
    /// Socket at which `sojourn dns ctl` asks it and tells it what to do
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Numbers for Prometheus at http://ADDRESS/metrics
    #[arg(long, value_name = "IP:PORT")]
    pub metrics: Option<SocketAddr>,
    /// Which clients get those numbers: `all`, `none`, or ranges of addresses, as 127.0.0.0/8,10.0.0.1
    #[arg(long, value_name = "NETWORKS")]
    pub metrics_allow_from: Allow,
    /// Which clients are told at `_why.NAME` why they got the answer that they got: as `--metrics-allow-from`
    #[arg(long, value_name = "NETWORKS")]
    pub why_allow_from: Allow,
    /// How many clients each service remembers, the least recently used goes first
    #[arg(long, value_name = "N")]
    pub clients: usize,
    /// File that keeps what is known of clients over a restart
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Where sites report.
    #[arg(skip)]
    pub reports: Option<SiteReports>,
    /// What the wire allows.
    #[arg(skip)]
    pub limits: DnsLimits,
    /// Where addresses are on Earth.
    #[arg(skip)]
    pub geo: Option<Geo>,
    /// The regions, by number.
    #[arg(skip)]
    #[serde(rename = "region")]
    pub regions: Vec<Region>,
    /// The keys by which secondaries ask for zones.
    #[arg(skip)]
    #[serde(rename = "key")]
    pub keys: Vec<SecondaryKey>,
    /// What it answers for.
    #[arg(skip)]
    #[serde(rename = "zone")]
    pub zones: Vec<ZoneSettings>,
}

/// Where sites report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteReports {
    /// The address and port (UDP).
    pub listen: SocketAddr,
    /// The file with the key that sites have too.
    pub key_file: PathBuf,
    /// What learns the capacity of sites.
    #[serde(default = "usual_estimator")]
    pub estimator: String,
    /// What counts as their capacity, where they do not tell it themselves.
    #[serde(default)]
    pub capacity: CapacityShare,
}

fn usual_estimator() -> String {
    capacity::DEFAULT.into()
}

/// A table of places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geo {
    /// The table, in MaxMind's format.
    pub file: PathBuf,
}

/// A region: the addresses that are in it, and its countries and continents by the GeoIP table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// By which sites name it.
    pub name: String,
    /// Ranges of addresses.
    #[serde(default)]
    pub addresses: Vec<Range>,
    /// ISO 3166 codes of countries.
    #[serde(default)]
    pub countries: Vec<String>,
    /// Codes of continents, as `EU`.
    #[serde(default)]
    pub continents: Vec<String>,
}

/// A key by which secondaries sign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondaryKey {
    /// Its name.
    #[serde(deserialize_with = "text::name")]
    pub name: String,
    /// One of [`ALGORITHMS`].
    #[serde(default = "usual_algorithm")]
    pub algorithm: String,
    /// The file of the secret, in base64.
    pub secret_file: PathBuf,
}

/// The names of the algorithms by which secondaries sign, the usual one first.
pub const ALGORITHMS: [&str; 3] = ["hmac-sha256", "hmac-sha384", "hmac-sha512"];

fn usual_algorithm() -> String {
    ALGORITHMS[0].into()
}

/// A zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneSettings {
    /// Its name, in lower case, without a dot at its end.
    #[serde(deserialize_with = "text::name")]
    pub name: String,
    /// The file of its static records.
    pub file: Option<PathBuf>,
    /// The servers of the zone, where no file says them.
    #[serde(default, deserialize_with = "text::names")]
    pub ns: Vec<String>,
    /// The names of the keys by which secondaries may ask for it as a whole.
    #[serde(default, deserialize_with = "text::names")]
    pub transfer: Vec<String>,
    /// Secondaries that are told that it has changed.
    #[serde(default)]
    pub notify: Vec<SocketAddr>,
    /// The names whose addresses are chosen.
    #[serde(default, rename = "service")]
    pub services: Vec<ServiceSettings>,
}

/// Limits against floods and slow clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DnsLimits {
    /// Bytes of the largest message over UDP, 512 to 4096; above 1232 it may be cut into fragments on the way.
    pub udp_payload: u16,
    /// Replies per second over UDP to each network of senders without a cookie of ours, and as many at once; 0: no limit.
    pub replies_per_second: u32,
    /// Of so many queries over the limit, one is told to ask over TCP; 0: none.
    pub slip: u32,
    /// How many times longer than its query a reply over UDP may be where the sender has no cookie of ours; what is longer
    /// is to be asked for over TCP. 0: no limit.
    pub amplification: u32,
    /// Bits of a network of IPv4.
    pub prefix_v4: u8,
    /// Bits of a network of IPv6.
    pub prefix_v6: u8,
    /// Connections that may be open.
    pub tcp_connections: usize,
    /// Connections of one network that may be open.
    pub tcp_per_prefix: usize,
    /// How long a connection may take for its next query, and for taking its replies.
    pub tcp_idle: Span,
}

impl Default for DnsSettings {
    fn default() -> DnsSettings {
        DnsSettings {
            listen: Vec::new(),
            threads: 1,
            seed: 1,
            control: None,
            metrics: None,
            metrics_allow_from: Allow::All,
            why_allow_from: Allow::loopback(),
            clients: 100_000,
            state: None,
            reports: None,
            limits: DnsLimits::default(),
            geo: None,
            regions: Vec::new(),
            keys: Vec::new(),
            zones: Vec::new(),
        }
    }
}

impl Default for DnsLimits {
    fn default() -> DnsLimits {
        DnsLimits {
            udp_payload: 1232,
            replies_per_second: 200,
            slip: 2,
            amplification: 0,
            prefix_v4: 24,
            prefix_v6: 56,
            tcp_connections: 1000,
            tcp_per_prefix: 100,
            tcp_idle: Span(10_000_000_000),
        }
    }
}

impl Settings for DnsSettings {
    fn below(&mut self, folder: &Path) {
        let paths = [self.control.as_mut(), self.state.as_mut()].into_iter().flatten();
        let paths = paths.chain(self.reports.iter_mut().map(|reports| &mut reports.key_file));
        let paths = paths.chain(self.geo.iter_mut().map(|geo| &mut geo.file));
        let paths = paths.chain(self.keys.iter_mut().map(|key| &mut key.secret_file));
        let in_zone = |zone: &'_ mut ZoneSettings| {
            let records = zone.services.iter_mut().filter_map(|service| service.record.as_mut());
            zone.file.iter_mut().chain(records).for_each(|path| *path = folder.join(&*path));
        };
        paths.for_each(|path| *path = folder.join(&*path));
        self.zones.iter_mut().for_each(in_zone);
    }

    fn check(&self) -> Result<(), Wrong> {
        if self.listen.is_empty() {
            return Err(Wrong::new("listen", "no address; write e.g. `listen = [\"127.0.0.1:53\"]`"));
        }
        if !(1..=1024).contains(&self.threads) {
            return Err(Wrong::new("threads", "it is a whole number from 1 to 1024"));
        }
        if self.clients == 0 {
            return Err(Wrong::new("clients", "at least 1 is remembered, e.g. 100000"));
        }
        self.limits.check().map_err(|wrong| wrong.inside("limits"))?;
        if let Some(reports) = &self.reports {
            let known = capacity::known(&reports.estimator);
            known.map_err(|error| Wrong::new("reports.estimator", error))?;
            let share = capacity::share(reports.capacity.at);
            share.map_err(|error| Wrong::new("reports.capacity.at", error))?;
        }
        if self.regions.len() > usize::from(u16::MAX) {
            return Err(Wrong::new("region", format!("{}; at most {} are possible", self.regions.len(), u16::MAX)));
        }
        each(&self.regions, "region", |region| &region.name, Region::check)?;
        each(&self.keys, "key", |key| &key.name, SecondaryKey::check)?;
        if self.zones.is_empty() {
            return Err(Wrong::new("zone", "no zone; add `[[zone]]` with its `name`"));
        }
        each(&self.zones, "zone", |zone| &zone.name, |zone| zone.check(self))
    }

    fn summary(&self) -> String {
        let services = self.zones.iter().map(|zone| zone.services.len()).sum();
        let number = |number: usize, noun| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
        format!("{}, {}", number(self.zones.len(), "zone"), number(services, "service"))
    }
}

/// Checks each of a list, whose names differ.
fn each<T>(
    list: &[T],
    key: &str,
    name: impl Fn(&T) -> &String,
    check: impl Fn(&T) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    let mut names = std::collections::HashSet::new();
    for (index, one) in list.iter().enumerate() {
        check(one).map_err(|wrong| wrong.inside(format!("{key}[{index}]")))?;
        if !names.insert(name(one)) {
            return Err(Wrong::new(format!("{key}[{index}].name"), format!("`{}` is there twice", name(one))));
        }
    }
    Ok(())
}

impl Region {
    fn check(&self) -> Result<(), Wrong> {
        for (key, codes) in [("countries", &self.countries), ("continents", &self.continents)] {
            let is_code = |code: &String| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase());
            if let Some(index) = codes.iter().position(|code| !is_code(code)) {
                let what = format!("`{}` is no code of two capitals, as DE or EU", codes[index]);
                return Err(Wrong::new(format!("{key}[{index}]"), what));
            }
        }
        Ok(())
    }
}

impl SecondaryKey {
    fn check(&self) -> Result<(), Wrong> {
        match ALGORITHMS.contains(&self.algorithm.as_str()) {
            true => Ok(()),
            false => {
                let (given, meant) = (&self.algorithm, meant_aside(&self.algorithm, ALGORITHMS));
                let what = format!("`{given}` is not known{meant}; known are {}", ALGORITHMS.join(", "));
                Err(Wrong::new("algorithm", what))
            }
        }
    }
}

impl ZoneSettings {
    /// A zone with these servers, without a file.
    pub fn new(name: &str, ns: Vec<String>, services: Vec<ServiceSettings>) -> ZoneSettings {
        ZoneSettings { name: name.into(), file: None, ns, transfer: Vec::new(), notify: Vec::new(), services }
    }

    /// The whole name of a service of the zone, in lower case, without a dot at its end.
    ///
    /// # Errors
    /// In words, where it is no name, or not in the zone.
    pub fn whole(&self, service: &ServiceSettings) -> Result<String, String> {
        under(&service.name, &self.name)
    }

    /// The name of a service as it is written under the zone; `@` is the zone itself.
    ///
    /// # Panics
    /// Where the settings were not checked, and it has none.
    pub fn label(&self, service: &ServiceSettings) -> String {
        let whole = self.whole(service).expect("settings are checked");
        match whole.strip_suffix(&self.name).unwrap_or(&whole).trim_end_matches('.') {
            "" => "@".into(),
            label => label.into(),
        }
    }

    fn check(&self, whole: &DnsSettings) -> Result<(), Wrong> {
        match &self.file {
            None if self.ns.is_empty() => {
                let right = "neither `file` (a zone file) nor `ns`; write e.g. `ns = [\"ns1.example.org\"]`";
                return Err(Wrong::new("name", right));
            }
            Some(_) if !self.ns.is_empty() => {
                return Err(Wrong::new("ns", "the zone file says the servers; leave `ns` out"));
            }
            _ => {}
        }
        self.check_secondaries(&whole.keys)?;
        let mut names = std::collections::HashSet::new();
        for (index, service) in self.services.iter().enumerate() {
            let inside = |wrong: Wrong| wrong.inside(format!("service[{index}]"));
            let name = self.whole(service).map_err(|why| inside(Wrong::new("name", why)))?;
            service.check(&name, whole).map_err(inside)?;
            if names.contains(&name) {
                return Err(inside(Wrong::new("name", format!("`{name}` is there twice"))));
            }
            names.insert(name);
        }
        Ok(())
    }

    /// Whether those who take the zone over as a whole can.
    fn check_secondaries(&self, keys: &[SecondaryKey]) -> Result<(), Wrong> {
        if self.file.is_none() && !(self.transfer.is_empty() && self.notify.is_empty()) {
            let key = if self.transfer.is_empty() { "notify" } else { "transfer" };
            let right = "a secondary goes by the serial number, which only a zone file has; give the zone a `file`";
            return Err(Wrong::new(key, right));
        }
        if self.transfer.is_empty() && !self.notify.is_empty() {
            let right = "who is told of changes has to ask for them: name its key in `transfer`";
            return Err(Wrong::new("notify", right));
        }
        let unknown = |name: &String| keys.iter().all(|key| key.name != *name);
        match self.transfer.iter().position(unknown) {
            None => Ok(()),
            Some(index) => {
                let what = format!("there is no key `{}`; add `[[key]]` with this name", self.transfer[index]);
                Err(Wrong::new(format!("transfer[{index}]"), what))
            }
        }
    }
}

impl DnsLimits {
    /// Whether they are possible.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), Wrong> {
        let DnsLimits { udp_payload, prefix_v4, prefix_v6, .. } = self;
        let wrong = |key: &str, what: String| Err(Wrong::new(key, what));
        match self {
            _ if !(512..=4096).contains(udp_payload) => {
                wrong("udp_payload", format!("{udp_payload}: messages over UDP have 512 to 4096 bytes; 1232 is usual"))
            }
            _ if *prefix_v4 > 32 => wrong("prefix_v4", format!("{prefix_v4}: an address has 32 bits; 24 is usual")),
            _ if *prefix_v6 > 128 => wrong("prefix_v6", format!("{prefix_v6}: an address has 128 bits; 56 is usual")),
            _ if self.tcp_connections == 0 || self.tcp_per_prefix == 0 => {
                let key = if self.tcp_connections == 0 { "tcp_connections" } else { "tcp_per_prefix" };
                wrong(key, "it is at least 1: what is truncated is asked for over TCP".into())
            }
            _ if self.tcp_idle == Span::ZERO => wrong("tcp_idle", "it is above 0, as in `10 s`".into()),
            _ => Ok(()),
        }
    }
}
