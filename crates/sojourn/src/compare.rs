//! `sojourn compare A B`: two servers measured in turns, or two run folders set beside each other.

use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};
use sojourn_lab::compare::{self, Between, Comparison, Spent};
use sojourn_lab::outcome::ratio;
use sojourn_lab::{Answers, Verdict};
use sojourn_load::order::{LoadSettings, Order, Tuning, span};
use sojourn_load::{Cause, Proof, Report};
use sojourn_stats::{Estimate, Span, Stream};

use crate::exit::{Exit, Failure, bad_input};
use crate::load::agents::Clients;
use crate::load::awake;
use crate::load::print;
use crate::load::run::{Runner, refused};
use crate::table;

/// Compare two servers by measurement, or two run folders
///
/// Two URLs get the same load in turns, one run each per round, in an order that is drawn and then reversed (ABBA), so
/// that neither a drift of the machine nor a habit of going first favours one. Intervals come from the pairs. Two run
/// folders are compared variant by variant, paired where their replications share seeds.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// http://HOST:PORT/PATH, or a run folder
    a: String,
    /// Of the same kind
    b: String,
    #[command(flatten)]
    settings: LoadSettings,
    #[command(flatten)]
    clients: Clients,
    /// Rounds: a run of A and one of B each
    #[arg(long, default_value_t = 5, help_heading = "Measurement")]
    rounds: u32,
    /// Between runs
    #[arg(long, value_name = "TIME", default_value = "500 ms", help_heading = "Measurement")]
    pause: String,
    /// Show nothing while running
    #[arg(long, short = 'q', help_heading = "Output")]
    quiet: bool,
    /// Print the comparison as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn compare(arguments: &Arguments) -> Result<Exit, Failure> {
    let is_url = |text: &str| text.contains("://");
    match (is_url(&arguments.a), is_url(&arguments.b)) {
        (true, true) => servers(arguments),
        (false, false) => runs(arguments),
        _ => Err(bad_input("compare takes two URLs, or two run folders, not one of each")),
    }
}

/// The runs of one side, or of both.
type Reports = Vec<Report>;

fn servers(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.rounds < 2 {
        return Err(bad_input("--rounds: at least 2, or there is no interval; 5 are usual"));
    }
    let pause = span("--pause", &arguments.pause).map_err(refused)?;
    if arguments.settings.record.is_some() {
        return Err(bad_input("--record writes one run; a comparison is several"));
    }
    let order = |url| Order::new(std::slice::from_ref(url), &arguments.settings).map_err(refused);
    let orders = [order(&arguments.a)?, order(&arguments.b)?];
    // What is wrong with the second is said before the first has run for a while.
    for order in &orders {
        order.load().map_err(refused)?;
    }
    orders[0].no_work().iter().for_each(|told| table::errln(&format!("note: {told}")));
    let _awake = awake(&arguments.settings.awake)?;
    let runner = Runner::new(&arguments.clients, arguments.settings.yes_i_may, arguments.quiet)?;
    let mut reports: [Reports; 2] = Default::default();
    let sides = turns(arguments.rounds, arguments.settings.seed);
    for (number, &side) in sides.iter().enumerate() {
        let round = number / 2;
        let tuning = Tuning { round: round as u64, ..Tuning::default() };
        let label = format!("{}/{} {}", round + 1, arguments.rounds, ["A", "B"][side]);
        let report = runner.run(&orders[side].tuned(tuning), &label)?;
        if runner.interrupted() {
            break;
        }
        reports[side].push(report);
        if number + 1 < sides.len() {
            wait(pause, &runner);
        }
    }
    let comparisons = pairs(&reports);
    let dropped = dropped(&reports, &comparisons);
    let doubts: Vec<String> =
        ["A", "B"].iter().zip(&reports).flat_map(|(name, reports)| doubts(name, reports)).collect();
    let interrupted = runner.interrupted();
    if arguments.json {
        let told = json!({
            "a": arguments.a, "b": arguments.b, "rounds": reports[1].len().min(reports[0].len()),
            "order": sides.iter().map(|side| ["A", "B"][*side]).collect::<String>(),
            "complete": !interrupted,
            "metrics": comparisons.iter().map(to_json).collect::<Vec<_>>(),
            "not_compared": dropped,
            "suspect": doubts,
            "runs": {"a": reports[0].iter().map(print::to_json).collect::<Vec<_>>(),
                     "b": reports[1].iter().map(print::to_json).collect::<Vec<_>>()},
        });
        table::outln(&serde_json::to_string_pretty(&told).expect("plain JSON"));
    } else {
        table::outln(&format!("A  {}\nB  {}\n{}", arguments.a, arguments.b, rows(&comparisons)));
        let runs = reports[0].len() + reports[1].len();
        let told = format!("{runs} runs in turns; intervals at 95 % from the pairs, each for itself. {ABOUT_RATIOS}");
        table::outln(&format!("\n{}", table::paragraph("", &told)));
        if !dropped.is_empty() {
            table::outln(&table::paragraph("", &not_compared(&dropped)));
        }
        for told in compare::advice(&comparisons) {
            table::outln(&table::paragraph("", &told));
        }
        if doubts.is_empty() {
            table::outln(if interrupted { "INCOMPLETE" } else { "VALID" });
        } else {
            table::outln("SUSPECT");
            doubts.iter().for_each(|doubt| table::outln(&table::hanging("  ", "    ", doubt)));
        }
    }
    Ok(match (interrupted, doubts.is_empty()) {
        (true, _) => Exit::Interrupted,
        (false, false) => Exit::Missed,
        (false, true) => Exit::Ok,
    })
}

