//! The way of a reply: from its server through the gateways on the request's stack to the client, and what deciders hear.
//!
//! Gateways hear of first bytes and ends as the reply passes them, the innermost first; switches of the client's last
//! packet. A reply that is lost on its way, or waits at a gateway that stands still, is known to what it has passed.

use sojourn_model::system::Face;
use sojourn_stats::{Span, Time};

use super::super::deciders::Next;
use super::{Leg, Routed};
use crate::requests::jobs::{Job, Stage};
use crate::requests::{Cx, What};

/// The status of replies, and of those that are errors.
const OK: u16 = 200;
const ERROR: u16 = 503;

impl Routed {
    /// A reply of `size` bytes leaves its server.
    pub(super) fn leaves_server(&mut self, slot: u32, host: usize, size: u64, cx: &mut Cx) {
        let site = self.places.site_of_host(host).unwrap_or(0);
        let (first_byte, whole) = match self.cluster_wires.get_mut(site) {
            None => (cx.now, cx.now),
            Some(wire) => {
                let passage = wire.send(cx.now, size);
                (passage.first_byte, passage.arrives)
            }
        };
        let gateway = self.gateway(slot).map(|place| self.routes[slot as usize].legs[place].decider);
        if gateway.is_some_and(|gateway| !self.passes(Next::Server(host as u32), Next::Decider(gateway), cx.now)) {
            return;
        }
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

    /// The innermost gateway that a reply still has to pass; its place on the stack.
    pub(super) fn gateway(&self, slot: u32) -> Option<usize> {
        let legs = &self.routes[slot as usize].legs;
        legs.iter().rposition(|leg| self.deciders[leg.decider as usize].face == Face::Gateway)
    }

    /// The first byte of a reply is at the gateway number `heard` on its way out.
    pub(super) fn first_byte(&mut self, slot: u32, cx: &mut Cx) {
        let route = &self.routes[slot as usize];
        let gateways = route.legs.iter().rev().filter(|leg| self.deciders[leg.decider as usize].face == Face::Gateway);
        let mut gateways = gateways.skip(route.heard);
        let Some(&leg) = gateways.next() else { return };
        if let Some(goes_on) = self.outages.decider_stands(leg.decider, cx.now) {
            return self.waits(slot, goes_on, What::FirstByte, cx);
        }
        let outer = gateways.next().copied();
        let balancer = &mut self.deciders[leg.decider as usize].balancer;
        if balancer.wants_first_byte() {
            balancer.first_byte(leg.choice, cx.now - leg.sent, cx.now);
        }
        self.routes[slot as usize].heard += 1;
        let inner = Next::Decider(leg.decider);
        if let Some(outer) = outer.filter(|outer| self.passes(inner, Next::Decider(outer.decider), cx.now)) {
            match self.between(outer.decider, inner) {
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
    pub(super) fn reply(&mut self, slot: u32, cx: &mut Cx) {
        let job = cx.jobs.slab[slot as usize];
        let mut from = Next::Server(job.choice.server);
        if let Some(place) = self.gateway(slot) {
            let leg = self.routes[slot as usize].legs[place];
            if let Some(goes_on) = self.outages.decider_stands(leg.decider, cx.now) {
                return self.waits(slot, goes_on, What::ReplyAtBalancer, cx);
            }
            let route = &mut self.routes[slot as usize];
            route.legs.remove(place);
            route.heard = route.heard.saturating_sub(1);
            let status = if route.is_error { ERROR } else { OK };
            let balancer = &mut self.deciders[leg.decider as usize].balancer;
            balancer.answered(leg.choice, status, job.size, cx.now - leg.sent, cx.now);
            from = Next::Decider(leg.decider);
            if let Some(outer) = self.gateway(slot) {
                let outer = self.routes[slot as usize].legs[outer];
                if !self.passes(from, Next::Decider(outer.decider), cx.now) {
                    return;
                }
                return match self.relay(outer, Next::Decider(leg.decider), job.size, cx.now) {
                    at if at == cx.now => self.reply(slot, cx),
                    at => cx.later(at, What::ReplyAtBalancer, slot),
                };
            }
        }
        cx.jobs.slab[slot as usize].stage = Stage::Returning;
        self.answer(slot, from, cx);
    }

    /// The client has the whole reply; switches hear of it from the client's last packet.
    pub(super) fn complete(&mut self, slot: u32, cx: &mut Cx) {
        self.hangs_up(slot);
        let Job { client, size, .. } = cx.jobs.slab[slot as usize];
        let is_error = self.routes[slot as usize].is_error;
        for leg in std::mem::take(&mut self.routes[slot as usize].legs) {
            if self.deciders[leg.decider as usize].face == Face::Client {
                self.heard_by_client(slot, leg, cx);
                continue;
            }
            let decider = &mut self.deciders[leg.decider as usize];
            match self.places.one_way(client, decider.region) {
                Span::ZERO if self.outages.decider_stands(leg.decider, cx.now).is_none() => {
                    decider.balancer.completed(leg.choice, size, cx.now - leg.sent, cx.now);
                }
                delay => {
                    let place = self.free_closings.pop().unwrap_or(self.closings.len() as u32);
                    match self.closings.get_mut(place as usize) {
                        Some(closing) => *closing = (size, leg),
                        None => self.closings.push((size, leg)),
                    }
                    // The client sends its last packet again until it is answered.
                    let (switch, client) = (self.place_of(Next::Decider(leg.decider)), self.place_of_client(client));
                    let sets_out = self.outages.next_passage(client, switch, cx.now);
                    if sets_out < Time::NEVER {
                        cx.agenda.add(sets_out + delay, What::Closes, place, 0);
                    }
                }
            }
        }
        self.release(slot, self.routes[slot as usize].from, cx);
        match is_error {
            true => {
                self.let_go(client);
                self.fail(slot, cx);
            }
            false => cx.complete(slot),
        }
    }

    /// A client that decides has the reply to the request that it chose for.
    fn heard_by_client(&mut self, slot: u32, leg: Leg, cx: &Cx) {
        let Job { client, size, .. } = cx.jobs.slab[slot as usize];
        let first_byte = self.first_byte_at_client(slot, client, leg.sent);
        let status = if self.routes[slot as usize].is_error { ERROR } else { OK };
        let balancer = self.teller(leg.decider, client);
        if balancer.wants_first_byte() {
            balancer.first_byte(leg.choice, first_byte, cx.now);
        }
        balancer.answered(leg.choice, status, size, cx.now - leg.sent, cx.now);
    }

    /// A switch hears that a connection is closed.
    pub(super) fn closes(&mut self, number: u32, cx: &mut Cx) {
        let (size, leg) = self.closings[number as usize];
        if let Some(goes_on) = self.outages.decider_stands(leg.decider, cx.now) {
            if goes_on < Time::NEVER {
                cx.agenda.add(goes_on, What::Closes, number, 0);
            }
            return;
        }
        self.free_closings.push(number);
        let balancer = &mut self.deciders[leg.decider as usize].balancer;
        balancer.completed(leg.choice, size, cx.now - leg.sent, cx.now);
    }
}
