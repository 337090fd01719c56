//! Faults: what goes down, is drained, slow, or comes back, and how deciders and clients learn of it.
//!
//! | what | what happens |
//! |---|---|
//! | a server is down | what is in it is lost; what comes is refused |
//! | a site, or a tier, is down | so are its servers and its deciders: what passes them is lost too |
//! | a server or site is drained | it ends what it has; what comes is refused |
//! | a resolver is down | its clients keep the answers that they have, and get no other |
//! | a server is slow | what comes takes so much longer; what is in it already goes on as before |
//!
//! Gateways, switches and redirects look at the health of their targets every second; a gateway that is refused knows at
//! once and tries another target. A tier that gets reports goes by them instead. A DNS learns of deciders by reports only:
//! without them it goes on naming a site that is down. A client that is refused gives up, or asks the next address of its
//! answer if `[client]` says so (Agarwal 2001, section 5.2). The price of refusals at once is that no time-out is waited
//! for; a path that is cut, which would be silent, is not there yet.

use sojourn_dispatch::BackendId;
use sojourn_model::system::{Face, Fault, Subject, System, Trouble};
use sojourn_stats::{Span, Stream, Time};

use super::super::deciders::Next;
use super::{Leg, Routed};
use crate::control::SimError;
use crate::requests::jobs::{Job, Stage};
use crate::requests::{Cx, What};

/// Deciders look at their targets' health so often.
const HEALTH: Span = Span(1_000_000_000);

/// The beginning or end of a fault.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) at: Time,
    begins: bool,
    trouble: Trouble,
    hosts: Vec<u32>,
    deciders: Vec<u32>,
    resolver: Option<usize>,
}

/// What begins and ends in `system`, in the order of time. Which servers a share has is drawn.
pub(super) fn changes(system: &System, seed: u64) -> Vec<Change> {
    let mut changes = Vec::new();
    for (number, fault) in system.faults.iter().enumerate() {
        let change = |at, begins| Change {
            at,
            begins,
            trouble: fault.trouble,
            hosts: hosts(fault, number, system, seed),
            deciders: deciders(fault, system),
            resolver: match fault.subject {
                Subject::Resolver(resolver) => Some(resolver),
                _ => None,
            },
        };
        changes.push(change(fault.at, true));
        changes.extend(fault.until.map(|until| change(until, false)));
    }
    // What comes back at the instant of its next fault comes back first.
    changes.sort_by_key(|change| (change.at, change.begins));
    changes
}

/// Refuses by name the faults that are not there yet.
pub(super) fn check(system: &System) -> Result<(), SimError> {
    let has_one_resource = |host: &u32| system.hosts[*host as usize].server.machine.is_none();
    let is_known = |fault: &Fault| match (fault.trouble, fault.subject) {
        (_, Subject::Path(..)) => false,
        (Trouble::Down, _) => true,
        (Trouble::Drained, Subject::Host(_) | Subject::Site(_) | Subject::Share(_)) => true,
        (Trouble::Slow(_), Subject::Host(_) | Subject::Site(_) | Subject::Share(_)) => {
            hosts(fault, 0, system, 0).iter().all(has_one_resource)
        }
        _ => false,
    };
    match system.faults.iter().all(is_known) {
        true => Ok(()),
        false => Err(SimError::NotYet(
            "fault of this kind: servers, sites and shares of them that are `down`, `drained` or `slow(0.2)` (of one \
             resource), tiers and resolvers that are `down`"
                .into(),
        )),
    }
}

/// The servers that a fault is of.
fn hosts(fault: &Fault, number: usize, system: &System, seed: u64) -> Vec<u32> {
    let all = 0..system.hosts.len() as u32;
    match fault.subject {
        Subject::Host(host) => vec![host as u32],
        Subject::Site(site) => all.filter(|host| system.hosts[*host as usize].site == Some(site)).collect(),
        Subject::Share(share) => {
            let mut left: Vec<u32> = all.collect();
            let count = ((share * left.len() as f64).round() as usize).max(1);
            let mut draws = Stream::new(seed, &format!("fault {number}"), "servers");
            (0..count).map(|_| left.swap_remove(draws.below(left.len()))).collect()
        }
        Subject::Tier(_) | Subject::Resolver(_) | Subject::Path(..) => Vec::new(),
    }
}

/// The deciders that a fault is of, numbered tier by tier.
fn deciders(fault: &Fault, system: &System) -> Vec<u32> {
    let seats = system.tiers.iter().enumerate().flat_map(|(tier, of)| of.seats.iter().map(move |seat| (tier, seat)));
    let is_in = |(tier, seat): (usize, &sojourn_model::system::Seat)| match fault.subject {
        Subject::Tier(of) => of == tier,
        Subject::Site(site) => seat.site == Some(site),
        Subject::Host(host) => seat.host == Some(host),
        Subject::Share(_) | Subject::Resolver(_) | Subject::Path(..) => false,
    };
    seats.enumerate().filter(|(_, seat)| is_in(*seat)).map(|(number, _)| number as u32).collect()
}

