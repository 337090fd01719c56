//! An experiment file, read into types: the only place where TOML meets the crates.
//!
//! Parsing happens in two steps. serde reads the shape of the file (unknown keys are refused there, with their line);
//! the texts inside (laws, quantities, policies) are then read by the crates that own them, and their messages get the
//! line of the key. The price is one `Spanned` per text; the gain is that every error says file, line, key and what
//! would be right.

mod client;
mod decider;
mod fault;
mod findings;
mod guards;
mod limit;
mod network;
mod path;
mod program;
mod system;
mod tier;
mod workload;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sojourn_bed::Topology;
use sojourn_dispatch::Catalogue;
use sojourn_load::Limits;
use sojourn_model::network::{ChainText, Network, StationText};
use sojourn_model::system::Trouble;
use sojourn_model::{Knowledge, Server, System};
use sojourn_products::Decider;
use sojourn_sim::{Load, Precision};
use sojourn_stats::config::{unknown_name, wrong_and_right};
use sojourn_stats::{Dimension, Law, Span, quantity};
use sojourn_traffic::log::PathClasses;
use sojourn_traffic::{Demand, Workload};
use toml::Spanned;

pub use crate::error::SpecError;
use crate::objective::{self, Need, Objective};
use crate::topology;

use client::RawClient;
use fault::RawFault;
pub use findings::Findings;
pub use program::Program;
use system::RawSystem;
use workload::RawWorkload;
pub(crate) use workload::Shared;

/// Paths that may have a demand of their own: a class is a byte.
const CLASSES_MOST: usize = 255;

/// An experiment without its variations: one workload, one system, and how to run it.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The question it answers.
    pub name: String,
    /// Why one would ask it.
    pub description: Option<String>,
    /// Run seed.
    pub seed: u64,
    /// What it asks about.
    pub question: Question,
    /// How to run it.
    pub run: Run,
    /// What must hold.
    pub objectives: Vec<Objective>,
}

/// What an experiment asks about.
#[derive(Clone, Debug)]
pub enum Question {
    /// Clients who ask a system of servers for something.
    System(Box<SystemQuestion>),
    /// A network of queues.
    Network(Arc<Network>),
}

/// Clients who ask a system of servers for something.
#[derive(Clone, Debug)]
pub struct SystemQuestion {
    /// What clients ask for; its rate is settled.
    pub workload: Workload,
    /// What answers them.
    pub system: System,
    /// Where the names of its policies are looked up: policies of your own may be there.
    pub catalogue: Catalogue,
    /// `[system.network]` or `[system.paths]` says something.
    pub has_network: bool,
    /// `[system.server]` says what a server is; without it only a real program can be measured.
    pub is_modelled: bool,
    /// The real program that serves in live runs, instead of nodes that emulate the model.
    pub program: Option<Program>,
    /// For each tier the balancer of others that decides in live runs, instead of our own gateway.
    pub deciders: Vec<Option<Decider>>,
    /// The policy that ran when a log was written, where the experiment says it.
    pub ran: Option<String>,
    /// How the model of its servers was found, where its file says it.
    pub findings: Findings,
}

/// What to do with an open workload that is more than the system can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overload {
    /// It is an error.
    Refused,
    /// It is an experiment like others, for who asks about its utilisation.
    Taken,
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
    /// The metrics that it is of; none: mean, p90 and p99 of the response time.
    pub precise: Option<Vec<String>>,
    /// Requests after which the simulator stops asking for more precision.
    pub max_jobs: u64,
    /// Least number of replications.
    pub replications: u32,
    /// What the simulator predicts response times from; none: it does not.
    pub predict: Option<Knowledge>,
    /// The simulator plays every replication event by event, also where it need not.
    pub events: bool,
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
    /// Most connections at once of an open workload; further requests wait for one, and the run is SUSPECT. None: as many as it
    /// needs.
    pub connections: Option<u32>,
    /// Threads of the load generator.
    pub load_threads: u32,
    /// Spin before each send instead of sleeping up to it.
    pub spin: bool,
    /// Live and its twin have the TCP of this kernel, whatever the file says of TCP for the simulator.
    pub kernel_tcp: bool,
    /// Record every decision in the run folder.
    pub record: bool,
    /// How much the run may be disturbed before it is SUSPECT.
    pub limits: Limits,
}

