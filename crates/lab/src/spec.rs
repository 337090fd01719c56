//! An experiment file, read into types: the only place where TOML meets the crates.
//!
//! Parsing happens in two steps. serde reads the shape of the file (unknown keys are refused there, with their line);
//! the texts inside (laws, quantities, policies) are then read by the crates that own them, and their messages get the
//! line of the key. The price is one `Spanned` per text; the gain is that every error says file, line, key and what
//! would be right.

mod cluster;
mod network;
mod program;
mod sessions;
mod workload;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use sojourn_dispatch::{Information, Signals};
use sojourn_model::network::{ChainText, StationText};
use sojourn_model::{Balancing, ClusterNetwork, Knowledge, Link, Server};
use sojourn_sim::{Attached, Level, Precision, server_name};
use sojourn_stats::{Dimension, Law, Span, quantity};
use sojourn_traffic::{Demand, Workload};
use thiserror::Error;
use toml::Spanned;

use crate::objective::{self, Objective};

pub use program::Program;
pub(crate) use sessions::Sites;
use workload::RawWorkload;

/// One line: what is wrong, where, and what would be right.
#[derive(Clone, Debug, Error)]
#[error("{0}")]
pub struct SpecError(pub String);

/// An experiment without its variations: one workload, one system, and how to run it.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The question it answers.
    pub name: String,
    /// Why one would ask it.
    pub description: Option<String>,
    /// Run seed.
    pub seed: u64,
    /// What users ask for; its rate is settled.
    pub workload: Workload,
    /// What answers them.
    pub system: System,
    /// The network of queues that is asked about instead: workload and system are then nobody and nothing.
    pub network: Option<Arc<sojourn_model::network::Network>>,
    /// How to run it.
    pub run: Run,
    /// What must hold.
    pub objectives: Vec<Objective>,
}

/// The system: at most one balancer in front of servers, and links.
#[derive(Clone, Debug)]
pub struct System {
    /// The balancer; none when clients meet a single server.
    pub tier: Option<Tier>,
    /// The servers, in the balancer's order.
    pub servers: Vec<Server>,
    /// Each client's link: half the round-trip time each way, and the client's own rate.
    pub client_link: Option<Link>,
    /// The link that all replies share.
    pub cluster_link: Option<Link>,
    /// The same network as sessions see it, whose replies share links flow by flow.
    pub network: ClusterNetwork,
    /// `[system.network]` says something.
    pub has_network: bool,
    /// `[system.server]` says what a server is; without it only a real program can be measured.
    pub is_modelled: bool,
    /// The real program that serves in live runs, instead of nodes that emulate the model.
    pub program: Option<Program>,
}

/// What to do with an open workload that is more than the system can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overload {
    /// It is an error.
    Refused,
    /// It is an experiment like others, for who asks about its utilisation.
    Taken,
}

/// A balancer.
#[derive(Clone, Debug)]
pub struct Tier {
    /// How requests and replies pass it.
    pub face: Face,
    /// Its policy, e.g. `round-trip(window = 1 s)`.
    pub policy: String,
    /// How many deciders with state of their own there are.
    pub dispatchers: u32,
    /// How fresh their counts are.
    pub information: Information,
    /// A weight per server.
    pub weights: Vec<f64>,
    /// What is given a server: a session, a connection or a request.
    pub level: Level,
    /// When users count as attached to a server.
    pub attached: Attached,
    /// What passing the balancer costs.
    pub balancing: Balancing,
    /// Work that a poll costs the server polled.
    pub poll_cost: Span,
    /// What the simulator tells the policy beyond what the face sees.
    pub told: Signals,
}

/// How requests and replies pass a balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// Both ways through it.
    Gateway,
    /// Requests through it, replies straight to the client.
    Switch,
}

/// How to run an experiment.
#[derive(Clone, Debug)]
pub struct Run {
    /// Engines asked.
    pub by: Vec<Engine>,
    /// What the simulator leaves out at the start; none: found by MSER-5.
    pub warm_up: Option<Span>,
    /// The length of one simulated replication; none: as long as the precision takes.
    pub duration: Option<Span>,
    /// Relative half-width and confidence that every mean must reach; none: exactly so many replications.
    pub precision: Option<Precision>,
    /// Requests after which the simulator stops asking for more precision.
    pub max_jobs: u64,
    /// Least number of replications.
    pub replications: u32,
    /// What the simulator predicts response times from; none: it does not.
    pub predict: Option<Knowledge>,
    /// The live run.
    pub live: Live,
}

