//! The routed fabric: tiers of deciders, choices that are held, redirections, regions and faults.
//!
//! A request's route is a stack of choices, the outermost first. A DNS answer is held outside of the stack, by a resolver
//! or a client, until its TTL ends. A choice by a gateway or a switch is on the stack until its dispatcher has been told of
//! the request's end, which happens exactly once: to a gateway when the reply passes it, to a switch when the client's
//! last packet does. A redirection goes back to the client, which comes in again one hop further; its decider hears no
//! more of it.
//!
//! | what happens | when |
//! |---|---|
//! | a packet between client and system | half of the round trip between the two regions, drawn once per client and region |
//! | a packet between deciders, or decider and server, at one site | the cluster link's delay |
//! | a reply | over the cluster's link, from gateway to gateway, over the client's own link and those that paths share |
//! | a request or a reply where paths lose packets | as a transfer over a connection of TCP: see `transfers` |
//! | a DNS query | takes no time: resolvers are near, and answers are small |
//! | a report, a probe | see `reports` and `probes` |
//! | a fault | see `faults` |
//!
//! On a system that the direct fabric can be, everything happens in the same order with the same draws.

mod faults;
mod information;
mod messages;
mod origins;
mod places;
mod probes;
mod reports;
mod transfers;

use std::collections::BTreeMap;

use sojourn_dispatch::{BackendId, Catalogue, Origin, Signals};
use sojourn_model::system::{Face, Seat, System, Target, Tier};
use sojourn_model::{Admission, Discipline, Knowledge, Server, Station, TcpConnection, Wire};
use sojourn_stats::{Span, Time};
use sojourn_traffic::Workload;

use self::faults::Change;
use self::messages::Messages;
use self::origins::Origins;
use self::places::Places;
use self::probes::Probing;
use self::reports::Reporting;
use self::transfers::Transfers;
use super::deciders::{Decider, Next, deciders};
use super::names::Names;
use crate::balancer::{Asked, Choice};
use crate::control::SimError;
use crate::engine::Fabric;
use crate::requests::jobs::{Job, Stage};
use crate::requests::prediction::Predictor;
use crate::requests::{Cx, Requests, What};
use crate::timers::Timers;

/// Tiers of deciders in front of stations, in several places.
pub(crate) struct Routed {
    /// All seats of all tiers, tier by tier; the first is where requests come in.
    deciders: Vec<Decider>,
    /// Answers of the DNS that are held; none where the first tier is no DNS.
    names: Option<Names>,
    servers: Vec<Server>,
    speeds_differ: bool,
    /// Stations of each server, in the order of its resources.
    stages: Vec<Vec<usize>>,
    /// Those of all servers, and from `first_medium` on the links that paths share.
    stations: Vec<Station>,
    first_medium: usize,
    timers: Timers,
    places: Places,
    /// Connections of clients; none where requests and replies are messages.
    transfers: Option<Transfers>,
    /// The paths with a rate from what a gateway forwards to, by decider and target.
    relays: BTreeMap<(u32, u32), Wire>,
    /// How long a client waits for a reply.
    timeout: Option<Span>,
    /// The link that the replies of a site share.
    cluster_wires: Vec<Wire>,
    cluster_delay: Span,
    predictor: Option<Predictor>,
    /// Where requests come from, where a decider is told or clients are probed; and whether all deciders are.
    origins: Option<Origins>,
    tells_origins: bool,
    messages: Messages,
    reporting: Option<Reporting>,
    probing: Option<Probing>,
    /// The route of the request in each slot.
    routes: Vec<Route>,
    /// Ends that a switch has not heard of yet, with the bytes of the reply; and the places that are free.
    closings: Vec<(u64, Leg)>,
    free_closings: Vec<u32>,
    /// What begins and ends by itself.
    faults: Vec<Change>,
    is_down: Vec<bool>,
    /// How much longer each server takes; empty while none is slow.
    slowness: Vec<f64>,
    /// Clients that are refused ask the next address.
    fails_over: bool,
}

