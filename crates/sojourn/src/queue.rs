//! `sojourn queue 'M/G/1-PS' --arrivals LAW --service LAW`, by formula and by simulation.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use indicatif::{ProgressBar, ProgressStyle};
use sojourn_lab::missed;
use sojourn_lab::queue::QueueSettings;
use sojourn_stats::nearest;

use crate::exit::{Exit, Failure, bad_input};
use crate::{interrupt, table, value};

/// Answer a single queue
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The queue in Kendall's notation: A/S/c, A/S/c/room, A/S/c/room/population, and after a dash FCFS, PS, LPS(8), LAS,
    /// RR(10 ms), LCFS, LCFS-PR, SIRO, PRIO or PRIO-PR; c may be inf. A/S/c-JSQ: queues side by side, of which each job
    /// joins the shortest, or with JSQ(2) the shorter of two drawn ones
    queue: String,
    /// Law of the gaps between arrivals, e.g. 'exponential(rate = 0.8 /s)'; `utilization = 0.8` may stand for the rate.
    /// With a population: of the time that each member stays away
    #[arg(long)]
    arrivals: Option<String>,
    /// Law of the service times, e.g. 'hyperexponential(mean = 1 s, cv = 2)'
    #[arg(long)]
    service: Option<String>,
    /// Also the mean response time of jobs that need this service, e.g. '1 s, 10 s'
    #[arg(long = "size", visible_alias = "at", value_delimiter = ',', value_name = "TIMES")]
    sizes: Vec<String>,
    /// Also the mean wait by every approximation that is known
    #[arg(long)]
    all: bool,
    /// A class with its priority, the most urgent first, once for each: NAME:ARRIVALS:SERVICE
    #[arg(long = "class", value_name = "CLASS", conflicts_with_all = ["arrivals", "service", "sizes", "all"])]
    classes: Vec<String>,
    /// Who answers: theory, sim or both [default: theory; sim with a trace]
    #[arg(long, value_name = "ENGINES", value_delimiter = ',')]
    by: Vec<String>,
    #[command(flatten)]
    simulation: Simulation,
    /// Print the outcome rows as JSON
    #[arg(long)]
    json: bool,
}

/// What only a simulation takes.
#[derive(clap::Args)]
struct Simulation {
    /// Jobs that the simulation draws, e.g. 1e9
    #[arg(long, value_name = "N", default_value = "1e6", value_parser = count)]
    jobs: u64,
    /// Play the gaps and demands of this file: `gap,demand` lines, a plan, or records as CSV; plain or gzip
    #[arg(long, value_name = "FILE", conflicts_with_all = ["arrivals", "service", "classes", "sizes", "all", "jobs"])]
    trace: Option<PathBuf>,
    /// How many times faster the requests of the trace come
    #[arg(long, value_name = "X", default_value_t = 1.0, requires = "trace")]
    speed: f64,
    /// Jobs at the start that are not counted, with JSQ at the start of each of its 20 replications [default: a tenth of
    /// those drawn, none of a trace, as many as MSER-5 says with JSQ]
    #[arg(long, value_name = "N", value_parser = count)]
    warm_up: Option<u64>,
    /// Seed of the jobs drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads that play one long path of drawn jobs under FCFS; its numbers are the same on one [default: one per core]
    #[arg(long, value_name = "N", value_parser = value::count::<usize>)]
    threads: Option<usize>,
    /// Predict each job's response time when it comes, and say how wrong that was: `number` knows how many are inside and
    /// the mean demand, `demands` the demand of every job
    #[arg(long, value_name = "KNOWLEDGE")]
    predict: Option<String>,
}

