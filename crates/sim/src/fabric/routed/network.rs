//! Where clients, deciders and servers are, what the ways between them take, and when packets are lost there.

use std::collections::BTreeMap;

use sojourn_model::system::{Host, one_way};
use sojourn_model::{Link, Spell, System, Wire};
use sojourn_stats::{Law, Span, Time};
use sojourn_traffic::Workload;

use super::cuts::{Cuts, Location};
use crate::fabric::deciders::{Decider, Next};
use crate::fabric::link::ClientWires;

/// All that is between the parts of a system and its clients.
pub(super) struct Network {
    seed: u64,
    regions: usize,
    /// The region of each client that is somewhere; the others are in the first.
    region_of_client: Vec<usize>,
    hosts: Vec<Location>,
    deciders: Vec<Location>,
    cuts: Cuts,
    /// The link that the replies of a site share.
    site_wires: Vec<Wire>,
    /// One way between deciders and servers at one site.
    site_delay: Span,
    /// The paths with a rate from what a gateway forwards to, by decider and target.
    relays: BTreeMap<(u32, u32), Wire>,
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

/// The two ends of a transfer.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) client: u32,
    /// The first client on its machine.
    pub(super) machine: u32,
    /// The client's region.
    pub(super) home: usize,
    /// The region that it asks, and the round trip between them.
    pub(super) region: usize,
    pub(super) rtt: Span,
}

impl Network {
    pub(super) fn new(system: &System, deciders: &[Decider], cuts: Cuts, seed: u64) -> Network {
        let regions = system.regions.len();
        let path = |at: usize| {
            let path = system.paths.between(at / regions, at % regions)?;
            let medium = path.medium.map(|medium| (medium, system.media[medium].rate));
            Some(Way { rtt: path.rtt.clone(), rate: path.rate.down, medium })
        };
        let [client, cluster] = [system.network.client_link(), system.network.cluster_link()]
            .map(|link| Some(link).filter(|link| !link.is_instant()));
        let host = |(number, host): (usize, &Host)| Location {
            region: system.region_of(host.site),
            site: host.site,
            host: Some(number as u32),
            is_client: false,
        };
        let decider = |of: &Decider| Location { region: of.region, site: of.site, host: of.host, is_client: false };
        Network {
            seed,
            regions,
            region_of_client: system
                .clients
                .iter()
                .flat_map(|of| std::iter::repeat_n(of.region, of.number as usize))
                .collect(),
            hosts: system.hosts.iter().enumerate().map(host).collect(),
            deciders: deciders.iter().map(decider).collect(),
            cuts,
            site_wires: cluster.map_or(Vec::new(), |link| vec![Wire::new(link); system.sites.len().max(1)]),
            site_delay: cluster.map_or(Span::ZERO, |link| link.delay),
            relays: BTreeMap::new(),
            paths: (0..regions * regions).map_while(path).collect(),
            plain: (client.map_or(Span::ZERO, |link| link.delay), client.map(|link| ClientWires::new(Wire::new(link)))),
            machines: system.first_on_machine(),
            links: Vec::new(),
        }
    }

    /// Where a part of the system is.
    #[inline]
    fn location(&self, part: Next) -> &Location {
        match part {
            Next::Server(host) => &self.hosts[host as usize],
            Next::Decider(decider) => &self.deciders[decider as usize],
        }
    }

    /// Where a client is.
    fn location_of_client(&self, client: u32) -> Location {
        Location::of_client(self.home(client))
    }

    /// The region of a part of the system.
    pub(super) fn region_of(&self, part: Next) -> usize {
        self.location(part).region
    }

    /// One way between deciders and servers at one site.
    pub(super) fn site_delay(&self) -> Span {
        self.site_delay
    }

    fn are_at_one_site(&self, one: Next, other: Next) -> bool {
        self.location(one).site == self.location(other).site
    }

    /// One way between a decider and what it has chosen.
    pub(super) fn between(&self, decider: u32, next: Next) -> Span {
        match self.are_at_one_site(Next::Decider(decider), next) {
            true => self.site_delay,
            false => self.between_regions(self.deciders[decider as usize].region, self.region_of(next)),
        }
    }

