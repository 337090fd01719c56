//! The system of an experiment as hosts and links: what a test bed of network namespaces is made of.
//!
//! Each server and each decider is a host, and so are the clients of each region together, or where they differ those of each
//! machine ([`clients`]). Two hosts of one site are on one fast network; others are joined by the path between their regions,
//! with half of its round trip, and of its losses, each way. A client's round trips are those that the simulator draws for it.
//! A packet switch and its servers are on an Ethernet, behind a router to which the paths lead. The ways of a DNS lose nothing,
//! and those to its clients take no time, as in the simulator. What that gives each client the bed gives each client host: the
//! price of one host for all clients of a region is that they share its rate.

mod clients;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use sojourn_bed::link::{LinkSpec, Queue};
use sojourn_bed::{Segment, Topology};
use sojourn_model::system::{Face, LineQueue, Path, Seat, Target, Tier, one_way};
use sojourn_model::{Link, System};
use sojourn_stats::{Law, Span};

pub(crate) use self::clients::{ClientHosts, check as check_clients};

/// Where a host is and what for.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) region: usize,
    pub(crate) site: Option<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Clients {
        /// The number of the first of them.
        first: u32,
    },
    Dns,
    Decider,
    Server,
    /// In front of an Ethernet, whose hosts are reached through it.
    Router,
    /// A web server behind a proxy, which is a server.
    Origin,
}

/// The hosts and links of `system`; what is drawn once is drawn from `seed`.
///
/// # Errors
/// When a region has no address left for a host, or there are too many machines of clients.
pub fn topology(system: &System, seed: u64) -> Result<Topology, String> {
    with_origins(system, false, seed)
}

/// The same of a system whose servers are proxies, if so said, each of a web server on a host of its own.
pub(crate) fn with_origins(system: &System, has_origins: bool, seed: u64) -> Result<Topology, String> {
    check_clients(system)?;
    let taken = vec![0; system.regions.len()];
    let mut building = Building { system, seed, topology: Topology::default(), places: Vec::new(), taken };
    for (name, place) in places(system) {
        building.host(&name, place)?;
    }
    for host in system.hosts.iter().filter(|_| has_origins) {
        let place = Place { region: system.region_of(host.site), site: host.site, kind: Kind::Origin };
        building.host(&origin_of(&host.name), place)?;
    }
    for (name, seat) in switches(system) {
        building.segment(&name, seat)?;
    }
    building.join();
    Ok(building.topology)
}

/// The hosts of `system` in the order in which a topology has them.
pub(crate) fn places(system: &System) -> Vec<(String, Place)> {
    let mut places = Vec::new();
    for host in ClientHosts::of(system).hosts {
        places.push((host.name, Place { region: host.region, site: None, kind: Kind::Clients { first: host.first } }));
    }
    for tier in system.tiers.iter().filter(|tier| tier.face != Face::Client) {
        for (index, seat) in tier.seats.iter().enumerate().filter(|(_, seat)| seat.host.is_none()) {
            let region = system.region_of(seat.site);
            let kind = if tier.face == Face::Dns { Kind::Dns } else { Kind::Decider };
            places.push((name_of(tier, index), Place { region, site: seat.site, kind }));
        }
    }
    for host in &system.hosts {
        let region = system.region_of(host.site);
        places.push((as_host(&host.name), Place { region, site: host.site, kind: Kind::Server }));
    }
    for (name, seat) in switches(system) {
        let region = system.region_of(seat.site);
        places.push((router_of(&name), Place { region, site: seat.site, kind: Kind::Router }));
    }
    places
}

/// The packet switches of `system`, by the names of their hosts.
pub(crate) fn switches(system: &System) -> impl Iterator<Item = (String, &Seat)> {
    let switches = system.tiers.iter().filter(|tier| tier.face == Face::Switch);
    switches.flat_map(|tier| {
        let seats = tier.seats.iter().enumerate().filter(|(_, seat)| seat.host.is_none());
        seats.map(|(index, seat)| (name_of(tier, index), seat))
    })
}

/// The address of the service on the Ethernet that a host is on; none where it is on none.
pub(crate) fn service(topology: &Topology, host: &str) -> Option<Ipv4Addr> {
    topology.segment_of(topology.find(host)?)?.services.first().copied()
}

/// The host of the web server behind a proxy.
pub(crate) fn origin_of(proxy: &str) -> String {
    format!("{}-origin", as_host(proxy))
}

fn router_of(switch: &str) -> String {
    format!("{switch}-router")
}

