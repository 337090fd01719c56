//! Who asks: a plan of requests that nothing holds back, or users who think between a reply and their next request.

use std::sync::Arc;

use sojourn_stats::{Span, Time};
use sojourn_traffic::{Closed, Demand, Plan, Planned, Request, Script, Workload, WorkloadError};

use crate::agenda::What;
use crate::engine::{Clients, Cx};

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

    /// Draws the first request.
    pub(crate) fn start(&mut self, cx: &mut Cx) {
        self.plan(cx);
    }
}

impl Clients for PlannedRequests {
    const LISTEN: bool = false;

    #[inline]
    fn next(&self) -> &Planned {
        &self.next
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

    fn asks(&mut self, _: u32) -> Request {
        unreachable!("planned requests do not think")
    }

    fn ended(&mut self, _: u32, _: &mut Cx) {}
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

    /// All of them begin to think.
    pub(crate) fn start(&mut self, cx: &mut Cx) {
        (0..self.users.len() as u32).for_each(|user| self.ended(user, cx));
    }
}

impl Clients for Users {
    const LISTEN: bool = true;

    #[inline]
    fn next(&self) -> &Planned {
        &NEVER
    }

    fn plan(&mut self, _: &mut Cx) {
        unreachable!("what users ask is in the agenda")
    }

    #[inline]
    fn asks(&mut self, client: u32) -> Request {
        self.users[client as usize].1
    }

    /// It thinks about its next request.
    #[inline]
    fn ended(&mut self, client: u32, cx: &mut Cx) {
        let (script, request) = &mut self.users[client as usize];
        let step = script.step();
        *request = step.request;
        let at = cx.now + step.think;
        if cx.phases.accepts(at) {
            cx.agenda.add(at, What::UserAsks, client, 0);
        }
    }
}
