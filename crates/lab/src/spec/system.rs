//! What stands between users and an answer, as `[system]` writes it, made into one [`System`] of indices.
//!
//! Tiers are read in the order of the file, the one nearest the client first. A tier's targets are of one kind: servers of
//! its own, sites (at each of which the next tier of the file has a decider), or other tiers by name. From that follows
//! how many deciders a tier has and which hosts there are; everything that cannot be is refused here, with its line.

use std::collections::HashSet;

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use sojourn_dispatch::{DispatchError, Dispatcher};
use sojourn_model::system::{Face, Host, Pool, Probes, Region, Reports, Seat, Site, Target, Tier, server_name};
use sojourn_model::{Server, System};
use sojourn_stats::{Dimension, Span, quantity};
use toml::Spanned;

use super::client::{RawClient, RawResolver};
use super::fault::RawFault;
use super::path::{RawMedium, RawPaths, RawRegion};
use super::tier::{PLANNED_POLICIES, RawBalancer, RawProbes, RawReports};
use super::workload::RawWorkload;
use super::{Reader, Run, SpecError, Text, unknown};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSystem {
    #[serde(default)]
    pub(super) region: Vec<Spanned<RawRegion>>,
    #[serde(default)]
    pub(super) resolver: Vec<Spanned<RawResolver>>,
    #[serde(default)]
    pub(super) site: Vec<Spanned<RawSite>>,
    #[serde(default)]
    tier: Vec<Spanned<RawTier>>,
    pub(super) server: Option<ServerSource>,
    pub(super) program: Option<Spanned<toml::Table>>,
    #[serde(default)]
    pub(super) network: RawNetwork,
    pub(super) paths: Option<Spanned<RawPaths>>,
    #[serde(default)]
    pub(super) medium: std::collections::BTreeMap<String, Spanned<RawMedium>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSite {
    name: String,
    region: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTier {
    name: Option<Text>,
    pub(super) face: Text,
    at: Option<Text>,
    instances: Option<Spanned<u32>>,
    policy: Text,
    targets: Option<Spanned<RawTargets>>,
    dispatchers: Option<Spanned<u32>>,
    information: Option<Text>,
    pub(super) poll_cost: Option<Text>,
    pub(super) level: Option<Text>,
    pub(super) attached: Option<Text>,
    pub(super) balancer: Option<Spanned<RawBalancer>>,
    pub(super) told: Option<Vec<Text>>,
    ttl: Option<Text>,
    reports: Option<Spanned<RawReports>>,
    probes: Option<Spanned<RawProbes>>,
    #[serde(default)]
    pool: Vec<Spanned<RawPool>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTargets {
    servers: Option<Spanned<u32>>,
    sites: Option<Spanned<Vec<Text>>>,
    tiers: Option<Spanned<Vec<Text>>>,
    weights: Option<Spanned<Vec<f64>>>,
    speeds: Option<Spanned<Vec<f64>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPool {
    host: Option<String>,
    path: Option<Text>,
    policy: Text,
    targets: Spanned<RawTargets>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNetwork {
    pub(super) client_rate: Option<Text>,
    pub(super) cluster_rate: Option<Text>,
    pub(super) rtt: Option<Text>,
    pub(super) backbone_rate: Option<Text>,
    pub(super) server_rate: Option<Text>,
    pub(super) segment: Option<Text>,
    pub(super) initial_window: Option<Spanned<u32>>,
    pub(super) acks_per_segment: Option<Spanned<f64>>,
    pub(super) timeouts: Option<Spanned<f64>>,
    pub(super) timeout: Option<Text>,
}

/// A server model, inline or the path of one.
pub(super) enum ServerSource {
    Inline(Box<Server>),
    File(String),
}

impl<'de> Deserialize<'de> for ServerSource {
    /// By hand, because an untagged enum would lose the lines of what is inside.
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<ServerSource, D::Error> {
        struct Source;
        impl<'de> Visitor<'de> for Source {
            type Value = ServerSource;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a server model: a table, or the path of a TOML file")
            }
            fn visit_str<E: de::Error>(self, path: &str) -> Result<ServerSource, E> {
                Ok(ServerSource::File(path.into()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ServerSource, A::Error> {
                Ok(ServerSource::Inline(Box::new(Server::deserialize(MapAccessDeserializer::new(map))?)))
            }
        }
        deserializer.deserialize_any(Source)
    }
}

/// The targets of a tier, of one kind.
enum Kind<'a> {
    Servers(u32),
    /// Indices of sites; the next tier of the file is at each of them.
    Sites(Vec<usize>),
    /// Indices of tiers.
    Tiers(Vec<usize>),
    /// A face that decides nothing: clients meet the server.
    Direct(&'a Spanned<RawTargets>),
}

impl Reader<'_> {
    /// The system; `asked` and `client` say where its clients are and what they do, `faults` what breaks.
    pub(super) fn system(
        &self,
        raw: &RawSystem,
        asked: &RawWorkload,
        client: Option<&RawClient>,
        faults: &[Spanned<RawFault>],
        run: &Run,
    ) -> Result<System, SpecError> {
        let model = self.server_model(raw)?;
        let mut system = System::single(model.clone());
        system.regions = self.regions(&raw.region)?;
        system.sites = self.sites(&raw.site, &system.regions)?;
        system.resolvers = self.resolvers(&raw.resolver, &system.regions)?;
        system.media = self.media(&raw.medium)?;
        system.paths = self.paths(raw.paths.as_ref(), &system.regions, &system.media)?;
        system.network = self.network(&raw.network)?;
        system.clients = self.places_of_clients(asked, &system.regions, raw.paths.is_some())?;
        system.rules = self.rules(asked, client)?;
        self.tiers(&raw.tier, &model, &mut system)?;
        system.faults = self.faults(faults, &system, run)?;
        Ok(system)
    }

    fn server_model(&self, raw: &RawSystem) -> Result<Server, SpecError> {
        match &raw.server {
            // Of a real program nothing is known but what is measured.
            None if raw.program.is_some() => {
                Ok(Server::from_toml("discipline = \"ps\"\ndemand = \"0 s\"").expect("a server model"))
            }
            None => Err(SpecError(format!(
                "{}: system: it needs a server, e.g. `server = \"apache.toml\"`",
                self.file.display()
            ))),
            Some(ServerSource::Inline(server)) => Ok((**server).clone()),
            Some(ServerSource::File(path)) => {
                let path = self.path(path);
                let text = std::fs::read_to_string(&path).map_err(|e| {
                    self.at_key("server", &format!("cannot read the server model {}: {e}", path.display()))
                })?;
                Server::from_toml(&text).map_err(|e| SpecError(format!("{}: {e}", path.display())))
            }
        }
    }

    fn sites(&self, raw: &[Spanned<RawSite>], regions: &[Region]) -> Result<Vec<Site>, SpecError> {
        let mut sites: Vec<Site> = Vec::with_capacity(raw.len());
        for site in raw {
            let RawSite { name, region } = site.get_ref();
            if sites.iter().any(|other| other.name == *name) {
                return Err(self.at(site, "site", &format!("two sites are called `{name}`; names must differ")));
            }
            sites.push(Site { name: name.clone(), region: self.region(region, "region", regions)? });
        }
        Ok(sites)
    }

    /// Reads the tiers, and makes the hosts that they have.
    fn tiers(&self, raw: &[Spanned<RawTier>], model: &Server, system: &mut System) -> Result<(), SpecError> {
        let names = self.tier_names(raw)?;
        let kinds = raw
            .iter()
            .enumerate()
            .map(|(index, tier)| self.kind(index, tier, &names, raw, system))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(Kind::Direct(targets)) = kinds.first() {
            if raw.len() > 1 {
                return Err(self.at(&raw[0].get_ref().face, "face", "`none` stands alone: clients meet the server"));
            }
            let speeds = self.per_target(&targets.get_ref().speeds, "speeds", 1)?;
            system.hosts = self.make_hosts(model, 1, speeds, None, 0);
            return Ok(());
        }
        if raw.is_empty() {
            return Ok(());
        }
        self.refuse_circles(raw, &kinds)?;
        let places = self.places_of_tiers(raw, &kinds)?;
        system.hosts.clear();
        let mut own_hosts: Vec<Vec<Vec<usize>>> = Vec::with_capacity(raw.len()); // per tier and place
        for (index, tier) in raw.iter().enumerate() {
            let mut per_place = Vec::new();
            for &site in &places[index] {
                let first = system.hosts.len();
                if let Kind::Servers(number) = kinds[index] {
                    let targets = tier.get_ref().targets.as_ref().expect("it has a kind").get_ref();
                    let speeds = self.per_target(&targets.speeds, "speeds", number as usize)?;
                    system.hosts.extend(self.make_hosts(model, number, speeds, site, first));
                }
                per_place.push((first..system.hosts.len()).collect());
            }
            own_hosts.push(per_place);
        }
        // How many deciders each tier has, so that others can name them.
        let seats: Vec<Vec<Seat>> = raw
            .iter()
            .enumerate()
            .map(|(index, tier)| self.seats(index, tier, &places[index], &own_hosts[index]))
            .collect::<Result<_, _>>()?;
        let targets_of = |index: usize, seat: &Seat, place: usize| -> Vec<Target> {
            let all = |tier: usize| (0..seats[tier].len()).map(move |seat| Target::Seat { tier, seat });
            match &kinds[index] {
                Kind::Servers(_) => own_hosts[index][place].iter().map(|&host| Target::Host(host)).collect(),
                Kind::Tiers(tiers) => tiers
                    .iter()
                    .flat_map(|&tier| all(tier))
                    // Deciders at the same site where the other tier has one there: a front node sends to its own servers.
                    .filter(|target| match (seat.site, target) {
                        (Some(site), Target::Seat { tier, seat }) => {
                            seats[*tier][*seat].site.is_none_or(|other| other == site)
                        }
                        _ => true,
                    })
                    .collect(),
                Kind::Sites(sites) => {
                    let at = |target: &Target| match target {
                        Target::Seat { tier, seat } => seats[*tier][*seat].site,
                        Target::Host(_) => None,
                    };
                    let next: Vec<Target> = all(index + 1).collect();
                    sites.iter().flat_map(|site| next.iter().filter(move |of| at(of) == Some(*site))).copied().collect()
                }
                Kind::Direct(_) => unreachable!("refused above"),
            }
        };
        let mut tiers = Vec::with_capacity(raw.len());
        for (index, tier) in raw.iter().enumerate() {
            let mut own = seats[index].clone();
            for seat in &mut own {
                let place = places[index].iter().position(|site| *site == seat.site).unwrap_or(0);
                seat.targets = targets_of(index, seat, place);
            }
            let targets = own.first().map_or(0, |seat| seat.targets.len());
            let pools = self.pools(tier.get_ref(), model, system)?;
            let read = self.tier(tier.get_ref(), &names[index], targets, raw.len())?;
            tiers.push(Tier { seats: own, pools, ..read });
        }
        system.tiers = tiers;
        Ok(())
    }

    fn tier_names(&self, raw: &[Spanned<RawTier>]) -> Result<Vec<String>, SpecError> {
        let mut names: Vec<String> = Vec::with_capacity(raw.len());
        for tier in raw {
            let RawTier { name, face, .. } = tier.get_ref();
            let (text, name) = (name.as_ref().unwrap_or(face), name.as_ref().unwrap_or(face).get_ref());
            if names.contains(name) {
                return Err(self.at(
                    text,
                    "name",
                    &format!("two tiers are called `{name}`; give each a name of its own"),
                ));
            }
            names.push(name.clone());
        }
        Ok(names)
    }

    /// Of which kind a tier's targets are.
    fn kind<'a>(
        &self,
        index: usize,
        tier: &'a Spanned<RawTier>,
        names: &[String],
        raw: &[Spanned<RawTier>],
        system: &System,
    ) -> Result<Kind<'a>, SpecError> {
        let face = tier.get_ref().face.get_ref();
        let Some(targets) = &tier.get_ref().targets else {
            let right = "a tier needs targets, e.g. `targets = { servers = 4 }`";
            return Err(self.at(&tier.get_ref().face, "tier", right));
        };
        let RawTargets { servers, sites, tiers, .. } = targets.get_ref();
        let kinds = [servers.is_some(), sites.is_some(), tiers.is_some()].iter().filter(|is| **is).count();
        if kinds != 1 {
            let right = "targets are of one kind: `servers = 4`, `sites = [\"east\"]` or `tiers = [\"gateway\"]`";
            return Err(self.at(targets, "targets", right));
        }
        if face == "none" {
            return match servers {
                Some(one) if *one.get_ref() == 1 => Ok(Kind::Direct(targets)),
                _ => Err(self.at(&tier.get_ref().face, "face", "`none` means one server; several need a gateway")),
            };
        }
        if let Some(number) = servers {
            return match *number.get_ref() {
                0 => Err(self.at(number, "servers", "at least 1 server is needed")),
                number => Ok(Kind::Servers(number)),
            };
        }
        if let Some(list) = sites {
            if list.get_ref().is_empty() {
                return Err(self.at(list, "sites", "at least 1 site is needed"));
            }
            let Some(next) = raw.get(index + 1) else {
                let right = "at each site is a decider of the tier that follows in the file; add one";
                return Err(self.at(list, "sites", right));
            };
            self.check_addressed(list, next)?;
            let known: Vec<&str> = system.sites.iter().map(|site| site.name.as_str()).collect();
            let find = |text: &Text| {
                let found = known.iter().position(|name| name == text.get_ref());
                found.ok_or_else(|| self.at(text, "sites", &unknown("site", text.get_ref(), &known)))
            };
            return Ok(Kind::Sites(list.get_ref().iter().map(find).collect::<Result<_, _>>()?));
        }
        let list = tiers.as_ref().expect("one kind is given");
        if list.get_ref().is_empty() {
            return Err(self.at(list, "tiers", "at least 1 tier is needed"));
        }
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let find = |text: &Text| {
            let found = names.iter().position(|name| name == text.get_ref());
            let found = found.ok_or_else(|| self.at(text, "tiers", &unknown("tier", text.get_ref(), &known)))?;
            self.check_addressed(text, &raw[found])?;
            Ok(found)
        };
        Ok(Kind::Tiers(list.get_ref().iter().map(find).collect::<Result<_, _>>()?))
    }

    /// What is chosen needs an address that a request can be sent to.
    fn check_addressed<T>(&self, text: &Spanned<T>, target: &Spanned<RawTier>) -> Result<(), SpecError> {
        match target.get_ref().face.get_ref().as_str() {
            face @ ("dns" | "client" | "none") => Err(self.at(
                text,
                "targets",
                &format!(
                    "a request cannot be sent to a tier of face `{face}`, which has no address: name a gateway, a switch or a \
                     redirect"
                ),
            )),
            _ => Ok(()),
        }
    }

    fn refuse_circles(&self, raw: &[Spanned<RawTier>], kinds: &[Kind<'_>]) -> Result<(), SpecError> {
        fn leads_back(tier: usize, kinds: &[Kind<'_>], above: &mut Vec<usize>) -> bool {
            if above.contains(&tier) {
                return true;
            }
            above.push(tier);
            let circle = match &kinds[tier] {
                Kind::Tiers(tiers) => tiers.iter().any(|next| leads_back(*next, kinds, above)),
                Kind::Sites(_) => leads_back(tier + 1, kinds, above),
                Kind::Servers(_) | Kind::Direct(_) => false,
            };
            above.pop();
            circle
        }
        match (0..raw.len()).find(|tier| leads_back(*tier, kinds, &mut Vec::new())) {
            Some(tier) => {
                let targets = raw[tier].get_ref().targets.as_ref().expect("it has targets");
                Err(self.at(targets, "targets", "these tiers lead in a circle: a request would never reach a server"))
            }
            None => Ok(()),
        }
    }

    /// The sites at which each tier has deciders; one place that is no site where nothing is said.
    fn places_of_tiers(
        &self,
        raw: &[Spanned<RawTier>],
        kinds: &[Kind<'_>],
    ) -> Result<Vec<Vec<Option<usize>>>, SpecError> {
        let mut places: Vec<Vec<Option<usize>>> = vec![Vec::new(); raw.len()];
        let mut reached: HashSet<usize> = HashSet::from([0]);
        places[0] = vec![None];
        let mut open = vec![0];
        while let Some(tier) = open.pop() {
            let (next, at): (Vec<usize>, Vec<Option<usize>>) = match &kinds[tier] {
                Kind::Sites(sites) => (vec![tier + 1], sites.iter().map(|site| Some(*site)).collect()),
                Kind::Tiers(tiers) => (tiers.clone(), places[tier].clone()),
                Kind::Servers(_) | Kind::Direct(_) => continue,
            };
            for tier in next {
                reached.insert(tier);
                let before = places[tier].len();
                for place in &at {
                    if !places[tier].contains(place) {
                        places[tier].push(*place);
                    }
                }
                if places[tier].len() > before {
                    open.push(tier);
                }
            }
        }
        match (0..raw.len()).find(|tier| !reached.contains(tier)) {
            Some(tier) => Err(self.at(
                &raw[tier].get_ref().face,
                "tier",
                "no request comes here: a tier before it names it in `targets = { tiers = [...] }`",
            )),
            None => Ok(places),
        }
    }

    fn seats(
        &self,
        index: usize,
        tier: &Spanned<RawTier>,
        places: &[Option<usize>],
        own_hosts: &[Vec<usize>],
    ) -> Result<Vec<Seat>, SpecError> {
        let RawTier { at, instances, face, .. } = tier.get_ref();
        let on_servers = match at.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None => false,
            Some((_, "servers")) if own_hosts.iter().all(|hosts| !hosts.is_empty()) => true,
            Some((text, "servers")) => {
                return Err(self.at(text, "at", "deciders on servers choose among them: `targets = { servers = 4 }`"));
            }
            Some((text, other)) => return Err(self.at(text, "at", &unknown("place", other, &["servers"]))),
        };
        let number = match instances {
            Some(number) if *number.get_ref() == 0 => {
                return Err(self.at(number, "instances", "at least 1 is needed"));
            }
            Some(number) if on_servers => {
                return Err(self.at(number, "instances", "every server has one already: leave it out"));
            }
            Some(number) => *number.get_ref(),
            None => 1,
        };
        if index == 0 && number > 1 {
            let right = "something has to choose among them: put a tier of face `dns` in front";
            return Err(self.at(instances.as_ref().expect("it is above 1"), "instances", right));
        }
        if index == 0 && on_servers {
            let right = "something has to name the first server: put a tier of face `dns` in front";
            return Err(self.at(face, "at", right));
        }
        let mut seats = Vec::new();
        for (&site, hosts) in places.iter().zip(own_hosts) {
            if on_servers {
                seats.extend(hosts.iter().map(|&host| Seat { site, host: Some(host), targets: Vec::new() }));
            } else {
                seats.extend((0..number).map(|_| Seat { site, host: None, targets: Vec::new() }));
            }
        }
        Ok(seats)
    }

    fn make_hosts(
        &self,
        model: &Server,
        number: u32,
        speeds: Option<Vec<f64>>,
        site: Option<usize>,
        first: usize,
    ) -> Vec<Host> {
        let speeds = speeds.unwrap_or_else(|| vec![1.0; number as usize]);
        let host = |(index, speed): (usize, &f64)| Host {
            name: server_name(first + index),
            server: Server { speed: model.speed * speed, ..model.clone() },
            site,
        };
        speeds.iter().enumerate().map(host).collect()
    }

    /// A list with a number above 0 for each target.
    fn per_target(
        &self,
        list: &Option<Spanned<Vec<f64>>>,
        key: &str,
        targets: usize,
    ) -> Result<Option<Vec<f64>>, SpecError> {
        match list {
            Some(list) if list.get_ref().len() != targets => {
                Err(self.at(list, key, &format!("one number per server: {targets}, not {}", list.get_ref().len())))
            }
            Some(list) if list.get_ref().iter().any(|x| !(*x > 0.0 && x.is_finite())) => {
                Err(self.at(list, key, "every number is above 0"))
            }
            Some(list) => Ok(Some(list.get_ref().clone())),
            None => Ok(None),
        }
    }

    fn pools(&self, raw: &RawTier, model: &Server, system: &mut System) -> Result<Vec<Pool>, SpecError> {
        let mut pools = Vec::with_capacity(raw.pool.len());
        for pool in &raw.pool {
            let RawPool { host, path, policy, targets } = pool.get_ref();
            if host.is_none() && path.is_none() {
                return Err(self.at(pool, "pool", "a pool is for a `host` or a `path`; give at least one of them"));
            }
            if let Some(path) = path.as_ref().filter(|path| !path.get_ref().starts_with('/')) {
                return Err(self.at(path, "path", "a path begins with a slash, e.g. `/images/`"));
            }
            let RawTargets { servers, sites, tiers, weights, speeds } = targets.get_ref();
            let (Some(number), None, None) = (servers, sites, tiers) else {
                return Err(self.at(targets, "targets", "a pool has servers: `targets = { servers = 2 }`"));
            };
            let first = system.hosts.len();
            let count = *number.get_ref();
            if count == 0 {
                return Err(self.at(number, "servers", "at least 1 server is needed"));
            }
            let speeds = self.per_target(speeds, "speeds", count as usize)?;
            system.hosts.extend(self.make_hosts(model, count, speeds, None, first));
            pools.push(Pool {
                host: host.clone(),
                path: path.as_ref().map(|path| path.get_ref().clone()),
                policy: policy.get_ref().clone(),
                targets: (first..system.hosts.len()).map(Target::Host).collect(),
                weights: self.per_target(weights, "weights", count as usize)?.unwrap_or_default(),
            });
        }
        Ok(pools)
    }

    /// A tier without its seats and pools, one of so many `tiers`.
    fn tier(&self, raw: &RawTier, name: &str, targets: usize, tiers: usize) -> Result<Tier, SpecError> {
        let face = self.face(raw, tiers)?;
        let (level, balancing) = (self.level(raw, face)?, self.balancing(raw, face)?);
        let attached = self.attached(raw, level)?;
        let (told, poll_cost) = (self.told(raw, face)?, self.poll_cost(raw)?);
        let polled = self.polled(raw)?;
        let weights = raw.targets.as_ref().map(|targets| &targets.get_ref().weights);
        let weights = weights.map(|list| self.per_target(list, "weights", targets)).transpose()?.flatten();
        let weights = weights.unwrap_or_else(|| vec![1.0; targets]);
        let dispatchers = match &raw.dispatchers {
            Some(n) if *n.get_ref() == 0 => return Err(self.at(n, "dispatchers", "at least 1 dispatcher is needed")),
            Some(n) if *n.get_ref() > 1 && self.browses => {
                let right =
                    "users who browse have one dispatcher so far: leave it out, or use an open or closed workload";
                return Err(self.at(n, "dispatchers", right));
            }
            Some(n) => *n.get_ref(),
            None => 1,
        };
        let tier = Tier {
            name: name.into(),
            dispatchers,
            polled,
            poll_cost,
            weights,
            level,
            attached,
            balancing,
            told,
            ttl: self.ttl(raw, face)?,
            reports: self.reports(raw, face)?,
            probes: self.probes(raw, face)?,
            ..Tier::new(face, raw.policy.get_ref())
        };
        self.check_policy(&raw.policy, &tier)?;
        Ok(tier)
    }

    fn face(&self, raw: &RawTier, tiers: usize) -> Result<Face, SpecError> {
        match raw.face.get_ref().as_str() {
            "gateway" => Ok(Face::Gateway),
            "switch" if self.browses || tiers > 1 => Ok(Face::Switch),
            "switch" => Err(self.at(
                &raw.face,
                "face",
                "a switch sees connections: it needs a workload of kind `sessions`, or a tier of face `dns` in front",
            )),
            "redirect" => Ok(Face::Redirect),
            "dns" => Ok(Face::Dns),
            "client" => Ok(Face::Client),
            other => {
                let known = ["gateway", "switch", "redirect", "dns", "client", "none"];
                Err(self.at(&raw.face, "face", &unknown("face", other, &known)))
            }
        }
    }

    fn polled(&self, raw: &RawTier) -> Result<Option<Span>, SpecError> {
        let Some(text) = &raw.information else { return Ok(None) };
        match text.get_ref().as_str() {
            "immediate" => Ok(None),
            polled if polled.starts_with("polled every ") => {
                let every_s = quantity::parse(&polled["polled every ".len()..], Dimension::Time)
                    .map_err(|e| self.at(text, "information", &e.to_string()))?;
                if every_s <= 0.0 {
                    return Err(self.at(text, "information", "polls are some time apart, e.g. `polled every 100 ms`"));
                }
                Ok(Some(Span::from_secs_f64(every_s)))
            }
            _ => Err(self.at(text, "information", "`immediate`, or e.g. `polled every 100 ms`")),
        }
    }

    /// Refuses a policy that is not known, or that this face cannot serve; one that is planned is read as it is.
    fn check_policy(&self, policy: &Text, tier: &Tier) -> Result<(), SpecError> {
        let base = policy.get_ref().split('(').next().unwrap_or_default().trim();
        if PLANNED_POLICIES.contains(&base) {
            return Ok(());
        }
        let targets: Vec<_> = tier.weights.iter().enumerate().map(|(i, weight)| (server_name(i), *weight)).collect();
        let (information, signals) = (sojourn_sim::information(tier), sojourn_sim::signals(tier, self.browses));
        let made = Dispatcher::new(policy.get_ref(), &targets, information, signals, 0, "");
        made.map(|_| ()).map_err(|e| {
            let missing = matches!(e, DispatchError::MissingSignal(_)) && tier.face == Face::Switch;
            let remedy = "; a simulator can tell it: told = [\"bytes\", \"client-first-byte\"]";
            self.at(policy, "policy", &format!("{e}{}", if missing { remedy } else { "" }))
        })
    }

    fn ttl(&self, raw: &RawTier, face: Face) -> Result<Span, SpecError> {
        match &raw.ttl {
            Some(text) if face != Face::Dns => {
                Err(self.at(text, "ttl", "only the answers of a tier of face `dns` have one; leave it out"))
            }
            Some(text) => self.span(text, "ttl"),
            None => Ok(Span::ZERO),
        }
    }

    fn reports(&self, raw: &RawTier, face: Face) -> Result<Option<Reports>, SpecError> {
        let Some(reports) = &raw.reports else { return Ok(None) };
        if face == Face::Gateway || face == Face::Client {
            let right = "a gateway counts for itself, and a client too: leave them out, or use `information`";
            return Err(self.at(reports, "reports", right));
        }
        let RawReports { every, heartbeat, client_rates } = reports.get_ref();
        let longer = |text: &Text, key: &str| match self.span(text, key)? {
            Span::ZERO => Err(self.at(text, key, "reports are some time apart, e.g. `500 ms`")),
            span => Ok(span),
        };
        Ok(Some(Reports {
            every: longer(every, "every")?,
            heartbeat: heartbeat.as_ref().map(|text| longer(text, "heartbeat")).transpose()?,
            client_rates: client_rates.as_ref().map(|text| longer(text, "client_rates")).transpose()?,
        }))
    }

    fn probes(&self, raw: &RawTier, face: Face) -> Result<Option<Probes>, SpecError> {
        let Some(probes) = &raw.probes else { return Ok(None) };
        if face != Face::Dns {
            return Err(self.at(probes, "probes", "only a tier of face `dns` has clients probed; leave them out"));
        }
        let RawProbes { at_most, refresh } = probes.get_ref();
        if *at_most.get_ref() == 0 {
            return Err(self.at(at_most, "at_most", "at least 1 site probes; leave `probes` out for none"));
        }
        Ok(Some(Probes { at_most: *at_most.get_ref(), refresh: self.span(refresh, "refresh")? }))
    }
}