/// The name of a decider: its tier's, with its number where the tier has several.
pub(crate) fn name_of(tier: &Tier, seat: usize) -> String {
    let name = as_host(&tier.name);
    if tier.seats.len() == 1 { name } else { format!("{name}-{}", seat + 1) }
}

/// A name as a host can have it.
pub(crate) fn as_host(name: &str) -> String {
    name.replace(|sign: char| !sign.is_alphanumeric(), "-")
}

impl Kind {
    fn are_clients(self) -> bool {
        matches!(self, Kind::Clients { .. })
    }
}

struct Building<'a> {
    system: &'a System,
    seed: u64,
    topology: Topology,
    places: Vec<Place>,
    /// How many addresses of each region are.
    taken: Vec<u32>,
}

impl Building<'_> {
    fn host(&mut self, name: &str, place: Place) -> Result<(), String> {
        let address = self.address(place.region)?;
        self.topology.host(name, address);
        self.places.push(place);
        Ok(())
    }

    fn address(&mut self, of: usize) -> Result<Ipv4Addr, String> {
        let region = &self.system.regions[of];
        let before = self.taken[of];
        let (prefix, bits) = region.addresses.unwrap_or((u32::from(Ipv4Addr::new(10, of as u8, 0, 0)), 16));
        // The first and the last address of a prefix are no host's.
        let room = (1u64 << (32 - bits)).saturating_sub(2);
        if u64::from(before) >= room {
            return Err(format!(
                "region `{}` has addresses for {room} hosts and needs more: give it a shorter prefix, e.g. `10.1.0.0/16`",
                region.name
            ));
        }
        self.taken[of] += 1;
        Ok(Ipv4Addr::from_bits(prefix + 1 + before))
    }

    /// The Ethernet of a switch and its servers.
    fn segment(&mut self, name: &str, seat: &Seat) -> Result<(), String> {
        let found = |topology: &Topology, name: &str| topology.find(name).expect("every part has a host");
        let router = found(&self.topology, &router_of(name));
        let mut hosts = vec![found(&self.topology, name)];
        for target in &seat.targets {
            let Target::Host(host) = *target else { unreachable!("live was checked: a switch sends to servers") };
            hosts.push(found(&self.topology, &as_host(&self.system.hosts[host].name)));
        }
        let service = self.address(self.places[router].region)?;
        self.topology.segments.push(Segment { router, hosts, services: vec![service] });
        Ok(())
    }

    fn join(&mut self) {
        let mut shared = BTreeMap::new();
        let is_routed = |host: &usize| self.topology.segment_of(*host).is_none();
        let routed: Vec<usize> = (0..self.places.len()).filter(is_routed).collect();
        for &from in &routed {
            for &to in routed.iter().filter(|to| **to != from) {
                let (a, b) = (self.places[from], self.places[to]);
                let is_forth = is_forth(a, b, from < to);
                let links = match self.system.paths.between(a.region, b.region) {
                    _ if a.kind == Kind::Dns || b.kind == Kind::Dns => vec![self.of_dns(from, to)],
                    Some(path) if a.site.is_none() || a.site != b.site => {
                        let path = path.clone();
                        self.along(&path, (from, to), is_forth, &mut shared)
                    }
                    Some(_) => vec![self.link(from, to, Span::ZERO)],
                    None => self.in_one_place((from, to), (a.kind, b.kind), &mut shared),
                };
                self.topology.route(from, to, links);
            }
        }
    }

    /// A path between two regions: the medium that it shares, then its own rate, losses and delay.
    fn along(
        &mut self,
        path: &Path,
        (from, to): (usize, usize),
        is_forth: bool,
        shared: &mut BTreeMap<String, usize>,
    ) -> Vec<usize> {
        let mut links = Vec::new();
        if let Some(medium) = path.medium {
            let medium = &self.system.media[medium];
            let name = format!("{} {}", medium.name, if is_forth { "up" } else { "down" });
            links.push(self.shared(name, medium.rate, shared));
        }
        let (rate, loss) = (path.rate, path.losses());
        let (rate, loss) = if is_forth { (rate.up, loss.up) } else { (rate.down, loss.down) };
        let spec = LinkSpec::constant(self.way(from, to), self.one_way(&path.rtt, from, to)).losing(loss);
        let spec = rate.map_or(spec.clone(), |rate| spec.at(rate, queue_as(path.line.queue, rate)));
        links.push(self.topology.link(LinkSpec {
            jitter: path.line.jitter.clone(),
            reorders: path.line.reorders,
            ..spec
        }));
        links
    }

    /// One way between two hosts: of a client what the simulator draws for it, of others the mean.
    fn one_way(&self, rtt: &Law, from: usize, to: usize) -> Span {
        let (a, b) = (self.places[from], self.places[to]);
        match (a.kind, b.kind) {
            (Kind::Clients { .. }, Kind::Clients { .. }) => Span::from_secs_f64(rtt.mean() / 2.0),
            (Kind::Clients { first }, _) => one_way(rtt, self.seed, first, b.region),
            (_, Kind::Clients { first }) => one_way(rtt, self.seed, first, a.region),
            _ => Span::from_secs_f64(rtt.mean() / 2.0),
        }
    }

    /// The way from a DNS or to it.
    fn of_dns(&mut self, from: usize, to: usize) -> usize {
        let (a, b) = (self.places[from], self.places[to]);
        let is_asked = a.kind.are_clients() || b.kind.are_clients();
        let rtt = self.system.rtt(a.region, b.region).filter(|_| !is_asked);
        self.link(from, to, rtt.map_or(Span::ZERO, |rtt| Span::from_secs_f64(rtt.mean() / 2.0)))
    }

    /// Between hosts of a system of which only `[system.network]` is said: as its replies pass it in the simulator.
    fn in_one_place(
        &mut self,
        (from, to): (usize, usize),
        kinds: (Kind, Kind),
        shared: &mut BTreeMap<String, usize>,
    ) -> Vec<usize> {
        let network = &self.system.network;
        let (rtt, rate) = match kinds {
            (Kind::Clients { .. }, _) | (_, Kind::Clients { .. }) => (network.rtt, network.client_rate),
            (Kind::Decider, Kind::Server) | (Kind::Server, Kind::Decider) => (network.server_rtt, None),
            _ => (Span::ZERO, None),
        };
        let server_rate = network.server_rate.filter(|_| kinds.0 == Kind::Server);
        let shared_rate = network.shared_rate().filter(|_| kinds.0 == Kind::Server);
        let mut links = Vec::new();
        if let Some(rate) = server_rate {
            let name = format!("{} out", self.name(from));
            links.push(self.shared(name, rate, shared));
        }
        if let Some(rate) = shared_rate {
            links.push(self.shared("cluster".into(), rate, shared));
        }
        let spec = LinkSpec::constant(self.way(from, to), Span(rtt.0 / 2));
        let spec = rate.map_or(spec.clone(), |rate| spec.at(rate, queue(rate)));
        links.push(self.topology.link(spec));
        links
    }

    fn link(&mut self, from: usize, to: usize, delay: Span) -> usize {
        let name = self.way(from, to);
        self.topology.link(LinkSpec::constant(name, delay))
    }

    fn shared(&mut self, name: String, rate: f64, shared: &mut BTreeMap<String, usize>) -> usize {
        let topology = &mut self.topology;
        let link = || topology.link(LinkSpec::constant(name.clone(), Span::ZERO).at(rate, queue(rate)));
        *shared.entry(name.clone()).or_insert_with(link)
    }

    fn way(&self, from: usize, to: usize) -> String {
        format!("{} to {}", self.name(from), self.name(to))
    }

    fn name(&self, host: usize) -> &str {
        &self.topology.hosts[host].name
    }
}

/// Whether packets go up, from clients to servers; between two deciders, or a decider and a server, from the one that was named
/// first.
fn is_forth(from: Place, to: Place, is_first: bool) -> bool {
    match (from.kind.are_clients(), to.kind.are_clients()) {
        (true, false) => true,
        (false, true) => false,
        // What servers give each other is on the medium that their replies are on, as in the simulator.
        _ if from.kind == Kind::Server && to.kind == Kind::Server => false,
        _ => is_first,
    }
}

fn queue(rate: f64) -> Queue {
    queue_as(None, rate)
}

/// The queue in front of a path's rate, as the file says or as the simulator's links have it.
fn queue_as(written: Option<LineQueue>, rate: f64) -> Queue {
    let link = Link { delay: Span::ZERO, rate: Some(rate) };
    let or_usual = |bytes: Option<u64>| bytes.unwrap_or_else(|| link.queue_bytes().expect("it has a rate"));
    match written.unwrap_or(LineQueue::DropTail(None)) {
        LineQueue::DropTail(bytes) => Queue::DropTail { bytes: or_usual(bytes) },
        LineQueue::Codel(bytes) => Queue::Codel { bytes: or_usual(bytes) },
    }
}