/// Whose turn it is: both once a round, the first drawn in every other round and reversed in the one after.
fn turns(rounds: u32, seed: u64) -> Vec<usize> {
    let mut stream = Stream::new(seed, "compare", "order");
    let mut first = 0;
    let mut sides = Vec::new();
    for round in 0..rounds {
        first = if round % 2 == 0 { stream.below(2) } else { 1 - first };
        sides.extend([first, 1 - first]);
    }
    sides
}

fn wait(pause: Span, runner: &Runner) {
    // Nothing is ever sent: a wait for an event that may come early only as the wish to stop.
    let (_keep, event) = channel::<()>();
    let mut left = pause.as_std();
    let slice = Duration::from_millis(50);
    while !left.is_zero() && !runner.interrupted() {
        let _ = event.recv_timeout(left.min(slice));
        left = left.saturating_sub(slice);
    }
}

fn pairs(reports: &[Reports; 2]) -> Vec<Comparison> {
    let [a, b] = reports;
    let Some(first) = a.first() else { return Vec::new() };
    let each_s = reports.iter().flatten().map(|report| report.elapsed_s).fold(0.0, f64::max);
    // Three digits are enough to plan with.
    let spent = Spent::Rounds { each_s: format!("{each_s:.2e}").parse().unwrap_or(each_s) };
    let compared = first.measures.iter().filter(|measure| !measure.metric.starts_with("lateness_")).filter_map(|m| {
        let all = |reports: &'_ Reports| {
            let of_metric = |report: &'_ sojourn_load::Report| {
                report.measures.iter().find(|of| of.metric == m.metric).map(|of| of.estimate.clone())
            };
            let estimates: Vec<Estimate> = reports.iter().filter_map(of_metric).collect();
            compare::together(&m.metric, &estimates.iter().collect::<Vec<_>>())
        };
        // Where every run saw none, or all, the pairs do not differ, and yet may.
        if let (Some(a), Some(b)) = (all(a), all(b)) {
            return Comparison::of_estimates(&m.metric, &m.unit, &a, &b);
        }
        let values = a.iter().zip(b).filter_map(|(a, b)| Some((a.value(&m.metric)?, b.value(&m.metric)?)));
        Comparison::of_pairs(&m.metric, &m.unit, &values.collect::<Vec<_>>()).map(Comparison::in_buckets)
    });
    compared.map(|of| Comparison { spent, ..of }).collect()
}

