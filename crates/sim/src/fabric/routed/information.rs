//! What deciders know besides requests: where their targets are, how long to keep what they know of clients, and the
//! messages that come to them.

mod messages;
mod origins;
mod probes;
mod reports;

use sojourn_dispatch::{BackendId, Hardware, News, Origin, Signals, Standing};
use sojourn_model::System;
use sojourn_model::system::{Face, Trouble};
use sojourn_stats::{Span, Time};

use self::messages::Message;
pub(super) use self::messages::Messages;
use self::origins::Origins;
use self::probes::Probing;
use self::reports::Reporting;
use super::balancers::{Balancers, client_rules};
use super::faults::{Change, Faults};
use super::network::Network;
use super::servers::Servers;
use super::stations::Stations;
use crate::fabric::deciders::{Decider, Next};

/// What deciders know besides requests.
pub(super) struct Information {
    /// Where requests come from, where a decider reads it or clients are probed; and whether others than a DNS read it.
    origins: Option<Origins>,
    of_requests: bool,
    reporting: Option<Reporting>,
    probing: Option<Probing>,
}

/// What reports and probes are made of, and where they go.
pub(super) struct View<'a> {
    pub(super) now: Time,
    pub(super) balancers: &'a mut Balancers,
    pub(super) stations: &'a Stations,
    pub(super) network: &'a mut Network,
    pub(super) faults: &'a Faults,
    pub(super) messages: &'a mut Messages,
}

impl Information {
    /// What the deciders of `system` know from the start is set; `clients` has the region of each client, and `askers` who asks
    /// the DNS for it.
    pub(super) fn new(
        system: &System,
        balancers: &mut Balancers,
        (network, stations, servers): (&Network, &Stations, &Servers),
        clients: &[usize],
        askers: Vec<u32>,
        seed: u64,
    ) -> Information {
        let probing = Probing::new(system, balancers.len(), seed);
        let reads = |decider: &Decider| decider.balancer.requires().contains(Signals::ORIGIN);
        let has_origins = probing.is_some() || balancers.iter().any(reads);
        let information = Information {
            origins: has_origins.then(|| Origins::new(system, clients.to_vec(), seed)),
            of_requests: balancers.iter().any(|decider| decider.face != Face::Dns && reads(decider)),
            reporting: Reporting::new(system, balancers, network, stations, askers, seed),
            probing,
        };
        let tiers = system.tiers.iter().flat_map(|tier| std::iter::repeat_n(tier, tier.seats.len()));
        for (number, tier) in (0..).zip(tiers) {
            let decider = &mut balancers[number];
            if tier.probes.is_some() || tier.reports.is_some_and(|reports| reports.client_rates.is_some()) {
                decider.balancer.keep_clients(client_rules(tier));
            }
            if decider.balancer.is_of_node() {
                describe_nodes(decider, system, servers);
            }
            let Some(origins) = &information.origins else { continue };
            for target in 0..decider.targets.len() {
                let next = balancers[number].targets[target];
                balancers.set_origin(number, target as u32, origins.within(network.region_of(next), &name_of(next)));
            }
        }
        information
    }

    /// Deciders are drained from now on, or not any more.
    pub(super) fn drained(&mut self, deciders: &[u32], view: &mut View<'_>) {
        if let Some(reporting) = &mut self.reporting {
            deciders.iter().for_each(|decider| reporting.watch_above(*decider as usize, view));
        }
    }

    /// Deciders learn whether the targets of a fault answer.
    pub(super) fn health_known(
        &self,
        faults: &Faults,
        number: u32,
        balancers: &mut Balancers,
        network: &Network,
        now: Time,
    ) {
        let Change { hosts, deciders, trouble, .. } = faults.change(number);
        let is_cut = *trouble == Trouble::Cut;
        for (number, decider) in (0..).zip(balancers.iter_mut()) {
            if self.goes_by_reports(number) || decider.face == Face::Client {
                continue;
            }
            for (target, &next) in (0..).zip(&decider.targets) {
                let is_looked_at = match next {
                    Next::Server(host) => is_cut || hosts.contains(&host),
                    Next::Decider(other) => (is_cut || deciders.contains(&other)) && decider.face != Face::Dns,
                };
                if !is_looked_at {
                    continue;
                }
                let is_lost = faults.is_silent(next, now) || !network.passes(Next::Decider(number), next, now);
                // One that is down may be chosen all the same, where too few are up.
                let is_up = decider.balancer.front().standing(BackendId(target)) != Standing::Down;
                match is_lost {
                    true if is_up => decider.balancer.learn(target, News::Refused, now),
                    false if !is_up => decider.balancer.learn(target, News::Answered, now),
                    _ => {}
                }
            }
        }
    }

