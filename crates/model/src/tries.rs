//! What a client does when a reply does not come, as a state machine without I/O: time-outs, retries, budgets, hedges.
//!
//! [`Tries`] is what all clients of one place share: their rules, the budget of retries, and the response times that hedges go
//! by. An [`Effort`] is one request from its client's side. The caller sends, keeps the clock and says what has happened;
//! what is to be done next comes back as a value. The simulated client runs it, and a live one can: every random number is
//! the caller's.
//!
//! An attempt ends with a reply, an error, a refusal, or at [`Attempt::until`]: the end of its own time-out, or of the time for
//! the whole request if that is sooner. That instant is the deadline that is passed on to servers, as gRPC passes on the
//! time that is left (gRPC over HTTP/2, `grpc-timeout`). A retry that could not begin before the request's deadline is not
//! made, and takes nothing from the budget.
//!
//! A budget is taken from by retries and hedges alike, as in gRPC (proposal A6, "Throttling Retry Attempts and Hedged RPCs"). A
//! hedge is sent once per request, beside its first attempt.

use std::collections::VecDeque;

use sojourn_stats::{Histogram, Span, Stream, Time};

use crate::system::{Backoff, Budget, Hedge, Retries, Rules};

/// A budget by share is of retries and requests in so long a time (Finagle's `RetryBudget`: 10 s).
const WINDOW: Span = Span(10_000_000_000);

/// Tokens are counted in millionths, so that tenths add up exactly.
const TOKEN: u64 = 1_000_000;

/// Response times are kept of at least so many replies, and at most twice as many.
const KEPT: u64 = 10_000;

/// The quantile that hedges go by is looked up anew after so many replies.
const STALE: u64 = 64;

/// A quantile is known once so many replies are expected beyond it.
const BEYOND: f64 = 5.0;

/// What all clients of one place share.
#[derive(Clone, Debug)]
pub struct Tries {
    timeout: Option<Span>,
    deadline: Option<Span>,
    retries: Option<Retries>,
    allowance: Allowance,
    hedge: Option<HedgeAfter>,
}

/// One request, from its client's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// When it is given up, whatever happens.
    deadline: Option<Time>,
    /// Attempts after the first that were made because one failed.
    retries: u32,
    /// Attempts so far, hedges among them.
    attempts: u32,
    /// Attempts that have not ended.
    under_way: u32,
}

/// An attempt that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Its number within its request, from 0 on.
    pub number: u32,
    /// When it is given up, which servers may be told; none: never.
    pub until: Option<Time>,
    /// When a second attempt is to be asked for ([`Tries::hedges`]), unless a reply has come; none: never.
    pub hedge: Option<Time>,
}

/// What to do after an attempt has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// Try again after so long.
    Retry(Span),
    /// Wait: another attempt of the request is under way.
    Wait,
    /// Give the request up.
    GiveUp,
}

/// What is left of a budget.
#[derive(Clone, Debug)]
enum Allowance {
    Unlimited,
    /// The instants of requests and of retries in the last [`WINDOW`].
    Share {
        share: f64,
        requests: VecDeque<Time>,
        retries: VecDeque<Time>,
    },
    /// In millionths of a token.
    Tokens {
        now: u64,
        per_request: u64,
        most: u64,
    },
}

/// When a hedge is due.
#[derive(Clone, Debug)]
enum HedgeAfter {
    Span(Span),
    Quantile {
        p: f64,
        /// Response times (ns) of late, and those before.
        late: Histogram,
        before: Histogram,
        /// Their quantile, once there are enough.
        known: Option<Span>,
        /// Replies since it was looked up.
        since: u64,
    },
}

impl Tries {
    /// What clients with these rules share at the beginning.
    pub fn new(rules: &Rules) -> Tries {
        let hedge = rules.hedge.map(|hedge| match hedge {
            Hedge::After(span) => HedgeAfter::Span(span),
            Hedge::Quantile(p) => {
                let (late, before) = (Histogram::new(), Histogram::new());
                HedgeAfter::Quantile { p, late, before, known: None, since: 0 }
            }
        });
        Tries {
            timeout: rules.timeout,
            deadline: rules.deadline,
            allowance: Allowance::new(rules.retries.as_ref().and_then(|retries| retries.budget)),
            retries: rules.retries.clone(),
            hedge,
        }
    }

    /// A request comes, which was planned at `planned`.
    pub fn begins(&mut self, planned: Time, now: Time) -> Effort {
        self.allowance.request(now);
        Effort { deadline: self.deadline.map(|span| planned + span), ..Effort::default() }
    }

    /// An attempt of a request begins, and its time-out counts from `since` on.
    pub fn tries(&mut self, effort: &mut Effort, since: Time) -> Attempt {
        let number = effort.attempts;
        effort.attempts += 1;
        effort.under_way += 1;
        let timeout = self.timeout.map(|span| since + span);
        let until = [timeout, effort.deadline].into_iter().flatten().min();
        let hedge = self.hedge.as_ref().filter(|_| number == 0).and_then(HedgeAfter::span);
        let hedge = hedge.map(|span| since + span).filter(|at| until.is_none_or(|until| *at < until));
        Attempt { number, until, hedge }
    }

