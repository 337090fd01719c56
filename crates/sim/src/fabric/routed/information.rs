//! What deciders are told besides requests: where their targets are, how long to keep what they know of clients, and the
//! messages that come to them.

use sojourn_dispatch::{BackendId, ClientRules, Hardware, Origin};
use sojourn_model::System;
use sojourn_model::system::Tier;
use sojourn_stats::{Span, Time};

use super::super::deciders::{Decider, Next};
use super::Routed;
use super::messages::Message;
use super::reports::{Reporting, View};
use super::resources::Storage;

/// Reports without news of a client after which its rate is forgotten.
const SILENT_REPORTS: u64 = 3;

/// How long a tier keeps what it knows of clients.
pub(super) fn client_rules(tier: &Tier) -> ClientRules {
    let usual = ClientRules::default();
    let rates = tier.reports.and_then(|reports| reports.client_rates);
    ClientRules {
        rates_expire: rates.map(|every| Span(every.0 * SILENT_REPORTS)),
        sites_probed: tier.probes.map_or(usual.sites_probed, |probes| probes.at_most),
        refresh: tier.probes.map_or(usual.refresh, |probes| probes.refresh),
        ..usual
    }
}

impl Routed {
    /// Tells the deciders of `system` what they know from the start.
    pub(super) fn prepare(&mut self, system: &System) {
        let tiers = system.tiers.iter().flat_map(|tier| std::iter::repeat_n(tier, tier.seats.len()));
        for (number, tier) in tiers.enumerate() {
            if tier.probes.is_some() || tier.reports.is_some_and(|reports| reports.client_rates.is_some()) {
                self.deciders[number].balancer.keep_clients(client_rules(tier));
            }
            if self.deciders[number].balancer.is_of_node() {
                self.describe_nodes(number, system);
            }
            let Some(origins) = &self.origins else { continue };
            for target in 0..self.deciders[number].targets.len() {
                let next = self.deciders[number].targets[target];
                let origin = origins.within(self.region_of(next), &self.name_of(next));
                self.deciders[number].balancer.set_origin(target as u32, origin);
                if let (0, Some(choosers)) = (number, &mut self.choosers) {
                    choosers.origins.push(origin);
                }
            }
        }
    }

    /// Tells a decider what its targets are made of, and which of them own each file.
    fn describe_nodes(&mut self, number: usize, system: &System) {
        let Routed { deciders, storage, .. } = self;
        let Decider { balancer, targets, .. } = &mut deciders[number];
        let link_rate = system.network.cluster_link().rate.map_or(0.0, |bits| bits / 8.0);
        for (target, next) in targets.iter().enumerate() {
            let Next::Server(host) = *next else { continue };
            let server = &system.hosts[host as usize].server;
            let rate = |name: &str| {
                let mut resources = server.machine.iter().flat_map(|machine| &machine.resources);
                resources.find(|resource| resource.name == name).and_then(|resource| resource.rate)
            };
            let (disk_rate, net_rate) = (rate("disk").unwrap_or(0.0), rate("net").unwrap_or(link_rate));
            balancer.set_hardware(target as u32, Hardware { speed: server.speed, disk_rate, net_rate });
        }
        for (file, owner) in storage.iter().flat_map(Storage::owners) {
            let owner = targets.iter().position(|next| *next == Next::Server(owner as u32));
            if let Some(owner) = owner {
                balancer.set_owners(file, &[BackendId(owner as u32)]);
            }
        }
    }

    /// What a target is called where its name is drawn by.
    pub(super) fn name_of(&self, next: Next) -> String {
        match next {
            Next::Server(host) => format!("server {host}"),
            Next::Decider(decider) => format!("decider {decider}"),
        }
    }

    /// Something happens that reports are about.
    #[inline]
    pub(super) fn report(&mut self, now: Time, tell: impl FnOnce(&mut Reporting, &mut View<'_>)) {
        let Routed { reporting, deciders, stations, is_down, outages, messages, .. } = self;
        if let Some(reporting) = reporting {
            tell(reporting, &mut View { now, deciders, stations, is_down, outages, messages });
        }
    }

    /// Takes the messages that come now.
    pub(super) fn take_messages(&mut self, now: Time) {
        while let Some(message) = self.messages.take(now) {
            match message {
                Message::Load { reporter, load, is_taken: false } => {
                    let reporting = self.reporting.as_mut().expect("a report has a reporter");
                    let at = reporting.taken_at(reporter, now);
                    self.messages.send(at, Message::Load { reporter, load, is_taken: true });
                }
                Message::Load { reporter, load, .. } => {
                    self.report(now, |reporting, view| reporting.take(reporter, &load, view));
                }
                Message::Rates { reporter, rates } => self.take_rates(reporter, rates, now),
                Message::Order { decider, target, client } => self.echo(decider, target, client, now),
                Message::Echoes { decider, target, client, round_trip } => {
                    self.echoed(decider, target, client, round_trip, now);
                }
            }
        }
    }

    /// A decider takes the rates of clients.
    fn take_rates(&mut self, reporter: u32, rates: Vec<(u32, f64)>, now: Time) {
        let Routed { reporting, deciders, origins, probing, .. } = self;
        let reporting = reporting.as_mut().expect("a report has a reporter");
        let balancer = &mut deciders[reporting.decider_of(reporter) as usize].balancer;
        reporting.take_rates(reporter, rates, |client, rate| {
            let origin = origins.as_ref().map_or(Origin::default(), |origins| origins.of(client));
            probing.iter_mut().for_each(|probing| probing.know(client));
            balancer.client_rate(client, origin, rate, now);
        });
    }
}
