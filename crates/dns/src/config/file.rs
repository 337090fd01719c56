//! The configuration file of a DNS: TOML, read whole before anything is done. A mistake gets one line: file, line, key and
//! what would be right. Relative paths start where the file is.

mod limits;
mod secondaries;
mod service;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sojourn_dispatch::{Location, capacity};
use sojourn_part::place::Place;
use sojourn_report::{Key, ReportsConfig};
use toml::Spanned;

use super::names::{is_within, name};
use crate::config::{DnsConfig, Region, ZoneConfig};
use crate::server::Limits;
use crate::subnet::prefix;
use limits::RawLimits;
use secondaries::RawKey;
use service::{Known, RawService};

/// How many clients each service remembers where nothing is said.
const CLIENTS: NonZeroUsize = NonZeroUsize::new(100_000).expect("it is not zero");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDns {
    listen: Spanned<Vec<String>>,
    #[serde(default)]
    threads: Option<Spanned<usize>>,
    #[serde(default = "one")]
    seed: u64,
    control: Option<PathBuf>,
    metrics: Option<Spanned<String>>,
    clients: Option<Spanned<usize>>,
    state: Option<PathBuf>,
    reports: Option<RawReports>,
    limits: Option<Spanned<RawLimits>>,
    geo: Option<RawGeo>,
    #[serde(default)]
    region: Vec<RawRegion>,
    #[serde(default)]
    key: Vec<RawKey>,
    #[serde(default)]
    zone: Vec<RawZone>,
}

