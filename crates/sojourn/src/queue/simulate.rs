//! A queue simulated at memory speed: drawn jobs, or the pairs of a trace.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use indicatif::{ProgressBar, ProgressStyle};
use sojourn_model::Knowledge;
use sojourn_sim::Report;
use sojourn_sim::single::{self, Arrival, Control, Predict, Queue};
use sojourn_stats::{Law, Span, Stream, Time, measure};
use sojourn_theory::formula::general::relaxation::relaxation_time_s;
use sojourn_theory::queue::Queue as Notation;
use sojourn_traffic::{Arrivals, Open, Pairs, Plan, Sizes, Trace, Workload};

use super::Arguments;
use crate::exit::{Failure, bad_input};

/// What only a simulation takes.
#[derive(clap::Args)]
pub(super) struct Flags {
    /// Jobs that the simulation draws, e.g. 1e9
    #[arg(long, value_name = "N", default_value = "1e6", value_parser = count)]
    jobs: u64,
    /// Play the gaps and demands of this file: `gap,demand` lines, a plan, or records as CSV; plain or gzip
    #[arg(long, value_name = "FILE", conflicts_with_all = ["arrivals", "service", "classes", "sizes", "all", "jobs"])]
    pub(super) trace: Option<PathBuf>,
    /// How many times faster the requests of the trace come
    #[arg(long, value_name = "X", default_value_t = 1.0, requires = "trace")]
    speed: f64,
    /// Jobs at the start that are not counted [default: a tenth of those drawn, none of a trace]
    #[arg(long, value_name = "N", value_parser = count)]
    warm_up: Option<u64>,
    /// Seed of the jobs drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Predict each job's response time when it comes, and say how wrong that was: `number` knows how many are inside and
    /// the mean demand, `demands` the demand of every job
    #[arg(long, value_name = "KNOWLEDGE")]
    predict: Option<String>,
}

/// A whole number, also as `1e9`.
fn count(text: &str) -> Result<u64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if (1.0..1e18).contains(&number) && number.fract() == 0.0 => Ok(number as u64),
        _ => Err("a whole number of at least 1, such as 1000000 or 1e6".into()),
    }
}

/// What the command line asks for.
pub(super) fn asked(arguments: &Arguments, notation: &Notation) -> Result<Asked, Failure> {
    let flags = &arguments.simulation;
    if notation.population.is_some() {
        return Err(bad_input(format!(
            "`{notation}`: no simulation of a population here; `sojourn run` has closed users"
        )));
    }
    let Some(discipline) = notation.discipline.for_server() else {
        return Err(bad_input(format!("`{notation}`: no simulation of {}; theory may know it", notation.discipline)));
    };
    let queue = Queue { discipline, cores: notation.servers, capacity: notation.capacity };
    queue.discipline.check(queue.cores).map_err(|fault| bad_input(format!("`{notation}`: {fault}")))?;
    let predict = match flags.predict.as_deref() {
        None => None,
        Some("number") => Some(Knowledge::Number),
        Some("demands") => Some(Knowledge::Demands),
        Some(other) => return Err(bad_input(format!("--predict {other}: what it knows is `number` or `demands`"))),
    };
    let source = match &flags.trace {
        Some(_) if !(flags.speed > 0.0 && flags.speed.is_finite()) => {
            return Err(bad_input(format!("--speed {}: a trace is played at a speed above 0, such as 2", flags.speed)));
        }
        Some(path) => Source::Trace { path: path.clone(), speed: flags.speed },
        None => Source::Drawn { classes: classes(arguments, notation)?, jobs: flags.jobs },
    };
    let (seed, warm_up, quiet) = (flags.seed, flags.warm_up, arguments.json);
    Ok(Asked { queue, source, seed, warm_up, predict, quiet })
}

fn classes(arguments: &Arguments, notation: &Notation) -> Result<Vec<Class>, Failure> {
    let class = |name: &str, options: [&str; 2], arrivals: &str, service: &str| {
        let service = super::service_law(options[1], service)?;
        if !(service.mean() > 0.0 && service.mean().is_finite()) {
            return Err(bad_input(format!("{}: a service needs a mean, above 0 and finite", options[1])));
        }
        let arrivals = super::settled(options[0], arrivals, notation, &service)?;
        Ok(Class { name: name.to_owned(), arrivals, service })
    };
    if let (Some(arrivals), Some(service)) = (&arguments.arrivals, &arguments.service) {
        return Ok(vec![class("", ["--arrivals", "--service"], arrivals, service)?]);
    }
    if arguments.classes.len() > usize::from(u8::MAX) {
        return Err(bad_input("--class: at most 255 classes are simulated"));
    }
    let one = |text: &String| {
        let (name, arrivals, service) = super::class_parts(text)?;
        let option = format!("--class {name}");
        class(name, [&option, &option], arrivals, service)
    };
    arguments.classes.iter().map(one).collect()
}

