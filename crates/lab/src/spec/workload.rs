//! What users ask for, as `[workload]` writes it.

use std::path::Path;

use serde::{Deserialize, de};
use sojourn_stats::{Dimension, Law, Span};
use sojourn_traffic::{Arrivals, Closed, Open, Profile, Replay, Sizes, Traced, Workload};
use toml::Spanned;

use super::{Reader, SpecError, Text, sessions, unknown};

/// The kinds of workloads.
const KINDS: &[&str] = &["open", "closed", "sessions", "session-file", "webstone", "log", "trace"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWorkload {
    pub(super) kind: Text,
    pub(super) arrivals: Option<Text>,
    pub(super) size: Option<Text>,
    pub(super) clients: Option<Spanned<RawClients>>,
    pub(super) resolves: Option<Text>,
    pub(super) patience: Option<Text>,
    pub(super) users: Option<Spanned<u32>>,
    pub(super) think: Option<Text>,
    pub(super) log: Option<Text>,
    pub(super) speed: Option<Spanned<f64>>,
    pub(super) duration: Option<Text>,
    pub(super) profile: Option<Text>,
    pub(super) file: Option<Text>,
    pub(super) repeat: Option<Spanned<bool>>,
    pub(super) sessions: Option<Spanned<u32>>,
    pub(super) wsess: Option<Text>,
    pub(super) site: Option<Spanned<sessions::SiteSource>>,
    pub(super) length: Option<Text>,
    pub(super) locality: Option<Text>,
    pub(super) active_off: Option<Text>,
    pub(super) parallel: Option<Spanned<u32>>,
    pub(super) http: Option<Text>,
    pub(super) keep_alive: Option<Text>,
    pub(super) time_scale: Option<Spanned<f64>>,
}

/// How many clients there are, or how many are in each region.
pub(super) enum RawClients {
    Number(u32),
    Groups(Vec<RawGroup>),
}

/// Clients of one region; of WebStone, processes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGroup {
    pub(super) region: Text,
    #[serde(alias = "processes")]
    number: Spanned<u32>,
}

impl RawGroup {
    pub(super) fn number(&self) -> u32 {
        *self.number.get_ref()
    }
}

impl RawClients {
    /// How many they are in all.
    fn number(&self) -> u32 {
        match self {
            RawClients::Number(number) => *number,
            RawClients::Groups(groups) => groups.iter().map(RawGroup::number).sum(),
        }
    }
}

impl<'de> Deserialize<'de> for RawClients {
    /// By hand, because an untagged enum would lose the lines of what is inside.
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<RawClients, D::Error> {
        struct Source;
        impl<'de> de::Visitor<'de> for Source {
            type Value = RawClients;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of clients, or a list such as [{ region = \"europe\", number = 100 }]")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<RawClients, E> {
                let number = u32::try_from(number);
                number.map(RawClients::Number).map_err(|_| E::custom("clients: a number from 1 to 4294967295"))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<RawClients, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(list)).map(RawClients::Groups)
            }
        }
        deserializer.deserialize_any(Source)
    }
}

impl RawWorkload {
    fn has_groups(&self) -> bool {
        matches!(self.clients.as_ref().map(Spanned::get_ref), Some(RawClients::Groups(_)))
    }

    pub(super) fn is_sessions(&self) -> bool {
        ["sessions", "session-file"].contains(&self.kind.get_ref().as_str())
    }
}

