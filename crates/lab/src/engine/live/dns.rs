//! The DNS of a live run.
//!
//! One that gives each client an address for the whole run, or the next one at each request, is no process: the load generator
//! rotates. Any other is `sojourn dns` on a host of the bed: clients ask it for the name of the service from their own
//! hosts, whose addresses are those of their regions, and the front nodes that it names report to it as each its site. The
//! price: what it answers with has to be at one port, so its sites are packet switches.

use std::net::SocketAddr;
use std::path::Path;

use sojourn_bed::Ground;
use sojourn_dispatch::{self as dispatch, capacity};
use sojourn_load::Rotation;
use sojourn_model::System;
use sojourn_model::system::{Face, Probes, Reports, Resolves, Tier, TtlRule};
use sojourn_part::settings::dns::{
    DnsSettings, Probing, ServiceSettings, SiteReports, SiteSettings, Ttl, ZoneSettings,
};
use sojourn_part::settings::{CapacityShare, Echoes, Upstream};
use sojourn_sim::capability::{self, Combination};
use sojourn_stats::Span;

use super::part::Part;
use super::{bed, reports};
use crate::topology::name_of;

/// The zone, and the name of the service in it (RFC 6761 keeps `test` for such).
const ZONE: &str = "sojourn.test";
const SERVICE: &str = "www";

/// The name of its server, which is outside: inside, the zone would have to say its address.
const NAME_SERVER: &str = "ns.sojourn-dns.test";

/// The port of name servers.
const PORT: u16 = 53;

/// How clients find out where to go.
pub(super) enum Naming {
    /// The load generator deals addresses to them.
    Rotated(Rotation),
    /// They ask a DNS.
    Served,
}

/// How the clients of the DNS in front of a system find out where to go.
pub(super) fn naming(combination: &Combination<'_>) -> Naming {
    match (capability::dns_is_served(combination), combination.system.rules.resolves) {
        (true, _) => Naming::Served,
        (false, Resolves::EachRequest) => Naming::Rotated(Rotation::Request),
        (false, Resolves::Ttl | Resolves::Every(_)) => Naming::Rotated(Rotation::Client),
    }
}

/// The name of the service as a URL.
pub(super) fn url() -> String {
    format!("http://{SERVICE}.{ZONE}/")
}

/// A DNS that is to be started.
pub(super) struct Dns<'a> {
    pub(super) program: &'a Path,
    pub(super) tier: &'a Tier,
    pub(super) seed: u64,
    /// Where it records its decisions, if it does.
    pub(super) record: Option<&'a Path>,
    /// How many sites an answer names.
    pub(super) answers: usize,
    /// The names of its sites and the addresses that it answers with.
    pub(super) sites: &'a [(String, SocketAddr)],
}

impl Dns<'_> {
    /// Starts it on its host; clients ask at the address of the part.
    pub(super) fn start(&self, ground: &mut dyn Ground) -> Result<Part, String> {
        let name = name_of(self.tier, 0);
        let host = ground.host(&name).map_err(|e| e.to_string())?;
        let address = SocketAddr::new(ground.address(host), PORT);
        if self.tier.reports.is_some() {
            reports::make_key()?;
        }
        Part::start_on(ground, (host, address), self.program, &name, &["dns"], &self.settings(address))
    }

    fn settings(&self, listen: SocketAddr) -> DnsSettings {
        let tier = self.tier;
        let reports = tier.reports.map(|reports| SiteReports {
            listen: reports::receiver(listen.ip()),
            key_file: reports::key(),
            estimator: reports.estimator.unwrap_or(capacity::DEFAULT).into(),
            capacity: CapacityShare { at: reports.capacity_at },
        });
        let sites = self.sites.iter().enumerate().map(|(place, (name, address))| SiteSettings {
            weight: tier.weights.get(place).copied().unwrap_or(1.0),
            ..SiteSettings::new(name, vec![address.ip()])
        });
        let rule = match tier.ttl_rule {
            TtlRule::Constant => dispatch::TtlRule::Constant,
            TtlRule::Variable => dispatch::TtlRule::Variable,
            TtlRule::Adaptive => dispatch::TtlRule::Adaptive,
        };
        let ttl = Ttl { span: tier.ttl, rule };
        let service = ServiceSettings {
            answers: self.answers,
            probes: tier.probes.map(|Probes { at_most, refresh }| Probing { at_most, refresh }),
            client_rates: tier.reports.and_then(|reports| reports.client_rates),
            record: self.record.map(Path::to_owned),
            ..ServiceSettings::new(SERVICE, &tier.policy, ttl, sites.collect())
        };
        let zone = ZoneSettings::new(ZONE, vec![NAME_SERVER.into()], vec![service]);
        DnsSettings { listen: vec![listen], seed: self.seed, reports, zones: vec![zone], ..DnsSettings::default() }
    }
}