/// What is simulated.
pub(super) struct Asked {
    queue: Queue,
    source: Source,
    seed: u64,
    warm_up: Option<u64>,
    predict: Option<Knowledge>,
    /// Without a progress bar.
    quiet: bool,
}

/// Where jobs come from.
enum Source {
    /// So many jobs drawn from these classes, the first of which priorities serve first.
    Drawn { classes: Vec<Class>, jobs: u64 },
    /// A file of gaps and demands, which come `speed` times as fast as they came.
    Trace { path: PathBuf, speed: f64 },
}

/// Jobs of a kind; the rate is settled.
struct Class {
    name: String,
    arrivals: Arrivals,
    service: Law,
}

/// Simulates.
pub(super) fn simulate(asked: &Asked, cancel: &AtomicBool) -> Result<Report, Failure> {
    let names: Vec<&str> = match &asked.source {
        Source::Drawn { classes, .. } => classes.iter().map(|class| class.name.as_str()).collect(),
        Source::Trace { .. } => Vec::new(),
    };
    let (length, demand_mean_s) = match &asked.source {
        Source::Drawn { classes, jobs } => {
            check_load(&asked.queue, classes)?;
            let rate = |class: &Class| class.arrivals.rate().unwrap_or(0.0);
            let all: f64 = classes.iter().map(rate).sum();
            (Some(*jobs), classes.iter().map(|class| rate(class) * class.service.mean()).sum::<f64>() / all)
        }
        Source::Trace { path, .. } if asked.predict == Some(Knowledge::Number) => {
            let moments = Trace::read(path).map_err(bad_input)?.demand_moments();
            (None, moments.map_or(0.0, |(mean_s, _)| mean_s))
        }
        Source::Trace { .. } => (None, 0.0),
    };
    let bar = Bar::new(length, asked.quiet);
    let control = Control {
        warm_up: asked.warm_up.unwrap_or(length.unwrap_or(0) / 10),
        classes: &names,
        predict: asked.predict.map(|knows| Predict { knows, demand_mean: Span::from_secs_f64(demand_mean_s) }),
        relaxation: match &asked.source {
            Source::Drawn { classes, .. } => relaxation(&asked.queue, classes),
            Source::Trace { .. } => None,
        },
        confidence: measure::CONFIDENCE,
        cancel: Some(cancel),
        progress: &|jobs| bar.0.set_position(jobs),
    };
    let report = match &asked.source {
        Source::Drawn { classes, jobs } => drawn(asked, classes, *jobs, &control),
        Source::Trace { path, speed } => traced(asked, path, *speed, &control),
    };
    bar.0.finish_and_clear();
    report
}

/// Jobs that come while the queue forgets its state; none where that is not known, or the room is limited.
fn relaxation(queue: &Queue, classes: &[Class]) -> Option<u64> {
    let is_renewal = |class: &Class| class.arrivals.hurst().is_none() && class.arrivals.profile().is_none();
    if queue.capacity.is_some() || !classes.iter().all(is_renewal) {
        return None;
    }
    let rates: Vec<f64> = classes.iter().map(|class| class.arrivals.rate()).collect::<Option<_>>()?;
    let rate: f64 = rates.iter().sum();
    let mean = |of: &dyn Fn(&Law) -> f64| {
        classes.iter().zip(&rates).map(|(class, part)| part / rate * of(&class.service)).sum::<f64>()
    };
    let mean_s = mean(&Law::mean);
    let service_scv = mean(&|law| law.variance() + law.mean().powi(2)) / mean_s.powi(2) - 1.0;
    let gaps_scv = match classes {
        [Class { arrivals, .. }] => {
            let gaps = arrivals.gaps()?;
            gaps.variance() / gaps.mean().powi(2) * f64::from(arrivals.batch())
        }
        // Several streams together are nearly Poisson.
        _ => 1.0,
    };
    let utilization = rate * mean_s / f64::from(queue.cores);
    let jobs = rate * relaxation_time_s(gaps_scv, service_scv, mean_s, queue.cores, utilization);
    jobs.is_finite().then(|| jobs.ceil() as u64)
}

/// Refuses a load that never settles.
fn check_load(queue: &Queue, classes: &[Class]) -> Result<(), Failure> {
    let load: f64 = classes.iter().map(|class| class.arrivals.peak_rate().unwrap_or(0.0) * class.service.mean()).sum();
    let utilization = load / f64::from(queue.cores);
    if utilization >= 1.0 && queue.capacity.is_none() {
        return Err(bad_input(format!(
            "utilisation is {utilization:.4}: the queue grows without end, and what a simulation says of it is how long it \
             was; lower the rate, or limit the room (A/S/c/K)"
        )));
    }
    Ok(())
}

