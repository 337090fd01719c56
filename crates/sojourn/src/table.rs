//! The terminal's view of a run's answers: theory, sim and live beside each other, and their differences.

mod failures;
mod grid;
mod measures;
mod names;
mod network;
mod objectives;
mod pairs;
mod scale;
mod text;
mod times;

use std::path::Path;

use serde_json::Value;
use sojourn_lab::report::{Said, doubts, open_answers, scope};
use sojourn_lab::{Answers, OF_FAULTS, VariantAnswers, Verdict};

use crate::exit::{Exit, Failure};

use failures::{failure_table, fault_table};
use network::network_table;
use pairs::pairs_table;
use times::{mean_table, tail_table};

pub(crate) use grid::Grid;
pub(crate) use measures::{print_beside, print_measures, print_rows};
pub(crate) use scale::{between, column, difference, number_of, quantity, with_interval};
pub(crate) use text::{errln, hanging, outln, paragraph, width, wrote};

/// Prints `answers`, whose folder is `path` (or their rows as JSON), and says how the program should end.
///
/// # Errors
/// When there is none.
pub(crate) fn print(answers: &Answers, path: &Path, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        outln(&serde_json::to_string_pretty(&rows(answers)).expect("outcome rows are plain JSON"));
    } else {
        outln(&text(answers, path));
    }
    match exit(answers) {
        exit @ Exit::Failed => Err(Failure { exit, message: unanswered(answers) }),
        exit => Ok(exit),
    }
}

/// The rows of a run as JSON: its outcomes, and behind them its pairs of variants.
pub(crate) fn rows(answers: &Answers) -> Vec<Value> {
    [answers.to_json(), answers.pairs_to_json()].concat()
}

/// How the program should end after this run. One that answered nothing has failed, however orderly it ended.
pub(crate) fn exit(answers: &Answers) -> Exit {
    match answers.verdict {
        Verdict::Incomplete => Exit::Interrupted,
        _ if answers.is_empty() => Exit::Failed,
        Verdict::Suspect => Exit::Missed,
        Verdict::Valid if !answers.objectives_met() => Exit::Missed,
        Verdict::Valid => Exit::Ok,
    }
}

/// Why a run that is good by itself ends with exit code 1.
fn none_meets(answers: &Answers) -> String {
    let open = open_answers(&answers.objectives).map_or(String::new(), |open| format!(": {open}"));
    format!("no variant was seen to meet every objective{open}")
}

/// Why there is no answer, in a line.
fn unanswered(answers: &Answers) -> String {
    let noted = answers.variants.iter().flat_map(|variant| &variant.answers);
    let why = noted.flat_map(|answer| answer.notes.iter().map(move |note| (answer.engine, note))).next();
    let why = why.map_or(String::new(), |(engine, note)| format!(": {engine}: {note}"));
    format!("no engine that was asked has an answer{why}")
}

/// A run in a line, for one of many.
pub(crate) fn line(answers: &Answers, path: &Path) -> String {
    let verdict = match answers.verdict {
        Verdict::Valid if answers.is_empty() => format!(", {}", unanswered(answers)),
        Verdict::Valid if !answers.objectives_met() => format!(", {}", none_meets(answers)),
        Verdict::Valid => String::new(),
        other => format!(", {}", other.word()),
    };
    let s = if answers.variants.len() == 1 { "" } else { "s" };
    let (name, variants, path) = (&answers.name, answers.variants.len(), path.display());
    let took = quantity(answers.elapsed_s, "s");
    hanging("", "  ", &format!("{name}: {variants} variant{s} in {took}{verdict}; {path}/report.html"))
}

