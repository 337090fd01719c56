//! `[plan]`: what may be chosen, and what it costs.
//!
//! ```toml
//! [plan]
//! unit = "EUR a month"
//!
//! [[plan.choice]]
//! key = "servers"
//! values = "1..8"
//! cost = 40                              # of each
//!
//! [[plan.choice]]
//! key = "system.network.cluster_rate"
//! values = ["10 Mbit/s", "100 Mbit/s"]
//! costs = [30, 120]                      # of each value
//!
//! [plan.traffic]                         # the same rate, arriving otherwise
//! bursty = "hyperexponential(rate = 300 /s, cv = 3)"
//! ```

use serde::Deserialize;
use toml::Spanned;
use toml_edit::Value;

use super::candidate::{Candidate, Fate};
use super::state::{Fault, RawFault, edited};
use crate::range;
use crate::spec::{SpecError, located, unknown};
use crate::variants::{Experiment, long_name, show};

/// Keys whose values, from the first to the last, only ever make a system better. Their suffix suffices.
const STRONGER: [&str; 4] = ["servers", "cores", "_rate", ".rate"];
/// More candidates than this are a mistake.
const MOST: usize = 1_000_000;

/// Everything that `[plan]` says.
#[derive(Clone, Debug)]
pub struct Choices {
    /// What may be chosen, in the order of the file.
    pub choices: Vec<Choice>,
    /// What costs are in.
    pub unit: String,
    /// How many plans are wanted: the cheapest and the next ones.
    pub offers: usize,
    /// Growth of the traffic is looked for up to this factor.
    pub growth: f64,
    /// What the system has to bear.
    pub faults: Vec<Fault>,
    /// Other traffic of the same rate, by name: what it sets.
    pub traffic: Vec<(String, Vec<(String, Value)>)>,
}

/// Something to choose.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The setting, as `--set` has it.
    pub key: String,
    /// What it may be.
    pub values: Vec<Value>,
    /// What each of them costs.
    pub costs: Vec<f64>,
    /// The number of another choice: a cost is so many times, for each of those.
    pub per: Option<usize>,
    /// Whether each value makes the system better than the one before, so that what misses an objective with one does so with
    /// all before it.
    pub stronger: bool,
}

