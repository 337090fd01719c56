//! The way of a request: from its client past deciders to its server, or to an end without a reply.

use sojourn_model::system::Face;
use sojourn_stats::{Span, Time};

use super::Routed;
use super::route::Leg;
use crate::balancer::{Asked, AtNode, Choice};
use crate::fabric::deciders::Next;
use crate::requests::jobs::{Stage, Standing};
use crate::requests::{Cx, What};

impl Routed {
    /// An attempt sets out from its client.
    pub(super) fn set_out(&mut self, slot: u32, cx: &mut Cx) {
        let route = &mut self.routes[slot];
        (route.connection, route.waiting, route.is_bound) = (None, None, false);
        (route.next, route.hops, route.stage, route.waited, route.first_bytes) = (None, 0, 0, Span::ZERO, 0);
        (route.refusals, route.is_error, route.has_overflowed) = (0, false, false);
        route.tried.clear();
        self.resolve(slot, cx);
    }

    /// A request sets out to where its client's name for the service leads.
    pub(super) fn resolve(&mut self, slot: u32, cx: &mut Cx) {
        let Routed { balancers, clients, faults, information, network, .. } = self;
        let next = match &mut clients.names {
            _ if balancers.is_empty() => Some(Next::Server(0)),
            None if balancers.are_clients() => self.ask_client(slot, cx),
            None => Some(Next::Decider(0)),
            Some(names) => {
                let asked = self.routes[slot].asked;
                let (dns, stands) = (&mut balancers[0], faults.decider_stands(0, cx.now));
                let mut waits = None;
                let target = names.resolve(cx.jobs.slab[slot as usize].client, cx.now, |asker| {
                    let client = network.machine(asker);
                    waits = stands;
                    if faults.is_decider_down(0) || stands.is_some() {
                        return None;
                    }
                    let origin = information.asker(client);
                    let target = dns.balancer.choose(Asked { client, origin, ..asked }, &[], cx.now)?.server;
                    Some((target, dns.ttl(client, target)))
                });
                if let Some(goes_on) = waits {
                    return wait(goes_on, What::Resolves, slot, cx);
                }
                target.map(|target| balancers[0].targets[target as usize])
            }
        };
        match next {
            Some(next) => self.send(slot, next, cx),
            None => self.deny(slot, cx),
        }
    }

    /// Where the client of a request asks, which decides for itself; none where its policy refuses.
    fn ask_client(&mut self, slot: u32, cx: &Cx) -> Option<Next> {
        let asked = self.routes[slot].asked;
        let by_client = self.balancers.choose_by_client(asked, cx.now)?;
        let leg = |choice| Leg { decider: 0, choice, sent: cx.now };
        self.routes[slot].legs.extend(by_client.choice.map(leg));
        self.inform(cx.now, |information, view| information.measure(asked.client, by_client.commands, view));
        Some(by_client.next)
    }

    /// A request is at `next` after `delay`; from clients without a decider, the cluster's link is on the way.
    pub(super) fn move_on(&mut self, slot: u32, next: Next, delay: Span, cx: &mut Cx) {
        self.routes[slot].is_bound = true;
        let is_at_server = matches!(next, Next::Server(_)) && !self.balancers.is_empty();
        let what = if is_at_server { What::AtServer } else { What::AtBalancer };
        self.happens(cx.now + delay, what, slot, cx);
    }

    /// A decider says where a request goes.
    pub(super) fn at_decider(&mut self, slot: u32, number: u32, cx: &mut Cx) {
        let job = &cx.jobs.slab[slot as usize];
        if job.standing == Standing::Orphan {
            // The decider knows that its client is gone.
            return self.let_orphan_go(slot, cx);
        }
        if let Some(goes_on) = self.faults.decider_stands(number, cx.now) {
            return wait(goes_on, What::AtBalancer, slot, cx);
        }
        if self.faults.is_decider_down(number) {
            return self.refused(slot, cx);
        }
        let decider = &mut self.balancers[number];
        if decider.balancer.wants_predictions() {
            for (target, next) in (0..).zip(&decider.targets) {
                let Next::Server(host) = *next else { continue };
                let predicted = self.servers.response_time(host as usize, job, &self.stations, cx.now);
                decider.balancer.predicted(target, predicted, cx.now);
            }
        }
        let route = &mut self.routes[slot];
        // What was redirected is served where it comes.
        let stays = decider.face == Face::Redirect && route.hops > 0;
        if let (true, Some(host)) = (stays, decider.host) {
            self.routes.sends(slot, Next::Server(host), 0, cx);
            return self.at_server(slot, cx);
        }
        if decider.balancer.is_of_node() {
            let round_trip = Span(2 * self.network.one_way(job.client, decider.region).0);
            let work = job.service.as_secs_f64();
            route.asked.at_node = Some(AtNode { here: decider.here, hops: route.hops, work, round_trip });
        }
        let Some(choice) = decider.balancer.choose(route.asked, &route.tried, cx.now) else {
            return self.overflow(slot, number, cx);
        };
        let next = decider.targets[choice.server as usize];
        match decider.face {
            Face::Redirect if decider.host.is_some_and(|host| next == Next::Server(host)) => {
                self.routes.sends(slot, next, choice.dispatcher, cx);
                self.at_server(slot, cx);
            }
            Face::Redirect => {
                route.hops += 1;
                self.routes.sends(slot, next, choice.dispatcher, cx);
                self.turn_back(slot, number, cx);
            }
            Face::Gateway | Face::Switch => self.forward(slot, number, choice, cx),
            Face::Dns | Face::Client => unreachable!("requests do not come to a {}", decider.face.name()),
        }
    }

