//! What clients do besides asking, as `[client]`, `[[system.resolver]]` and `resolves` write it.

use serde::Deserialize;
use sojourn_model::system::{Budget, Hedge, Region, Resolver, Resolves, Retries, Rules, TtlUse};
use sojourn_stats::{Dimension, Span, quantity};
use toml::Spanned;

use super::workload::RawWorkload;
use super::{Reader, SpecError, Text, unknown};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClient {
    timeout: Option<Text>,
    retries: Option<RawRetries>,
    hedge: Option<Text>,
    pub(super) fails_over: Option<Spanned<bool>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRetries {
    at_most: Spanned<u32>,
    backoff: Option<Text>,
    budget: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawResolver {
    name: Option<String>,
    pub(super) region: Text,
    clients: Spanned<f64>,
    ttl: Option<Text>,
}

impl Reader<'_> {
    pub(super) fn resolvers(
        &self,
        raw: &[Spanned<RawResolver>],
        regions: &[Region],
    ) -> Result<Vec<Resolver>, SpecError> {
        let mut resolvers: Vec<Resolver> = Vec::with_capacity(raw.len());
        for (index, resolver) in raw.iter().enumerate() {
            let RawResolver { name, region, clients, ttl } = resolver.get_ref();
            let at = self.region(region, "region", regions)?;
            let share = *clients.get_ref();
            let taken: f64 = resolvers.iter().filter(|other| other.region == at).map(|other| other.share).sum();
            if !(share > 0.0 && share + taken <= 1.0 + 1e-9) {
                let message = format!(
                    "the resolvers of `{}` serve {} of its clients: shares are above 0 and at most 1 in all",
                    region.get_ref(),
                    share + taken
                );
                return Err(self.at(clients, "clients", &message));
            }
            let ttl = ttl.as_ref().map_or(Ok(TtlUse::Honoured), |text| self.ttl_use(text))?;
            let name = name.clone().unwrap_or_else(|| format!("resolver-{}", index + 1));
            if resolvers.iter().any(|other| other.name == name) {
                let message = format!("two resolvers are called `{name}`; names must differ");
                return Err(self.at(resolver, "resolver", &message));
            }
            resolvers.push(Resolver { name, region: at, share, ttl });
        }
        Ok(resolvers)
    }

    fn ttl_use(&self, text: &Text) -> Result<TtlUse, SpecError> {
        let written = text.get_ref().trim();
        let span = |inside: &str| {
            let inside = inside.strip_prefix('(')?.strip_suffix(')')?;
            quantity::parse(inside, Dimension::Time).ok().filter(|s| *s >= 0.0).map(Span::from_secs_f64)
        };
        let read = match written.split_at(written.find('(').unwrap_or(written.len())) {
            ("honoured", "") => Some(TtlUse::Honoured),
            ("at-least", rest) => span(rest).map(TtlUse::AtLeast),
            ("ignored", rest) => span(rest).map(TtlUse::Ignored),
            _ => None,
        };
        read.ok_or_else(|| self.at(text, "ttl", "`honoured`, `at-least(300 s)` or `ignored(1 h)`"))
    }

    /// What a client does besides asking.
    pub(super) fn rules(&self, workload: &RawWorkload, raw: Option<&RawClient>) -> Result<Rules, SpecError> {
        let resolves = match workload.resolves.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None | Some((_, "ttl")) => Resolves::Ttl,
            Some((_, "request")) => Resolves::EachRequest,
            Some((text, _)) => Resolves::Every(self.span(text, "resolves").map_err(|_| {
                self.at(text, "resolves", "`ttl`, `request`, or a time between two resolutions, e.g. `60 s`")
            })?),
        };
        let secure = self.secure(workload)?;
        let Some(raw) = raw else { return Ok(Rules { resolves, secure, ..Rules::default() }) };
        let timeout = raw.timeout.as_ref().map(|text| match self.span(text, "timeout")? {
            Span::ZERO => Err(self.at(text, "timeout", "a time-out is longer than 0 s")),
            span => Ok(span),
        });
        let retries = raw.retries.as_ref().map(|retries| {
            let budget = match &retries.budget {
                Some(share) if !(*share.get_ref() > 0.0 && share.get_ref().is_finite()) => {
                    return Err(self.at(
                        share,
                        "budget",
                        "retries per request are above 0, e.g. 0.2; leave it out for no limit",
                    ));
                }
                share => share.as_ref().map(|share| Budget(*share.get_ref())),
            };
            if *retries.at_most.get_ref() == 0 {
                return Err(self.at(&retries.at_most, "at_most", "at least 1 retry; leave `retries` out for none"));
            }
            let backoff = retries.backoff.as_ref().map(|text| self.times(text, "backoff")).transpose()?;
            Ok(Retries { at_most: *retries.at_most.get_ref(), backoff, budget })
        });
        Ok(Rules {
            resolves,
            timeout: timeout.transpose()?,
            retries: retries.transpose()?,
            hedge: raw.hedge.as_ref().map(|text| self.hedge(text)).transpose()?,
            fails_over: raw.fails_over.as_ref().is_some_and(|written| *written.get_ref()),
            secure,
        })
    }

    /// The numbers of the classes that are asked for over TLS.
    fn secure(&self, workload: &RawWorkload) -> Result<Vec<u8>, SpecError> {
        // Of a kind that has no classes of its own the key is refused with the workload.
        let Some(names) = workload.secure.as_ref().filter(|_| workload.has_classes()) else { return Ok(Vec::new()) };
        let known = workload.class_names();
        if names.get_ref().is_empty() || known.is_empty() {
            let right = "names of some of the workload's `classes`, e.g. [\"secure\"]";
            return Err(self.at(names, "secure", right));
        }
        let number = |name: &Text| match known.iter().position(|of| of == name.get_ref()) {
            Some(number) => Ok(number as u8),
            None => Err(self.at(name, "secure", &unknown("class of requests", name.get_ref(), &known))),
        };
        names.get_ref().iter().map(number).collect()
    }

    fn hedge(&self, text: &Text) -> Result<Hedge, SpecError> {
        let written = text.get_ref().trim();
        if let Some(percent) = written.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok()) {
            return match percent {
                percent if percent > 0.0 && percent < 100.0 => Ok(Hedge::Quantile(percent / 100.0)),
                _ => Err(self.at(text, "hedge", "a percentile is between 0 and 100, e.g. `p95`")),
            };
        }
        match quantity::parse(written, Dimension::Time) {
            Ok(seconds) if seconds >= 0.0 => Ok(Hedge::After(Span::from_secs_f64(seconds))),
            _ => Err(self.at(text, "hedge", &unknown("hedge", written, &["p95", "50 ms"]))),
        }
    }
}
