//! Objectives in lines: each with its number. A reason that several have stands once below them, with the variants that have it.
//!
//! A sweep has an objective at every point and by every engine. Those of more than a few variants, or more than a screen of them,
//! are a line each with how many meet it and which do not: the report has each. Below stand the values that meet all.

use sojourn_lab::report::{Note, WhoMeets, are_many, folded, reasons_of_objectives, values_that_meet, who_meets};
use sojourn_lab::{Answers, ObjectiveAnswer};

use super::text::{hanging, paragraph};

/// More lines than this are not read on a terminal.
const LINES: usize = 40;

/// The lines, without a title; none where nothing was asked. Which variants meet all of several objectives stands last.
pub(super) fn lines(answers: &Answers) -> Vec<String> {
    let all = &answers.objectives;
    let meets = |is_counted: bool| {
        let all = who_meets(answers, usize::MAX, |of| of.label.clone()).into_iter();
        // Of one objective its lines say it, or their count, but for the names.
        let says_more = move |of: &WhoMeets| of.objectives > 1 || is_counted && of.is_named;
        all.filter(says_more).map(|of| hanging("  ", "    ", &of.sentence))
    };
    if are_many(answers) || all.len() > LINES {
        let reasons = reasons_of_objectives(answers, 1);
        let reasons = reasons.iter().map(|(_, reason)| hanging("  ", "    ", reason));
        let more = std::iter::once(paragraph("  ", "report.html has each."));
        let counted = folded(answers).into_iter().map(|of| hanging("  ", "    ", &of.line(answers)));
        let values = values_that_meet(answers).into_iter().flat_map(|of| {
            let lines: Vec<String> = of.lines.iter().map(|line| hanging("    ", "      ", line)).collect();
            std::iter::once(hanging("  ", "    ", &of.title)).chain(lines)
        });
        return counted.chain(reasons).chain(meets(true)).chain(values).chain(more).collect();
    }
    let shared = reasons_of_objectives(answers, 2);
    let below = shared.iter().map(|(_, reason)| hanging("  ", "    ", reason));
    all.iter().map(|objective| line(answers, objective, &shared)).chain(below).chain(meets(false)).collect()
}

/// What came of one, with its reason where that is its own.
fn line(answers: &Answers, objective: &ObjectiveAnswer, shared: &[(Note<'_>, String)]) -> String {
    let label = &answers.variants[objective.variant].label;
    let (text, engine) = (&objective.text, objective.engine);
    let measured = if objective.measured.is_empty() { String::new() } else { format!("{}, ", objective.measured) };
    let is_below = shared.iter().any(|(note, _)| note.is_of(objective));
    let words = if is_below { objective.outcome().1.to_owned() } else { objective.words().1 };
    hanging("  ", "    ", &format!("{label}: {text} by {engine}: {measured}{words}"))
}

#[cfg(test)]
mod tests {
    use sojourn_lab::{Engine, VariantAnswers};

    use super::*;

    /// Objectives of so many variants, each by live, met where a reason is empty.
    fn asked(reasons: &[&str]) -> Answers {
        let objective = |(variant, reason): (usize, &&str)| ObjectiveAnswer {
            text: "response_time_p99 < 1 s".into(),
            variant,
            engine: Engine::Live,
            met: reason.is_empty().then_some(true),
            undecided: !reason.is_empty(),
            measured: format!("{variant}.5 s"),
            reason: (*reason).to_owned(),
        };
        let variant = |number: usize| VariantAnswers { label: format!("v{number}"), ..VariantAnswers::default() };
        Answers {
            variants: (0..reasons.len()).map(variant).collect(),
            objectives: reasons.iter().enumerate().map(objective).collect(),
            ..Answers::default()
        }
    }

    /// The lines without their indents, and without the breaks of a narrow terminal.
    fn told(reasons: &[&str]) -> Vec<String> {
        let words = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
        lines(&asked(reasons)).iter().map(words).collect()
    }

    #[test]
    fn a_reason_of_several_stands_once() {
        let late = ["the live run is SUSPECT: 3 ms late", "the live run is SUSPECT: 5 ms late"];
        let expected = [
            "v0: response_time_p99 < 1 s by live: 0.5 s, UNDECIDED",
            "v1: response_time_p99 < 1 s by live: 1.5 s, met",
            "v2: response_time_p99 < 1 s by live: 2.5 s, UNDECIDED",
            "UNDECIDED by live, v0; v2: the live run is SUSPECT: 3 to 5 ms late (most: v2)",
        ];
        assert_eq!(told(&[late[0], "", late[1]]), expected);
        // That of one alone stands behind its number.
        let alone = "v0: response_time_p99 < 1 s by live: 0.5 s, UNDECIDED: the live run is SUSPECT: 3 ms late";
        assert_eq!(told(&[late[0], ""])[0], alone);
        assert_eq!(told(&[late[0], ""]).len(), 2);
    }

    #[test]
    fn which_variants_meet_all_of_several_is_said() {
        let mut answers = asked(&["", "", "late"]);
        let other = |of: &ObjectiveAnswer| ObjectiveAnswer {
            text: "error_ratio < 1 %".into(),
            met: Some(of.variant == 1),
            undecided: false,
            reason: String::new(),
            ..of.clone()
        };
        let others: Vec<ObjectiveAnswer> = answers.objectives.iter().map(other).collect();
        answers.objectives.extend(others);
        let told = lines(&answers);
        assert_eq!(told.last().map(|line| line.trim()), Some("By live, 1 of 3 variants meets both objectives: v1."));
        assert_eq!(told.len(), 7, "{told:?}");
    }

    #[test]
    fn the_values_that_meet_all_are_told_of_many() {
        let mut answers = asked(&["", "", "", "", "", "", "late", "", ""]);
        answers.settings = vec!["servers".to_owned()];
        for (number, of) in answers.variants.iter_mut().enumerate() {
            of.settings = vec![("servers".to_owned(), (number + 1).to_string())];
            of.label = format!("servers {}", number + 1);
        }
        let told = lines(&answers);
        let expected = ["  By live, the values of servers that meet the objective:", "    1 to 6, 8 to 9; 7 undecided"];
        assert_eq!(told[told.len() - 3..told.len() - 1], expected, "{told:?}");
    }

    #[test]
    fn those_of_many_variants_are_counted() {
        let mut reasons = [""; 41];
        reasons[3] = "too late";
        let expected = [
            "response_time_p99 < 1 s by live, of 41 variants: met 40, UNDECIDED 1 (v3)",
            "UNDECIDED by live, v3: too late",
            "report.html has each.",
        ];
        assert_eq!(told(&reasons), expected);
        // Few of many are named.
        let mut reasons = ["late"; 41];
        reasons[7] = "";
        let named = "By live, 1 of 41 variants meets the objective: v7. Of 40 more it is not known.";
        assert!(told(&reasons).contains(&named.to_owned()));
        assert_eq!((told(&[""; 8]).len(), told(&[""; 9]).len()), (8, 2));
        assert!(told(&[]).is_empty());
        // More than a screen of a few variants too.
        let mut few = asked(&[""; 8]);
        let of_limit = |limit: usize| {
            let text = format!("response_time_p99 < {limit} s");
            few.objectives.iter().map(move |of| ObjectiveAnswer { text: text.clone(), ..of.clone() })
        };
        few.objectives = (1..=6).flat_map(of_limit).collect();
        let told = lines(&few);
        assert!(told.len() == 6 + 2 && told[0].ends_with("of 8 variants: met 8"), "{told:?}");
    }
}
