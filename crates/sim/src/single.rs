//! One queue at memory speed: a trace of (gap, demand) pairs, or as many drawn ones, under any discipline.
//!
//! There is no event list, and nothing is kept of the jobs that have left but counts, so that 10^9 jobs take as much memory as
//! 10^6. Jobs are drawn some hundred at a time, and a long path of them on all cores ([`run_drawn`]). FCFS on one core is
//! Lindley's recursion (Lindley, Proceedings of the Cambridge Philosophical Society 48, 1952), on several cores Kiefer and
//! Wolfowitz's (Transactions of the American Mathematical Society 78, 1955); every other discipline, and FCFS with a limited
//! room, is a [`Station`] that is asked before each arrival which jobs have left. All of them are in whole nanoseconds and
//! agree job by job with the general simulator ([`crate::run`]), which a test holds them to. The price is what only that one
//! has: links, balancers, patience.
//!
//! [`play`] hands out every job as it is done; [`run`] makes numbers with intervals of them. These are from 20 to 40
//! sections of the one run with as many jobs each ([`sojourn_stats::parts`]). What a relaxation time's jobs tell counts as one:
//! a percentile with fewer than twenty such beyond it has no interval.

mod jobs;
mod path;
mod play;
mod sections;

use std::sync::atomic::{AtomicBool, Ordering};

use sojourn_model::{Discipline, Knowledge, Station};
use sojourn_stats::measure::NoInterval;
use sojourn_stats::parts::INDEPENDENT;
use sojourn_stats::{Law, Span, Time};
use sojourn_traffic::Arrivals;

use self::path::Path;
pub use self::play::play;
use self::play::{InOrder, Player};
use self::sections::{Predictions, Sections};
use crate::control::{Report, SimError};
use crate::forgetting;
use crate::study::RELAXATIONS;
use crate::summary::{self, Row};

/// One queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// The order of service.
    pub discipline: Discipline,
    /// Cores; a job uses at most one.
    pub cores: u32,
    /// Most jobs inside; more are denied.
    pub capacity: Option<u32>,
}

/// A job that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When; not before the one before it.
    pub at: Time,
    /// Its work on one core.
    pub demand: Span,
    /// Its class, which decides its priority.
    pub class: u8,
}

/// A job that has come, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// How many came before it.
    pub number: u64,
    /// As it came.
    pub arrival: Arrival,
    /// When it was first served; when it came, if it was denied.
    pub started: Time,
    /// When it left.
    pub left: Time,
    /// There was no room for it.
    pub denied: bool,
    /// What a predictor said of its response time, where one was asked.
    pub predicted: Option<Span>,
}

/// Jobs that are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<'a> {
    /// When they come; the rate is settled.
    pub arrivals: &'a Arrivals,
    /// Their demands (s).
    pub service: &'a Law,
    /// Of their streams, which are those of a plan.
    pub seed: u64,
    /// How many.
    pub jobs: u64,
}

/// What a predictor of response times knows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predict {
    /// What it knows.
    pub knows: Knowledge,
    /// The mean demand, which a predictor that knows the number of jobs multiplies by it.
    pub demand_mean: Span,
}

/// What is wanted of a run.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Jobs at the start that are not counted.
    pub warm_up: u64,
    /// The names of the classes, by number; one for all without a class.
    pub classes: &'a [&'a str],
    /// Predict each job's response time when it comes, and say how wrong that was.
    pub predict: Option<Predict>,
    /// Jobs that come in one relaxation time, in which the queue forgets its state: without ten times as many in each
    /// section there are no intervals. None: it is not known.
    pub relaxation: Option<u64>,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Threads that a long path of drawn jobs in order of arrival is played on; its numbers are the same on one as on many.
    pub threads: usize,
    /// Set it to stop early.
    pub cancel: Option<&'a AtomicBool>,
    /// Told now and then how many jobs have been played.
    pub progress: &'a dyn Fn(u64),
}

impl Default for Control<'_> {
    fn default() -> Self {
        Control {
            warm_up: 0,
            classes: &[],
            predict: None,
            relaxation: None,
            confidence: sojourn_stats::measure::CONFIDENCE,
            threads: 1,
            cancel: None,
            progress: &|_| {},
        }
    }
}

/// Jobs between two looks at the outside world.
const CHUNK: usize = 1 << 18;

