//! `sojourn queue 'M/G/1-PS' --arrivals LAW --service LAW`.

use sojourn_stats::{Dimension, Law};
use sojourn_theory::queue::Queue;
use sojourn_traffic::Arrivals;

use crate::exit::{Exit, Failure, bad_input};
use crate::table;

/// Answer a single queue
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The queue in Kendall's notation: A/S/c, A/S/c/K, with -FCFS, -PS or -LPS(8) after it
    queue: String,
    /// Law of the gaps between arrivals, e.g. 'exponential(rate = 0.8 /s)'; `utilization = 0.8` may stand for the rate
    #[arg(long)]
    arrivals: String,
    /// Law of the service times, e.g. 'hyperexponential(mean = 1 s, cv = 2)'
    #[arg(long)]
    service: String,
    /// Print the outcome rows as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn queue(arguments: &Arguments) -> Result<Exit, Failure> {
    let queue = Queue::parse(&arguments.queue).map_err(bad_input)?;
    let service = Law::parse(&arguments.service, Dimension::Time).map_err(|e| bad_input(format!("--service: {e}")))?;
    let mut arrivals = Arrivals::parse(&arguments.arrivals).map_err(|e| bad_input(format!("--arrivals: {e}")))?;
    arrivals.settle(f64::from(queue.servers) / service.mean());
    let gaps = match arrivals.law() {
        Some(law) => law,
        None => return Err(bad_input(format!("--arrivals: {}", arrivals.beyond_formulas().unwrap_or_default()))),
    };
    let answer = queue.answer(gaps, &service).map_err(bad_input)?;
    table::print_measures(&answer.measures, &answer.notes, arguments.json);
    Ok(Exit::Ok)
}