impl Run {
    /// The precision where none is written.
    pub(crate) const PRECISION: Precision = Precision { relative: 0.05, confidence: 0.95 };
    /// Requests where none are written.
    pub(crate) const MAX_JOBS: u64 = 50_000_000;
}

impl Live {
    /// How long a run is (s) where that is not written.
    pub(crate) const DURATION_S: f64 = 15.0;
}

/// An engine. The order is that of tables and reports: live before its twin, by which it is judged, because a few seconds
/// of heavy-tailed traffic differ from the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Formulas.
    Theory,
    /// Simulation of the long run.
    Sim,
    /// Real sockets.
    Live,
    /// The simulator on exactly the plan that live ran.
    Twin,
    /// What happened, by the log that is replayed.
    Log,
}

impl Engine {
    /// All of them, in order.
    pub const ALL: [Engine; 5] = [Engine::Theory, Engine::Sim, Engine::Live, Engine::Twin, Engine::Log];

    /// The engine of this name in outcomes.
    pub fn named(name: &str) -> Option<Engine> {
        Engine::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// Its name in outcomes.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Theory => "theory",
            Engine::Sim => "sim",
            Engine::Live => "live",
            Engine::Twin => "twin",
            Engine::Log => "log",
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
            // In full: simulation.
            _ if word.starts_with("sim") => Err(format!("unknown engine `{word}`; did you mean `sim`?")),
            _ => Err(unknown("engine", word, &["theory", "sim", "live"])),
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Spec {
    /// Reads an experiment from `text`; `file` names it in messages and is where relative paths start.
    ///
    /// # Errors
    /// One line that names the file, the line, the key and what would be right.
    pub fn parse(text: &str, file: &Path) -> Result<Spec, SpecError> {
        Spec::parse_with(text, file, &Shared::default(), Overload::Refused, &Catalogue::default())
    }

    /// The same with what other variants share at hand: a site is drawn once, and a log is read once. Names of policies are
    /// looked up in `catalogue`.
    pub(crate) fn parse_with(
        text: &str,
        file: &Path,
        shared: &Shared,
        overload: Overload,
        catalogue: &Catalogue,
    ) -> Result<Spec, SpecError> {
        let raw: RawExperiment = toml::from_str(text).map_err(|error| located(&error, text, file))?;
        let browses = raw.workload.as_ref().is_some_and(RawWorkload::is_sessions);
        let reader = Reader { text, file, shared, overload, catalogue, browses };
        let tables = sojourn_model::network::Text { station: raw.station, chain: raw.chain };
        let written =
            [raw.workload.is_some(), raw.system.is_some(), !tables.station.is_empty(), !tables.chain.is_empty()];
        let mut run = reader.run(raw.run)?;
        let question = match (&raw.workload, &raw.system) {
            (None, None) if !tables.is_empty() => Question::Network(Arc::new(reader.queueing_network(&tables)?)),
            (Some(workload), Some(system)) if tables.is_empty() => {
                let system = reader
                    .system(system, workload, raw.client.as_ref(), &raw.fault, &run)
                    .and_then(|of| reader.question(workload, system, of, raw.seed))?;
                run.live.one_request_per_connection = !browses && reader.one_request_per_connection(workload)?;
                Question::System(Box::new(system))
            }
            _ => return Err(reader.neither(written)),
        };
        let objectives = reader.objectives(raw.objective, &question, &run)?;
        let mut experiment =
            Spec { name: raw.name, description: raw.description, seed: raw.seed, question, run, objectives };
        experiment.settle(&reader)?;
        experiment.check_hedge(&reader, raw.client.as_ref().and_then(|client| client.hedge.as_ref()))?;
        Ok(experiment)
    }

    /// The system that it asks about, where it asks about one.
    pub fn system(&self) -> Option<&SystemQuestion> {
        match &self.question {
            Question::System(asked) => Some(asked),
            Question::Network(_) => None,
        }
    }

    /// Refuses to hedge by a percentile that is not known before a run is over.
    fn check_hedge(&self, reader: &Reader, written: Option<&Text>) -> Result<(), SpecError> {
        let (Some(written), Some(asked)) = (written, self.system()) else { return Ok(()) };
        let (Workload::Open(open), Some(hedge)) = (&asked.workload, asked.system.rules.hedge) else { return Ok(()) };
        let of = |engine, span: Option<Span>| span.filter(|_| self.run.by.contains(&engine));
        let lengths = [of(Engine::Sim, self.run.duration), of(Engine::Live, Some(self.run.live.duration))];
        let shortest = lengths.into_iter().flatten().min();
        let (Some(rate), Some(length)) = (open.arrivals.rate(), shortest) else { return Ok(()) };
        let (needed, planned) = (hedge.replies_needed(), (rate * length.as_secs_f64()) as u64);
        if needed <= planned {
            return Ok(());
        }
        let right = format!(
            "`{}` is known after {needed} replies, and a run of {length} has {planned} requests: give a time, or run longer",
            written.get_ref()
        );
        Err(reader.at(written, "hedge", &right))
    }

    /// Settles an arrival rate that was given as utilisation.
    fn settle(&mut self, reader: &Reader) -> Result<(), SpecError> {
        let longest = self.run.duration.unwrap_or_default().max(self.run.live.duration);
        let has_end = self.run.duration.is_some();
        match &mut self.question {
            Question::System(asked) => asked.settle(reader, longest, has_end),
            Question::Network(_) => Ok(()),
        }
    }
}

/// What is missing in an experiment for a metric that is about what goes wrong; none where it is measured, or about something
/// else.
fn why_unmeasured(metric: &str, question: &Question, run: &Run) -> Option<&'static str> {
    let need = objective::need_of(metric)?;
    let Question::System(asked) = question else { return Some("nothing breaks in a network of queues") };
    let (faults, rules) = (&asked.system.faults, &asked.system.rules);
    let gives_up = rules.timeout.is_some() || rules.deadline.is_some() || rules.retries.is_some();
    match need {
        Need::Attempts if rules.retries.is_none() && rules.hedge.is_none() => {
            Some("clients ask once only: say `retries` or `hedge` under [client]")
        }
        Need::Attempts => None,
        Need::Seconds if faults.is_empty() && !gives_up => {
            Some("nothing is counted by seconds: plan a [[fault]], or say `timeout` under [client]")
        }
        Need::Fault if faults.is_empty() => Some("nothing breaks: plan a [[fault]]"),
        Need::Recovery if faults.is_empty() => Some("there is nothing to recover from: plan a [[fault]]"),
        Need::Recovery if faults.iter().any(|fault| fault.until.is_none() && fault.trouble != Trouble::Restarted) => {
            Some("a fault never ends, so that nothing recovers: give it `until`")
        }
        _ if run.by.contains(&Engine::Sim) && run.duration.is_none() => {
            Some("seconds are counted in runs with an end: give `duration` under [run]")
        }
        _ => None,
    }
}

impl SystemQuestion {
    /// The hosts and links of the bed in which live answers it; what is drawn once is drawn from `seed`.
    ///
    /// # Errors
    /// As [`crate::topology`].
    pub fn topology(&self, seed: u64) -> Result<Topology, String> {
        let has_origins = self.program.as_ref().is_some_and(|program| program.origin.is_some());
        topology::with_origins(&self.system, has_origins, seed)
    }

