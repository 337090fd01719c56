//! The terminal's view of a run's answers: theory, sim and live beside each other, and their differences.

mod grid;
mod names;
mod objectives;
mod text;

use std::path::Path;

use serde_json::json;
use sojourn_lab::compare::Within;
use sojourn_lab::outcome::{asymmetric, range, ratio as told_ratio};
use sojourn_lab::report::{Said, doubts, scope};
use sojourn_lab::{
    Answers, Engine, OF_FAULTS, VariantAnswers, Verdict, between as between_ends, is_share, outwards,
    plus_minus as rounded_plus_minus, unrecovered,
};
use sojourn_stats::{Estimate, Measure};

use crate::exit::{Exit, Failure};

pub(crate) use grid::Grid;
pub(crate) use text::{errln, hanging, outln, paragraph, width, wrote};

/// Prints `answers`, whose folder is `path` (or their rows as JSON), and says how the program should end.
///
/// # Errors
/// When there is none.
pub(crate) fn print(answers: &Answers, path: &Path, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        outln(&serde_json::to_string_pretty(&answers.to_json()).expect("outcome rows are plain JSON"));
    } else {
        outln(&text(answers, path));
    }
    match exit(answers) {
        exit @ Exit::Failed => Err(Failure { exit, message: unanswered(answers) }),
        exit => Ok(exit),
    }
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
const NONE_MEETS: &str = "no variant was seen to meet every objective";

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
        Verdict::Valid if !answers.objectives_met() => format!(", {NONE_MEETS}"),
        Verdict::Valid => String::new(),
        other => format!(", {}", other.word()),
    };
    let s = if answers.variants.len() == 1 { "" } else { "s" };
    let (name, variants, path) = (&answers.name, answers.variants.len(), path.display());
    let took = quantity(answers.elapsed_s, "s");
    hanging("", "  ", &format!("{name}: {variants} variant{s} in {took}{verdict}; {path}/report.html"))
}

/// Prints measures of one engine, for verbs without a run folder.
pub(crate) fn print_measures(measures: &[Measure], notes: &[String], as_json: bool) {
    if as_json {
        let rows: Vec<_> = measures.iter().map(sojourn_lab::outcome::measure_to_json).collect();
        outln(&serde_json::to_string_pretty(&rows).expect("outcome rows are plain JSON"));
        return;
    }
    // Theory has no intervals, and then there is no column for them.
    let sampled = measures.iter().any(|measure| measure.estimate.interval().is_some());
    let header: &[&str] =
        if sampled { &["metric", "estimate", "interval (95 %)", "from"] } else { &["metric", "estimate", "how"] };
    let mut table = Grid::new(header);
    for measure in measures.iter().map(sojourn_lab::outcome::cut_at_zero) {
        let scale = Scale::of_measure(&measure);
        let value = measure.estimate.value().map_or("too few samples".into(), |value| scale.unit(value));
        let interval = match measure.estimate {
            Estimate::Sampled { .. } if measure.estimate.is_sharp() => Some("exactly".into()),
            Estimate::Sampled { ci_low, ci_high, .. } => Some(scale.ends(ci_low, ci_high)),
            Estimate::WithoutInterval { why, .. } => Some(format!("none: {}", why.words())),
            _ => None,
        };
        let from = match measure.estimate {
            Estimate::Sampled { samples, .. }
            | Estimate::WithoutInterval { samples, .. }
            | Estimate::TooFew { samples } => format!("{samples} samples"),
            Estimate::Exact { .. } => "exact".into(),
            Estimate::Approximate { .. } => "approximate".into(),
        };
        let interval = sampled.then(|| interval.unwrap_or_default());
        table.add_row([Some(measure.metric.clone()), Some(value), interval, Some(from)].into_iter().flatten());
    }
    outln(&table.to_string());
    for note in notes {
        outln(&paragraph("  ", note));
    }
}

