//! Adaptive concurrency: how many requests a server, or all together, may have at once follows from how long they take.
//!
//! | rule | with each end |
//! |---|---|
//! | `aimd` | one more, if at least half of the limit is in use; after a failure or a response above `timeout`, times `backoff` |
//! | `gradient` | (1 - `smoothing`) L + `smoothing` (g L + `headroom`), unless less than half is in use |
//! | `vegas` | L + 6 log L, L + log L, or L - log L, by the queue q that response times betray |
//!
//! Of `gradient`, g is `tolerance` times the long mean over the last response, from 0.5 to 1. Of `vegas`, q is
//! ceil(L (1 - shortest / last)): the first where it is at most log L, the second where it is below 3 log L, the third
//! where it is above 6 log L or the request failed.
//!
//! They are those of Netflix's concurrency-limits (`AIMDLimit`, `Gradient2Limit`, `VegasLimit`), with its defaults: 20 at first,
//! from 20 to 200 (Vegas: from 1 to 1000). log is the decimal logarithm, at least 1. The long mean is an exponential average
//! over `window` responses, a plain mean over the first ten, and shrinks by 5 % where it is more than twice the last response.
//! Vegas takes the shortest response ever seen for that of an idle server; Netflix measures it anew every 30 L
//! responses or so at a time that is drawn, here at a time that is not: nothing is drawn.
//!
//! A request whose client went away says nothing. One that failed counts to `aimd` and `vegas` alone.

use serde::{Deserialize, Serialize};
use sojourn_stats::Span;

use super::{End, is_share};
use crate::BackendId;

/// How the limit follows response times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Concurrency {
    /// The rule.
    pub by: LimitRule,
    /// What the limit is of.
    pub of: Scope,
    /// The limit at first.
    pub first: u32,
    /// The least that it becomes.
    pub least: u32,
    /// The most that it becomes.
    pub most: u32,
    /// Of `aimd`: what takes longer is a failure.
    pub timeout: Span,
    /// Of `aimd`: what is left of the limit after a failure.
    pub backoff: f64,
    /// Of `gradient`: how much longer than usual a response may take.
    pub tolerance: f64,
    /// Of `gradient`: how much of a new limit is taken.
    pub smoothing: f64,
    /// Of `gradient`: responses that the long mean is over.
    pub window: u32,
    /// Of `gradient`: what a limit grows by.
    pub headroom: u32,
}

/// A rule of adaptive concurrency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitRule {
    /// Additive increase, multiplicative decrease.
    #[default]
    Aimd,
    /// The long mean of response times over the last one.
    Gradient,
    /// The queue that response times betray.
    Vegas,
}

/// What a limit is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Each server by itself.
    #[default]
    Server,
    /// All servers of the decider together.
    Tier,
}

impl Default for Concurrency {
    fn default() -> Concurrency {
        Concurrency {
            by: LimitRule::Aimd,
            of: Scope::Server,
            first: 20,
            least: 20,
            most: 200,
            timeout: Span(5_000_000_000),
            backoff: 0.9,
            tolerance: 1.5,
            smoothing: 0.2,
            window: 600,
            headroom: 4,
        }
    }
}

impl Concurrency {
    pub(super) fn check(&self, has_limit: bool) -> Result<(), String> {
        let Concurrency { first, least, most, backoff, tolerance, smoothing, .. } = *self;
        match () {
            () if has_limit && self.of == Scope::Server => {
                Err("the limit of each server follows response times: leave `limit` out, or say of = \"tier\"".into())
            }
            () if least == 0 => Err("least = 0: at least 1, or nothing would ever be served".into()),
            () if !(least..=most).contains(&first) => Err(format!("first = {first}: from {least} to {most}")),
            () if self.timeout == Span::ZERO => Err("timeout: it takes some time, e.g. `5 s`".into()),
            () if !(is_share(backoff) && backoff < 1.0) => {
                Err(format!("backoff = {backoff}: between 0 and 1, e.g. 0.9"))
            }
            () if !(tolerance.is_finite() && tolerance >= 1.0) => {
                Err(format!("tolerance = {tolerance}: at least 1, e.g. 1.5"))
            }
            () if !is_share(smoothing) => Err(format!("smoothing = {smoothing}: above 0 and at most 1, e.g. 0.2")),
            () if self.window == 0 => Err("window = 0: at least 1 response".into()),
            () => Ok(()),
        }
    }
}

