//! A tier by itself (its face and policy, what it costs and is told), and the network of a system in one place, as
//! `[[system.tier]]` and `[system.network]` write them.
//!
//! What only connections have (levels, packets, windows) is refused for workloads of single requests, which would
//! silently ignore it.

use serde::{Deserialize, de};
use sojourn_dispatch::capacity::{self, Rule};
use sojourn_dispatch::{Breakers, Concurrency, DispatchError, Dispatcher, Ejection, Queue, SlowStart};
use sojourn_model::system::{
    Affinity, Attachment, Face, Held, Probes, Region, Reports, Seat, Tier, Told, TtlRule, server_name,
};
use sojourn_model::{Balancing, ClusterNetwork, Knowledge, Mode, Tcp};
use sojourn_products::Settings;
use sojourn_stats::{Dimension, Span, quantity};
use toml::Spanned;

use super::limit::{RawLimit, RawOverflow};
use super::{Reader, SpecError, Text, unknown};

const ONLY_SESSIONS: &str = "only a workload of kind `sessions` has connections and packets; leave it out";

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

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNetwork {
    pub(super) client_rate: Option<Text>,
    pub(super) cluster_rate: Option<Text>,
    pub(super) rtt: Option<Text>,
    pub(super) backbone_rate: Option<Text>,
    pub(super) server_rate: Option<Text>,
    pub(super) segment: Option<Text>,
    pub(super) initial_window: Option<Spanned<u32>>,
    pub(super) acks_per_segment: Option<Spanned<f64>>,
    pub(super) timeouts: Option<Spanned<f64>>,
    pub(super) timeout: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReports {
    pub(super) every: Text,
    pub(super) heartbeat: Option<Text>,
    pub(super) client_rates: Option<Text>,
    pub(super) hidden_load: Option<Spanned<bool>>,
    pub(super) cost: Option<Text>,
    #[serde(default)]
    pub(super) lossy: bool,
    pub(super) estimator: Option<Text>,
    pub(super) capacity: Option<RawCapacity>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCapacity {
    pub(super) at: Spanned<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProbes {
    pub(super) at_most: Spanned<u32>,
    pub(super) refresh: Text,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBalancer {
    mode: Option<Text>,
    per_packet: Option<Text>,
    per_connection: Option<Text>,
    cores: Option<Cores>,
}

/// A number of cores, or no limit.
struct Cores(Option<u32>);

impl<'de> Deserialize<'de> for Cores {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Cores, D::Error> {
        struct Count;
        impl de::Visitor<'_> for Count {
            type Value = Cores;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of cores from 1 on, or \"unlimited\" (a delay without a queue)")
            }
            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Cores, E> {
                let cores = u32::try_from(count).ok().filter(|cores| *cores > 0);
                let wrong = || E::custom(format!("cores = {count}: at least 1, or \"unlimited\""));
                cores.map(|cores| Cores(Some(cores))).ok_or_else(wrong)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Cores, E> {
                match text.parse::<i64>() {
                    Ok(count) => self.visit_i64(count),
                    Err(_) if text == "unlimited" => Ok(Cores(None)),
                    Err(_) => Err(E::custom(format!("cores = \"{text}\": a number from 1 on, or \"unlimited\""))),
                }
            }
        }
        deserializer.deserialize_any(Count)
    }
}

impl RawNetwork {
    pub(super) fn is_written(&self) -> bool {
        let texts = [
            &self.rtt,
            &self.client_rate,
            &self.cluster_rate,
            &self.backbone_rate,
            &self.server_rate,
            &self.segment,
            &self.timeout,
        ];
        let numbers = [&self.acks_per_segment, &self.timeouts];
        texts.into_iter().any(Option::is_some)
            || numbers.into_iter().any(Option::is_some)
            || self.initial_window.is_some()
    }
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

    fn polled(&self, raw: &RawTier) -> Result<Option<Span>, SpecError> {
        let Some(text) = &raw.information else { return Ok(None) };
        match text.get_ref().as_str() {
            "immediate" => Ok(None),
            polled if polled.starts_with("polled every ") => {
                let every_s = quantity::parse(&polled["polled every ".len()..], Dimension::Time)
                    .map_err(|e| self.at(text, "information", &e.to_string()))?;
                if every_s <= 0.0 {
                    return Err(self.at(text, "information", "polls are some time apart, e.g. `polled every 100 ms`"));
                }
                Ok(Some(Span::from_secs_f64(every_s)))
            }
            _ => Err(self.at(text, "information", "`immediate`, or e.g. `polled every 100 ms`")),
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

    /// The TTL of answers, and what it depends on; a rule is told what it reads by `reports`.
    fn ttl(&self, raw: &RawTier, face: Face, reports: Option<Reports>) -> Result<(Span, TtlRule), SpecError> {
        let Some(text) = &raw.ttl else { return Ok((Span::ZERO, TtlRule::Constant)) };
        if face != Face::Dns {
            return Err(self.at(text, "ttl", "only the answers of a tier of face `dns` have one; leave it out"));
        }
        let written = text.get_ref().trim();
        let inside = |rule: &str| written.strip_prefix(rule)?.strip_prefix('(')?.strip_suffix(')');
        let (rule, span) = match (inside("variable"), inside("adaptive")) {
            (Some(span), _) => (TtlRule::Variable, span),
            (_, Some(span)) => (TtlRule::Adaptive, span),
            _ => return Ok((self.span(text, "ttl")?, TtlRule::Constant)),
        };
        let span = quantity::parse(span, Dimension::Time).ok().filter(|seconds| *seconds >= 0.0);
        let span = span.ok_or_else(|| self.at(text, "ttl", "`60 s`, `variable(60 s)` or `adaptive(60 s)`"))?;
        let has_rates = reports.is_some_and(|reports| reports.client_rates.is_some());
        match rule {
            TtlRule::Variable if reports.is_none() => {
                Err(self.at(text, "ttl", "`variable` goes by the load of the targets: add `reports`"))
            }
            TtlRule::Adaptive if !has_rates => {
                let right = "`adaptive` goes by the rates of clients: add `reports` with `client_rates`";
                Err(self.at(text, "ttl", right))
            }
            _ => Ok((Span::from_secs_f64(span), rule)),
        }
    }

    fn reports(&self, raw: &RawTier, face: Face) -> Result<Option<Reports>, SpecError> {
        let Some(reports) = &raw.reports else { return Ok(None) };
        if face == Face::Gateway || face == Face::Client {
            let right = "a gateway counts for itself, and a client too: leave them out, or use `information`";
            return Err(self.at(reports, "reports", right));
        }
        if let Some(information) = raw.information.as_ref().filter(|text| text.get_ref() != "immediate") {
            return Err(self.at(information, "information", "`reports` come unasked: leave one of the two out"));
        }
        let RawReports { every, heartbeat, client_rates, hidden_load, cost, lossy, estimator, capacity } =
            reports.get_ref();
        let longer = |text: &Text, key: &str| match self.span(text, key)? {
            Span::ZERO => Err(self.at(text, key, "reports are some time apart, e.g. `500 ms`")),
            span => Ok(span),
        };
        let every = longer(every, "every")?;
        let heartbeat = match heartbeat {
            None => None,
            Some(text) => match longer(text, "heartbeat")? {
                span if span < every => {
                    return Err(self.at(
                        text,
                        "heartbeat",
                        "a target looks at its load once in `every`: at least that",
                    ));
                }
                span => Some(span),
            },
        };
        if let Some(hidden) = hidden_load.as_ref().filter(|hidden| *hidden.get_ref()) {
            if face != Face::Dns {
                let right = "only a DNS is asked by resolvers; leave it out";
                return Err(self.at(hidden, "hidden_load", right));
            }
            if client_rates.is_none() {
                let right = "a resolver's rate is the sum of its clients': add `client_rates`, e.g. `64 s`";
                return Err(self.at(hidden, "hidden_load", right));
            }
        }
        Ok(Some(Reports {
            every,
            heartbeat,
            client_rates: client_rates.as_ref().map(|text| longer(text, "client_rates")).transpose()?,
            hidden_load: hidden_load.as_ref().is_some_and(|hidden| *hidden.get_ref()),
            cost: cost.as_ref().map_or(Ok(Span::ZERO), |text| self.span(text, "cost"))?,
            lossy: *lossy,
            estimator: estimator
                .as_ref()
                .map(|text| capacity::known(text.get_ref()).map_err(|e| self.at(text, "estimator", &e.to_string())))
                .transpose()?,
            capacity_at: capacity.as_ref().map_or(Ok(Rule::default().at), |RawCapacity { at }| {
                capacity::share(*at.get_ref()).map_err(|e| self.at(at, "at", &e.to_string()))
            })?,
        }))
    }

    fn probes(&self, raw: &RawTier, face: Face) -> Result<Option<Probes>, SpecError> {
        let Some(probes) = &raw.probes else { return Ok(None) };
        if !matches!(face, Face::Dns | Face::Client) {
            let right = "only a tier of face `dns` has clients probed, and clients that decide probe themselves; leave them out";
            return Err(self.at(probes, "probes", right));
        }
        let RawProbes { at_most, refresh } = probes.get_ref();
        if *at_most.get_ref() == 0 {
            return Err(self.at(at_most, "at_most", "at least 1 site probes; leave `probes` out for none"));
        }
        Ok(Some(Probes { at_most: *at_most.get_ref(), refresh: self.span(refresh, "refresh")? }))
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

    pub(super) fn network(&self, raw: &RawNetwork) -> Result<ClusterNetwork, SpecError> {
        let rate = |text: &Option<Text>, key: &str| match text {
            None => Ok(None),
            Some(text) => match self.quantity(text, key, Dimension::Bandwidth)? {
                0.0 => Err(self.at(text, key, "a rate is above 0; leave it out for an infinitely fast link")),
                rate => Ok(Some(rate)),
            },
        };
        if !self.browses {
            for (text, key) in
                [(&raw.backbone_rate, "backbone_rate"), (&raw.server_rate, "server_rate"), (&raw.segment, "segment")]
            {
                if let Some(text) = text {
                    return Err(self.at(text, key, ONLY_SESSIONS));
                }
            }
            if let Some(window) = &raw.initial_window {
                return Err(self.at(window, "initial_window", ONLY_SESSIONS));
            }
            let numbers = [(&raw.acks_per_segment, "acks_per_segment"), (&raw.timeouts, "timeouts")];
            if let Some((Some(number), key)) = numbers.into_iter().find(|(number, _)| number.is_some()) {
                return Err(self.at(number, key, ONLY_SESSIONS));
            }
        }
        let mut tcp = Tcp::default();
        if let Some(text) = &raw.segment {
            tcp.segment = self.quantity(text, "segment", Dimension::Size)? as u64;
            if tcp.segment == 0 {
                return Err(self.at(text, "segment", "a segment holds at least 1 B, e.g. `1460 B`"));
            }
        }
        if let Some(window) = &raw.initial_window {
            tcp.initial_window = *window.get_ref();
            if tcp.initial_window == 0 {
                return Err(self.at(window, "initial_window", "a window holds at least 1 segment"));
            }
        }
        if let Some(acks) = &raw.acks_per_segment {
            tcp.acks_per_segment = *acks.get_ref();
            if !(0.0..=1.0).contains(&tcp.acks_per_segment) {
                return Err(self.at(
                    acks,
                    "acks_per_segment",
                    "from 0 to 1: every segment is acknowledged at most once",
                ));
            }
        }
        if let Some(share) = &raw.timeouts {
            tcp.timeouts = *share.get_ref();
            if !(0.0..=1.0).contains(&tcp.timeouts) {
                return Err(self.at(
                    share,
                    "timeouts",
                    "the share of the replies that wait for a timeout, from 0 to 1",
                ));
            }
        }
        if let Some(text) = &raw.timeout {
            tcp.timeout = self.span(text, "timeout")?;
        }
        Ok(ClusterNetwork {
            rtt: raw.rtt.as_ref().map_or(Ok(Span::ZERO), |text| self.span(text, "rtt"))?,
            server_rtt: Span::ZERO,
            client_rate: rate(&raw.client_rate, "client_rate")?,
            cluster_rate: rate(&raw.cluster_rate, "cluster_rate")?,
            backbone_rate: rate(&raw.backbone_rate, "backbone_rate")?,
            server_rate: rate(&raw.server_rate, "server_rate")?,
            tcp,
        })
    }

    /// What is given a server: our gateway gives it requests, a switch connections.
    fn affinity(&self, raw: &RawTier, face: Face) -> Result<Affinity, SpecError> {
        let Some(text) = &raw.level else {
            return Ok(if face == Face::Switch { Affinity::Connection } else { Affinity::Request });
        };
        match text.get_ref().as_str() {
            _ if !self.browses => Err(self.at(text, "level", ONLY_SESSIONS)),
            "session" => Ok(Affinity::Session),
            "connection" => Ok(Affinity::Connection),
            "request" if face != Face::Switch => Ok(Affinity::Request),
            "request" => Err(self.at(text, "level", "a switch sees no requests: `connection` or `session`")),
            other => Err(self.at(text, "level", &unknown("level", other, &["session", "connection", "request"]))),
        }
    }

    /// When users count as attached: by default to the server of their session, where sessions are given one.
    fn attachment(&self, raw: &RawTier, affinity: Affinity) -> Result<Attachment, SpecError> {
        let Some(text) = &raw.attached else {
            return Ok(if affinity == Affinity::Session { Attachment::Session } else { Attachment::WhileConnected });
        };
        let known: &[(&str, Attachment)] = match affinity {
            _ if !self.browses => return Err(self.at(text, "attached", ONLY_SESSIONS)),
            Affinity::Session => &[("session", Attachment::Session), ("until-next", Attachment::UntilNext)],
            Affinity::Connection => &[
                ("while-connected", Attachment::WhileConnected),
                ("session", Attachment::Session),
                ("until-next", Attachment::UntilNext),
            ],
            Affinity::Request => &[("while-connected", Attachment::WhileConnected)],
        };
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let found = known.iter().find(|(name, _)| name == text.get_ref());
        let wrong = || self.at(text, "attached", &unknown("time of attachment at this level", text.get_ref(), &names));
        Ok(found.ok_or_else(wrong)?.1)
    }

    fn balancing(&self, raw: &RawTier, face: Face) -> Result<Balancing, SpecError> {
        let own = if face == Face::Switch { Mode::SingleRewriting } else { Mode::Nat };
        if let Some(text) = &raw.mode {
            return Ok(Balancing::free(self.forwarding(text, face)?));
        }
        let Some(balancer) = &raw.balancer else { return Ok(Balancing::free(own)) };
        if !self.browses {
            return Err(self.at(balancer, "balancer", ONLY_SESSIONS));
        }
        let balancer = balancer.get_ref();
        let modes: &[(&str, Mode)] = match face {
            Face::Switch => &[
                ("single-rewriting", Mode::SingleRewriting),
                ("ip-tunnelling", Mode::IpTunnelling),
                ("mac-forwarding", Mode::MacForwarding),
            ],
            _ => &[("nat", Mode::Nat)],
        };
        let mode = match &balancer.mode {
            None => own,
            Some(text) => {
                let known: Vec<&str> = modes.iter().map(|(name, _)| *name).collect();
                let found = modes.iter().find(|(name, _)| name == text.get_ref());
                found.ok_or_else(|| self.at(text, "mode", &unknown("mode of this face", text.get_ref(), &known)))?.1
            }
        };
        let span = |text: &Option<Text>, key: &str| text.as_ref().map_or(Ok(Span::ZERO), |text| self.span(text, key));
        let cores = balancer.cores.as_ref().and_then(|cores| cores.0);
        Ok(Balancing {
            mode,
            per_packet: span(&balancer.per_packet, "per_packet")?,
            per_connection: span(&balancer.per_connection, "per_connection")?,
            cores,
        })
    }

    /// How a switch of single requests forwards; the names are those of `sojourn switch`.
    fn forwarding(&self, text: &Text, face: Face) -> Result<Mode, SpecError> {
        match text.get_ref().as_str() {
            _ if face != Face::Switch => {
                Err(self.at(text, "mode", "only a tier of face `switch` has one; leave it out"))
            }
            _ if self.browses => {
                let right = "for users who browse it is a key of `balancer`: balancer = { mode = \"mac-forwarding\" }";
                Err(self.at(text, "mode", right))
            }
            "mac" => Ok(Mode::MacForwarding),
            "rewrite" => Ok(Mode::SingleRewriting),
            "nat" => Ok(Mode::Nat),
            "tunnel" => Ok(Mode::IpTunnelling),
            other => Err(self.at(text, "mode", &unknown("mode", other, &["mac", "rewrite", "nat", "tunnel"]))),
        }
    }

    /// What a simulator tells although the face does not see it.
    fn told(&self, raw: &RawTier, face: Face) -> Result<Vec<Told>, SpecError> {
        let has_servers = raw.targets.as_ref().is_some_and(|targets| targets.get_ref().servers.is_some());
        let known = [Told::Bytes, Told::ClientFirstByte, Told::PredictedResponse];
        let mut told = Vec::new();
        for text in raw.told.iter().flatten() {
            let names = known.map(Told::name);
            let found = known.into_iter().find(|one| one.name() == text.get_ref());
            let found = found.ok_or_else(|| self.at(text, "told", &unknown("signal", text.get_ref(), &names)))?;
            match found {
                Told::PredictedResponse if self.browses => return Err(self.at(text, "told", ONLY_REQUESTS)),
                Told::PredictedResponse if matches!(face, Face::Dns | Face::Client) || !has_servers => {
                    let right =
                        "only a tier that sends requests to servers itself can be told predictions; leave it out";
                    return Err(self.at(text, "told", right));
                }
                Told::Bytes | Told::ClientFirstByte if !self.browses => {
                    return Err(self.at(text, "told", ONLY_SESSIONS));
                }
                // A gateway sees it, and better.
                Told::Bytes | Told::ClientFirstByte if face == Face::Gateway => {}
                _ => told.push(found),
            }
        }
        Ok(told)
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

    fn poll_cost(&self, raw: &RawTier) -> Result<Span, SpecError> {
        match &raw.poll_cost {
            Some(text) if !self.browses => Err(self.at(text, "poll_cost", ONLY_SESSIONS)),
            Some(text) => self.span(text, "poll_cost"),
            None => Ok(Span::ZERO),
        }
    }
}
