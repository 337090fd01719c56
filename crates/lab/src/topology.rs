//! The system of an experiment as hosts and links: what a test bed of network namespaces is made of.
//!
//! Each server and each decider is a host, and so are the clients of each region together. Two hosts of one site are on
//! one fast network; others are joined by the path between their regions, whose round trip is drawn once for the two, with
//! half of it, and of its losses, each way. What the simulator gives each client the bed gives each client host: the
//! price of one host for all clients of a region is that they share its rate.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use sojourn_bed::Topology;
use sojourn_bed::link::{LinkSpec, Loss, Queue};
use sojourn_model::system::{Face, Path, Tier};
use sojourn_model::{LossModel, System};
use sojourn_stats::{Law, Span, Stream};

/// The least that a queue holds (bytes), and for how long it holds what the link transmits.
const QUEUE_BYTES_LEAST: f64 = 64_000.0;
const QUEUE_S: f64 = 0.1;

/// Where a host is and what for.
#[derive(Clone, Copy)]
struct Place {
    region: usize,
    site: Option<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Clients,
    Decider,
    Server,
}

/// The hosts and links of `system`; what is drawn once is drawn from `seed`.
///
/// # Errors
/// When a region has no address left for a host.
pub fn topology(system: &System, seed: u64) -> Result<Topology, String> {
    let mut building = Building { system, seed, topology: Topology::default(), places: Vec::new() };
    for (index, region) in system.regions.iter().enumerate() {
        let name = if region.name.is_empty() { "client" } else { &region.name };
        building.host(name, Place { region: index, site: None, kind: Kind::Clients })?;
    }
    for tier in system.tiers.iter().filter(|tier| tier.face != Face::Client) {
        for (index, seat) in tier.seats.iter().enumerate().filter(|(_, seat)| seat.host.is_none()) {
            let region = system.region_of(seat.site);
            building.host(&name_of(tier, index), Place { region, site: seat.site, kind: Kind::Decider })?;
        }
    }
    for host in &system.hosts {
        let region = system.region_of(host.site);
        building.host(&host.name, Place { region, site: host.site, kind: Kind::Server })?;
    }
    building.join();
    Ok(building.topology)
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
}

impl Building<'_> {
    fn host(&mut self, name: &str, place: Place) -> Result<(), String> {
        let before = self.places.iter().filter(|other| other.region == place.region).count() as u32;
        let region = &self.system.regions[place.region];
        let (prefix, bits) = region.addresses.unwrap_or((u32::from(Ipv4Addr::new(10, place.region as u8, 0, 0)), 16));
        // The first and the last address of a prefix are no host's.
        let room = (1u64 << (32 - bits)).saturating_sub(2);
        if u64::from(before) >= room {
            return Err(format!(
                "region `{}` has addresses for {room} hosts and needs more: give it a shorter prefix, e.g. `10.1.0.0/16`",
                region.name
            ));
        }
        self.topology.host(as_host(name), Ipv4Addr::from_bits(prefix + 1 + before));
        self.places.push(place);
        Ok(())
    }

    fn join(&mut self) {
        let mut shared = BTreeMap::new();
        for from in 0..self.places.len() {
            for to in (0..self.places.len()).filter(|to| *to != from) {
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
        let spec = path.rate.map_or(spec.clone(), |rate| spec.at(rate, queue(rate))).losing(loss(path));
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

/// Half of a path's losses, which is what each direction has.
fn loss(path: &Path) -> Loss {
    let (share, correlation) = (path.loss / 2.0, path.loss_correlation);
    match path.loss_model {
        _ if share == 0.0 => Loss::None,
        _ if correlation == 0.0 => Loss::Independent(share),
        LossModel::GilbertElliott => Loss::correlated(share, correlation),
        LossModel::Nistnet => Loss::Nistnet { share, correlation },
    }
}

fn queue(rate: f64) -> Queue {
    Queue::DropTail { bytes: (rate / 8.0 * QUEUE_S).max(QUEUE_BYTES_LEAST) as u64 }
}
