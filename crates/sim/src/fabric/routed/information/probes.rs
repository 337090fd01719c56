//! Probes: a decider has the round trip between a client and some of its targets measured, from there.
//!
//! The order goes to the target, which sends three echo requests to the client, a second apart, and answers with the mean
//! round trip of those that came back and their number; with none it has nothing to say. Echoes are lost as the path loses
//! packets, one after the other: a run of losses that takes the first is likely to take all three. Orders and answers arrive.
//! Agarwal 2001, section 3.5.2 (`receive_probe_for_rtt`); three is what ping is asked for in the studies that he cites. A
//! resolver is probed where it is: its round trip is the path's mean.

use std::collections::HashMap;

use sojourn_dispatch::reports::{ECHOES, ECHOES_APART};
use sojourn_dispatch::{Command, RoundTrip};
use sojourn_model::system::{Face, Path, Paths, Tier};
use sojourn_model::{Loss, LossLaw, System};
use sojourn_stats::{Span, Stream};

use super::messages::Message;
use super::{Information, View};
use crate::balancer::client_key;
use crate::fabric::deciders::Next;

/// What probes need to know.
pub(super) struct Probing {
    /// Numbers of the clients that have asked or were reported, by the keys of their addresses.
    clients: HashMap<u64, u32>,
    paths: Paths,
    seed: u64,
    /// Probes so far that were ordered by each decider: each has losses of its own.
    sent: Vec<u64>,
}

impl Probing {
    /// None where no tier has clients probed.
    pub(super) fn new(system: &System, deciders: usize, seed: u64) -> Option<Probing> {
        let probes = |tier: &Tier| tier.probes.is_some();
        system.tiers.iter().any(probes).then(|| Probing {
            clients: HashMap::new(),
            paths: system.paths.clone(),
            seed,
            sent: vec![0; deciders],
        })
    }

    /// A client is known from now on.
    pub(super) fn know(&mut self, client: u32) {
        self.clients.entry(client_key(client)).or_insert(client);
    }
}

impl Information {
    /// Sends out what a decider wants measured.
    pub(in crate::fabric::routed) fn order(&mut self, decider: u32, commands: Vec<Command>, view: &mut View<'_>) {
        for command in commands {
            let (key, target) = measurement(command);
            let probing = self.probing.as_ref().expect("it was promised that clients are probed");
            let client = probing.clients[&key];
            let next = view.balancers[decider].targets[target as usize];
            if view.network.passes(Next::Decider(decider), next, view.now) {
                let at = view.now + view.network.between(decider, next);
                view.messages.send(at, Message::Order { decider, target, client });
            }
        }
    }

    /// A client that decides measures itself what it wants measured.
    pub(in crate::fabric::routed) fn measure(&mut self, client: u32, commands: Vec<Command>, view: &mut View<'_>) {
        for command in commands {
            self.echo(0, measurement(command).1, client, view);
        }
    }

    /// A target sends echo requests, if it is up, and answers when the last of them has come back or is given up.
    pub(super) fn echo(&mut self, decider: u32, target: u32, client: u32, view: &mut View<'_>) {
        let View { now, balancers, network, faults, messages, .. } = view;
        let now = *now;
        let next = balancers[decider].targets[target as usize];
        if faults.is_silent(next, now) {
            return;
        }
        let origins = self.origins.as_ref().expect("who is probed has a place");
        let (home, there) = (origins.region_of(client), network.region_of(next));
        let one_way = match origins.resolver(client) {
            Some(_) => network.between_regions(home, there),
            None => network.one_way(client, there),
        };
        let round_trip = one_way + one_way;
        let further = network.lost_to_region(next, home, now);
        let probing = self.probing.as_mut().expect("a probe was ordered");
        let laws = probing.paths.between(home, there).map(Path::losses).unwrap_or_default();
        let further = LossLaw::independent(further);
        probing.sent[decider as usize] += 1;
        let probe = format!("decider {decider} probe {}", probing.sent[decider as usize]);
        let ways = [("there", laws.down), ("there, besides", further), ("back", laws.up), ("back, besides", further)];
        let mut losses =
            ways.map(|(way, law)| Loss::new(law, Stream::new(probing.seed, &probe, &format!("echoes lost {way}"))));
        let comes_back = || !losses.iter_mut().any(Loss::next_is_lost);
        let answers = std::iter::repeat_with(comes_back).take(ECHOES as usize).filter(|back| *back).count() as u32;
        if answers == 0 {
            return;
        }
        let measured = now + Span(ECHOES_APART.0 * u64::from(ECHOES - 1)) + round_trip.max(ECHOES_APART);
        let is_client = balancers[decider].face == Face::Client;
        if !is_client && !network.passes(next, Next::Decider(decider), measured) {
            return;
        }
        let at = if is_client { measured } else { measured + network.between(decider, next) };
        let round_trip = RoundTrip { span: round_trip, measured, answers };
        messages.send(at, Message::Echoes { decider, target, client, round_trip });
    }
}

/// The key of the client, and the target, between which a policy wants the round trip.
fn measurement(command: Command) -> (u64, u32) {
    match command {
        Command::Measure { client, from } => (client, from.0),
        command => unreachable!("a policy that gives {command:?} is refused before the run"),
    }
}