#[derive(Deserialize)]
struct RawFile {
    plan: Option<RawPlan>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlan {
    unit: Option<String>,
    offers: Option<usize>,
    growth: Option<f64>,
    #[serde(default)]
    choice: Vec<Spanned<RawChoice>>,
    #[serde(default)]
    fault: Vec<Spanned<RawFault>>,
    #[serde(default)]
    traffic: toml::map::Map<String, toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawChoice {
    key: String,
    values: toml::Value,
    cost: Option<f64>,
    costs: Option<Vec<f64>>,
    per: Option<String>,
    stronger: Option<bool>,
}

impl Choices {
    /// Reads `[plan]` of `source`.
    ///
    /// # Errors
    /// One line: what is wrong, where, and what would be right.
    pub fn read(source: &Experiment) -> Result<Choices, SpecError> {
        let (text, file) = (source.text(), &source.file);
        let raw: RawFile = toml::from_str(&text).map_err(|error| located(&error, &text, file))?;
        let at = |line: usize, message: String| SpecError(format!("{}:{line}: {message}", file.display()));
        let missing = "a plan needs something to choose: [plan] with [[plan.choice]], e.g. key = \"servers\", \
                       values = \"1..8\", cost = 40";
        let plan = raw.plan.filter(|plan| !plan.choice.is_empty());
        let plan = plan.ok_or_else(|| SpecError(format!("{}: {missing}", file.display())))?;
        let line = |start: usize| 1 + text[..start].matches('\n').count();
        let keys: Vec<&str> = plan.choice.iter().map(|raw| raw.get_ref().key.as_str()).collect();
        let mut choices = Vec::new();
        for (number, raw) in plan.choice.iter().enumerate() {
            let fail =
                |message: String| at(line(raw.span().start), format!("plan.choice `{}`: {message}", raw.get_ref().key));
            if keys[..number].iter().any(|key| long_name(key) == long_name(keys[number])) {
                return Err(fail("it is chosen twice".into()));
            }
            let mut choice = Choice::read(raw.get_ref(), number, &keys).map_err(fail)?;
            if let Some(value) = source.set_by_hand(&choice.key) {
                choice.narrow(value, raw.get_ref()).map_err(SpecError)?;
            }
            choices.push(choice);
        }
        let all = choices.iter().fold(1usize, |all, choice| all.saturating_mul(choice.values.len()));
        if all > MOST {
            return Err(SpecError(format!("{}: {all} candidates are too many; at most {MOST}", file.display())));
        }
        if plan.offers == Some(0) {
            return Err(SpecError(format!("{}: plan.offers is at least 1", file.display())));
        }
        let growth = plan.growth.unwrap_or(4.0);
        if !(growth >= 1.0 && growth.is_finite()) {
            return Err(SpecError(format!("{}: plan.growth is a factor of at least 1, e.g. 4", file.display())));
        }
        let mut faults: Vec<Fault> = Vec::new();
        for raw in &plan.fault {
            let line = line(raw.span().start);
            let fail = |message: String| at(line, format!("plan.fault: {message}"));
            let fault = Fault::read(raw, line).map_err(fail)?;
            if faults.iter().any(|of| of.name == fault.name) {
                return Err(fail(format!("`{}` is there twice: give one of them another `name`", fault.name)));
            }
            faults.push(fault);
        }
        let mut traffic = Vec::new();
        for (name, arrivals) in plan.traffic {
            let set = match &arrivals {
                toml::Value::String(_) => vec![("arrivals".to_owned(), edited(&arrivals))],
                toml::Value::Table(table) => table.iter().map(|(key, value)| (key.clone(), edited(value))).collect(),
                _ => {
                    let wrong = "it is an arrival law such as \"hyperexponential(rate = 300 /s, cv = 3)\", or a table of \
                                 settings such as { \"chain.users.arrivals\" = \"...\" }";
                    return Err(SpecError(format!("{}: plan.traffic.{name}: {wrong}", file.display())));
                }
            };
            traffic.push((name, set));
        }
        let unit = plan.unit.unwrap_or_default();
        Ok(Choices { choices, unit, offers: plan.offers.unwrap_or(3), growth, faults, traffic })
    }

    /// Every combination, unasked, from the cheapest to the dearest.
    pub fn candidates(&self) -> Vec<Candidate> {
        let mut picks: Vec<Vec<usize>> = vec![Vec::new()];
        for choice in &self.choices {
            picks = picks
                .iter()
                .flat_map(|done| (0..choice.values.len()).map(|value| [done.as_slice(), &[value]].concat()))
                .collect();
        }
        let mut candidates: Vec<Candidate> = picks.into_iter().map(|picks| self.candidate(picks)).collect();
        candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        candidates
    }

    /// The one with these values.
    pub fn candidate(&self, picks: Vec<usize>) -> Candidate {
        let cost = self.choices.iter().zip(&picks).map(|(choice, &value)| {
            let times =
                choice.per.map_or(1.0, |other| number(&self.choices[other].values[picks[other]]).unwrap_or(1.0));
            choice.costs[value] * times
        });
        Candidate { cost: cost.sum(), picks, fate: Fate::Open }
    }

    /// What a candidate sets.
    pub fn settings(&self, candidate: &Candidate) -> Vec<(String, Value)> {
        let of = |(choice, &value): (&Choice, &usize)| (choice.key.clone(), choice.values[value].clone());
        self.choices.iter().zip(&candidate.picks).map(of).collect()
    }

    /// The same as texts.
    pub fn told(&self, candidate: &Candidate) -> Vec<(String, String)> {
        self.settings(candidate).into_iter().map(|(key, value)| (key, show(&value))).collect()
    }
}

impl Choice {
    fn read(raw: &RawChoice, own: usize, keys: &[&str]) -> Result<Choice, String> {
        let values = values(&raw.values)?;
        let numbers: Vec<Option<f64>> = values.iter().map(number).collect();
        let costs = match (&raw.cost, &raw.costs) {
            (Some(_), Some(_)) => return Err("give `cost` (of each) or `costs` (of every value), not both".into()),
            (None, None) => vec![0.0; values.len()],
            (None, Some(costs)) if costs.len() == values.len() => costs.clone(),
            (None, Some(costs)) => {
                return Err(format!("`costs` has {} numbers and `values` {}: one for each", costs.len(), values.len()));
            }
            (Some(cost), None) => {
                numbers.iter().map(|number| number.map(|number| number * cost)).collect::<Option<_>>().ok_or(
                    "`cost` is of each of a number of things; these values are no numbers: give `costs`, one for each",
                )?
            }
        };
        if costs.iter().any(|cost| !(cost.is_finite() && *cost >= 0.0)) {
            return Err("a cost is a number from 0 up".into());
        }
        let per = match &raw.per {
            None => None,
            Some(other) => match keys.iter().position(|key| key == other) {
                Some(other) if other != own => Some(other),
                _ => return Err(format!("per: {}", unknown("choice", other, keys))),
            },
        };
        let stronger = raw.stronger.unwrap_or_else(|| STRONGER.iter().any(|suffix| raw.key.ends_with(suffix)));
        let ascends = numbers.windows(2).all(|pair| pair[0] < pair[1] || pair[0].is_none() || pair[1].is_none());
        if stronger && !ascends {
            return Err("write the values from the weakest to the strongest, or `stronger = false`".into());
        }
        Ok(Choice { key: raw.key.clone(), values, costs, per, stronger })
    }

    /// Leaves nothing but `value` to choose, as `--set` says: one of the list, or another whose cost is known all the same.
    fn narrow(&mut self, value: &Value, raw: &RawChoice) -> Result<(), String> {
        let listed = self.values.iter().position(|of| show(of) == show(value)).map(|place| self.costs[place]);
        let cost = listed.or(match (raw.cost, &raw.costs) {
            (Some(each), _) => number(value).map(|number| each * number).filter(|cost| *cost >= 0.0),
            (None, None) => Some(0.0),
            (None, Some(_)) => None,
        });
        let (key, text) = (&self.key, show(value));
        let cost = cost.ok_or_else(|| {
            let known: Vec<String> = self.values.iter().map(show).collect();
            let known = match &known[..] {
                [first, .., last] if known.len() > 12 => format!("{first} to {last}"),
                few => few.join(", "),
            };
            format!("--set {key}={text}: nothing says what it costs; the plan chooses from {known}")
        })?;
        (self.values, self.costs) = (vec![value.clone()], vec![cost]);
        Ok(())
    }
}

/// A list, or a range.
fn values(raw: &toml::Value) -> Result<Vec<Value>, String> {
    if let Some(values) = raw.as_str().and_then(range::values) {
        return values;
    }
    let wrong = || format!("`values` is a list such as [1, 2, 4], or a range: {}", range::FORM);
    let list = raw.as_array().filter(|list| !list.is_empty()).ok_or_else(wrong)?;
    Ok(list.iter().map(edited).collect())
}

fn number(value: &Value) -> Option<f64> {
    value.as_integer().map(|whole| whole as f64).or_else(|| value.as_float())
}
