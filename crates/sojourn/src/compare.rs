//! `sojourn compare A B`: two servers measured in turns, or two run folders set beside each other ([`folders`]).

mod folders;
mod rows;

use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::json;
use sojourn_lab::compare::{self, Comparison, Length, Spent};
use sojourn_load::order::{LoadSettings, Order, Tuning, span};
use sojourn_load::{Cause, Proof, Report};
use sojourn_stats::{Estimate, Span, Stream};

use crate::exit::{Exit, Failure, bad_input};
use crate::load::agents::Clients;
use crate::load::awake;
use crate::load::print;
use crate::load::run::{Runner, refused};
use crate::table;

use self::rows::{legend, table_of, to_json};

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
    /// Of two run folders with many variants, every metric of each
    #[arg(long, help_heading = "Output")]
    all: bool,
    /// Print the comparison as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn compare(arguments: &Arguments) -> Result<Exit, Failure> {
    let is_url = |text: &str| text.contains("://");
    match (is_url(&arguments.a), is_url(&arguments.b)) {
        (true, true) => servers(arguments),
        (false, false) => folders::compare(arguments),
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
    // What was asked for: a run that waits for late replies lasts longer, which is no setting.
    let each = match arguments.settings.requests {
        Some(requests) => Length::Requests(requests),
        None => Length::Seconds(span("--duration", &arguments.settings.duration).map_err(refused)?.as_secs_f64()),
    };
    let comparisons = pairs(&reports, each);
    let count = comparisons.len();
    let dropped = dropped(&reports, &comparisons);
    let doubts: Vec<String> =
        ["A", "B"].iter().zip(&reports).flat_map(|(name, reports)| doubts(name, reports)).collect();
    let interrupted = runner.interrupted();
    if arguments.json {
        let told = json!({
            "a": arguments.a, "b": arguments.b, "rounds": reports[1].len().min(reports[0].len()),
            "order": sides.iter().map(|side| ["A", "B"][*side]).collect::<String>(),
            "complete": !interrupted,
            "metrics": comparisons.iter().map(|of| to_json(of, count)).collect::<Vec<_>>(),
            "not_compared": dropped,
            "suspect": doubts,
            "runs": {"a": reports[0].iter().map(print::to_json).collect::<Vec<_>>(),
                     "b": reports[1].iter().map(print::to_json).collect::<Vec<_>>()},
        });
        table::outln(&serde_json::to_string_pretty(&told).expect("plain JSON"));
    } else {
        table::outln(&format!("A  {}\nB  {}\n{}", arguments.a, arguments.b, table_of(&comparisons, count)));
        let runs = reports[0].len() + reports[1].len();
        let told = format!("{runs} runs in turns; intervals at 95 % from the pairs, each for itself. {ABOUT_RATIOS}");
        table::outln(&format!("\n{}", table::paragraph("", &told)));
        legend(&comparisons, count).iter().for_each(|told| table::outln(&table::paragraph("", told)));
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

/// The two sides of each round beside each other, in runs that were to be so long.
fn pairs(reports: &[Reports; 2], each: Length) -> Vec<Comparison> {
    let [a, b] = reports;
    let Some(first) = a.first() else { return Vec::new() };
    let spent = Spent::Rounds { each };
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
    let failed = [failed(a), failed(b)];
    compared.map(|of| Comparison { spent, failed, ..of }).collect()
}

/// The share (1) of the requests that failed or were given up, in the mean over the runs; none where no run says it.
fn failed(reports: &[Report]) -> Option<f64> {
    let of_run = |report: &Report| {
        let known = ["error_ratio", "abandoned_ratio"].into_iter().filter_map(|metric| report.value(metric));
        known.reduce(|sum, share| sum + share)
    };
    let shares: Vec<f64> = reports.iter().filter_map(of_run).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
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
    let takes = |metric: &String| match compare::least_samples(metric) {
        Some(requests) => format!("{metric} (takes {requests} requests in a run)"),
        None => metric.clone(),
    };
    format!(
        "Not compared: {}. In fewer than two rounds both sides have a number of it: the runs are too short, or too few \
         requests come.",
        dropped.iter().map(takes).collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A percentile has a number where one sample lies beyond it.
    #[test]
    fn what_is_not_compared_says_what_it_takes() {
        let told = not_compared(&["response_time_p99.9".into(), "requests".into()]);
        assert!(
            told.starts_with("Not compared: response_time_p99.9 (takes 1000 requests in a run), requests. In"),
            "{told}"
        );
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