/// What is on a request's way.
#[derive(Default)]
struct Route {
    /// Choices whose dispatchers are still to be told of the end.
    legs: Vec<Leg>,
    /// What policies are asked about.
    asked: Asked,
    /// Where it is on its way to.
    next: Option<Next>,
    /// Redirections so far, and refusals that its client has heard of.
    hops: u8,
    refusals: usize,
    /// Targets of the innermost decider that have refused it.
    tried: Vec<BackendId>,
    /// When it came to its server, and its stage there.
    came: Time,
    stage: usize,
    /// Time waited and core time at the stages so far.
    waited: Span,
    /// Gateways that have had the first byte of its reply.
    heard: usize,
    /// The connection that it came over, and what its client asked over it.
    connection: Option<TcpConnection>,
    front: Option<Next>,
    /// How long it took to set it up.
    set_up: Span,
    /// The region that its reply comes from, and when the reply is through its client's own link.
    from: usize,
    lands: Time,
}

/// A choice that is on a request's stack.
#[derive(Clone, Copy)]
struct Leg {
    decider: u32,
    choice: Choice,
    sent: Time,
}

impl Routed {
    /// The tiers and servers of `system`, whose random streams have this seed; `predict` says what is predicted from, and
    /// the mean demand.
    pub(crate) fn new(
        system: &System,
        workload: &Workload,
        catalogue: &Catalogue,
        seed: u64,
        predict: Option<(Knowledge, Span)>,
    ) -> Result<Routed, SimError> {
        refuse(system)?;
        let servers: Vec<Server> = system.servers().cloned().collect();
        let (stages, mut stations) = stations(&servers);
        let first_medium = stations.len();
        stations.extend(system.media.iter().map(|_| Station::new(Discipline::Ps, 1, None)));
        let cluster = Some(system.network.cluster_link()).filter(|link| !link.is_instant());
        let clients = places::clients(system, workload);
        let names = system.tiers.first().filter(|tier| tier.face == Face::Dns);
        let deciders = deciders(system, false, catalogue, seed)?;
        let probing = Probing::new(system, deciders.len(), seed);
        let reads = |decider: &Decider| decider.balancer.requires().contains(Signals::ORIGIN);
        let has_origins = probing.is_some() || deciders.iter().any(reads);
        let mut routed = Routed {
            origins: has_origins.then(|| Origins::new(system, clients.clone(), seed)),
            tells_origins: deciders.iter().any(|decider| decider.face != Face::Dns && reads(decider)),
            messages: Messages::default(),
            reporting: None,
            probing,
            names: names.map(|_| Names::new(system, clients)),
            deciders,
            speeds_differ: servers.iter().any(|server| server.speed != 1.0),
            timers: Timers::new(stations.len()),
            stages,
            stations,
            first_medium,
            places: Places::new(system, seed),
            transfers: Transfers::new(system, seed),
            relays: BTreeMap::new(),
            timeout: system.rules.timeout,
            cluster_wires: cluster.map_or(Vec::new(), |link| vec![Wire::new(link); system.sites.len().max(1)]),
            cluster_delay: cluster.map_or(Span::ZERO, |link| link.delay),
            predictor: predict.map(|(knows, demand_mean)| Predictor::new(knows, demand_mean)),
            routes: Vec::new(),
            closings: Vec::new(),
            free_closings: Vec::new(),
            faults: faults::changes(system, seed),
            is_down: vec![false; servers.len()],
            slowness: Vec::new(),
            fails_over: system.rules.fails_over,
            servers,
        };
        routed.reporting = Reporting::new(system, &routed, seed);
        routed.prepare(system);
        Ok(routed)
    }