impl Routed {
    /// A fault begins or ends.
    pub(super) fn fault(&mut self, number: u32, cx: &mut Cx) {
        let Change { begins, trouble, ref hosts, ref deciders, resolver, .. } = self.faults[number as usize].clone();
        if let Trouble::Slow(speed) = trouble {
            self.slowness.resize(self.servers.len(), 1.0);
            for host in hosts {
                self.slowness[*host as usize] = if begins { 1.0 / speed } else { 1.0 };
            }
            return;
        }
        for host in hosts {
            self.is_down[*host as usize] = begins;
        }
        for decider in deciders {
            self.deciders[*decider as usize].is_down = begins;
        }
        if let (Some(resolver), Some(names)) = (resolver, &mut self.names) {
            names.resolver_is(resolver, begins);
        }
        if begins && trouble == Trouble::Down {
            self.lose_what_is_inside(cx);
        }
        let next_look = Time((cx.now.0 / HEALTH.0 + 1) * HEALTH.0);
        cx.agenda.add(next_look, What::HealthKnown, number, 0);
    }

    /// Requests at servers that are down and behind deciders that are down end without a reply.
    fn lose_what_is_inside(&mut self, cx: &mut Cx) {
        let is_lost = |(slot, job): (usize, &Job)| {
            let at_server = job.stage == Stage::AtServer && self.is_down[job.choice.server as usize];
            let is_down = |leg: &Leg| self.deciders[leg.decider as usize].is_down;
            let passes = job.stage != Stage::Free && self.routes[slot].legs.iter().any(is_down);
            (at_server || passes).then_some(slot as u32)
        };
        let lost: Vec<u32> = cx.jobs.slab.iter().enumerate().filter_map(is_lost).collect();
        for slot in lost {
            match cx.jobs.slab[slot as usize].stage {
                Stage::AtServer => self.leave_station(slot, cx),
                Stage::Flowing => self.leave_medium(slot, cx),
                _ => {}
            }
            self.deny(slot, cx);
        }
    }

    /// Deciders learn whether their targets are down.
    pub(super) fn health_known(&mut self, number: u32, cx: &mut Cx) {
        let Change { hosts, deciders, .. } = self.faults[number as usize].clone();
        for decider in 0..self.deciders.len() {
            if self.reporting.as_ref().is_some_and(|reporting| reporting.is_told(decider)) {
                continue;
            }
            for target in 0..self.deciders[decider].targets.len() {
                let is_down = match self.deciders[decider].targets[target] {
                    Next::Server(host) if hosts.contains(&host) => self.is_down[host as usize],
                    Next::Decider(other) if deciders.contains(&other) && self.deciders[decider].face != Face::Dns => {
                        self.deciders[other as usize].is_down
                    }
                    _ => continue,
                };
                let balancer = &mut self.deciders[decider].balancer;
                match is_down {
                    true => balancer.lost(target as u32, cx.now),
                    false => balancer.found(target as u32, cx.now),
                }
            }
        }
    }

    /// A server or decider that is down refuses a request: a gateway tries another target, and a client another address
    /// where it does that.
    pub(super) fn refused(&mut self, slot: u32, cx: &mut Cx) {
        let is_gateway = |leg: &&Leg| self.deciders[leg.decider as usize].face == Face::Gateway;
        let Some(&Leg { decider, choice, sent }) = self.routes[slot as usize].legs.last().filter(is_gateway) else {
            return self.ask_elsewhere(slot, cx);
        };
        self.routes[slot as usize].legs.pop();
        let balancer = &mut self.deciders[decider as usize].balancer;
        balancer.failed(choice, cx.now - sent, cx.now);
        balancer.lost(choice.server, cx.now);
        self.routes[slot as usize].tried.push(BackendId(choice.server));
        self.at_decider(slot, decider, cx);
    }

    /// A client that was refused asks the next address of the DNS's answer, which lists all targets; it keeps to the one
    /// that answers for as long as it would have kept to the first.
    fn ask_elsewhere(&mut self, slot: u32, cx: &mut Cx) {
        let client = cx.jobs.slab[slot as usize].client;
        let addresses = self.deciders.first().map_or(0, |dns| dns.targets.len());
        let route = &mut self.routes[slot as usize];
        route.refusals += 1;
        let names = self.names.as_mut().filter(|_| self.fails_over && route.refusals < addresses);
        let Some(next) = names.and_then(|names| names.next_address(client, addresses as u32)) else {
            return self.deny(slot, cx);
        };
        for leg in std::mem::take(&mut self.routes[slot as usize].legs) {
            self.deciders[leg.decider as usize].balancer.failed(leg.choice, cx.now - leg.sent, cx.now);
        }
        let refused_by = self.routes[slot as usize].next.expect("a request was sent somewhere");
        cx.jobs.slab[slot as usize].stage = Stage::Coming;
        self.routes[slot as usize].next = Some(self.deciders[0].targets[next as usize]);
        match self.places.one_way(client, self.region_of(refused_by)) {
            Span::ZERO => self.redirected(slot, cx),
            back => cx.later(cx.now + back, What::Redirected, slot),
        }
    }
}
