//! Who asks: a plan of requests that nothing holds back, or users who think between a reply and their next request.

use std::sync::Arc;

use sojourn_stats::{Span, Time};
use sojourn_traffic::{Closed, Demand, Plan, Planned, Request, Script, Workload, WorkloadError};

use crate::engine::{Clients, Fabric};
use crate::requests::{Cx, Requests, What};

/// Requests of a plan: an open workload, a log or a trace.
pub(crate) struct PlannedRequests {
    /// None of a plan that has come to its end. It is let go, since one with long memory is as long as all that it drew,
    /// and replications are kept.
    plan: Option<Plan>,
    /// The next one; at [`Time::NEVER`] when there is none.
    next: Planned,
}

const NOTHING: Request =
    Request { client: 0, class: 0, object: 0, size: 0, demand: Span::ZERO, patience: Span::FOREVER };
const NEVER: Planned = Planned { at: Time::NEVER, request: NOTHING };

impl PlannedRequests {
    /// The requests of `workload` with this seed.
    pub(crate) fn new(
        workload: &Workload,
        seed: u64,
        demand: Arc<dyn Demand>,
    ) -> Result<PlannedRequests, WorkloadError> {
        Ok(PlannedRequests { plan: Some(Plan::new(workload, seed, demand)?), next: NEVER })
    }

    /// Draws the next request.
    #[inline]
    fn plan(&mut self, cx: &mut Cx) {
        let plan = self.plan.as_mut().expect("a plan that is spent is not drawn from");
        match plan.next() {
            Some(planned) if cx.phases.accepts(planned.at) => self.next = planned,
            beyond => {
                if beyond.is_none() {
                    cx.phases.accept_until(cx.now);
                }
                (self.plan, self.next) = (None, NEVER);
            }
        }
    }
}

impl<F: Fabric<Traffic = Requests>> Clients<F> for PlannedRequests {
    const LISTEN: bool = false;

    fn start(&mut self, cx: &mut Cx) {
        self.plan(cx);
    }

    #[inline]
    fn next_at(&self) -> Time {
        self.next.at
    }

    #[inline(always)]
    fn arrive(&mut self, fabric: &mut F, cx: &mut Cx) {
        enter(self.next.at, &self.next.request, fabric, cx);
        self.plan(cx);
    }

    fn fire(&mut self, what: What, slot: u32, fabric: &mut F, cx: &mut Cx) {
        match what {
            What::PatienceEnds => give_up(slot, fabric, cx),
            other => unreachable!("a plan enters no {other:?}"),
        }
    }
}

/// Users: each asks, waits for the reply, thinks, and asks again.
pub(crate) struct Users {
    /// Their scripts, and what each asks when it has thought.
    users: Vec<(Script, Request)>,
}

impl Users {
    /// The users of `closed` with this seed.
    pub(crate) fn new(closed: &Closed, seed: u64, demand: &Arc<dyn Demand>) -> Users {
        let script = |user| Script::new(closed, user, seed, Arc::clone(demand));
        Users { users: (0..closed.users).map(|user| (script(user), NOTHING)).collect() }
    }

    /// A user thinks about its next request.
    #[inline]
    fn think(&mut self, user: u32, cx: &mut Cx) {
        let (script, request) = &mut self.users[user as usize];
        let step = script.step();
        *request = step.request;
        let at = cx.now + step.think;
        if cx.phases.accepts(at) {
            cx.agenda.add(at, What::UserAsks, user, 0);
        }
    }
}

impl<F: Fabric<Traffic = Requests>> Clients<F> for Users {
    const LISTEN: bool = true;

    fn start(&mut self, cx: &mut Cx) {
        (0..self.users.len() as u32).for_each(|user| self.think(user, cx));
    }

    #[inline]
    fn fire(&mut self, what: What, entity: u32, fabric: &mut F, cx: &mut Cx) {
        match what {
            What::UserAsks => enter(cx.now, &self.users[entity as usize].1, fabric, cx),
            What::PatienceEnds => give_up(entity, fabric, cx),
            other => unreachable!("users enter no {other:?}"),
        }
    }

    #[inline]
    fn ended(&mut self, client: u32, cx: &mut Cx) {
        self.think(client, cx);
    }
}

/// A request enters.
#[inline(always)]
fn enter<F: Fabric<Traffic = Requests>>(planned: Time, request: &Request, fabric: &mut F, cx: &mut Cx) {
    let number = cx.ledger.enter(cx.now);
    let slot = cx.jobs.put(planned, number as u32, request);
    cx.tally.arrived(cx.now);
    if cx.jobs.were_full() {
        cx.phases.accept_until(cx.now);
    }
    if request.patience != Span::FOREVER {
        cx.later(planned + request.patience, What::PatienceEnds, slot);
    }
    fabric.enter(slot, cx);
}

/// The client of a request gives up.
fn give_up<F: Fabric<Traffic = Requests>>(slot: u32, fabric: &mut F, cx: &mut Cx) {
    fabric.cancel(slot, cx);
    cx.abandon(slot);
}