pub(crate) fn queue(arguments: &Arguments) -> Result<Exit, Failure> {
    let settings = settings(arguments);
    settings.check().map_err(bad_input)?;
    let (theory, sim) = engines(arguments)?;
    if !sim {
        let answer = settings.theory().map_err(bad_input)?;
        match arguments.json {
            true => table::print_rows(&[("theory", &answer.measures)]),
            false => table::print_measures(&answer.measures, &answer.notes),
        }
        return Ok(Exit::Ok);
    }
    settings.check_sim().map_err(bad_input)?;
    let known = theory.then(|| settings.theory());
    let cancel = interrupt::flag();
    let bar = bar(settings.trace.is_none().then_some(settings.jobs), arguments.json);
    let report = settings.sim(&cancel, &|jobs| bar.set_position(jobs));
    bar.finish_and_clear();
    let report = report.map_err(|error| match cancel.load(Ordering::Relaxed) {
        true => Failure { exit: Exit::Interrupted, message: error.to_string() },
        false => bad_input(error),
    })?;
    let mut notes = Vec::new();
    let mut answers = Vec::new();
    match &known {
        Some(Ok(answer)) => {
            notes.extend(answer.notes.iter().map(|note| format!("theory: {note}")));
            answers.push(("theory", &answer.measures[..]));
        }
        Some(Err(error)) => notes.push(format!("theory: {error}")),
        None => {}
    }
    notes.extend(report.notes.iter().map(|note| format!("sim: {note}")));
    if let Some(Ok(answer)) = &known {
        notes.extend(missed(&answer.measures, &report.measures).map(|missed| format!("sim: {missed}")));
    }
    notes.push(format!("sim: {} jobs", report.jobs));
    answers.push(("sim", &report.measures[..]));
    match arguments.json {
        true => table::print_rows(&answers),
        false => table::print_beside(&answers, &notes),
    }
    Ok(if cancel.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Ok })
}

fn settings(arguments: &Arguments) -> QueueSettings {
    let Simulation { jobs, trace, speed, warm_up, seed, threads, predict } = &arguments.simulation;
    QueueSettings {
        arrivals: arguments.arrivals.clone(),
        service: arguments.service.clone(),
        sizes: arguments.sizes.clone(),
        all: arguments.all,
        classes: arguments.classes.clone(),
        jobs: *jobs,
        trace: trace.clone(),
        speed: *speed,
        warm_up: *warm_up,
        seed: *seed,
        threads: *threads,
        predict: predict.clone(),
        ..QueueSettings::new(&arguments.queue)
    }
}

/// So many jobs take hours; more are a slip of the exponent.
const JOBS_MOST: f64 = 1e12;

/// A whole number, also as `1e9`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if (1.0..=JOBS_MOST).contains(&number) && number.fract() == 0.0 => Ok(number as u64),
        _ => Err("a whole number of at least 1 and at most 1e12, such as 1000000 or 1e6".into()),
    }
}

/// Whether theory and sim are asked.
fn engines(arguments: &Arguments) -> Result<(bool, bool), Failure> {
    let traced = arguments.simulation.trace.is_some();
    if arguments.by.is_empty() {
        return Ok((!traced, traced));
    }
    for engine in &arguments.by {
        match engine.trim() {
            "theory" | "both" if traced => {
                return Err(bad_input("--by theory: formulas need laws, not a trace; leave it out"));
            }
            "theory" | "sim" | "both" => {}
            other => {
                let right = match nearest(other, ["theory", "sim", "both"]) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "a queue is answered by theory, sim or both".to_owned(),
                };
                return Err(bad_input(format!("--by {other}: {right}")));
            }
        }
    }
    let asks = |name: &str| arguments.by.iter().any(|engine| [name, "both"].contains(&engine.trim()));
    Ok((asks("theory"), asks("sim")))
}

/// How far it is, on a terminal only.
fn bar(length: Option<u64>, quiet: bool) -> ProgressBar {
    let bar = match (length, !quiet && std::io::stderr().is_terminal()) {
        (_, false) => ProgressBar::hidden(),
        (Some(jobs), true) => ProgressBar::new(jobs),
        (None, true) => ProgressBar::no_length(),
    };
    let style = "[{bar:20}] {human_pos} jobs, {per_sec} ({elapsed}, {eta} left)";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is valid").progress_chars("=> "));
    bar
}