/// Plays `arrivals` through `queue` and sums up.
///
/// Rows: `response_time_mean` and percentiles, `waiting_time_mean` (until first served), `service_time_mean`,
/// `throughput`, `utilization`, `error_ratio` with a capacity; with several classes `response_time_mean_NAME` and
/// `waiting_time_mean_NAME` of each; with a predictor `prediction_error_mean` (its bias: predicted less actual, on average, over
/// the mean response time), `prediction_error_absolute_mean` (the same without sign) and `prediction_error_relative_p90`
/// (without sign, each over the job's own response time).
///
/// # Errors
/// When the queue makes no sense, a class has no name or that of another, or no job comes after the warm-up.
pub fn run(
    queue: &Queue,
    arrivals: impl IntoIterator<Item = Arrival>,
    control: &Control<'_>,
) -> Result<Report, SimError> {
    let mut arrivals = arrivals.into_iter();
    run_by(queue, control, &mut |come, player, counts| {
        Ok(play_some(come, arrivals.by_ref().take(CHUNK), player, counts))
    })
}

/// Draws jobs, plays them through `queue` and sums up: as [`run`] does with the plan of one client under this seed, sooner. Of a
/// renewal process every 2^20 jobs come from streams of their own, so that threads can share a path.
///
/// # Errors
/// As [`run`]; also when the rate of the arrivals is not settled.
pub fn run_drawn(queue: &Queue, drawn: &Drawn<'_>, control: &Control<'_>) -> Result<Report, SimError> {
    let mut path = Path::new(queue, drawn, control.threads)?;
    run_by(queue, control, &mut |come, player, counts| path.step(come, player, counts))
}

/// Plays some more jobs, of which the first has this number; how many, and when the last of them came.
type Step<'a, 's> = dyn FnMut(u64, &mut Player, &mut Counts<'a>) -> Result<(u64, Time), SimError> + 's;

fn run_by<'a>(queue: &Queue, control: &Control<'a>, step: &mut Step<'a, '_>) -> Result<Report, SimError> {
    queue.discipline.check(queue.cores).map_err(SimError::Invalid)?;
    for (number, name) in control.classes.iter().enumerate().filter(|_| control.classes.len() > 1) {
        if name.is_empty() || control.classes[..number].contains(name) {
            return Err(SimError::Invalid(format!(
                "class {} is called `{name}`: every class needs a name of its own",
                number + 1
            )));
        }
    }
    let mut counts = Counts::new(control);
    let cancelled = || control.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
    let mut player = Player::new(queue, control.predict);
    let (mut come, mut told, mut last) = (0u64, 0u64, Time::ZERO);
    while last != Time::NEVER {
        let (jobs, at) = step(come, &mut player, &mut counts)?;
        if jobs == 0 {
            break;
        }
        (come, last) = (come + jobs, at);
        if come - told >= CHUNK as u64 {
            told = come;
            (control.progress)(come);
            if cancelled() {
                break;
            }
        }
    }
    player.end(&mut |job| counts.record(job));
    if last.max(counts.sections.until()) == Time::NEVER {
        return Err(SimError::Invalid(format!(
            "the first {come} jobs take more than the 584 years that there are: fewer jobs, or shorter times"
        )));
    }
    if cancelled() && counts.sections.jobs() == 0 {
        return Err(SimError::Invalid(format!(
            "stopped in the warm-up of {} jobs: there is no number yet",
            control.warm_up
        )));
    }
    let rows = counts.rows(queue)?;
    let sections = counts.sections;
    let mut notes = Vec::new();
    if cancelled() {
        notes.push("stopped early: the numbers are of what had been simulated".into());
    }
    let alike = forgetting::alike_of_parts(&rows[0].parts, &sections.response());
    let mut measures = summary::answers(&rows, control.confidence, alike);
    let relaxation = control.relaxation.unwrap_or(0);
    for measure in &mut measures {
        let quantile = summary::QUANTILES.iter().find(|(metric, _)| *metric == measure.metric);
        let beyond = quantile.map(|(_, p)| measure.estimate.samples().unwrap_or(0) as f64 * (1.0 - p));
        if beyond.is_some_and(|beyond| beyond < INDEPENDENT * relaxation as f64) {
            measure.estimate = measure.estimate.clone().withheld(NoInterval::TooShort);
        }
    }
    let is_long = sections.size() >= RELAXATIONS.saturating_mul(relaxation);
    if !is_long {
        for measure in &mut measures {
            measure.estimate = measure.estimate.clone().withheld(NoInterval::TooShort);
        }
        notes.push(format!(
            "too short for intervals: the queue takes {relaxation} jobs to forget its state, and an interval takes {} after the \
             warm-up",
            jobs_needed(relaxation)
        ));
    }
    Ok(Report {
        measures,
        response_time_cdf: summary::cdf(&sections.response()),
        jobs: sections.jobs(),
        replications_values: Vec::new(),
        connections: Vec::new(),
        attached: Vec::new(),
        over_time: None,
        replications: 1,
        converged: is_long,
        notes,
    })
}

/// Jobs after the warm-up that it takes for intervals where the queue forgets its state in so many.
pub fn jobs_needed(relaxation: u64) -> u64 {
    Sections::needed(RELAXATIONS.saturating_mul(relaxation))
}

