//! Faults: what goes down, is drained, slow, or comes back, and how deciders and clients learn of it.
//!
//! | what | what happens |
//! |---|---|
//! | a server is down | what is in it is lost; what comes is refused |
//! | a site, or a tier, is down | so are its servers and its deciders: what passes them is lost too |
//! | a server, site or tier is drained | it ends what it has; what comes is refused |
//! | a resolver is down | its clients keep the answers that they have, and get no other |
//! | a server is slow | what comes takes so much longer; what is in it already goes on as before |
//! | a server or site is restarted | as if it were down until it is back, with empty queues; deciders keep what they know |
//! | a server, site or tier is frozen | it stands still: what is in it and what comes waits, and goes on with it |
//! | a server or site has errors | it answers a share of the requests with an error, at once and without work |
//! | a path, server or site is cut | what sets out meanwhile is lost: see `cuts` |
//! | a burst of requests comes | nothing here: the workload has them |
//! | a path loses more | transfers over it take longer: see `transfers` |
//!
//! Gateways, switches and redirects look at the health of their targets every second; a gateway that is refused knows at
//! once and tries another target. Silence is known when a look has had no answer for a second. A tier that gets reports
//! goes by them instead; a decider that is drained reports at once that it has no server left. A DNS learns of deciders by
//! reports only: without them it goes on naming a site that is down. A client that is refused gives up, or asks the next
//! address of its answer if `[client]` says so (Agarwal 2001, section 5.2); one that gets no answer waits until its time-out.
//!
//! Frozen is a process that is stopped: its kernel still takes connections in. A machine that stands still is cut too.

use sojourn_dispatch::{BackendId, News};
use sojourn_model::Server;
use sojourn_model::system::{Face, Fault, Subject, System, Trouble};
use sojourn_stats::{Span, Stream, Time};

use super::Routed;
use super::cuts::During;
use super::route::Leg;
use crate::control::SimError;
use crate::fabric::deciders::{Next, overflowing};
use crate::requests::jobs::{Job, Stage, Standing};
use crate::requests::{Cx, What};

/// Deciders look at their targets' health so often.
const HEALTH: Span = Span(1_000_000_000);

/// The plan of faults, and what is broken now.
pub(super) struct Faults {
    /// What begins and ends by itself.
    changes: Vec<Change>,
    spans: Vec<(Time, Time)>,
    frozen: Vec<Frozen>,
    hosts_down: Vec<bool>,
    deciders_down: Vec<bool>,
    /// Those of them that end what they have.
    deciders_drained: Vec<bool>,
    /// How much longer each server takes; empty while none is slow.
    slowness: Vec<f64>,
    /// The share of the requests that each server answers with an error; empty while none does.
    errors: Vec<f64>,
    seed: u64,
}

/// A time in which some parts stand still.
struct Frozen {
    during: During,
    hosts: Vec<u32>,
    deciders: Vec<u32>,
}

/// The beginning or end of a fault.
#[derive(Clone, Debug)]
pub(super) struct Change {
    at: Time,
    begins: bool,
    pub(super) trouble: Trouble,
    pub(super) hosts: Vec<u32>,
    pub(super) deciders: Vec<u32>,
    resolver: Option<usize>,
    /// It is over at once.
    is_momentary: bool,
}

