//! `sojourn queue 'M/G/1-PS' --arrivals LAW --service LAW`, by formula and by simulation.

mod simulate;

use std::sync::atomic::Ordering;

use sojourn_stats::{Dimension, Law, quantity};
use sojourn_theory::Answer;
use sojourn_theory::queue::{Class, Question, Queue};
use sojourn_traffic::Arrivals;

use crate::exit::{Exit, Failure, bad_input};
use crate::{interrupt, table};

/// Answer a single queue
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The queue in Kendall's notation: A/S/c, A/S/c/room, A/S/c/room/population, and after a dash FCFS, PS, LPS(8), LAS,
    /// RR(10 ms), LCFS, LCFS-PR, SIRO, PRIO or PRIO-PR
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
    simulation: simulate::Flags,
    /// Print the outcome rows as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn queue(arguments: &Arguments) -> Result<Exit, Failure> {
    let queue = Queue::parse(&arguments.queue).map_err(bad_input)?;
    let is_told = arguments.arrivals.is_some() && arguments.service.is_some();
    if !is_told && arguments.classes.is_empty() && arguments.simulation.trace.is_none() {
        return Err(bad_input(format!(
            "{}: say how jobs come and how long they take, e.g. --arrivals 'exponential(rate = 0.8 /s)' --service \
             'exponential(mean = 1 s)'",
            arguments.queue
        )));
    }
    let (theory, sim) = engines(arguments)?;
    if !sim {
        let answer = by_theory(arguments, &queue)?;
        table::print_measures(&answer.measures, &answer.notes, arguments.json);
        return Ok(Exit::Ok);
    }
    let asked = simulate::asked(arguments, &queue)?;
    let known = theory.then(|| by_theory(arguments, &queue));
    let cancel = interrupt::flag();
    let report = simulate::simulate(&asked, &cancel)?;
    let mut notes = Vec::new();
    let mut answers = Vec::new();
    match &known {
        Some(Ok(answer)) => {
            notes.extend(answer.notes.iter().map(|note| format!("theory: {note}")));
            answers.push(("theory", &answer.measures[..]));
        }
        Some(Err(failure)) => notes.push(format!("theory: {}", failure.message)),
        None => {}
    }
    notes.extend(report.notes.iter().map(|note| format!("sim: {note}")));
    notes.push(format!("sim: {} jobs", report.jobs));
    answers.push(("sim", &report.measures[..]));
    table::print_beside(&answers, &notes, arguments.json);
    Ok(if cancel.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Ok })
}

/// Whether theory and sim are asked.
fn engines(arguments: &Arguments) -> Result<(bool, bool), Failure> {
    let traced = arguments.simulation.trace.is_some();
    if arguments.by.is_empty() {
        return Ok((!traced, traced));
    }
    for engine in &arguments.by {
        match engine.trim() {
            "theory" if traced => return Err(bad_input("--by theory: formulas need laws, not a trace; leave it out")),
            "theory" | "sim" => {}
            other => return Err(bad_input(format!("--by {other}: a queue is answered by theory, by sim, or by both"))),
        }
    }
    let asks = |name: &str| arguments.by.iter().any(|engine| engine.trim() == name);
    Ok((asks("theory"), asks("sim")))
}

fn by_theory(arguments: &Arguments, queue: &Queue) -> Result<Answer, Failure> {
    let answer = match (&arguments.arrivals, &arguments.service) {
        (Some(arrivals), Some(service)) => {
            let service = service_law("--service", service)?;
            let gaps = gaps_law("--arrivals", arrivals, queue, &service)?;
            let sizes_s = arguments.sizes.iter().map(|text| {
                quantity::parse(text.trim(), Dimension::Time).map_err(|e| bad_input(format!("--size: {e}")))
            });
            let sizes_s = sizes_s.collect::<Result<Vec<f64>, Failure>>()?;
            queue.answer_to(&Question { gaps: &gaps, service: &service, sizes_s: &sizes_s, all: arguments.all })
        }
        _ => {
            let classes = arguments.classes.iter().map(|text| class(text, queue)).collect::<Result<Vec<_>, _>>()?;
            queue.answer_classes(&classes)
        }
    };
    answer.map_err(bad_input)
}

fn service_law(option: &str, text: &str) -> Result<Law, Failure> {
    Law::parse(text, Dimension::Time).map_err(|e| bad_input(format!("{option}: {e}")))
}

fn gaps_law(option: &str, text: &str, queue: &Queue, service: &Law) -> Result<Law, Failure> {
    let fault = |what: &str| Err(bad_input(format!("{option}: {what}")));
    let arrivals = settled(option, text, queue, service)?;
    match arrivals.law() {
        Some(law) => Ok(law.clone()),
        None => fault(arrivals.beyond_formulas().unwrap_or("no formula for these arrivals: sim answers this")),
    }
}

/// Arrivals whose rate is known.
fn settled(option: &str, text: &str, queue: &Queue, service: &Law) -> Result<Arrivals, Failure> {
    let fault = |what: &str| Err(bad_input(format!("{option}: {what}")));
    let mut arrivals = Arrivals::parse(text).map_err(|e| bad_input(format!("{option}: {e}")))?;
    if arrivals.utilization().is_some() {
        if queue.population.is_some() {
            return fault(
                "a population has no utilization to set: give the mean of the time that each member stays away",
            );
        }
        if !(service.mean() > 0.0 && service.mean().is_finite()) {
            return fault("a utilization needs a service with a mean, above 0 and finite: give a rate instead");
        }
        arrivals.settle(f64::from(queue.servers) / service.mean());
    }
    Ok(arrivals)
}

/// `NAME:ARRIVALS:SERVICE`, where colons inside of parentheses are the laws' own.
fn class(text: &str, queue: &Queue) -> Result<Class, Failure> {
    let (name, arrivals, service) = class_parts(text)?;
    let option = format!("--class {name}");
    let service = service_law(&option, service)?;
    let gaps = gaps_law(&option, arrivals, queue, &service)?;
    Ok(Class { name: name.to_string(), gaps, service })
}

fn class_parts(text: &str) -> Result<(&str, &str, &str), Failure> {
    let mut depth = 0;
    let mut parts = text.split(|character| {
        depth += i32::from(character == '(') - i32::from(character == ')');
        character == ':' && depth == 0
    });
    let (Some(name), Some(arrivals), Some(service), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(bad_input(format!(
            "--class `{text}`: write NAME:ARRIVALS:SERVICE, e.g. 'gold:exponential(rate = 0.2 /s):exponential(mean = 1 s)'"
        )));
    };
    Ok((name.trim(), arrivals, service))
}
