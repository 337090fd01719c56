//! What was asked of the system, and what came of it: on the page, and what a terminal shows of it.
//!
//! A sweep asks each objective at every point by every engine. Of more than a few variants each is told in one row: how many meet
//! it, and which do not. On the page the rows of all stand behind it, folded away.

mod values;

use sojourn_stats::Estimate;

use super::html::{engine, escape};
use super::notes::{Note, Said, scope};
use super::{Answers, Engine, VariantAnswers};
use crate::answer::ObjectiveAnswer;
use crate::objective::Objective;

pub use self::values::{ValuesThatMeet, values_that_meet};

/// The objectives of no more variants than these are told one by one.
const FEW: usize = 8;

/// What was asked of the system, and the answers.
pub(super) fn section(report: &Answers) -> String {
    if report.objectives.is_empty() {
        return String::new();
    }
    let engines: Vec<Engine> =
        Engine::ALL.into_iter().filter(|e| report.objectives.iter().any(|o| o.engine == *e)).collect();
    let shared = reasons_of_objectives(report, 2);
    let below: String = shared.iter().map(|(_, line)| format!("<li>{}</li>\n", escape(line))).collect();
    let below = if below.is_empty() { below } else { format!("<ul class=\"reasons\">\n{below}</ul>\n") };
    let each = table(&engines, &rows_of_each(report, &engines, &shared));
    let told = match are_many(report) {
        false => format!("{each}{below}"),
        true => {
            let folded = table(&engines, &rows_of_folded(report, &engines));
            format!("{folded}{below}<details>\n<summary>Each variant</summary>\n{each}</details>\n")
        }
    };
    let values: String = values_that_meet(report).iter().map(list_of_values).collect();
    format!("<section id=\"objectives\">\n<h2>Objectives</h2>\n{values}{told}</section>\n")
}

fn list_of_values(of: &ValuesThatMeet) -> String {
    let lines: String = of.lines.iter().map(|line| format!("<li>{}</li>\n", escape(line))).collect();
    format!("<p>{}</p>\n<ul>\n{lines}</ul>\n", escape(&of.title))
}

