//! `[[plan.fault]]`: states in which the objectives hold too, besides that in which nothing is broken.
//!
//! ```toml
//! [[plan.fault]]                         # N+1: one server may be lost
//! servers = 1
//! what = "down"
//!
//! [[plan.fault]]
//! servers = 1
//! what = "slow(0.1)"
//! objective = { p99 = "< 300 ms" }       # instead of [objective]
//! ```
//!
//! A state is one of the long run: its fault is there from the beginning and never ends. What happens while a fault begins,
//! or is repaired, is a matter of `[[fault]]` and of objectives such as `during(fault).p99`.

use serde::Deserialize;
use toml::Spanned;
use toml_edit::{Item, Table};

use super::candidate::{Candidate, Fate};
use super::{Planner, RunError, with};
use crate::objective::Judgement;
use crate::spec::Spec;
use crate::variants::{Experiment, show};

/// A fault that the system has to bear.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What it is called: `1 server down`.
    pub name: String,
    /// The line of the file.
    pub(crate) line: usize,
    /// The `[[fault]]` that it is.
    pub(crate) table: Table,
    /// What must hold meanwhile; none: the same as where nothing is broken.
    pub(crate) objective: Option<Table>,
    /// How many servers it is of, if it says so.
    servers: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct RawFault {
    name: Option<String>,
    objective: Option<toml::map::Map<String, toml::Value>>,
    #[serde(flatten)]
    fault: toml::map::Map<String, toml::Value>,
}

impl Fault {
    pub(super) fn read(raw: &Spanned<RawFault>, line: usize) -> Result<Fault, String> {
        let RawFault { name, objective, fault } = raw.get_ref();
        if let Some(key) = ["at", "until"].into_iter().find(|key| fault.contains_key(*key)) {
            return Err(format!(
                "{key}: it is there from the beginning and never ends; one that begins and ends is a [[fault]] with objectives \
                 such as `during(fault).p99`"
            ));
        }
        let Some(what) = fault.get("what").and_then(toml::Value::as_str) else {
            return Err("say what is broken, e.g. `servers = 1` and `what = \"down\"`".into());
        };
        let table = |of: &toml::map::Map<String, toml::Value>| -> Table {
            of.iter().map(|(key, value)| (key.as_str(), Item::Value(edited(value)))).collect()
        };
        let mut written = table(fault);
        written.insert("at", toml_edit::value("0 s"));
        let subject: Vec<String> = fault.iter().filter(|(key, _)| *key != "what").map(words).collect();
        let name = name.clone().unwrap_or_else(|| format!("{} {what}", subject.join(" ")).trim_start().to_owned());
        let servers =
            fault.get("servers").and_then(toml::Value::as_integer).and_then(|count| usize::try_from(count).ok());
        Ok(Fault { name, line, table: written, objective: objective.as_ref().map(table), servers })
    }
}

/// A value as edits take it.
pub(super) fn edited(value: &toml::Value) -> toml_edit::Value {
    value.to_string().parse().expect("what TOML wrote, TOML reads")
}

/// What a fault is of, in words.
fn words((key, value): (&String, &toml::Value)) -> String {
    let text = show(&edited(value));
    match (key.as_str(), value) {
        ("servers", toml::Value::Integer(1)) => "1 server".into(),
        ("servers", toml::Value::Integer(_)) => format!("{text} servers"),
        ("servers", _) => format!("{text} of the servers"),
        _ => format!("{key} {text}"),
    }
}

/// A candidate in a state.
pub(crate) struct State {
    /// The fault; none where nothing is broken.
    pub(crate) under: Option<String>,
    /// The system with it; none where no server is left.
    pub(crate) spec: Option<Spec>,
}

/// A state in which more work comes than can be done.
pub(crate) struct Overload {
    /// The fault; none where nothing is broken.
    pub(crate) under: Option<String>,
    /// What the utilisation would be; none where no server is left.
    pub(crate) utilization: Option<f64>,
}

