//! A tier by itself, as `[[system.tier]]` writes it: its face and policy, what it costs and is told.
//!
//! What only connections have (levels, packets) is refused for workloads of single requests, which would
//! silently ignore it.

mod balancer;
mod reports;

use serde::Deserialize;
use sojourn_dispatch::{Breakers, Concurrency, DispatchError, Dispatcher, Ejection, Queue, SlowStart};
use sojourn_model::Knowledge;
use sojourn_model::system::{Face, Held, Region, Seat, Tier, server_name};
use sojourn_products::Settings;
use sojourn_stats::Span;
use toml::Spanned;

use self::balancer::RawBalancer;
use self::reports::{RawProbes, RawReports};
use super::limit::{RawLimit, RawOverflow};
use super::{Reader, SpecError, Text, unknown};

pub(super) const ONLY_SESSIONS: &str = "only a workload of kind `sessions` has connections and packets; leave it out";

/// What a tier without a rule is told.
pub(super) const NO_POLICY: &str = "a tier needs a policy, e.g. `policy = \"least-connections\"`";

const ONLY_REQUESTS: &str = "response times of users who browse are not predicted; leave it out";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTier {
    pub(super) name: Option<Text>,
    pub(super) face: Text,
    pub(super) at: Option<Text>,
    pub(super) instances: Option<Spanned<u32>>,
    pub(super) policy: Option<Text>,
    pub(super) program: Option<Text>,
    pub(super) settings: Option<Text>,
    pub(super) backend: Option<Text>,
    pub(super) version: Option<Text>,
    pub(super) targets: Option<Spanned<RawTargets>>,
    pub(super) dispatchers: Option<Spanned<u32>>,
    pub(super) information: Option<Text>,
    pub(super) poll_cost: Option<Text>,
    pub(super) level: Option<Text>,
    pub(super) attached: Option<Text>,
    pub(super) mode: Option<Text>,
    pub(super) balancer: Option<Spanned<RawBalancer>>,
    pub(super) told: Option<Vec<Text>>,
    pub(super) ttl: Option<Text>,
    pub(super) reports: Option<Spanned<RawReports>>,
    pub(super) probes: Option<Spanned<RawProbes>>,
    pub(super) held: Option<Text>,
    pub(super) limit: Option<Spanned<RawLimit>>,
    pub(super) overflow: Option<Spanned<RawOverflow>>,
    pub(super) ejection: Option<Spanned<Ejection>>,
    pub(super) queue: Option<Spanned<Queue>>,
    pub(super) breakers: Option<Spanned<Breakers>>,
    pub(super) concurrency: Option<Spanned<Concurrency>>,
    pub(super) slow_start: Option<Spanned<SlowStart>>,
    #[serde(default)]
    pub(super) pool: Vec<Spanned<RawPool>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTargets {
    pub(super) servers: Option<Spanned<u32>>,
    pub(super) sites: Option<Spanned<Vec<Text>>>,
    pub(super) tiers: Option<Spanned<Vec<Text>>>,
    pub(super) weights: Option<Spanned<Vec<f64>>>,
    pub(super) speeds: Option<Spanned<Vec<f64>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPool {
    pub(super) host: Option<String>,
    pub(super) path: Option<Text>,
    pub(super) policy: Text,
    pub(super) targets: Spanned<RawTargets>,
}

impl Reader<'_> {
    /// A tier with these deciders, without its pools; one of so many `tiers`, in a system of these regions. Its rule is that of
    /// a person's own configuration, where it has one.
    pub(super) fn tier(
        &self,
        (raw, settings): (&RawTier, Option<&Settings>),
        name: &str,
        seats: &[Seat],
        tiers: usize,
        regions: &[Region],
    ) -> Result<Tier, SpecError> {
        let face = self.face(raw, tiers)?;
        let (affinity, balancing) = (self.affinity(raw, face)?, self.balancing(raw, face)?);
        let attachment = self.attachment(raw, affinity)?;
        let (told, poll_cost) = (self.told(raw, face)?, self.poll_cost(raw)?);
        let polled = self.polled(raw)?;
        if let (Face::Client, Some(_), Some(text)) = (face, polled, &raw.information) {
            let right = "a client goes by what happens to its own requests: leave it out";
            return Err(self.at(text, "information", right));
        }
        let weights = self.weights(raw, seats)?;
        let (policy, said) = match (settings, &raw.settings, &raw.policy) {
            (Some(settings), Some(file), _) => (settings.policy.as_str(), (file, "settings")),
            (_, _, Some(policy)) => (policy.get_ref().as_str(), (policy, "policy")),
            (_, _, None) => return Err(self.at(&raw.face, "tier", NO_POLICY)),
        };
        let dispatchers = match &raw.dispatchers {
            Some(n) if *n.get_ref() == 0 => return Err(self.at(n, "dispatchers", "at least 1 dispatcher is needed")),
            Some(n) if *n.get_ref() > 1 && self.browses => {
                let right =
                    "users who browse have 1 dispatcher so far: leave it out, or use an open or closed workload";
                return Err(self.at(n, "dispatchers", right));
            }
            Some(n) => *n.get_ref(),
            None => 1,
        };
        let reports = self.reports(raw, face)?;
        let (ttl, ttl_rule) = self.ttl(raw, face, reports)?;
        let tier = Tier {
            name: name.into(),
            dispatchers,
            polled,
            poll_cost,
            weights,
            affinity,
            attachment,
            balancing,
            told,
            ttl,
            ttl_rule,
            reports,
            probes: self.probes(raw, face)?,
            held: self.held(raw, face)?,
            ..Tier::new(face, policy)
        };
        self.check_policy(policy, said, &tier, regions)?;
        for pool in &raw.pool {
            let policy = &pool.get_ref().policy;
            self.check_policy(policy.get_ref(), (policy, "policy"), &tier, regions)?;
        }
        Ok(tier)
    }

    /// A weight for each target; none where deciders have different numbers of targets, which are then alike.
    fn weights(&self, raw: &RawTier, seats: &[Seat]) -> Result<Vec<f64>, SpecError> {
        let targets = seats.first().map_or(0, |seat| seat.targets.len());
        let written = raw.targets.as_ref().and_then(|targets| targets.get_ref().weights.as_ref());
        match (written, seats.iter().all(|seat| seat.targets.len() == targets)) {
            (None, true) => Ok(vec![1.0; targets]),
            (None, false) => Ok(Vec::new()),
            (Some(list), false) => {
                Err(self.at(list, "weights", "not every decider of this tier has as many targets: leave them out"))
            }
            (Some(list), true) => {
                Ok(self.per_target(&Some(list.clone()), "weights", targets)?.expect("weights are written"))
            }
        }
    }

    fn face(&self, raw: &RawTier, tiers: usize) -> Result<Face, SpecError> {
        match raw.face.get_ref().as_str() {
            "gateway" => Ok(Face::Gateway),
            "switch" if self.browses || tiers > 1 => Ok(Face::Switch),
            "switch" => Err(self.at(
                &raw.face,
                "face",
                "a switch sees connections: it needs a workload of kind `sessions`, or a tier of face `dns` in front",
            )),
            "redirect" => Ok(Face::Redirect),
            "dns" => Ok(Face::Dns),
            "client" => Ok(Face::Client),
            other => {
                let known = ["gateway", "switch", "redirect", "dns", "client", "none"];
                Err(self.at(&raw.face, "face", &unknown("face", other, &known)))
            }
        }
    }

    /// Refuses a policy that is not known, or that this face cannot serve, where a key says it.
    fn check_policy(
        &self,
        policy: &str,
        (said, key): (&Text, &str),
        tier: &Tier,
        regions: &[Region],
    ) -> Result<(), SpecError> {
        // Where deciders have different numbers of targets, one stands for all.
        let weights = if tier.weights.is_empty() { &[1.0][..] } else { &tier.weights };
        let targets: Vec<_> = weights.iter().enumerate().map(|(i, weight)| (server_name(i), *weight)).collect();
        let information = sojourn_sim::information(tier);
        let signals = sojourn_sim::signals(tier, regions, self.browses);
        let made = Dispatcher::from_catalogue(self.catalogue, policy, &targets, information, signals, 0, "");
        made.map(|_| ()).map_err(|e| {
            let lacks = |signals: &[&str]| {
                matches!(&e, DispatchError::MissingSignal(text) if signals.iter().any(|signal| text.contains(signal)))
            };
            let remedy = if self.browses && tier.face == Face::Switch && lacks(&["(bytes)", "(first-byte"]) {
                "; a simulator can tell it: told = [\"bytes\", \"client-first-byte\"]"
            } else if !self.browses && lacks(&["(predicted-response)"]) {
                "; a simulator can tell it in front of servers: told = [\"predicted-response\"]"
            } else {
                ""
            };
            self.at(said, key, &format!("{e}{remedy}"))
        })
    }

    /// How long a client holds what it has chosen.
    fn held(&self, raw: &RawTier, face: Face) -> Result<Held, SpecError> {
        let Some(text) = &raw.held else { return Ok(Held::Request) };
        if face != Face::Client {
            let right = "only clients that decide hold their choice (`face = \"client\"`); leave it out";
            return Err(self.at(text, "held", right));
        }
        match text.get_ref().as_str() {
            "request" => Ok(Held::Request),
            "run" => Ok(Held::Run),
            _ => match self.span(text, "held") {
                Ok(span) if span > Span::ZERO => Ok(Held::For(span)),
                _ => Err(self.at(text, "held", "`request`, `run`, or how long, e.g. `60 s`")),
            },
        }
    }

    /// What a predictor of response times knows.
    pub(super) fn knowledge(&self, text: &Text) -> Result<Knowledge, SpecError> {
        match text.get_ref().as_str() {
            _ if self.browses => Err(self.at(text, "predict", ONLY_REQUESTS)),
            "number" => Ok(Knowledge::Number),
            "demands" => Ok(Knowledge::Demands),
            other => Err(self.at(text, "predict", &unknown("knowledge", other, &["number", "demands"]))),
        }
    }
}