fn text(answers: &Answers, path: &Path) -> String {
    let mut lines = vec![paragraph(
        "",
        &format!("{} (seed {}, took {})", answers.name, answers.seed, quantity(answers.elapsed_s, "s")),
    )];
    if answers.is_empty() {
        lines.push("\nNo engine has an answer.".into());
    } else {
        let mut tables: Vec<String> = mean_table(answers).into_iter().collect();
        tables.extend(tail_table(answers));
        tables.extend(failure_table(answers));
        tables.extend(fault_table(answers));
        tables.extend(pairs_table(answers));
        if let Some(table) = network_table(answers) {
            tables.push("\nChains and stations".into());
            tables.push(table);
        }
        // Only cells have these words; a name or a label may be one of them.
        let failures = answers.failures();
        let shown = || failures.iter().chain(&OF_FAULTS).map(|(metric, _)| *metric);
        let is_shown = |metric: &str| metric.contains("_time_") || shown().any(|of| of == metric);
        let has_sharp = answers.rows().any(|(_, _, of)| is_shown(&of.metric) && of.estimate.is_sharp());
        let said = tables.join("\n");
        lines.extend(tables);
        lines.extend(meanings(&said, has_sharp).map(|meaning| paragraph("  ", meaning)));
    }
    let notes = notes(&answers.variants);
    if !notes.is_empty() {
        lines.push("\nNotes".into());
        let all = answers.variants.len();
        lines.extend(notes.iter().map(|(text, variants)| match variants.len() {
            n if n == all => paragraph("  ", text),
            _ => paragraph("  ", &format!("[{}] {text}", scope(answers, variants))),
        }));
    }
    if !answers.objectives.is_empty() {
        lines.push("\nObjectives".into());
    }
    lines.extend(objectives::lines(answers));
    if !answers.objectives_met() {
        lines.push(paragraph("  ", &format!("exit code 1: {}", none_meets(answers))));
    }
    let is_live = answers.variants.iter().any(|variant| variant.trust().is_some());
    let has_happened = answers.variants.iter().any(|variant| variant.model_trust().is_some());
    if is_live || has_happened || answers.verdict != Verdict::Valid {
        let of = match (is_live, has_happened) {
            (true, true) => "Live, and the model against the log: ",
            (true, false) => "Live: ",
            (false, true) => "The model against the log: ",
            (false, false) => "",
        };
        lines.push(format!("\n{of}{}", answers.verdict.word()));
        let of_live = doubts(answers).into_iter().map(|(who, why)| format!("{who}: {why}"));
        let reasons = of_live.chain(answers.own_reasons().into_iter().map(str::to_owned));
        lines.extend(reasons.map(|reason| hanging("  ", "    ", &reason)));
    }
    lines.push(format!("\n{}", paragraph("", &format!("Everything is in {0}; open {0}/report.html", path.display()))));
    lines.join("\n")
}

/// What cells say in place of an interval, and what it means.
const CELL_WORDS: [(&str, &str); 3] = [
    (
        "(too short)",
        "too short: the run is too short, against the time that the system takes to settle, for an interval",
    ),
    ("(too few)", "too few: there are too few samples for an interval"),
    ("exactly ", "exactly: the interval has no width"),
];

/// Of the words that tables say, `exactly` only where some number is so. A narrow table breaks them between their parts.
fn meanings(tables: &str, has_sharp: bool) -> impl Iterator<Item = &'static str> + use<'_> {
    let is_said = move |words: &str| {
        words.split_whitespace().all(|part| tables.contains(part)) && (has_sharp || words != CELL_WORDS[2].0)
    };
    CELL_WORDS.iter().filter(move |(words, _)| is_said(words)).map(|(_, meaning)| *meaning)
}

/// What a reader of the table must know, once each, behind the engines that say it, with the variants of which they do. What
/// differs in its numbers only is said once ([`sojourn_lab::report::Note::told`]).
fn notes(variants: &[VariantAnswers]) -> Vec<(String, Vec<usize>)> {
    let mut notes: Vec<(Vec<&str>, String, Vec<usize>)> = Vec::new();
    for one in Said::of(variants, decides).notes {
        let (engine, note) = (one.engine.name(), one.told(variants));
        match notes.iter_mut().find(|(_, of, among)| *of == note && *among == one.variants) {
            Some((engines, ..)) => engines.push(engine),
            None => notes.push((vec![engine], note, one.variants)),
        }
    }
    notes.into_iter().map(|(engines, note, of)| (format!("{}: {note}", engines.join(", ")), of)).collect()
}

