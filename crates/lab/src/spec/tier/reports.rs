//! What the deciders of a tier are told and find out: polls, reports, probes, the signals of a simulator, and the TTL that goes
//! by them.

use serde::Deserialize;
use sojourn_dispatch::capacity::{self, Rule};
use sojourn_model::system::{Face, Probes, Reports, Told, TtlRule};
use sojourn_stats::{Dimension, Span, quantity};
use toml::Spanned;

use super::super::{Reader, SpecError, Text, unknown};
use super::{ONLY_REQUESTS, ONLY_SESSIONS, RawTier};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::spec) struct RawReports {
    every: Text,
    heartbeat: Option<Text>,
    client_rates: Option<Text>,
    hidden_load: Option<Spanned<bool>>,
    cost: Option<Text>,
    #[serde(default)]
    lossy: bool,
    estimator: Option<Text>,
    capacity: Option<RawCapacity>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCapacity {
    at: Spanned<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::spec) struct RawProbes {
    at_most: Spanned<u32>,
    refresh: Text,
}

impl Reader<'_> {
    pub(super) fn polled(&self, raw: &RawTier) -> Result<Option<Span>, SpecError> {
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

    pub(super) fn poll_cost(&self, raw: &RawTier) -> Result<Span, SpecError> {
        match &raw.poll_cost {
            Some(text) if !self.browses => Err(self.at(text, "poll_cost", ONLY_SESSIONS)),
            Some(text) => self.span(text, "poll_cost"),
            None => Ok(Span::ZERO),
        }
    }

    pub(super) fn reports(&self, raw: &RawTier, face: Face) -> Result<Option<Reports>, SpecError> {
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

    pub(super) fn probes(&self, raw: &RawTier, face: Face) -> Result<Option<Probes>, SpecError> {
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

    /// What a simulator tells although the face does not see it.
    pub(super) fn told(&self, raw: &RawTier, face: Face) -> Result<Vec<Told>, SpecError> {
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

    /// The TTL of answers, and what it depends on; a rule is told what it reads by `reports`.
    pub(super) fn ttl(
        &self,
        raw: &RawTier,
        face: Face,
        reports: Option<Reports>,
    ) -> Result<(Span, TtlRule), SpecError> {
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
}
