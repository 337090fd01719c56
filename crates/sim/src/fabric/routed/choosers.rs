//! Clients that decide for themselves: each has a dispatcher of its own, which hears what happens to its own requests.
//!
//! A choice is held for as long as the tier says, and until a request fails. The dispatcher is told of the request that it
//! chose for: of its first byte and end when the client has them, and of a failure. Round trips are measured by the client
//! itself, with three echo requests a second apart, as a DNS has them measured (`probes`).
//!
//! The price is memory: a dispatcher with a table of all targets for each client that has asked, which is why their number
//! is limited ([`PAIRS_LIMIT`]). A lost segment with the first byte over TCP is not in the time of that byte.

use sojourn_dispatch::{Catalogue, Command, Origin, RoundTrip, Signals};
use sojourn_model::System;
use sojourn_model::system::{Face, Held, Tier};
use sojourn_stats::{Span, Time};
use sojourn_traffic::Workload;

use super::{Leg, Routed, places};
use crate::balancer::{Balancer, signals};
use crate::control::SimError;
use crate::fabric::deciders::{Next, names};
use crate::requests::Cx;

/// Pairs of a client and a target, at most.
const PAIRS_LIMIT: usize = 1_000_000;

/// Clients that decide.
pub(super) struct Choosers {
    tier: Tier,
    targets: Vec<String>,
    /// Where the targets are, where policies are told.
    pub(super) origins: Vec<Origin>,
    signals: Signals,
    catalogue: Catalogue,
    seed: u64,
    of_client: Vec<Option<Box<Chooser>>>,
}

/// A client that has asked.
struct Chooser {
    balancer: Balancer,
    /// What it has chosen, and until when that is held.
    target: u32,
    until: Time,
}

impl Choosers {
    /// None where something else decides first.
    pub(super) fn new(system: &System, catalogue: &Catalogue, seed: u64) -> Option<Choosers> {
        let tier = system.tiers.first().filter(|tier| tier.face == Face::Client)?;
        Some(Choosers {
            targets: names(system, &tier.seats[0]).collect(),
            origins: Vec::new(),
            signals: signals(tier, &system.regions, false),
            tier: tier.clone(),
            catalogue: catalogue.clone(),
            seed,
            of_client: Vec::new(),
        })
    }

    /// The dispatchers of a client.
    pub(super) fn balancer(&mut self, client: u32) -> &mut Balancer {
        &mut self.of(client).balancer
    }

    fn of(&mut self, client: u32) -> &mut Chooser {
        let Choosers { tier, targets, origins, signals, catalogue, seed, of_client } = self;
        let place = client as usize;
        if of_client.len() <= place {
            of_client.resize_with(place + 1, || None);
        }
        of_client[place].get_or_insert_with(|| {
            let (names, stream) = (targets.iter().cloned(), format!("client {client} "));
            let made = Balancer::of(tier, names, *signals, catalogue, *seed, &stream);
            let mut balancer = made.expect("the same could be made for the tier");
            balancer.keep_clients(super::information::client_rules(tier));
            origins.iter().enumerate().for_each(|(target, origin)| balancer.set_origin(target as u32, *origin));
            Box::new(Chooser { balancer, target: 0, until: Time::ZERO })
        })
    }
}

/// Refuses clients that decide where they are too many, or nothing is known of their number.
pub(crate) fn check_choosers(system: &System, workload: &Workload) -> Result<(), SimError> {
    let Some(tier) = system.tiers.first().filter(|tier| tier.face == Face::Client) else { return Ok(()) };
    if matches!(workload, Workload::Replay(_)) {
        return Err(SimError::NotYet("tier of face `client` for the clients of a log".into()));
    }
    let (clients, targets) = (places::clients(system, workload).len(), tier.seats[0].targets.len());
    match clients.saturating_mul(targets) {
        pairs if pairs <= PAIRS_LIMIT => Ok(()),
        _ => Err(SimError::Invalid(format!(
            "{clients} clients that choose among {targets} targets each: at most {PAIRS_LIMIT} pairs of a client and a target"
        ))),
    }
}

impl Routed {
    /// Where the client of a request asks, as it has chosen itself; none where its policy refuses.
    pub(super) fn chosen_by_client(&mut self, slot: u32, cx: &Cx) -> Option<Next> {
        let asked = self.routes[slot as usize].asked;
        let choosers = self.choosers.as_mut().expect("clients decide");
        let held = choosers.tier.held;
        let chooser = choosers.of(asked.client);
        if cx.now >= chooser.until {
            let choice = chooser.balancer.choose(asked, &[], cx.now)?;
            chooser.target = choice.server;
            chooser.until = match held {
                Held::Request => cx.now,
                Held::For(span) => cx.now + span,
                Held::Run => Time::NEVER,
            };
            self.routes[slot as usize].legs.push(Leg { decider: 0, choice, sent: cx.now });
        }
        let target = chooser.target;
        if chooser.balancer.deadline() <= cx.now {
            let commands = chooser.balancer.poll(cx.now, |_| None);
            self.probe(asked.client, commands, cx.now);
        }
        Some(self.deciders[0].targets[target as usize])
    }

    /// The dispatchers that made a choice on the stack of a request of `client`.
    pub(super) fn teller(&mut self, decider: u32, client: u32) -> &mut Balancer {
        match &mut self.choosers {
            Some(choosers) if decider == 0 => choosers.balancer(client),
            _ => &mut self.deciders[decider as usize].balancer,
        }
    }

    /// A request of `client` has failed: the client chooses anew.
    pub(super) fn let_go(&mut self, client: u32) {
        if let Some(choosers) = &mut self.choosers {
            choosers.of(client).until = Time::ZERO;
        }
    }

    /// The client of a request has waited long enough: to its own dispatcher that is a failure.
    pub(super) fn gives_up_waiting(&mut self, slot: u32, cx: &Cx) {
        let client = cx.jobs.slab[slot as usize].client;
        if self.choosers.is_none() {
            return;
        }
        self.let_go(client);
        // What it has chosen itself is outermost.
        if let Some(&Leg { decider: 0, choice, sent }) = self.routes[slot as usize].legs.first() {
            self.routes[slot as usize].legs.remove(0);
            self.teller(0, client).failed(choice, cx.now - sent, cx.now);
        }
    }

    /// A client measures round trips itself.
    fn probe(&mut self, client: u32, commands: Vec<Command>, now: Time) {
        for command in commands {
            let Command::Measure { from, .. } = command else {
                unreachable!("a policy that gives {command:?} is refused before the run")
            };
            self.echo(0, from.0, client, now);
        }
    }

    /// The client has measured a round trip.
    pub(super) fn measured_by_client(&mut self, client: u32, target: u32, round_trip: RoundTrip, now: Time) {
        self.teller(0, client).round_trip(client, target, round_trip, now);
    }

    /// How long the first byte of a reply took to a client: half of a round trip after the reply set out.
    pub(super) fn first_byte_at_client(&mut self, slot: u32, client: u32, sent: Time) -> Span {
        let super::Route { from, set_out, .. } = self.routes[slot as usize];
        set_out + self.places.one_way(client, from) - sent
    }
}
