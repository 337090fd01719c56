//! Probes: a decider has the round trip between a client and some of its targets measured, from there.
//!
//! The order goes to the target, which sends three echo requests to the client, a second apart, and answers with the mean
//! round trip of those that came back; with none it has nothing to tell. Echoes are lost with the path's packets; orders
//! and answers arrive. Agarwal 2001, section 3.5.2 (`receive_probe_for_rtt`); a number of three is what ping is asked for
//! in the studies that he cites. A resolver is probed where it is: its round trip is the path's mean.

use std::collections::HashMap;

use sojourn_dispatch::{Command, RoundTrip};
use sojourn_model::System;
use sojourn_model::system::{Paths, Tier};
use sojourn_stats::{Span, Stream, Time};

use super::super::deciders::Next;
use super::Routed;
use super::messages::Message;
use crate::balancer::client_key;

/// Echo requests of a probe, and the time between them, which is also how long the last one is waited for.
const ECHOES: u32 = 3;
const APART: Span = Span(1_000_000_000);

/// What probes need to know.
pub(super) struct Probing {
    /// Numbers of the clients that have asked or been told of, by the keys of their addresses.
    clients: HashMap<u64, u32>,
    paths: Paths,
    /// Which echoes are lost, of each decider.
    lost: Vec<Stream>,
}

impl Probing {
    /// None where no tier has clients probed.
    pub(super) fn new(system: &System, deciders: usize, seed: u64) -> Option<Probing> {
        let probes = |tier: &Tier| tier.probes.is_some();
        system.tiers.iter().any(probes).then(|| Probing {
            clients: HashMap::new(),
            paths: system.paths.clone(),
            lost: (0..deciders).map(|number| Stream::new(seed, &format!("decider {number}"), "lost echoes")).collect(),
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
            let at = now + self.between(decider, next);
            self.messages.send(at, Message::Order { decider, target: from.0, client });
        }
    }

    /// A target sends echo requests, if it is up, and answers when the last of them has come back or is given up.
    pub(super) fn echo(&mut self, decider: u32, target: u32, client: u32, now: Time) {
        let next = self.deciders[decider as usize].targets[target as usize];
        let is_down = match next {
            Next::Server(host) => self.is_down[host as usize],
            Next::Decider(other) => self.deciders[other as usize].is_down,
        };
        if is_down {
            return;
        }
        let origins = self.origins.as_ref().expect("who is probed has a place");
        let (home, there) = (origins.region_of(client), self.region_of(next));
        let round_trip = match origins.resolver(client) {
            Some(_) => self.places.between(home, there) + self.places.between(home, there),
            None => self.places.one_way(client, there) + self.places.one_way(client, there),
        };
        let probing = self.probing.as_mut().expect("a probe was ordered");
        // Half of the losses are each way.
        let kept = 1.0 - probing.paths.between(home, there).map_or(0.0, |path| path.loss) / 2.0;
        let draws = &mut probing.lost[decider as usize];
        let answered = (0..ECHOES).filter(|_| draws.uniform() < kept * kept).count();
        if answered == 0 {
            return;
        }
        let measured = now + Span(APART.0 * u64::from(ECHOES - 1)) + round_trip.max(APART);
        let at = measured + self.between(decider, next);
        self.messages.send(at, Message::Echoes { decider, target, client, round_trip, measured });
    }

    /// The answer is at the decider.
    pub(super) fn echoed(&mut self, decider: u32, target: u32, client: u32, round_trip: RoundTrip, now: Time) {
        self.deciders[decider as usize].balancer.round_trip(client, target, round_trip, now);
    }
}
