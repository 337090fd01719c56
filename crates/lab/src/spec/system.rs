//! What stands between users and an answer, as `[system]` writes it, made into one [`System`] of indices.
//!
//! Tiers are read in the order of the file, the one nearest the client first. A tier's targets are of one kind: servers of
//! its own, sites (at each of which the next tier of the file has a decider), or other tiers by name. From that follows
//! how many deciders a tier has and which hosts there are; everything that cannot be is refused here, with its line.

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use sojourn_dispatch::Plain;
use sojourn_model::system::{Face, Host, Pool, Region, Seat, Site, Target, Tier, server_name};
use sojourn_model::{Server, System};
use sojourn_stats::input;
use toml::Spanned;

use super::client::{RawClient, RawResolver};
use super::fault::RawFault;
use super::path::{RawMedium, RawPaths, RawRegion, RawTcp};
use super::tier::{NO_POLICY, RawNetwork, RawPool, RawTargets, RawTier};
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
    pub(super) tier: Vec<Spanned<RawTier>>,
    pub(super) server: Option<ServerSource>,
    pub(super) program: Option<Spanned<toml::Table>>,
    #[serde(default)]
    pub(super) network: RawNetwork,
    pub(super) paths: Option<Spanned<RawPaths>>,
    tcp: Option<Spanned<RawTcp>>,
    #[serde(default)]
    pub(super) medium: std::collections::BTreeMap<String, Spanned<RawMedium>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSite {
    name: String,
    region: Text,
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
enum Kind {
    Servers(u32),
    /// Indices of sites; the tier `next`, which follows in the file, is at each of them.
    Sites {
        next: usize,
        sites: Vec<usize>,
    },
    /// Indices of tiers.
    Tiers(Vec<usize>),
    /// A face that decides nothing: clients meet the server.
    Direct,
}

impl Kind {
    /// The tiers that a request comes to next.
    fn next(&self) -> &[usize] {
        match self {
            Kind::Servers(_) | Kind::Direct => &[],
            Kind::Sites { next, .. } => std::slice::from_ref(next),
            Kind::Tiers(tiers) => tiers,
        }
    }
}

/// A server takes about a kilobyte.
const SERVERS_LIMIT: u64 = 100_000;

/// A decider keeps what it knows of each target.
const CHOICES_LIMIT: u64 = 1_000_000;
/// Drawn by default: of one server it is all there are.
const MAY_BE_ALL: u64 = 2;

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
        system.paths = self.paths(raw.paths.as_ref(), &raw.region, &system.regions, &system.media)?;
        system.clients = self.places_of_clients(asked, &system.regions)?;
        system.rules = self.rules(asked, client)?;
        self.tiers(&raw.tier, &model, &mut system)?;
        system.network = self.network(&raw.network)?;
        self.refuse_unused(raw, asked, client, &system)?;
        system.faults = self.faults(faults, &system, run)?;
        system.transport = self.transport(raw.tcp.as_ref(), asked, &system)?;
        if let Some(secure) = asked.secure.as_ref().filter(|_| system.transport.is_none()) {
            let right =
                "TLS secures connections: add [system.tcp] and [system.paths], e.g. `within = { rtt = \"20 ms\" }`";
            return Err(self.at(secure, "secure", right));
        }
        Ok(system)
    }

    fn server_model(&self, raw: &RawSystem) -> Result<Server, SpecError> {
        match &raw.server {
            // Of a real program nothing is known but what is measured.
            None if raw.program.is_some() => {
                Ok(Server::from_toml("discipline = \"ps\"\ndemand = \"0 s\"").expect("a server model"))
            }
            None => {
                let line = self.text.find("[system").unwrap_or(0);
                Err(self.error(line, "system", "it needs a server, e.g. `server = \"apache.toml\"`"))
            }
            Some(ServerSource::Inline(server)) => Ok((**server).clone()),
            Some(ServerSource::File(path)) => {
                let path = self.path(path);
                let text = input::text(&path).map_err(|e| {
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

    /// Refuses what is written and what no tier, path or client would ever read.
    fn refuse_unused(
        &self,
        raw: &RawSystem,
        asked: &RawWorkload,
        client: Option<&RawClient>,
        system: &System,
    ) -> Result<(), SpecError> {
        let has_sites = |tier: &Spanned<RawTier>| {
            tier.get_ref().targets.as_ref().is_some_and(|targets| targets.get_ref().sites.is_some())
        };
        if let Some(site) = raw.site.first().filter(|_| !raw.tier.iter().any(has_sites)) {
            let name = &site.get_ref().name;
            let right = format!("no tier has sites among its targets: targets = {{ sites = [\"{name}\"] }}");
            return Err(self.at(site, "site", &right));
        }
        if system.tiers.first().is_none_or(|tier| tier.face != Face::Dns) {
            let right = "only a tier of face `dns` is asked for names: put one in front, or leave this out";
            if let Some(resolver) = raw.resolver.first() {
                return Err(self.at(resolver, "resolver", right));
            }
            if let Some(resolves) = &asked.resolves {
                return Err(self.at(resolves, "resolves", right));
            }
            if let Some(fails_over) = client.and_then(|client| client.fails_over.as_ref()) {
                return Err(self.at(fails_over, "fails_over", right));
            }
        }
        for (resolver, written) in system.resolvers.iter().zip(&raw.resolver) {
            if !system.clients.is_empty() && !system.clients.iter().any(|of| of.region == resolver.region) {
                let message = format!("no client is in `{}`", system.regions[resolver.region].name);
                return Err(self.at(&written.get_ref().region, "region", &message));
            }
        }
        for (index, medium) in system.media.iter().enumerate() {
            if !system.paths.iter().any(|path| path.medium == Some(index)) {
                let right = format!("no path is on it: add `medium = \"{}\"` to one", medium.name);
                return Err(self.at(&raw.medium[&medium.name], "medium", &right));
            }
        }
        let RawNetwork { rtt, client_rate, .. } = &raw.network;
        for (text, key) in [(rtt, "rtt"), (client_rate, "client_rate")] {
            if let (Some(text), Some(_)) = (text, &raw.paths) {
                return Err(self.at(
                    text,
                    key,
                    "[system.paths] says how far clients are: write it there, or leave that out",
                ));
            }
        }
        Ok(())
    }

    /// Reads the tiers, and makes the hosts that they have.
    fn tiers(&self, raw: &[Spanned<RawTier>], model: &Server, system: &mut System) -> Result<(), SpecError> {
        let names = self.tier_names(raw)?;
        let kinds =
            (0..raw.len()).map(|index| self.kind(index, raw, &names, &system.sites)).collect::<Result<Vec<_>, _>>()?;
        let has_none = |tier: &&Spanned<RawTier>| tier.get_ref().policy.is_none() && tier.get_ref().settings.is_none();
        if let Some(tier) = raw.iter().find(has_none) {
            return Err(self.at(&tier.get_ref().face, "tier", NO_POLICY));
        }
        match kinds.first() {
            None => return Ok(()),
            Some(Kind::Direct) => return self.direct(raw, model, system),
            Some(_) => system.hosts.clear(),
        }
        self.refuse_circles(raw, &kinds)?;
        let places = self.places_of_tiers(raw, &kinds)?;
        let hosts = self.hosts_of_tiers(raw, &kinds, &places, model, system)?;
        let seats: Vec<Vec<Seat>> = (0..raw.len())
            .map(|index| self.seats(index, raw[index].get_ref(), &places[index], &hosts[index]))
            .collect::<Result<_, _>>()?;
        for (index, tier) in raw.iter().enumerate() {
            self.check_choices(index, tier.get_ref(), &kinds[index], &seats)?;
            let mut own = seats[index].clone();
            for seat in &mut own {
                let place = places[index].iter().position(|site| *site == seat.site).expect("a decider has a place");
                seat.targets = targets(&kinds[index], seat.site, &hosts[index][place], &seats);
            }
            let pools = self.pools(tier.get_ref(), model, system)?;
            let settings = self.settings(tier.get_ref())?;
            let read =
                self.tier((tier.get_ref(), settings.as_ref()), &names[index], &own, raw.len(), &system.regions)?;
            let mut read = Tier { seats: own, pools, ..read };
            let RawTier { limit, overflow, .. } = tier.get_ref();
            self.limits((limit.as_ref(), overflow.as_ref()), tier.get_ref().queue.is_some(), &mut read, &system.sites)?;
            self.guard(tier.get_ref(), &mut read)?;
            if let Some(settings) = &settings {
                self.settle(tier.get_ref(), settings, &mut read)?;
            }
            system.tiers.push(read);
        }
        Ok(())
    }

    /// A server that clients meet without a decider.
    fn direct(&self, raw: &[Spanned<RawTier>], model: &Server, system: &mut System) -> Result<(), SpecError> {
        let tier = raw[0].get_ref();
        if raw.len() > 1 {
            return Err(self.at(&tier.face, "face", "`none` stands alone: clients meet the server"));
        }
        fn span<T>(value: &Option<Spanned<T>>) -> Option<std::ops::Range<usize>> {
            value.as_ref().map(Spanned::span)
        }
        let targets = tier.targets.as_ref().expect("it has a kind").get_ref();
        let of_deciders = [
            ("at", span(&tier.at)),
            ("instances", span(&tier.instances)),
            ("dispatchers", span(&tier.dispatchers)),
            ("information", span(&tier.information)),
            ("poll_cost", span(&tier.poll_cost)),
            ("level", span(&tier.level)),
            ("attached", span(&tier.attached)),
            ("balancer", span(&tier.balancer)),
            ("told", tier.told.iter().flatten().next().map(Spanned::span)),
            ("ttl", span(&tier.ttl)),
            ("reports", span(&tier.reports)),
            ("probes", span(&tier.probes)),
            ("held", span(&tier.held)),
            ("limit", span(&tier.limit)),
            ("program", span(&tier.program)),
            ("settings", span(&tier.settings)),
            ("overflow", span(&tier.overflow)),
            ("ejection", span(&tier.ejection)),
            ("queue", span(&tier.queue)),
            ("breakers", span(&tier.breakers)),
            ("concurrency", span(&tier.concurrency)),
            ("slow_start", span(&tier.slow_start)),
            ("pool", tier.pool.first().map(Spanned::span)),
            ("weights", span(&targets.weights)),
        ];
        for (key, written) in of_deciders {
            if let Some(span) = written {
                return Err(self.error(span.start, key, "nothing decides at the face `none`: leave it out"));
            }
        }
        let speeds = self.per_target(&targets.speeds, "speeds", 1)?;
        system.hosts = self.make_hosts(model, 1, speeds, None, 0);
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
    fn kind(
        &self,
        index: usize,
        raw: &[Spanned<RawTier>],
        names: &[String],
        known_sites: &[Site],
    ) -> Result<Kind, SpecError> {
        let RawTier { face, targets, .. } = raw[index].get_ref();
        let Some(targets) = targets else {
            return Err(self.at(face, "tier", "a tier needs targets, e.g. `targets = { servers = 4 }`"));
        };
        let RawTargets { servers, sites, tiers, speeds, .. } = targets.get_ref();
        let kinds = [servers.is_some(), sites.is_some(), tiers.is_some()].iter().filter(|is| **is).count();
        if kinds != 1 {
            let right = "targets are of one kind: `servers = 4`, `sites = [\"east\"]` or `tiers = [\"gateway\"]`";
            return Err(self.at(targets, "targets", right));
        }
        if let (Some(speeds), None) = (speeds, servers) {
            return Err(self.at(speeds, "speeds", "only servers have speeds: leave them out"));
        }
        if face.get_ref() == "none" {
            return match servers {
                Some(one) if *one.get_ref() == 1 => Ok(Kind::Direct),
                _ => Err(self.at(face, "face", "`none` means one server; several need a gateway")),
            };
        }
        if let Some(number) = servers {
            return self.server_count(number).map(Kind::Servers);
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
            let known: Vec<&str> = known_sites.iter().map(|site| site.name.as_str()).collect();
            if known.is_empty() {
                return Err(self.at(
                    list,
                    "sites",
                    "no site is written: add `[[system.site]]` with a name and a region",
                ));
            }
            let sites = self.indices(list, "sites", "site", &known)?;
            return Ok(Kind::Sites { next: index + 1, sites });
        }
        let list = tiers.as_ref().expect("one kind is given");
        if list.get_ref().is_empty() {
            return Err(self.at(list, "tiers", "at least 1 tier is needed"));
        }
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = self.indices(list, "tiers", "tier", &known)?;
        for (text, tier) in list.get_ref().iter().zip(&found) {
            self.check_addressed(text, &raw[*tier])?;
        }
        Ok(Kind::Tiers(found))
    }

    /// Where each name of a list is among those known; none is in the list twice.
    pub(super) fn indices(
        &self,
        list: &Spanned<Vec<Text>>,
        key: &str,
        what: &str,
        known: &[&str],
    ) -> Result<Vec<usize>, SpecError> {
        let mut found = Vec::new();
        for text in list.get_ref() {
            let place = known.iter().position(|name| name == text.get_ref());
            let place = place.ok_or_else(|| self.at(text, key, &unknown(what, text.get_ref(), known)))?;
            if found.contains(&place) {
                return Err(self.at(
                    text,
                    key,
                    &format!("`{}` is named twice; give it a weight instead", text.get_ref()),
                ));
            }
            found.push(place);
        }
        Ok(found)
    }

    fn server_count(&self, number: &Spanned<u32>) -> Result<u32, SpecError> {
        match *number.get_ref() {
            0 => Err(self.at(number, "servers", "at least 1 server is needed")),
            count if u64::from(count) > SERVERS_LIMIT => {
                Err(self.at(number, "servers", &format!("at most {SERVERS_LIMIT} in all")))
            }
            count => Ok(count),
        }
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

    fn refuse_circles(&self, raw: &[Spanned<RawTier>], kinds: &[Kind]) -> Result<(), SpecError> {
        // A tier ends at servers where all that follow it do; what is left over is in a circle, or leads to one.
        let mut ends = vec![false; kinds.len()];
        for _ in kinds {
            for (tier, kind) in kinds.iter().enumerate() {
                ends[tier] = kind.next().iter().all(|next| ends[*next]);
            }
        }
        match ends.iter().position(|ends| !ends) {
            Some(tier) => {
                let targets = raw[tier].get_ref().targets.as_ref().expect("it has targets");
                Err(self.at(targets, "targets", "these tiers lead in a circle: a request would never reach a server"))
            }
            None => Ok(()),
        }
    }

    /// The sites at which each tier has deciders; one place that is no site where nothing is said.
    fn places_of_tiers(&self, raw: &[Spanned<RawTier>], kinds: &[Kind]) -> Result<Vec<Vec<Option<usize>>>, SpecError> {
        let mut places: Vec<Vec<Option<usize>>> = vec![Vec::new(); raw.len()];
        places[0] = vec![None];
        let mut open = vec![0];
        while let Some(tier) = open.pop() {
            let at = match &kinds[tier] {
                Kind::Sites { sites, .. } => sites.iter().map(|site| Some(*site)).collect(),
                _ => places[tier].clone(),
            };
            for &tier in kinds[tier].next() {
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
        match places.iter().position(Vec::is_empty) {
            Some(tier) => Err(self.at(
                &raw[tier].get_ref().face,
                "tier",
                "no request comes here: a tier before it names it in `targets = { tiers = [...] }`",
            )),
            None => Ok(places),
        }
    }

    /// Makes the hosts of each tier at each of its places, and gives their indices.
    fn hosts_of_tiers(
        &self,
        raw: &[Spanned<RawTier>],
        kinds: &[Kind],
        places: &[Vec<Option<usize>>],
        model: &Server,
        system: &mut System,
    ) -> Result<Vec<Vec<Vec<usize>>>, SpecError> {
        let mut hosts = Vec::with_capacity(raw.len());
        for (index, tier) in raw.iter().enumerate() {
            let Kind::Servers(number) = kinds[index] else {
                hosts.push(vec![Vec::new(); places[index].len()]);
                continue;
            };
            let targets = tier.get_ref().targets.as_ref().expect("it has a kind");
            let total = system.hosts.len() as u64 + u64::from(number) * places[index].len() as u64;
            if total > SERVERS_LIMIT {
                let message = format!("{total} servers at all sites together: at most {SERVERS_LIMIT}");
                return Err(self.at(targets, "servers", &message));
            }
            let speeds = self.per_target(&targets.get_ref().speeds, "speeds", number as usize)?;
            let mut make = |site: &Option<usize>| {
                let first = system.hosts.len();
                system.hosts.extend(self.make_hosts(model, number, speeds.clone(), *site, first));
                (first..system.hosts.len()).collect()
            };
            hosts.push(places[index].iter().map(&mut make).collect());
        }
        Ok(hosts)
    }

    /// The deciders of a tier, whose targets are not known yet.
    fn seats(
        &self,
        index: usize,
        tier: &RawTier,
        places: &[Option<usize>],
        own_hosts: &[Vec<usize>],
    ) -> Result<Vec<Seat>, SpecError> {
        let RawTier { at, instances, .. } = tier;
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
            Some(number) if u64::from(*number.get_ref()) * places.len() as u64 > CHOICES_LIMIT => {
                let message = format!("at most {CHOICES_LIMIT} at all sites together");
                return Err(self.at(number, "instances", &message));
            }
            Some(number) => *number.get_ref(),
            None => 1,
        };
        if index == 0 && number > 1 {
            let right = "something has to choose among them: put a tier of face `dns` in front";
            return Err(self.at(instances.as_ref().expect("it is above 1"), "instances", right));
        }
        if let (0, Some(at)) = (index, at) {
            let right = "something has to name the first server: put a tier of face `dns` in front";
            return Err(self.at(at, "at", right));
        }
        let mut seats = Vec::new();
        for (&site, hosts) in places.iter().zip(own_hosts) {
            if on_servers {
                seats.extend(hosts.iter().map(|&host| Seat { site, host: Some(host), ..Seat::default() }));
            } else {
                seats.extend((0..number).map(|_| Seat { site, ..Seat::default() }));
            }
        }
        Ok(seats)
    }

    /// Refuses a tier whose deciders would have more to keep than memory, or would draw more targets than there are.
    fn check_choices(&self, index: usize, tier: &RawTier, kind: &Kind, seats: &[Vec<Seat>]) -> Result<(), SpecError> {
        let targets: u64 = match kind {
            Kind::Servers(number) => u64::from(*number),
            _ => kind.next().iter().map(|next| seats[*next].len() as u64).sum(),
        };
        let built = tier.policy.as_ref().and_then(|text| Some((text, self.catalogue.build(text.get_ref()).ok()?)));
        if let Some((text, policy)) = built
            && let Some(Plain::LeastOf(drawn)) = policy.plain()
            && drawn as u64 > targets.max(MAY_BE_ALL)
        {
            let message = format!(
                "{drawn} cannot be drawn of {targets}; `least-connections` looks at all, `power-of-d(d = {targets})` too"
            );
            return Err(self.at(text, "policy", &message));
        }
        let dispatchers = tier.dispatchers.as_ref().map_or(1, |number| u64::from(*number.get_ref()));
        let deciders = (seats[index].len() as u64).saturating_mul(dispatchers);
        if deciders.saturating_mul(targets) <= CHOICES_LIMIT {
            return Ok(());
        }
        let message = format!(
            "{deciders} dispatchers for {targets} targets each: at most {CHOICES_LIMIT} pairs of a dispatcher and a target"
        );
        Err(self.at(tier.targets.as_ref().expect("it has a kind"), "targets", &message))
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
    pub(super) fn per_target(
        &self,
        list: &Option<Spanned<Vec<f64>>>,
        key: &str,
        targets: usize,
    ) -> Result<Option<Vec<f64>>, SpecError> {
        match list {
            Some(list) if list.get_ref().len() != targets => {
                Err(self.at(list, key, &format!("one number per target: {targets}, not {}", list.get_ref().len())))
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
            if !["gateway", "redirect"].contains(&raw.face.get_ref().as_str()) {
                let right = "only a gateway or a redirect sees the host and path of a request: leave it out";
                return Err(self.at(pool, "pool", right));
            }
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
            let same = |other: &Pool| other.host == *host && other.path.as_ref() == path.as_ref().map(Spanned::get_ref);
            if pools.iter().any(same) {
                return Err(self.at(pool, "pool", "an earlier pool is for the same `host` and `path`"));
            }
            let (first, count) = (system.hosts.len(), self.server_count(number)?);
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
}

/// What a decider at `site` chooses from; `hosts` are those of its tier there, `seats` the deciders of all tiers.
fn targets(kind: &Kind, site: Option<usize>, hosts: &[usize], seats: &[Vec<Seat>]) -> Vec<Target> {
    let all =
        |tier: usize| seats[tier].iter().enumerate().map(move |(seat, of)| (Target::Seat { tier, seat }, of.site));
    match kind {
        Kind::Servers(_) => hosts.iter().map(|host| Target::Host(*host)).collect(),
        Kind::Sites { next, sites } => sites
            .iter()
            .flat_map(|site| all(*next).filter(move |(_, at)| *at == Some(*site)))
            .map(|(target, _)| target)
            .collect(),
        // Deciders at the same site where the other tier has one there: a front node sends to its own servers.
        Kind::Tiers(tiers) => tiers
            .iter()
            .flat_map(|tier| all(*tier))
            .filter(|(_, at)| site.is_none() || at.is_none() || *at == site)
            .map(|(target, _)| target)
            .collect(),
        Kind::Direct => unreachable!("clients meet the server"),
    }
}
