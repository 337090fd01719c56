//! Faults: what goes down, is drained, slow, or comes back, and how deciders and clients learn of it.
//!
//! | what | what happens |
//! |---|---|
//! | a server is down | what is in it is lost; what comes is refused |
//! | a site, or a tier, is down | so are its servers and its deciders: what passes them is lost too |
//! | a server or site is drained | it ends what it has; what comes is refused |
//! | a resolver is down | its clients keep the answers that they have, and get no other |
//! | a server is slow | what comes takes so much longer; what is in it already goes on as before |
//! | a server or site is restarted | as if it were down until it is back, with empty queues; deciders keep what they know |
//! | a server, site or tier is frozen | it stands still: what is in it and what comes waits, and goes on with it |
//! | a server or site has errors | it answers a share of the requests with an error, at once and without work |
//! | a path, server or site is cut | what sets out meanwhile is lost: see `outages` |
//! | a path loses more | transfers over it take longer: see `transfers` |
//!
//! Gateways, switches and redirects look at the health of their targets every second; a gateway that is refused knows at
//! once and tries another target. Silence is known when a look has had no answer for a second. A tier that gets reports
//! goes by them instead. A DNS learns of deciders by reports only: without them it goes on naming a site that is down. A
//! client that is refused gives up, or asks the next address of its answer if `[client]` says so (Agarwal 2001, section
//! 5.2); one that gets no answer waits until its time-out.
//!
//! Frozen is a process that is stopped: its kernel still takes connections in. A machine that stands still is cut too.

use sojourn_dispatch::{BackendId, State};
use sojourn_model::system::{Face, Fault, Subject, System, Trouble};
use sojourn_stats::{Span, Stream, Time};

use super::super::deciders::{Next, overflowing};
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
    /// It is over at once.
    is_momentary: bool,
}

