//! What stands between users and an answer, as `[system]` writes it, made into one [`System`] of indices.
//!
//! Tiers are read in the order of the file, the one nearest the client first. A tier's targets are of one kind: servers of
//! its own, sites (at each of which the next tier of the file has a decider), or other tiers by name. From that follows
//! how many deciders a tier has and which hosts there are; everything that cannot be is refused here, with its line.

mod hosts;
mod leftovers;
mod model;
mod seats;
mod target;

use serde::Deserialize;
use sojourn_model::system::{Region, Seat, Site, Tier};
use sojourn_model::{Server, System};
use toml::Spanned;

pub(super) use self::model::ServerSource;
use self::target::{Kind, targets};
use super::client::{RawClient, RawResolver};
use super::fault::RawFault;
use super::links::RawNetwork;
use super::path::{RawMedium, RawPaths, RawRegion, RawTcp};
use super::tier::{NO_POLICY, RawTier};
use super::workload::RawWorkload;
use super::{Reader, Run, SpecError, Text};

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
}
