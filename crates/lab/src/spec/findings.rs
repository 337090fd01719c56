//! What the file of a server model says of how the model was found: `[measured]`, which `sojourn calibrate` writes.

use sojourn_stats::input;
use toml::{Table, Value};

use super::Reader;
use super::system::{RawSystem, ServerSource};

/// How far a fitted server model is to be believed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Why it is SUSPECT; empty where it is not, or its file does not say how it was found.
    pub doubts: Vec<String>,
    /// How far the mean demand may be from the model's, as a share of it (95 %).
    pub demand_error: Option<f64>,
}

impl Findings {
    /// What the text of a model's file says; nothing where it says nothing.
    pub(super) fn of(text: &str) -> Findings {
        let file: Option<Table> = toml::from_str(text).ok();
        let Some(measured) = file.as_ref().and_then(|file| file.get("measured")?.as_table()) else {
            return Findings::default();
        };
        let is_suspect = measured.get("verdict").and_then(Value::as_str) == Some("SUSPECT");
        let reasons = measured.get("reasons").and_then(Value::as_array).into_iter().flatten();
        let mut doubts: Vec<String> = reasons.filter_map(Value::as_str).map(str::to_owned).collect();
        if is_suspect && doubts.is_empty() {
            doubts.push("so says its file".into());
        }
        let doubts = if is_suspect { doubts } else { Vec::new() };
        let number = |value: &Value| value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
        let interval: Option<Vec<f64>> =
            measured.get("demand_mean_s").and_then(Value::as_array).and_then(|of| of.iter().map(number).collect());
        let demand_error = match interval.as_deref() {
            Some(&[mean, low, high]) if mean > 0.0 => Some((high - mean).max(mean - low) / mean),
            _ => None,
        };
        Findings { doubts, demand_error: demand_error.filter(|error| error.is_finite()) }
    }

    /// What is to be known of whatever is computed with the model, one line each; `has_intervals`: of what has intervals.
    pub(crate) fn notes(&self, has_intervals: bool) -> Vec<String> {
        let doubts = self.doubts.iter().map(|doubt| format!("the server model is SUSPECT: {doubt}"));
        let error = self.demand_error.filter(|_| has_intervals).map(|error| {
            format!(
                "the fit knows the mean demand to +-{:.1} %: the intervals are of chance in the simulated runs, and do not hold \
                 this",
                100.0 * error
            )
        });
        doubts.chain(error).collect()
    }
}

impl Reader<'_> {
    /// Those of the file that has the model.
    pub(super) fn findings(&self, raw: &RawSystem) -> Findings {
        match &raw.server {
            Some(ServerSource::File(path)) => {
                input::text(&self.path(path)).map_or_else(|_| Findings::default(), |text| Findings::of(&text))
            }
            _ => Findings::default(),
        }
    }
}