    /// Mean and variance of the service demand on a server of speed 1 (s, s^2).
    pub fn demand_moments(&self) -> (f64, f64) {
        if let Some(known) = self.workload.demand_moments() {
            return known;
        }
        let server = &self.system.hosts[0].server;
        self.workload.moments(|class, (mean, variance)| server.demand(class).moments(mean, variance))
    }

    /// The work of each request, as the first server's model says: what the plan draws for every engine.
    pub fn demand(&self) -> Arc<dyn Demand> {
        sojourn_sim::demand_of_classes(&self.system.hosts[0].server, &self.workload.classes())
    }

    /// Requests per second that would keep every core busy all the time.
    pub fn capacity(&self) -> f64 {
        let (demand_mean_s, _) = self.demand_moments();
        self.system.servers().map(|server| f64::from(server.cores) * server.speed).sum::<f64>() / demand_mean_s
    }

    /// The same of what is left of the system, where it is broken from the beginning and stays so ([`System::left`]).
    pub(crate) fn left(&self) -> Option<SystemQuestion> {
        Some(SystemQuestion { system: self.system.left()?, ..self.clone() })
    }

    /// What requests that come by themselves ask of all servers and of each; none where that is not known.
    pub fn load(&self) -> Option<Load> {
        sojourn_sim::load(&self.system, &self.workload, &self.catalogue)
    }

