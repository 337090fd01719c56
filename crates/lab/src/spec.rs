//! An experiment file, read into types: the only place where TOML meets the crates.
//!
//! Parsing happens in two steps. serde reads the shape of the file (unknown keys are refused there, with their line);
//! the texts inside (laws, quantities, policies) are then read by the crates that own them, and their messages get the
//! line of the key. The price is one `Spanned` per text; the gain is that every error says file, line, key and what
//! would be right.

mod client;
mod decider;
mod engine;
mod fault;
mod findings;
mod guards;
mod limit;
mod links;
mod message;
mod network;
mod objectives;
mod path;
mod program;
mod question;
mod run;
mod system;
mod tier;
mod workload;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use sojourn_dispatch::Catalogue;
use sojourn_model::network::{ChainText, StationText};
use sojourn_stats::{Dimension, Law, Span, quantity};
use sojourn_traffic::Workload;
use toml::Spanned;

pub use crate::error::SpecError;
use crate::objective::Objective;

use client::RawClient;
pub use engine::Engine;
use fault::RawFault;
pub use findings::Findings;
pub(crate) use message::{located, of_tiers, unknown, unquoted};
pub use program::Program;
pub use question::{Question, SystemQuestion};
use run::RawRun;
pub(crate) use run::parse_precision;
pub use run::{Live, Run};
use system::RawSystem;
use workload::RawWorkload;
pub(crate) use workload::Shared;

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

/// What to do with an open workload that is more than the system can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overload {
    /// It is an error.
    Refused,
    /// It is an experiment like others, for who asks about its utilisation.
    Taken,
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
}