/// How to run live.
#[derive(Clone, Debug)]
pub struct Live {
    /// How long requests are sent.
    pub duration: Span,
    /// What is left out at the start.
    pub warm_up: Span,
    /// A request without a whole reply after this long has failed.
    pub timeout: Span,
    /// Every request has a connection of its own (HTTP/1.0); users who browse say it themselves.
    pub one_request_per_connection: bool,
    /// Threads of the load generator.
    pub load_threads: u32,
    /// Spin before each send instead of sleeping up to it.
    pub spin: bool,
    /// Record every decision in the run folder.
    pub record: bool,
}

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// Formulas.
    Theory,
    /// Simulation of the long run.
    Sim,
    /// Real sockets.
    Live,
    /// The simulator on exactly the plan that live ran.
    Twin,
}

impl Engine {
    /// Its name in outcomes.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Theory => "theory",
            Engine::Sim => "sim",
            Engine::Live => "live",
            Engine::Twin => "twin",
        }
    }

    /// Reads a list such as `theory,sim`.
    ///
    /// # Errors
    /// When a word is no engine.
    pub fn parse_list(text: &str) -> Result<Vec<Engine>, SpecError> {
        text.split(',').map(|word| Engine::parse(word.trim()).map_err(SpecError)).collect()
    }

    fn parse(word: &str) -> Result<Engine, String> {
        match word {
            "theory" => Ok(Engine::Theory),
            "sim" => Ok(Engine::Sim),
            "live" => Ok(Engine::Live),
            _ => Err(unknown("engine", word, &["theory", "sim", "live"])),
        }
    }
}

impl Experiment {
    /// Reads an experiment from `text`; `file` names it in messages and is where relative paths start.
    ///
    /// # Errors
    /// One line that names the file, the line, the key and what would be right.
    pub fn parse(text: &str, file: &Path) -> Result<Experiment, SpecError> {
        Experiment::parse_with(text, file, &Sites::default(), Overload::Refused)
    }

    /// The same with the sites of other variants at hand: a site is drawn once, and shared.
    pub(crate) fn parse_with(
        text: &str,
        file: &Path,
        sites: &Sites,
        overload: Overload,
    ) -> Result<Experiment, SpecError> {
        let raw: RawExperiment = toml::from_str(text).map_err(|error| located(&error, text, file))?;
        let reader = Reader { text, file, sites, overload };
        let tables = sojourn_model::network::Text { station: raw.station, chain: raw.chain };
        let (raw_workload, raw_system) = match (raw.workload, raw.system) {
            (None, None) if !tables.is_empty() => {
                let (workload, system) = network::nobody();
                return Ok(Experiment {
                    name: raw.name,
                    description: raw.description,
                    seed: raw.seed,
                    workload,
                    system,
                    network: Some(Arc::new(reader.queueing_network(&tables)?)),
                    run: reader.run(raw.run, false)?,
                    objectives: reader.objectives(raw.objective)?,
                });
            }
            (Some(workload), Some(system)) if tables.is_empty() => (workload, system),
            (workload, system) => {
                let written =
                    [workload.is_some(), system.is_some(), !tables.station.is_empty(), !tables.chain.is_empty()];
                return Err(reader.neither(written));
            }
        };
        if let (Some(program), "session-file") = (&raw_system.program, raw_workload.kind.get_ref().as_str()) {
            let message = "a real program serves the files of a site, and a session file has only their names: kind = \
                           \"sessions\"";
            return Err(reader.at(program, "program", message));
        }
        let sessions = raw_workload.is_sessions();
        let one_request_per_connection = match sessions {
            true => false,
            false => reader.one_request_per_connection(&raw_workload)?,
        };
        let mut experiment = Experiment {
            name: raw.name,
            description: raw.description,
            seed: raw.seed,
            system: reader.system(raw_system, sessions)?,
            workload: reader.workload(raw_workload, raw.seed)?,
            network: None,
            run: reader.run(raw.run, sessions)?,
            objectives: reader.objectives(raw.objective)?,
        };
        experiment.run.live.one_request_per_connection = one_request_per_connection;
        if let Some(program) = &experiment.system.program {
            reader.with_files(&mut experiment.workload, program)?;
        }
        experiment.settle(&reader)?;
        Ok(experiment)
    }

