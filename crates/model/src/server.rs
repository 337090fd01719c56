//! The server model: a small TOML file that `theory` and `sim` read and a live node can be.
//!
//! ```toml
//! discipline = "limited-ps"      # fcfs | ps | limited-ps | least-attained-service | round-robin | time-slices | lcfs
//!                                # | priority
//! helpers = 16                   # jobs served at once, by limited-ps and time-slices only
//! # quantum = "10 ms"            # the longest turn on the core, of round-robin and time-slices only
//! # preemptive = true            # whether an arrival takes the core from a job, of lcfs and priority only
//! cores = 1
//! speed = 1
//! demand = "1 ms + 1 us/B"       # or a table: [demand] static = "1 ms", dynamic = "20 ms", other = "5 ms"
//! # drops = "too-late"           # what is not served when its turn comes, of fcfs and lcfs only: expired | too-late |
//!                                # codel(5 ms, 100 ms)
//! limits = { jobs = 100 }        # of a server with `resources` also connections = 100; with overflow = "dropped" a further
//!                                # job gets no answer, and by default one that denies it
//! ```
//!
//! A server that was measured from outside is a delay curve ([`DelayCurve`]), and then has no other keys:
//!
//! ```toml
//! discipline = "delay-curve"
//! [[delay]]
//! up_to = 140                    # users attached
//! seconds = [1e-2, 2e-3]         # a0 + a1 N + ...
//! [denied]                       # optional
//! above = 320
//! share = [0.0, 1e-4]            # a polynomial in N - above
//! penalty = "180 s"
//! ```
//!
//! A table `[measured]` may hold any other findings about the server; it is ignored here.
//!
//! The same keys serve inline as an experiment's `[system.server]`: [`Server`] deserializes by itself, and its errors
//! carry the place of the key.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use sojourn_stats::{Dimension, Span, quantity};
use thiserror::Error;

use crate::Demand;
use crate::curve::{DelayCurve, Denied, Piece};
use crate::discipline::{Discipline, Keys};
use crate::machine::{Machine, RawFiles, RawMemory, RawResource};
use crate::message::{one_line, unknown};

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// How jobs share the processor.
    pub discipline: Discipline,
    /// Number of cores; a job uses at most one.
    pub cores: u32,
    /// Work done per second of core time; 1 is the reference.
    pub speed: f64,
    /// Work per request, by class name; `""` (in a file: `other`) holds for every class not named.
    pub demand: Vec<(String, Demand)>,
    /// Most jobs inside (waiting and served) at once; more are denied.
    pub capacity: Option<u32>,
    /// What is more than that is dropped without an answer, instead of being denied.
    pub drops_overflow: bool,
    /// What it consists of besides the processor; none: a request needs the processor only.
    pub machine: Option<Arc<Machine>>,
}

/// Why a server model is refused.
#[derive(Clone, Debug, Error)]
#[error("{0}")]
pub struct ServerError(pub String);

impl Server {
    /// Reads a server model (TOML).
    ///
    /// # Errors
    /// One line: what, where, and what would be right.
    pub fn from_toml(text: &str) -> Result<Server, ServerError> {
        toml::from_str(text).map_err(|error| ServerError(one_line(&error, text)))
    }

    /// How many of its cores it can use at once: no more than jobs are served.
    pub fn usable_cores(&self) -> u32 {
        match self.discipline {
            Discipline::LimitedPs { helpers } => self.cores.min(helpers),
            _ => self.cores,
        }
    }

    /// Whether it drops requests without an answer: what waited too long, or what is too much.
    pub fn drops(&self) -> bool {
        self.drops_overflow || matches!(self.discipline, Discipline::Dropping { .. })
    }

    /// How much its resource of this name moves (bytes/s), if it has one that moves bytes.
    pub fn byte_rate(&self, resource: &str) -> Option<f64> {
        let mut resources = self.machine.iter().flat_map(|machine| &machine.resources);
        resources.find(|known| known.name == resource)?.rate
    }

    /// The model as [`Server::from_toml`] reads it.
    pub fn to_toml(&self) -> String {
        use fmt::Write;
        let mut text = String::new();
        match (&self.machine, &self.discipline) {
            (Some(machine), _) => text.push_str(&machine.to_toml()),
            (None, discipline) => text.push_str(&format!("{}\n", discipline.written().join("\n"))),
        }
        if let Discipline::DelayCurve(curve) = &self.discipline {
            write_curve(&mut text, curve);
            return text;
        }
        let _ = writeln!(text, "cores = {}\nspeed = {:?}", self.cores, self.speed);
        let connections = self.machine.as_ref().and_then(|machine| machine.connections);
        let limits = [("jobs", self.capacity), ("connections", connections)];
        let limits = limits.map(|(name, most)| most.map(|most| format!("{name} = {most}")));
        let mut limits: Vec<String> = limits.into_iter().flatten().collect();
        limits.extend(self.drops_overflow.then(|| "overflow = \"dropped\"".into()));
        if !limits.is_empty() {
            let _ = writeln!(text, "limits = {{ {} }}", limits.join(", "));
        }
        let literal = |demand: &Demand| toml::Value::String(demand.to_string()).to_string();
        match self.demand.as_slice() {
            [(class, demand)] if class.is_empty() => {
                let _ = writeln!(text, "demand = {}", literal(demand));
            }
            classes => {
                text.push_str("[demand]\n");
                for (class, demand) in classes {
                    let class = if class.is_empty() { "other" } else { class };
                    let _ = writeln!(text, "{} = {}", toml::Value::String(class.into()), literal(demand));
                }
            }
        }
        text
    }