impl Reader<'_> {
    pub(super) fn workload(&self, raw: &RawWorkload, seed: u64) -> Result<Workload, SpecError> {
        let kind = raw.kind.get_ref().as_str();
        // Users are a number, or are counted by region.
        let users: &[&str] = if raw.has_groups() { &["clients"] } else { &["users"] };
        let (known, needs): (&[&str], &[&str]) = match kind {
            "open" => (&["arrivals", "profile", "size", "clients", "resolves", "patience", "http"], &["arrivals"]),
            "closed" => (&["users", "clients", "resolves", "think", "size", "patience", "http"], users),
            "webstone" => (&["users", "clients", "resolves", "size", "patience", "http"], users),
            "log" => (&["log", "speed", "duration"], &["log"]),
            "trace" => (&["file", "speed", "repeat", "size", "clients", "resolves", "patience", "http"], &["file"]),
            "sessions" => (sessions::KEYS, &["users"]),
            "session-file" => (sessions::WRITTEN_KEYS, &["arrivals"]),
            other => {
                let message = unknown("kind of workload", other, KINDS);
                return Err(self.at(&raw.kind, "kind", &message));
            }
        };
        let given: [(&str, Option<std::ops::Range<usize>>); 23] = [
            ("arrivals", raw.arrivals.as_ref().map(Spanned::span)),
            ("size", raw.size.as_ref().map(Spanned::span)),
            ("clients", raw.clients.as_ref().map(Spanned::span)),
            ("resolves", raw.resolves.as_ref().map(Spanned::span)),
            ("patience", raw.patience.as_ref().map(Spanned::span)),
            ("users", raw.users.as_ref().map(Spanned::span)),
            ("think", raw.think.as_ref().map(Spanned::span)),
            ("log", raw.log.as_ref().map(Spanned::span)),
            ("speed", raw.speed.as_ref().map(Spanned::span)),
            ("duration", raw.duration.as_ref().map(Spanned::span)),
            ("profile", raw.profile.as_ref().map(Spanned::span)),
            ("file", raw.file.as_ref().map(Spanned::span)),
            ("sessions", raw.sessions.as_ref().map(Spanned::span)),
            ("wsess", raw.wsess.as_ref().map(Spanned::span)),
            ("repeat", raw.repeat.as_ref().map(Spanned::span)),
            ("site", raw.site.as_ref().map(Spanned::span)),
            ("length", raw.length.as_ref().map(Spanned::span)),
            ("locality", raw.locality.as_ref().map(Spanned::span)),
            ("active_off", raw.active_off.as_ref().map(Spanned::span)),
            ("parallel", raw.parallel.as_ref().map(Spanned::span)),
            ("http", raw.http.as_ref().map(Spanned::span)),
            ("keep_alive", raw.keep_alive.as_ref().map(Spanned::span)),
            ("time_scale", raw.time_scale.as_ref().map(Spanned::span)),
        ];
        for (key, span) in &given {
            match span {
                Some(span) if !known.contains(key) => {
                    let message = format!("a workload of kind `{kind}` has no such key; it has {}", known.join(", "));
                    return Err(self.error(span.start, key, &message));
                }
                None if needs.contains(key) => {
                    return Err(self.at(&raw.kind, "workload", &format!("kind `{kind}` needs the key `{key}`")));
                }
                _ => {}
            }
        }
        let folder = self.file.parent().unwrap_or(Path::new(""));
        let sizes = |default: &str| match &raw.size {
            Some(text) => Sizes::parse_in(text.get_ref(), folder).map_err(|e| self.at(text, "size", &e.to_string())),
            None => Sizes::parse(default).map_err(|e| SpecError(e.to_string())),
        };
        let patience = raw.patience.as_ref().map(|text| self.law(text, "patience", Dimension::Time)).transpose()?;
        let users = match &raw.users {
            Some(users) if *users.get_ref() == 0 => return Err(self.at(users, "users", "at least 1 user is needed")),
            Some(users) => *users.get_ref(),
            None => 0,
        };
        let clients = raw.clients.as_ref().map_or(1000, |clients| clients.get_ref().number()).max(1);
        let users = if raw.has_groups() { clients } else { users };
        Ok(match kind {
            "open" => {
                let arrivals = self.arrivals(raw)?;
                Workload::Open(Open { arrivals, clients, sizes: sizes("constant(1 kB)")?, patience })
            }
            "closed" => {
                let think = match &raw.think {
                    Some(text) => self.law(text, "think", Dimension::Time)?,
                    None => Law::constant(0.0),
                };
                Workload::Closed(Closed { users, think, sizes: sizes("constant(1 kB)")?, patience })
            }
            "webstone" => {
                Workload::Closed(Closed { users, think: Law::constant(0.0), sizes: sizes("webstone")?, patience })
            }
            "trace" => {
                let sizes = sizes("constant(1 kB)")?;
                Workload::Trace(Traced { sizes, patience, clients, ..self.trace(raw)? })
            }
            "session-file" => Workload::Sessions(self.written(raw, patience, seed)?),
            "sessions" => Workload::Sessions(self.sessions(raw, users, patience, seed)?),
            _ => Workload::Replay(self.replay(raw)?),
        })
    }

    fn replay(&self, raw: &RawWorkload) -> Result<Replay, SpecError> {
        let text = raw.log.as_ref().expect("checked above");
        if text.get_ref().is_empty() {
            return Err(self.at(text, "log", "name an access log, e.g. `--set workload.log=access.log`"));
        }
        let replay = Replay::read(&self.path(text.get_ref())).map_err(|e| self.at(text, "log", &e.to_string()))?;
        match (&raw.speed, &raw.duration) {
            (Some(_), Some(duration)) => Err(self.at(duration, "duration", "give either a speed or a duration")),
            (Some(speed), None) if *speed.get_ref() > 0.0 && speed.get_ref().is_finite() => {
                Ok(Replay { speed: *speed.get_ref(), ..replay })
            }
            (Some(speed), None) => Err(self.at(speed, "speed", "a speed factor is above 0, e.g. 20")),
            (None, Some(text)) => match self.span(text, "duration")? {
                Span::ZERO => Err(self.at(text, "duration", "a replay lasts longer than 0 s")),
                span => Ok(replay.lasting(span)),
            },
            (None, None) => Ok(replay),
        }
    }

    /// Whether every request of a live run has a connection of its own: HTTP/1.0, WebStone's.
    pub(super) fn one_request_per_connection(&self, raw: &RawWorkload) -> Result<bool, SpecError> {
        match raw.http.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None => Ok(raw.kind.get_ref() == "webstone"),
            Some((_, "1.0")) => Ok(true),
            Some((_, "1.1")) => Ok(false),
            Some((text, other)) => Err(self.at(text, "http", &unknown("version of HTTP", other, &["1.0", "1.1"]))),
        }
    }

    /// Arrivals and their profile; the key has been checked for.
    pub(super) fn arrivals(&self, raw: &RawWorkload) -> Result<Arrivals, SpecError> {
        let text = raw.arrivals.as_ref().expect("a kind that arrives needs the key");
        let arrivals = Arrivals::parse(text.get_ref()).map_err(|e| self.at(text, "arrivals", &e.to_string()))?;
        let Some(text) = &raw.profile else { return Ok(arrivals) };
        let folder = self.file.parent().unwrap_or(Path::new(""));
        let profile =
            Profile::parse_in(text.get_ref(), folder).map_err(|e| self.at(text, "profile", &e.to_string()))?;
        Ok(arrivals.with_profile(profile))
    }

    fn trace(&self, raw: &RawWorkload) -> Result<Traced, SpecError> {
        let text = raw.file.as_ref().expect("checked above");
        let traced = Traced::read(&self.path(text.get_ref())).map_err(|e| self.at(text, "file", &e.to_string()))?;
        let speed = match &raw.speed {
            Some(speed) if !(*speed.get_ref() > 0.0 && speed.get_ref().is_finite()) => {
                return Err(self.at(speed, "speed", "a speed factor is above 0, e.g. 2"));
            }
            Some(speed) => *speed.get_ref(),
            None => 1.0,
        };
        let repeat = raw.repeat.as_ref().is_some_and(|repeat| *repeat.get_ref());
        Ok(Traced { speed, repeat, ..traced })
    }
}
