//! One queue, by formula and by simulation at memory speed, as a user writes it: `M/G/1-PS` and two laws, or a trace.
//!
//! What is wrong with it is said in one line, with the name of the flag of `sojourn queue` that says the same.

mod columns;
mod shortest;
mod simulate;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_dispatch::{Catalogue, DispatchError};
use sojourn_sim::Report;
use sojourn_stats::{Dimension, Law, quantity};
use sojourn_theory::Answer;
use sojourn_theory::queue::{Class, Question, Queue, UNLIMITED};
use sojourn_traffic::Arrivals;

pub use self::columns::{Block, Columns};
use self::shortest::Shortest;
use crate::error::SpecError;

/// A queue as a user writes it.
#[derive(Clone, Debug)]
pub struct QueueSettings {
    /// In Kendall's notation, e.g. `M/G/1-PS`, or queues side by side, `M/M/4-JSQ`.
    pub queue: String,
    /// Law of the gaps between arrivals, or of the time that each member of a population stays away.
    pub arrivals: Option<String>,
    /// Law of the service times.
    pub service: Option<String>,
    /// Also the mean response time of jobs that need this service.
    pub sizes: Vec<String>,
    /// Also the mean wait by every approximation that is known.
    pub all: bool,
    /// By formula only what is known at once: no percentiles and no standard deviation.
    pub means_only: bool,
    /// Classes, the most urgent first: `NAME:ARRIVALS:SERVICE`.
    pub classes: Vec<String>,
    /// Jobs that the simulation draws.
    pub jobs: u64,
    /// Play the gaps and demands of this file instead.
    pub trace: Option<PathBuf>,
    /// Or play these.
    pub columns: Option<Columns>,
    /// How many times faster the requests of the trace come.
    pub speed: f64,
    /// Jobs at the start that are not counted, of queues side by side at the start of each replication; none: a tenth of those
    /// drawn, none of a trace, and of queues side by side as many as MSER-5 says.
    pub warm_up: Option<u64>,
    /// Seed of the jobs drawn.
    pub seed: u64,
    /// Threads of the simulation; none: one per core. Its numbers do not depend on them.
    pub threads: Option<usize>,
    /// What predictions of response times know: `number` or `demands`; none: nothing is predicted.
    pub predict: Option<String>,
}

impl QueueSettings {
    /// The queue `queue` with nothing said of its jobs.
    pub fn new(queue: &str) -> QueueSettings {
        QueueSettings {
            queue: queue.to_owned(),
            arrivals: None,
            service: None,
            sizes: Vec::new(),
            all: false,
            means_only: false,
            classes: Vec::new(),
            jobs: 1_000_000,
            trace: None,
            columns: None,
            speed: 1.0,
            warm_up: None,
            seed: 1,
            threads: None,
            predict: None,
        }
    }

    /// Refuses what neither formulas nor simulation could make anything of.
    ///
    /// # Errors
    /// One line: what is wrong, and what would be right.
    pub fn check(&self) -> Result<(), SpecError> {
        self.notation()?;
        let is_told = self.arrivals.is_some() && self.service.is_some();
        let is_traced = self.trace.is_some() || self.columns.is_some();
        if !is_told && self.classes.is_empty() && !is_traced {
            return Err(wrong(format!(
                "{}: say how jobs come and how long they take, e.g. --arrivals 'exponential(rate = 0.8 /s)' --service \
                 'exponential(mean = 1 s)'",
                self.queue
            )));
        }
        Ok(())
    }

    /// What formulas say of it.
    ///
    /// # Errors
    /// What is wrong with it, or why there is no formula, in one line.
    pub fn theory(&self) -> Result<Answer, SpecError> {
        self.check()?;
        if let Some(shortest) = Shortest::read(&self.queue)? {
            return shortest.theory(self);
        }
        let queue = &self.notation()?;
        let answer = match (&self.arrivals, &self.service) {
            (Some(arrivals), Some(service)) => {
                let service = service_law("--service", service)?;
                let gaps = gaps_law("--arrivals", arrivals, queue, &service)?;
                let sizes_s = self.sizes.iter().map(|text| {
                    quantity::parse(text.trim(), Dimension::Time).map_err(|e| wrong(format!("--size: {e}")))
                });
                let sizes_s = sizes_s.collect::<Result<Vec<f64>, SpecError>>()?;
                let QueueSettings { all, means_only, .. } = *self;
                queue.answer_to(&Question { gaps: &gaps, service: &service, sizes_s: &sizes_s, all, means_only })
            }
            _ => {
                let classes = self.classes.iter().map(|text| class(text, queue)).collect::<Result<Vec<_>, _>>()?;
                queue.answer_classes(&classes)
            }
        };
        answer.map_err(wrong)
    }