    /// A request sets out from its client to `next`.
    fn send(&mut self, slot: u32, next: Next, cx: &mut Cx) {
        self.routes[slot as usize].next = Some(next);
        if let Some(delay) = self.reach(slot, next, cx) {
            self.set_out(slot, next, delay, cx);
        }
    }

    /// A request is at `next` after `delay`.
    fn set_out(&mut self, slot: u32, next: Next, delay: Span, cx: &mut Cx) {
        match delay {
            // Without a decider the cluster's link is all that is between.
            Span::ZERO if self.deciders.is_empty() => self.move_on(slot, next, self.cluster_delay, cx),
            delay if self.deciders.is_empty() => cx.later(cx.now + delay, What::AtBalancer, slot),
            delay => self.move_on(slot, next, delay, cx),
        }
    }

    /// A request comes to `next` after `delay`.
    fn move_on(&mut self, slot: u32, next: Next, delay: Span, cx: &mut Cx) {
        match (next, delay) {
            (Next::Decider(decider), Span::ZERO) => self.at_decider(slot, decider, cx),
            (Next::Decider(_), delay) => cx.later(cx.now + delay, What::AtBalancer, slot),
            (Next::Server(_), Span::ZERO) => self.at_server(slot, cx),
            (Next::Server(_), delay) => cx.later(cx.now + delay, What::AtServer, slot),
        }
    }

    /// A decider says where a request goes.
    fn at_decider(&mut self, slot: u32, number: u32, cx: &mut Cx) {
        let job = cx.jobs.slab[slot as usize];
        let decider = &mut self.deciders[number as usize];
        if decider.is_down {
            return self.refused(slot, cx);
        }
        if decider.balancer.wants_predictions() {
            for (target, next) in decider.targets.iter().enumerate() {
                let Next::Server(host) = *next else { continue };
                let (server, station) = (&self.servers[host as usize], &self.stations[self.stages[host as usize][0]]);
                let predicted = station.predict(job.class, cx.now, server.service_time(job.service));
                decider.balancer.predicted(target as u32, predicted.unwrap_or(Span::FOREVER), cx.now);
            }
        }
        let route = &mut self.routes[slot as usize];
        // What was redirected is served where it comes.
        let stays = decider.face == Face::Redirect && route.hops > 0;
        if let (true, Some(host)) = (stays, decider.host) {
            return self.serve_here(slot, host, cx);
        }
        let Some(choice) = decider.balancer.choose(route.asked, &route.tried, cx.now) else {
            return self.deny(slot, cx);
        };
        let next = decider.targets[choice.server as usize];
        match decider.face {
            Face::Redirect if decider.host.is_some_and(|host| next == Next::Server(host)) => {
                self.sent(slot, next, choice, cx);
                self.at_server(slot, cx);
            }
            Face::Redirect => {
                route.hops += 1;
                let region = decider.region;
                self.sent(slot, next, choice, cx);
                let Some(back) = self.turn_back(slot, region, cx) else { return };
                match back {
                    Span::ZERO => self.redirected(slot, cx),
                    back => cx.later(cx.now + back, What::Redirected, slot),
                }
            }
            Face::Gateway | Face::Switch => {
                route.legs.push(Leg { decider: number, choice, sent: cx.now });
                let here = decider.host.is_some_and(|host| next == Next::Server(host));
                let delay = if here { Span::ZERO } else { self.between(number, next) };
                self.sent(slot, next, choice, cx);
                self.routes[slot as usize].tried.clear();
                self.move_on(slot, next, delay, cx);
            }
            Face::Dns | Face::Client => unreachable!("requests do not come to a {}", decider.face.name()),
        }
    }

    /// A request is on its way to `next`, as a decider has chosen.
    fn sent(&mut self, slot: u32, next: Next, choice: Choice, cx: &mut Cx) {
        self.routes[slot as usize].next = Some(next);
        let job = &mut cx.jobs.slab[slot as usize];
        job.stage = Stage::Forwarded;
        job.sent = cx.now;
        if let Next::Server(host) = next {
            job.choice = Choice { dispatcher: choice.dispatcher, server: host };
            cx.tally.sent(job.planned, host as usize);
        }
    }