    /// Whether a message between parts of the system that sets out now is not lost by a cut.
    #[inline]
    pub(super) fn passes(&self, from: Next, to: Next, now: Time) -> bool {
        self.cuts.are_none() || self.cuts.pass(self.location(from), self.location(to), now)
    }

    /// Whether a message from a client to a part of the system is not.
    #[inline]
    pub(super) fn passes_from_client(&self, client: u32, to: Next, now: Time) -> bool {
        self.cuts.are_none() || self.cuts.pass(&self.location_of_client(client), self.location(to), now)
    }

    /// The share of the packets between parts that is lost beside what their path loses anyway.
    pub(super) fn lost(&self, from: Next, to: Next, now: Time) -> f64 {
        self.cuts.lost(self.location(from), self.location(to), now)
    }

    /// The same, to what is in a region.
    pub(super) fn lost_to_region(&self, from: Next, region: usize, now: Time) -> f64 {
        self.cuts.lost(self.location(from), &Location::of_client(region), now)
    }

    /// The first instant from `now` on at which a packet from a client to a part is not lost by a cut.
    pub(super) fn next_passage(&self, client: u32, to: Next, now: Time) -> Time {
        self.cuts.next_passage(&self.location_of_client(client), self.location(to), now)
    }

    /// What a transfer between two parts that begins at `now` meets.
    pub(super) fn spells(&self, from: Next, to: Next, now: Time) -> Vec<Spell> {
        self.cuts.spells(self.location(from), self.location(to), now)
    }

    /// The same, between a client and a part: cuts are the same in both directions.
    pub(super) fn spells_of_client(&self, client: u32, part: Next, now: Time) -> Vec<Spell> {
        self.cuts.spells(&self.location_of_client(client), self.location(part), now)
    }

    /// When the first byte and the last of a reply that a server sends at `now` have left its site.
    pub(super) fn leave_site(&mut self, host: usize, size: u64, now: Time) -> (Time, Time) {
        match self.site_wires.get_mut(self.hosts[host].site.unwrap_or(0)) {
            None => (now, now),
            Some(wire) => {
                let passage = wire.send(now, size);
                (passage.first_byte, passage.arrives)
            }
        }
    }

    /// When the first byte and the last of a reply, which leave the site of server `host` at these instants, are at
    /// `gateway`, which may be at another site and chose `target`.
    pub(super) fn relay_from_site(
        &mut self,
        (gateway, target): (u32, u32),
        host: usize,
        leaves: (Time, Time),
        size: u64,
    ) -> (Time, Time) {
        let server = Next::Server(host as u32);
        if self.are_at_one_site(Next::Decider(gateway), server) {
            return leaves;
        }
        let first_byte = leaves.0 + self.between(gateway, server);
        (first_byte, self.relay((gateway, target), server, size, leaves.1))
    }

    /// When a reply of `size` bytes that leaves `inner` at `now` is at the gateway that chose it as its `target`.
    pub(super) fn relay(&mut self, (gateway, target): (u32, u32), inner: Next, size: u64, now: Time) -> Time {
        let delay = self.between(gateway, inner);
        let rate = match self.are_at_one_site(Next::Decider(gateway), inner) {
            true => None,
            false => self.rate_between(self.deciders[gateway as usize].region, self.region_of(inner)),
        };
        if rate.is_none() {
            return now + delay;
        }
        let wire = self.relays.entry((gateway, target));
        wire.or_insert_with(|| Wire::new(Link { delay, rate })).send(now, size).arrives
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
            return self.plain.1.as_mut().map_or(now, |wires| wires.of_client(client).send(now, size).arrives);
        }
        self.link(client, region).1.send(now, size).arrives
    }

    /// One way between two regions, for deciders and servers: the path's mean.
    pub(super) fn between_regions(&self, a: usize, b: usize) -> Span {
        self.paths.get(a * self.regions + b).map_or(Span::ZERO, |way| Span::from_secs_f64(way.rtt.mean() / 2.0))
    }

    /// The rate of the path between two regions (bit/s).
    fn rate_between(&self, a: usize, b: usize) -> Option<f64> {
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