fn table(engines: &[Engine], rows: &str) -> String {
    let head: String = engines.iter().map(|e| format!("<th scope=\"col\">{}</th>", engine(*e))).collect();
    format!(
        "<div class=\"scroll\"><table class=\"plain\">\n<thead><tr><th scope=\"col\">What was asked</th>{head}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// A row for each objective of each variant; a reason that is among the `shared` ones stands below the table.
fn rows_of_each(report: &Answers, engines: &[Engine], shared: &[(Note<'_>, String)]) -> String {
    let label = |objective: &ObjectiveAnswer| report.variants.get(objective.variant).map_or("", |of| &of.label);
    let mut asked: Vec<(&str, &str)> = Vec::new();
    for objective in &report.objectives {
        let key = (objective.text.as_str(), label(objective));
        if !asked.contains(&key) {
            asked.push(key);
        }
    }
    let answer = |text: &str, variant: &str, engine: Engine| {
        let found = report.objectives.iter().find(|o| o.text == text && label(o) == variant && o.engine == engine);
        let Some(objective) = found else { return ("muted", "\u{2013}".to_owned()) };
        let (class, _) = objective.outcome();
        let word = match class {
            "good" => "\u{2713} met",
            "bad" => "\u{2717} missed",
            "warn" => "? undecided",
            // As where that engine was not asked: it has no number.
            _ => "\u{2013}",
        };
        let is_below = shared.iter().any(|(note, _)| note.is_of(objective));
        let why = if is_below { "" } else { objective.why() };
        let lines = [word.to_owned(), escape(&objective.measured), escape(why)];
        (class, lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("<br>"))
    };
    let row = |(text, variant): &(&str, &str)| {
        let cells = engines.iter().map(|e| {
            let (class, word) = answer(text, variant, *e);
            format!("<td class=\"{class}\">{word}</td>")
        });
        let cells: String = cells.collect();
        let (text, variant) = (escape(text), escape(variant));
        format!("<tr><th scope=\"row\">{variant}<br><code>{text}</code></th>{cells}</tr>\n")
    };
    asked.iter().map(row).collect()
}

/// A row for each objective, with how many variants meet it and which do not.
fn rows_of_folded(report: &Answers, engines: &[Engine]) -> String {
    let all = folded(report);
    let mut asked: Vec<&str> = Vec::new();
    for of in &all {
        if !asked.contains(&of.text) {
            asked.push(of.text);
        }
    }
    let line = |outcome: &Outcome, of: &Folded<'_>| {
        let (mark, word) = match outcome.style {
            "good" => ("\u{2713}", "met"),
            "bad" => ("\u{2717}", "missed"),
            "warn" => ("?", "undecided"),
            _ => ("\u{2013}", "without a number"),
        };
        let which = of.which(outcome, report).map_or(String::new(), |which| format!(": {}", escape(&which)));
        format!("<span class=\"{}\">{mark} {} {word}</span>{which}", outcome.style, outcome.variants.len())
    };
    let cell = |text: &str, engine: &Engine| match all.iter().find(|of| of.text == text && of.engine == *engine) {
        Some(of) => of.outcomes.iter().map(|outcome| line(outcome, of)).collect::<Vec<_>>().join("<br>"),
        None => "<span class=\"muted\">\u{2013}</span>".to_owned(),
    };
    let row = |text: &&str| {
        let cells: String = engines.iter().map(|engine| format!("<td>{}</td>", cell(text, engine))).collect();
        format!("<tr><th scope=\"row\"><code>{}</code></th>{cells}</tr>\n", escape(text))
    };
    asked.iter().map(row).collect()
}

/// Whether objectives are of so many variants that each is told in one row.
pub fn are_many(report: &Answers) -> bool {
    let mut variants: Vec<usize> = report.objectives.iter().map(|of| of.variant).collect();
    variants.sort_unstable();
    variants.dedup();
    variants.len() > FEW
}

/// An objective of many variants, by an engine.
pub struct Folded<'a> {
    /// The objective as written.
    pub text: &'a str,
    /// The engine that answers.
    pub engine: Engine,
    /// How many variants were asked.
    pub asked: usize,
    /// What came of it: what is met first.
    pub outcomes: Vec<Outcome>,
}

/// What came of an objective in some variants.
pub struct Outcome {
    /// A word for a style: `good`, `bad`, `warn` or `muted`.
    pub style: &'static str,
    /// `met`, `MISSED`, `UNDECIDED` or `no number`.
    pub word: &'static str,
    /// The numbers of the variants.
    pub variants: Vec<usize>,
}

impl Folded<'_> {
    /// Which variants do not meet it, the first of them by name and the others counted, and the number of the one that misses it
    /// most; none of what is met.
    pub fn which(&self, outcome: &Outcome, report: &Answers) -> Option<String> {
        let names = (outcome.variants.len() < self.asked).then(|| scope(report, &outcome.variants));
        let worst = self.worst(outcome, report);
        match (names, worst) {
            _ if outcome.style == "good" => None,
            (Some(names), Some(worst)) if outcome.variants.len() == 1 => Some(format!("{names}: {}", worst.measured)),
            (names, Some(worst)) => {
                let worst = format!("worst {}: {}", report.variants[worst.variant].label, worst.measured);
                Some(names.into_iter().chain([worst]).collect::<Vec<_>>().join("; "))
            }
            (names, None) => names,
        }
    }

    /// Of those that miss it the one that is farthest from the limit, where it has a number.
    fn worst<'r>(&self, outcome: &Outcome, report: &'r Answers) -> Option<&'r ObjectiveAnswer> {
        let asked = Objective::parse(self.text).ok().filter(|_| outcome.style == "bad")?;
        let is_of_it = |of: &&ObjectiveAnswer| {
            of.text == self.text && of.engine == self.engine && outcome.variants.contains(&of.variant)
        };
        let missed = report.objectives.iter().filter(is_of_it).filter(|of| !of.measured.is_empty());
        let off = |of: &ObjectiveAnswer| {
            let value = report.variants[of.variant].estimate(self.engine, &asked.metric).and_then(Estimate::value);
            value.map_or(f64::NEG_INFINITY, |value| if asked.below { value } else { -value })
        };
        missed.max_by(|one, other| off(one).total_cmp(&off(other)))
    }

    /// In a line: `response_time_p99 < 1 s by sim, of 41 variants: met 40, MISSED 1 (random: 1.2 s)`.
    pub fn line(&self, report: &Answers) -> String {
        let told = |outcome: &Outcome| {
            let which = self.which(outcome, report).map_or(String::new(), |which| format!(" ({which})"));
            format!("{} {}{which}", outcome.word, outcome.variants.len())
        };
        let told: Vec<String> = self.outcomes.iter().map(told).collect();
        format!("{} by {}, of {} variants: {}", self.text, self.engine.name(), self.asked, told.join(", "))
    }
}

