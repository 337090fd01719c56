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

mod choosers;
mod connections;
mod faults;
mod freezable;
mod information;
mod messages;
mod origins;
mod outages;
mod places;
mod probes;
mod replies;
mod reports;
mod resources;
mod retries;
mod transfers;

use std::collections::BTreeMap;

use sojourn_dispatch::{BackendId, Catalogue, Origin, Signals};
use sojourn_model::system::{Face, Fault, Seat, Subject, System, Target, Tier, Trouble};
use sojourn_model::{Discipline, Knowledge, Server, Station, TcpConnection, Wire};
use sojourn_stats::{Span, Time};
use sojourn_traffic::Workload;

use self::choosers::{Choosers, check_choosers};
use self::connections::Connections;
use self::faults::Change;
use self::freezable::Freezable;
use self::messages::Messages;
use self::origins::Origins;
use self::outages::{Outages, Place};
use self::places::Places;
use self::probes::Probing;
use self::reports::Reporting;
use self::resources::{Storage, stations};
use self::retries::Retrying;
use self::transfers::{Transfers, Waiting};
use super::deciders::{Decider, Next, deciders};
use super::names::Names;
use crate::balancer::{Asked, AtNode, Choice};
use crate::control::SimError;
use crate::engine::Fabric;
use crate::requests::jobs::Stage;
use crate::requests::prediction::Predictor;
use crate::requests::{Cx, Requests, What};
use crate::timers::Timers;

