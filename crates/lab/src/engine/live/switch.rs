//! Packet switches of a live run: what they need, and what runs beside their servers.
//!
//! A switch and its servers are on an Ethernet of the bed ([`crate::topology`]), where the service has an address of its own.
//! Clients connect to that one, so each server listens at all of its addresses, at the service's port, and beside it runs the
//! server's half (`sojourn switch server`) and, where the tier has `reports`, a load daemon (`sojourn loadd`). The switch
//! decides for connections, so each request has one of its own. The price of a bed: all clients of a region have one
//! address, so no policy may read it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};

use sojourn_bed::Ground;
use sojourn_bed::namespace::TEMPORARY;
use sojourn_dispatch::{self as dispatch, capacity};
use sojourn_model::system::{Face, Limit, Target, Tier};
use sojourn_model::{Mode, System};
use sojourn_part::settings::Settings;
use sojourn_part::settings::loadd::LoaddSettings;
use sojourn_part::settings::node::NodeSettings;
use sojourn_part::settings::switch::{self, Accepted, SwitchServer, SwitchServerSettings, SwitchSettings};

use super::part::Part;
use super::{bed, dns, reports};
use crate::topology::{as_host, name_of, service};

/// The port of every service: each is alone on its Ethernet.
const PORT: u16 = 80;

/// Where clients connect to, on the Ethernet of a host; none where it is on none.
pub(super) fn entrance(ground: &dyn Ground, host: &str) -> Option<SocketAddr> {
    let address = service(ground.links()?.topology(), &as_host(host))?;
    Some(SocketAddr::new(address.into(), PORT))
}

/// Starts a server of an Ethernet, which listens at all of its addresses.
pub(super) fn server(ground: &mut dyn Ground, program: &Path, settings: NodeSettings) -> Result<Part, String> {
    let host = ground.host(&settings.name).map_err(|e| e.to_string())?;
    let place = (host, SocketAddr::new(ground.address(host), PORT));
    let listen = vec![SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), PORT)];
    let settings = NodeSettings { listen, ..settings };
    Part::start_on(ground, place, program, &settings.name, &["node"], &settings)
}

/// A switch that is to be started.
pub(super) struct Switch<'a> {
    pub(super) program: &'a Path,
    pub(super) system: &'a System,
    pub(super) tier: &'a Tier,
    /// Its number among those of its tier.
    pub(super) seat: usize,
    /// Its host's name.
    pub(super) name: &'a str,
    /// Its servers' names.
    pub(super) servers: Vec<String>,
}

impl Switch<'_> {
    /// Starts the front node, whose servers run already: it chooses as `settings` say.
    pub(super) fn front(&self, ground: &mut dyn Ground, settings: SwitchSettings) -> Result<Part, String> {
        let host = ground.host(self.name).map_err(|e| e.to_string())?;
        let entrance = entrance(ground, self.name).expect("a switch is on an Ethernet");
        let servers = self.servers.iter().enumerate().map(|(place, name)| {
            let weight = self.tier.weights.get(place).copied().unwrap_or(1.0);
            Ok(SwitchServer { weight, ..SwitchServer::new(name, v4(bed::address(ground, name))?) })
        });
        let upstream = dns::reporting(self.system, ground, self.name);
        let mut settings = SwitchSettings {
            service: v4_at(entrance)?,
            mode: mode(self.tier),
            backends: servers.collect::<Result<_, String>>()?,
            accept: self.passing_on(ground)?,
            upstream,
            ..settings
        };
        if let Some(reports) = self.tier.reports {
            settings.reports.listen = Some(self.reports(ground));
            settings.reports.estimator = reports.estimator.unwrap_or(capacity::DEFAULT).into();
            settings.reports.capacity.at = reports.capacity_at;
        }
        if let Some(overflow) = self.tier.overflow {
            let peers = self.tier.seats[self.seat].overflow.iter().map(|peer| name_of(self.tier, *peer));
            let site = |name: String| Ok(SwitchServer::new(name.clone(), v4(bed::address(ground, &name))?));
            settings.overflow = peers.map(site).collect::<Result<_, String>>()?;
            let limit = overflow.limit.filter(|_| !settings.overflow.is_empty());
            settings.overflow_limit = limit.map(as_decided).transpose()?;
        }
        if settings.reports.listen.is_some() || settings.upstream.name.is_some() {
            reports::make_key()?;
            settings.key_file = Some(reports::key());
        }
        let (place, verb) = ((host, entrance), ["switch", "front"]);
        Part::start_on(ground, place, self.program, self.name, &verb, &settings).map(Part::with_rules)
    }

    /// The services of the switches of its tier that pass on to it.
    fn passing_on(&self, ground: &dyn Ground) -> Result<Vec<Accepted>, String> {
        let seats = self.tier.seats.iter().enumerate().filter(|(_, seat)| seat.overflow.contains(&self.seat));
        let accepted = |(other, _)| {
            let name = name_of(self.tier, other);
            let service = entrance(ground, &name).expect("a switch is on an Ethernet");
            Ok(Accepted { service: v4(service.ip())?, front: v4(bed::address(ground, &name))? })
        };
        seats.map(accepted).collect()
    }

    /// Where the front node hears reports.
    fn reports(&self, ground: &dyn Ground) -> SocketAddr {
        reports::receiver(bed::address(ground, self.name))
    }
}

