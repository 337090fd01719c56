//! Clients that try again: what fails once is asked for once more, after a while and within a budget.
//!
//! To the books it stays one request: it came once, its response time counts from the planned instant, and it fails when
//! its last attempt does. An attempt ends with a refusal, an error, a connection that TCP gives up, or the client's
//! time-out, which begins anew with each. The price is that a retry asks for the same address, unless the answer of the
//! DNS has run out or the client fails over.

use std::collections::VecDeque;

use sojourn_model::System;
use sojourn_model::system::Retries;
use sojourn_stats::{Span, Stream, Time};

use super::Routed;
use crate::requests::jobs::Stage;
use crate::requests::{Cx, What};

/// A budget is of retries and requests in so long a time.
const BUDGET: Span = Span(10_000_000_000);

/// What clients do that try again.
pub(super) struct Retrying {
    rules: Retries,
    /// Requests and retries in the last [`BUDGET`], where there is a limit.
    requests: VecDeque<Time>,
    retries: VecDeque<Time>,
}

impl Retrying {
    pub(super) fn new(system: &System) -> Option<Retrying> {
        let rules = system.rules.retries.clone()?;
        Some(Retrying { rules, requests: VecDeque::new(), retries: VecDeque::new() })
    }

    /// A request comes for the first time.
    pub(super) fn asked(&mut self, now: Time) {
        if self.rules.budget.is_some() {
            forget(&mut self.requests, now);
            self.requests.push_back(now);
        }
    }

    /// Whether an attempt after so many retries may be repeated; then it counts.
    fn allows(&mut self, retries: u32, now: Time) -> bool {
        if retries >= self.rules.at_most {
            return false;
        }
        let Some(budget) = self.rules.budget else { return true };
        forget(&mut self.requests, now);
        forget(&mut self.retries, now);
        let has_room = (self.retries.len() + 1) as f64 <= budget.0 * self.requests.len() as f64;
        if has_room {
            self.retries.push_back(now);
        }
        has_room
    }
}

fn forget(times: &mut VecDeque<Time>, now: Time) {
    while times.front().is_some_and(|at| now - *at >= BUDGET) {
        times.pop_front();
    }
}

impl Routed {
    /// An attempt has failed, and nothing is left of it: the client tries again, or the request has failed.
    pub(super) fn fail(&mut self, slot: u32, cx: &mut Cx) {
        self.hangs_up(slot);
        let route = &mut self.routes[slot as usize];
        let Some(retrying) = &mut self.retrying else { return cx.deny(slot) };
        if !retrying.allows(route.retries, cx.now) {
            return cx.deny(slot);
        }
        route.retries += 1;
        let job = &mut cx.jobs.slab[slot as usize];
        (job.service, job.size, job.stage) = (route.demand, route.asked.size, Stage::Coming);
        // What the last attempt has entered in the agenda finds no request.
        job.generation = job.generation.wrapping_add(1);
        let mut draws = Stream::new(self.seed, &format!("request {}", job.number), &format!("retry {}", route.retries));
        let backoff = retrying.rules.backoff.as_ref().map_or(0.0, |law| law.sample(&mut draws).max(0.0));
        cx.later(cx.now + Span::from_secs_f64(backoff), What::TriesAgain, slot);
    }
}
