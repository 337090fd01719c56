//! The routed fabric: tiers of deciders, choices that are held, redirections, regions and faults.
//!
//! A request's route is a stack of choices, the outermost first. A DNS answer is held outside of the stack, by a resolver
//! or a client, until its TTL ends. A choice by a gateway or a switch is on the stack until its dispatcher has learned of
//! the request's end, which happens exactly once: at a gateway when the reply passes it, at a switch when the client's
//! last packet does. A redirection goes back to the client, which comes in again one hop further; its decider learns no
//! more of it.
//!
//! | what happens | when |
//! |---|---|
//! | a packet between client and system | half of the round trip between the two regions, drawn once per client and region |
//! | a packet between deciders, or decider and server, at one site | the cluster link's delay |
//! | a reply | over the cluster's link, from gateway to gateway, over the client's own link and those that paths share |
//! | a request or a reply where paths lose packets | as a transfer over a connection of TCP: see `transfers` |
//! | a DNS query | takes no time: resolvers are near, and answers are small |
//! | a report, a probe | see `information` |
//! | a fault | see `faults` |
//!
//! What the fabric knows is in rooms, each with its own state and its own rules; no room knows [`Routed`]. A step of a request
//! is a method of `Routed` that asks the rooms it needs: on the way in (`requests`), at a server (`service`), on the way
//! back (`replies`), over a connection (`transfers`).
//!
//! On a system that the direct fabric can be, everything happens in the same order with the same draws.

mod attempts;
mod balancers;
mod clients;
mod cuts;
mod faults;
mod information;
mod limits;
mod network;
mod replies;
mod requests;
mod route;
mod servers;
mod service;
mod stations;
mod transfers;
mod waiting;

use sojourn_dispatch::Catalogue;
use sojourn_model::system::System;
use sojourn_model::{Knowledge, Server};
use sojourn_stats::{Span, Time};
use sojourn_traffic::Workload;

use self::balancers::Balancers;
use self::clients::Clients;
use self::cuts::Cuts;
use self::faults::Faults;
use self::information::{Information, Messages, View};
pub(crate) use self::limits::refuse;
use self::network::Network;
use self::route::Routes;
use self::servers::Servers;
use self::stations::Stations;
use self::transfers::Transfers;
use super::deciders::Next;
use crate::control::SimError;
use crate::engine::Fabric;
use crate::requests::jobs::Stage;
use crate::requests::{Cx, Requests, What};

/// Tiers of deciders in front of stations, in several places.
pub(crate) struct Routed {
    /// What is known of each request on its way.
    routes: Routes,
    /// Answers that clients hold, and what they do when something fails.
    clients: Clients,
    /// Who decides.
    balancers: Balancers,
    /// What deciders know besides requests, and what is under way to them.
    information: Information,
    messages: Messages,
    /// Where all parts are, and what is between them.
    network: Network,
    /// Connections of clients; none where requests and replies are messages.
    transfers: Option<Transfers>,
    /// What servers have and may do, and what waits there.
    servers: Servers,
    stations: Stations,
    /// What is broken.
    faults: Faults,
    /// Whether clients ask once more for what has failed, and whether a request may be denied.
    may_retry: bool,
    may_deny: bool,
    /// Whether requests wait at a decider whose targets are full.
    has_waits: bool,
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
        let regions = network::clients(system, workload);
        let mut balancers = Balancers::new(system, catalogue, seed)?;
        let clients = Clients::new(system, &regions, seed);
        let servers = Servers::new(system, predict);
        let stations = Stations::new(servers.all(), system.media.len());
        let cuts = Cuts::new(system, |number| faults::parts(system, number, seed).0);
        let network = Network::new(system, &balancers, cuts, seed);
        let askers = clients.names.as_ref().map_or(Vec::new(), |names| names.askers().collect());
        let parts = (&network, &stations, &servers);
        let information = Information::new(system, &mut balancers, parts, &regions, askers, seed);
        Ok(Routed {
            has_waits: system.tiers.iter().any(|tier| tier.waits || tier.guards.queue.is_some()),
            may_retry: system.rules.retries.is_some() || system.rules.hedge.is_some(),
            may_deny: !system.is_plain() || servers.all().iter().any(|server| server.capacity.is_some()),
            routes: Routes::default(),
            faults: Faults::new(system, balancers.len(), seed),
            transfers: Transfers::new(system, seed),
            messages: Messages::default(),
            clients,
            balancers,
            information,
            network,
            servers,
            stations,
        })
    }

    /// Something happens to a request at `at`: now, or once it is due.
    #[inline]
    fn happens(&mut self, at: Time, what: What, slot: u32, cx: &mut Cx) {
        match at == cx.now {
            true => self.take(what, slot, cx),
            false => cx.later(at, what, slot),
        }
    }

    /// What happens to a request, or to a part.
    fn take(&mut self, what: What, slot: u32, cx: &mut Cx) {
        match what {
            What::AtBalancer => match self.routes[slot].next {
                Some(Next::Decider(decider)) => self.at_decider(slot, decider, cx),
                Some(_) => self.happens(cx.now + self.network.site_delay(), What::AtServer, slot, cx),
                None => unreachable!("it was sent somewhere"),
            },
            What::Resolves => self.resolve(slot, cx),
            What::AtServer => self.at_server(slot, cx),
            What::Accepted => self.accepted(slot, cx),
            What::Fetched => self.fetched(slot, cx),
            What::Redirected => self.send(slot, self.routes[slot].next.expect("a redirection names a place"), cx),
            What::FirstByte => self.first_byte(slot, cx),
            What::ReplyAtBalancer => self.reply(slot, cx),
            What::ReplyFlows => self.flow(slot, cx),
            What::ReplyAtClient => self.complete(slot, cx),
            What::Connects => self.connects(slot, cx),
            What::Greeted => self.greeted(slot, cx),
            What::Secured => self.asks(slot, cx),
            What::SendsAgain => self.sends_again(slot, cx),
            What::GivesUp => self.gives_up(slot, cx),
            What::TimesOut => self.times_out(slot, cx),
            What::TriesAgain => self.begin(slot, cx.now, cx),
            What::Hedges => self.hedge(slot, cx),
            What::Closes => self.closes(slot, cx),
            What::Fault => self.fault(slot, cx),
            What::HealthKnown => {
                let Routed { balancers, network, information, faults, .. } = self;
                information.health_known(faults, slot, balancers, network, cx.now);
            }
            What::PatienceEnds | What::UserAsks => unreachable!("clients take {what:?}"),
        }
    }

    /// Requests that wait at deciders go on, where they do and something has ended.
    #[inline]
    fn let_in_all(&mut self, cx: &mut Cx) {
        if self.has_waits {
            self.let_in(cx);
        }
    }

    /// Something happens that deciders may learn of besides requests.
    #[inline]
    fn inform(&mut self, now: Time, report: impl FnOnce(&mut Information, &mut View<'_>)) {
        let Routed { information, balancers, stations, network, faults, messages, .. } = self;
        report(information, &mut View { now, balancers, stations, network, faults, messages });
    }
}