/// Why runs of `name` are not VALID: each cause once, with how many of them have it and what the first of these says. One cause
/// may be why another is there, as too few connections are of too few requests.
fn doubts(name: &str, reports: &Reports) -> Vec<String> {
    // None is that a run was stopped.
    let mut causes: Vec<(Option<Cause>, String, Vec<usize>)> = Vec::new();
    for (number, report) in reports.iter().enumerate() {
        let told: Vec<(Option<Cause>, String)> = match &report.verdict {
            Proof::Valid => Vec::new(),
            Proof::Suspect(doubts) => doubts.iter().map(|doubt| (Some(doubt.cause), doubt.to_string())).collect(),
            Proof::Incomplete(why) => vec![(None, why.clone())],
        };
        for (cause, text) in told {
            match causes.iter_mut().find(|(known, ..)| *known == cause) {
                // A run may say two things of one cause.
                Some((.., runs)) if runs.last() == Some(&number) => {}
                Some((.., runs)) => runs.push(number),
                None => causes.push((cause, text, vec![number])),
            }
        }
    }
    let line = |(_, text, runs): &(Option<Cause>, String, Vec<usize>)| {
        format!("{name}: {} of {} runs, e.g. {text}", runs.len(), reports.len())
    };
    causes.iter().map(line).collect()
}

fn runs(arguments: &Arguments) -> Result<Exit, Failure> {
    let open = |path: &str| Answers::open(path).map_err(bad_input);
    let (a, b) = (open(&arguments.a)?, open(&arguments.b)?);
    let compared = compare::runs(&a, &b).map_err(bad_input)?;
    let verdict = a.verdict.max(b.verdict);
    if arguments.json {
        let rows: Vec<Value> = compared
            .iter()
            .map(|c| {
                json!({"variant": c.label, "engine": c.engine,
                       "metrics": c.metrics.iter().map(to_json).collect::<Vec<_>>(), "left_out": c.left_out,
                       "replications": {"a": c.replications.0, "b": c.replications.1}})
            })
            .collect();
        let differ = differing(&a, &b);
        let differ: Vec<Value> = differ.iter().map(|(key, a, b)| json!({"setting": key, "a": a, "b": b})).collect();
        let told = json!({"a": arguments.a, "b": arguments.b, "verdict": verdict, "differ": differ, "variants": rows,
                          "not_compared": alone(&a, &b)});
        table::outln(&serde_json::to_string_pretty(&told).expect("plain JSON"));
    } else {
        table::outln(&format!("A  {} ({})\nB  {} ({})", arguments.a, a.name, arguments.b, b.name));
        in_what(&differing(&a, &b)).iter().for_each(|line| table::outln(line));
        for variant in &compared {
            let of = table::paragraph("", &format!("{}, {}", variant.label, variant.engine));
            table::outln(&format!("\n{of}\n{}", rows(&variant.metrics)));
            if !variant.left_out.is_empty() {
                let why = "one of the two has no interval of it";
                table::outln(&table::paragraph("", &format!("Not compared: {}: {why}.", variant.left_out.join(", "))));
            }
            let about = variant.unpaired().into_iter().chain(compare::advice(&variant.metrics));
            about.for_each(|told| table::outln(&table::paragraph("", &told)));
        }
        table::outln(&format!("\n{}", table::paragraph("", ABOUT_RATIOS)));
        for (name, label) in alone(&a, &b) {
            table::outln(&table::hanging("  ", "    ", &format!("only {name} has the variant {label}")));
        }
        let reasons = [("A", &a), ("B", &b)].map(|(name, answers)| answers.reasons.iter().map(move |r| (name, r)));
        for (name, reason) in reasons.into_iter().flatten() {
            table::outln(&table::hanging("  ", "    ", &format!("{name}: {reason}")));
        }
    }
    Ok(if verdict == Verdict::Valid { Exit::Ok } else { Exit::Missed })
}

