//! A system as data: what stands between users and an answer.
//!
//! A request meets **tiers** of deciders, the one nearest the client first. Each tier has a [`Face`], which says how
//! requests and replies pass it, and one or more [`Seat`]s, the deciders themselves: one, several side by side, one at
//! each site, or one on every server. A seat's targets are seats of other tiers or hosts. Hosts and seats are at sites,
//! sites in regions, and [`Paths`] join the regions. The simulator, the live engine and the report all read this one
//! description; `lab` makes it from an experiment file, and everything in it is an index, so that nothing is looked up by
//! name later.
//!
//! The price of one description is that it can say more than an engine can do. Each engine refuses by name what it does
//! not have yet.

mod client;
mod fault;
mod path;
mod tier;
mod words;

use sojourn_dispatch::Guards;
use sojourn_stats::Law;

pub use client::{Abandoned, Backoff, Budget, Clients, Hedge, Resolver, Resolves, Retries, Rules, TtlUse};
pub use fault::{Fault, Subject, Trouble};
pub use path::{Directions, Line, LineQueue, Medium, Path, Paths, Transport, one_way};
pub use tier::{
    Affinity, Attachment, Face, Held, Limit, Overflow, Pool, Probes, Reports, Seat, Target, Tier, Told, TtlRule,
};

use crate::{ClusterNetwork, Server};

/// A system: regions, resolvers, sites, tiers, hosts, paths and faults.
#[derive(Clone, Debug)]
pub struct System {
    /// Where clients, resolvers and sites are. A system that names no region has one, without a name.
    pub regions: Vec<Region>,
    /// Who asks the DNS on behalf of clients; clients that none of them serves ask by themselves.
    pub resolvers: Vec<Resolver>,
    /// Places with hosts; empty where nothing is said of places.
    pub sites: Vec<Site>,
    /// The tiers, the one nearest the client first; none: clients meet the only host.
    pub tiers: Vec<Tier>,
    /// The servers. At most one tier has a given host among its targets, or all seats of that tier share it.
    pub hosts: Vec<Host>,
    /// The paths between regions; where no region is named, [`System::network`] says it all.
    pub paths: Paths,
    /// Links that several paths share.
    pub media: Vec<Medium>,
    /// How requests and replies are carried over the paths; none: as messages, of which none is lost.
    pub transport: Option<Transport>,
    /// The network of a system in one place.
    pub network: ClusterNetwork,
    /// Where the workload's clients are, in the order of their numbers; empty: all in the first region.
    pub clients: Vec<Clients>,
    /// What a client does besides asking.
    pub rules: Rules,
    /// What breaks, and when.
    pub faults: Vec<Fault>,
}

/// Where clients, resolvers and sites are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// The addresses of its clients, for policies that judge nearness by address: prefix and length in bits.
    pub addresses: Option<(u32, u8)>,
}

/// A place with hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its name.
    pub name: String,
    /// Its region, an index into [`System::regions`].
    pub region: usize,
}

/// A server and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Its name among the targets of its tier, such as `server-1`.
    pub name: String,
    /// What it is made of.
    pub server: Server,
    /// Its site, an index into [`System::sites`]; none where nothing is said of places.
    pub site: Option<usize>,
}

/// The name of host number `index` (from 0) where a system has no sites: `server-1` is the first.
pub fn server_name(index: usize) -> String {
    format!("server-{}", index + 1)
}

impl System {
    /// One server that clients meet without a balancer or links.
    pub fn single(server: Server) -> System {
        System {
            regions: vec![Region::default()],
            resolvers: Vec::new(),
            sites: Vec::new(),
            tiers: Vec::new(),
            hosts: hosts(vec![server]),
            paths: Paths::default(),
            media: Vec::new(),
            transport: None,
            network: ClusterNetwork::default(),
            clients: Vec::new(),
            rules: Rules::default(),
            faults: Vec::new(),
        }
    }

    /// Servers behind one tier, which has one seat in front of all of them.
    pub fn balanced(tier: Tier, servers: Vec<Server>) -> System {
        let targets = (0..servers.len()).map(Target::Host).collect();
        let seats = vec![Seat { targets, ..Seat::default() }];
        System { tiers: vec![Tier { seats, ..tier }], hosts: hosts(servers), ..System::single(nothing()) }
    }

    /// The only tier of a system that has no other.
    pub fn tier(&self) -> Option<&Tier> {
        self.tiers.first().filter(|_| self.tiers.len() == 1)
    }

    /// The first client on the machine of each client; empty where each has a machine of its own.
    pub fn first_on_machine(&self) -> Vec<u32> {
        if self.clients.iter().all(|of| of.machines == of.number) {
            return Vec::new();
        }
        let mut firsts = Vec::new();
        for of in &self.clients {
            let before = firsts.len() as u32;
            firsts.extend((0..of.number).map(|client| before + of.first_on_machine_of(client)));
        }
        firsts
    }

    /// The servers' models, in the order of the hosts.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.hosts.iter().map(|host| &host.server)
    }

    /// The region of a host or seat at `site`.
    pub fn region_of(&self, site: Option<usize>) -> usize {
        site.map_or(0, |site| self.sites[site].region)
    }

    /// Whether it is what every engine knows: at most one tier with one seat and its own servers, behind a gateway or a
    /// switch, in one place of which nothing but [`System::network`] is said, where nothing breaks.
    pub fn is_plain(&self) -> bool {
        let is_plain = |tier: &Tier| {
            tier.seats.len() == 1
                && tier.seats[0].host.is_none()
                && matches!(tier.face, Face::Gateway | Face::Switch)
                && tier.pools.is_empty()
                && tier.reports.is_none()
                && tier.limit.is_none()
                && tier.guards.are_none()
        };
        self.tiers.len() <= 1
            && self.tiers.iter().all(is_plain)
            && self.sites.is_empty()
            && self.resolvers.is_empty()
            && self.regions.len() == 1
            && self.regions[0].addresses.is_none()
            && self.paths.is_empty()
            && self.faults.is_empty()
            && self.rules == Rules::default()
            && self.hosts.iter().all(|host| host.server.machine.is_none() && !host.server.drops())
    }

    /// Whether no server gets more requests at once than a limit, so that what is too much is refused.
    pub fn has_limits(&self) -> bool {
        let has_hosts =
            |tier: &&Tier| tier.seats.iter().flat_map(|seat| &seat.targets).any(|of| matches!(of, Target::Host(_)));
        let mut in_front = self.tiers.iter().filter(has_hosts).peekable();
        let refuses = |tier: &Tier| {
            let Guards { queue, breakers, concurrency, .. } = &tier.guards;
            let has_end = queue.as_ref().is_some_and(|queue| queue.most > 0 || queue.wait.is_some());
            let is_limited = (tier.limit.is_some() && !tier.limits.contains(&0)) || concurrency.is_some();
            let breaks = breakers.is_some_and(|breakers| breakers.requests > 0);
            breaks || (is_limited && (has_end || !tier.waits))
        };
        in_front.peek().is_some() && in_front.all(refuses)
    }

    /// The round trip between two regions, as it is drawn for each client; none where nothing is said of it.
    pub fn rtt(&self, from: usize, to: usize) -> Option<&Law> {
        self.paths.between(from, to).map(|path| &path.rtt)
    }
}

fn hosts(servers: Vec<Server>) -> Vec<Host> {
    let host = |(index, server)| Host { name: server_name(index), server, site: None };
    servers.into_iter().enumerate().map(host).collect()
}

fn nothing() -> Server {
    Server::from_toml("discipline = \"ps\"\ndemand = \"0 s\"").expect("a server model")
}