impl Fabric for Routed {
    type Traffic = Requests;

    fn start(&mut self, cx: &mut Cx) {
        for (number, at) in (0..).zip(self.faults.instants()) {
            cx.agenda.add(at, What::Fault, number, 0);
        }
    }

    fn deadline(&self) -> Time {
        self.balancers.deadline().min(self.information.next_at()).min(self.messages.first_at())
    }

    fn next_departure(&self) -> Time {
        self.stations.next_departure()
    }

    fn meet_deadline(&mut self, cx: &mut Cx) {
        self.inform(cx.now, Information::report_what_is_due);
        for number in 0..self.balancers.len() as u32 {
            if self.balancers[number].balancer.deadline() > cx.now {
                continue;
            }
            let inside = |&target: &Next| {
                let answers = !self.faults.is_silent(target, cx.now)
                    && self.network.passes(Next::Decider(number), target, cx.now);
                answers.then(|| match target {
                    Next::Server(host) => self.stations.inside(host),
                    // What it has forwarded.
                    Next::Decider(other) => self.balancers[other].balancer.in_flight(),
                })
            };
            let counts: Vec<Option<u32>> = self.balancers[number].targets.iter().map(inside).collect();
            let commands = self.balancers[number].balancer.poll(cx.now, |target| counts[target]);
            self.inform(cx.now, |information, view| information.order(number, commands, view));
        }
        self.let_in_all(cx);
    }

    fn depart(&mut self, cx: &mut Cx) {
        let (number, departure) = self.stations.depart(cx.now);
        self.take_dropped(cx);
        let slot = departure.job as u32;
        let job = &mut cx.jobs.slab[slot as usize];
        let route = &mut self.routes[slot];
        match (self.stations.is_medium(number), route.fetches) {
            (true, None) => {
                self.flowed(slot, cx);
                return self.let_in_all(cx);
            }
            (true, Some(_)) => return self.fetched(slot, cx),
            (false, _) => job.stage = Stage::Forwarded,
        }
        if let (0, Some(predicted)) = (route.stage, self.servers.predicted(slot)) {
            cx.tally.predicted(job.planned, predicted, departure.at - departure.arrived);
        }
        route.waited += departure.started - departure.arrived;
        self.has_visited(slot, cx);
        self.let_in_all(cx);
    }

    fn enter(&mut self, slot: u32, cx: &mut Cx) {
        let job = cx.jobs.slab[slot as usize];
        let route = self.routes.enter(slot);
        (route.demand, route.asked, route.partner) = (job.service, job.asked(), None);
        route.asked.client = self.network.machine(route.asked.client);
        if let Some(origin) = self.information.origin_of_request(route.asked.client) {
            route.asked.origin = origin;
        }
        self.routes[slot].effort = self.clients.tries.begins(job.planned, cx.now);
        self.begin(slot, job.planned, cx);
    }

    fn fire(&mut self, what: What, slot: u32, cx: &mut Cx) {
        self.take(what, slot, cx);
        self.let_in_all(cx);
    }

    fn cancel(&mut self, slot: u32, cx: &mut Cx) {
        self.drop_request(slot, cx);
        if let Some(other) = self.routes[slot].partner.take() {
            self.drop_request(other, cx);
            cx.jobs.release(other);
        }
        self.let_in_all(cx);
    }

    fn servers(&self) -> &[Server] {
        self.servers.all()
    }

    fn has_connections(&self) -> bool {
        self.transfers.is_some()
    }

    fn troubles(&self) -> Vec<(Time, Time)> {
        self.faults.spans()
    }

    fn may_retry(&self) -> bool {
        self.may_retry
    }

    fn may_deny(&self) -> bool {
        self.may_deny || self.has_connections()
    }

    fn busy(&self, now: Time) -> Vec<Span> {
        self.stations.busy_processors(now)
    }
}
