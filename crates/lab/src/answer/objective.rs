//! Whether a variant meets an objective by one engine, and in which words that is said.

use serde::{Deserialize, Serialize};

use crate::spec::Engine;

/// Whether a variant meets an objective, by one engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveAnswer {
    /// The objective as written, with its metric: `response_time_p90 < 500 ms`.
    pub text: String,
    /// Number of the variant.
    pub variant: usize,
    /// The engine that answers.
    pub engine: Engine,
    /// Whether it holds; none where that engine has no number, or one that does not decide.
    pub met: Option<bool>,
    /// There is a number, and its interval does not decide, or it has none.
    #[serde(default)]
    pub undecided: bool,
    /// The number that decides it with its interval, in the unit of the limit; empty where there is none.
    #[serde(default)]
    pub measured: String,
    /// Why it is undecided where there is more to say than that the interval does not tell, such as how many requests would
    /// decide it; or why it is missed by whatever system, or what it leaves out though it is met. Empty where the number says
    /// all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl ObjectiveAnswer {
    /// What came of it: a word for a style (`good`, `bad`, `warn`, `muted`), and the words.
    pub fn words(&self) -> (&'static str, String) {
        let (style, word) = self.outcome();
        let words = match (self.why(), style) {
            ("", _) => word.to_owned(),
            (why, "good") => format!("{word}; {why}"),
            (why, _) => format!("{word}: {why}"),
        };
        (style, words)
    }

    /// The same without the reason: a word for a style, and one of `met`, `MISSED`, `UNDECIDED` and `no number`.
    pub fn outcome(&self) -> (&'static str, &'static str) {
        match (self.met, self.undecided) {
            (Some(true), _) => ("good", "met"),
            (Some(false), _) => ("bad", "MISSED"),
            (None, true) => ("warn", "UNDECIDED"),
            (None, false) => ("muted", "no number"),
        }
    }

    /// Why it is undecided, or what else is to be said of what came of it; empty where the number says all.
    pub fn why(&self) -> &str {
        match (self.met, self.undecided) {
            (None, false) => "",
            _ if !self.reason.is_empty() => &self.reason,
            (None, true) if self.engine == Engine::Sim => {
                "the interval does not tell; more replications, or longer ones"
            }
            (None, true) => "the interval does not tell; measure longer",
            (Some(_), _) => "",
        }
    }
}
