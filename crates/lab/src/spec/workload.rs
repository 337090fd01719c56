//! What users ask for, as `[workload]` writes it.

mod sessions;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use sojourn_model::Server;
use sojourn_stats::{Dimension, Law, Span, quantity};
use sojourn_traffic::log::LogFormat;
use sojourn_traffic::{Arrivals, Classes, Closed, OfferedLoad, Open, Profile, Replay, Sizes, Traced, Workload};
use toml::Spanned;

use super::{Reader, SpecError, Text, unknown};

/// Times as many requests as a log has that it may be replayed with.
const GROWTH_MOST: f64 = 1000.0;

/// One in at most so many requests was logged.
const SAMPLED_MOST: u32 = 1000;

/// The kinds of workloads.
const KINDS: &[&str] = &["open", "closed", "sessions", "session-file", "webstone", "log", "trace"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWorkload {
    pub(super) kind: Text,
    pub(super) arrivals: Option<Text>,
    rate: Option<Text>,
    utilization: Option<Spanned<f64>>,
    size: Option<Spanned<RawSize>>,
    classes: Option<Spanned<BTreeMap<String, Spanned<f64>>>>,
    pub(super) clients: Option<Spanned<RawClients>>,
    pub(super) resolves: Option<Text>,
    pub(super) patience: Option<Text>,
    pub(super) users: Option<Spanned<u32>>,
    pub(super) think: Option<Text>,
    pub(super) log: Option<Spanned<RawLogs>>,
    pub(super) format: Option<Text>,
    growth: Option<Spanned<f64>>,
    sampled: Option<Spanned<u32>>,
    pub(super) ran: Option<Text>,
    pub(super) speed: Option<Spanned<f64>>,
    pub(super) duration: Option<Text>,
    pub(super) profile: Option<Text>,
    pub(super) file: Option<Text>,
    pub(super) repeat: Option<Spanned<bool>>,
    pub(super) sessions: Option<Spanned<u32>>,
    pub(super) wsess: Option<Text>,
    pub(super) har: Option<Spanned<RawArchives>>,
    pub(super) hosts: Option<Spanned<Vec<String>>>,
    pub(super) site: Option<Spanned<sessions::SiteSource>>,
    pub(super) length: Option<Text>,
    pub(super) locality: Option<Text>,
    pub(super) active_off: Option<Text>,
    pub(super) parallel: Option<Spanned<u32>>,
    pub(super) http: Option<Text>,
    pub(super) secure: Option<Spanned<Vec<Text>>>,
    pub(super) keep_alive: Option<Text>,
    pub(super) time_scale: Option<Spanned<f64>>,
}

/// What variants share: what was drawn or read for one is there for the others.
#[derive(Default)]
pub(crate) struct Shared {
    pub(super) sites: sessions::Sites,
    replays: RefCell<Vec<(LogKey, Replay)>>,
}

/// What a log that was read is known by.
#[derive(PartialEq)]
struct LogKey {
    files: Vec<PathBuf>,
    /// As it is written.
    format: Option<String>,
    sampled: u32,
    /// The bits of the growth factor.
    growth: u64,
    /// Of the draws that sampling and growth make.
    seed: u64,
}

impl Shared {
    /// The replay that is known by `key`, made where it is not there yet.
    fn replay(&self, key: LogKey, make: impl FnOnce() -> Result<Replay, SpecError>) -> Result<Replay, SpecError> {
        if let Some((_, replay)) = self.replays.borrow().iter().find(|(known, _)| *known == key) {
            return Ok(replay.clone());
        }
        let replay = make()?;
        self.replays.borrow_mut().push((key, replay.clone()));
        Ok(replay)
    }
}

/// How many clients there are, or how many are in each region.
pub(super) enum RawClients {
    Number(u32),
    Groups(Vec<RawGroup>),
}

/// The file of a log, or its files.
pub(super) type RawLogs = RawPaths<false>;

/// The file of an archive of a browser, or several.
pub(super) type RawArchives = RawPaths<true>;

/// One file or several: archives of browsers, or logs.
pub(super) struct RawPaths<const ARE_ARCHIVES: bool>(pub(super) Vec<String>);

impl<'de, const ARE_ARCHIVES: bool> Deserialize<'de> for RawPaths<ARE_ARCHIVES> {
    /// By hand, for a message of its own.
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Files<const ARE_ARCHIVES: bool>;
        impl<'de, const ARE_ARCHIVES: bool> Visitor<'de> for Files<ARE_ARCHIVES> {
            type Value = RawPaths<ARE_ARCHIVES>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match ARE_ARCHIVES {
                    true => {
                        "an HTTP archive such as \"shop.har\", or a list of files such as [\"ann.har\", \"bob.har\"]"
                    }
                    false => {
                        "an access log such as \"access.log\", or a list of files such as [\"web1.log\", \"web2.log\"]"
                    }
                })
            }
            fn visit_str<E: de::Error>(self, file: &str) -> Result<Self::Value, E> {
                Ok(RawPaths(vec![file.into()]))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(list)).map(RawPaths)
            }
        }
        deserializer.deserialize_any(Files::<ARE_ARCHIVES>)
    }
}

