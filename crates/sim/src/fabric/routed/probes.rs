//! Probes: a decider has the round trip between a client and some of its targets measured, from there.
//!
//! The order goes to the target, which sends three echo requests to the client, a second apart, and answers with the mean
//! round trip of those that came back and their number; with none it has nothing to tell. Echoes are lost as the path loses
//! packets, one after the other: a run of losses that takes the first is likely to take all three. Orders and answers arrive.
//! Agarwal 2001, section 3.5.2 (`receive_probe_for_rtt`); three is what ping is asked for in the studies that he cites. A
//! resolver is probed where it is: its round trip is the path's mean.

use std::collections::HashMap;

use sojourn_dispatch::reports::{ECHOES, ECHOES_APART};
use sojourn_dispatch::{Command, RoundTrip};
use sojourn_model::system::{Face, Path, Paths, Tier};
use sojourn_model::{Loss, LossLaw, System};
use sojourn_stats::{Span, Stream, Time};

use super::super::deciders::Next;
use super::Routed;
use super::messages::Message;
use super::outages::Place;
use crate::balancer::client_key;

/// What probes need to know.
pub(super) struct Probing {
    /// Numbers of the clients that have asked or been told of, by the keys of their addresses.
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

impl Routed {
    /// Sends out what a decider wants measured.
    pub(super) fn obey(&mut self, decider: u32, commands: Vec<Command>, now: Time) {
        for command in commands {
            let Command::Measure { client, from } = command else {
                unreachable!("a policy that gives {command:?} is refused before the run")
            };
            let probing = self.probing.as_ref().expect("it was promised that clients are probed");
            let client = probing.clients[&client];
            let next = self.deciders[decider as usize].targets[from.0 as usize];
            if !self.passes(Next::Decider(decider), next, now) {
                continue;
            }
            let at = now + self.between(decider, next);
            self.messages.send(at, Message::Order { decider, target: from.0, client });
        }
    }

    /// A target sends echo requests, if it is up, and answers when the last of them has come back or is given up.
    pub(super) fn echo(&mut self, decider: u32, target: u32, client: u32, now: Time) {
        let next = self.deciders[decider as usize].targets[target as usize];
        if self.is_silent(next, now) {
            return;
        }
        let origins = self.origins.as_ref().expect("who is probed has a place");
        let (home, there) = (origins.region_of(client), self.region_of(next));
        let round_trip = match origins.resolver(client) {
            Some(_) => self.places.between(home, there) + self.places.between(home, there),
            None => self.places.one_way(client, there) + self.places.one_way(client, there),
        };
        let asked = Place { region: home, site: None, host: None, is_client: true };
        let further = self.outages.lost(self.place_of(next), asked, now);
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
        let is_client = self.deciders[decider as usize].face == Face::Client;
        if !is_client && !self.passes(next, Next::Decider(decider), measured) {
            return;
        }
        let at = if is_client { measured } else { measured + self.between(decider, next) };
        let round_trip = RoundTrip { span: round_trip, measured, answers };
        self.messages.send(at, Message::Echoes { decider, target, client, round_trip });
    }

    /// The answer is at the decider.
    pub(super) fn echoed(&mut self, decider: u32, target: u32, client: u32, round_trip: RoundTrip, now: Time) {
        match self.deciders[decider as usize].face {
            Face::Client => self.measured_by_client(client, target, round_trip, now),
            _ => self.deciders[decider as usize].balancer.round_trip(client, target, round_trip, now),
        }
    }
}
