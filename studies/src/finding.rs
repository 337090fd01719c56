//! Statements of a study, each with its verdict from comparisons.

use std::fmt::{Display, Write};

use crate::verdict::{Comparison, Verdict, counted};

/// A statement and the comparisons for it.
pub(crate) struct Finding<T = &'static str> {
    pub(crate) place: T,
    pub(crate) claim: T,
    pub(crate) comparisons: Vec<Comparison>,
    /// Some of the figures compared.
    pub(crate) ours: String,
    /// The likely cause, for the reader of a statement that does not hold. It is typed, so it has no figures of ours.
    pub(crate) why: T,
}

impl<T> Finding<T> {
    /// Whether the statement holds.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::of(&self.comparisons)
    }
}

/// All statements as a table, whose second column has this heading, for a page whose [`summary`] says what may lie behind them.
pub(crate) fn rows<T: Display>(findings: &[Finding<T>], heading: &str) -> String {
    let mut text =
        format!("| where | {heading} | here | verdict | comparisons for, against, open |\n|---|---|---|---|---|\n");
    for finding in findings {
        let Finding { place, claim, comparisons, ours, .. } = finding;
        let verdict = finding.verdict().words();
        let _ = writeln!(text, "| {place} | {claim} | {ours} | **{verdict}** | {} |", counted(comparisons));
    }
    text
}

/// The same, and below it what may lie behind those that do not simply hold.
pub(crate) fn table<T: Display>(findings: &[Finding<T>], heading: &str) -> String {
    let mut text = rows(findings, heading);
    let mut notes = String::new();
    for finding in findings {
        let Finding { claim, why, .. } = finding;
        let verdict = finding.verdict();
        if matches!(verdict, Verdict::InPart | Verdict::Fails) {
            let _ = writeln!(notes, "- *{claim}* ({}): {why}", verdict.words());
        }
    }
    if !notes.is_empty() {
        let _ = write!(text, "\nWhat may lie behind those that do not simply hold:\n\n{notes}");
    }
    text
}

/// What a page begins with: how many statements have each verdict, which ones, and what may lie behind those that do not hold.
pub(crate) fn summary<T: Display>(findings: &[Finding<T>]) -> String {
    let verdicts: Vec<Verdict> = findings.iter().map(Finding::verdict).collect();
    let mut text = format!("## What was found\n\nOf {} statements {}.\n", findings.len(), tally(&verdicts));
    let of = |wanted: Verdict| findings.iter().filter(move |finding| finding.verdict() == wanted);
    let claims: Vec<String> = of(Verdict::Holds).map(|finding| finding.claim.to_string()).collect();
    if !claims.is_empty() {
        let _ = write!(text, "\n**Hold:**\n\n- {}\n", claims.join("\n- "));
    }
    for (wanted, heading) in [(Verdict::InPart, "Hold in part"), (Verdict::Fails, "Do not hold")] {
        let lines: String = of(wanted)
            .map(|Finding { claim, ours, why, .. }| {
                let why = match why.to_string() {
                    none if none.is_empty() => none,
                    why => format!(" What may lie behind it: {why}"),
                };
                format!("- {claim}. Here: {}.{why}\n", ours.trim_end_matches('.'))
            })
            .collect();
        if !lines.is_empty() {
            let _ = write!(text, "\n**{heading}:**\n\n{lines}");
        }
    }
    for (wanted, heading) in
        [(Verdict::Undecidable, "Cannot be decided"), (Verdict::Unjudged, "Not judged (SUSPECT run)")]
    {
        let line =
            |Finding { claim, ours, .. }: &Finding<T>| format!("- {claim}. Here: {}\n", ours.trim_end_matches('.'));
        let lines: String = of(wanted).map(line).collect();
        if !lines.is_empty() {
            let _ = write!(text, "\n**{heading}:**\n\n{lines}");
        }
    }
    text + "\n"
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Statements with comparisons for, against and open.
    fn finding(claim: &'static str, holds: &[Option<bool>]) -> Finding {
        let comparisons = holds.iter().map(|&holds| Comparison { holds, is_suspect: false }).collect();
        Finding { place: "Table 1", claim, comparisons, ours: "2.0".into(), why: "other disks" }
    }

    #[test]
    fn a_table_says_why_only_where_a_statement_does_not_hold() {
        let holds = finding("half as long", &[Some(true)]);
        let text = table(std::slice::from_ref(&holds), "he found");
        assert!(text.ends_with("| Table 1 | half as long | 2.0 | **holds** | 1, 0, 0 |\n"), "{text}");
        let text = table(&[holds, finding("linear", &[Some(false)]), finding("the same", &[None])], "he found");
        let notes = "\nWhat may lie behind those that do not simply hold:\n\n- *linear* (does not hold): other disks\n";
        assert!(text.ends_with(notes), "{text}");
    }

    #[test]
    fn a_summary_names_each_statement_under_its_verdict() {
        let all = [
            finding("half as long", &[Some(true)]),
            finding("linear", &[Some(false)]),
            finding("the same", &[None]),
            finding("most of it", &[Some(true), Some(false)]),
            Finding {
                comparisons: vec![Comparison { holds: Some(true), is_suspect: true }],
                ..finding("disturbed", &[])
            },
        ];
        let text = summary(&all);
        let begins =
            "## What was found\n\nOf 5 statements 1 hold, 1 hold in part, 1 do not, 1 cannot be decided, and 1";
        assert!(text.starts_with(begins), "{text}");
        for part in [
            "**Hold:**\n\n- half as long\n",
            "**Hold in part:**\n\n- most of it. Here: 2.0. What may lie behind it: other disks\n",
            "**Do not hold:**\n\n- linear. Here: 2.0. What may lie behind it: other disks\n",
            "**Cannot be decided:**\n\n- the same. Here: 2.0\n",
            "**Not judged (SUSPECT run):**\n\n- disturbed. Here: 2.0\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!summary(&all[..1]).contains("Do not hold"));
    }

    #[test]
    fn verdicts_are_tallied() {
        use Verdict::{Fails, Holds, InPart, Undecidable, Unjudged};
        let some = [Holds, Holds, InPart, InPart, InPart, Fails, Undecidable];
        assert_eq!(tally(&some), "2 hold, 3 hold in part, 1 do not, 1 cannot be decided");
        let told = tally(&[Unjudged, Unjudged]);
        assert!(told.ends_with("0 cannot be decided, and 2 are not judged because their run was SUSPECT"), "{told}");
    }
}
