//! How far a live run, or a model against a log, can be trusted.

use serde::{Deserialize, Serialize};
use sojourn_load::Limits;

/// How far a live run can be trusted, and on what that rests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// Whether it can be trusted.
    pub verdict: Verdict,
    /// Why not.
    pub reasons: Vec<String>,
    /// Whether all that speaks against it is that requests failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_failures: bool,
    /// Facts as names and texts: lateness of the generator, busy share of each core, retries, causes of failures.
    pub facts: Vec<(String, String)>,
    /// What its verdict was judged by.
    #[serde(default)]
    pub limits: Limits,
    /// What its parts did although nothing asked for it: seconds after the start, and what.
    #[serde(default)]
    pub incidents: Vec<(f64, String)>,
}

impl Trust {
    /// Adds a doubt, if there is one, and whether it is that requests failed.
    pub(crate) fn doubt(&mut self, doubt: Option<String>, is_of_failures: bool) {
        let Some(doubt) = doubt else { return };
        self.is_of_failures = is_of_failures && (self.is_of_failures || self.verdict == Verdict::Valid);
        self.verdict = self.verdict.max(Verdict::Suspect);
        self.reasons.push(doubt);
    }
}

/// Whether a run can be trusted, from best to worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Yes.
    #[default]
    Valid,
    /// The measurement may have measured something else.
    Suspect,
    /// It was interrupted; what was measured is kept.
    Incomplete,
}

impl Verdict {
    /// As tables and pages have it: `VALID`, `SUSPECT` or `INCOMPLETE`.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Valid => "VALID",
            Verdict::Suspect => "SUSPECT",
            Verdict::Incomplete => "INCOMPLETE",
        }
    }
}