/// The settings of the experiments in which two runs differ, and what else made them: name, value in A and in B.
fn differing(a: &Answers, b: &Answers) -> Vec<(String, String, String)> {
    let settings = compare::differing(&[&a.spec, &b.spec]);
    let mut all: Vec<(String, String, String)> = settings
        .into_iter()
        .filter_map(|(key, values)| Some((key, values.first()?.clone(), values.last()?.clone())))
        .collect();
    let others = [("seed", a.seed.to_string(), b.seed.to_string()), ("version", a.version.clone(), b.version.clone())];
    for (key, of_a, of_b) in others {
        if of_a != of_b && all.iter().all(|(known, ..)| known != key) {
            all.push((key.to_owned(), of_a, of_b));
        }
    }
    all
}

/// More settings that differ are counted; a page of both runs has all (`sojourn report A B`).
const DIFFERENCES_MOST: usize = 12;

/// In what two runs differ, in lines.
fn in_what(differ: &[(String, String, String)]) -> Vec<String> {
    let line = |(key, a, b): &(String, String, String)| {
        table::hanging("  ", "    ", &format!("{key}: {} in A, {} in B", short(a), short(b)))
    };
    let mut lines = vec![match differ.is_empty() {
        true => "Their experiments are the same.".to_owned(),
        false => "Their experiments differ in".to_owned(),
    }];
    lines.extend(differ.iter().take(DIFFERENCES_MOST).map(line));
    let more = differ.len().saturating_sub(DIFFERENCES_MOST);
    if more > 0 {
        lines.push(format!("  and {more} more settings: `sojourn report A B` lists them"));
    }
    lines
}

/// A value as far as it fits in a line.
fn short(value: &str) -> String {
    const MOST: usize = 60;
    let line: String = value.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() {
        0..=MOST => line,
        _ => line.chars().take(MOST).chain(['\u{2026}']).collect(),
    }
}

/// The variants that only one of two runs has, with its name.
fn alone<'a>(a: &'a Answers, b: &'a Answers) -> Vec<(&'static str, &'a str)> {
    let (of_a, of_b): (Vec<usize>, Vec<usize>) = compare::in_common(a, b).into_iter().unzip();
    let missing = |name, of: &'a Answers, common: &[usize]| -> Vec<(&'static str, &'a str)> {
        let rest = of.variants.iter().enumerate().filter(|(place, _)| !common.contains(place));
        rest.map(|(_, variant)| (name, variant.label.as_str())).collect()
    };
    [missing("A", a, &of_a), missing("B", b, &of_b)].concat()
}

/// What a reader of the ratios must know.
const ABOUT_RATIOS: &str =
    "B / A is the mean ratio of the pairs, by their logarithms, and so not quite B over A of the two columns.";

/// What some run has measured and is not compared, in the order of the runs.
fn dropped(reports: &[Reports; 2], comparisons: &[Comparison]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let measures = reports.iter().flatten().flat_map(|report| &report.measures);
    for measure in measures.filter(|of| !of.metric.starts_with("lateness_")) {
        let is_known = comparisons.iter().any(|of| of.metric == measure.metric) || all.contains(&measure.metric);
        if !is_known {
            all.push(measure.metric.clone());
        }
    }
    all
}

fn not_compared(dropped: &[String]) -> String {
    format!(
        "Not compared: {}. In fewer than two rounds both sides have a number of it: the runs are too short, or too few \
         requests come.",
        dropped.join(", ")
    )
}

const HEADER: [&str; 8] = ["metric", "A", "B", "B - A", "B / A", "effect", "from", "verdict"];

fn rows(comparisons: &[Comparison]) -> String {
    rows_in(comparisons, table::width())
}

