//! An engine: who answers an experiment.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{SpecError, unknown};

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

    pub(super) fn parse(word: &str) -> Result<Engine, String> {
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