/// Each objective by each engine, in the order in which they were asked, with what came of it in all variants.
pub fn folded(report: &Answers) -> Vec<Folded<'_>> {
    const ORDER: [&str; 4] = ["met", "MISSED", "UNDECIDED", "no number"];
    let mut all: Vec<Folded<'_>> = Vec::new();
    for of in report.objectives.iter().filter(|of| of.variant < report.variants.len()) {
        let is_it = |one: &Folded<'_>| one.text == of.text && one.engine == of.engine;
        let place = all.iter().position(is_it).unwrap_or_else(|| {
            all.push(Folded { text: &of.text, engine: of.engine, asked: 0, outcomes: Vec::new() });
            all.len() - 1
        });
        let folded = &mut all[place];
        folded.asked += 1;
        let (style, word) = of.outcome();
        match folded.outcomes.iter_mut().find(|outcome| outcome.word == word) {
            Some(outcome) => outcome.variants.push(of.variant),
            None => folded.outcomes.push(Outcome { style, word, variants: vec![of.variant] }),
        }
    }
    let rank = |outcome: &Outcome| ORDER.iter().position(|word| *word == outcome.word);
    all.iter_mut().for_each(|of| of.outcomes.sort_by_key(rank));
    all
}

/// Why objectives came out as they did, each reason once that at least so many of them have, in a line with which these are.
pub fn reasons_of_objectives(report: &Answers, least: usize) -> Vec<(Note<'_>, String)> {
    let variants = report.variants.len();
    let has_reason = move |of: &&ObjectiveAnswer| of.variant < variants && !of.why().is_empty();
    let all = || report.objectives.iter().filter(has_reason);
    let mut said = Said::default();
    all().for_each(|of| said.add(of.engine, of.why(), of.variant));
    let lines = said.notes.into_iter().filter_map(|note| {
        let mut words = all().filter(|of| note.is_of(of)).map(|of| of.outcome().1);
        let (word, count) = (words.next()?, 1 + words.count());
        let (engine, whose) = (note.engine.name(), scope(report, &note.variants));
        let line = format!("{word} by {engine}, {whose}: {}", note.told(&report.variants));
        (count >= least).then_some((note, line))
    });
    lines.collect()
}

/// Which of several variants meet every objective, by one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhoMeets {
    /// How many objectives these are.
    pub objectives: usize,
    /// Whether those that meet all are called by their names.
    pub is_named: bool,
    /// What is said of it.
    pub sentence: String,
}

