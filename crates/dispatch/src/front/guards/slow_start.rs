//! Slow start: a server that comes back gets a small share at first, which grows to its own in a set time.
//!
//! | rule | share of weight t after it came back, of a time w | who starts slowly |
//! |---|---|---|
//! | `envoy` | max(`least`, (max(t, 1 s) / w)^(1 / `aggression`)) | all that come back, also those that were aside |
//! | `haproxy` | (floor(16 t / w) + 1) / 16; of the limit floor(100 t / w) %, at least 1 request | those that were down |
//!
//! Envoy's is `applySlowStartFactor` in its `load_balancer_impl.cc`; HAProxy's are `server_recalc_eweight` and
//! `srv_dynamic_maxconn` in its `server.c` and `queue.c`. The share moves twenty times within the time, as HAProxy's does, and
//! at most once a second. What is there from the beginning does not start slowly. Where a policy reads no weights and no
//! server has a limit, slow start would do nothing, and is refused.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use super::is_share;
use crate::{BackendId, Limit};

/// How a server that comes back gets its share again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlowStart {
    /// How long that takes.
    pub over: Span,
    /// The rule.
    pub by: StartRule,
    /// Of `envoy`: above 1 the share grows fast at first, below 1 slowly.
    pub aggression: f64,
    /// Of `envoy`: the least share.
    pub least: f64,
}

/// A rule of slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartRule {
    /// Of the weight alone, a power of the time.
    #[default]
    Envoy,
    /// Of weight and limit, in a straight line.
    Haproxy,
}

const SECOND: Span = Span(1_000_000_000);

/// How often a share moves within its time.
const STEPS: u64 = 20;

impl Default for SlowStart {
    fn default() -> SlowStart {
        SlowStart { over: SECOND * 30, by: StartRule::Envoy, aggression: 1.0, least: 0.1 }
    }
}

impl SlowStart {
    pub(super) fn check(&self) -> Result<(), String> {
        let SlowStart { over, aggression, least, .. } = *self;
        match () {
            () if over < SECOND => Err(format!("over = {over}: at least 1 s, e.g. `30 s`")),
            () if !(aggression.is_finite() && aggression > 0.0) => {
                Err(format!("aggression = {aggression}: above 0, e.g. 1.0"))
            }
            () if !is_share(least) => Err(format!("least = {least}: a share above 0 and at most 1, e.g. 0.1")),
            () => Ok(()),
        }
    }

    /// The share of its weight that a server has so long after it came back.
    pub fn share(&self, elapsed: Span) -> f64 {
        let part = |elapsed: Span| elapsed.as_secs_f64() / self.over.as_secs_f64();
        match self.by {
            _ if elapsed >= self.over => 1.0,
            StartRule::Envoy => part(elapsed.max(SECOND)).powf(1.0 / self.aggression).max(self.least).min(1.0),
            StartRule::Haproxy => (16 * elapsed.0 / self.over.0 + 1) as f64 / 16.0,
        }
    }

    /// The requests that it may have then, of so many.
    pub fn limit(&self, elapsed: Span, most: u32) -> u32 {
        match self.by {
            StartRule::Haproxy if elapsed < self.over => {
                let percent = (100 * u128::from(elapsed.0) / u128::from(self.over.0)) as u64;
                ((u64::from(most) * percent / 100) as u32).max(1)
            }
            StartRule::Envoy | StartRule::Haproxy => most,
        }
    }

    fn step(&self) -> Span {
        Span(self.over.0 / STEPS).max(SECOND)
    }
}

/// The servers that start slowly.
#[derive(Debug)]
pub(in super::super) struct Starts {
    settings: SlowStart,
    servers: Vec<Start>,
    due: Time,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Start {
    pub(in super::super) backend: BackendId,
    since: Time,
    pub(in super::super) whole: Whole,
}

/// What a server has that has its whole share.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Whole {
    pub(in super::super) weight: f64,
    /// None where it has none, or where that does not grow.
    pub(in super::super) limit: Option<Limit>,
}

/// What a server has at a step.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Share {
    pub(in super::super) backend: BackendId,
    pub(in super::super) weight: f64,
    pub(in super::super) limit: Option<Limit>,
}

impl Starts {
    pub(super) fn new(settings: SlowStart) -> Starts {
        Starts { settings, servers: Vec::new(), due: Time::NEVER }
    }

    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// Whether one that was down, or only aside or drained, starts slowly when it is up.
    pub(in super::super) fn begins(&self, was_down: bool) -> bool {
        was_down || self.settings.by == StartRule::Envoy
    }

    /// A server begins that has all this usually.
    pub(in super::super) fn begin(&mut self, backend: BackendId, usual: Whole, now: Time) {
        let limit = usual.limit.filter(|_| self.settings.by == StartRule::Haproxy);
        let whole = self.end(backend).unwrap_or(Whole { limit, ..usual });
        self.servers.push(Start { backend, since: now, whole });
        self.due = now;
    }

    /// A server starts slowly no more; what it has usually, if it did.
    pub(in super::super) fn end(&mut self, backend: BackendId) -> Option<Whole> {
        let place = self.servers.iter().position(|start| start.backend == backend)?;
        Some(self.servers.swap_remove(place).whole)
    }

    /// A server has another weight from now on.
    pub(in super::super) fn weighs(&mut self, backend: BackendId, weight: f64) {
        self.servers.iter_mut().filter(|start| start.backend == backend).for_each(|start| start.whole.weight = weight);
    }

    /// What each has from now on, if a step is due; one that has its own is done.
    pub(in super::super) fn steps(&mut self, now: Time) -> Vec<Share> {
        if self.due > now {
            return Vec::new();
        }
        let share = |Start { backend, since, whole }: &Start| {
            let elapsed = now.saturating_since(*since);
            let most = whole.limit.map(|limit| (limit, self.settings.limit(elapsed, limit.connections())));
            let limit = most.map(|(limit, most)| match most == limit.connections() {
                true => limit,
                false => Limit::new(most, most - 1).expect("at least 1, which returns with one less"),
            });
            Share { backend: *backend, weight: whole.weight * self.settings.share(elapsed), limit }
        };
        let steps = self.servers.iter().map(share).collect();
        self.servers.retain(|start| now.saturating_since(start.since) < self.settings.over);
        let end = self.servers.iter().map(|start| start.since + self.settings.over).min();
        self.due = end.map_or(Time::NEVER, |end| end.min(now + self.settings.step()));
        steps
    }
}