/// Whether a note says something that a reader of the table must know; the report has all of them.
fn decides(note: &str) -> bool {
    let details =
        ["Poisson arrivals", "exponential service", "totals:", "waiting_time_mean:", "response_time percentiles:"];
    let inside = ["separate queues", "were under way at the end"];
    !details.iter().any(|start| note.starts_with(start)) && !inside.iter().any(|part| note.contains(part))
}

#[cfg(test)]
mod tests {
    use sojourn_lab::{Answer, Engine};
    use sojourn_stats::{Estimate, Measure};

    use super::*;

    /// The last line of a run that is wholly undecided says that it is, not that its variants fail.
    #[test]
    fn the_line_of_the_exit_code_tells_what_is_undecided() {
        let objective = |variant: usize| sojourn_lab::ObjectiveAnswer {
            text: "response_time_p99 < 1 s".into(),
            variant,
            engine: Engine::Live,
            met: None,
            undecided: true,
            measured: String::new(),
            reason: String::new(),
        };
        let mut answers = Answers { objectives: vec![objective(0), objective(1)], ..Answers::default() };
        let seen = "no variant was seen to meet every objective";
        assert_eq!(none_meets(&answers), format!("{seen}: 2 of 2 answers are undecided"));
        answers.objectives.iter_mut().for_each(|of| (of.met, of.undecided) = (Some(false), false));
        assert_eq!(none_meets(&answers), seen);
    }

    const LONGEST_LAW: &str = "bounded-pareto(alpha = 1.5, min = 339.59 us, max = 1 s)";

    /// A point of a sweep by theory and sim. At the highest load some requests fail at four servers behind `random`.
    fn point((servers, law): (u32, &str), policy: &str, load: f64) -> VariantAnswers {
        let sampled = |metric: String, unit: &str, value: f64| {
            let (ci_low, ci_high) = (0.95 * value, 1.05 * value);
            Measure::new(metric, unit, Estimate::Sampled { value, ci_low, ci_high, samples: 999 })
        };
        let time_s = 0.001 / (1.0 - load);
        let mean = Measure::new("response_time_mean", "s", Estimate::Exact { value: time_s });
        let times = ["mean", "p90", "p99"].map(|of| sampled(format!("response_time_{of}"), "s", time_s));
        let failed = if servers == 4 && policy == "random" && load > 0.94 { 0.002 } else { 0.0 };
        let sim = [&times[..], &[sampled("error_ratio".into(), "1", failed)]].concat();
        VariantAnswers {
            label: format!("servers {servers}, {law}, {policy}, utilization {load}"),
            settings: Vec::new(),
            answers: vec![
                Answer { measures: vec![mean], ..Answer::new(Engine::Theory) },
                Answer { measures: sim, ..Answer::new(Engine::Sim) },
            ],
        }
    }

    /// Four sizes, three laws, three policies and six loads.
    fn swept() -> Answers {
        let laws = ["exponential(mean = 1 ms)", "lognormal(mean = 1 ms, cv = 2)", LONGEST_LAW];
        let points = |servers: u32, law: &str| {
            let policies = ["random", "least-connections", "power-of-d(d = 2)"];
            let of_policy = |policy| [0.5, 0.6, 0.7, 0.8, 0.9, 0.95].map(|load| point((servers, law), policy, load));
            policies.map(of_policy).concat()
        };
        let variants = [4, 16, 100, 1000].map(|servers| laws.map(|law| points(servers, law)).concat()).concat();
        Answers { name: "swept".into(), variants, ..Answers::default() }
    }