/// Which of several variants meet every objective, by each engine that judges them: up to ten are called by their `name`, if
/// their labels have at most so many letters together. What could not be decided is not said to be missed.
pub fn who_meets(report: &Answers, letters_most: usize, name: impl Fn(&VariantAnswers) -> String) -> Vec<WhoMeets> {
    const MOST_NAMED: usize = 10;
    let sentence = |engine: Engine| {
        let by = || report.objectives.iter().filter(|of| of.engine == engine && of.variant < report.variants.len());
        let mut texts: Vec<&str> = by().map(|of| of.text.as_str()).collect();
        texts.sort_unstable();
        texts.dedup();
        let mut asked: Vec<usize> = by().map(|of| of.variant).collect();
        asked.sort_unstable();
        asked.dedup();
        if asked.len() < 2 {
            return None;
        }
        let meets = |variant: usize| by().filter(|of| of.variant == variant).all(|of| of.met == Some(true));
        let misses = |variant: usize| by().any(|of| of.variant == variant && of.met == Some(false));
        let met: Vec<usize> = asked.iter().copied().filter(|variant| meets(*variant)).collect();
        let open = asked.iter().filter(|variant| !meets(**variant) && !misses(**variant)).count();
        let what = what_is_asked(texts.len());
        let (by_whom, all, count) = (engine.name(), asked.len(), met.len());
        let who = match (count, open) {
            (0, 0) => format!("none of {all} variants meets {what}"),
            (0, _) => {
                let why = open_answers(by()).map_or(String::new(), |why| format!(": {why}"));
                format!("none of {all} variants is seen to meet {what}{why}")
            }
            (1, _) => format!("1 of {all} variants meets {what}"),
            _ if count == all => format!("all {all} variants meet {what}"),
            _ => format!("{count} of {all} variants meet {what}"),
        };
        let letters: usize = met.iter().map(|variant| report.variants[*variant].label.chars().count()).sum();
        let is_named = (1..=MOST_NAMED).contains(&count) && count < all && letters <= letters_most;
        let names: Vec<String> = met.iter().map(|variant| name(&report.variants[*variant])).collect();
        let names = if is_named { format!(": {}", names.join("; ")) } else { String::new() };
        let others = match (count, open) {
            (0, _) | (_, 0) => String::new(),
            (_, open) => format!(" Of {open} more it is not known."),
        };
        let sentence = format!("By {by_whom}, {who}{names}.{others}");
        Some(WhoMeets { objectives: texts.len(), is_named, sentence })
    };
    Engine::ALL.into_iter().filter_map(sentence).collect()
}

/// So many objectives, in words.
fn what_is_asked(objectives: usize) -> String {
    match objectives {
        1 => "the objective".to_owned(),
        2 => "both objectives".to_owned(),
        several => format!("all {several} objectives"),
    }
}

/// How many of these answers neither meet nor miss what was asked: `8 of 8 answers are undecided`; none where all do.
pub fn open_answers<'a>(answers: impl IntoIterator<Item = &'a ObjectiveAnswer>) -> Option<String> {
    let (mut all, mut undecided, mut without) = (0, 0, 0);
    for of in answers {
        all += 1;
        match (of.met, of.undecided) {
            (None, true) => undecided += 1,
            (None, false) => without += 1,
            (Some(_), _) => {}
        }
    }
    let is = if undecided == 1 { "is" } else { "are" };
    let has = if without == 1 { "has" } else { "have" };
    match (undecided, without) {
        (0, 0) => None,
        (_, 0) => Some(format!("{undecided} of {all} answers {is} undecided")),
        (0, _) => Some(format!("{without} of {all} answers {has} no number")),
        _ => Some(format!("of {all} answers {undecided} {is} undecided and {without} {has} no number")),
    }
}

#[cfg(test)]
mod tests {
    use sojourn_stats::Measure;

    use super::*;
    use crate::answer::Answer;