    /// The client has been told where to ask.
    fn redirected(&mut self, slot: u32, cx: &mut Cx) {
        let next = self.routes[slot as usize].next.expect("a redirection names a place");
        self.send(slot, next, cx);
    }

    /// A server keeps a request that came to it.
    fn serve_here(&mut self, slot: u32, host: u32, cx: &mut Cx) {
        self.sent(slot, Next::Server(host), Choice { dispatcher: 0, server: host }, cx);
        self.at_server(slot, cx);
    }

    fn at_server(&mut self, slot: u32, cx: &mut Cx) {
        if let Some(Next::Server(host)) = self.routes[slot as usize].next {
            let job = &mut cx.jobs.slab[slot as usize];
            if self.deciders.is_empty() || job.stage == Stage::Coming {
                // The client met it without a decider that forwards.
                self.sent(slot, Next::Server(host), Choice { dispatcher: 0, server: host }, cx);
            }
        }
        let host = cx.jobs.slab[slot as usize].choice.server as usize;
        if self.is_down[host] {
            return self.refused(slot, cx);
        }
        let job = &mut cx.jobs.slab[slot as usize];
        if self.speeds_differ {
            job.service = self.servers[host].service_time(job.service);
        }
        if let Some(slowness) = self.slowness.get(host).filter(|slowness| **slowness > 1.0) {
            job.service = Span::from_secs_f64(job.service.as_secs_f64() * slowness);
        }
        (self.routes[slot as usize].stage, self.routes[slot as usize].came) = (0, cx.now);
        self.visit(slot, cx);
    }

    /// A request comes to its present stage at its server.
    fn visit(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        let host = job.choice.server as usize;
        let stage = self.routes[slot as usize].stage;
        let number = self.stages[host][stage];
        let station = &mut self.stations[number];
        let due = station.next_departure();
        let work = match stage {
            0 => {
                if let Some(predictor) = &mut self.predictor {
                    predictor.predict(slot, job, &self.servers[host], station, cx.now);
                }
                job.service
            }
            stage => work_at(&self.servers[host], stage, job.size),
        };
        match station.arrive_of(job.class, cx.now, u64::from(slot), work) {
            Admission::Admitted(ticket) => {
                job.ticket = ticket;
                job.stage = Stage::AtServer;
                if station.next_departure() != due {
                    self.timers.set(number, station.next_departure());
                }
                if stage == 0 {
                    self.report(cx.now, |reporting, view| reporting.arrived(host as u32, view));
                }
            }
            Admission::Denied => self.deny(slot, cx),
        }
    }

    /// A request ends without a reply: all on its stack are told.
    fn deny(&mut self, slot: u32, cx: &mut Cx) {
        for leg in std::mem::take(&mut self.routes[slot as usize].legs) {
            self.deciders[leg.decider as usize].balancer.failed(leg.choice, cx.now - leg.sent, cx.now);
        }
        cx.deny(slot);
    }

    /// The innermost gateway that a reply still has to pass; its place on the stack.
    fn gateway(&self, slot: u32) -> Option<usize> {
        let legs = &self.routes[slot as usize].legs;
        legs.iter().rposition(|leg| self.deciders[leg.decider as usize].face == Face::Gateway)
    }

    /// The first byte of a reply is at the gateway number `heard` on its way out.
    fn first_byte(&mut self, slot: u32, cx: &mut Cx) {
        let route = &self.routes[slot as usize];
        let gateways = route.legs.iter().rev().filter(|leg| self.deciders[leg.decider as usize].face == Face::Gateway);
        let mut gateways = gateways.skip(route.heard);
        let Some(&leg) = gateways.next() else { return };
        let outer = gateways.next().copied();
        let balancer = &mut self.deciders[leg.decider as usize].balancer;
        if balancer.wants_first_byte() {
            balancer.first_byte(leg.choice, cx.now - leg.sent, cx.now);
        }
        self.routes[slot as usize].heard += 1;
        if let Some(outer) = outer {
            match self.between(outer.decider, Next::Decider(leg.decider)) {
                Span::ZERO => self.first_byte(slot, cx),
                delay => cx.later(cx.now + delay, What::FirstByte, slot),
            }
        }
    }