/// Clients of one region; of WebStone, processes. Several of them may share a machine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGroup {
    pub(super) region: Text,
    #[serde(alias = "processes")]
    pub(super) number: Spanned<u32>,
    pub(super) machines: Option<Spanned<u32>>,
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
        impl<'de> Visitor<'de> for Source {
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

/// The size of every reply, or of those to each class.
enum RawSize {
    Alike(String),
    ByClass(BTreeMap<String, Text>),
}

impl<'de> Deserialize<'de> for RawSize {
    /// By hand, because an untagged enum would lose the lines of what is inside.
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<RawSize, D::Error> {
        struct Size;
        impl<'de> Visitor<'de> for Size {
            type Value = RawSize;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"constant(1 kB)\", or a table of them by class")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawSize, E> {
                Ok(RawSize::Alike(text.into()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawSize, A::Error> {
                Ok(RawSize::ByClass(BTreeMap::deserialize(MapAccessDeserializer::new(map))?))
            }
        }
        deserializer.deserialize_any(Size)
    }
}

impl RawWorkload {
    fn has_groups(&self) -> bool {
        matches!(self.clients.as_ref().map(Spanned::get_ref), Some(RawClients::Groups(_)))
    }

    /// Whether it is of a kind that may have classes.
    pub(super) fn has_classes(&self) -> bool {
        ["open", "closed"].contains(&self.kind.get_ref().as_str())
    }

    /// The names of its classes, by number: in the order of the file.
    pub(super) fn class_names(&self) -> Vec<&str> {
        self.classes_in_order().into_iter().map(|(name, _)| name).collect()
    }

    fn classes_in_order(&self) -> Vec<(&str, &Spanned<f64>)> {
        let classes = self.classes.iter().flat_map(|classes| classes.get_ref());
        let mut classes: Vec<_> = classes.map(|(name, share)| (name.as_str(), share)).collect();
        classes.sort_by_key(|(_, share)| share.span().start);
        classes
    }

    pub(super) fn is_sessions(&self) -> bool {
        ["sessions", "session-file"].contains(&self.kind.get_ref().as_str())
    }
}

/// Checks that every request finds its demand at `server`, and that `server` names no class that is not there.
pub(super) fn check_demands(workload: &Workload, server: &Server, reader: &Reader<'_>) -> Result<(), SpecError> {
    let known = workload.classes();
    // Of a site's classes only `static` must be there: most sites have no others. A server's file may name more classes
    // than an experiment without classes needs.
    let needed = if matches!(workload, Workload::Sessions(_)) { &known[..1] } else { &known[..] };
    if let Some(class) = needed.iter().find(|class| !server.has_demand(class)) {
        let message =
            format!("none for class `{class}`: add `{class} = \"1 ms\"`, or `other = \"1 ms\"` for all others");
        return Err(reader.at_key("demand", &message));
    }
    let named = server.demand.iter().map(|(class, _)| class.as_str());
    match named.into_iter().find(|class| !class.is_empty() && !known.contains(class)) {
        Some(class) if known.len() > 1 => {
            let known = [&known[..], &["other"]].concat();
            Err(reader.at_key("demand", &unknown("class of requests", class, &known)))
        }
        _ => Ok(()),
    }
}

impl Reader<'_> {
    pub(super) fn workload(&self, raw: &RawWorkload, seed: u64) -> Result<Workload, SpecError> {
        let kind = raw.kind.get_ref().as_str();
        // Users are a number, or are counted by region.
        let users: &[&str] = if raw.has_groups() { &["clients"] } else { &["users"] };
        let (known, needs): (&[&str], &[&str]) = match kind {
            "open" => (
                &[
                    "arrivals",
                    "rate",
                    "utilization",
                    "profile",
                    "classes",
                    "secure",
                    "size",
                    "clients",
                    "resolves",
                    "patience",
                    "http",
                ],
                if raw.rate.is_some() || raw.utilization.is_some() { &[] } else { &["arrivals"] },
            ),
            "closed" => {
                (&["users", "clients", "resolves", "think", "classes", "secure", "size", "patience", "http"], users)
            }
            "webstone" => (&["users", "clients", "resolves", "size", "patience", "http"], users),
            "log" => (&["log", "format", "sampled", "speed", "duration", "growth", "ran"], &["log"]),
            "trace" => (&["file", "speed", "repeat", "size", "clients", "resolves", "patience", "http"], &["file"]),
            "sessions" => (sessions::KEYS, &["users"]),
            "session-file" => (sessions::WRITTEN_KEYS, &["arrivals"]),
            other => {
                let message = unknown("kind of workload", other, KINDS);
                return Err(self.at(&raw.kind, "kind", &message));
            }
        };
        let given: [(&str, Option<std::ops::Range<usize>>); 33] = [
            ("arrivals", raw.arrivals.as_ref().map(Spanned::span)),
            ("rate", raw.rate.as_ref().map(Spanned::span)),
            ("utilization", raw.utilization.as_ref().map(Spanned::span)),
            ("size", raw.size.as_ref().map(Spanned::span)),
            ("classes", raw.classes.as_ref().map(Spanned::span)),
            ("clients", raw.clients.as_ref().map(Spanned::span)),
            ("resolves", raw.resolves.as_ref().map(Spanned::span)),
            ("patience", raw.patience.as_ref().map(Spanned::span)),
            ("users", raw.users.as_ref().map(Spanned::span)),
            ("think", raw.think.as_ref().map(Spanned::span)),
            ("log", raw.log.as_ref().map(Spanned::span)),
            ("format", raw.format.as_ref().map(Spanned::span)),
            ("growth", raw.growth.as_ref().map(Spanned::span)),
            ("sampled", raw.sampled.as_ref().map(Spanned::span)),
            ("ran", raw.ran.as_ref().map(Spanned::span)),
            ("speed", raw.speed.as_ref().map(Spanned::span)),
            ("duration", raw.duration.as_ref().map(Spanned::span)),
            ("profile", raw.profile.as_ref().map(Spanned::span)),
            ("file", raw.file.as_ref().map(Spanned::span)),
            ("sessions", raw.sessions.as_ref().map(Spanned::span)),
            ("wsess", raw.wsess.as_ref().map(Spanned::span)),
            ("har", raw.har.as_ref().map(Spanned::span)),
            ("hosts", raw.hosts.as_ref().map(Spanned::span)),
            ("repeat", raw.repeat.as_ref().map(Spanned::span)),
            ("site", raw.site.as_ref().map(Spanned::span)),
            ("length", raw.length.as_ref().map(Spanned::span)),
            ("locality", raw.locality.as_ref().map(Spanned::span)),
            ("active_off", raw.active_off.as_ref().map(Spanned::span)),
            ("parallel", raw.parallel.as_ref().map(Spanned::span)),
            ("http", raw.http.as_ref().map(Spanned::span)),
            ("secure", raw.secure.as_ref().map(Spanned::span)),
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
        let sizes = |default: &str| self.sizes(raw, default);
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
            _ => Workload::Replay(self.replay(raw, seed)?),
        })
    }

    /// What is asked for: of each class where there are any, and else alike; `default` where nothing is said.
    fn sizes(&self, raw: &RawWorkload, default: &str) -> Result<Sizes, SpecError> {
        let alike = || match self.size_alike(raw)? {
            Some(text) => self.sizes_in(&text, "size"),
            None => Sizes::parse(default).map_err(|e| SpecError(e.to_string())),
        };
        let Some(classes) = &raw.classes else { return alike() };
        let shares: Vec<(&str, f64)> =
            raw.classes_in_order().into_iter().map(|(name, share)| (name, *share.get_ref())).collect();
        let by_class = match raw.size.as_ref().map(|size| (size, size.get_ref())) {
            Some((size, RawSize::ByClass(sizes))) => Classes::each(self.sizes_each(size, sizes, &shares)?),
            _ => Classes::alike(&shares, alike()?),
        };
        by_class.map(Sizes::ByClass).map_err(|e| self.at(classes, "workload", &e.to_string()))
    }

    /// The sizes of each class, by class number.
    fn sizes_each<'a>(
        &self,
        size: &Spanned<RawSize>,
        sizes: &BTreeMap<String, Text>,
        shares: &[(&'a str, f64)],
    ) -> Result<Vec<(&'a str, f64, Sizes)>, SpecError> {
        let names: Vec<&str> = shares.iter().map(|(name, _)| *name).collect();
        if let Some((name, text)) = sizes.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            return Err(self.at(text, "size", &unknown("class of requests", name, &names)));
        }
        let of_class = |&(name, share): &(&'a str, f64)| {
            let missing = || self.at(size, "size", &format!("none for class `{name}`: add `{name} = \"1 kB\"`"));
            let text = sizes.get(name).ok_or_else(missing)?;
            Ok((name, share, self.sizes_in(text, &format!("size.{name}"))?))
        };
        shares.iter().map(of_class).collect()
    }

    fn sizes_in(&self, text: &Text, key: &str) -> Result<Sizes, SpecError> {
        let folder = self.file.parent().unwrap_or(Path::new(""));
        Sizes::parse_in(text.get_ref(), folder).map_err(|e| self.at(text, key, &e.to_string()))
    }

    /// The size of every reply, where it is given.
    pub(super) fn size_alike(&self, raw: &RawWorkload) -> Result<Option<Text>, SpecError> {
        let Some(size) = &raw.size else { return Ok(None) };
        match size.get_ref() {
            RawSize::Alike(text) => Ok(Some(Spanned::new(size.span(), text.clone()))),
            RawSize::ByClass(_) => {
                let right = "sizes by class need classes, e.g. classes = { static = 0.8, dynamic = 0.2 } of kind `open` \
                             or `closed`; or give one size for all";
                Err(self.at(size, "size", right))
            }
        }
    }

    fn replay(&self, raw: &RawWorkload, seed: u64) -> Result<Replay, SpecError> {
        let logs = raw.log.as_ref().expect("checked above");
        let RawPaths(files) = logs.get_ref();
        if files.is_empty() || files.iter().any(String::is_empty) {
            return Err(self.at(logs, "log", "name an access log, e.g. `--set workload.log=access.log`"));
        }
        let growth = match &raw.growth {
            Some(growth) if !(*growth.get_ref() > 0.0 && *growth.get_ref() <= GROWTH_MOST) => {
                let right =
                    format!("a growth factor is above 0 and at most {GROWTH_MOST}, e.g. 1.2 for a fifth more requests");
                return Err(self.at(growth, "growth", &right));
            }
            growth => growth.as_ref().map_or(1.0, |growth| *growth.get_ref()),
        };
        let sampled = match &raw.sampled {
            Some(every) if !(1..=SAMPLED_MOST).contains(every.get_ref()) => {
                let right =
                    format!("a whole number from 1 to {SAMPLED_MOST}, e.g. 10 where one in ten requests was logged");
                return Err(self.at(every, "sampled", &right));
            }
            sampled => sampled.as_ref().map_or(1, |every| *every.get_ref()),
        };
        let format = raw
            .format
            .as_ref()
            .map(|text| LogFormat::parse(text.get_ref()).map_err(|e| self.at(text, "format", &e.to_string())))
            .transpose()?;
        let files: Vec<_> = files.iter().map(|file| self.path(file)).collect();
        let written = raw.format.as_ref().map(|text| text.get_ref().clone());
        let key = |sampled, growth: f64| LogKey {
            files: files.clone(),
            format: written.clone(),
            sampled,
            growth: growth.to_bits(),
            seed,
        };
        let as_logged = || Replay::read_all(&files, format.as_ref()).map_err(|e| self.at(logs, "log", &e.to_string()));
        let shared = self.shared;
        let whole = || Ok(shared.replay(key(1, 1.0), as_logged)?.of_sample(sampled, seed));
        let grown = || Ok(shared.replay(key(sampled, 1.0), whole)?.grown(growth, seed));
        let replay = shared.replay(key(sampled, growth), grown)?;
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
        // Without a law, requests come at random.
        let law = raw.arrivals.as_ref().map_or("exponential", |text| text.get_ref());
        let has_load = raw.rate.is_some() || raw.utilization.is_some();
        if let Some(text) = raw.arrivals.as_ref().filter(|_| has_load && Arrivals::parse(law).is_err()) {
            // What is wrong with the law is so whatever the load, which may be one of many.
            Arrivals::parse_at(law, OfferedLoad::Rate(1.0)).map_err(|e| self.at(text, "arrivals", &e.to_string()))?;
        }
        let at = |key: &str, offset: std::ops::Range<usize>, load: OfferedLoad| {
            Arrivals::parse_at(law, load).map_err(|e| self.error(offset.start, key, &e.to_string()))
        };
        let arrivals = match (&raw.rate, &raw.utilization, &raw.arrivals) {
            (Some(rate), Some(_), _) => {
                return Err(self.at(rate, "rate", "it and `utilization` both say how fast requests come: give one"));
            }
            (Some(rate), None, _) => {
                let read = quantity::parse(rate.get_ref(), Dimension::Rate);
                let per_second = read.map_err(|e| self.at(rate, "rate", &e.to_string()))?;
                at("rate", rate.span(), OfferedLoad::Rate(per_second))?
            }
            (None, Some(share), _) => at("utilization", share.span(), OfferedLoad::Utilization(*share.get_ref()))?,
            (None, None, Some(text)) => {
                Arrivals::parse(text.get_ref()).map_err(|e| self.at(text, "arrivals", &e.to_string()))?
            }
            (None, None, None) => unreachable!("a kind that arrives needs one of them"),
        };
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