    /// Mean and variance of the service demand on a server of speed 1 (s, s^2).
    pub fn demand_moments(&self) -> (f64, f64) {
        if let Some(known) = self.workload.demand_moments() {
            return known;
        }
        let server = &self.system.servers[0];
        self.workload.moments(|class, (mean, variance)| server.demand(class).moments(mean, variance))
    }

    /// The work of each request, as the first server's model says: what the plan draws for every engine.
    pub fn demand(&self) -> Arc<dyn Demand> {
        sojourn_sim::demand_of_classes(&self.system.servers[0], &self.workload.classes())
    }

    /// Requests per second that would keep every core busy all the time.
    pub fn capacity(&self) -> f64 {
        let (demand_mean_s, _) = self.demand_moments();
        self.system.servers.iter().map(|server| f64::from(server.cores) * server.speed).sum::<f64>() / demand_mean_s
    }

    /// Checks what needs workload and system together, and settles an arrival rate that was given as utilisation.
    fn settle(&mut self, reader: &Reader) -> Result<(), SpecError> {
        workload::check_demands(&self.workload, &self.system.servers[0], reader)?;
        let capacity = self.capacity();
        let Workload::Open(open) = &mut self.workload else { return Ok(()) };
        if open.arrivals.utilization().is_some() {
            if !(capacity.is_finite() && capacity > 0.0) {
                return Err(reader.at_key(
                    "arrivals",
                    "a utilization needs a finite mean demand, and this one has none: give a rate instead (`rate = 100 /s`), \
                     or bound the sizes (`max = 1 GB`)",
                ));
            }
            open.arrivals.settle(capacity);
        }
        let rate = open.arrivals.rate().expect("an arrival law is settled once its scale is known");
        // For every engine the same, so that all of them have the same plan.
        open.arrivals.reach_until(self.run.duration.unwrap_or_default().max(self.run.live.duration));
        // A rate that changes may pass the capacity for a while: that is what ramps and steps are for.
        if rate >= capacity && open.arrivals.profile().is_none() && reader.overload == Overload::Refused {
            return Err(reader.at_key(
                "arrivals",
                &format!(
                    "utilization {:.3} is not below 1, so an open system never settles: stable below {capacity:.4} /s in all \
                     (now {rate:.4} /s); lower the rate, add servers, or use closed users",
                    rate / capacity
                ),
            ));
        }
        Ok(())
    }
}

// --- The shape of the file -----------------------------------------------------------------------------------------

type Text = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExperiment {
    name: String,
    description: Option<String>,
    #[serde(default = "one")]
    seed: u64,
    workload: Option<RawWorkload>,
    system: Option<RawSystem>,
    #[serde(default)]
    station: Vec<Spanned<StationText>>,
    #[serde(default)]
    chain: Vec<Spanned<ChainText>>,
    #[serde(default)]
    run: RawRun,
    #[serde(default)]
    objective: BTreeMap<String, Text>,
    // Read by `variants`; here only so that they are not unknown.
    #[serde(default, rename = "vary")]
    _vary: toml::Table,
    #[serde(default, rename = "variant")]
    _variant: Vec<toml::Table>,
    // Read by `plan`.
    #[serde(default, rename = "plan")]
    _plan: toml::Table,
}