    /// Whether a gateway on a request's stack reads first bytes.
    fn wants_first_byte(&self, slot: u32) -> bool {
        let legs = &self.routes[slot as usize].legs;
        legs.iter().any(|leg| {
            let decider = &self.deciders[leg.decider as usize];
            decider.face == Face::Gateway && decider.balancer.wants_first_byte()
        })
    }

    /// A reply has left the innermost gateway's link, or its server's where there is none.
    fn reply(&mut self, slot: u32, cx: &mut Cx) {
        let job = cx.jobs.slab[slot as usize];
        let mut region = self.places.region_of_host(job.choice.server as usize);
        if let Some(place) = self.gateway(slot) {
            let route = &mut self.routes[slot as usize];
            let leg = route.legs.remove(place);
            route.heard = route.heard.saturating_sub(1);
            let decider = &mut self.deciders[leg.decider as usize];
            decider.balancer.completed(leg.choice, job.size, cx.now - leg.sent, cx.now);
            region = decider.region;
            if let Some(outer) = self.gateway(slot) {
                let outer = self.routes[slot as usize].legs[outer];
                return match self.relay(outer, Next::Decider(leg.decider), job.size, cx.now) {
                    at if at == cx.now => self.reply(slot, cx),
                    at => cx.later(at, What::ReplyAtBalancer, slot),
                };
            }
        }
        cx.jobs.slab[slot as usize].stage = Stage::Returning;
        self.answer(slot, region, cx);
    }

    /// The client has the whole reply; switches hear of it from the client's last packet.
    fn complete(&mut self, slot: u32, cx: &mut Cx) {
        let Job { client, size, .. } = cx.jobs.slab[slot as usize];
        for leg in std::mem::take(&mut self.routes[slot as usize].legs) {
            let decider = &mut self.deciders[leg.decider as usize];
            match self.places.one_way(client, decider.region) {
                Span::ZERO => decider.balancer.completed(leg.choice, size, cx.now - leg.sent, cx.now),
                delay => {
                    let place = self.free_closings.pop().unwrap_or(self.closings.len() as u32);
                    match self.closings.get_mut(place as usize) {
                        Some(closing) => *closing = (size, leg),
                        None => self.closings.push((size, leg)),
                    }
                    cx.agenda.add(cx.now + delay, What::Closes, place, 0);
                }
            }
        }
        self.release(slot, self.routes[slot as usize].from, cx);
        cx.complete(slot);
    }

    /// A switch hears that a connection is closed.
    fn closes(&mut self, number: u32, cx: &mut Cx) {
        let (size, leg) = self.closings[number as usize];
        self.free_closings.push(number);
        let balancer = &mut self.deciders[leg.decider as usize].balancer;
        balancer.completed(leg.choice, size, cx.now - leg.sent, cx.now);
    }

    fn leave_station(&mut self, slot: u32, cx: &mut Cx) {
        let Job { choice, ticket, .. } = cx.jobs.slab[slot as usize];
        let number = self.stages[choice.server as usize][self.routes[slot as usize].stage];
        let station = &mut self.stations[number];
        station.cancel(cx.now, ticket);
        self.timers.set(number, station.next_departure());
        self.report(cx.now, |reporting, _| reporting.cancelled(choice.server));
    }

    /// One way between a decider and what it has chosen.
    fn between(&self, decider: u32, next: Next) -> Span {
        match self.is_at_same_site(decider, next) {
            true => self.cluster_delay,
            false => self.places.between(self.deciders[decider as usize].region, self.region_of(next)),
        }
    }