fn one() -> u64 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReports {
    listen: Spanned<String>,
    key_file: Spanned<PathBuf>,
    estimator: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGeo {
    file: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRegion {
    name: Spanned<String>,
    #[serde(default)]
    addresses: Vec<Spanned<String>>,
    #[serde(default)]
    countries: Vec<Spanned<String>>,
    #[serde(default)]
    continents: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawZone {
    name: Spanned<String>,
    file: Option<PathBuf>,
    #[serde(default)]
    ns: Vec<Spanned<String>>,
    #[serde(default)]
    transfer: Vec<Spanned<String>>,
    #[serde(default)]
    notify: Vec<Spanned<String>>,
    #[serde(default)]
    service: Vec<RawService>,
}

impl DnsConfig {
    /// Reads the file.
    ///
    /// # Errors
    /// One line: file, line, key, and what would be right.
    pub fn read(path: &Path) -> Result<DnsConfig, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        DnsConfig::parse(&text, path)
    }

    /// The same of a text; `path` names it in messages and is where relative paths start.
    ///
    /// # Errors
    /// As [`DnsConfig::read`].
    pub fn parse(text: &str, path: &Path) -> Result<DnsConfig, String> {
        let place = Place { text, file: path };
        let raw: RawDns = place.read()?;
        let regions = regions(&raw.region, &place)?;
        let reports = raw.reports.as_ref().map(|of| reports(of, &place)).transpose()?;
        let listen = raw.listen.get_ref().iter().map(|text| address(text, raw.listen.span(), "listen", &place));
        let listen: Vec<SocketAddr> = listen.collect::<Result<_, _>>()?;
        if listen.is_empty() {
            let right = "no address; write e.g. `listen = [\"127.0.0.1:53\"]`";
            return Err(place.wrong(raw.listen.span(), "listen", right));
        }
        let threads = raw.threads.as_ref().map_or(1, |threads| *threads.get_ref());
        if let Some(threads) = raw.threads.filter(|threads| !(1..=1024).contains(threads.get_ref())) {
            return Err(place.wrong(threads.span(), "threads", "it is a whole number from 1 to 1024"));
        }
        let clients = match &raw.clients {
            None => CLIENTS,
            Some(clients) => NonZeroUsize::new(*clients.get_ref())
                .ok_or_else(|| place.wrong(clients.span(), "clients", "at least 1 is remembered, e.g. 100000"))?,
        };
        let metrics = raw.metrics.as_ref();
        let metrics = metrics.map(|text| address(text.get_ref(), text.span(), "metrics", &place)).transpose()?;
        let (key_names, keys) = secondaries::keys(&raw.key, &place)?;
        let known = Known { regions: &regions, reports: reports.is_some() };
        let mut zones: Vec<ZoneConfig> = Vec::new();
        for raw in &raw.zone {
            let zone = zone(raw, &known, &key_names, &place)?;
            if zones.iter().any(|other| other.name == zone.name) {
                return Err(place.wrong(raw.name.span(), "zone.name", format!("`{}` is there twice", zone.name)));
            }
            zones.push(zone);
        }
        if zones.is_empty() {
            return Err(format!("{}: no zone; add `[[zone]]` with its `name`", path.display()));
        }
        Ok(DnsConfig {
            listen,
            threads,
            seed: raw.seed,
            control: raw.control.as_deref().map(|path| place.path(path)),
            metrics,
            limits: raw.limits.as_ref().map_or_else(|| Ok(Limits::default()), |raw| limits::limits(raw, &place))?,
            reports,
            clients,
            state: raw.state.as_deref().map(|path| place.path(path)),
            geo: raw.geo.as_ref().map(|geo| place.path(&geo.file)),
            regions,
            keys,
            zones,
        })
    }
}

fn address(text: &str, at: Range<usize>, key: &str, place: &Place<'_>) -> Result<SocketAddr, String> {
    place.address(text, at, key, "127.0.0.1:53 or [::1]:53")
}

fn reports(raw: &RawReports, place: &Place<'_>) -> Result<ReportsConfig, String> {
    let listen = address(raw.listen.get_ref(), raw.listen.span(), "reports.listen", place)?;
    let key = Key::read(&place.path(raw.key_file.get_ref()));
    let key = key.map_err(|error| place.wrong(raw.key_file.span(), "reports.key_file", error))?;
    let named = raw.estimator.as_ref().map(|name| {
        capacity::known(name.get_ref()).map_err(|error| place.wrong(name.span(), "reports.estimator", error))
    });
    Ok(ReportsConfig { estimator: named.transpose()?.unwrap_or(capacity::DEFAULT), ..ReportsConfig::new(listen, key) })
}

fn regions(raw: &[RawRegion], place: &Place<'_>) -> Result<Vec<Region>, String> {
    let mut regions: Vec<Region> = Vec::new();
    for one in raw {
        let name = one.name.get_ref().clone();
        if regions.iter().any(|other| other.name == name) {
            return Err(place.wrong(one.name.span(), "region.name", format!("`{name}` is there twice")));
        }
        let addresses = one.addresses.iter().map(|text| {
            let right = || format!("`{}` is no range of addresses, as 194.0.0.0/7", text.get_ref());
            prefix(text.get_ref()).ok_or_else(|| place.wrong(text.span(), "region.addresses", right()))
        });
        let code = |text: &Spanned<String>, key| match text.get_ref() {
            code if code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase()) => Ok(code.clone()),
            code => Err(place.wrong(text.span(), key, format!("`{code}` is no code of two capitals, as DE or EU"))),
        };
        regions.push(Region {
            name,
            addresses: addresses.collect::<Result<_, _>>()?,
            countries: one.countries.iter().map(|text| code(text, "region.countries")).collect::<Result<_, _>>()?,
            continents: one.continents.iter().map(|text| code(text, "region.continents")).collect::<Result<_, _>>()?,
        });
    }
    Ok(regions)
}

fn zone(raw: &RawZone, known: &Known<'_>, keys: &[String], place: &Place<'_>) -> Result<ZoneConfig, String> {
    let read =
        |text: &Spanned<String>, key: &str| name(text.get_ref()).map_err(|why| place.wrong(text.span(), key, why));
    let zone_name = read(&raw.name, "zone.name")?;
    let ns: Vec<String> = raw.ns.iter().map(|text| read(text, "zone.ns")).collect::<Result<_, _>>()?;
    match (&raw.file, ns.is_empty()) {
        (None, true) => {
            let right = "neither `file` (a zone file) nor `ns`; write e.g. `ns = [\"ns1.example.org\"]`";
            return Err(place.wrong(raw.name.span(), "zone", right));
        }
        (Some(_), false) => {
            return Err(place.wrong(raw.ns[0].span(), "zone.ns", "the zone file says the servers; leave `ns` out"));
        }
        _ => {}
    }
    let (transfer, notify) = secondaries::of_zone(raw, keys, place)?;
    let mut services = Vec::new();
    for service in &raw.service {
        let service = service::service(service, &zone_name, known, place)?;
        debug_assert!(is_within(&service.name, &zone_name));
        services.push(service);
    }
    for (index, (service, raw)) in services.iter().zip(&raw.service).enumerate() {
        if services[..index].iter().any(|other| other.name == service.name) {
            return Err(place.wrong(raw.name(), "zone.service.name", format!("`{}` is there twice", service.name)));
        }
    }
    let file = raw.file.as_deref().map(|path| place.path(path));
    Ok(ZoneConfig { name: zone_name, file, ns, transfer, notify, services })
}

/// Reads an address, in whatever key it stands.
pub(crate) fn ip(text: &Spanned<String>, key: &str, place: &Place<'_>) -> Result<IpAddr, String> {
    let wrong = || place.wrong(text.span(), key, format!("`{}` is no IP address", text.get_ref()));
    text.get_ref().parse().map_err(|_| wrong())
}

/// Reads where on Earth something is.
pub(crate) fn location(at: &Spanned<[f64; 2]>, key: &str, place: &Place<'_>) -> Result<Location, String> {
    let [latitude, longitude] = *at.get_ref();
    let wrong = || place.wrong(at.span(), key, "degrees north (-90 to 90) and east (-180 to 180), as [48.1, 11.6]");
    Location::new(latitude, longitude).ok_or_else(wrong)
}
