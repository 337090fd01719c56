//! Regions, the paths between them, the links that paths share and the TCP over them, as `[[system.region]]`,
//! `[system.paths]`, `[system.medium]` and `[system.tcp]` write them.

use std::collections::BTreeMap;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use sojourn_model::system::{
    Clients, Directions, Fault, Line, LineQueue, Medium, Path, Paths, Region, Transport, Trouble,
};
use sojourn_model::{LossModel, System, TcpStack};
use sojourn_stats::{Dimension, Law, quantity};
use toml::Spanned;

use super::workload::{RawClients, RawGroup, RawWorkload};
use super::{Reader, SpecError, Text, unknown};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRegion {
    name: String,
    addresses: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMedium {
    rate: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTcp {
    stack: Option<Text>,
    initial_window: Option<Spanned<u32>>,
    receive_window: Option<Text>,
}

/// What is kept of each client takes some hundred bytes.
const CLIENTS_LIMIT: u32 = 10_000_000;

/// Paths by the regions that they join: `within`, `between`, or two names as in `"europe..asia"`.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct RawPaths(BTreeMap<Spanned<String>, Spanned<RawPath>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPath {
    rtt: Option<Text>,
    jitter: Option<Text>,
    reorders: Option<Spanned<bool>>,
    loss: Option<Spanned<ByDirection>>,
    loss_correlation: Option<Spanned<f64>>,
    loss_model: Option<Text>,
    rate: Option<Spanned<ByDirection>>,
    queue: Option<Text>,
    medium: Option<Text>,
}

/// A quantity, or one for each direction: `"2 Mbit/s"`, `{ up = "1 Mbit/s", down = "16 Mbit/s" }`.
enum ByDirection {
    Both(String),
    Each(Box<RawDirections>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDirections {
    up: Option<Text>,
    down: Option<Text>,
}

impl<'de> Deserialize<'de> for ByDirection {
    /// By hand, because an untagged enum would lose the lines of what is inside.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ByDirection, D::Error> {
        struct Directed;
        impl<'de> Visitor<'de> for Directed {
            type Value = ByDirection;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a quantity with its unit, or one for each direction as in { up = ..., down = ... }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ByDirection, E> {
                Ok(ByDirection::Both(text.into()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ByDirection, A::Error> {
                Ok(ByDirection::Each(Box::new(RawDirections::deserialize(MapAccessDeserializer::new(map))?)))
            }
        }
        deserializer.deserialize_any(Directed)
    }
}

/// Bytes of the largest packet of a bed: a queue has room for one.
const PACKET: u64 = 1500;

impl Reader<'_> {
    /// The regions; one without a name where none is written.
    pub(super) fn regions(&self, raw: &[Spanned<RawRegion>]) -> Result<Vec<Region>, SpecError> {
        if raw.is_empty() {
            return Ok(vec![Region::default()]);
        }
        let mut regions: Vec<Region> = Vec::with_capacity(raw.len());
        for region in raw {
            let RawRegion { name, addresses } = region.get_ref();
            if regions.iter().any(|other| other.name == *name) {
                return Err(self.at(region, "region", &format!("two regions are called `{name}`; names must differ")));
            }
            if name.is_empty() || name.contains("..") {
                return Err(self.at(region, "name", "a region has a name, without two dots in it"));
            }
            let addresses = match addresses {
                None => None,
                Some(text) => Some(prefix(text.get_ref()).ok_or_else(|| {
                    self.at(text, "addresses", "an IPv4 prefix and its length in bits, e.g. `194.0.0.0/7`")
                })?),
            };
            regions.push(Region { name: name.clone(), addresses });
        }
        Ok(regions)
    }

    /// The region that `text` names.
    pub(super) fn region(&self, text: &Text, key: &str, regions: &[Region]) -> Result<usize, SpecError> {
        let known: Vec<&str> =
            regions.iter().map(|region| region.name.as_str()).filter(|name| !name.is_empty()).collect();
        if known.is_empty() {
            return Err(self.at(text, key, "no region is written: add `[[system.region]]` with this name"));
        }
        let found = regions.iter().position(|region| region.name == *text.get_ref());
        found.ok_or_else(|| self.at(text, key, &unknown("region", text.get_ref(), &known)))
    }

    /// The links that paths share.
    pub(super) fn media(&self, raw: &BTreeMap<String, Spanned<RawMedium>>) -> Result<Vec<Medium>, SpecError> {
        let read = |(name, medium): (&String, &Spanned<RawMedium>)| {
            let rate = self.rate(&medium.get_ref().rate, "rate")?;
            Ok(Medium { name: name.clone(), rate })
        };
        raw.iter().map(read).collect()
    }

    /// The paths between all pairs of regions.
    pub(super) fn paths(
        &self,
        raw: Option<&Spanned<RawPaths>>,
        raw_regions: &[Spanned<RawRegion>],
        regions: &[Region],
        media: &[Medium],
    ) -> Result<Paths, SpecError> {
        let Some(raw) = raw else {
            let right = "several regions need paths: add [system.paths] with `within` and `between`";
            return match raw_regions.get(1) {
                Some(second) => Err(self.at(second, "region", right)),
                None => Ok(Paths::default()),
            };
        };
        let mut named: BTreeMap<(usize, usize), Path> = BTreeMap::new();
        let (mut within, mut between) = (None, None);
        for (key, path) in &raw.get_ref().0 {
            let read = self.one_path(path, media)?;
            match key.get_ref().as_str() {
                "within" => within = Some(read),
                "between" if regions.len() < 2 => {
                    return Err(self.at(
                        key,
                        "between",
                        "there is but one region: leave it out, or add `[[system.region]]`",
                    ));
                }
                "between" => between = Some(read),
                joined => {
                    let Some((a, b)) = joined.split_once("..") else {
                        let right = "a path is `within`, `between`, or joins two regions as in \"europe..asia\"";
                        return Err(self.at(key, joined, right));
                    };
                    let find = |name: &str| self.region(&Spanned::new(key.span(), name.trim().into()), joined, regions);
                    let (a, b) = (find(a)?, find(b)?);
                    if named.insert((a.min(b), a.max(b)), read).is_some() {
                        return Err(self.at(
                            key,
                            joined,
                            "this path is written twice; it is the same in both directions",
                        ));
                    }
                }
            }
        }
        Paths::new(regions.len(), |a, b| {
            let default = if a == b { &within } else { &between };
            let found = named.get(&(a, b)).or(default.as_ref());
            found.cloned().ok_or_else(|| {
                let (from, to) = (&regions[a].name, &regions[b].name);
                let right = if a == b { "within" } else { "between" };
                let message = match from.as_str() {
                    "" => "no path is written: add `within = { rtt = \"20 ms\" }`".into(),
                    _ => format!("no path joins `{from}` and `{to}`: add `\"{from}..{to}\"`, or `{right}`"),
                };
                self.at(raw, "paths", &message)
            })
        })
    }

    fn one_path(&self, raw: &Spanned<RawPath>, media: &[Medium]) -> Result<Path, SpecError> {
        let RawPath { rtt, loss, loss_correlation, loss_model, rate, medium, .. } = raw.get_ref();
        let rtt = match rtt {
            None => Law::constant(0.0),
            // A time, or a law of times.
            Some(text) => match quantity::parse(text.get_ref(), Dimension::Time) {
                Ok(seconds) if seconds >= 0.0 => Law::constant(seconds),
                Ok(_) => return Err(self.at(text, "rtt", "it cannot be negative")),
                Err(_) => self.times(text, "rtt")?,
            },
        };
        let share = |text: &Text, key: &str| match self.quantity(text, key, Dimension::Number)? {
            share if share < 1.0 => Ok(share),
            _ => Err(self.at(text, key, "a share of the packets, below 100 %")),
        };
        let medium = medium.as_ref().map(|text| {
            let known: Vec<&str> = media.iter().map(|medium| medium.name.as_str()).collect();
            let found = known.iter().position(|name| name == text.get_ref());
            found.ok_or_else(|| self.at(text, "medium", &unknown("medium", text.get_ref(), &known)))
        });
        let loss_correlation = match loss_correlation {
            Some(value) if loss.is_none() => {
                return Err(self.at(
                    value,
                    "loss_correlation",
                    "nothing is lost here: add `loss = \"5 %\"`, or leave it out",
                ));
            }
            Some(value) if !(0.0..1.0).contains(value.get_ref()) => {
                return Err(self.at(value, "loss_correlation", "from 0 to below 1"));
            }
            Some(value) => *value.get_ref(),
            None => 0.0,
        };
        let loss_model = match loss_model.as_ref().map(|text| (text, text.get_ref().as_str())) {
            Some((text, _)) if loss.is_none() => {
                let right = "nothing is lost here: add `loss = \"5 %\"`, or leave it out";
                return Err(self.at(text, "loss_model", right));
            }
            None | Some((_, "gilbert-elliott")) => LossModel::GilbertElliott,
            Some((_, "nistnet")) => LossModel::Nistnet,
            Some((text, other)) => {
                return Err(self.at(text, "loss_model", &unknown("model", other, &["gilbert-elliott", "nistnet"])));
            }
        };
        let (loss_of, is_halved) = self.each_way(loss.as_ref(), |text| share(text, "loss"))?;
        let rate = self.each_way(rate.as_ref(), |text| self.rate(text, "rate"))?.0;
        Ok(Path {
            rtt,
            // Of both directions together, unless it is said of each.
            loss: loss_of.map(|share| share.unwrap_or(0.0) * if is_halved { 0.5 } else { 1.0 }),
            loss_correlation,
            loss_model,
            rate,
            medium: medium.transpose()?,
            line: self.line(raw.get_ref(), rate)?,
        })
    }

    /// What is written of each direction, and whether it was written of both at once.
    fn each_way(
        &self,
        raw: Option<&Spanned<ByDirection>>,
        read: impl Fn(&Text) -> Result<f64, SpecError>,
    ) -> Result<(Directions<Option<f64>>, bool), SpecError> {
        let Some(raw) = raw else { return Ok((Directions::default(), true)) };
        Ok(match raw.get_ref() {
            ByDirection::Both(text) => (Directions::both(Some(read(&Spanned::new(raw.span(), text.clone()))?)), true),
            ByDirection::Each(each) => {
                let of = |text: &Option<Text>| text.as_ref().map(&read).transpose();
                (Directions { up: of(&each.up)?, down: of(&each.down)? }, false)
            }
        })
    }

    /// What only the links of a bed have.
    fn line(&self, raw: &RawPath, rate: Directions<Option<f64>>) -> Result<Line, SpecError> {
        let jitter = raw.jitter.as_ref().map(|text| self.times(text, "jitter")).transpose()?;
        let reorders = match &raw.reorders {
            Some(written) if jitter.is_none() => {
                let right =
                    "packets overtake one another where they have a jitter: add `jitter = \"uniform(0 ms, 20 ms)\"`";
                return Err(self.at(written, "reorders", right));
            }
            written => written.as_ref().is_some_and(|written| *written.get_ref()),
        };
        let queue = match &raw.queue {
            Some(text) if rate == Directions::default() => {
                return Err(self.at(text, "queue", "it is in front of the path's own rate: add `rate = \"8 Mbit/s\"`"));
            }
            written => written.as_ref().map(|text| self.queue(text)).transpose()?,
        };
        Ok(Line { jitter, reorders, queue })
    }

    fn queue(&self, text: &Text) -> Result<LineQueue, SpecError> {
        let written = text.get_ref().trim();
        let (name, bytes) = match written.split_once('(') {
            None => (written, Some(None)),
            Some((name, rest)) => {
                let size = rest.strip_suffix(')').and_then(|size| quantity::parse(size, Dimension::Size).ok());
                (name, size.filter(|size| *size >= PACKET as f64).map(|size| Some(size as u64)))
            }
        };
        match (name.trim(), bytes) {
            ("drop-tail", Some(bytes)) => Ok(LineQueue::DropTail(bytes)),
            ("codel", Some(bytes)) => Ok(LineQueue::Codel(bytes)),
            ("drop-tail" | "codel", None) => {
                let right = format!("a size of at least one packet ({PACKET} B) as in `{}(64 kB)`", name.trim());
                Err(self.at(text, "queue", &right))
            }
            _ => Err(self.at(text, "queue", "`drop-tail`, `drop-tail(64 kB)`, `codel` or `codel(1 MB)`")),
        }
    }

    /// How requests are carried over `paths`: over connections, where packets are lost or `[system.tcp]` is written.
    pub(super) fn transport(
        &self,
        raw: Option<&Spanned<RawTcp>>,
        workload: &RawWorkload,
        system: &System,
    ) -> Result<Option<Transport>, SpecError> {
        let loses = |fault: &Fault| matches!(fault.trouble, Trouble::Loss(_));
        match raw {
            Some(raw) if system.paths.is_empty() => {
                let right = "it is for transfers over [system.paths]: add them, e.g. `within = { rtt = \"20 ms\" }`";
                return Err(self.at(raw, "tcp", right));
            }
            None if system.paths.iter().all(|path| !path.loses()) && !system.faults.iter().any(loses) => {
                return Ok(None);
            }
            _ => {}
        }
        let mut stack = TcpStack::LINUX_6;
        if let Some(RawTcp { stack: name, initial_window, receive_window }) = raw.map(Spanned::get_ref) {
            if let Some(text) = name {
                let found = TcpStack::NAMED.iter().find(|(name, _)| name == text.get_ref());
                let names = TcpStack::NAMED.map(|(name, _)| name);
                stack = found.ok_or_else(|| self.at(text, "stack", &unknown("stack", text.get_ref(), &names)))?.1;
            }
            if let Some(window) = initial_window {
                stack.initial_window = *window.get_ref();
                if !(1..=1000).contains(&stack.initial_window) {
                    return Err(self.at(window, "initial_window", "from 1 to 1000 segments"));
                }
            }
            if let Some(text) = receive_window {
                stack.receive_window = self.quantity(text, "receive_window", Dimension::Size)? as u64;
                if stack.receive_window < stack.segment {
                    let right = format!("at least one segment, {} B", stack.segment);
                    return Err(self.at(text, "receive_window", &right));
                }
            }
        }
        let one_request_per_connection = !self.browses && self.one_request_per_connection(workload)?;
        Ok(Some(Transport { stack, one_request_per_connection }))
    }

    /// Where the workload's clients are.
    pub(super) fn places_of_clients(
        &self,
        workload: &RawWorkload,
        regions: &[Region],
    ) -> Result<Vec<Clients>, SpecError> {
        let kind = workload.kind.get_ref().as_str();
        let too_many = || format!("at most {CLIENTS_LIMIT} in all");
        if let Some(users) = &workload.users {
            if matches!(workload.clients.as_ref().map(Spanned::get_ref), Some(RawClients::Groups(_))) {
                return Err(self.at(users, "users", "`clients` says how many there are in each region: leave it out"));
            }
            if *users.get_ref() > CLIENTS_LIMIT && !self.browses {
                return Err(self.at(users, "users", &too_many()));
            }
        }
        let Some(clients) = &workload.clients else {
            return match kind {
                _ if regions.len() < 2 => Ok(Vec::new()),
                "log" | "sessions" | "session-file" => Err(self.at(
                    &workload.kind,
                    "kind",
                    &format!(
                        "not there yet: clients of kind `{kind}` in several regions: leave all regions but one out"
                    ),
                )),
                _ => Err(self.at(
                    &workload.kind,
                    "kind",
                    "say where the clients are: clients = [{ region = \"europe\", number = 100 }, ...]",
                )),
            };
        };
        match clients.get_ref() {
            RawClients::Number(_) if matches!(kind, "closed" | "webstone") => {
                Err(self.at(clients, "clients", "users are counted by `users = 100`, or by region in a list"))
            }
            RawClients::Number(_) if regions.len() > 1 => Err(self.at(
                clients,
                "clients",
                "say in which regions they are: clients = [{ region = \"europe\", number = 100 }, ...]",
            )),
            RawClients::Number(0) => Err(self.at(clients, "clients", "at least 1 client is needed")),
            RawClients::Number(number) if *number > CLIENTS_LIMIT => Err(self.at(clients, "clients", &too_many())),
            RawClients::Number(_) => Ok(Vec::new()),
            RawClients::Groups(groups) if groups.is_empty() => Err(self.at(
                clients,
                "clients",
                "at least 1 region has clients: [{ region = \"europe\", number = 100 }]",
            )),
            RawClients::Groups(groups) => {
                let mut read = Vec::with_capacity(groups.len());
                let mut total = 0;
                for group in groups {
                    total += u64::from(group.number());
                    match group.number() {
                        0 => {
                            return Err(self.at(&group.number, "number", "at least 1 client; or leave the region out"));
                        }
                        _ if total > u64::from(CLIENTS_LIMIT) => {
                            return Err(self.at(&group.number, "number", &too_many()));
                        }
                        number => {
                            let machines = self.machines(group, number)?;
                            read.push(Clients {
                                region: self.region(&group.region, "region", regions)?,
                                number,
                                machines,
                            });
                        }
                    }
                }
                Ok(read)
            }
        }
    }

    /// On how many machines clients of one region are: each on its own, unless it is said.
    fn machines(&self, group: &RawGroup, number: u32) -> Result<u32, SpecError> {
        match &group.machines {
            None => Ok(number),
            Some(machines) if (1..=number).contains(machines.get_ref()) => Ok(*machines.get_ref()),
            Some(machines) => {
                Err(self.at(machines, "machines", &format!("from 1 to {number}: each machine has a client at least")))
            }
        }
    }

    /// A law of times, of which none is negative and the mean is finite.
    pub(super) fn times(&self, text: &Text, key: &str) -> Result<Law, SpecError> {
        match self.law(text, key, Dimension::Time)? {
            law if law.limits().0 < 0.0 => Err(self.at(text, key, "it cannot be negative")),
            law if !law.mean().is_finite() => {
                Err(self.at(text, key, "its mean is not finite: bound it, e.g. `max = 1 s`"))
            }
            law => Ok(law),
        }
    }

    fn rate(&self, text: &Text, key: &str) -> Result<f64, SpecError> {
        match self.quantity(text, key, Dimension::Bandwidth)? {
            0.0 => Err(self.at(text, key, "a rate is above 0; leave it out for an infinitely fast link")),
            rate => Ok(rate),
        }
    }
}

/// An IPv4 prefix and its length in bits.
fn prefix(text: &str) -> Option<(u32, u8)> {
    let (address, bits) = text.split_once('/')?;
    let address: std::net::Ipv4Addr = address.trim().parse().ok()?;
    let bits: u8 = bits.trim().parse().ok().filter(|bits| *bits <= 32)?;
    let mask = if bits == 0 { 0 } else { u32::MAX << (32 - bits) };
    (u32::from(address) & !mask == 0).then_some((u32::from(address), bits))
}