/// What runs beside the servers of switches.
#[derive(Default)]
pub(super) struct Beside(Vec<Part>);

impl Beside {
    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.0.iter()
    }

    /// Starts the server's half of a switch beside each of its servers.
    pub(super) fn start_halves(&mut self, ground: &dyn Ground, switch: &Switch<'_>) -> Result<(), String> {
        let service = entrance(ground, switch.name).expect("a switch is on an Ethernet");
        let settings = SwitchServerSettings {
            service: v4_at(service)?,
            mode: mode(switch.tier),
            front: Some(v4(bed::address(ground, switch.name))?),
            also: switch.passing_on(ground)?.iter().map(|accepted| accepted.service).collect(),
            ..SwitchServerSettings::default()
        };
        switch.servers.iter().try_for_each(|name| {
            self.start(ground, (name, "its half of the switch"), switch.program, &["switch", "server"], &settings)
        })
    }

    /// Starts a load daemon beside each server, if it is to report.
    pub(super) fn start_daemons(&mut self, ground: &dyn Ground, switch: &Switch<'_>) -> Result<(), String> {
        let Some(reports) = switch.tier.reports else { return Ok(()) };
        let usual = LoaddSettings::default();
        switch.servers.iter().try_for_each(|name| {
            let settings = LoaddSettings {
                name: name.clone(),
                to: vec![switch.reports(ground)],
                key_file: Some(reports::key()),
                ask: Some(format!("http://127.0.0.1:{PORT}/load")),
                every: reports.every,
                heartbeat: reports.heartbeat.unwrap_or(reports.every),
                log: reports.client_rates.map(|_| log(name)),
                client_rates: reports.client_rates.unwrap_or(usual.client_rates.max(reports.every)),
                ..usual.clone()
            };
            self.start(ground, (name, "its load daemon"), switch.program, &["loadd"], &settings)
        })
    }

    fn start<T: Settings>(
        &mut self,
        ground: &dyn Ground,
        (name, what): (&str, &str),
        program: &Path,
        verb: &[&str],
        settings: &T,
    ) -> Result<(), String> {
        let place = (bed::place(ground, name), SocketAddr::new(bed::address(ground, name), PORT));
        self.0.push(Part::start_on(ground, place, program, &format!("{name}, {what}"), verb, settings)?);
        Ok(())
    }

    /// What was started, the last first.
    pub(super) fn into_parts(self) -> impl Iterator<Item = Part> {
        self.0.into_iter().rev()
    }
}

/// An address as a switch has them.
fn v4(address: IpAddr) -> Result<Ipv4Addr, String> {
    match address {
        IpAddr::V4(address) => Ok(address),
        IpAddr::V6(_) => Err(format!("live's packet switch forwards IPv4, not to {address}")),
    }
}

fn v4_at(address: SocketAddr) -> Result<SocketAddrV4, String> {
    Ok(SocketAddrV4::new(v4(address.ip())?, address.port()))
}

/// A limit as a decider has it.
pub(super) fn as_decided(Limit { connections, returns }: Limit) -> Result<dispatch::Limit, String> {
    dispatch::Limit::new(connections, returns).map_err(|e| e.to_string())
}

/// The access log of a server, if it is to have one: the rates of clients that its load daemon reports are counted in it.
pub(super) fn access_log(system: &System, host: usize) -> Option<PathBuf> {
    let has_it = |tier: &&Tier| tier.seats.iter().any(|seat| seat.targets.contains(&Target::Host(host)));
    let tier = system.tiers.iter().filter(|tier| tier.face == Face::Switch).find(has_it)?;
    tier.reports?.client_rates.map(|_| log(&system.hosts[host].name))
}

fn log(server: &str) -> PathBuf {
    Path::new(TEMPORARY).join(format!("{server}.log"))
}

/// The mode, as settings name it.
fn mode(tier: &Tier) -> switch::Mode {
    match tier.balancing.mode {
        Mode::MacForwarding => switch::Mode::Mac,
        Mode::Nat => switch::Mode::Nat,
        Mode::SingleRewriting => switch::Mode::Rewrite,
        Mode::IpTunnelling => switch::Mode::Tunnel,
    }
}