/// What begins and ends in `system`, in the order of time. Which servers a share has is drawn.
fn changes(system: &System, seed: u64) -> Vec<Change> {
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

/// Refuses faults after which a client could wait for ever, and servers at which it could.
pub(super) fn check(system: &System) -> Result<(), SimError> {
    if system.rules.timeout.is_some() || system.rules.deadline.is_some() {
        return Ok(());
    }
    if system.servers().any(Server::drops) {
        return Err(SimError::Invalid(
            "what a server drops gets no answer: say how long clients wait, [client] timeout".into(),
        ));
    }
    let is_endless =
        |fault: &Fault| fault.trouble == Trouble::Cut || (fault.trouble == Trouble::Frozen && fault.until.is_none());
    match system.faults.iter().any(is_endless) {
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
        Subject::Share(_) | Subject::OneOf(..) | Subject::Resolver(_) | Subject::Path(..) | Subject::Requests => false,
    };
    let are_in: Vec<bool> = seats.map(is_in).collect();
    // What stands for a decider that overflows is where that one is.
    let firsts = system.tiers.iter().scan(0, |next, tier| Some(std::mem::replace(next, *next + tier.seats.len())));
    let firsts: Vec<usize> = firsts.collect();
    let passing_on: Vec<bool> = overflowing(system).map(|(_, tier, seat)| are_in[firsts[tier] + seat]).collect();
    let all = are_in.into_iter().chain(passing_on);
    all.enumerate().filter(|(_, is_in)| *is_in).map(|(number, _)| number as u32).collect()
}

impl Faults {
    /// Those of `system`, of so many deciders.
    pub(super) fn new(system: &System, deciders: usize, seed: u64) -> Faults {
        let frozen = |(number, fault): (usize, &Fault)| {
            let (hosts, deciders) = parts(system, number, seed);
            Frozen { during: During::of_fault(fault), hosts, deciders }
        };
        let numbered = system.faults.iter().enumerate().filter(|(_, fault)| fault.trouble == Trouble::Frozen);
        Faults {
            changes: changes(system, seed),
            spans: system.faults.iter().map(span).collect(),
            frozen: numbered.map(frozen).collect(),
            hosts_down: vec![false; system.hosts.len()],
            deciders_down: vec![false; deciders],
            deciders_drained: vec![false; deciders],
            slowness: Vec::new(),
            errors: Vec::new(),
            seed,
        }
    }

    /// When each fault begins and ends.
    pub(super) fn spans(&self) -> Vec<(Time, Time)> {
        self.spans.clone()
    }

    /// When something begins or ends, in the order of its number.
    pub(super) fn instants(&self) -> impl Iterator<Item = Time> + '_ {
        self.changes.iter().map(|change| change.at)
    }

    #[inline]
    pub(super) fn is_host_down(&self, host: u32) -> bool {
        self.hosts_down[host as usize]
    }

    #[inline]
    pub(super) fn is_decider_down(&self, decider: u32) -> bool {
        self.deciders_down[decider as usize]
    }

    #[inline]
    pub(super) fn is_decider_drained(&self, decider: u32) -> bool {
        self.deciders_drained[decider as usize]
    }

    /// Until when a server stands still; none: it does not.
    #[inline]
    pub(super) fn host_stands(&self, host: u32, now: Time) -> Option<Time> {
        self.stands(now, |frozen| frozen.hosts.contains(&host))
    }

    /// Until when a decider stands still; none: it does not.
    #[inline]
    pub(super) fn decider_stands(&self, decider: u32, now: Time) -> Option<Time> {
        self.stands(now, |frozen| frozen.deciders.contains(&decider))
    }

    #[inline]
    fn stands(&self, now: Time, is_in: impl Fn(&Frozen) -> bool) -> Option<Time> {
        let standing = self.frozen.iter().filter(|frozen| frozen.during.has(now) && is_in(frozen));
        standing.map(|frozen| frozen.during.until).max()
    }

    /// How long a server stood still from `since` to `now`.
    pub(super) fn stood(&self, host: u32, since: Time, now: Time) -> Span {
        let own = self.frozen.iter().filter(|frozen| frozen.hosts.contains(&host));
        own.map(|frozen| frozen.during.until.min(now).saturating_since(frozen.during.from.max(since))).sum()
    }

    /// Whether a part answers nothing now: it is down, or stands still.
    pub(super) fn is_silent(&self, part: Next, now: Time) -> bool {
        match part {
            Next::Server(host) => self.is_host_down(host) || self.host_stands(host, now).is_some(),
            Next::Decider(decider) => self.is_decider_down(decider) || self.decider_stands(decider, now).is_some(),
        }
    }

    /// How long work takes at a server that may be slow.
    #[inline]
    pub(super) fn slowed(&self, host: usize, service: Span) -> Span {
        match self.slowness.get(host) {
            Some(slowness) if *slowness > 1.0 => Span::from_secs_f64(service.as_secs_f64() * slowness),
            _ => service,
        }
    }

    /// What the fault of this number changes.
    pub(super) fn change(&self, number: u32) -> &Change {
        &self.changes[number as usize]
    }

    /// Whether a server answers a request of this number with an error. Which ones are is drawn for each by itself, so that
    /// other requests and policies shift no draws.
    #[inline]
    pub(super) fn is_error(&self, host: usize, number: u32, retries: u32) -> bool {
        let Some(&share) = self.errors.get(host).filter(|share| **share > 0.0) else { return false };
        let attempt = format!("error {retries}");
        Stream::new(self.seed, &format!("request {number}"), &attempt).uniform() < share
    }
}

/// When a fault begins and ends; [`Time::NEVER`] of one that does not. A restart without a length is over at once.
fn span(fault: &Fault) -> (Time, Time) {
    let at_once = (fault.trouble == Trouble::Restarted).then_some(fault.at);
    (fault.at, fault.until.or(at_once).unwrap_or(Time::NEVER))
}

/// What each server of a fault has from now on, of what servers have usually.
fn set(values: &mut Vec<f64>, servers: usize, hosts: &[u32], usual: f64, value: f64) {
    values.resize(servers, usual);
    hosts.iter().for_each(|host| values[*host as usize] = value);
}