/// Prints measures of several engines beside each other, for verbs without a run folder.
pub(crate) fn print_beside(engines: &[(&str, &[Measure])], notes: &[String], as_json: bool) {
    if as_json {
        let row = |engine: &str, measure: &Measure| {
            let mut row = sojourn_lab::outcome::measure_to_json(measure);
            row["engine"] = json!(engine);
            row
        };
        let rows: Vec<_> =
            engines.iter().flat_map(|(engine, all)| all.iter().map(|measure| row(engine, measure))).collect();
        outln(&serde_json::to_string_pretty(&rows).expect("outcome rows are plain JSON"));
        return;
    }
    let mut table =
        Grid::new(&[&["metric"], &engines.iter().map(|(engine, _)| *engine).collect::<Vec<_>>()[..]].concat());
    let names = |all: &'_ [Measure]| all.iter().map(|measure| measure.metric.clone()).collect::<Vec<String>>();
    let metrics = merged(engines.iter().map(|(_, all)| names(all)));
    for metric in &metrics {
        let cell = |all: &[Measure]| {
            let found = all.iter().find(|measure| measure.metric == *metric);
            found.map_or("-".into(), |measure| in_scale(&measure.estimate, &Scale::of_measure(measure)))
        };
        table.add_row(std::iter::once(metric.clone()).chain(engines.iter().map(|(_, all)| cell(all))));
    }
    outln(&table.to_string());
    for note in notes {
        outln(&paragraph("  ", note));
    }
}

/// Lists as one, each in its own order: what only a later one has stands behind what is before it there.
fn merged(lists: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for list in lists {
        let mut place = 0;
        for name in list {
            match all.iter().position(|of| *of == name) {
                Some(at) => place = place.max(at + 1),
                None => {
                    all.insert(place, name);
                    place += 1;
                }
            }
        }
    }
    all
}

/// An estimate with the ends of its interval: `1.20 ms (1.10 to 1.30 ms)`.
pub(crate) fn with_interval(estimate: &Estimate, unit: &str) -> String {
    let scale = Scale::of_estimate(unit, estimate);
    match *estimate {
        Estimate::Sampled { value, .. } if estimate.is_sharp() => format!("exactly {}", scale.unit(value)),
        Estimate::Sampled { value, ci_low, ci_high, .. } => {
            format!("{} ({})", scale.unit(value), scale.ends(ci_low.max(0.0), ci_high))
        }
        Estimate::WithoutInterval { value, why, .. } => format!("{} (no interval: {})", scale.unit(value), why.words()),
        Estimate::Exact { value } | Estimate::Approximate { value } => scale.unit(value),
        Estimate::TooFew { .. } => "too few samples".into(),
    }
}

/// A number in the prefix in which it reads best.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    Scale::of(unit, Some(value)).unit(value)
}

