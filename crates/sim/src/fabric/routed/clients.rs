//! What clients do besides asking: hold answers of the DNS, wait, try again, and ask the next address.
//!
//! What fails once is asked for once more, after a while and within a budget. To the books it stays one request: it came
//! once, its response time counts from the planned instant, and it fails when
//! its last attempt does. An attempt ends with a refusal, an error, a connection that TCP gives up, or the client's
//! time-out, which begins anew with each. The price is that a retry asks for the same address, unless the answer of the
//! DNS has run out or the client fails over.

use std::collections::VecDeque;

use sojourn_model::System;
use sojourn_model::system::{Face, Retries};
use sojourn_stats::{Span, Stream, Time};

use crate::fabric::names::Names;

/// A budget is of retries and requests in so long a time.
const BUDGET: Span = Span(10_000_000_000);

/// All clients of a system.
pub(super) struct Clients {
    /// Answers of the DNS that are held; none where the first tier is no DNS.
    pub(super) names: Option<Names>,
    /// How long a client waits for a reply.
    pub(super) timeout: Option<Span>,
    retrying: Option<Retrying>,
    /// Clients that are refused ask the next address.
    fails_over: bool,
    seed: u64,
}

/// What clients do that try again.
struct Retrying {
    rules: Retries,
    /// Requests and retries in the last [`BUDGET`], where there is a limit.
    requests: VecDeque<Time>,
    retries: VecDeque<Time>,
}

impl Clients {
    /// Those of `system`; `regions` has the region of each.
    pub(super) fn new(system: &System, regions: &[usize], seed: u64) -> Clients {
        let has_dns = system.tiers.first().is_some_and(|tier| tier.face == Face::Dns);
        let retrying = |rules| Retrying { rules, requests: VecDeque::new(), retries: VecDeque::new() };
        Clients {
            names: has_dns.then(|| Names::new(system, regions)),
            timeout: system.rules.timeout,
            retrying: system.rules.retries.clone().map(retrying),
            fails_over: system.rules.fails_over,
            seed,
        }
    }

    /// A request comes for the first time.
    pub(super) fn first_attempt(&mut self, now: Time) {
        if let Some(Retrying { rules: Retries { budget: Some(_), .. }, requests, .. }) = &mut self.retrying {
            forget(requests, now);
            requests.push_back(now);
        }
    }

    /// How long after a failure the request of this number is tried again, which counts; none where its client gives up after
    /// so many `retries`.
    pub(super) fn backoff(&mut self, number: u32, retries: u32, now: Time) -> Option<Span> {
        let retrying = self.retrying.as_mut().filter(|retrying| retries < retrying.rules.at_most)?;
        if let Some(budget) = retrying.rules.budget {
            forget(&mut retrying.requests, now);
            forget(&mut retrying.retries, now);
            if (retrying.retries.len() + 1) as f64 > budget.0 * retrying.requests.len() as f64 {
                return None;
            }
            retrying.retries.push_back(now);
        }
        let mut draws = Stream::new(self.seed, &format!("request {number}"), &format!("retry {}", retries + 1));
        let backoff = retrying.rules.backoff.as_ref().map_or(0.0, |law| law.sample(&mut draws).max(0.0));
        Some(Span::from_secs_f64(backoff))
    }

    /// The next of `addresses` that `client` has from the DNS after so many refusals, which it keeps to from now on.
    pub(super) fn next_address(&mut self, client: u32, refusals: usize, addresses: usize) -> Option<u32> {
        let names = self.names.as_mut().filter(|_| self.fails_over && refusals < addresses)?;
        names.next_address(client, addresses as u32)
    }
}

fn forget(times: &mut VecDeque<Time>, now: Time) {
    while times.front().is_some_and(|at| now - *at >= BUDGET) {
        times.pop_front();
    }
}
