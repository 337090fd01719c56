//! The system of an experiment as hosts and links: what a test bed of network namespaces is made of.
//!
//! Each server and each decider is a host, and so are the clients of each region together. Two hosts of one site are on
//! one fast network; others are joined by the path between their regions, whose round trip is drawn once for the two, with
//! half of it, and of its losses, each way. A packet switch and its servers are on an Ethernet, behind a router to which
//! the paths lead. What the simulator gives each client the bed gives each client host: the price of one host for all
//! clients of a region is that they share its rate.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use sojourn_bed::link::{LinkSpec, Queue};
use sojourn_bed::{Segment, Topology};
use sojourn_model::System;
use sojourn_model::system::{Face, Path, Seat, Target, Tier};
use sojourn_stats::{Law, Span, Stream};

/// The least that a queue holds (bytes), and for how long it holds what the link transmits.
const QUEUE_BYTES_LEAST: f64 = 64_000.0;
const QUEUE_S: f64 = 0.1;

/// Where a host is and what for.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) region: usize,
    pub(crate) site: Option<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Clients,
    Decider,
    Server,
    /// In front of an Ethernet, whose hosts are reached through it.
    Router,
}

/// The hosts and links of `system`; what is drawn once is drawn from `seed`.
///
/// # Errors
/// When a region has no address left for a host.
pub fn topology(system: &System, seed: u64) -> Result<Topology, String> {
    let taken = vec![0; system.regions.len()];
    let mut building = Building { system, seed, topology: Topology::default(), places: Vec::new(), taken };
    for (name, place) in places(system) {
        building.host(&name, place)?;
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
    for (index, region) in system.regions.iter().enumerate() {
        let name = if region.name.is_empty() { "client" } else { &region.name };
        places.push((as_host(name), Place { region: index, site: None, kind: Kind::Clients }));
    }
    for tier in system.tiers.iter().filter(|tier| tier.face != Face::Client) {
        for (index, seat) in tier.seats.iter().enumerate().filter(|(_, seat)| seat.host.is_none()) {
            let region = system.region_of(seat.site);
            places.push((name_of(tier, index), Place { region, site: seat.site, kind: Kind::Decider }));
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
        let (first, second) = (from.min(to), from.max(to));
        let entity = format!("{}..{}", self.name(first), self.name(second));
        let rtt_s = path.rtt.sample(&mut Stream::new(self.seed, &entity, "rtt"));
        let name = self.way(from, to);
        let spec = LinkSpec { delay: Law::constant(rtt_s / 2.0), ..LinkSpec::constant(name, Span::ZERO) };
        let spec = path.rate.map_or(spec.clone(), |rate| spec.at(rate, queue(rate))).losing(path.loss_each_way());
        links.push(self.topology.link(spec));
        links
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
            (Kind::Clients, _) | (_, Kind::Clients) => (network.rtt, network.client_rate),
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

/// Whether packets go up, from clients to servers; between two of a kind, from the one that was named first.
fn is_forth(from: Place, to: Place, is_first: bool) -> bool {
    match (from.kind == Kind::Clients, to.kind == Kind::Clients) {
        (true, false) => true,
        (false, true) => false,
        _ => is_first,
    }
}

fn queue(rate: f64) -> Queue {
    Queue::DropTail { bytes: (rate / 8.0 * QUEUE_S).max(QUEUE_BYTES_LEAST) as u64 }
}