/// A number with the ends of its interval, which may be on either side of 0.
pub(crate) fn between((value, low, high): (f64, f64, f64), unit: &str) -> String {
    let scale = Scale::of(unit, Some(value.abs().max(low.abs()).max(high.abs())));
    format!("{} ({})", scale.unit(value), scale.ends(low, high))
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
        lines.push(paragraph("  ", &format!("exit code 1: {NONE_MEETS}")));
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

/// None where no engine knows it.
fn mean_table(answers: &Answers) -> Option<String> {
    const MEAN: &str = "response_time_mean";
    let knows = |engine: &Engine| answers.variants.iter().any(|of| of.estimate(*engine, MEAN).is_some());
    let engines: Vec<Engine> = Engine::ALL.into_iter().filter(knows).collect();
    if engines.is_empty() {
        return None;
    }
    let mut header = vec!["variant"];
    header.extend(engines.iter().map(|engine| engine.name()));
    let against = [
        (Engine::Theory, Engine::Sim, "sim - theory"),
        (Engine::Twin, Engine::Live, "live - twin"),
        (Engine::Log, Engine::Sim, "sim - log"),
    ];
    let against: Vec<_> = against.into_iter().filter(|(a, b, _)| engines.contains(a) && engines.contains(b)).collect();
    let all = answers.variants.iter().flat_map(|of| engines.iter().map(|engine| of.estimate(*engine, MEAN)));
    let (title, scale) = titled("Mean response time", Scale::common("s", all.flatten()));
    header.extend(against.iter().map(|(_, _, title)| *title));
    // The twin is in its difference from live, which is what a reader wants of it.
    let spare = ["twin", "sim - theory", "live - twin", "theory", "live"];
    let spare: Vec<usize> = spare.iter().filter_map(|name| header.iter().position(|head| head == name)).collect();
    let mut table = Grid::new(&header).spare(&spare).elsewhere("report.html");
    names::add_rows(&mut table, &all_variants(answers), |variant| {
        let numbers = engines.iter().map(|engine| {
            let mark = if variant.is_of_few(*engine) { MARK_OF_FEW } else { "" };
            estimate(variant, *engine, MEAN, &scale) + mark
        });
        let differences = against.iter().map(|(reference, of, _)| {
            let value = |engine: &Engine| variant.estimate(*engine, MEAN).and_then(Estimate::value);
            match (value(reference), value(of)) {
                (Some(reference), Some(of)) if reference > 0.0 => format!("{:+.1} %", (of / reference - 1.0) * 100.0),
                _ => String::new(),
            }
        });
        numbers.chain(differences).collect()
    });
    let few = answers.variants.iter().any(|of| engines.iter().any(|engine| of.is_of_few(*engine)));
    Some(format!("\n{title}\n{table}{}", if few { legend_of_few() } else { String::new() }))
}

/// What the mark of so few means, on a line of its own.
fn legend_of_few() -> String {
    format!("\n{}", paragraph("  ", &format!("{}: {OF_FEW}", MARK_OF_FEW.trim())))
}

fn all_variants(answers: &Answers) -> Vec<&VariantAnswers> {
    answers.variants.iter().collect()
}

/// What marks response times of some requests only, and what is made of them.
const MARK_OF_FEW: &str = " *";
const OF_FEW: &str = "more than 1 % of the requests failed: response times are of those that were answered well";

/// A table's title, with the unit where all of its numbers have one; they are then written without.
fn titled(title: &str, common: Option<Scale>) -> (String, Option<Scale>) {
    match common {
        Some(Scale { factor, unit, range }) if !unit.is_empty() => {
            (format!("{title} ({unit})"), Some(Scale { factor, unit: String::new(), range }))
        }
        none => (title.into(), none),
    }
}

/// None where no engine knows anything of it; of a long sweep a line that says where it stands.
fn tail_table(answers: &Answers) -> Option<String> {
    let metric = |p: &str| format!("response_time_{p}");
    let columns: Vec<(&str, Engine)> = ["p90", "p99"]
        .into_iter()
        .flat_map(|p| Engine::ALL.map(|engine| (p, engine)))
        .filter(|(p, engine)| answers.variants.iter().any(|of| of.estimate(*engine, &metric(p)).is_some()))
        .collect();
    if columns.is_empty() {
        return None;
    }
    if answers.variants.len() > names::LONG {
        let title = format!("Tail of the response time: {} variants, in report.html", answers.variants.len());
        return Some(format!("\n{}", paragraph("", &format!("{title} and, with all percentiles, in outcomes.csv"))));
    }
    let of_variant =
        |of: &'_ VariantAnswers| columns.iter().map(|(p, engine)| of.estimate(*engine, &metric(p)).cloned()).collect();
    let all: Vec<Vec<Option<Estimate>>> = answers.variants.iter().map(of_variant).collect();
    let (title, scale) = titled("Tail of the response time", Scale::common("s", all.iter().flatten().flatten()));
    let mut header = vec!["variant".to_string()];
    header.extend(columns.iter().map(|(p, engine)| format!("{p} {engine}")));
    // Live stands beside its twin last of all.
    let spare = [
        ("p90", Engine::Theory),
        ("p99", Engine::Theory),
        ("p90", Engine::Twin),
        ("p90", Engine::Sim),
        ("p99", Engine::Sim),
        ("p90", Engine::Live),
    ];
    let place = |of: &(&str, Engine)| columns.iter().position(|column| column == of).map(|index| index + 1);
    let spare: Vec<usize> = spare.iter().filter_map(place).collect();
    let mut table = Grid::new(&header).spare(&spare).elsewhere("report.html");
    names::add_rows(&mut table, &all_variants(answers), |variant| {
        columns.iter().map(|(p, engine)| estimate(variant, *engine, &metric(p), &scale)).collect()
    });
    Some(format!("\n{title}\n{table}"))
}

/// What went wrong with requests, in every variant, or of a long sweep in those where something did; none where all went well.
fn failure_table(answers: &Answers) -> Option<String> {
    let (title, failures) = ("What went wrong", answers.failures());
    if answers.variants.len() <= names::LONG {
        return metrics_table(title, answers, &failures, &all_variants(answers));
    }
    let (failed, others): (Vec<_>, Vec<_>) = answers.variants.iter().partition(|of| of.has_failures());
    let table = metrics_table(title, answers, &failures, &failed)?;
    let rest = match others.len() {
        0 => String::new(),
        count => format!("Nothing was seen to go wrong at {count} others; report.html has all."),
    };
    Some(format!("{table}\n{}", paragraph("  ", &rest)).trim_end().to_owned())
}

/// What was while a fault lasted, and how long the system took to be as before; none where no fault is planned.
fn fault_table(answers: &Answers) -> Option<String> {
    metrics_table("While a fault lasts", answers, &OF_FAULTS, &all_variants(answers))
}

/// A row for each of these variants, with a column for each of these metrics and engine that has one; none where none has.
fn metrics_table(title: &str, answers: &Answers, all: &[(&str, &str)], variants: &[&VariantAnswers]) -> Option<String> {
    let columns: Vec<(&str, &str, Engine)> = all
        .iter()
        .flat_map(|(metric, words)| Engine::ALL.map(|engine| (*metric, *words, engine)))
        .filter(|(metric, _, engine)| answers.variants.iter().any(|of| of.measure(*engine, metric).is_some()))
        .collect();
    if columns.is_empty() {
        return None;
    }
    let cell = |variant: &VariantAnswers, (metric, _, engine): &(&str, &str, Engine)| {
        variant.measure(*engine, metric).map_or("-".into(), |of| match &of.estimate {
            Estimate::TooFew { samples } if *metric == "recovery_time" => unrecovered(*samples).to_owned(),
            estimate => in_scale(estimate, &Scale::of_measure(of)),
        })
    };
    let header = columns.iter().map(|(_, words, engine)| format!("{words} {engine}"));
    let header: Vec<String> = std::iter::once("variant".to_owned()).chain(header).collect();
    let mut table = Grid::new(&header);
    names::add_rows(&mut table, variants, |variant| columns.iter().map(|column| cell(variant, column)).collect());
    Some(format!("\n{title}\n{}", table.continued()))
}

/// Variants that are equal but for one setting, two by two; none where there are none, or too many to read.
fn pairs_table(answers: &Answers) -> Option<String> {
    let all = sojourn_lab::compare::within(answers, "response_time_mean");
    if all.is_empty() {
        return None;
    }
    if all.len() > PAIRS_LINES {
        return Some(format!("\nResponse time of B over A by sim: {} pairs of variants, in report.html", all.len()));
    }
    let p99 = sojourn_lab::compare::within(answers, "response_time_p99");
    let has_others = all.iter().any(|of| !of.others.is_empty());
    let names = ["at", "B", "A", "mean B / A", "p99 B / A"];
    let header = &names[usize::from(!has_others)..names.len() - usize::from(p99.is_empty())];
    let mut table = Grid::new(header).elsewhere("report.html");
    let about = sojourn_lab::compare::about_pairs(&[answers], &all);
    let ratio = |of: Option<&Within>| {
        let mark = if of.is_some_and(|of| of.is_of_few) { MARK_OF_FEW } else { "" };
        let ratio = of.and_then(|of| of.comparison.ratio);
        ratio.map_or("-".into(), |of| told_ratio(of.value, (of.low, of.high)) + mark)
    };
    for of in &all {
        let same = p99.iter().find(|other| (&other.others, &other.values) == (&of.others, &of.values));
        let ratios = [ratio(Some(of)), ratio(same)].into_iter().take(if p99.is_empty() { 1 } else { 2 });
        let others = has_others.then(|| of.others.clone());
        table.add_row(others.into_iter().chain([of.values.1.clone(), of.values.0.clone()]).chain(ratios));
    }
    let few = if all.iter().any(|of| of.is_of_few) { legend_of_few() } else { String::new() };
    Some(format!("\nResponse time of B over A by sim\n{table}{few}\n{}", text::paragraph("", &about)))
}

/// More pairs than this are left to the report.
const PAIRS_LINES: usize = 20;

/// More lines than this are not read on a terminal; the report and `outcomes.csv` have them.
const NETWORK_LINES: usize = 40;

/// What is known of each chain and station of a network; none of any other system.
fn network_table(answers: &Answers) -> Option<String> {
    let named = |prefix: &str| {
        let mut names: Vec<&str> = Vec::new();
        for name in answers.rows().filter_map(|(_, _, measure)| measure.metric.strip_prefix(prefix)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let stations = named("queue_length_mean_");
    let chains = named("throughput_").into_iter().filter(|name| !stations.contains(name));
    let names: Vec<&str> = chains.chain(stations.iter().copied()).collect();
    if stations.is_empty() || names.len() * answers.variants.len() > NETWORK_LINES {
        return None;
    }
    let shown = [
        ("response_time_mean", "response time", "s"),
        ("throughput", "throughput", "1/s"),
        ("utilization", "utilization", "1"),
        ("hit_ratio", "hit ratio", "1"),
    ];
    let cell = |variant: &VariantAnswers, (metric, name): (&str, &str), unit: &str, engine| {
        variant.estimate(engine, &format!("{metric}_{name}")).map(|estimate| plus_minus(estimate, unit))
    };
    let columns: Vec<_> = shown
        .into_iter()
        .flat_map(|(metric, title, unit)| [Engine::Theory, Engine::Sim].map(|engine| (metric, title, unit, engine)))
        .filter(|(metric, _, unit, engine)| {
            let known = |variant: &VariantAnswers| {
                names.iter().any(|name| cell(variant, (*metric, *name), unit, *engine).is_some())
            };
            answers.variants.iter().any(known)
        })
        .collect();
    let mut header = vec!["of".to_string()];
    header.extend(columns.iter().map(|(_, title, _, engine)| format!("{title} ({engine})")));
    let of_variant = |variant: &VariantAnswers| {
        let mut table = Grid::new(&header).elsewhere("report.html");
        for name in &names {
            let cells = columns.iter().map(|(metric, _, unit, engine)| {
                cell(variant, (*metric, *name), unit, *engine).unwrap_or_else(|| "-".into())
            });
            table.add_row([(*name).to_owned()].into_iter().chain(cells));
        }
        if answers.variants.len() == 1 { table.to_string() } else { format!("{}\n{table}", variant.label) }
    };
    let tables: Vec<String> = answers.variants.iter().map(of_variant).collect();
    Some(tables.join("\n"))
}

/// In the table's scale, or where it has none in the number's own.
fn estimate(variant: &VariantAnswers, engine: Engine, metric: &str, scale: &Option<Scale>) -> String {
    match (variant.estimate(engine, metric), scale) {
        (None, _) => "-".into(),
        (Some(estimate), Some(scale)) => in_scale(estimate, scale),
        (Some(estimate), None) => plus_minus(estimate, "s"),
    }
}

/// An estimate with how far its interval reaches, rounded up: `1.20 ± 0.10 ms`. One whose halves are far from equal, or that
/// reaches farther up than it is above 0, has both ends: `0.003 (0 to 0.103) %`.
fn plus_minus(estimate: &Estimate, unit: &str) -> String {
    in_scale(estimate, &Scale::of_estimate(unit, estimate))
}

fn in_scale(estimate: &Estimate, scale: &Scale) -> String {
    match *estimate {
        Estimate::Sampled { value, .. } => {
            if estimate.is_sharp() {
                return format!("exactly {}", scale.unit(value));
            }
            let scaled = |of: f64| of * scale.factor;
            let text = match asymmetric(estimate, scale.range) {
                Some((low, high)) => between_ends(scaled(value), (scaled(low), scaled(high))),
                None => rounded_plus_minus(scaled(value), scaled(estimate.reach().unwrap_or(f64::NAN))),
            };
            format!("{text} {}", scale.unit).replace('\u{a0}', " ").trim_end().into()
        }
        Estimate::WithoutInterval { value, why, .. } => {
            let why = why.name().replace('-', " ");
            format!("{} ({why})", scale.unit(value))
        }
        Estimate::Exact { value } => scale.unit(value),
        Estimate::Approximate { value } => format!("≈ {}", scale.unit(value)),
        Estimate::TooFew { .. } => "too few".into(),
    }
}

/// A number is not shown in another's prefix where that leaves less of it than this.
const LEGIBLE: f64 = 0.01;

/// Numbers of one metric below each other, in one prefix where none is lost in it; `-` where there is none. Their title
/// says the unit that all of them have.
pub(crate) fn column(title: &str, measures: &[Option<&Measure>]) -> (String, Vec<String>) {
    let unit = measures.iter().flatten().next().map_or("1", |measure| &measure.unit);
    let share = measures.iter().flatten().next().and_then(|measure| Scale::of_share(&measure.metric));
    let common = share.or(Scale::common(unit, measures.iter().flatten().map(|measure| &measure.estimate)));
    let (title, scale) = titled(title, common);
    let cell = |measure: &Measure| match &scale {
        Some(scale) => in_scale(&measure.estimate, scale),
        None => in_scale(&measure.estimate, &Scale::of_measure(measure)),
    };
    (title, measures.iter().map(|measure| measure.map_or("-".into(), cell)).collect())
}

/// The prefix in which a quantity reads best.
struct Scale {
    factor: f64,
    unit: String,
    /// Between which numbers, in the SI unit, its numbers are in any case.
    range: (f64, f64),
}

impl Scale {
    fn of(unit: &str, value: Option<f64>) -> Scale {
        let value = value.unwrap_or(1.0).abs();
        let (factor, unit) = match unit {
            "s" if 0.0 < value && value < 1e-6 => (1e9, "ns"),
            "s" if 0.0 < value && value < 1e-3 => (1e6, "us"),
            "s" if 0.0 < value && value < 1.0 => (1e3, "ms"),
            "B/s" if value >= 1e6 => (1e-6, "MB/s"),
            "B/s" if value >= 1e3 => (1e-3, "kB/s"),
            "B" if value >= 1e6 => (1e-6, "MB"),
            "B" if value >= 1e3 => (1e-3, "kB"),
            "1" => (1.0, ""),
            "1/s" => (1.0, "/s"),
            other => (1.0, other),
        };
        Scale { factor, unit: unit.into(), range: range("") }
    }

    /// Shares of requests are in per cent, as objectives have them; none of any other metric.
    fn of_share(metric: &str) -> Option<Scale> {
        is_share(metric).then(|| Scale { factor: 100.0, unit: "%".into(), range: range(metric) })
    }

    /// That of a measure by itself.
    fn of_measure(measure: &Measure) -> Scale {
        let own = || Scale { range: range(&measure.metric), ..Scale::of_estimate(&measure.unit, &measure.estimate) };
        Scale::of_share(&measure.metric).unwrap_or_else(own)
    }

    /// That of an estimate; of 0, that of the upper end of its interval.
    fn of_estimate(unit: &str, estimate: &Estimate) -> Scale {
        let upper = || estimate.interval().map(|(_, high)| high);
        Scale::of(unit, estimate.value().filter(|value| *value != 0.0).or_else(upper).or(estimate.value()))
    }

    /// One for numbers that are to be compared, that of the largest; none where the smallest would be lost in it.
    fn common<'a>(unit: &str, estimates: impl Iterator<Item = &'a Estimate>) -> Option<Scale> {
        let values: Vec<f64> =
            estimates.filter_map(Estimate::value).map(f64::abs).filter(|value| *value > 0.0).collect();
        let largest = values.iter().copied().reduce(f64::max)?;
        let scale = Scale::of(unit, Some(largest));
        values.iter().all(|value| value * scale.factor >= LEGIBLE).then_some(scale)
    }

    fn number(&self, value: f64) -> String {
        format!("{:.*}", self.digits(value), value * self.factor)
    }

    /// Digits behind the point that make about four in all, and never nothing of what is something.
    fn digits(&self, value: f64) -> usize {
        match (value * self.factor).abs() {
            size if size >= 100.0 => 1,
            size if size >= 1.0 => 2,
            0.0 => 0,
            size => (2.0 - size.log10().floor()).clamp(3.0, 12.0) as usize,
        }
    }

    /// The ends of an interval, rounded outwards.
    fn ends(&self, low: f64, high: f64) -> String {
        let outwards = |value: f64, is_upper: bool| match value.is_finite() {
            true => outwards(value, self.factor * 10_f64.powi(self.digits(value) as i32), is_upper),
            false => value,
        };
        format!("{} to {}", self.number(outwards(low, false)), self.unit(outwards(high, true)))
    }

    fn unit(&self, value: f64) -> String {
        if value == f64::INFINITY {
            return "infinite".into();
        }
        format!("{} {}", self.number(value), self.unit).trim_end().to_string()
    }
}

#[cfg(test)]
mod tests {
    use sojourn_lab::Answer;

    use super::*;

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
        // A few have their tail, and a row for each in what went wrong.
        let few = Answers { variants: answers.variants[..12].to_vec(), ..answers };
        let told = text(&few, Path::new("runs/few"));
        assert!(told.contains("p99 sim") && !told.contains("Nothing was seen"), "{told}");
    }

    /// A ratio of response times of which one is of some requests only has the same mark as its mean.
    #[test]
    fn ratios_of_few_are_marked() {
        let variant = |policy: &str, failed: f64| {
            let replications: Vec<Option<f64>> =
                (1..9).map(|of| Some(f64::from(of) * if policy == "jsq" { 1.0 } else { 1.1 })).collect();
            let sampled = |value: f64| {
                let (ci_low, ci_high) = (0.9 * value, 1.1 * value);
                Estimate::Sampled { value, ci_low, ci_high, samples: 9 }
            };
            let measures = vec![
                Measure::new("response_time_mean", "s", sampled(4.5)),
                Measure::new("error_ratio", "1", sampled(failed)),
            ];
            let replications = vec![("response_time_mean".to_owned(), replications)];
            VariantAnswers {
                label: policy.into(),
                settings: vec![("policy".into(), policy.into())],
                answers: vec![Answer { measures, replications, ..Answer::new(Engine::Sim) }],
            }
        };
        let told = |failed: f64| {
            let variants = vec![variant("random", failed), variant("jsq", 0.0)];
            pairs_table(&Answers { settings: vec!["policy".into()], variants, ..Answers::default() }).unwrap()
        };
        assert!(told(0.18).contains(") *") && told(0.18).contains("*: more than 1 %"), "{}", told(0.18));
        assert!(!told(0.005).contains('*'), "{}", told(0.005));
    }

    #[test]
    fn what_a_narrow_table_breaks_over_lines_is_explained() {
        let of = |tables: &str| meanings(tables, true).map(|meaning| &meaning[..9]).collect::<Vec<_>>();
        assert_eq!(of("| 5.65 (too | 9.93 |\n| short)     |      |"), ["too short"]);
        assert_eq!(of("| 5.65 (too few) | exactly 3 ms |"), ["too few: ", "exactly: "]);
        assert_eq!(of("| 5.65 | 9.93 |"), [""; 0]);
        assert!(meanings("| exactly-named | 9.93 |", false).next().is_none(), "a label is no number");
    }

    /// The simulator's mean is the first row, whether a formula has one or not.
    #[test]
    fn rows_of_several_engines_have_one_order() {
        let of = |lists: &[&[&str]]| {
            merged(lists.iter().map(|list| list.iter().map(|name| (*name).to_owned()).collect())).join(" ")
        };
        let sim = ["mean", "p50", "throughput", "number"];
        assert_eq!(of(&[&["mean", "wait", "p50", "throughput"], &sim]), "mean wait p50 throughput number");
        assert_eq!(of(&[&["service", "throughput", "share"], &sim]), "mean p50 service throughput number share");
        assert_eq!(of(&[&[], &sim]), "mean p50 throughput number");
        assert_eq!(of(&[&["number", "mean"], &sim]), "number mean p50 throughput");
    }

    /// What is shown holds the whole interval, and is not a digit wider than need be.
    #[test]
    fn what_stands_behind_plus_and_minus_is_rounded_up() {
        let of = |value: f64, ci_low: f64, ci_high: f64| {
            in_scale(
                &Estimate::Sampled { value, ci_low, ci_high, samples: 99 },
                &Scale::of_share("error_ratio").unwrap(),
            )
        };
        assert_eq!(of(0.0, 0.0, 0.00142), "0 (0 to 0.15) %");
        assert_eq!(of(3e-5, 0.0, 0.00103), "0.0030 (0 to 0.1030) %", "not minus 0.1 %");
        assert_eq!(of(2e-5, 1e-5, 0.00103), "0.0020 (0.0010 to 0.1030) %");
        assert_eq!(of(0.01, 0.009, 0.011), "1.00 ± 0.10 %");
        assert_eq!(of(0.01, 0.0091, 0.0113), "1.00 ± 0.13 %", "the farther end");
        assert_eq!(of(0.01, 0.0091, 0.0149), "1.00 (0.91 to 1.49) %", "which is much farther");
        assert_eq!(of(0.0, 0.0, 1.1e-5), "0 (0 to 0.0011) %");
        assert_eq!(of(0.5, 0.4561, 0.5439), "50.0 ± 4.4 %");
        let estimate = Estimate::Sampled { value: 1.00011, ci_low: 1.000_023, ci_high: 1.000_236, samples: 99 };
        let attempts = Measure::new("attempts_ratio", "1", estimate);
        let shown = in_scale(&attempts.estimate, &Scale::of_measure(&attempts));
        assert_eq!(shown, "1.00011 (1.00002 to 1.00024)", "no request is less than one attempt");
    }

    /// The ends of an interval hold all of it, in every prefix.
    #[test]
    fn ends_are_rounded_outwards() {
        let of = |unit: &str, value: f64, low: f64, high: f64| between((value, low, high), unit);
        assert_eq!(of("s", 0.03148, 0.031_479, 0.031_701), "31.48 ms (31.47 to 31.71 ms)");
        assert_eq!(of("s", 0.05, 0.05, 0.06), "50.00 ms (50.00 to 60.00 ms)");
        assert_eq!(of("s", 0.0999, 0.099_996, 0.099_997), "99.90 ms (99.99 to 100.0 ms)");
        assert_eq!(of("1", 0.5, -0.12345, 0.9), "0.500 (-0.124 to 0.900)");
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