fn one() -> u64 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSystem {
    #[serde(default)]
    tier: Vec<Spanned<RawTier>>,
    server: Option<ServerSource>,
    program: Option<Spanned<toml::Table>>,
    #[serde(default)]
    network: RawNetwork,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTier {
    face: Text,
    policy: Text,
    targets: RawTargets,
    dispatchers: Option<Spanned<u32>>,
    information: Option<Text>,
    poll_cost: Option<Text>,
    level: Option<Text>,
    attached: Option<Text>,
    balancer: Option<Spanned<cluster::RawBalancer>>,
    told: Option<Vec<Text>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTargets {
    servers: Spanned<u32>,
    weights: Option<Spanned<Vec<f64>>>,
    speeds: Option<Spanned<Vec<f64>>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNetwork {
    client_rate: Option<Text>,
    cluster_rate: Option<Text>,
    rtt: Option<Text>,
    backbone_rate: Option<Text>,
    server_rate: Option<Text>,
    segment: Option<Text>,
    initial_window: Option<Spanned<u32>>,
    acks_per_segment: Option<Spanned<f64>>,
    timeouts: Option<Spanned<f64>>,
    timeout: Option<Text>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRun {
    by: Option<Vec<Text>>,
    warm_up: Option<Text>,
    duration: Option<Text>,
    precision: Option<Text>,
    max_jobs: Option<Spanned<u64>>,
    replications: Option<Spanned<u32>>,
    predict: Option<Text>,
    #[serde(default)]
    live: RawLive,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLive {
    duration: Option<Text>,
    warm_up: Option<Text>,
    timeout: Option<Text>,
    threads: Option<Spanned<u32>>,
    pacing: Option<Text>,
    record: Option<bool>,
}

/// A server model, inline or the path of one.
enum ServerSource {
    Inline(Box<Server>),
    File(String),
}

impl<'de> Deserialize<'de> for ServerSource {
    /// By hand, because an untagged enum would lose the lines of what is inside.
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<ServerSource, D::Error> {
        struct Source;
        impl<'de> Visitor<'de> for Source {
            type Value = ServerSource;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a server model: a table, or the path of a TOML file")
            }
            fn visit_str<E: de::Error>(self, path: &str) -> Result<ServerSource, E> {
                Ok(ServerSource::File(path.into()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ServerSource, A::Error> {
                Ok(ServerSource::Inline(Box::new(Server::deserialize(MapAccessDeserializer::new(map))?)))
            }
        }
        deserializer.deserialize_any(Source)
    }
}

// --- From the shape to types ---------------------------------------------------------------------------------------

struct Reader<'a> {
    text: &'a str,
    file: &'a Path,
    sites: &'a Sites,
    overload: Overload,
}

impl Reader<'_> {
    fn system(&self, raw: RawSystem, sessions: bool) -> Result<System, SpecError> {
        let program = raw.program.as_ref().map(|program| self.program(program)).transpose()?;
        let is_modelled = raw.server.is_some();
        let model = match raw.server {
            None if program.is_some() => {
                Server::from_toml("discipline = \"ps\"\ndemand = \"0 s\"").expect("a server model")
            }
            None => {
                return Err(SpecError(format!(
                    "{}: system: it needs a server, e.g. `server = \"apache.toml\"`",
                    self.file.display()
                )));
            }
            Some(ServerSource::Inline(server)) => *server,
            Some(ServerSource::File(path)) => {
                let path = self.path(&path);
                let text = std::fs::read_to_string(&path).map_err(|e| {
                    self.at_key("server", &format!("cannot read the server model {}: {e}", path.display()))
                })?;
                Server::from_toml(&text).map_err(|e| SpecError(format!("{}: {e}", path.display())))?
            }
        };
        if let Some(second) = raw.tier.get(1) {
            return Err(self.error(second.span().start, "tier", "one tier for now: a balancer in front of servers"));
        }
        let (tier, speeds, servers) = match raw.tier.into_iter().next() {
            None => (None, None, 1),
            Some(tier) => {
                let tier = tier.into_inner();
                let servers = *tier.targets.servers.get_ref() as usize;
                if servers == 0 {
                    return Err(self.at(&tier.targets.servers, "servers", "at least 1 server is needed"));
                }
                let per_server = |list: &Option<Spanned<Vec<f64>>>, key: &str| match list {
                    Some(list) if list.get_ref().len() != servers => Err(self.at(
                        list,
                        key,
                        &format!("one number per server: {servers}, not {}", list.get_ref().len()),
                    )),
                    Some(list) if list.get_ref().iter().any(|x| !(*x > 0.0 && x.is_finite())) => {
                        Err(self.at(list, key, "every number is above 0"))
                    }
                    Some(list) => Ok(Some(list.get_ref().clone())),
                    None => Ok(None),
                };
                let weights = per_server(&tier.targets.weights, "weights")?.unwrap_or_else(|| vec![1.0; servers]);
                let speeds = per_server(&tier.targets.speeds, "speeds")?;
                (self.tier(tier, weights, sessions)?, speeds, servers)
            }
        };
        let speeds = speeds.unwrap_or_else(|| vec![1.0; servers]);
        let servers = speeds.iter().map(|speed| Server { speed: model.speed * speed, ..model.clone() }).collect();
        let network = self.network(&raw.network, sessions)?;
        let delay = Span(network.rtt.0 / 2);
        let client_link = (raw.network.rtt.is_some() || network.client_rate.is_some())
            .then_some(Link { delay, rate: network.client_rate });
        let cluster_link = network.cluster_rate.map(|rate| Link { delay: Span::ZERO, rate: Some(rate) });
        let has_network = raw.network.is_written();
        Ok(System { tier, servers, client_link, cluster_link, network, has_network, is_modelled, program })
    }

    fn tier(&self, raw: RawTier, weights: Vec<f64>, sessions: bool) -> Result<Option<Tier>, SpecError> {
        let face = match raw.face.get_ref().as_str() {
            "gateway" => Face::Gateway,
            "none" if weights.len() == 1 => return Ok(None),
            "none" => return Err(self.at(&raw.face, "face", "`none` means one server; several need a gateway")),
            "switch" if sessions => Face::Switch,
            "switch" => {
                return Err(self.at(
                    &raw.face,
                    "face",
                    "a switch sees connections: it needs a workload of kind `sessions`",
                ));
            }
            "redirect" | "dns" => {
                return Err(self.at(&raw.face, "face", "not there yet: `gateway`, `switch` or `none`"));
            }
            other => return Err(self.at(&raw.face, "face", &unknown("face", other, &["gateway", "switch", "none"]))),
        };
        let (level, balancing) = (self.level(&raw, face, sessions)?, self.balancing(&raw, face, sessions)?);
        let attached = self.attached(&raw, level, sessions)?;
        let (told, poll_cost) = (self.told(&raw, face, sessions)?, self.poll_cost(&raw, sessions)?);
        let information = match &raw.information {
            None => Information::Immediate,
            Some(text) => match text.get_ref().as_str() {
                "immediate" => Information::Immediate,
                polled if polled.starts_with("polled every ") => {
                    let every_s = quantity::parse(&polled["polled every ".len()..], Dimension::Time)
                        .map_err(|e| self.at(text, "information", &e.to_string()))?;
                    if every_s <= 0.0 {
                        return Err(self.at(
                            text,
                            "information",
                            "polls are some time apart, e.g. `polled every 100 ms`",
                        ));
                    }
                    Information::Polled { every: Span::from_secs_f64(every_s) }
                }
                _ => return Err(self.at(text, "information", "`immediate`, or e.g. `polled every 100 ms`")),
            },
        };
        let dispatchers = match &raw.dispatchers {
            Some(n) if *n.get_ref() == 0 => return Err(self.at(n, "dispatchers", "at least 1 dispatcher is needed")),
            Some(n) => *n.get_ref(),
            None => 1,
        };
        let policy = raw.policy.get_ref().clone();
        let names: Vec<_> = weights.iter().enumerate().map(|(i, weight)| (server_name(i), *weight)).collect();
        sojourn_dispatch::Dispatcher::new(&policy, &names, information, face.signals() | told, 0, "").map_err(|e| {
            let missing = matches!(e, sojourn_dispatch::DispatchError::MissingSignal(_)) && face == Face::Switch;
            let remedy = "; a simulator can tell it: told = [\"bytes\", \"client-first-byte\"]";
            self.at(&raw.policy, "policy", &format!("{e}{}", if missing { remedy } else { "" }))
        })?;
        Ok(Some(Tier { face, policy, dispatchers, information, weights, level, attached, balancing, poll_cost, told }))
    }

    fn run(&self, raw: RawRun, sessions: bool) -> Result<Run, SpecError> {
        let by = match &raw.by {
            None => vec![Engine::Theory, Engine::Sim],
            Some(words) => words
                .iter()
                .map(|word| Engine::parse(word.get_ref()).map_err(|e| self.at(word, "by", &e)))
                .collect::<Result<_, _>>()?,
        };
        let warm_up = match &raw.warm_up {
            None => None,
            Some(text) if text.get_ref() == "auto" => None,
            Some(text) => Some(self.span(text, "warm_up")?),
        };
        let precision = match &raw.precision {
            None => Some(Precision { relative: 0.05, confidence: 0.95 }),
            Some(text) if text.get_ref() == "none" => None,
            Some(text) => Some(parse_precision(text.get_ref()).ok_or_else(|| {
                let right = "write it as `5% at 95%`: the interval's half-width, and its confidence; or `none`";
                self.at(text, "precision", right)
            })?),
        };
        let simulated = raw.duration.as_ref().map(|text| self.span(text, "duration")).transpose()?;
        if simulated == Some(Span::ZERO) {
            return Err(self.at_key("duration", "a simulated run lasts longer than 0 s"));
        }
        let duration = match &raw.live.duration {
            Some(text) => self.span(text, "duration")?,
            None => Span::from_secs_f64(15.0),
        };
        if duration == Span::ZERO {
            return Err(self.at_key("duration", "a live run lasts longer than 0 s"));
        }
        let warm_up_live = match &raw.live.warm_up {
            Some(text) => self.span(text, "warm_up")?,
            None => Span(duration.0 / 10),
        };
        if warm_up_live >= duration {
            return Err(self.at_key("warm_up", "the live warm-up is shorter than the run"));
        }
        let spin = match raw.live.pacing.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None | Some((_, "timer")) => false,
            Some((_, "spin")) => true,
            Some((text, other)) => return Err(self.at(text, "pacing", &unknown("pacing", other, &["timer", "spin"]))),
        };
        Ok(Run {
            by,
            warm_up,
            duration: simulated,
            precision,
            max_jobs: raw.max_jobs.as_ref().map_or(50_000_000, |n| *n.get_ref()),
            replications: raw.replications.as_ref().map_or(10, |n| *n.get_ref()).max(2),
            predict: raw.predict.as_ref().map(|text| self.knowledge(text, sessions)).transpose()?,
            live: Live {
                one_request_per_connection: false,
                duration,
                warm_up: warm_up_live,
                timeout: match &raw.live.timeout {
                    Some(text) => self.span(text, "timeout")?,
                    None => Span::from_secs_f64(10.0),
                },
                load_threads: raw.live.threads.as_ref().map_or(1, |n| *n.get_ref()).max(1),
                spin,
                record: raw.live.record.unwrap_or(false),
            },
        })
    }

    fn objectives(&self, raw: BTreeMap<String, Text>) -> Result<Vec<Objective>, SpecError> {
        raw.into_iter()
            .map(|(metric, text)| {
                let fail = |message: &str| self.at(&text, &metric, message);
                let written = text.get_ref().trim();
                let below = written.starts_with('<');
                if !below && !written.starts_with('>') {
                    return Err(fail("an objective starts with < or >, e.g. `< 500 ms`"));
                }
                let metric = objective::full_name(&metric);
                let Some(dimension) = objective::dimension(&metric) else {
                    let known =
                        ["mean", "p50", "p90", "p95", "p99", "p99.9", "throughput", "error_ratio", "utilization"];
                    return Err(fail(&unknown("metric", &metric, &known)));
                };
                let limit = quantity::parse(written[1..].trim(), dimension).map_err(|e| fail(&e.to_string()))?;
                Ok(Objective { text: format!("{metric} {written}"), metric, below, limit })
            })
            .collect()
    }

    fn law(&self, text: &Text, key: &str, dimension: Dimension) -> Result<Law, SpecError> {
        Law::parse(text.get_ref(), dimension).map_err(|e| self.at(text, key, &e.to_string()))
    }

    fn quantity(&self, text: &Text, key: &str, dimension: Dimension) -> Result<f64, SpecError> {
        let value = quantity::parse(text.get_ref(), dimension).map_err(|e| self.at(text, key, &e.to_string()))?;
        if value < 0.0 {
            return Err(self.at(text, key, "it cannot be negative"));
        }
        Ok(value)
    }

    fn span(&self, text: &Text, key: &str) -> Result<Span, SpecError> {
        Ok(Span::from_secs_f64(self.quantity(text, key, Dimension::Time)?))
    }

    /// A path in the file: as seen from here when it is there, else as seen from the experiment's folder.
    fn path(&self, text: &str) -> PathBuf {
        let path = PathBuf::from(text);
        match self.file.parent() {
            Some(folder) if path.is_relative() && !path.exists() => folder.join(path),
            _ => path,
        }
    }

    fn at<T>(&self, value: &Spanned<T>, key: &str, message: &str) -> SpecError {
        self.error(value.span().start, key, message)
    }

    /// An error at the first line that sets `key`, for values without a span of their own.
    fn at_key(&self, key: &str, message: &str) -> SpecError {
        let sets =
            |line: &&str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
        let offset = self.text.split_inclusive('\n').take_while(|line| !sets(line)).map(str::len).sum::<usize>();
        self.error(if offset >= self.text.len() { 0 } else { offset }, key, message)
    }

    fn error(&self, offset: usize, key: &str, message: &str) -> SpecError {
        SpecError(format!("{}:{}: {key}: {message}", self.file.display(), line_of(self.text, offset)))
    }
}

impl Face {
    /// What this face can tell a policy.
    pub fn signals(self) -> Signals {
        match self {
            Face::Gateway => Signals::GATEWAY,
            Face::Switch => Signals::SWITCH,
        }
    }
}

fn parse_precision(text: &str) -> Option<Precision> {
    let (relative, confidence) = text.split_once(" at ")?;
    let percent = |part: &str| Some(part.trim().strip_suffix('%')?.trim().parse::<f64>().ok()? / 100.0);
    let precision = Precision { relative: percent(relative)?, confidence: percent(confidence)? };
    let sane = precision.relative > 0.0 && (0.5..1.0).contains(&precision.confidence);
    sane.then_some(precision)
}

/// `unknown policy `x`; did you mean `y`? (known: ...)`.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let guess = sojourn_stats::nearest(word, known.iter().copied())
        .map_or(String::new(), |near| format!("did you mean `{near}`? "));
    format!("unknown {what} `{word}`; {guess}known: {}", known.join(", "))
}

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

/// A serde error as one line, with the nearest valid key where a key is unknown.
pub(crate) fn located(error: &toml::de::Error, text: &str, file: &Path) -> SpecError {
    let line = error.span().map_or(1, |span| line_of(text, span.start));
    let message = error.message().lines().next().unwrap_or("not TOML").to_string();
    let mut ticked = message.split('`').skip(1).step_by(2);
    let message = match (message.starts_with("unknown field"), ticked.next()) {
        (true, Some(word)) => unknown("key", word, &ticked.collect::<Vec<_>>()),
        _ => message,
    };
    let written = text.lines().nth(line - 1).unwrap_or_default().trim();
    if let Some(remedy) = unquoted(written).filter(|_| message.starts_with("invalid type: map")) {
        return SpecError(format!("{}:{line}: {remedy}", file.display()));
    }
    let remedy = match message.starts_with("invalid type") && message.ends_with("expected a string") {
        true => format!(" in `{written}`: it is a text, with its unit where it has one, e.g. \"1.6 ms\""),
        false if message.starts_with("invalid") => format!(" in `{written}`"),
        false => String::new(),
    };
    SpecError(format!("{}:{line}: {message}{remedy}", file.display()))
}

/// What to write in place of a line such as `p99.9 = "< 1 s"`, which TOML takes for a table `p99` with a key `9`.
pub(crate) fn unquoted(line: &str) -> Option<String> {
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, part) = key.strip_prefix('p')?.split_once('.')?;
    let is_percentile = digits(whole) && digits(part);
    is_percentile.then(|| format!("a name with a dot stands in quotes: \"{key}\" = {value}"))
}