impl Routed {
    /// A fault begins or ends.
    pub(super) fn fault(&mut self, number: u32, cx: &mut Cx) {
        let change = self.faults.changes[number as usize].clone();
        let Change { begins, trouble, ref hosts, is_momentary, .. } = change;
        let (Faults { slowness, errors, .. }, servers) = (&mut self.faults, self.servers.all().len());
        match trouble {
            // The workload has them.
            Trouble::Burst(_) => return,
            Trouble::Slow(speed) => return set(slowness, servers, hosts, 1.0, if begins { 1.0 / speed } else { 1.0 }),
            Trouble::Errors(share) => return set(errors, servers, hosts, 0.0, if begins { share } else { 0.0 }),
            Trouble::Frozen => hosts.iter().for_each(|host| self.stations.stand_still(*host as usize, begins, cx.now)),
            Trouble::Cut | Trouble::Loss(_) => {}
            Trouble::Down | Trouble::Drained | Trouble::Restarted => {
                self.be_down(&change, begins);
                match trouble {
                    Trouble::Drained => {
                        self.inform(cx.now, |information, view| information.drained(&change.deciders, view));
                    }
                    _ if begins => self.lose_what_is_inside(cx),
                    _ => {}
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
        let is_drained = is_down && change.trouble == Trouble::Drained;
        let Faults { hosts_down, deciders_down, deciders_drained, .. } = &mut self.faults;
        for host in change.hosts.iter().map(|host| *host as usize) {
            hosts_down[host] = is_down;
            let gone = if is_down { self.servers.forget(host) } else { Vec::new() };
            for file in gone {
                self.balancers.set_copy(host, file, self.servers.owner(file), false);
            }
        }
        for decider in change.deciders.iter().map(|decider| *decider as usize) {
            (deciders_down[decider], deciders_drained[decider]) = (is_down, is_drained);
        }
        if let (Some(resolver), Some(names)) = (change.resolver, &mut self.clients.names) {
            names.resolver_is(resolver, is_down);
        }
    }

    /// Requests at servers that are down and behind deciders that are down end without a reply.
    fn lose_what_is_inside(&mut self, cx: &mut Cx) {
        let Routed { routes, faults, .. } = self;
        let is_lost = |(slot, job): (usize, &Job)| {
            let route = routes.at(slot)?;
            let is_there = job.stage == Stage::AtServer || job.stage == Stage::Forwarded && route.fetches.is_some();
            let of_files = route.fetches.is_some_and(|owner| faults.is_host_down(owner));
            let at_server = is_there && (of_files || faults.is_host_down(job.choice.server));
            let is_down = |leg: &Leg| faults.is_decider_down(leg.decider);
            let passes = job.stage != Stage::Free && route.legs.iter().any(is_down);
            (at_server || passes).then_some(slot as u32)
        };
        let lost: Vec<u32> = cx.jobs.slab.iter().enumerate().filter_map(is_lost).collect();
        for slot in lost {
            if cx.jobs.slab[slot as usize].stage == Stage::Free {
                // An orphan that was dropped when the one before it left.
                continue;
            }
            self.leave(slot, cx);
            self.deny(slot, cx);
        }
    }

    /// A server answers a request at once and without work.
    pub(super) fn answer_with_error(&mut self, slot: u32, host: usize, cx: &mut Cx) {
        let client = cx.jobs.slab[slot as usize].client;
        self.inform(cx.now, |information, view| {
            information.arrived(host, view);
            information.served(host, client, 0, Span::ZERO, view);
        });
        self.leaves_server(slot, host, 0, cx);
    }

    /// A server or decider that is down refuses a request: a gateway tries another target, and a client another address
    /// where it does that.
    pub(super) fn refused(&mut self, slot: u32, cx: &mut Cx) {
        let route = &mut self.routes[slot];
        let is_gateway = |leg: &mut Leg| self.balancers[leg.decider].face == Face::Gateway;
        let Some(Leg { decider, choice, sent }) = route.legs.pop_if(is_gateway) else {
            return self.ask_elsewhere(slot, cx);
        };
        route.tried.push(BackendId(choice.server));
        let balancer = &mut self.balancers[decider].balancer;
        balancer.failed(choice, cx.now - sent, cx.now);
        balancer.learn(choice.server, News::Refused, cx.now);
        self.at_decider(slot, decider, cx);
    }

    /// A client that was refused asks the next address of the DNS's answer, which lists all targets; it keeps to the one
    /// that answers for as long as it would have kept to the first.
    pub(super) fn ask_elsewhere(&mut self, slot: u32, cx: &mut Cx) {
        let Job { client, standing, .. } = cx.jobs.slab[slot as usize];
        if standing == Standing::Orphan {
            return self.deny(slot, cx);
        }
        let addresses = self.balancers.first().map_or(0, |dns| dns.targets.len());
        let route = &mut self.routes[slot];
        route.refusals += 1;
        let Some(next) = self.clients.next_address(client, route.refusals, addresses) else {
            return self.deny(slot, cx);
        };
        let refused_by = route.next.replace(self.balancers[0].targets[next as usize]);
        for leg in self.routes.take_legs(slot) {
            self.balancers[leg.decider].balancer.failed(leg.choice, cx.now - leg.sent, cx.now);
        }
        cx.jobs.slab[slot as usize].stage = Stage::Coming;
        let region = self.network.region_of(refused_by.expect("a request was sent somewhere"));
        let back = self.network.one_way(client, region);
        self.happens(cx.now + back, What::Redirected, slot, cx);
    }
}