impl Planner<'_> {
    /// What these settings make, in every state: first that in which nothing is broken.
    pub(crate) fn states(&self, settings: &[(String, toml_edit::Value)]) -> Result<Vec<State>, RunError> {
        let whole = self.source.candidate(settings)?;
        let servers = whole.system().map_or(0, |asked| asked.system.hosts.len());
        let mut states = vec![State { under: None, spec: Some(whole) }];
        for fault in &self.choices.faults {
            let is_lost = fault.servers.is_some_and(|lost| lost >= servers);
            let spec = match is_lost && fault.is_loss() {
                true => None,
                false => Some(self.source.candidate_under(settings, fault)?),
            };
            states.push(State { under: Some(fault.name.clone()), spec });
        }
        Ok(states)
    }

    /// What must hold, in the order of the answers: of the first candidate of which a server is left in every state.
    pub(super) fn objectives(&self, candidates: &[Candidate]) -> Result<Vec<String>, RunError> {
        let mut longest: Vec<String> = Vec::new();
        for candidate in candidates {
            let states = self.states(&self.choices.settings(candidate))?;
            let whole = states.iter().all(|state| state.spec.is_some());
            let of = |state: &State| -> Vec<String> {
                let Some(spec) = &state.spec else { return Vec::new() };
                let with = with(state.under.as_deref());
                spec.objectives.iter().map(|objective| format!("{}{with}", objective.text)).collect()
            };
            longest = states.iter().flat_map(of).collect();
            if whole {
                break;
            }
        }
        Ok(longest)
    }

    /// What the dearest candidate cheaper than `best` that was asked does not meet, and whether it meets all while nothing
    /// is broken.
    pub(super) fn decided(&self, candidates: &[Candidate], best: &Candidate) -> Option<String> {
        let is_asked = |of: &&Candidate| !matches!(of.fate, Fate::Open | Fate::Weaker | Fate::Meets(_));
        let cheaper = candidates.iter().filter(|of| of.cost < best.cost).rfind(is_asked)?;
        let label = self.label(cheaper);
        let why = match &cheaper.fate {
            _ if self.choices.faults.is_empty() => return None,
            Fate::Overloaded { utilization: None, under } => format!("has no server left{}", with(under.as_deref())),
            Fate::Overloaded { utilization: Some(utilization), under } => {
                format!("would be at a utilisation of {utilization:.2}{}", with(under.as_deref()))
            }
            Fate::Excluded { answer, .. } => format!("misses {} by formula", answer.what()),
            Fate::Misses(found) => {
                let whole = found.answers.iter().filter(|answer| answer.under.is_none());
                let holds = whole.clone().all(|answer| answer.judgement == Judgement::Holds);
                let holds = if holds { ", and meets all with nothing broken" } else { "" };
                format!("{}{holds}", found.shortfall())
            }
            Fate::Open | Fate::Weaker | Fate::Meets(_) => return None,
        };
        Some(format!("{label}, the next cheaper one asked, {why}"))
    }
}

impl Fault {
    /// Whether the servers it is of are gone.
    fn is_loss(&self) -> bool {
        let what = self.table.get("what").and_then(Item::as_str);
        what.is_some_and(|what| matches!(what.trim(), "down" | "drained"))
    }
}

/// The worst of the overloads; none where each state can do its work.
pub(crate) fn overload(states: &[State]) -> Option<Overload> {
    let of = |state: &State| {
        let spec = state.spec.as_ref().filter(|spec| !spec.loses_all());
        let utilization = match spec {
            Some(spec) => Some(spec.overload()?),
            None => None,
        };
        Some(Overload { under: state.under.clone(), utilization })
    };
    let key = |of: &Overload| of.utilization.unwrap_or(f64::INFINITY);
    states.iter().filter_map(of).max_by(|one, other| key(one).total_cmp(&key(other)))
}

impl Experiment {
    /// The experiment with these settings and a fault that lasts; errors are the fault's, since without it all is well.
    fn candidate_under(&self, settings: &[(String, toml_edit::Value)], fault: &Fault) -> Result<Spec, RunError> {
        let edit = |document: &mut toml_edit::DocumentMut| {
            let faults = document.entry("fault").or_insert_with(|| Item::ArrayOfTables(Default::default()));
            if let Some(faults) = faults.as_array_of_tables_mut() {
                faults.push(fault.table.clone());
            }
            if let Some(objective) = &fault.objective {
                document.insert("objective", Item::Table(objective.clone()));
            }
        };
        Ok(self
            .candidate_with(settings, &edit)
            .map_err(|message| self.at(Some(fault.line), &format!("plan.fault: {message}")))?)
    }
}