    /// A sweep is a line for each point and some for what is common to them, and what failed is in it.
    #[test]
    fn a_long_sweep_is_read_on_a_terminal() {
        let answers = swept();
        assert_eq!(answers.variants.len(), 216);
        let told = text(&answers, Path::new("runs/swept"));
        assert!(told.lines().count() < 400, "{} lines:\n{told}", told.lines().count());
        let (means, _) = told.split_once("Tail of").unwrap();
        assert_eq!(means.matches("utilization 0.95").count(), 36, "{told}");
        let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "Tail of the response time: 216 variants, in report.html and, with all percentiles, in outcomes.csv",
            "Nothing was seen to go wrong at 213 others",
        ] {
            assert!(words.contains(part), "{part}:\n{told}");
        }
        // A few have their tail, and in what went wrong a row for the one where something did.
        let few = Answers { variants: answers.variants[..12].to_vec(), ..answers };
        let told = text(&few, Path::new("runs/few"));
        assert!(told.contains("p99 sim") && told.contains("Nothing was seen to go wrong at 11 others"), "{told}");
    }

    /// A recovery that has no number is explained below its table.
    #[test]
    fn a_recovery_without_a_number_is_explained() {
        let variant = |policy: &str, estimate: Option<Estimate>| {
            let failed = Measure::new("during(fault).error_ratio", "1", Estimate::Exact { value: 0.5 });
            let recovery = estimate.map(|estimate| Measure::new("recovery_time", "s", estimate));
            let measures = recovery.into_iter().chain([failed]).collect();
            VariantAnswers {
                label: policy.into(),
                settings: vec![("policy".into(), policy.into())],
                answers: vec![Answer { measures, ..Answer::new(Engine::Sim) }],
            }
        };
        let told = |random: Option<Estimate>| {
            let variants = vec![variant("random", random), variant("jsq", Some(Estimate::Exact { value: 3.0 }))];
            let table =
                fault_table(&Answers { settings: vec!["policy".into()], variants, ..Answers::default() }).unwrap();
            table.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let (never, none) = (told(Some(Estimate::TooFew { samples: 0 })), told(None));
        assert!(never.contains("never: it had not recovered") && !never.contains("as a recovery:"), "{never}");
        assert!(none.contains("- as a recovery: whether it recovered cannot be said"), "{none}");
        assert!(!none.contains("never:"), "{none}");
    }

    #[test]
    fn what_a_narrow_table_breaks_over_lines_is_explained() {
        let of = |tables: &str| meanings(tables, true).map(|meaning| &meaning[..9]).collect::<Vec<_>>();
        assert_eq!(of("| 5.65 (too | 9.93 |\n| short)     |      |"), ["too short"]);
        assert_eq!(of("| 5.65 (too few) | exactly 3 ms |"), ["too few: ", "exactly: "]);
        assert_eq!(of("| 5.65 | 9.93 |"), [""; 0]);
        assert!(meanings("| exactly-named | 9.93 |", false).next().is_none(), "a label is no number");
    }

    #[test]
    fn a_note_is_said_once_for_all_who_say_it_of_the_same_variants() {
        let noted = |(engine, notes): &(Engine, &[&str])| {
            let notes = notes.iter().map(|note| (*note).to_owned()).collect();
            Answer { notes, ..Answer::new(*engine) }
        };
        let variant = |label: &str, notes: &[(Engine, &[&str])]| VariantAnswers {
            label: label.into(),
            settings: Vec::new(),
            answers: notes.iter().map(noted).collect(),
        };
        let (theory, sim, twin) = (Engine::Theory, Engine::Sim, Engine::Twin);
        let variants = [
            variant("a", &[(theory, &["totals: left out"]), (sim, &["shared", "of a"]), (twin, &["shared"])]),
            variant("b", &[(sim, &["shared"]), (twin, &["shared", "of a"])]),
        ];
        let told = notes(&variants);
        let told: Vec<(&str, &[usize])> = told.iter().map(|(text, variants)| (&text[..], &variants[..])).collect();
        assert_eq!(told, [("sim, twin: shared", &[0, 1][..]), ("sim: of a", &[0]), ("twin: of a", &[1])]);
    }
}