/// Tiers of deciders in front of stations, in several places.
pub(crate) struct Routed {
    /// All seats of all tiers, tier by tier; the first is where requests come in.
    deciders: Vec<Decider>,
    /// Answers of the DNS that are held; none where the first tier is no DNS.
    names: Option<Names>,
    /// Clients that decide for themselves; none where they do not.
    choosers: Option<Choosers>,
    servers: Vec<Server>,
    speeds_differ: bool,
    /// Stations of each server, in the order of its resources.
    stages: Vec<Vec<usize>>,
    /// Those of all servers, and from `first_medium` on the links that paths share.
    stations: Vec<Freezable>,
    first_medium: usize,
    timers: Timers,
    places: Places,
    /// Connections of clients; none where requests and replies are messages.
    transfers: Option<Transfers>,
    /// The paths with a rate from what a gateway forwards to, by decider and target.
    relays: BTreeMap<(u32, u32), Wire>,
    /// Connections of servers; none where no server has a limit of them.
    connections: Option<Connections>,
    /// How long a client waits for a reply.
    timeout: Option<Span>,
    retrying: Option<Retrying>,
    /// The link that the replies of a site share.
    cluster_wires: Vec<Wire>,
    cluster_delay: Span,
    predictor: Option<Predictor>,
    /// Files and memory of servers; none where they have none of their own.
    storage: Option<Storage>,
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
    outages: Outages,
    /// How much longer each server takes; empty while none is slow.
    slowness: Vec<f64>,
    /// The share of the requests that each server answers with an error; empty while none does.
    errors: Vec<f64>,
    seed: u64,
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
    /// It was passed on by a site that could not take it.
    has_overflowed: bool,
    /// Attempts before this one, and the demand of each.
    retries: u32,
    demand: Span,
    /// Targets of the innermost decider that have refused it.
    tried: Vec<BackendId>,
    /// When it came to its server, and its stage there.
    came: Time,
    stage: usize,
    /// The station that it is at, and time waited and served at the stages so far.
    station: usize,
    waited: Span,
    service: Span,
    /// The server that owns the file which is on its way here.
    fetches: Option<u32>,
    /// The server one of whose connections it has.
    connected: Option<u32>,
    /// Gateways that have had the first byte of its reply.
    heard: usize,
    /// The connection that it came over, and what its client asked over it.
    connection: Option<TcpConnection>,
    front: Option<Next>,
    /// What its connection does, while that waits for a time-out.
    waiting: Option<Box<Waiting>>,
    /// How long it took to set it up.
    set_up: Span,
    /// Its reply is an error.
    is_error: bool,
    /// The region that its reply comes from, and when the reply is through its client's own link.
    from: usize,
    set_out: Time,
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
        refuse(system, workload)?;
        let servers: Vec<Server> = system.servers().cloned().collect();
        let (stages, mut stations) = stations(&servers);
        let first_medium = stations.len();
        stations.extend(system.media.iter().map(|_| Freezable::new(Station::new(Discipline::Ps, 1, None))));
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
            choosers: Choosers::new(system, catalogue, seed),
            deciders,
            speeds_differ: servers.iter().any(|server| server.speed != 1.0),
            timers: Timers::new(stations.len()),
            stages,
            stations,
            first_medium,
            places: Places::new(system, seed),
            transfers: Transfers::new(system, seed),
            relays: BTreeMap::new(),
            connections: Connections::new(&servers),
            timeout: system.rules.timeout,
            retrying: Retrying::new(system),
            cluster_wires: cluster.map_or(Vec::new(), |link| vec![Wire::new(link); system.sites.len().max(1)]),
            cluster_delay: cluster.map_or(Span::ZERO, |link| link.delay),
            storage: Storage::new(system),
            predictor: predict.map(|(knows, demand_mean)| Predictor::new(knows, demand_mean)),
            routes: Vec::new(),
            closings: Vec::new(),
            free_closings: Vec::new(),
            faults: faults::changes(system, seed),
            is_down: vec![false; servers.len()],
            outages: Outages::new(system, |number| faults::parts(system, number, seed)),
            slowness: Vec::new(),
            errors: Vec::new(),
            seed,
            fails_over: system.rules.fails_over,
            servers,
        };
        routed.reporting = Reporting::new(system, &routed, seed);
        routed.prepare(system);
        Ok(routed)
    }

    /// A client begins an attempt, which counts from `since` on.
    fn begin(&mut self, slot: u32, since: Time, cx: &mut Cx) {
        if let Some(timeout) = self.timeout {
            cx.later(since + timeout, What::TimesOut, slot);
        }
        let route = &mut self.routes[slot as usize];
        (route.connection, route.waiting) = (None, None);
        (route.next, route.hops, route.stage, route.waited, route.heard) = (None, 0, 0, Span::ZERO, 0);
        (route.refusals, route.is_error, route.has_overflowed) = (0, false, false);
        route.tried.clear();
        self.resolve(slot, cx);
    }

    /// A request sets out to where its client's name for the service leads.
    fn resolve(&mut self, slot: u32, cx: &mut Cx) {
        let next = match &mut self.names {
            _ if self.deciders.is_empty() => Some(Next::Server(0)),
            None if self.choosers.is_some() => self.chosen_by_client(slot, cx),
            None => Some(Next::Decider(0)),
            Some(names) => {
                let asked = self.routes[slot as usize].asked;
                let (dns, origins, probing) = (&mut self.deciders[0], &self.origins, &mut self.probing);
                let stands = self.outages.decider_stands(0, cx.now);
                let mut waits = None;
                let (places, process) = (&self.places, cx.jobs.slab[slot as usize].client);
                let target = names.resolve(process, cx.now, |asker| {
                    let client = places.machine(asker);
                    waits = stands;
                    if dns.is_down || stands.is_some() {
                        return None;
                    }
                    let origin = origins.as_ref().map_or(Origin::default(), |origins| origins.of(client));
                    probing.iter_mut().for_each(|probing| probing.know(client));
                    let target = dns.balancer.choose(Asked { client, origin, ..asked }, &[], cx.now)?.server;
                    Some((target, dns.ttl(client, target)))
                });
                if let Some(goes_on) = waits {
                    return self.waits(slot, goes_on, What::Resolves, cx);
                }
                target.map(|target| self.deciders[0].targets[target as usize])
            }
        };
        match next {
            Some(next) => self.send(slot, next, cx),
            None => self.deny(slot, cx),
        }
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
        if let Some(goes_on) = self.outages.decider_stands(number, cx.now) {
            return self.waits(slot, goes_on, What::AtBalancer, cx);
        }
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
        if decider.balancer.is_of_node() {
            let round_trip = Span(2 * self.places.one_way(job.client, decider.region).0);
            let work = job.service.as_secs_f64();
            route.asked.at_node = Some(AtNode { here: decider.here, hops: route.hops, work, round_trip });
        }
        let Some(choice) = decider.balancer.choose(route.asked, &route.tried, cx.now) else {
            return self.overflow(slot, number, cx);
        };
        let next = decider.targets[choice.server as usize];
        match decider.face {
            Face::Redirect if decider.host.is_some_and(|host| next == Next::Server(host)) => {
                self.sent(slot, next, choice, cx);
                self.at_server(slot, cx);
            }
            Face::Redirect => {
                route.hops += 1;
                self.sent(slot, next, choice, cx);
                let Some(back) = self.turn_back(slot, number, cx) else { return };
                match back {
                    Span::ZERO => self.redirected(slot, cx),
                    back => cx.later(cx.now + back, What::Redirected, slot),
                }
            }
            Face::Gateway | Face::Switch => self.forward(slot, number, choice, cx),
            Face::Dns | Face::Client => unreachable!("requests do not come to a {}", decider.face.name()),
        }
    }

    /// A decider sends a request on, and hears of its end.
    fn forward(&mut self, slot: u32, number: u32, choice: Choice, cx: &mut Cx) {
        let decider = &self.deciders[number as usize];
        let next = decider.targets[choice.server as usize];
        let here = decider.host.is_some_and(|host| next == Next::Server(host));
        let delay = if here { Span::ZERO } else { self.between(number, next) };
        self.routes[slot as usize].legs.push(Leg { decider: number, choice, sent: cx.now });
        self.sent(slot, next, choice, cx);
        self.routes[slot as usize].tried.clear();
        if self.passes(Next::Decider(number), next, cx.now) {
            self.move_on(slot, next, delay, cx);
        }
    }

    /// None of a decider's targets can take a request: another site does that has room, unless the request comes from one;
    /// else it is refused.
    fn overflow(&mut self, slot: u32, number: u32, cx: &mut Cx) {
        let route = &mut self.routes[slot as usize];
        let is_first = !std::mem::replace(&mut route.has_overflowed, true);
        let asked = route.asked;
        let passes_on = self.deciders[number as usize].overflow.filter(|_| is_first);
        let found = passes_on.and_then(|other| {
            let choice = self.deciders[other as usize].balancer.choose(asked, &[], cx.now)?;
            Some((other, choice))
        });
        match found {
            Some((other, choice)) => self.forward(slot, other, choice, cx),
            None => self.deny(slot, cx),
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
        let route = &mut self.routes[slot as usize];
        (route.stage, route.came, route.service, route.fetches) = (0, cx.now, Span::ZERO, None);
        match self.outages.host_stands(host as u32, cx.now) {
            Some(goes_on) => self.waits(slot, goes_on, What::Accepted, cx),
            None => self.accepted(slot, cx),
        }
    }

    /// A server takes a request from its door.
    fn accepted(&mut self, slot: u32, cx: &mut Cx) {
        let host = cx.jobs.slab[slot as usize].choice.server as usize;
        if self.is_down[host] {
            return self.refused(slot, cx);
        }
        if !self.takes_connection(slot, host) {
            return self.ask_elsewhere(slot, cx);
        }
        if self.answers_with_error(slot, host, cx) {
            return;
        }
        let job = &mut cx.jobs.slab[slot as usize];
        if self.speeds_differ {
            job.service = self.servers[host].service_time(job.service);
        }
        if let Some(slowness) = self.slowness.get(host).filter(|slowness| **slowness > 1.0) {
            job.service = Span::from_secs_f64(job.service.as_secs_f64() * slowness);
        }
        self.visit(slot, cx);
    }

    /// A request ends without a reply: all on its stack are told.
    fn deny(&mut self, slot: u32, cx: &mut Cx) {
        let client = cx.jobs.slab[slot as usize].client;
        for leg in std::mem::take(&mut self.routes[slot as usize].legs) {
            self.teller(leg.decider, client).failed(leg.choice, cx.now - leg.sent, cx.now);
        }
        self.let_go(client);
        self.fail(slot, cx);
    }

    /// One way between a decider and what it has chosen.
    fn between(&self, decider: u32, next: Next) -> Span {
        match self.is_at_same_site(decider, next) {
            true => self.cluster_delay,
            false => self.places.between(self.deciders[decider as usize].region, self.region_of(next)),
        }
    }

    /// Where something that is sent to is.
    fn place_of(&self, next: Next) -> Place {
        let (region, is_client) = (self.region_of(next), false);
        match next {
            Next::Server(host) => {
                Place { region, site: self.places.site_of_host(host as usize), host: Some(host), is_client }
            }
            Next::Decider(decider) => {
                let Decider { site, host, .. } = self.deciders[decider as usize];
                Place { region, site, host, is_client }
            }
        }
    }

    /// Where a client is.
    fn place_of_client(&self, client: u32) -> Place {
        Place { region: self.places.home(client), site: None, host: None, is_client: true }
    }

    /// What a target says when it is polled: requests at a server, requests that a decider has forwarded.
    fn inside(&self, target: Next) -> u32 {
        match target {
            Next::Server(host) => {
                self.stages[host as usize].iter().map(|stage| self.stations[*stage].occupancy().0).sum()
            }
            Next::Decider(other) => self.deciders[other as usize].balancer.in_flight(),
        }
    }

    /// Whether a message between parts of the system that sets out now is not lost by a cut.
    fn passes(&self, from: Next, to: Next, now: Time) -> bool {
        self.outages.passes(self.place_of(from), self.place_of(to), now)
    }

    /// What comes to a part that stands still happens when that goes on.
    fn waits(&self, slot: u32, goes_on: Time, what: What, cx: &mut Cx) {
        if goes_on < Time::NEVER {
            cx.later(goes_on, what, slot);
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
            let looker = Next::Decider(number as u32);
            let counts: Vec<Option<u32>> = self.deciders[number]
                .targets
                .iter()
                .map(|&target| {
                    let answers = !self.is_silent(target, cx.now) && self.passes(looker, target, cx.now);
                    answers.then(|| self.inside(target))
                })
                .collect();
            let commands = self.deciders[number].balancer.poll(cx.now, |target| counts[target]);
            self.obey(number as u32, commands, cx.now);
        }
    }

    fn depart(&mut self, cx: &mut Cx) {
        let number = self.timers.first();
        let station = &mut self.stations[number];
        let departure = station.depart(cx.now).expect("the timer is the station's next departure");
        self.timers.set(number, station.next_departure());
        let slot = departure.job as u32;
        let job = &mut cx.jobs.slab[slot as usize];
        let route = &mut self.routes[slot as usize];
        match (number >= self.first_medium, route.fetches) {
            (true, None) => return self.flowed(slot, cx),
            (true, Some(_)) => return self.fetched(slot, cx),
            (false, _) => job.stage = Stage::Forwarded,
        }
        if let (0, Some(predictor)) = (route.stage, &self.predictor) {
            let actual = departure.at - departure.arrived;
            cx.tally.predicted(job.planned, predictor.of(slot), actual);
        }
        route.waited += departure.started - departure.arrived;
        self.has_visited(slot, cx);
    }

    fn enter(&mut self, slot: u32, cx: &mut Cx) {
        let place = slot as usize;
        if self.routes.len() <= place {
            self.routes.resize_with(place + 1, Route::default);
        }
        let job = cx.jobs.slab[place];
        let route = &mut self.routes[place];
        (route.retries, route.demand, route.asked) = (0, job.service, job.asked());
        route.asked.client = self.places.machine(route.asked.client);
        if let (true, Some(origins)) = (self.tells_origins, &self.origins) {
            route.asked.origin = origins.of(route.asked.client);
        }
        debug_assert!(route.legs.is_empty(), "a request that has ended has no choice left to be told");
        self.retrying.iter_mut().for_each(|retrying| retrying.asked(cx.now));
        self.begin(slot, job.planned, cx);
    }

    fn fire(&mut self, what: What, slot: u32, cx: &mut Cx) {
        match what {
            What::AtBalancer => match self.routes[slot as usize].next {
                Some(Next::Decider(decider)) => self.at_decider(slot, decider, cx),
                Some(server) => self.move_on(slot, server, self.cluster_delay, cx),
                None => unreachable!("it was sent somewhere"),
            },
            What::Resolves => self.resolve(slot, cx),
            What::AtServer => self.at_server(slot, cx),
            What::Accepted => self.accepted(slot, cx),
            What::Fetched => self.fetched(slot, cx),
            What::Redirected => self.redirected(slot, cx),
            What::FirstByte => self.first_byte(slot, cx),
            What::ReplyAtBalancer => self.reply(slot, cx),
            What::ReplyFlows => self.flow(slot, cx),
            What::ReplyAtClient => self.complete(slot, cx),
            What::Connects => self.connects(slot, cx),
            What::Greeted => self.greeted(slot, cx),
            What::Secured => self.asks(slot, cx),
            What::SendsAgain => self.sends_again(slot, cx),
            What::GivesUp => self.gives_up(slot, cx),
            What::TimesOut => {
                self.gives_up_waiting(slot, cx);
                self.cancel(slot, cx);
                self.fail(slot, cx);
            }
            What::TriesAgain => self.begin(slot, cx.now, cx),
            What::Closes => self.closes(slot, cx),
            What::Fault => self.fault(slot, cx),
            What::HealthKnown => self.health_known(slot, cx),
            What::PatienceEnds | What::UserAsks => unreachable!("clients take {what:?}"),
        }
    }

    fn cancel(&mut self, slot: u32, cx: &mut Cx) {
        self.hangs_up(slot);
        match cx.jobs.slab[slot as usize].stage {
            Stage::Flowing => self.leave_medium(slot, cx),
            _ => self.leave_server(slot, cx),
        }
        let client = cx.jobs.slab[slot as usize].client;
        for leg in std::mem::take(&mut self.routes[slot as usize].legs) {
            self.teller(leg.decider, client).cancelled(leg.choice, cx.now);
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

/// Refuses by name what this fabric does not have yet.
pub(crate) fn refuse(system: &System, workload: &Workload) -> Result<(), SimError> {
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
    // Those that pass on what they cannot take, with where to.
    let overflows = || {
        tiers.iter().enumerate().flat_map(|(index, tier)| {
            let seats = tier.seats.iter();
            seats.flat_map(move |own| own.overflow.iter().map(move |&seat| (own, Target::Seat { tier: index, seat })))
        })
    };
    let is_redirect =
        |target: Target| matches!(target, Target::Seat { tier, .. } if tiers[tier].face == Face::Redirect);
    let site_of = |target: Target| match target {
        Target::Host(host) => system.hosts[host].site,
        Target::Seat { tier, seat } => tiers[tier].seats[seat].site,
    };
    let loses = |(seat, target): (&Seat, Target)| {
        let path = system.paths.between(system.region_of(seat.site), system.region_of(site_of(target)));
        let is_lossy = |fault: &Fault| {
            let regions = [seat.site, site_of(target)].map(|site| system.region_of(site));
            let (a, b) = (regions[0].min(regions[1]), regions[0].max(regions[1]));
            fault.subject == Subject::Path(a, b) && matches!(fault.trouble, Trouble::Loss(_))
        };
        seat.site != site_of(target)
            && (path.is_some_and(|path| path.loses() || path.medium.is_some()) || system.faults.iter().any(is_lossy))
    };
    let polls_redirect = |tier: &Tier| {
        tier.polled.is_some() && tier.seats.iter().flat_map(|seat| &seat.targets).any(|of| is_redirect(*of))
    };
    let rules = &system.rules;
    let is_impatient = match workload {
        Workload::Open(open) => open.patience.is_some(),
        Workload::Closed(closed) => closed.patience.is_some(),
        Workload::Trace(_) | Workload::Replay(_) | Workload::Sessions(_) => false,
    };
    let missing = [
        (
            tiers.iter().any(|tier| tier.face == Face::Client && tier.polled.is_some()),
            "polls by clients, which go by what happens to their own requests: leave `information` out",
        ),
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
            forwards().chain(overflows()).any(loses),
            "loss or medium of a path between a gateway or a switch and what it forwards to: give that path a rate only",
        ),
        (
            tiers.iter().any(|tier| tier.face != Face::Switch && tier.overflow.is_some()),
            "overflow of a face that is no switch",
        ),
        (rules.hedge.is_some(), "clients that hedge ([client])"),
        (rules.retries.is_some() && is_impatient, "clients that retry and lose patience: leave `patience` out"),
    ];
    match missing.into_iter().find(|(is_written, _)| *is_written) {
        Some((_, what)) => Err(SimError::NotYet(what.into())),
        None => check_choosers(system, workload)
            .and_then(|()| faults::check(system))
            .and_then(|()| resources::check(system, workload.objects().len())),
    }
}