/// How the front node of a site reports to the DNS in front of it, if there is one that hears it.
pub(super) fn reporting(system: &System, ground: &dyn Ground, name: &str) -> Upstream {
    let dns = system.tiers.first().filter(|tier| tier.face == Face::Dns);
    let Some((dns, reports)) = dns.and_then(|dns| Some((dns, dns.reports?))) else { return Upstream::default() };
    upstream(dns, reports, reports::receiver(bed::address(ground, &name_of(dns, 0))), name)
}

/// The same, to one that hears reports at `to`.
fn upstream(dns: &Tier, reports: Reports, to: SocketAddr, name: &str) -> Upstream {
    let usual = Upstream::default();
    let Reports { every, heartbeat, client_rates, .. } = reports;
    // Ordered anew each `refresh`, now a moment earlier and now later: half of it is never too soon.
    let refresh = dns.probes.map_or(usual.echoes.refresh, |probes| Span(probes.refresh.0 / 2));
    Upstream {
        to: vec![to],
        name: Some(name.into()),
        every,
        heartbeat: heartbeat.unwrap_or(every),
        client_rates: client_rates.unwrap_or(usual.client_rates),
        echoes: Echoes { refresh, ..usual.echoes },
    }
}

#[cfg(test)]
mod tests {
    use sojourn_part::settings::to_toml;

    use super::*;

    #[test]
    fn its_settings_say_what_the_tier_says() {
        let probes = Some(Probes { at_most: 3, refresh: Span::from_secs_f64(120.0) });
        let rates = Some(Span::from_secs_f64(64.0));
        let every = Span::from_secs_f64(0.5);
        let reports = Some(Reports {
            every,
            heartbeat: None,
            client_rates: rates,
            hidden_load: false,
            cost: Span::ZERO,
            lossy: false,
            estimator: None,
            capacity_at: 1.0,
        });
        let tier = Tier {
            ttl: Span::from_secs_f64(60.0),
            ttl_rule: TtlRule::Variable,
            weights: vec![1.0, 2.5],
            probes,
            reports,
            ..Tier::new(Face::Dns, "weighted(by = \"x\")")
        };
        let site = |name: &str, address: &str| (name.to_owned(), address.parse().unwrap());
        let sites = [site("c1", "194.0.0.9:80"), site("c2", "198.0.0.9:80")];
        let (program, record) = (Path::new("x"), Some(Path::new("/r/d.jsonl")));
        let dns = Dns { program, tier: &tier, seed: 7, record, answers: 2, sites: &sites };
        let settings = to_toml(&dns.settings("194.0.0.1:53".parse().unwrap()));
        let config: toml::Table = settings.parse().unwrap();
        assert_eq!((config["listen"][0].as_str(), config["seed"].as_integer()), (Some("194.0.0.1:53"), Some(7)));
        assert_eq!(config["reports"]["listen"].as_str(), Some("194.0.0.1:7400"));
        let service = &config["zone"][0]["service"][0];
        assert_eq!(service["policy"].as_str(), Some("weighted(by = \"x\")"));
        assert_eq!((service["ttl"].as_str(), service["answers"].as_integer()), (Some("variable(60 s)"), Some(2)));
        assert_eq!(service["probes"]["refresh"].as_str(), Some("120 s"));
        assert_eq!(service["client_rates"].as_str(), Some("64 s"));
        assert_eq!(service["record"].as_str(), Some("/r/d.jsonl"));
        assert_eq!(service["site"][1]["address"][0].as_str(), Some("198.0.0.9"));
        assert_eq!(service["site"][1]["weight"].as_float(), Some(2.5));
    }

    #[test]
    fn front_nodes_are_told_what_it_waits_for() {
        let seconds = Span::from_secs_f64;
        let reports = Reports {
            every: seconds(0.5),
            heartbeat: None,
            client_rates: None,
            hidden_load: false,
            cost: Span::ZERO,
            lossy: false,
            estimator: None,
            capacity_at: 1.0,
        };
        let told = |reports: Reports, probes: Option<Probes>| {
            let tier = Tier { probes, ..Tier::new(Face::Dns, "random") };
            upstream(&tier, reports, "194.0.0.1:7400".parse().unwrap(), "c1")
        };
        let usual = Upstream {
            to: vec!["194.0.0.1:7400".parse().unwrap()],
            name: Some("c1".into()),
            every: seconds(0.5),
            heartbeat: seconds(0.5),
            ..Upstream::default()
        };
        assert_eq!(told(reports, None), usual);
        let rates = Reports { heartbeat: Some(seconds(4.0)), client_rates: Some(seconds(64.0)), ..reports };
        let probes = Probes { at_most: 3, refresh: seconds(120.0) };
        let echoes = Echoes { refresh: seconds(60.0), ..usual.echoes };
        let (heartbeat, client_rates) = (seconds(4.0), seconds(64.0));
        assert_eq!(told(rates, Some(probes)), Upstream { heartbeat, client_rates, echoes, ..usual });
    }
}