    fn is_at_same_site(&self, decider: u32, next: Next) -> bool {
        let other = match next {
            Next::Server(host) => self.places.site_of_host(host as usize),
            Next::Decider(other) => self.deciders[other as usize].site,
        };
        self.deciders[decider as usize].site == other
    }

    fn region_of(&self, next: Next) -> usize {
        match next {
            Next::Server(host) => self.places.region_of_host(host as usize),
            Next::Decider(decider) => self.deciders[decider as usize].region,
        }
    }
}

impl Fabric for Routed {
    type Traffic = Requests;

    fn start(&mut self, cx: &mut Cx) {
        for (number, change) in self.faults.iter().enumerate() {
            cx.agenda.add(change.at, What::Fault, number as u32, 0);
        }
    }

    fn deadline(&self) -> Time {
        let reports = self.reporting.as_ref().map_or(Time::NEVER, Reporting::next_at);
        let polls = self.deciders.iter().map(|decider| decider.balancer.deadline()).min().unwrap_or(Time::NEVER);
        polls.min(reports).min(self.messages.first_at())
    }

    fn next_departure(&self) -> Time {
        self.timers.first_at()
    }

    fn meet_deadline(&mut self, cx: &mut Cx) {
        self.take_messages(cx.now);
        while self.reporting.as_ref().is_some_and(|reporting| reporting.next_at() <= cx.now) {
            self.report(cx.now, Reporting::tick);
            self.take_messages(cx.now);
        }
        for number in 0..self.deciders.len() {
            if self.deciders[number].balancer.deadline() > cx.now {
                continue;
            }
            // What a target has: requests at a server, requests that a decider has forwarded.
            let counts: Vec<u32> = self.deciders[number]
                .targets
                .iter()
                .map(|target| match *target {
                    Next::Server(host) => {
                        let stages = &self.stages[host as usize];
                        stages.iter().map(|stage| self.stations[*stage].occupancy().0).sum()
                    }
                    Next::Decider(other) => self.deciders[other as usize].balancer.in_flight(),
                })
                .collect();
            let commands = self.deciders[number].balancer.poll(cx.now, |target| Some(counts[target]));
            self.obey(number as u32, commands, cx.now);
        }
    }

    fn depart(&mut self, cx: &mut Cx) {
        let number = self.timers.first();
        let station = &mut self.stations[number];
        let departure = station.depart(cx.now).expect("the timer is the station's next departure");
        self.timers.set(number, station.next_departure());
        let slot = departure.job as u32;
        if number >= self.first_medium {
            return self.flowed(slot, cx);
        }
        let job = &mut cx.jobs.slab[slot as usize];
        job.stage = Stage::Forwarded;
        let host = job.choice.server as usize;
        let route = &mut self.routes[slot as usize];
        if let (0, Some(predictor)) = (route.stage, &self.predictor) {
            let actual = departure.at - departure.arrived;
            cx.tally.predicted(job.planned, predictor.of(slot), actual);
        }
        route.waited += departure.started - departure.arrived;
        if route.stage + 1 < self.stages[host].len() {
            route.stage += 1;
            return self.visit(slot, cx);
        }
        let service = job.service + (1..=route.stage).map(|stage| work_at(&self.servers[host], stage, job.size)).sum();
        cx.tally.served(job.planned, route.waited, service);
        let (size, client, stayed) = (job.size, job.client, cx.now - route.came);
        self.report(cx.now, |reporting, view| reporting.served(host as u32, client, size, stayed, view));
        let site = self.places.site_of_host(host).unwrap_or(0);
        let (first_byte, whole) = match self.cluster_wires.get_mut(site) {
            None => (cx.now, cx.now),
            Some(wire) => {
                let passage = wire.send(cx.now, size);
                (passage.first_byte, passage.arrives)
            }
        };
        let (first_byte, whole) = self.at_innermost_gateway(slot, host, (first_byte, whole), size);
        if self.wants_first_byte(slot) {
            if first_byte == cx.now {
                self.first_byte(slot, cx);
            } else {
                cx.later(first_byte, What::FirstByte, slot);
            }
        }
        if whole == cx.now {
            self.reply(slot, cx);
        } else {
            cx.later(whole, What::ReplyAtBalancer, slot);
        }
    }