    /// Whether a decider goes by reports whether its targets are up.
    pub(super) fn goes_by_reports(&self, decider: u32) -> bool {
        self.reporting.as_ref().is_some_and(|reporting| reporting.is_about_targets_of(decider as usize))
    }

    /// Where a client is, or a resolver, that a DNS is asked by: it may be probed from now on.
    pub(super) fn asker(&mut self, client: u32) -> Origin {
        self.probing.iter_mut().for_each(|probing| probing.know(client));
        self.origin(client)
    }

    fn origin(&self, client: u32) -> Origin {
        self.origins.as_ref().map_or(Origin::default(), |origins| origins.origin(client))
    }

    /// Where a request of `client` comes from, where deciders other than a DNS read it.
    #[inline]
    pub(super) fn origin_of_request(&self, client: u32) -> Option<Origin> {
        self.of_requests.then(|| self.origin(client))
    }

    /// When [`Information::report_what_is_due`] is due.
    #[inline]
    pub(super) fn next_at(&self) -> Time {
        self.reporting.as_ref().map_or(Time::NEVER, Reporting::next_at)
    }

    /// A request is in a server.
    #[inline]
    pub(super) fn arrived(&mut self, host: usize, view: &mut View<'_>) {
        if let Some(reporting) = &mut self.reporting {
            reporting.arrived(host, view);
        }
    }

    /// A request of `client` has been served, after so long at the server.
    #[inline]
    pub(super) fn served(&mut self, host: usize, client: u32, bytes: u64, stayed: Span, view: &mut View<'_>) {
        if let Some(reporting) = &mut self.reporting {
            reporting.served(host, client, bytes, stayed, view);
        }
    }

    /// A request has left a server before its end.
    #[inline]
    pub(super) fn cancelled(&mut self, host: u32) {
        if let Some(reporting) = &mut self.reporting {
            reporting.cancelled(host);
        }
    }

    /// Takes the messages that come now, and sends the reports that are due.
    pub(super) fn report_what_is_due(&mut self, view: &mut View<'_>) {
        self.take_messages(view);
        while let Some(reporting) = self.reporting.as_mut().filter(|reporting| reporting.next_at() <= view.now) {
            reporting.tick(view);
            self.take_messages(view);
        }
    }

    fn take_messages(&mut self, view: &mut View<'_>) {
        let now = view.now;
        while let Some(message) = view.messages.take(now) {
            match message {
                Message::Load { reporter, load, is_taken } => {
                    let reporting = self.reporting.as_mut().expect("a report has a reporter");
                    if is_taken {
                        reporting.take(reporter, &load, view);
                    } else {
                        let at = reporting.taken_at(reporter, now);
                        view.messages.send(at, Message::Load { reporter, load, is_taken: true });
                    }
                }
                Message::Rates { reporter, rates } => {
                    let reporting = self.reporting.as_mut().expect("a report has a reporter");
                    let (decider, sums) = reporting.take_rates(reporter, rates);
                    for (client, rate) in sums {
                        let origin = self.asker(client);
                        view.balancers[decider].balancer.client_rate(client, origin, rate, now);
                    }
                }
                Message::Order { decider, target, client } => self.echo(decider, target, client, view),
                Message::Echoes { decider, target, client, round_trip } => {
                    view.balancers.that_chose(decider, client).round_trip(client, target, round_trip, now);
                }
            }
        }
    }
}

/// A decider learns what its targets are made of, and which of them own each file.
fn describe_nodes(decider: &mut Decider, system: &System, servers: &Servers) {
    let Decider { balancer, targets, .. } = decider;
    let link_rate = system.network.cluster_link().rate.map_or(0.0, |bits| bits / 8.0);
    for (target, next) in (0..).zip(&*targets) {
        let Next::Server(host) = *next else { continue };
        let server = &system.hosts[host as usize].server;
        let disk_rate = server.byte_rate("disk").unwrap_or(0.0);
        let net_rate = server.byte_rate("net").unwrap_or(link_rate);
        balancer.set_hardware(target, Hardware { speed: server.speed, disk_rate, net_rate });
    }
    for (file, owner) in servers.owners() {
        if let Some(owner) = targets.iter().position(|next| *next == Next::Server(owner)) {
            balancer.set_owners(file, &[BackendId(owner as u32)]);
        }
    }
}

/// What a target is called where its name is drawn by.
fn name_of(next: Next) -> String {
    match next {
        Next::Server(host) => format!("server {host}"),
        Next::Decider(decider) => format!("decider {decider}"),
    }
}