/// What begins and ends in `system`, in the order of time. Which servers a share has is drawn.
pub(super) fn changes(system: &System, seed: u64) -> Vec<Change> {
    let mut changes = Vec::new();
    for (number, fault) in system.faults.iter().enumerate() {
        let is_momentary = fault.trouble == Trouble::Restarted && fault.until.is_none();
        let (hosts, deciders) = parts(system, number, seed);
        let change = |at, begins| Change {
            at,
            begins,
            trouble: fault.trouble,
            hosts: hosts.clone(),
            deciders: deciders.clone(),
            is_momentary,
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
    let has_one_resource = |host: &usize| system.hosts[*host].server.machine.is_none();
    let is_of_servers =
        |fault: &Fault| matches!(fault.subject, Subject::Host(_) | Subject::Site(_) | Subject::Share(_));
    let is_known = |fault: &Fault| match (fault.trouble, fault.subject) {
        (Trouble::Cut, Subject::Path(..)) => true,
        (Trouble::Loss(_), Subject::Path(..)) => system.transport.is_some(),
        (_, Subject::Path(..)) => false,
        (_, Subject::Tier(tier)) if system.tiers[tier].face == Face::Client => false,
        (Trouble::Down, _) | (Trouble::Frozen, Subject::Tier(_)) => true,
        (Trouble::Loss(_), _) => false,
        (Trouble::Slow(_), _) => is_of_servers(fault) && fault.hosts(0, system, 0).iter().all(has_one_resource),
        _ => is_of_servers(fault),
    };
    if !system.faults.iter().all(is_known) {
        return Err(SimError::NotYet(
            "fault of this kind: servers, sites and shares of them that are `down`, `drained`, `restarted`, `frozen`, `cut`, \
             `slow(0.2)` (of one resource) or have `errors(0.3)`; tiers that are `down` or `frozen`; resolvers that are \
             `down`; paths that are `cut`, or have `loss(0.1)` where [system.tcp] is"
                .into(),
        ));
    }
    let is_endless =
        |fault: &Fault| fault.trouble == Trouble::Cut || (fault.trouble == Trouble::Frozen && fault.until.is_none());
    match system.faults.iter().any(is_endless) && system.rules.timeout.is_none() {
        true => Err(SimError::Invalid(
            "what is cut, or frozen for ever, answers nothing: say how long clients wait, [client] timeout".into(),
        )),
        false => Ok(()),
    }
}

/// The servers and deciders that fault number `number` is of.
pub(super) fn parts(system: &System, number: usize, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let fault = &system.faults[number];
    let hosts = fault.hosts(number, system, seed).into_iter().map(|host| host as u32);
    (hosts.collect(), deciders(fault, system))
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
    let are_in: Vec<bool> = seats.map(is_in).collect();
    // What stands for a decider that overflows is where that one is.
    let firsts = system.tiers.iter().scan(0, |next, tier| Some(std::mem::replace(next, *next + tier.seats.len())));
    let firsts: Vec<usize> = firsts.collect();
    let passing_on: Vec<bool> = overflowing(system).map(|(_, tier, seat)| are_in[firsts[tier] + seat]).collect();
    let all = are_in.into_iter().chain(passing_on);
    all.enumerate().filter(|(_, is_in)| *is_in).map(|(number, _)| number as u32).collect()
}

impl Routed {
    /// A fault begins or ends.
    pub(super) fn fault(&mut self, number: u32, cx: &mut Cx) {
        let change = self.faults[number as usize].clone();
        let Change { begins, trouble, ref hosts, is_momentary, .. } = change;
        match trouble {
            Trouble::Slow(speed) => {
                self.slowness.resize(self.servers.len(), 1.0);
                for host in hosts {
                    self.slowness[*host as usize] = if begins { 1.0 / speed } else { 1.0 };
                }
                return;
            }
            Trouble::Errors(share) => {
                self.errors.resize(self.servers.len(), 0.0);
                for host in hosts {
                    self.errors[*host as usize] = if begins { share } else { 0.0 };
                }
                return;
            }
            Trouble::Frozen => hosts.iter().for_each(|host| self.stand_still(*host as usize, begins, cx.now)),
            Trouble::Cut | Trouble::Loss(_) => {}
            Trouble::Down | Trouble::Drained | Trouble::Restarted => {
                self.be_down(&change, begins);
                if begins && trouble != Trouble::Drained {
                    self.lose_what_is_inside(cx);
                }
                if is_momentary {
                    self.be_down(&change, false);
                }
            }
        }
        let next_look = Time((cx.now.0 / HEALTH.0 + 1) * HEALTH.0);
        let is_silent = matches!(trouble, Trouble::Frozen | Trouble::Cut);
        let known = if is_silent && begins { next_look + HEALTH } else { next_look };
        cx.agenda.add(known, What::HealthKnown, number, 0);
    }

    fn be_down(&mut self, change: &Change, is_down: bool) {
        for host in change.hosts.iter().filter(|_| is_down).map(|host| *host as usize) {
            let gone = self.storage.as_mut().map_or(Vec::new(), |storage| storage.forget(host));
            self.tell_copies(host, &gone, false);
        }
        change.hosts.iter().for_each(|host| self.is_down[*host as usize] = is_down);
        change.deciders.iter().for_each(|decider| self.deciders[*decider as usize].is_down = is_down);
        if let (Some(resolver), Some(names)) = (change.resolver, &mut self.names) {
            names.resolver_is(resolver, is_down);
        }
    }

    /// The clocks of a server's resources stop, or go on.
    fn stand_still(&mut self, host: usize, begins: bool, now: Time) {
        for &number in &self.stages[host] {
            let station = &mut self.stations[number];
            if begins {
                station.freeze(now)
            } else {
                station.thaw(now)
            }
            self.timers.set(number, station.next_departure());
        }
    }

    /// Whether a request is answered with an error. Which ones are is drawn for each by itself, so that other requests and
    /// policies shift no draws.
    pub(super) fn answers_with_error(&mut self, slot: u32, host: usize, cx: &mut Cx) -> bool {
        let Some(&share) = self.errors.get(host).filter(|share| **share > 0.0) else { return false };
        let Job { number, client, .. } = cx.jobs.slab[slot as usize];
        let attempt = format!("error {}", self.routes[slot as usize].retries);
        if Stream::new(self.seed, &format!("request {number}"), &attempt).uniform() >= share {
            return false;
        }
        self.routes[slot as usize].is_error = true;
        cx.jobs.slab[slot as usize].size = 0;
        self.report(cx.now, |reporting, view| reporting.arrived(host as u32, view));
        self.report(cx.now, |reporting, view| reporting.served(host as u32, client, 0, Span::ZERO, view));
        self.leaves_server(slot, host, 0, cx);
        true
    }

    /// Whether a part answers nothing now: it is down, or stands still.
    pub(super) fn is_silent(&self, part: Next, now: Time) -> bool {
        match part {
            Next::Server(host) => self.is_down[host as usize] || self.outages.host_stands(host, now).is_some(),
            Next::Decider(decider) => {
                self.deciders[decider as usize].is_down || self.outages.decider_stands(decider, now).is_some()
            }
        }
    }

    /// Requests at servers that are down and behind deciders that are down end without a reply.
    fn lose_what_is_inside(&mut self, cx: &mut Cx) {
        let is_lost = |(slot, job): (usize, &Job)| {
            let fetches = self.routes.get(slot).and_then(|route| route.fetches);
            let is_there = job.stage == Stage::AtServer || job.stage == Stage::Forwarded && fetches.is_some();
            let of_files = fetches.is_some_and(|owner| self.is_down[owner as usize]);
            let at_server = is_there && (of_files || self.is_down[job.choice.server as usize]);
            let is_down = |leg: &Leg| self.deciders[leg.decider as usize].is_down;
            let passes = job.stage != Stage::Free && self.routes[slot].legs.iter().any(is_down);
            (at_server || passes).then_some(slot as u32)
        };
        let lost: Vec<u32> = cx.jobs.slab.iter().enumerate().filter_map(is_lost).collect();
        for slot in lost {
            match cx.jobs.slab[slot as usize].stage {
                Stage::Flowing => self.leave_medium(slot, cx),
                _ => self.leave_server(slot, cx),
            }
            self.deny(slot, cx);
        }
    }

    /// Deciders learn whether their targets answer.
    pub(super) fn health_known(&mut self, number: u32, cx: &mut Cx) {
        let Change { hosts, deciders, trouble, .. } = self.faults[number as usize].clone();
        for decider in 0..self.deciders.len() {
            let is_told = self.reporting.as_ref().is_some_and(|reporting| reporting.is_told(decider));
            if is_told || self.deciders[decider].face == Face::Client {
                continue;
            }
            for target in 0..self.deciders[decider].targets.len() {
                let next = self.deciders[decider].targets[target];
                let is_looked_at = match next {
                    Next::Server(host) => trouble == Trouble::Cut || hosts.contains(&host),
                    Next::Decider(other) => {
                        (trouble == Trouble::Cut || deciders.contains(&other))
                            && self.deciders[decider].face != Face::Dns
                    }
                };
                if !is_looked_at {
                    continue;
                }
                let looker = Next::Decider(decider as u32);
                let is_lost = self.is_silent(next, cx.now) || !self.passes(looker, next, cx.now);
                let balancer = &mut self.deciders[decider].balancer;
                let is_up = balancer.table().state(BackendId(target as u32)) != State::Down;
                if is_up != is_lost {
                    continue;
                }
                match is_lost {
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
    pub(super) fn ask_elsewhere(&mut self, slot: u32, cx: &mut Cx) {
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