    /// Simulates it, until `cancel` is set; `progress` is given the jobs so far.
    ///
    /// # Errors
    /// What is wrong with it, or what no simulation is made for, in one line.
    pub fn sim(&self, cancel: &Arc<AtomicBool>, progress: &(dyn Fn(u64) + Sync)) -> Result<Report, SpecError> {
        self.check()?;
        if let Some(shortest) = Shortest::read(&self.queue)? {
            return shortest.sim(self, cancel, progress);
        }
        simulate::simulate(&simulate::read(self, &self.notation()?)?, cancel, progress)
    }

    /// Refuses, before anything is computed, what the simulation cannot do.
    ///
    /// # Errors
    /// As [`QueueSettings::sim`].
    pub fn check_sim(&self) -> Result<(), SpecError> {
        self.check()?;
        match Shortest::read(&self.queue)? {
            Some(_) => Ok(()),
            None => simulate::read(self, &self.notation()?).map(|_| ()),
        }
    }

    /// More threads than cores would only wait for each other.
    fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or(cores, |threads| threads.min(cores))
    }

    fn notation(&self) -> Result<Queue, SpecError> {
        match Shortest::read(&self.queue)? {
            Some(shortest) => Ok(shortest.joint),
            None => Queue::parse(&self.queue).map_err(|error| wrong(of_policy(&self.queue, error.to_string()))),
        }
    }
}

/// What is wrong with a queue, in the words of `message`; where a policy stands for its discipline, who answers that.
fn of_policy(queue: &str, message: String) -> String {
    let order = queue.split_once('-').map_or("", |(_, order)| order.trim()).to_lowercase();
    // A queue that is meant is nearer than a policy.
    if !message.contains("` is none of FCFS") || message.contains("; did you mean `") {
        return message;
    }
    let policies = Catalogue::default();
    let policy = match policies.check(&order) {
        _ if policies.knows(&order) => Some(order),
        Err(DispatchError::UnknownPolicy(told)) => {
            told.split_once("did you mean `").and_then(|(_, meant)| Some(meant.split_once('`')?.0.to_owned()))
        }
        _ => None,
    };
    policy.map_or(message, |policy| {
        format!(
            "`{queue}`: `{policy}` is a policy of a dispatcher; here queues side by side are JSQ or JSQ(2), and \
             `sojourn run` asks about others, with policy = \"{policy}\""
        )
    })
}

/// Why what comes at `rate` (1/s) is not simulated, with the largest rate that would be.
fn never_settles(utilization: f64, rate: f64) -> String {
    let largest = quantity::format(significant(rate / utilization), Dimension::Rate);
    format!(
        "utilization {utilization:.3} is not below 1, so the queue never settles, and what a simulation says of it is how long \
         it was: with this service it is stable below {largest} (now {}); lower the rate",
        quantity::format(significant(rate), Dimension::Rate)
    )
}

/// To four digits.
fn significant(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn wrong(message: impl ToString) -> SpecError {
    SpecError(message.to_string())
}

fn service_law(option: &str, text: &str) -> Result<Law, SpecError> {
    Law::parse(text, Dimension::Time).map_err(|e| wrong(format!("{option}: {e}")))
}

fn gaps_law(option: &str, text: &str, queue: &Queue, service: &Law) -> Result<Law, SpecError> {
    let fault = |what: &str| Err(wrong(format!("{option}: {what}")));
    let arrivals = settled(option, text, queue, service)?;
    match arrivals.law() {
        Some(law) => Ok(law.clone()),
        None => fault(arrivals.beyond_formulas().unwrap_or("no formula for these arrivals: sim answers this")),
    }
}

/// Arrivals whose rate is known.
fn settled(option: &str, text: &str, queue: &Queue, service: &Law) -> Result<Arrivals, SpecError> {
    let fault = |what: &str| Err(wrong(format!("{option}: {what}")));
    let mut arrivals = Arrivals::parse(text).map_err(|e| wrong(format!("{option}: {e}")))?;
    if arrivals.utilization().is_some() {
        if queue.servers == UNLIMITED {
            return fault("servers without number have no utilization to set: give a rate instead");
        }
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
fn class(text: &str, queue: &Queue) -> Result<Class, SpecError> {
    let (name, arrivals, service) = class_parts(text)?;
    let option = format!("--class {name}");
    let service = service_law(&option, service)?;
    let gaps = gaps_law(&option, arrivals, queue, &service)?;
    Ok(Class { name: name.to_string(), gaps, service })
}

fn class_parts(text: &str) -> Result<(&str, &str, &str), SpecError> {
    let mut depth = 0;
    let mut parts = text.split(|character| {
        depth += i32::from(character == '(') - i32::from(character == ')');
        character == ':' && depth == 0
    });
    let (Some(name), Some(arrivals), Some(service), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong(format!(
            "--class `{text}`: write NAME:ARRIVALS:SERVICE, e.g. 'gold:exponential(rate = 0.2 /s):exponential(mean = 1 s)'"
        )));
    };
    Ok((name.trim(), arrivals, service))
}