    /// A decider sends a request on, and will know its end.
    fn forward(&mut self, slot: u32, number: u32, choice: Choice, cx: &mut Cx) {
        let decider = &self.balancers[number];
        let next = decider.targets[choice.server as usize];
        let here = decider.host.is_some_and(|host| next == Next::Server(host));
        let delay = if here { Span::ZERO } else { self.network.between(number, next) };
        self.routes[slot].legs.push(Leg { decider: number, choice, sent: cx.now });
        self.routes.sends(slot, next, choice.dispatcher, cx);
        let route = &mut self.routes[slot];
        route.is_bound = false;
        route.tried.clear();
        if self.network.passes(Next::Decider(number), next, cx.now) {
            self.move_on(slot, next, delay, cx);
        }
    }

    /// None of a decider's targets can take a request: another site does that has room, unless the request comes from one;
    /// else it is refused.
    fn overflow(&mut self, slot: u32, number: u32, cx: &mut Cx) {
        let route = &mut self.routes[slot];
        let is_first = !std::mem::replace(&mut route.has_overflowed, true);
        let chosen = self.balancers[number].overflow.filter(|_| is_first).and_then(|other| {
            let choice = self.balancers[other].balancer.choose(route.asked, &[], cx.now)?;
            Some((other, choice))
        });
        match chosen {
            Some((other, choice)) => self.forward(slot, other, choice, cx),
            None if self.balancers[number].balancer.lets_wait() => {
                let queued = self.balancers[number].balancer.wait(slot, cx.now);
                let route = &mut self.routes[slot];
                (route.is_bound, route.queued) = (false, Some((number, queued)));
            }
            None => self.deny(slot, cx),
        }
    }

    /// Each target that may have room by now takes the oldest of those that wait for one, as servers of HAProxy do
    /// (`process_srv_queue` in its `src/queue.c`); what waits in vain, or for too long, is refused.
    pub(super) fn let_in(&mut self, cx: &mut Cx) {
        for number in 0..self.balancers.len() as u32 {
            if self.faults.decider_stands(number, cx.now).is_some() {
                continue;
            }
            let is_down = self.faults.is_decider_down(number);
            while let Some(slot) = self.balancers[number].balancer.turn_away(is_down, cx.now) {
                self.routes[slot].queued = None;
                if !self.routes[slot].tried.is_empty() {
                    self.balancers[number].balancer.retry_ended();
                }
                match is_down {
                    true => self.refused(slot, cx),
                    false => self.deny(slot, cx),
                }
            }
            loop {
                let Routed { routes, balancers, .. } = self;
                let asked = |slot: u32| (routes[slot].asked, !routes[slot].tried.is_empty());
                let Some((slot, since, choice)) = balancers[number].balancer.let_in(asked, cx.now) else { break };
                let route = &mut routes[slot];
                route.queued = None;
                route.waited += cx.now - since;
                self.forward(slot, number, choice, cx);
            }
        }
    }

    /// A request waits at no decider any more.
    fn leave_queue(&mut self, slot: u32) {
        let route = &mut self.routes[slot];
        if let Some((decider, number)) = route.queued.take() {
            self.balancers[decider].balancer.leave(number, !route.tried.is_empty());
        }
    }

    pub(super) fn at_server(&mut self, slot: u32, cx: &mut Cx) {
        if let Some(next @ Next::Server(_)) = self.routes[slot].next
            && (self.balancers.is_empty() || cx.jobs.slab[slot as usize].stage == Stage::Coming)
        {
            // The client met it without a decider that forwards.
            self.routes.sends(slot, next, 0, cx);
        }
        let host = cx.jobs.slab[slot as usize].choice.server;
        if self.faults.is_host_down(host) {
            return self.refused(slot, cx);
        }
        let route = &mut self.routes[slot];
        (route.stage, route.came, route.service, route.fetches) = (0, cx.now, Span::ZERO, None);
        match self.faults.host_stands(host, cx.now) {
            Some(goes_on) => wait(goes_on, What::Accepted, slot, cx),
            None => self.accepted(slot, cx),
        }
    }

    /// A server takes a request from its door.
    pub(super) fn accepted(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        let host = job.choice.server as usize;
        if self.faults.is_host_down(host as u32) {
            return self.refused(slot, cx);
        }
        let route = &mut self.routes[slot];
        if !self.servers.connect(host, route) {
            return self.ask_elsewhere(slot, cx);
        }
        if self.faults.is_error(host, job.number, route.attempt) {
            route.is_error = true;
            job.size = 0;
            return self.answer_with_error(slot, host, cx);
        }
        job.service = self.faults.slowed(host, self.servers.service_time(host, job.service));
        self.visit(slot, cx);
    }

    /// A request goes away from where it is, wherever that is.
    pub(super) fn leave(&mut self, slot: u32, cx: &mut Cx) {
        self.leave_queue(slot);
        match cx.jobs.slab[slot as usize].stage {
            Stage::Flowing => self.leave_medium(slot, cx),
            _ => self.leave_server(slot, cx),
        }
    }
}

/// What comes to a part that stands still happens when that goes on.
pub(super) fn wait(goes_on: Time, what: What, slot: u32, cx: &mut Cx) {
    if goes_on < Time::NEVER {
        cx.later(goes_on, what, slot);
    }
}