fn drawn(asked: &Asked, classes: &[Class], jobs: u64, control: &Control<'_>) -> Result<Report, Failure> {
    let plan = |(number, class): (usize, &Class)| {
        let service = class.service.clone();
        let demand = move |_: u8, _: u64, stream: &mut Stream| Span::from_secs_f64(service.sample(stream));
        let sizes = Sizes::Law(Law::constant(0.0));
        let workload = Workload::Open(Open { arrivals: class.arrivals.clone(), clients: 1, sizes, patience: None });
        // The first class has the seed itself, as it has alone.
        let seed = match number {
            0 => asked.seed,
            _ => Stream::new(asked.seed, "class", &class.name).below(usize::MAX) as u64,
        };
        let plan = Plan::new(&workload, seed, Arc::new(demand)).map_err(bad_input)?;
        Ok(plan.map(move |planned| Arrival { at: planned.at, demand: planned.request.demand, class: number as u8 }))
    };
    let mut plans: Vec<_> = classes.iter().enumerate().map(plan).collect::<Result<_, Failure>>()?;
    let jobs = usize::try_from(jobs).unwrap_or(usize::MAX);
    let report = match plans.len() {
        1 => single::run(&asked.queue, plans.remove(0).take(jobs), control),
        _ => single::run(&asked.queue, Merged::new(plans).take(jobs), control),
    };
    report.map_err(bad_input)
}

/// The jobs of all classes in order of time.
struct Merged<P: Iterator<Item = Arrival>> {
    plans: Vec<P>,
    next: Vec<Option<Arrival>>,
}

impl<P: Iterator<Item = Arrival>> Merged<P> {
    fn new(mut plans: Vec<P>) -> Merged<P> {
        let next = plans.iter_mut().map(Iterator::next).collect();
        Merged { plans, next }
    }
}

impl<P: Iterator<Item = Arrival>> Iterator for Merged<P> {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let coming = self.next.iter().enumerate().filter_map(|(class, next)| next.map(|next| (next.at, class)));
        let (_, class) = coming.min()?;
        std::mem::replace(&mut self.next[class], self.plans[class].next())
    }
}

fn traced(asked: &Asked, path: &std::path::Path, speed: f64, control: &Control<'_>) -> Result<Report, Failure> {
    let mut happened = Span::ZERO;
    let (mut jobs, mut work_s) = (0u64, 0.0);
    let mut arrival = |(gap, demand): (Span, Span)| {
        happened += gap;
        jobs += 1;
        work_s += demand.as_secs_f64();
        let at = if speed == 1.0 { happened.0 } else { (happened.0 as f64 / speed) as u64 };
        Arrival { at: Time(at), demand, class: 0 }
    };
    let mut fault = None;
    let report = match Pairs::open(path).map_err(bad_input)? {
        Some(pairs) => {
            let good = pairs.map_while(|pair| pair.map_err(|error| fault = Some(error)).ok());
            single::run(&asked.queue, good.map(&mut arrival), control)
        }
        None => {
            let trace = Trace::read(path).map_err(bad_input)?;
            let Some(demands) = trace.demands() else {
                return Err(bad_input(format!(
                    "{}: a queue needs the demand of every request: two columns, `gap,demand`, or the records of a run",
                    path.display()
                )));
            };
            let pairs = trace.gaps().iter().copied().zip(demands.iter().copied());
            single::run(&asked.queue, pairs.map(&mut arrival), control)
        }
    };
    if let Some(fault) = fault {
        return Err(bad_input(fault));
    }
    let mut report = report.map_err(bad_input)?;
    report.notes.push("one run of the trace: intervals are from its own sections".into());
    let utilization = work_s * speed / (happened.as_secs_f64() * f64::from(asked.queue.cores));
    if utilization >= 1.0 && asked.queue.capacity.is_none() {
        report.notes.push(format!(
            "the trace asks for {utilization:.3} of what the cores can do: the numbers say how long it was, no more"
        ));
    }
    Ok(report)
}

/// How far it is, on a terminal only.
struct Bar(ProgressBar);

impl Bar {
    fn new(length: Option<u64>, quiet: bool) -> Bar {
        let bar = match (length, !quiet && std::io::stderr().is_terminal()) {
            (_, false) => ProgressBar::hidden(),
            (Some(jobs), true) => ProgressBar::new(jobs),
            (None, true) => ProgressBar::no_length(),
        };
        let style = "[{bar:20}] {human_pos} jobs, {per_sec} ({elapsed}, {eta} left)";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is valid").progress_chars("=> "));
        Bar(bar)
    }
}
