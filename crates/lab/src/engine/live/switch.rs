//! Packet switches of a live run: what they need, and what runs beside their servers.
//!
//! A switch and its servers are on an Ethernet of the bed ([`crate::topology`]), where the service has an address of its own.
//! Clients connect to that one, so each server listens at all of its addresses, at the service's port, and beside it runs the
//! server's half (`sojourn switch server`) and, where the tier has `reports`, a load daemon (`sojourn loadd`). The switch
//! decides for connections, so each request has one of its own. The price of a bed: all clients of a region have one
//! address, so no policy may read it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use sojourn_bed::Ground;
use sojourn_bed::namespace::TEMPORARY;
use sojourn_model::system::{Face, Limit, Target, Tier};
use sojourn_model::{Mode, System};

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
pub(super) fn server(ground: &mut dyn Ground, program: &Path, name: &str, arguments: &[&str]) -> Result<Part, String> {
    let host = ground.host(name).map_err(|e| e.to_string())?;
    let address = SocketAddr::new(ground.address(host), PORT);
    let listen = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), PORT).to_string();
    let arguments = [&["node", "--listen", &listen], arguments].concat();
    Part::start_on(ground, (host, address), program, name, &arguments)
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
    /// Starts the front node, whose servers run already.
    pub(super) fn front(&self, ground: &mut dyn Ground, rest: &[String]) -> Result<Part, String> {
        let host = ground.host(self.name).map_err(|e| e.to_string())?;
        let entrance = entrance(ground, self.name).expect("a switch is on an Ethernet");
        let (heard_at, key) = (self.reports(ground), reports::key().display().to_string());
        let upstream = dns::reporting(self.system, ground, self.name);
        let overflow = self.overflow(ground);
        let mut arguments = vec!["switch", "front"];
        arguments.extend(rest.iter().chain(&upstream).chain(&overflow).map(String::as_str));
        if let Some(reports) = self.tier.reports {
            arguments.extend(["--reports", &heard_at]);
            arguments.extend(reports.estimator.iter().flat_map(|name| ["--estimator", name]));
        }
        if self.tier.reports.is_some() || !upstream.is_empty() {
            reports::make_key()?;
            arguments.extend(["--key", &key]);
        }
        Part::start_on(ground, (host, entrance), self.program, self.name, &arguments).map(Part::with_rules)
    }

    /// The switches to which it passes on what it cannot take, and those from which it takes what they cannot.
    fn overflow(&self, ground: &dyn Ground) -> Vec<String> {
        let Some(overflow) = self.tier.overflow else { return Vec::new() };
        let mut arguments = Vec::new();
        let peers = &self.tier.seats[self.seat].overflow;
        for name in peers.iter().map(|peer| name_of(self.tier, *peer)) {
            arguments.extend(["--overflow".into(), format!("{name}={}", bed::address(ground, &name))]);
        }
        if let Some(Limit { connections, returns }) = overflow.limit.filter(|_| !peers.is_empty()) {
            arguments.extend(["--overflow-limit".into(), format!("{connections},{returns}")]);
        }
        for (front, service) in self.passing_on(ground) {
            arguments.extend(["--accept".into(), format!("{service}={front}")]);
        }
        arguments
    }

    /// The switches of its tier that pass on to it: the address of each, and that of its service.
    fn passing_on(&self, ground: &dyn Ground) -> impl Iterator<Item = (IpAddr, IpAddr)> {
        let seats = self.tier.seats.iter().enumerate().filter(|(_, seat)| seat.overflow.contains(&self.seat));
        seats.map(move |(other, _)| {
            let name = name_of(self.tier, other);
            let service = entrance(ground, &name).expect("a switch is on an Ethernet");
            (bed::address(ground, &name), service.ip())
        })
    }

    /// Where the front node hears reports.
    fn reports(&self, ground: &dyn Ground) -> String {
        reports::receiver(bed::address(ground, self.name)).to_string()
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
        let front = bed::address(ground, switch.name).to_string();
        let both = arguments(switch.tier, ground, switch.name);
        let others: Vec<String> = switch.passing_on(ground).map(|(_, service)| service.to_string()).collect();
        let mut arguments = vec!["switch", "server", "--front", &front];
        arguments.extend(both.iter().map(String::as_str));
        arguments.extend(others.iter().flat_map(|service| ["--also", service]));
        switch.servers.iter().try_for_each(|name| {
            self.start(ground, (name.as_str(), "its half of the switch"), switch.program, &arguments)
        })
    }

    /// Starts a load daemon beside each server, if it is to report.
    pub(super) fn start_daemons(&mut self, ground: &dyn Ground, switch: &Switch<'_>) -> Result<(), String> {
        let Some(reports) = switch.tier.reports else { return Ok(()) };
        let (to, key) = (switch.reports(ground), reports::key().display().to_string());
        let (every, heartbeat) = (reports.every.to_string(), reports.heartbeat.unwrap_or(reports.every).to_string());
        let ask = format!("http://127.0.0.1:{PORT}/load");
        switch.servers.iter().try_for_each(|name| {
            let whose = ["loadd", "--name", name, "--to", &to, "--key", &key, "--ask", &ask];
            let mut arguments = [&whose[..], &["--every", &every, "--heartbeat", &heartbeat]].concat();
            let of_clients = reports.client_rates.map(|rates| (log(name).display().to_string(), rates.to_string()));
            if let Some((log, rates)) = &of_clients {
                arguments.extend(["--log", log, "--client-rates", rates]);
            }
            self.start(ground, (name.as_str(), "its load daemon"), switch.program, &arguments)
        })
    }

    fn start(
        &mut self,
        ground: &dyn Ground,
        (name, what): (&str, &str),
        program: &Path,
        arguments: &[&str],
    ) -> Result<(), String> {
        let reached = SocketAddr::new(bed::address(ground, name), PORT);
        let part =
            Part::start_on(ground, (bed::place(ground, name), reached), program, &format!("{name}, {what}"), arguments);
        self.0.push(part?);
        Ok(())
    }

    /// What was started, the last first.
    pub(super) fn into_parts(self) -> impl Iterator<Item = Part> {
        self.0.into_iter().rev()
    }
}

/// What both halves of a switch are told; `front` is the name of its host.
pub(super) fn arguments(tier: &Tier, ground: &dyn Ground, front: &str) -> [String; 4] {
    let entrance = entrance(ground, front).expect("a switch is on an Ethernet");
    ["--service".into(), entrance.to_string(), "--mode".into(), mode(tier).into()]
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

/// The mode, as `sojourn switch` names it.
fn mode(tier: &Tier) -> &'static str {
    match tier.balancing.mode {
        Mode::MacForwarding => "mac",
        Mode::Nat => "nat",
        Mode::SingleRewriting => "rewrite",
        Mode::IpTunnelling => "tunnel",
    }
}
