//! Statements of a study, each with its verdict from comparisons.

use std::fmt::Write;

use crate::verdict::Verdict;

/// A statement and the comparisons for it.
pub(crate) struct Finding {
    pub(crate) place: &'static str,
    pub(crate) claim: &'static str,
    pub(crate) comparisons: Vec<Option<bool>>,
    /// Some of the figures compared.
    pub(crate) ours: String,
    /// The likely cause, for the reader of a statement that does not hold.
    pub(crate) why: &'static str,
}

impl Finding {
    /// Whether the statement holds.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::of(&self.comparisons)
    }
}

/// All statements as a table.
pub(crate) fn table(findings: &[Finding]) -> String {
    let mut text =
        "| where | he found | here | verdict | comparisons for, against, open |\n|---|---|---|---|---|\n".to_owned();
    let mut notes = String::new();
    for finding in findings {
        let Finding { place, claim, comparisons, ours, why } = finding;
        let verdict = finding.verdict();
        let count = |wanted: Option<bool>| comparisons.iter().filter(|one| **one == wanted).count();
        let (holds, fails, open) = (count(Some(true)), count(Some(false)), count(None));
        let _ = writeln!(text, "| {place} | {claim} | {ours} | **{}** | {holds}, {fails}, {open} |", verdict.words());
        if matches!(verdict, Verdict::InPart | Verdict::Fails) {
            let _ = writeln!(notes, "- *{claim}* ({}): {why}", verdict.words());
        }
    }
    if !notes.is_empty() {
        let _ = write!(text, "\nWhat may lie behind those that do not simply hold:\n\n{notes}");
    }
    text
}