/// The limits of all servers, or the one of all together.
#[derive(Debug)]
pub(in super::super) struct Limiter {
    settings: Concurrency,
    /// By server; one where it is of all.
    limits: Vec<Adaptive>,
}

/// A limit and what it follows from.
#[derive(Clone, Copy, Debug)]
struct Adaptive {
    limit: f64,
    /// Mean response time and how many it is of; in Vegas the shortest one, and how many since it was taken.
    known: f64,
    count: u32,
    /// The sum of the first response times, of which the mean is a plain one.
    sum: f64,
}

impl Limiter {
    pub(super) fn new(settings: Concurrency) -> Limiter {
        Limiter { settings, limits: Vec::new() }
    }

    pub(in super::super) fn scope(&self) -> Scope {
        self.settings.of
    }

    /// The limit at first, and that of a server that has had no request.
    pub(in super::super) fn first(&self) -> u32 {
        self.settings.first
    }

    /// The limit of all together.
    pub(in super::super) fn of_all(&self) -> u32 {
        self.limits.first().map_or(self.settings.first, |of| of.limit as u32)
    }

    /// A request has ended; `in_flight` were there, it included. Gives the limit, if it is another one now.
    pub(in super::super) fn ended(&mut self, backend: BackendId, end: End, in_flight: u32) -> Option<u32> {
        let place = if self.settings.of == Scope::Server { backend.0 as usize } else { 0 };
        if self.limits.len() <= place {
            let first = Adaptive { limit: self.settings.first.into(), known: 0.0, count: 0, sum: 0.0 };
            self.limits.resize(place + 1, first);
        }
        let of = &mut self.limits[place];
        let before = of.limit as u32;
        let limit = of.next(&self.settings, end, in_flight);
        of.limit = limit.clamp(self.settings.least.into(), self.settings.most.into());
        let now = of.limit as u32;
        (now != before).then_some(now)
    }
}

impl Adaptive {
    fn next(&mut self, settings: &Concurrency, end: End, in_flight: u32) -> f64 {
        match (settings.by, end) {
            (_, End::Cancelled) => self.limit,
            (LimitRule::Aimd, end) => {
                let is_late = matches!(end, End::Served(took) if took > settings.timeout);
                match end == End::Failed || is_late {
                    true => (self.limit * settings.backoff).floor(),
                    false if 2.0 * f64::from(in_flight) >= self.limit => self.limit + 1.0,
                    false => self.limit,
                }
            }
            (LimitRule::Gradient, End::Failed) => self.limit,
            (LimitRule::Gradient, End::Served(took)) => self.by_gradient(settings, took.as_secs_f64(), in_flight),
            (LimitRule::Vegas, end) => self.by_vegas(end, in_flight),
        }
    }

    fn by_gradient(&mut self, settings: &Concurrency, last: f64, in_flight: u32) -> f64 {
        const WARM_UP: u32 = 10;
        if self.count < WARM_UP {
            (self.sum, self.count) = (self.sum + last, self.count + 1);
            self.known = self.sum / f64::from(self.count);
        } else {
            let weight = 2.0 / f64::from(settings.window + 1);
            self.known += (last - self.known) * weight;
        }
        let long = self.known;
        if long > 2.0 * last {
            self.known *= 0.95;
        }
        if f64::from(in_flight) < self.limit / 2.0 || last <= 0.0 {
            return self.limit;
        }
        let gradient = (settings.tolerance * long / last).clamp(0.5, 1.0);
        let new = self.limit * gradient + f64::from(settings.headroom);
        self.limit * (1.0 - settings.smoothing) + new * settings.smoothing
    }

    fn by_vegas(&mut self, end: End, in_flight: u32) -> f64 {
        /// The shortest response is measured anew after so many per unit of the limit.
        const ANEW: f64 = 30.0;
        let limit = self.limit;
        let log = limit.log10().max(1.0).floor();
        let End::Served(took) = end else { return limit - log };
        let last = took.as_secs_f64();
        self.count += 1;
        if self.known == 0.0 || last < self.known || f64::from(self.count) >= ANEW * limit {
            (self.known, self.count) = (last, 0);
            return limit;
        }
        if 2.0 * f64::from(in_flight) < limit {
            return limit;
        }
        let queue = (limit * (1.0 - self.known / last)).ceil();
        match queue {
            queue if queue <= log => limit + 6.0 * log,
            queue if queue < 3.0 * log => limit + log,
            queue if queue > 6.0 * log => limit - log,
            _ => limit,
        }
    }
}