    /// Checks what needs workload and system together, and settles an arrival rate that was given as utilisation.
    /// `longest`: how long the longest run takes; `has_end`: it has an end that the file names.
    fn settle(&mut self, reader: &Reader, longest: Span, has_end: bool) -> Result<(), SpecError> {
        workload::check_demands(&self.workload, &self.system.hosts[0].server, reader)?;
        let capacity = self.capacity();
        let sheds_load = sojourn_sim::sheds_load(&self.system, &self.workload);
        // A server that serves fewer at once than it has cores leaves some of them idle.
        let work = |of: fn(&Server) -> u32| {
            self.system.servers().map(|server| f64::from(of(server)) * server.speed).sum::<f64>()
        };
        let used = work(Server::usable_cores) / work(|server| server.cores);
        let Workload::Open(open) = &mut self.workload else { return Ok(()) };
        if open.arrivals.utilization().is_some() {
            if !(capacity.is_finite() && capacity > 0.0) {
                return Err(reader.at_load(
                    "a utilization needs a finite mean demand, and this one has none: give a rate instead (`rate = 100 /s`), \
                     or bound the sizes (`max = 1 GB`)",
                ));
            }
            open.arrivals.settle(capacity);
        }
        let rate = open.arrivals.rate().expect("an arrival law is settled once its scale is known");
        // For every engine the same, so that all of them have the same plan.
        open.arrivals.reach_until(longest);
        // A rate that changes may pass the capacity for a while: that is what ramps and steps are for.
        let settles_or_ends = open.arrivals.profile().is_some() || has_end || sheds_load;
        let capacity = used * capacity;
        if rate >= capacity && !settles_or_ends && reader.overload == Overload::Refused {
            return Err(reader.at_load(
                &format!(
                    "utilization {:.3} is not below 1, so an open system never settles: stable below {capacity:.4} /s in all \
                     (now {rate:.4} /s); lower the rate, add servers, give clients a `patience` or servers \
                     `limits`, give a `duration` under [run], or use closed users",
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
    client: Option<RawClient>,
    #[serde(default)]
    fault: Vec<Spanned<RawFault>>,
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
    engine: Option<Text>,
    #[serde(default)]
    live: RawLive,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLive {
    duration: Option<Text>,
    warm_up: Option<Text>,
    timeout: Option<Text>,
    connections: Option<Spanned<u32>>,
    threads: Option<Spanned<u32>>,
    pacing: Option<Text>,
    tcp: Option<Text>,
    record: Option<bool>,
    #[serde(default)]
    limits: BTreeMap<String, Text>,
}

// --- From the shape to types ---------------------------------------------------------------------------------------

struct Reader<'a> {
    text: &'a str,
    file: &'a Path,
    shared: &'a Shared,
    overload: Overload,
    catalogue: &'a Catalogue,
    /// The workload is of users who browse.
    browses: bool,
}

impl Reader<'_> {
    /// The workload for `system`, and what live runs it on.
    fn question(
        &self,
        workload: &RawWorkload,
        raw: &RawSystem,
        system: System,
        seed: u64,
    ) -> Result<SystemQuestion, SpecError> {
        if let (Some(program), "session-file") = (&raw.program, workload.kind.get_ref().as_str()) {
            let message = "a real program serves the files of a site, and a session file has only their names: kind = \
                           \"sessions\"";
            return Err(self.at(program, "program", message));
        }
        let program = raw.program.as_ref().map(|program| self.program(program)).transpose()?;
        let ran = workload.ran.as_ref().map(|text| text.get_ref().clone());
        let mut workload = self.workload(workload, seed)?;
        self.burst(&mut workload, &system)?;
        if let Some(program) = &program {
            self.with_files(&mut workload, program)?;
            if program.is_forward_proxy() && (system.hosts.len() > 1 || !system.tiers.is_empty()) {
                let message = "clients ask a forward proxy themselves: one server and no tier, or forward = false";
                return Err(self.at_key("program", message));
            }
        }
        if let Workload::Replay(replay) = &mut workload {
            // Only a log has paths that a class can be the beginning of.
            let named = system.hosts[0].server.demand.iter().map(|(class, _)| class.as_str());
            let beginnings: Vec<&str> = named.filter(|class| class.starts_with('/')).collect();
            if beginnings.len() > CLASSES_MOST {
                let message = format!("{} paths have a demand of their own: at most {CLASSES_MOST}", beginnings.len());
                return Err(self.at_key("demand", &message));
            }
            replay.classes = (!beginnings.is_empty()).then(|| PathClasses::new(&beginnings, &replay.log));
        }
        let has_network = raw.network.is_written() || raw.paths.is_some();
        let deciders = self.deciders(raw.tier.iter().map(Spanned::get_ref), &system)?;
        let (is_modelled, findings) = (raw.server.is_some(), self.findings(raw));
        let catalogue = self.catalogue.clone();
        Ok(SystemQuestion { workload, system, catalogue, has_network, is_modelled, program, deciders, ran, findings })
    }

    fn run(&self, raw: RawRun) -> Result<Run, SpecError> {
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
            Some(text) => {
                // Where another unit is meant, the answer ends with it.
                let or_auto = |error: SpecError| match error.0.contains("did you mean") {
                    true => error,
                    false => SpecError(format!("{}; {AUTO_WARM_UP}", error.0)),
                };
                Some(self.span(text, "warm_up").map_err(or_auto)?)
            }
        };
        let (precision, precise) = match &raw.precision {
            None => (Some(Run::PRECISION), None),
            Some(text) if text.get_ref() == "none" => (None, None),
            Some(text) => {
                let (width, of) = match text.get_ref().split_once(" of ") {
                    Some((width, of)) => (width, Some(of)),
                    None => (text.get_ref().as_str(), None),
                };
                let precision =
                    parse_precision(width).ok_or_else(|| self.at(text, "precision", &wrong_precision(width)))?;
                let metric = |name: &str| {
                    let metric = objective::full_name(name.trim());
                    let known = ["mean", "p50", "p90", "p95", "p99", "p99.9", "throughput", "utilization"];
                    let is_known = objective::dimension(&metric).is_some();
                    is_known
                        .then_some(metric)
                        .ok_or_else(|| self.at(text, "precision", &objective::unknown(name.trim(), &known)))
                };
                let precise = of.map(|of| of.split(',').map(metric).collect::<Result<Vec<_>, _>>()).transpose()?;
                (Some(precision), precise)
            }
        };
        let simulated = raw.duration.as_ref().map(|text| self.span(text, "duration")).transpose()?;
        if simulated == Some(Span::ZERO) {
            return Err(self.at_key("duration", "a simulated run lasts longer than 0 s"));
        }
        if let (Some(lasts), Some(warm_up)) = (simulated, warm_up)
            && warm_up >= lasts
        {
            return Err(
                self.at_key("warm_up", "the warm-up is shorter than the run's `duration`, or nothing is measured")
            );
        }
        let duration = match &raw.live.duration {
            Some(text) => self.span(text, "duration")?,
            None => Span::from_secs_f64(Live::DURATION_S),
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
        let kernel_tcp = match raw.live.tcp.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None => false,
            Some((_, "kernel")) => true,
            Some((text, other)) => return Err(self.at(text, "tcp", &unknown("TCP of a live run", other, &["kernel"]))),
        };
        let mut limits = Limits::default();
        for (name, text) in &raw.live.limits {
            limits.set(name, text.get_ref()).map_err(|error| self.at(text, name, &error.to_string()))?;
        }
        let events = match raw.engine.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None | Some((_, "auto")) => false,
            Some((_, "events")) => true,
            Some((text, other)) => {
                return Err(self.at(text, "engine", &unknown("engine of the simulator", other, &["auto", "events"])));
            }
        };
        let max_jobs = self.count(raw.max_jobs.as_ref(), "max_jobs", 1, "at least 1 request is needed")?;
        let wanted = "at least 2 replications are needed, or there is no interval";
        let replications = self.count(raw.replications.as_ref(), "replications", 2, wanted)?;
        let load_threads = self.count(raw.live.threads.as_ref(), "threads", 1, "at least 1 thread is needed")?;
        let connections = raw.live.connections.as_ref();
        let connections = self.count(connections, "connections", 1, "at least 1 connection is needed")?;
        Ok(Run {
            by,
            warm_up,
            duration: simulated,
            precision,
            precise,
            max_jobs: max_jobs.unwrap_or(Run::MAX_JOBS),
            replications: replications.unwrap_or(10),
            predict: raw.predict.as_ref().map(|text| self.knowledge(text)).transpose()?,
            events,
            live: Live {
                one_request_per_connection: false,
                duration,
                warm_up: warm_up_live,
                timeout: match &raw.live.timeout {
                    Some(text) => self.span(text, "timeout")?,
                    None => Span::from_secs_f64(10.0),
                },
                connections,
                load_threads: load_threads.unwrap_or(1),
                spin,
                kernel_tcp,
                record: raw.live.record.unwrap_or(false),
                limits,
            },
        })
    }

    /// A number of at least `least`, if one is written.
    fn count<N: Copy + PartialOrd>(
        &self,
        number: Option<&Spanned<N>>,
        key: &str,
        least: N,
        wanted: &str,
    ) -> Result<Option<N>, SpecError> {
        match number {
            Some(number) if *number.get_ref() < least => Err(self.at(number, key, wanted)),
            number => Ok(number.map(|number| *number.get_ref())),
        }
    }

    fn objectives(
        &self,
        raw: BTreeMap<String, Text>,
        question: &Question,
        run: &Run,
    ) -> Result<Vec<Objective>, SpecError> {
        raw.into_iter()
            .map(|(metric, text)| {
                let fail = |message: &str| self.at(&text, &metric, message);
                let written = text.get_ref().trim();
                if let Some(meant) = objective::without_equal(written, false) {
                    return Err(fail(&format!("{}: did you mean `{meant}`?", objective::NEVER_EQUAL)));
                }
                let below = written.starts_with('<');
                if !below && !written.starts_with('>') {
                    return Err(fail("an objective starts with < or >, e.g. `< 500 ms`"));
                }
                let metric = objective::full_name(&metric);
                let Some(dimension) = objective::dimension(&metric) else {
                    return Err(fail(&objective::unknown(&metric, &objective::known())));
                };
                if let Some(right) = why_unmeasured(&metric, question, run) {
                    return Err(fail(right));
                }
                let limit = quantity::parse(written[1..].trim(), dimension).map_err(|e| fail(&e.to_string()))?;
                let objective = Objective { text: format!("{metric} {written}"), metric, below, limit };
                objective.impossible(&objective.metric).map_or(Ok(objective), |why| Err(fail(&why)))
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

    /// An error at the line of `[workload]` that says how fast requests come.
    fn at_load(&self, message: &str) -> SpecError {
        let from = self.text.find("[workload]").unwrap_or(0);
        let table = &self.text[from..];
        let table = &table[..table.get(1..).unwrap_or("").find("\n[").map_or(table.len(), |end| end + 1)];
        let line = |key: &str| {
            let sets =
                |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
            let before: usize = table.split_inclusive('\n').take_while(|line| !sets(line)).map(str::len).sum();
            (before < table.len()).then_some(from + before)
        };
        let found = ["utilization", "rate"].into_iter().find_map(|key| Some((line(key)?, key)));
        found.map_or_else(|| self.at_key("arrivals", message), |(offset, key)| self.error(offset, key, message))
    }

    fn error(&self, offset: usize, key: &str, message: &str) -> SpecError {
        SpecError(format!("{}:{}: {key}: {message}", self.file.display(), line_of(self.text, offset)))
    }
}

/// `5% at 95%`.
pub(crate) fn parse_precision(text: &str) -> Option<Precision> {
    let (relative, confidence) = text.split_once(" at ")?;
    let precision = Precision { relative: percent(relative)?, confidence: percent(confidence)? };
    let sane = precision.relative > 0.0 && (0.5..1.0).contains(&precision.confidence);
    sane.then_some(precision)
}

/// `5%`, as 0.05.
fn percent(text: &str) -> Option<f64> {
    Some(text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()? / 100.0)
}

/// What is wrong with a text that is no precision, and what would be right.
fn wrong_precision(text: &str) -> String {
    let (relative, confidence) = text.split_once(" at ").map_or((text, None), |(width, of)| (width, Some(of)));
    let fault = match (percent(relative), confidence.map(percent)) {
        (Some(width), _) if width.is_nan() || width <= 0.0 => {
            "the half-width is above 0, or no run would be long enough; ".into()
        }
        (Some(_), None) => format!("the confidence is missing, as in `{} at 95%`; ", relative.trim()),
        (Some(_), Some(Some(_))) => "a confidence is at least 50% and below 100%; ".into(),
        _ => String::new(),
    };
    format!(
        "{fault}write it as `5% at 95%`: the interval's half-width, and its confidence; also `5% at 95% of mean, p99`; or `none`"
    )
}

/// [`sojourn_stats::unknown`] of a list.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    sojourn_stats::unknown(what, word, known.iter().copied())
}

/// What a warm-up of a simulation may also be, for messages.
const AUTO_WARM_UP: &str = "\"auto\" finds its end in the run itself";

/// What chooses among the targets of a tier and guards them: keys that are looked for elsewhere.
const OF_TIERS: [&str; 6] = ["policy", "ejection", "breakers", "concurrency", "slow_start", "limit"];

/// `message` about a word that is none of the known ones, or where that names none, what a tier calls it: nginx's `max_fails`.
pub(crate) fn of_tiers(what: &str, word: &str, message: String) -> String {
    match sojourn_stats::nearest(word, OF_TIERS).filter(|_| !message.ends_with('?')) {
        Some(meant) => format!("unknown {what} `{word}`; did you mean `{meant}` of a gateway under [[system.tier]]?"),
        None => message,
    }
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
        (true, Some(word)) => of_tiers("key", word, unknown("key", word, &ticked.collect::<Vec<_>>())),
        _ => unknown_name(&message).unwrap_or(message),
    };
    let written = text.lines().nth(line - 1).unwrap_or_default().trim();
    if let Some(remedy) = unquoted(written).filter(|_| message.starts_with("invalid type: map")) {
        return SpecError(format!("{}:{line}: {remedy}", file.display()));
    }
    // `[fault]` is one table; of such there may be several.
    let is_list = message.starts_with("invalid type: map, expected a sequence");
    if let Some(table) = written.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|_| is_list) {
        return SpecError(format!("{}:{line}: write `[[{table}]]`, once for each", file.display()));
    }
    let message = match wrong_and_right(&message) {
        Some((wrong, right)) => {
            let table = text.lines().take(line - 1).filter(|line| line.trim_start().starts_with('[')).last();
            let right = in_its_unit(right, written, table.map_or("", str::trim));
            format!("{wrong} in `{written}`: {right}")
        }
        None => message,
    };
    SpecError(format!("{}:{line}: {message}", file.display()))
}

/// What would be right in place of `written`, a line of `table`: what is a rate is best shown as one, and a time as one.
fn in_its_unit(right: String, written: &str, table: &str) -> String {
    const EXAMPLE: &str = "1.6 ms";
    let (key, number) = written.split_once('=').map_or(("", ""), |(key, number)| (key.trim(), number.trim()));
    let (what, unit) = match key {
        "rate" => ("rate", "/s"),
        "warm_up" | "duration" | "timeout" => ("time", "s"),
        _ => return right,
    };
    let Some(given) = number.parse::<f64>().ok().filter(|_| right.contains(EXAMPLE)) else { return right };
    let sign = if given < 0.0 { format!("a {what} is not negative; ") } else { String::new() };
    let right = right.replace(EXAMPLE, &format!("{} {unit}", number.trim_start_matches(['-', '+'])));
    let or = if (key, table) == ("warm_up", "[run]") { format!("; {AUTO_WARM_UP}") } else { String::new() };
    format!("{sign}{right}{or}")
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