    fn enter(&mut self, slot: u32, cx: &mut Cx) {
        let place = slot as usize;
        if self.routes.len() <= place {
            self.routes.resize_with(place + 1, Route::default);
        }
        if let Some(timeout) = self.timeout {
            cx.later(cx.jobs.slab[place].planned + timeout, What::TimesOut, slot);
        }
        let route = &mut self.routes[place];
        route.connection = None;
        (route.next, route.hops, route.stage, route.waited, route.heard) = (None, 0, 0, Span::ZERO, 0);
        route.refusals = 0;
        route.asked = cx.jobs.slab[place].asked();
        if let (true, Some(origins)) = (self.tells_origins, &self.origins) {
            route.asked.origin = origins.of(route.asked.client);
        }
        route.tried.clear();
        debug_assert!(route.legs.is_empty(), "a request that has ended has no choice left to be told");
        let next = match &mut self.names {
            _ if self.deciders.is_empty() => Some(Next::Server(0)),
            None => Some(Next::Decider(0)),
            Some(names) => {
                let asked = route.asked;
                let (dns, origins, probing) = (&mut self.deciders[0], &self.origins, &mut self.probing);
                let target = names.resolve(asked.client, cx.now, |client| {
                    if dns.is_down {
                        return None;
                    }
                    let origin = origins.as_ref().map_or(Origin::default(), |origins| origins.of(client));
                    probing.iter_mut().for_each(|probing| probing.know(client));
                    let target = dns.balancer.choose(Asked { client, origin, ..asked }, &[], cx.now)?.server;
                    Some((target, dns.ttl(client, target)))
                });
                target.map(|target| self.deciders[0].targets[target as usize])
            }
        };
        match next {
            Some(next) => self.send(slot, next, cx),
            None => self.deny(slot, cx),
        }
    }

    fn fire(&mut self, what: What, slot: u32, cx: &mut Cx) {
        match what {
            What::AtBalancer => match self.routes[slot as usize].next {
                Some(Next::Decider(decider)) => self.at_decider(slot, decider, cx),
                Some(server) => self.move_on(slot, server, self.cluster_delay, cx),
                None => unreachable!("it was sent somewhere"),
            },
            What::AtServer => self.at_server(slot, cx),
            What::Redirected => self.redirected(slot, cx),
            What::FirstByte => self.first_byte(slot, cx),
            What::ReplyAtBalancer => self.reply(slot, cx),
            What::ReplyFlows => self.flow(slot, cx),
            What::ReplyAtClient => self.complete(slot, cx),
            What::Connects => self.connects(slot, cx),
            What::GivesUp => self.gives_up(slot, cx),
            What::TimesOut => {
                self.cancel(slot, cx);
                cx.deny(slot);
            }
            What::Closes => self.closes(slot, cx),
            What::Fault => self.fault(slot, cx),
            What::HealthKnown => self.health_known(slot, cx),
            What::PatienceEnds | What::UserAsks => unreachable!("clients take {what:?}"),
        }
    }

    fn cancel(&mut self, slot: u32, cx: &mut Cx) {
        match cx.jobs.slab[slot as usize].stage {
            Stage::AtServer => self.leave_station(slot, cx),
            Stage::Flowing => self.leave_medium(slot, cx),
            _ => {}
        }
        for leg in std::mem::take(&mut self.routes[slot as usize].legs) {
            self.deciders[leg.decider as usize].balancer.cancelled(leg.choice, cx.now);
        }
    }