    /// The demand of `class`: its own, else that of `other`, else that of `static`, else the first one.
    ///
    /// # Panics
    /// When the server has no demand at all.
    pub fn demand(&self, class: &str) -> &Demand {
        let find = |name: &str| self.demand.iter().find(|(of, _)| of == name);
        let named = find(class).or_else(|| find("")).or_else(|| find("static"));
        let (_, demand) = named.or(self.demand.first()).expect("a server has a demand");
        demand
    }

    /// Whether `class` has a demand of its own or by `other`.
    pub fn has_demand(&self, class: &str) -> bool {
        self.demand.iter().any(|(name, _)| name == class || name.is_empty())
    }

    /// Time on a core that `work` takes here.
    #[inline]
    pub fn service_time(&self, work: Span) -> Span {
        if self.speed == 1.0 { work } else { Span::from_secs_f64(work.as_secs_f64() / self.speed) }
    }
}

fn write_curve(text: &mut String, curve: &DelayCurve) {
    use fmt::Write;
    for Piece { up_to, seconds } in &curve.pieces {
        let _ = writeln!(text, "[[delay]]\nup_to = {up_to}\nseconds = {seconds:?}");
    }
    if let Some(Denied { above, share, penalty }) = &curve.denied {
        // In whole nanoseconds, so that reading gives the same value.
        let _ = writeln!(text, "[denied]\nabove = {above}\nshare = {share:?}\npenalty = \"{} ns\"", penalty.0);
    }
}

