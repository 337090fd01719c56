//! The attempts of a request: how each begins and ends, and what its client does then.
//!
//! Each attempt that is under way has a slot of its own. One of them is counted, and has what the client knows of its effort;
//! a hedge is beside it. What a client gives up is dropped at once, wherever it is, or goes on as an orphan to its server,
//! where that does not learn that its client has gone; the request then goes on in another slot. An orphan is not in the
//! books, and nothing hears of its end. Deciders on its way have heard that its client is gone.

use sojourn_model::AfterFailure;
use sojourn_stats::Time;

use super::Routed;
use super::route::Leg;
use crate::requests::jobs::Standing;
use crate::requests::timeline::Failure;
use crate::requests::{Cx, What};

impl Routed {
    /// A client begins an attempt, which counts from `since` on.
    pub(super) fn begin(&mut self, slot: u32, since: Time, cx: &mut Cx) {
        let counted = self.counted(slot, cx);
        let attempt = self.clients.tries.tries(&mut self.routes[counted].effort, since);
        let route = &mut self.routes[slot];
        (route.attempt, route.began, route.until) = (attempt.number, since, attempt.until.unwrap_or(Time::NEVER));
        if attempt.number > 0 {
            cx.tally.again(cx.now);
        }
        if let Some(until) = attempt.until {
            cx.later(until, What::TimesOut, slot);
        }
        if let Some(at) = attempt.hedge {
            cx.later(at, What::Hedges, slot);
        }
        self.set_out(slot, cx);
    }

    /// The attempt of a request that is counted.
    fn counted(&self, slot: u32, cx: &Cx) -> u32 {
        match cx.jobs.slab[slot as usize].standing {
            Standing::Hedge => self.routes[slot].partner.expect("a hedge is beside another attempt"),
            Standing::Counted | Standing::Orphan => slot,
        }
    }

    /// A client has waited for so long that it asks a second time, unless it has done more than ask once by now.
    pub(super) fn hedge(&mut self, slot: u32, cx: &mut Cx) {
        if self.clients.tries.hedges(&self.routes[slot].effort, cx.now) {
            let other = self.another(slot, cx);
            cx.jobs.slab[other as usize].standing = Standing::Hedge;
            self.pair(slot, other);
            cx.tally.retried(cx.jobs.slab[slot as usize].planned);
            self.begin(other, cx.now, cx);
        }
    }

    /// Another attempt of the request in a slot.
    fn another(&mut self, slot: u32, cx: &mut Cx) -> u32 {
        let (demand, asked) = (self.routes[slot].demand, self.routes[slot].asked);
        let other = cx.jobs.again(slot, demand, asked.size);
        let route = self.routes.enter(other);
        (route.demand, route.asked, route.partner) = (demand, asked, None);
        other
    }

    /// Two attempts are of one request.
    fn pair(&mut self, slot: u32, other: u32) {
        (self.routes[slot].partner, self.routes[other].partner) = (Some(other), Some(slot));
    }

    /// An attempt that is not counted is from now on, and the other one of its request is not.
    fn count_instead(&mut self, slot: u32, other: u32, cx: &mut Cx) {
        self.routes[slot].effort = self.routes[other].effort;
        let slab = &mut cx.jobs.slab;
        (slab[slot as usize].standing, slab[other as usize].standing) = (Standing::Counted, Standing::Hedge);
    }

    /// An attempt ends without a reply, which all on its stack learn.
    pub(super) fn deny(&mut self, slot: u32, cx: &mut Cx) {
        let client = cx.jobs.slab[slot as usize].client;
        for leg in self.routes.take_legs(slot) {
            self.balancers.that_chose(leg.decider, client).failed(leg.choice, cx.now - leg.sent, cx.now);
        }
        self.balancers.let_go(client);
        self.fail(slot, Failure::Refused, cx);
    }