    fn servers(&self) -> &[Server] {
        &self.servers
    }

    fn has_connections(&self) -> bool {
        self.transfers.is_some()
    }

    fn busy(&self, now: Time) -> Vec<Span> {
        self.stages.iter().map(|stages| self.stations[stages[0]].busy(now)).collect()
    }
}

/// The stations of each server, by its resources, and all of them: the processors first, in the order of the servers.
fn stations(servers: &[Server]) -> (Vec<Vec<usize>>, Vec<Station>) {
    let mut stations: Vec<Station> =
        servers.iter().map(|server| Station::new(server.discipline.clone(), server.cores, server.capacity)).collect();
    let mut stages: Vec<Vec<usize>> = (0..servers.len()).map(|server| vec![server]).collect();
    for (server, stages) in servers.iter().zip(&mut stages) {
        for resource in server.machine.iter().flat_map(|machine| &machine.resources[1..]) {
            stages.push(stations.len());
            stations.push(Station::new(resource.discipline.clone(), 1, None));
        }
    }
    (stages, stations)
}

/// The work of `size` bytes at stage `stage` of a server, which is not its processor.
fn work_at(server: &Server, stage: usize, size: u64) -> Span {
    let resource = server.machine.as_ref().and_then(|machine| machine.resources.get(stage));
    let rate = resource.and_then(|resource| resource.rate).expect("a resource beside the processor has a rate");
    Span::from_secs_f64(size as f64 / rate)
}

/// Refuses by name what this fabric does not have yet.
pub(crate) fn refuse(system: &System) -> Result<(), SimError> {
    let tiers = &system.tiers;
    // Gateways and switches with what they forward to.
    let forwards = || {
        let forwards = |tier: &&Tier| matches!(tier.face, Face::Gateway | Face::Switch);
        tiers
            .iter()
            .filter(forwards)
            .flat_map(|tier| &tier.seats)
            .flat_map(|seat| seat.targets.iter().map(move |target| (seat, *target)))
    };
    let is_redirect =
        |target: Target| matches!(target, Target::Seat { tier, .. } if tiers[tier].face == Face::Redirect);
    let site_of = |target: Target| match target {
        Target::Host(host) => system.hosts[host].site,
        Target::Seat { tier, seat } => tiers[tier].seats[seat].site,
    };
    let loses = |(seat, target): (&Seat, Target)| {
        let path = system.paths.between(system.region_of(seat.site), system.region_of(site_of(target)));
        seat.site != site_of(target) && path.is_some_and(|path| path.loss > 0.0 || path.medium.is_some())
    };
    let polls_redirect = |tier: &Tier| {
        tier.polled.is_some() && tier.seats.iter().flat_map(|seat| &seat.targets).any(|of| is_redirect(*of))
    };
    let rules = &system.rules;
    let missing = [
        (tiers.iter().any(|tier| tier.face == Face::Client), "tier of face `client`"),
        (tiers.iter().any(|tier| !tier.pools.is_empty()), "pools by host and path"),
        (
            forwards().any(|(_, target)| is_redirect(target)),
            "redirect behind a gateway or a switch: put a DNS in front",
        ),
        (
            tiers.iter().any(polls_redirect),
            "polls of a redirect, which does not know how many requests it has: leave `information` out",
        ),
        (
            forwards().any(loses),
            "loss or medium of a path between a gateway or a switch and what it forwards to: give that path a rate only",
        ),
        (rules.retries.is_some() || rules.hedge.is_some(), "clients that retry or hedge ([client])"),
        (
            system
                .servers()
                .filter_map(|server| server.machine.as_ref())
                .any(|it| it.memory.is_some() || it.files.is_some()),
            "memory that caches, or files with owners",
        ),
    ];
    match missing.into_iter().find(|(is_written, _)| *is_written) {
        Some((_, what)) => Err(SimError::NotYet(what.into())),
        None => faults::check(system),
    }
}