    /// So many variants, each with one objective by live that is met unless there is a reason.
    fn asked(reasons: &[&str]) -> Answers {
        let objective = |(variant, reason): (usize, &&str)| ObjectiveAnswer {
            text: "response_time_p99 < 1 s".to_owned(),
            variant,
            engine: Engine::Live,
            met: reason.is_empty().then_some(true),
            undecided: !reason.is_empty(),
            measured: "0.5 s".to_owned(),
            reason: (*reason).to_owned(),
        };
        let variant = |number: usize| VariantAnswers { label: format!("v{number}"), ..VariantAnswers::default() };
        Answers {
            variants: (0..reasons.len()).map(variant).collect(),
            objectives: reasons.iter().enumerate().map(objective).collect(),
            ..Answers::default()
        }
    }

    /// A reason of several objectives stands below them, and that of one beside it.
    #[test]
    fn a_reason_of_several_objectives_is_said_once() {
        let text = section(&asked(&["it was 3 ms late", "it was 5 ms late", "a core was busy"]));
        assert!(text.contains("<li>UNDECIDED by live, v0; v1: it was 3 to 5 ms late (most: v1)</li>"), "{text}");
        assert_eq!((text.matches("late").count(), text.matches("a core was busy").count()), (1, 1), "{text}");
        assert_eq!(text.matches("? undecided<br>0.5 s").count(), 3, "{text}");
    }

    /// A few are told one by one; of more a row says how many and which, and the page has each behind it.
    #[test]
    fn objectives_of_many_variants_are_one_row() {
        let few = section(&asked(&[""; FEW]));
        assert!(few.matches("<tr>").count() == 1 + FEW && !few.contains("<details>"), "{few}");
        let mut reasons = [""; 12];
        [2, 3, 5, 7, 11].iter().for_each(|late| reasons[*late] = "late");
        let mut report = asked(&reasons);
        (report.objectives[9].met, report.objectives[10].undecided) = (Some(false), true);
        report.objectives[10].met = None;
        let text = section(&report);
        let (folded, each) = text.split_once("<details>").unwrap();
        assert_eq!((folded.matches("<tr>").count(), each.matches("<tr>").count()), (2, 13), "{text}");
        let cell = "<td><span class=\"good\">\u{2713} 5 met</span><br><span class=\"bad\">\u{2717} 1 missed</span>: v9: 0.5 s<br>\
                    <span class=\"warn\">? 6 undecided</span>: v2; v3; v5; 3 more</td>";
        assert!(folded.contains(cell), "{folded}");
        let line = self::folded(&report)[0].line(&report);
        let told = "response_time_p99 < 1 s by live, of 12 variants: met 5, MISSED 1 (v9: 0.5 s), \
                    UNDECIDED 6 (v2; v3; v5; 3 more)";
        assert_eq!(line, told);
        // Of several that miss it the number is that of the one that is farthest off.
        for (variant, p99_s) in [(8, 3.0), (9, 2.0)] {
            let of = &mut report.objectives[variant];
            (of.met, of.undecided, of.measured) = (Some(false), false, format!("{p99_s} s"));
            let p99 = Measure::new("response_time_p99", "s", Estimate::Exact { value: p99_s });
            report.variants[variant].answers.push(Answer { measures: vec![p99], ..Answer::new(Engine::Live) });
        }
        let line = self::folded(&report)[0].line(&report);
        assert!(line.contains("met 4, MISSED 2 (v8; v9; worst v8: 3 s), UNDECIDED 6"), "{line}");
        // Of all nothing is named.
        let all = asked(&["late"; 12]);
        assert!(self::folded(&all)[0].line(&all).ends_with(": UNDECIDED 12"), "{}", self::folded(&all)[0].line(&all));
    }