impl<'de> Deserialize<'de> for Server {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Server, D::Error> {
        Server::try_from(Raw::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// The shape of the file.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    discipline: Option<Name>,
    resources: Option<Resources>,
    memory: Option<RawMemory>,
    files: Option<RawFiles>,
    helpers: Option<u32>,
    quantum: Option<String>,
    preemptive: Option<bool>,
    drops: Option<String>,
    cores: Option<u32>,
    speed: Option<f64>,
    demand: Option<Demands>,
    limits: Option<Limits>,
    #[serde(default)]
    delay: Vec<RawPiece>,
    denied: Option<RawDenied>,
    /// Other findings of a measurement, for human readers.
    #[serde(rename = "measured")]
    _measured: Option<de::IgnoredAny>,
}

/// The name of a discipline.
struct Name(&'static str);

/// Resources by name, in the order of the file.
type Resources = std::collections::BTreeMap<String, RawResource>;

const DELAY_CURVE: &str = "delay-curve";

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPiece {
    up_to: u32,
    seconds: Vec<f64>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDenied {
    above: u32,
    share: Vec<f64>,
    penalty: String,
}

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    jobs: Option<u32>,
    connections: Option<u32>,
    overflow: Option<String>,
}

/// Demands by class, in the order of their names.
struct Demands(Vec<(String, Demand)>);

impl TryFrom<Raw> for Server {
    type Error = String;

    fn try_from(mut raw: Raw) -> Result<Server, String> {
        let machine = raw.machine()?;
        let name = match (&raw.discipline, &machine) {
            (Some(name), None) => name.0,
            (None, Some(_)) => "",
            (Some(_), Some(_)) => return Err("discipline: each resource has its own; leave it out".into()),
            (None, None) => return Err("missing field `discipline`".into()),
        };
        if name == DELAY_CURVE {
            return raw.into_curve();
        }
        if !raw.delay.is_empty() || raw.denied.is_some() {
            return Err("delay, denied: only delay-curve has them; leave them out".into());
        }
        let discipline = match &machine {
            Some(machine) => machine.resources[0].discipline.clone(),
            None => raw.discipline(name)?,
        };
        let demand = raw.demand.ok_or("missing `demand`, the work of a request, e.g. demand = \"1 ms + 1 us/B\"")?;
        let limits = raw.limits.unwrap_or_default();
        let cores = raw.cores.unwrap_or(1);
        discipline.check(cores)?;
        let speed = raw.speed.unwrap_or(1.0);
        if !(speed > 0.0 && speed.is_finite()) {
            return Err(format!("speed = {speed}: a speed is above 0, and 1 is the reference"));
        }
        if limits.jobs == Some(0) {
            return Err("limits.jobs: a server without room can serve no job; leave it out for no limit".into());
        }
        let drops_overflow = match limits.overflow.as_deref() {
            None | Some("denied") => false,
            Some("dropped") if limits.jobs.is_some() => true,
            Some("dropped") => return Err("limits.overflow: there is no limit: add jobs = 100, or leave it out".into()),
            Some(other) => return Err(format!("limits.{}", unknown("overflow", other, &["denied", "dropped"]))),
        };
        let machine = machine.map(Arc::new);
        Ok(Server { discipline, cores, speed, demand: demand.0, capacity: limits.jobs, drops_overflow, machine })
    }
}

impl Raw {
    /// The discipline, with the keys that only it has.
    fn discipline(&self, name: &str) -> Result<Discipline, String> {
        let quantum = self.quantum.as_deref();
        let drops = self.drops.as_deref();
        let keys = Keys { helpers: self.helpers, quantum, preemptive: self.preemptive, drops };
        Discipline::read(name, &keys).map_err(|misfit| match misfit.key {
            "discipline" => misfit.what,
            _ => misfit.to_string(),
        })
    }

    /// The resources beside the processor, where the text names any.
    fn machine(&mut self) -> Result<Option<Machine>, String> {
        let (memory, files) = (self.memory.take(), self.files.take());
        let connections = self.limits.as_ref().and_then(|limits| limits.connections);
        match self.resources.take() {
            Some(resources) => Machine::read(resources.into_iter().collect(), memory, files, connections).map(Some),
            None if memory.is_some() || files.is_some() => {
                let right =
                    "memory, files: only a server with `resources` has them, e.g. resources = { cpu = { ... } }";
                Err(right.into())
            }
            None if connections.is_some() => Err(
                "limits.connections: only a server with `resources` has them; limits = { jobs = 100 } limits this one"
                    .into(),
            ),
            None => Ok(None),
        }
    }

    fn into_curve(self) -> Result<Server, String> {
        let others = [
            ("helpers", self.helpers.is_some()),
            ("quantum", self.quantum.is_some()),
            ("preemptive", self.preemptive.is_some()),
            ("drops", self.drops.is_some()),
            ("cores", self.cores.is_some()),
            ("speed", self.speed.is_some()),
            ("demand", self.demand.is_some()),
            ("limits", self.limits.is_some()),
        ];
        if let Some((key, _)) = others.iter().find(|(_, given)| *given) {
            return Err(format!("{key}: a delay curve says it all; leave it out"));
        }
        let pieces = self.delay.into_iter().map(|RawPiece { up_to, seconds }| Piece { up_to, seconds }).collect();
        let denied = self.denied.map(RawDenied::read).transpose()?;
        let curve = DelayCurve { pieces, denied };
        curve.check()?;
        let demand = vec![(String::new(), Demand::parse("0 s").expect("no work is a demand"))];
        let discipline = Discipline::DelayCurve(Arc::new(curve));
        let (capacity, drops_overflow, machine) = (None, false, None);
        Ok(Server { discipline, cores: 1, speed: 1.0, demand, capacity, drops_overflow, machine })
    }
}

impl RawDenied {
    fn read(self) -> Result<Denied, String> {
        let penalty_s = quantity::parse(&self.penalty, Dimension::Time).map_err(|e| format!("denied.penalty: {e}"))?;
        if penalty_s < 0.0 {
            return Err(format!("denied.penalty = {}: a penalty is not negative", self.penalty));
        }
        Ok(Denied { above: self.above, share: self.share, penalty: Span::from_secs_f64(penalty_s) })
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut known = Discipline::NAMES.to_vec();
        known.push(DELAY_CURVE);
        match known.iter().find(|name| **name == text) {
            Some(name) => Ok(Name(name)),
            None => Err(de::Error::custom(unknown("discipline", &text, &known))),
        }
    }
}

impl<'de> Deserialize<'de> for Demands {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Demands, D::Error> {
        struct ByClass;
        impl<'de> Visitor<'de> for ByClass {
            type Value = Demands;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a demand such as \"1 ms + 1 us/B\", or a table of them by class")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Demands, E> {
                Ok(Demands(vec![(String::new(), Demand::parse(text).map_err(E::custom)?)]))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Demands, A::Error> {
                let table = toml::Table::deserialize(MapAccessDeserializer::new(map))?;
                let mut demands = Vec::with_capacity(table.len() + 1);
                for (class, value) in &table {
                    let Some(text) = value.as_str() else {
                        return Err(de::Error::custom(format!(
                            "demand.{class}: a demand is a text, e.g. \"1 ms + 1 us/B\""
                        )));
                    };
                    let demand = Demand::parse(text).map_err(|e| de::Error::custom(format!("demand.{class}: {e}")))?;
                    demands.push((if class == "other" { String::new() } else { class.clone() }, demand));
                }
                if demands.is_empty() {
                    return Err(de::Error::custom("demand: the table is empty; name a class, e.g. static = \"1 ms\""));
                }
                demands.sort_by(|(left, _), (right, _)| left.cmp(right));
                Ok(Demands(demands))
            }
        }
        deserializer.deserialize_any(ByClass)
    }
}