/// Plays these jobs, of which the first has the number `come`; how many, and when the last of them came.
fn play_some(
    come: u64,
    jobs: impl Iterator<Item = Arrival>,
    player: &mut Player,
    counts: &mut Counts<'_>,
) -> (u64, Time) {
    match player {
        Player::InOrder(queue) if counts.are_of_all() => play_in_order(come, jobs, queue, counts),
        player => {
            let (mut played, mut last) = (0, Time::ZERO);
            let jobs = watched(jobs, &mut played, &mut last);
            (come..).zip(jobs).for_each(|(number, job)| player.play(number, job, &mut |job| counts.record(job)));
            (played, last)
        }
    }
}

/// The same where jobs leave in order, and nothing is counted of classes and predictions.
fn play_in_order(
    come: u64,
    jobs: impl Iterator<Item = Arrival>,
    queue: &mut InOrder,
    counts: &mut Counts<'_>,
) -> (u64, Time) {
    let (mut played, mut last) = (0, Time::ZERO);
    let jobs = watched(jobs, &mut played, &mut last);
    match queue {
        InOrder::One(core) => {
            // A copy that no one else knows of stays in registers.
            let mut copy = *core;
            counts.serve(come, jobs, |at, demand| copy.serve(at, demand));
            *core = copy;
        }
        InOrder::Several(cores) => counts.serve(come, jobs, |at, demand| cores.serve(at, demand)),
    }
    (played, last)
}

/// Counts them, and tells when the last of them came.
fn watched<'a>(
    jobs: impl Iterator<Item = Arrival> + 'a,
    played: &'a mut u64,
    last: &'a mut Time,
) -> impl Iterator<Item = Arrival> + 'a {
    jobs.inspect(|arrival| {
        *played += 1;
        *last = arrival.at;
    })
}

/// What is counted of the jobs after the warm-up.
struct Counts<'a> {
    warm_up: u64,
    classes: &'a [&'a str],
    sections: Sections,
    /// One for each class, where there are several.
    by_class: Vec<Sections>,
    predictions: Option<Predictions>,
    /// A class that came and is none of them.
    unnamed: Option<u8>,
}

impl<'a> Counts<'a> {
    fn new(control: &Control<'a>) -> Counts<'a> {
        let several = control.classes.iter().filter(|_| control.classes.len() > 1);
        Counts {
            warm_up: control.warm_up,
            classes: control.classes,
            sections: Sections::new(),
            by_class: several.map(|_| Sections::new()).collect(),
            predictions: control.predict.map(|_| Predictions::new()),
            unnamed: None,
        }
    }

    fn rows(&self, queue: &Queue) -> Result<Vec<Row>, SimError> {
        if let Some(class) = self.unnamed {
            return Err(SimError::Invalid(format!("class {class} has no name among {}", self.classes.len())));
        }
        if self.sections.jobs() == 0 {
            return Err(SimError::Invalid(format!("no job comes after the {} jobs of the warm-up", self.warm_up)));
        }
        let mut rows = self.sections.rows(queue);
        for (name, of_class) in self.classes.iter().zip(&self.by_class) {
            rows.extend(of_class.class_rows(name));
        }
        rows.extend(self.predictions.iter().flat_map(Predictions::rows));
        Ok(rows)
    }
}

impl Counts<'_> {
    /// Whether nothing is counted of classes and predictions.
    fn are_of_all(&self) -> bool {
        self.by_class.is_empty() && self.predictions.is_none()
    }

    #[inline]
    fn record(&mut self, job: &Job) {
        if job.number < self.warm_up {
            return;
        }
        self.sections.add(job);
        if !self.by_class.is_empty() {
            match self.by_class.get_mut(usize::from(job.arrival.class)) {
                Some(of_class) => of_class.add(job),
                None => self.unnamed = Some(job.arrival.class),
            }
        }
        if let (Some(predictions), Some(predicted)) = (&mut self.predictions, job.predicted) {
            predictions.add(predicted, job.left - job.arrival.at);
        }
    }

    /// These jobs, of which the first is the `number`th and each leaves when `serve` says; none is denied.
    #[inline]
    fn serve(
        &mut self,
        number: u64,
        mut jobs: impl Iterator<Item = Arrival>,
        mut serve: impl FnMut(Time, Span) -> Time,
    ) {
        let warm = usize::try_from(self.warm_up.saturating_sub(number)).unwrap_or(usize::MAX);
        jobs.by_ref().take(warm).for_each(|job| {
            serve(job.at, job.demand);
        });
        self.sections.serve(jobs, serve);
    }
}

impl Queue {
    fn station(&self) -> Station {
        Station::new(self.discipline.clone(), self.cores, self.capacity)
    }
}