    /// An attempt has failed, and nothing is left of it: the client tries again, waits for another attempt, or the request has
    /// failed.
    pub(super) fn fail(&mut self, slot: u32, why: Failure, cx: &mut Cx) {
        if cx.jobs.slab[slot as usize].standing == Standing::Orphan {
            return self.let_orphan_go(slot, cx);
        }
        self.servers.hang_up(&mut self.routes[slot]);
        let counted = self.counted(slot, cx);
        let number = cx.jobs.slab[slot as usize].number;
        match self.clients.failed(number, &mut self.routes[counted].effort, cx.now) {
            AfterFailure::Wait => {
                let other = self.routes[slot].partner.take().expect("another attempt is under way");
                self.routes[other].partner = None;
                if counted == slot {
                    self.count_instead(other, slot, cx);
                }
                cx.jobs.release(slot);
            }
            AfterFailure::Retry(wait) => {
                let (route, job) = (&self.routes[slot], &mut cx.jobs.slab[slot as usize]);
                cx.tally.retried(job.planned);
                job.begin_again(route.demand, route.asked.size);
                cx.later(cx.now + wait, What::TriesAgain, slot);
            }
            AfterFailure::GiveUp => cx.deny(slot, why),
        }
    }

    /// A client has waited long enough for an attempt.
    pub(super) fn times_out(&mut self, slot: u32, cx: &mut Cx) {
        if self.balancers.are_clients() {
            let client = cx.jobs.slab[slot as usize].client;
            self.balancers.let_go(client);
            // What it has chosen itself is outermost: to its own dispatcher this is a failure.
            let legs = &mut self.routes[slot].legs;
            if legs.first().is_some_and(|leg| leg.decider == 0) {
                let Leg { decider, choice, sent } = legs.remove(0);
                self.balancers.that_chose(decider, client).failed(choice, cx.now - sent, cx.now);
            }
        }
        let left = self.leave_attempt(slot, cx);
        self.fail(left, Failure::TimedOut, cx);
    }

    /// A client goes away from an attempt, which is dropped, or goes on as an orphan. Gives the slot in which its request goes
    /// on.
    fn leave_attempt(&mut self, slot: u32, cx: &mut Cx) -> u32 {
        if !(self.clients.work_goes_on && self.routes[slot].is_bound) {
            self.drop_request(slot, cx);
            return slot;
        }
        self.tell_legs(slot, cx);
        let heir = self.another(slot, cx);
        self.routes[heir].effort = self.routes[slot].effort;
        if let Some(partner) = self.routes[slot].partner.take() {
            self.pair(heir, partner);
        }
        cx.jobs.slab[slot as usize].standing = Standing::Orphan;
        heir
    }

    /// An orphan has ended.
    pub(super) fn let_orphan_go(&mut self, slot: u32, cx: &mut Cx) {
        self.servers.hang_up(&mut self.routes[slot]);
        cx.jobs.release(slot);
    }

    /// A server drops a request without an answer: its client waits until it gives it up.
    pub(super) fn drop_silently(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        if job.standing == Standing::Orphan {
            return self.let_orphan_go(slot, cx);
        }
        job.be_lost();
        self.routes[slot].is_bound = false;
    }

    /// The reply to an attempt is complete at its client: what else is under way for the request is given up.
    pub(super) fn succeed(&mut self, slot: u32, cx: &mut Cx) {
        let took = cx.now - self.routes[slot].began;
        self.clients.tries.answered(took);
        if let Some(other) = self.routes[slot].partner.take() {
            self.routes[other].partner = None;
            if cx.jobs.slab[slot as usize].standing == Standing::Hedge {
                self.count_instead(slot, other, cx);
            }
            let left = self.leave_attempt(other, cx);
            cx.jobs.release(left);
        }
        cx.complete(slot);
    }

    /// The client of a request goes away from it.
    pub(super) fn drop_request(&mut self, slot: u32, cx: &mut Cx) {
        self.servers.hang_up(&mut self.routes[slot]);
        self.leave(slot, cx);
        self.tell_legs(slot, cx);
    }

    /// The deciders on a request's stack learn that its client is gone.
    fn tell_legs(&mut self, slot: u32, cx: &Cx) {
        let client = cx.jobs.slab[slot as usize].client;
        for leg in self.routes.take_legs(slot) {
            self.balancers.that_chose(leg.decider, client).cancelled(leg.choice, cx.now - leg.sent, cx.now);
        }
    }
}