    /// Whether a request that has waited so long gets a second attempt; it then begins ([`Tries::tries`]).
    pub fn hedges(&mut self, effort: &Effort, now: Time) -> bool {
        effort.attempts == 1 && effort.under_way == 1 && self.allowance.take(now)
    }

    /// An attempt has failed at `now`: with an error, a refusal or its time-out. `draws` gives the random numbers of a retry by
    /// its number from 1 on.
    pub fn failed(&mut self, effort: &mut Effort, now: Time, draws: impl FnOnce(u32) -> Stream) -> AfterFailure {
        effort.under_way -= 1;
        if effort.under_way > 0 {
            return AfterFailure::Wait;
        }
        let Some(retries) = self.retries.as_ref().filter(|retries| effort.retries < retries.at_most) else {
            return AfterFailure::GiveUp;
        };
        let wait = retries.backoff.as_ref().map_or(Span::ZERO, |backoff| backoff.wait(effort.retries, draws));
        if effort.deadline.is_some_and(|deadline| now + wait >= deadline) || !self.allowance.take(now) {
            return AfterFailure::GiveUp;
        }
        effort.retries += 1;
        AfterFailure::Retry(wait)
    }

    /// The reply to an attempt has come, so long after the attempt was sent.
    pub fn answered(&mut self, took: Span) {
        if let Some(hedge) = &mut self.hedge {
            hedge.learn(took);
        }
    }
}

impl Effort {
    /// Attempts after the first that were made because one failed.
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// Attempts so far, hedges among them.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }
}

impl Backoff {
    /// How long a client waits before the retry that comes after `before` others.
    pub fn wait(&self, before: u32, draws: impl FnOnce(u32) -> Stream) -> Span {
        let mut stream = draws(before + 1);
        match self {
            Backoff::Law(law) => Span::from_secs_f64(law.sample(&mut stream).max(0.0)),
            Backoff::FullJitter { base, most } => {
                let longest = base.0.saturating_mul(1u64.checked_shl(before).unwrap_or(u64::MAX)).min(most.0);
                Span((stream.uniform() * longest as f64) as u64)
            }
        }
    }
}

impl Allowance {
    fn new(budget: Option<Budget>) -> Allowance {
        match budget {
            None => Allowance::Unlimited,
            Some(Budget::Share(share)) => {
                Allowance::Share { share, requests: VecDeque::new(), retries: VecDeque::new() }
            }
            Some(Budget::Tokens { per_request, most }) => Allowance::Tokens {
                now: 0,
                per_request: (per_request * TOKEN as f64).round() as u64,
                most: u64::from(most) * TOKEN,
            },
        }
    }

    /// A request comes.
    fn request(&mut self, at: Time) {
        match self {
            Allowance::Unlimited => {}
            Allowance::Share { requests, .. } => {
                forget(requests, at);
                requests.push_back(at);
            }
            Allowance::Tokens { now, per_request, most } => *now = (*now + *per_request).min(*most),
        }
    }

    /// Whether there is enough for one more attempt, which is then taken out.
    fn take(&mut self, at: Time) -> bool {
        match self {
            Allowance::Unlimited => true,
            Allowance::Share { share, requests, retries } => {
                forget(requests, at);
                forget(retries, at);
                let is_enough = (retries.len() + 1) as f64 <= *share * requests.len() as f64;
                if is_enough {
                    retries.push_back(at);
                }
                is_enough
            }
            Allowance::Tokens { now, .. } => {
                let left = now.checked_sub(TOKEN);
                *now = left.unwrap_or(*now);
                left.is_some()
            }
        }
    }
}

impl HedgeAfter {
    /// How long after the first attempt; none while too little is known.
    fn span(&self) -> Option<Span> {
        match self {
            HedgeAfter::Span(span) => Some(*span),
            HedgeAfter::Quantile { known, .. } => *known,
        }
    }

    fn learn(&mut self, took: Span) {
        let HedgeAfter::Quantile { p, late, before, known, since } = self else { return };
        late.record(took.0);
        *since += 1;
        if *since >= STALE {
            *since = 0;
            let mut all = late.clone();
            all.merge(before);
            let is_enough = all.count() as f64 * (1.0 - *p) >= BEYOND;
            *known = all.quantile(*p).filter(|_| is_enough).map(Span);
        }
        if late.count() >= KEPT {
            *before = std::mem::replace(late, Histogram::new());
        }
    }
}

/// How many replies must have come before a quantile is looked up that hedges go by.
pub(crate) fn replies_needed(p: f64) -> u64 {
    ((BEYOND / (1.0 - p)).ceil() as u64).next_multiple_of(STALE)
}

fn forget(times: &mut VecDeque<Time>, now: Time) {
    while times.front().is_some_and(|at| now - *at >= WINDOW) {
        times.pop_front();
    }
}
