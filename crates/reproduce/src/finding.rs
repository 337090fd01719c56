//! Statements of a study, each with its verdict from comparisons.

use std::fmt::Write;

use crate::verdict::{Comparison, Verdict, counted};

/// A statement and the comparisons for it.
pub(crate) struct Finding {
    pub(crate) place: &'static str,
    pub(crate) claim: &'static str,
    pub(crate) comparisons: Vec<Comparison>,
    /// Some of the figures compared.
    pub(crate) ours: String,
    /// The likely cause, for the reader of a statement that does not hold. It is typed, so it has no figures of ours.
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
        let _ = writeln!(text, "| {place} | {claim} | {ours} | **{}** | {} |", verdict.words(), counted(comparisons));
        if matches!(verdict, Verdict::InPart | Verdict::Fails) {
            let _ = writeln!(notes, "- *{claim}* ({}): {why}", verdict.words());
        }
    }
    if !notes.is_empty() {
        let _ = write!(text, "\nWhat may lie behind those that do not simply hold:\n\n{notes}");
    }
    text
}

/// How many statements have each verdict, in a sentence without its beginning.
pub(crate) fn tally(verdicts: &[Verdict]) -> String {
    let count = |wanted: Verdict| verdicts.iter().filter(|verdict| **verdict == wanted).count();
    let unjudged = match count(Verdict::Unjudged) {
        0 => String::new(),
        some => format!(", and {some} are not judged because their run was SUSPECT"),
    };
    format!(
        "{} hold, {} hold in part, {} do not, {} cannot be decided{unjudged}",
        count(Verdict::Holds),
        count(Verdict::InPart),
        count(Verdict::Fails),
        count(Verdict::Undecidable)
    )
}
