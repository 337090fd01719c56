//! What is known of each request on its way, and the ends that switches have not learned of yet.

use std::ops::{Index, IndexMut};

use sojourn_dispatch::BackendId;
use sojourn_model::system::Face;
use sojourn_model::{Effort, TcpConnection};
use sojourn_stats::{Span, Time};

use super::balancers::Balancers;
use super::waiting::Waiting;
use crate::balancer::{Asked, Choice};
use crate::fabric::deciders::Next;
use crate::requests::Cx;
use crate::requests::jobs::Stage;

/// The route of the request in each slot.
#[derive(Default)]
pub(super) struct Routes {
    of_slot: Vec<Route>,
    /// Ends that a switch does not know of yet, with the bytes of the reply; and the places that are free.
    closings: Vec<(u64, Leg)>,
    free_closings: Vec<u32>,
}

/// What is on a request's way.
#[derive(Default)]
pub(super) struct Route {
    /// Choices whose dispatchers do not know the end yet.
    pub(super) legs: Vec<Leg>,
    /// What policies are asked about.
    pub(super) asked: Asked,
    /// Where it is on its way to.
    pub(super) next: Option<Next>,
    /// Redirections so far, and refusals that its client knows of.
    pub(super) hops: u8,
    pub(super) refusals: usize,
    /// It was passed on by a site that could not take it.
    pub(super) has_overflowed: bool,
    /// What its client has tried so far; of the attempt that is counted.
    pub(super) effort: Effort,
    /// The number of this attempt, and when it began.
    pub(super) attempt: u32,
    pub(super) began: Time,
    /// When its client gives it up.
    pub(super) until: Time,
    /// The other attempt of its request that is under way.
    pub(super) partner: Option<u32>,
    /// It will come to its server, or is there, whatever its client does.
    pub(super) is_bound: bool,
    /// The decider at which it waits for a target with room, and its number in the queue there.
    pub(super) queued: Option<(u32, u64)>,
    /// The demand of each attempt.
    pub(super) demand: Span,
    /// Targets of the innermost decider that have refused it.
    pub(super) tried: Vec<BackendId>,
    /// When it came to its server, and its stage there.
    pub(super) came: Time,
    pub(super) stage: usize,
    /// The station that it is at, and time waited and served at the stages so far.
    pub(super) station: usize,
    pub(super) waited: Span,
    pub(super) service: Span,
    /// The server that owns the file which is on its way here.
    pub(super) fetches: Option<u32>,
    /// The server one of whose connections it has.
    pub(super) connected: Option<u32>,
    /// Gateways that have had the first byte of its reply.
    pub(super) first_bytes: usize,
    /// The connection that it came over, and what its client asked over it.
    pub(super) connection: Option<TcpConnection>,
    pub(super) front: Option<Next>,
    /// What its connection does, while that waits for a time-out.
    pub(super) waiting: Option<Box<Waiting>>,
    /// How long it took to set it up.
    pub(super) set_up: Span,
    /// Its reply is an error.
    pub(super) is_error: bool,
    /// The region that its reply comes from, and when the reply is through its client's own link.
    pub(super) from: usize,
    pub(super) set_out: Time,
    pub(super) lands: Time,
    /// When its bytes would begin to flow, if they did so in one piece, at the rate of the slowest link.
    pub(super) flows: Time,
}

/// A choice that is on a request's stack.
#[derive(Clone, Copy)]
pub(super) struct Leg {
    pub(super) decider: u32,
    pub(super) choice: Choice,
    pub(super) sent: Time,
}

impl Routes {
    /// Makes room for the request in this slot.
    pub(super) fn enter(&mut self, slot: u32) -> &mut Route {
        let place = slot as usize;
        if self.of_slot.len() <= place {
            self.of_slot.resize_with(place + 1, Route::default);
        }
        let route = &mut self.of_slot[place];
        debug_assert!(route.legs.is_empty(), "a request that has ended has no choice left whose end is unknown");
        route
    }

    /// The route in this slot; none where no request has been.
    pub(super) fn at(&self, slot: usize) -> Option<&Route> {
        self.of_slot.get(slot)
    }

    /// The choices on a request's stack, which is empty from now on.
    pub(super) fn take_legs(&mut self, slot: u32) -> Vec<Leg> {
        std::mem::take(&mut self[slot].legs)
    }

    /// A request is on its way to `next`, as a decider has chosen.
    pub(super) fn sends(&mut self, slot: u32, next: Next, dispatcher: u16, cx: &mut Cx) {
        self[slot].next = Some(next);
        let job = &mut cx.jobs.slab[slot as usize];
        job.stage = Stage::Forwarded;
        job.sent = cx.now;
        if let Next::Server(server) = next {
            job.choice = Choice { dispatcher, server, is_retry: false };
            cx.tally.sent(job.planned, server as usize);
        }
    }

    /// The number of an end that a switch will learn of.
    pub(super) fn will_close(&mut self, size: u64, leg: Leg) -> u32 {
        let place = self.free_closings.pop().unwrap_or(self.closings.len() as u32);
        match self.closings.get_mut(place as usize) {
            Some(closing) => *closing = (size, leg),
            None => self.closings.push((size, leg)),
        }
        place
    }

    /// The end of this number.
    pub(super) fn closing(&self, number: u32) -> (u64, Leg) {
        self.closings[number as usize]
    }

    /// The switch has learned of it.
    pub(super) fn has_closed(&mut self, number: u32) {
        self.free_closings.push(number);
    }
}

impl Route {
    /// The innermost gateway that a reply still has to pass, and its place on the stack.
    pub(super) fn gateway(&self, balancers: &Balancers) -> Option<(usize, Leg)> {
        let place = self.legs.iter().rposition(|leg| balancers[leg.decider].face == Face::Gateway)?;
        Some((place, self.legs[place]))
    }

    /// The gateways of a reply, the innermost first.
    pub(super) fn gateways<'a>(&'a self, balancers: &'a Balancers) -> impl Iterator<Item = Leg> + 'a {
        self.legs.iter().rev().copied().filter(|leg| balancers[leg.decider].face == Face::Gateway)
    }
}

impl Index<u32> for Routes {
    type Output = Route;

    #[inline]
    fn index(&self, slot: u32) -> &Route {
        &self.of_slot[slot as usize]
    }
}

impl IndexMut<u32> for Routes {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Route {
        &mut self.of_slot[slot as usize]
    }
}
