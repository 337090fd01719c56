//! Where clients, deciders and servers are, and what the ways between them take.

use sojourn_model::system::one_way;
use sojourn_model::{Link, System, Wire};
use sojourn_stats::{Law, Span, Time};
use sojourn_traffic::Workload;

use super::super::link::ClientWires;
use super::transfers::Ends;

/// Places and the ways between them.
pub(super) struct Places {
    seed: u64,
    regions: usize,
    /// The region of each client that is somewhere; the others are in the first.
    region_of_client: Vec<usize>,
    /// Site and region of each server.
    hosts: Vec<(Option<usize>, usize)>,
    /// The path between two regions, at `a * regions + b`; empty where nothing is said of them.
    paths: Vec<Way>,
    /// Where nothing is said of regions: one way between client and system, and each client's own link from there.
    plain: (Span, Option<ClientWires>),
    /// The first client on the machine of each; empty where each has its own.
    machines: Vec<u32>,
    /// The link between a machine and a region, at `machine * regions + region`, once it is known.
    links: Vec<Option<(Link, Wire)>>,
}

/// What is said of a path.
struct Way {
    rtt: Law,
    /// Of replies; requests are so small that no rate holds them up.
    rate: Option<f64>,
    /// The link that it shares with others, and that link's rate.
    medium: Option<(usize, f64)>,
}

/// The region of each client.
pub(super) fn clients(system: &System, workload: &Workload) -> Vec<usize> {
    if system.clients.is_empty() {
        let clients = match workload {
            Workload::Open(open) => open.clients,
            Workload::Closed(closed) => closed.users,
            Workload::Trace(traced) => traced.clients,
            // A log's clients are known as they come.
            Workload::Replay(_) | Workload::Sessions(_) => 0,
        };
        return vec![0; clients as usize];
    }
    let number = |of: &sojourn_model::system::Clients| std::iter::repeat_n(of.region, of.number as usize);
    system.clients.iter().flat_map(number).collect()
}

impl Places {
    pub(super) fn new(system: &System, seed: u64) -> Places {
        let regions = system.regions.len();
        let path = |at: usize| {
            let path = system.paths.between(at / regions, at % regions)?;
            let medium = path.medium.map(|medium| (medium, system.media[medium].rate));
            Some(Way { rtt: path.rtt.clone(), rate: path.rate.down, medium })
        };
        let client = Some(system.network.client_link()).filter(|link| !link.is_instant());
        Places {
            seed,
            regions,
            region_of_client: system
                .clients
                .iter()
                .flat_map(|of| std::iter::repeat_n(of.region, of.number as usize))
                .collect(),
            hosts: system.hosts.iter().map(|host| (host.site, system.region_of(host.site))).collect(),
            paths: (0..regions * regions).map_while(path).collect(),
            plain: (client.map_or(Span::ZERO, |link| link.delay), client.map(|link| ClientWires::new(Wire::new(link)))),
            machines: system.first_on_machine(),
            links: Vec::new(),
        }
    }

    /// The site of a server.
    pub(super) fn site_of_host(&self, host: usize) -> Option<usize> {
        self.hosts[host].0
    }

    /// The region of a server.
    pub(super) fn region_of_host(&self, host: usize) -> usize {
        self.hosts[host].1
    }

    /// The first client on the machine of `client`: to all others the two are one.
    pub(super) fn machine(&self, client: u32) -> u32 {
        self.machines.get(client as usize).copied().unwrap_or(client)
    }

    /// One way between a client and a region.
    pub(super) fn one_way(&mut self, client: u32, region: usize) -> Span {
        if self.paths.is_empty() {
            return self.plain.0;
        }
        self.link(client, region).0.delay
    }

    /// When a reply of `size` bytes that leaves `region` at `now` is at its client.
    pub(super) fn reply(&mut self, client: u32, region: usize, size: u64, now: Time) -> Time {
        if self.paths.is_empty() {
            return self.plain.1.as_mut().map_or(now, |wires| wires.of(client).send(now, size).arrives);
        }
        self.link(client, region).1.send(now, size).arrives
    }

    /// One way between two regions, for deciders and servers: the path's mean.
    pub(super) fn between(&self, a: usize, b: usize) -> Span {
        self.paths.get(a * self.regions + b).map_or(Span::ZERO, |way| Span::from_secs_f64(way.rtt.mean() / 2.0))
    }

    /// The rate of the path between two regions (bit/s).
    pub(super) fn rate_between(&self, a: usize, b: usize) -> Option<f64> {
        self.paths.get(a * self.regions + b).and_then(|way| way.rate)
    }

    /// A client and the region that it asks, where something is said of paths.
    pub(super) fn ends(&mut self, client: u32, region: usize) -> Ends {
        let rtt = Span(2 * self.one_way(client, region).0);
        Ends { client, machine: self.machine(client), home: self.home(client), region, rtt }
    }

    /// The rate at which a reply can flow from `region` to its client when nothing else does (bit/s).
    pub(super) fn rate(&self, client: u32, region: usize) -> Option<f64> {
        let medium = self.medium(client, region).map(|(_, rate)| rate);
        let own = self.rate_between(self.home(client), region);
        [own, medium].into_iter().flatten().reduce(f64::min)
    }

    /// The link that the path between a client and a region shares with others, and that link's rate (bit/s).
    pub(super) fn medium(&self, client: u32, region: usize) -> Option<(usize, f64)> {
        self.medium_between(self.home(client), region)
    }

    /// The same of the path between two regions.
    pub(super) fn medium_between(&self, a: usize, b: usize) -> Option<(usize, f64)> {
        self.paths.get(a * self.regions + b).and_then(|way| way.medium)
    }

    /// The region of a client.
    pub(super) fn home(&self, client: u32) -> usize {
        self.region_of_client.get(client as usize).copied().unwrap_or(0)
    }

    /// The link between a client's machine and a region: its round trip is drawn when it is first needed, from a stream of
    /// its own.
    fn link(&mut self, client: u32, region: usize) -> &mut (Link, Wire) {
        let (home, client) = (self.home(client), self.machine(client));
        let place = client as usize * self.regions + region;
        if self.links.len() <= place {
            self.links.resize(place + 1, None);
        }
        let Way { rtt, rate, .. } = &self.paths[home * self.regions + region];
        self.links[place].get_or_insert_with(|| {
            let link = Link { delay: one_way(rtt, self.seed, client, region), rate: *rate };
            (link, Wire::new(link))
        })
    }
}