    /// Names that would fill a headline are those of the table.
    #[test]
    fn long_names_are_counted() {
        let told = |label: &str| {
            let of = |variant: usize| ObjectiveAnswer {
                text: "p99 < 1 s".into(),
                variant,
                engine: Engine::Sim,
                met: Some(variant > 0),
                undecided: false,
                measured: String::new(),
                reason: String::new(),
            };
            let variant = |number: usize| {
                let label = format!("{label}{number}");
                VariantAnswers { label, ..VariantAnswers::default() }
            };
            let (objectives, variants) = ((0..10).map(of).collect(), (0..10).map(variant).collect());
            let answers = Answers { variants, objectives, ..Answers::default() };
            who_meets(&answers, 200, |of| of.label.clone()).remove(0)
        };
        let (short, long) = (told("v"), told("random \u{b7} overload-with-patience-"));
        assert!(short.is_named && short.sentence.contains(": v1; v2; "), "{}", short.sentence);
        assert!(!long.is_named, "{}", long.sentence);
        assert_eq!(long.sentence, "By sim, 9 of 10 variants meet the objective.");
    }

    /// Who passes is whoever meets every objective, not one of them.
    #[test]
    fn who_meets_every_objective_is_said() {
        let told = |met: &[[Option<bool>; 2]]| {
            let of = |(variant, met): (usize, &[Option<bool>; 2])| {
                let one = |text: &str, met: Option<bool>| ObjectiveAnswer {
                    text: text.into(),
                    variant,
                    engine: Engine::Sim,
                    met,
                    undecided: met.is_none(),
                    measured: String::new(),
                    reason: String::new(),
                };
                [one("p99 < 1 s", met[0]), one("error_ratio < 1 %", met[1])]
            };
            let objectives: Vec<ObjectiveAnswer> = met.iter().enumerate().flat_map(of).collect();
            let label = |number: usize| VariantAnswers { label: format!("v{number}"), ..VariantAnswers::default() };
            let variants = (0..met.len()).map(label).collect();
            let answers = Answers { variants, objectives, ..Answers::default() };
            let all = who_meets(&answers, usize::MAX, |of| of.label.clone());
            all.into_iter().map(|of| (of.objectives, of.sentence)).collect::<Vec<_>>()
        };
        let (yes, no) = (Some(true), Some(false));
        let found = told(&[[yes, yes], [yes, no], [no, yes], [yes, yes], [yes, None]]);
        let expected = "By sim, 2 of 5 variants meet both objectives: v0; v3. Of 1 more it is not known.";
        assert_eq!(found, [(2, expected.to_owned())]);
        assert_eq!(told(&[[yes, no], [no, yes]])[0].1, "By sim, none of 2 variants meets both objectives.");
        let many = [&[[yes, yes]; 11][..], &[[no, no]]].concat();
        assert_eq!(told(&many)[0].1, "By sim, 11 of 12 variants meet both objectives.");
        assert!(told(&[[yes, yes]]).is_empty(), "of one variant its objectives tell");
        // What could not be decided is not missed.
        let seen = "By sim, none of 2 variants is seen to meet both objectives";
        let open = |met: &[[Option<bool>; 2]]| told(met)[0].1.clone();
        assert_eq!(open(&[[None, None], [None, None]]), format!("{seen}: 4 of 4 answers are undecided."));
        assert_eq!(open(&[[yes, None], [no, no]]), format!("{seen}: 1 of 4 answers is undecided."));
        assert_eq!(open(&[[no, None], [yes, no]]), "By sim, none of 2 variants meets both objectives.");
    }

    /// An answer without a number is another thing than one that does not decide.
    #[test]
    fn answers_that_are_neither_met_nor_missed_are_counted() {
        let mut report = asked(&["late", "late", "", ""]);
        assert_eq!(open_answers(&report.objectives).as_deref(), Some("2 of 4 answers are undecided"));
        report.objectives[1].undecided = false;
        let both = "of 4 answers 1 is undecided and 1 has no number";
        assert_eq!(open_answers(&report.objectives).as_deref(), Some(both));
        report.objectives[0].undecided = false;
        assert_eq!(open_answers(&report.objectives).as_deref(), Some("2 of 4 answers have no number"));
        (report.objectives[0].met, report.objectives[1].met) = (Some(false), Some(true));
        assert_eq!(open_answers(&report.objectives), None);
    }
}