/// The rows of a table so wide at most. Where it has no room for the own numbers of A and B beside what tells of both, they stand
/// above it in one of their own.
fn rows_in(comparisons: &[Comparison], width: usize) -> String {
    let cells: Vec<[String; 8]> = comparisons.iter().map(cells).collect();
    let of = |columns: &[usize], spare: &[usize]| {
        let header: Vec<&str> = columns.iter().map(|column| HEADER[*column]).collect();
        let place = |column: &usize| columns.iter().position(|of| of == column);
        let spare: Vec<usize> = spare.iter().filter_map(place).collect();
        let text: Vec<usize> = place(&7).into_iter().collect();
        let mut grid = table::Grid::new(&header).text(&text).spare(&spare);
        cells.iter().for_each(|row| grid.add_row(columns.iter().map(|column| row[*column].as_str())));
        grid
    };
    let drawn = match of(&[0, 1, 2, 4, 7], &[]).fits(width) {
        true => of(&[0, 1, 2, 3, 4, 5, 6, 7], &[5, 6, 3]).at_most(width),
        false => [of(&[0, 1, 2, 3], &[3, 1]).at_most(width), of(&[0, 4, 5, 6, 7], &[5, 6]).at_most(width)].join("\n"),
    };
    drawn.replace(TOGETHER, " ")
}

/// A space at which no line breaks, as long as a table is drawn.
const TOGETHER: char = '\u{a0}';
/// A verdict of up to so many letters, such as "B is slower", stays on its line.
const SHORT_VERDICT: usize = 11;

/// The cells of a row.
fn cells(c: &Comparison) -> [String; 8] {
    let difference = table::between((c.difference.value, c.difference.low, c.difference.high), &c.unit);
    // A verdict never stands without its interval, and the column of differences may have no room.
    let verdict = match c.verdict() {
        short if short.chars().count() <= SHORT_VERDICT => short.replace(' ', &TOGETHER.to_string()),
        long => long,
    };
    let ratio = c.ratio.map_or(format!("B - A {difference}"), |r| ratio(r.value, (r.low, r.high)));
    [
        c.metric.clone(),
        table::quantity(c.a, &c.unit),
        table::quantity(c.b, &c.unit),
        difference,
        ratio,
        c.effect_size.map_or(String::new(), |size| format!("{size:.1}")),
        c.how.to_string(),
        verdict,
    ]
}

fn to_json(c: &Comparison) -> Value {
    let ends = |between: &Between| json!({"estimate": between.value, "ci_low": between.low, "ci_high": between.high});
    json!({
        "metric": c.metric,
        "unit": c.unit,
        "a": c.a,
        "b": c.b,
        "difference": ends(&c.difference),
        "ratio": c.ratio.as_ref().map(ends),
        "effect_size": c.effect_size,
        "could_have_seen": c.could_have_seen,
        "more": c.more,
        "step": c.step,
        "differs": c.differs(),
        "from": c.how.to_string(),
        "verdict": c.verdict(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a usual terminal each side has its own number, and each verdict its interval.
    #[test]
    fn both_sides_are_told_at_any_usual_width() {
        let of = |metric: &str, a: f64, b: f64| {
            let pairs: Vec<(f64, f64)> = (0..5).map(|at| (a, b * (1.0 + 0.3 * f64::from(at)))).collect();
            Comparison::of_pairs(metric, "s", &pairs).unwrap()
        };
        let compared = [of("response_time_mean", 198.5e-6, 0.8), of("response_time_from_sent_mean", 0.0831, 0.5)];
        for width in [72, 80, 100, 200] {
            let told = rows_in(&compared, width);
            assert!(told.lines().all(|line| line.chars().count() <= width), "{width}:\n{told}");
            // 1.28 s is the mean of B.
            for part in ["198.5 us", "1.28 s", "83.10 ms", "B / A", "B is slower"] {
                assert!(told.contains(part), "{width}: {part}:\n{told}");
            }
        }
        let narrow = rows_in(&compared, 72);
        assert_eq!(narrow.matches("response_time_from_sent_mean").count(), 2, "two tables:\n{narrow}");
    }

    #[test]
    fn turns_are_fair_and_drawn() {
        let sides = turns(6, 1);
        assert_eq!(sides.iter().filter(|side| **side == 0).count(), 6);
        for four in sides.chunks(4) {
            let reversed: Vec<usize> = four.iter().rev().copied().collect();
            assert_eq!(four, reversed, "ABBA or BAAB");
        }
        assert!((0..20).any(|seed| turns(2, seed) != turns(2, 0)), "which goes first depends on the seed");
    }
}
