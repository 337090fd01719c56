//! What clients do besides asking, as `[client]`, `[[system.resolver]]` and `resolves` write it.

use serde::{Deserialize, de};
use sojourn_model::system::{Abandoned, Backoff, Budget, Hedge, Region, Resolver, Resolves, Retries, Rules, TtlUse};
use sojourn_stats::{Dimension, Span, quantity};
use toml::Spanned;

use super::workload::RawWorkload;
use super::{Reader, SpecError, Text, unknown};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClient {
    timeout: Option<Text>,
    deadline: Option<Text>,
    retries: Option<RawRetries>,
    pub(super) hedge: Option<Text>,
    abandoned: Option<Text>,
    pub(super) fails_over: Option<Spanned<bool>>,
}

/// `retries = { at_most = 3 }`, or `retries = 3` for short.
struct RawRetries {
    at_most: u32,
    backoff: Option<Text>,
    budget: Option<Spanned<RawBudget>>,
}

/// `budget = 0.2`, `"20 %"` or `"token-bucket(20 %, 10)"`.
enum RawBudget {
    Number(f64),
    Text(String),
}

impl<'de> Deserialize<'de> for RawRetries {
    /// By hand, because an untagged enum would not say what is right.
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<RawRetries, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            at_most: u32,
            backoff: Option<Text>,
            budget: Option<Spanned<RawBudget>>,
        }
        struct Retries;
        impl<'de> de::Visitor<'de> for Retries {
            type Value = RawRetries;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "how often a client tries again, e.g. { at_most = 3, backoff = \"50 ms\", budget = \"10 %\" }",
                )
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<RawRetries, E> {
                let at_most =
                    u32::try_from(number).map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))?;
                Ok(RawRetries { at_most, backoff: None, budget: None })
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RawRetries, A::Error> {
                let read = Table::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(RawRetries { at_most: read.at_most, backoff: read.backoff, budget: read.budget })
            }
        }
        deserializer.deserialize_any(Retries)
    }
}

impl<'de> Deserialize<'de> for RawBudget {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<RawBudget, D::Error> {
        struct Budget;
        impl de::Visitor<'_> for Budget {
            type Value = RawBudget;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("retries per request, e.g. \"10 %\", or \"token-bucket(10 %, 10)\"")
            }
            fn visit_f64<E>(self, number: f64) -> Result<RawBudget, E> {
                Ok(RawBudget::Number(number))
            }
            fn visit_i64<E>(self, number: i64) -> Result<RawBudget, E> {
                Ok(RawBudget::Number(number as f64))
            }
            fn visit_str<E>(self, text: &str) -> Result<RawBudget, E> {
                Ok(RawBudget::Text(text.into()))
            }
        }
        deserializer.deserialize_any(Budget)
    }
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
        let span = |text: &Option<Text>, key| {
            let read = |text: &Text| match self.span(text, key)? {
                Span::ZERO => Err(self.at(text, key, "a time-out is longer than 0 s")),
                span => Ok(span),
            };
            text.as_ref().map(read).transpose()
        };
        let (timeout, deadline) = (span(&raw.timeout, "timeout")?, span(&raw.deadline, "deadline")?);
        if let (Some(text), Some(timeout), Some(deadline)) = (&raw.deadline, timeout, deadline)
            && deadline < timeout
        {
            let right = format!("the time in all is not shorter than the `timeout` of one attempt, {timeout}");
            return Err(self.at(text, "deadline", &right));
        }
        let abandoned = match raw.abandoned.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None | Some((_, "cancelled")) => Abandoned::Cancelled,
            Some((_, "served")) => Abandoned::Served,
            Some((text, other)) => {
                return Err(self.at(text, "abandoned", &unknown("word", other, &["cancelled", "served"])));
            }
        };
        let retries = raw.retries.as_ref().map_or(Ok(None), |retries| self.retries(retries))?;
        let hedge = raw.hedge.as_ref().map(|text| self.hedge(text)).transpose()?;
        if let (Some(text), Some(Hedge::After(after)), Some(timeout)) = (&raw.hedge, hedge, timeout.or(deadline))
            && after >= timeout
        {
            let right = format!("no attempt is under way so long: the client gives it up after {timeout}");
            return Err(self.at(text, "hedge", &right));
        }
        Ok(Rules {
            resolves,
            timeout,
            deadline,
            retries,
            hedge,
            abandoned,
            fails_over: raw.fails_over.as_ref().is_some_and(|written| *written.get_ref()),
            secure,
        })
    }

    /// How a client tries again; none where it never does.
    fn retries(&self, raw: &RawRetries) -> Result<Option<Retries>, SpecError> {
        let RawRetries { at_most, backoff, budget } = raw;
        let backoff = backoff.as_ref().map(|text| self.backoff(text)).transpose()?;
        let budget = budget.as_ref().map(|budget| self.budget(budget)).transpose()?;
        Ok((*at_most > 0).then_some(Retries { at_most: *at_most, backoff, budget }))
    }

    fn backoff(&self, text: &Text) -> Result<Backoff, SpecError> {
        Backoff::parse(text.get_ref()).map_err(|right| self.at(text, "backoff", &right))
    }

    fn budget(&self, raw: &Spanned<RawBudget>) -> Result<Budget, SpecError> {
        let read = match raw.get_ref() {
            RawBudget::Number(number) => Budget::parse(&number.to_string()),
            RawBudget::Text(text) => Budget::parse(text),
        };
        read.map_err(|right| self.at(raw, "budget", &right))
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
        Hedge::parse(text.get_ref()).map_err(|right| self.at(text, "hedge", &right))
    }
}
