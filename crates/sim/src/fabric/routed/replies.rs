//! The way of a reply: from its server through the gateways on the request's stack to the client, and what deciders learn.
//!
//! Gateways know of first bytes and ends as the reply passes them, the innermost first; switches from the client's last
//! packet. A reply that is lost on its way, or waits at a gateway that stands still, is known to what it has passed.

use sojourn_model::system::Face;
use sojourn_stats::{Span, Time};

use super::Routed;
use super::requests::wait;
use super::route::Leg;
use crate::fabric::deciders::{Decider, Next};
use crate::requests::jobs::{Job, Stage, Standing};
use crate::requests::timeline::Failure;
use crate::requests::{Cx, What};

/// The status of replies, and of those that are errors.
const OK: u16 = 200;
const ERROR: u16 = 503;

impl Routed {
    /// A reply of `size` bytes leaves its server.
    pub(super) fn leaves_server(&mut self, slot: u32, host: usize, size: u64, cx: &mut Cx) {
        self.routes[slot].is_bound = false;
        if cx.jobs.slab[slot as usize].standing == Standing::Orphan {
            return self.let_orphan_go(slot, cx);
        }
        let (route, balancers) = (&self.routes[slot], &self.balancers);
        let (mut first_byte, mut whole) = self.network.leave_site(host, size, cx.now);
        if let Some((_, Leg { decider, choice, .. })) = route.gateway(balancers) {
            if !self.network.passes(Next::Server(host as u32), Next::Decider(decider), cx.now) {
                return;
            }
            let gateway = (decider, choice.server);
            (first_byte, whole) = self.network.relay_from_site(gateway, host, (first_byte, whole), size);
        }
        // Whether a gateway reads first bytes.
        if route.gateways(balancers).any(|leg| balancers[leg.decider].balancer.wants_first_byte()) {
            self.happens(first_byte, What::FirstByte, slot, cx);
        }
        self.happens(whole, What::ReplyAtBalancer, slot, cx);
    }

    /// The first byte of a reply is at the next gateway on its way out.
    pub(super) fn first_byte(&mut self, slot: u32, cx: &mut Cx) {
        let route = &mut self.routes[slot];
        let mut gateways = route.gateways(&self.balancers).skip(route.first_bytes);
        let Some(Leg { decider, choice, sent }) = gateways.next() else { return };
        let outer = gateways.next();
        drop(gateways);
        if let Some(goes_on) = self.faults.decider_stands(decider, cx.now) {
            return wait(goes_on, What::FirstByte, slot, cx);
        }
        route.first_bytes += 1;
        let balancer = &mut self.balancers[decider].balancer;
        if balancer.wants_first_byte() {
            balancer.first_byte(choice, cx.now - sent, cx.now);
        }
        let inner = Next::Decider(decider);
        if let Some(outer) = outer.filter(|leg| self.network.passes(inner, Next::Decider(leg.decider), cx.now)) {
            self.happens(cx.now + self.network.between(outer.decider, inner), What::FirstByte, slot, cx);
        }
    }

    /// A reply has left the innermost gateway's link, or its server's where there is none.
    pub(super) fn reply(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        let route = &mut self.routes[slot];
        let mut from = Next::Server(job.choice.server);
        if let Some((place, leg)) = route.gateway(&self.balancers) {
            if let Some(goes_on) = self.faults.decider_stands(leg.decider, cx.now) {
                return wait(goes_on, What::ReplyAtBalancer, slot, cx);
            }
            route.legs.remove(place);
            route.first_bytes = route.first_bytes.saturating_sub(1);
            let status = if route.is_error { ERROR } else { OK };
            let balancer = &mut self.balancers[leg.decider].balancer;
            balancer.answered(leg.choice, status, job.size, cx.now - leg.sent, cx.now);
            from = Next::Decider(leg.decider);
            if let Some((_, outer)) = route.gateway(&self.balancers) {
                if self.network.passes(from, Next::Decider(outer.decider), cx.now) {
                    let at = self.network.relay((outer.decider, outer.choice.server), from, job.size, cx.now);
                    self.happens(at, What::ReplyAtBalancer, slot, cx);
                }
                return;
            }
        }
        job.stage = Stage::Returning;
        self.answer(slot, from, cx);
    }

    /// The client has the whole reply; switches know of it from the client's last packet.
    pub(super) fn complete(&mut self, slot: u32, cx: &mut Cx) {
        self.servers.hang_up(&mut self.routes[slot]);
        let Job { client, size, .. } = cx.jobs.slab[slot as usize];
        let is_error = self.routes[slot].is_error;
        for leg in self.routes.take_legs(slot) {
            let Leg { decider, choice, sent } = leg;
            let Decider { face, region, .. } = self.balancers[decider];
            if face == Face::Client {
                self.reply_at_client(slot, leg, cx);
                continue;
            }
            match self.network.one_way(client, region) {
                Span::ZERO if self.faults.decider_stands(decider, cx.now).is_none() => {
                    self.balancers[decider].balancer.completed(choice, size, cx.now - sent, cx.now);
                }
                delay => {
                    let number = self.routes.will_close(size, leg);
                    // The client sends its last packet again until it is answered.
                    let sets_out = self.network.next_passage(client, Next::Decider(decider), cx.now);
                    if sets_out < Time::NEVER {
                        cx.agenda.add(sets_out + delay, What::Closes, number, 0);
                    }
                }
            }
        }
        self.release(slot, self.routes[slot].from, cx);
        match is_error {
            true => {
                self.balancers.let_go(client);
                self.fail(slot, Failure::Error, cx);
            }
            false => self.succeed(slot, cx),
        }
    }

    /// A client that decides has the reply to the request that it chose for. The first byte came half of a round trip after
    /// the reply set out.
    fn reply_at_client(&mut self, slot: u32, Leg { decider, choice, sent }: Leg, cx: &Cx) {
        let Job { client, size, .. } = cx.jobs.slab[slot as usize];
        let route = &self.routes[slot];
        let status = if route.is_error { ERROR } else { OK };
        let first_byte = route.set_out + self.network.one_way(client, route.from) - sent;
        let balancer = self.balancers.that_chose(decider, client);
        if balancer.wants_first_byte() {
            balancer.first_byte(choice, first_byte, cx.now);
        }
        balancer.answered(choice, status, size, cx.now - sent, cx.now);
    }

    /// A switch learns that a connection is closed.
    pub(super) fn closes(&mut self, number: u32, cx: &mut Cx) {
        let (size, Leg { decider, choice, sent }) = self.routes.closing(number);
        if let Some(goes_on) = self.faults.decider_stands(decider, cx.now) {
            if goes_on < Time::NEVER {
                cx.agenda.add(goes_on, What::Closes, number, 0);
            }
            return;
        }
        self.routes.has_closed(number);
        self.balancers[decider].balancer.completed(choice, size, cx.now - sent, cx.now);
    }
}
