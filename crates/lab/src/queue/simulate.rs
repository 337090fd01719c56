//! A queue simulated at memory speed: drawn jobs, or the pairs of a trace.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_model::{Discipline, Knowledge};
use sojourn_sim::Report;
use sojourn_sim::single::{self, Arrival, Control, Drawn, Predict, Queue};
use sojourn_stats::{Law, Span, Stream, Time, measure};
use sojourn_theory::formula::general::relaxation::relaxation_time_s;
use sojourn_theory::queue::{Queue as Notation, UNLIMITED};
use sojourn_traffic::{Arrivals, Open, Pairs, Plan, Sizes, Trace, Workload};

use super::{Columns, QueueSettings, class_parts, never_settles, service_law, settled, wrong};
use crate::error::SpecError;
use crate::heavy::Work;

/// One job in so many is the warm-up, unless told otherwise.
const WARM_UP: u64 = 10;
/// More cores than there are ever jobs.
const CORES_FOR_ALL: u32 = 1 << 30;

/// What the settings ask for.
pub(super) fn read(settings: &QueueSettings, notation: &Notation) -> Result<Simulation, SpecError> {
    if notation.population.is_some() {
        return Err(wrong(format!("`{notation}`: no simulation of a population here; `sojourn run` has closed users")));
    }
    let Some(discipline) = notation.discipline.for_server() else {
        return Err(wrong(format!("`{notation}`: no simulation of {}; theory may know it", notation.discipline)));
    };
    let queue = match notation.servers {
        // Nothing is ever shared.
        UNLIMITED => Queue { discipline: Discipline::Ps, cores: CORES_FOR_ALL, capacity: None },
        cores => Queue { discipline, cores, capacity: notation.capacity },
    };
    queue.discipline.check(queue.cores).map_err(|fault| wrong(format!("`{notation}`: {fault}")))?;
    let predict = match settings.predict.as_deref() {
        None => None,
        Some("number") => Some(Knowledge::Number),
        Some("demands") => Some(Knowledge::Demands),
        Some(other) => return Err(wrong(format!("--predict {other}: what it knows is `number` or `demands`"))),
    };
    let source = match (&settings.trace, &settings.columns) {
        (Some(path), _) => Some(Source::File(path.clone())),
        (None, columns) => columns.clone().map(Source::Memory),
    };
    let jobs = match source {
        Some(_) if !(settings.speed > 0.0 && settings.speed.is_finite()) => {
            return Err(wrong(format!("--speed {}: a trace is played at a speed above 0, such as 2", settings.speed)));
        }
        Some(source) => Jobs::Trace { source, speed: settings.speed },
        None => Jobs::Drawn { classes: classes(settings, notation)?, jobs: settings.jobs },
    };
    let QueueSettings { seed, warm_up, .. } = *settings;
    Ok(Simulation { queue, jobs, seed, warm_up, predict, threads: settings.threads() })
}

fn classes(settings: &QueueSettings, notation: &Notation) -> Result<Vec<Class>, SpecError> {
    let class = |name: &str, options: [&str; 2], arrivals: &str, service: &str| {
        let service = service_law(options[1], service)?;
        if !(service.mean() > 0.0 && service.mean().is_finite()) {
            return Err(wrong(format!("{}: a service needs a mean, above 0 and finite", options[1])));
        }
        let arrivals = settled(options[0], arrivals, notation, &service)?;
        notation.check_laws(arrivals.law(), &service).map_err(wrong)?;
        Ok(Class { name: name.to_owned(), arrivals, service })
    };
    if let (Some(arrivals), Some(service)) = (&settings.arrivals, &settings.service) {
        return Ok(vec![class("", ["--arrivals", "--service"], arrivals, service)?]);
    }
    if settings.classes.len() > usize::from(u8::MAX) {
        return Err(wrong("--class: at most 255 classes are simulated"));
    }
    let one = |text: &String| {
        let (name, arrivals, service) = class_parts(text)?;
        let option = format!("--class {name}");
        class(name, [&option, &option], arrivals, service)
    };
    settings.classes.iter().map(one).collect()
}

/// What is simulated.
pub(super) struct Simulation {
    queue: Queue,
    jobs: Jobs,
    seed: u64,
    warm_up: Option<u64>,
    predict: Option<Knowledge>,
    threads: usize,
}

/// Where its jobs come from.
enum Jobs {
    /// So many jobs drawn from these classes, the first of which priorities serve first.
    Drawn { classes: Vec<Class>, jobs: u64 },
    /// Gaps and demands, which come `speed` times as fast as they came.
    Trace { source: Source, speed: f64 },
}

/// Where a trace is.
enum Source {
    File(PathBuf),
    Memory(Columns),
}

/// Jobs of a kind; the rate is settled.
struct Class {
    name: String,
    arrivals: Arrivals,
    service: Law,
}

/// Simulates.
pub(super) fn simulate(
    simulation: &Simulation,
    cancel: &AtomicBool,
    progress: &dyn Fn(u64),
) -> Result<Report, SpecError> {
    let names: Vec<&str> = match &simulation.jobs {
        Jobs::Drawn { classes, .. } => classes.iter().map(|class| class.name.as_str()).collect(),
        Jobs::Trace { .. } => Vec::new(),
    };
    let (length, demand_mean_s) = match &simulation.jobs {
        Jobs::Drawn { classes, jobs } => {
            check_load(&simulation.queue, classes)?;
            let rate = |class: &Class| class.arrivals.rate().unwrap_or(0.0);
            let all: f64 = classes.iter().map(rate).sum();
            (Some(*jobs), classes.iter().map(|class| rate(class) * class.service.mean()).sum::<f64>() / all)
        }
        Jobs::Trace { source: Source::File(path), .. } if simulation.predict == Some(Knowledge::Number) => {
            let moments = Trace::read(path).map_err(wrong)?.demand_moments();
            (None, moments.map_or(0.0, |(mean_s, _)| mean_s))
        }
        Jobs::Trace { source: Source::Memory(columns), .. } => (None, columns.demand_mean_s()),
        Jobs::Trace { .. } => (None, 0.0),
    };
    let control = Control {
        warm_up: simulation.warm_up.unwrap_or(length.unwrap_or(0) / WARM_UP),
        classes: &names,
        predict: simulation.predict.map(|knows| Predict { knows, demand_mean: Span::from_secs_f64(demand_mean_s) }),
        relaxation: match &simulation.jobs {
            Jobs::Drawn { classes, .. } => relaxation(&simulation.queue, classes),
            Jobs::Trace { .. } => None,
        },
        confidence: measure::CONFIDENCE,
        threads: simulation.threads,
        cancel: Some(cancel),
        progress,
    };
    let mut report = match &simulation.jobs {
        Jobs::Drawn { classes, jobs } => drawn(simulation, classes, *jobs, &control)?,
        Jobs::Trace { source, speed } => traced(simulation, source, *speed, &control)?,
    };
    if let Jobs::Drawn { classes, .. } = &simulation.jobs {
        work(&simulation.queue, classes).withhold(&mut report);
    }
    if let (false, Some(relaxation), Some(drawn)) = (report.converged, control.relaxation, length) {
        let measured = single::jobs_needed(relaxation);
        let jobs = match simulation.warm_up {
            // A tenth of all.
            None => measured.saturating_mul(WARM_UP).div_ceil(WARM_UP - 1),
            Some(warm_up) => measured.saturating_add(warm_up),
        };
        // Who stops a run early has asked for more already.
        report.notes.extend((jobs > drawn).then(|| format!("`--jobs {jobs}` would do")));
    }
    if simulation.queue.cores == CORES_FOR_ALL {
        report.measures.retain(|measure| measure.metric != "utilization");
    }
    Ok(report)
}

/// What jobs of all classes together ask for.
fn work(queue: &Queue, classes: &[Class]) -> Work {
    let rate = |class: &Class| class.arrivals.rate().unwrap_or(0.0);
    let law = match classes {
        [class] => class.service.clone(),
        _ => Law::mixture(classes.iter().map(|class| (rate(class), class.service.clone())).collect()),
    };
    let load: f64 = classes.iter().map(|class| rate(class) * class.service.mean()).sum();
    Work::of_queue(law, &queue.discipline, queue.capacity.is_some(), queue.cores, load / f64::from(queue.cores))
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
fn check_load(queue: &Queue, classes: &[Class]) -> Result<(), SpecError> {
    let peak = |class: &Class| class.arrivals.peak_rate().unwrap_or(0.0);
    let rate: f64 = classes.iter().map(peak).sum();
    let load: f64 = classes.iter().map(|class| peak(class) * class.service.mean()).sum();
    let utilization = load / f64::from(queue.cores);
    if utilization >= 1.0 && queue.capacity.is_none() {
        return Err(wrong(format!("{}, or limit the room (A/S/c/K)", never_settles(utilization, rate))));
    }
    Ok(())
}

fn drawn(simulation: &Simulation, classes: &[Class], jobs: u64, control: &Control<'_>) -> Result<Report, SpecError> {
    if let [class] = classes {
        let drawn = Drawn { arrivals: &class.arrivals, service: &class.service, seed: simulation.seed, jobs };
        return single::run_drawn(&simulation.queue, &drawn, control).map_err(wrong);
    }
    let plan = |(number, class): (usize, &Class)| {
        let service = class.service.clone();
        let demand = move |_: u8, _: u64, stream: &mut Stream| Span::from_secs_f64(service.sample(stream));
        let sizes = Sizes::Law(Law::constant(0.0));
        let workload = Workload::Open(Open { arrivals: class.arrivals.clone(), clients: 1, sizes, patience: None });
        // The first class has the seed itself, as it has alone.
        let seed = match number {
            0 => simulation.seed,
            _ => Stream::new(simulation.seed, "class", &class.name).below(usize::MAX) as u64,
        };
        let plan = Plan::new(&workload, seed, Arc::new(demand)).map_err(wrong)?;
        Ok(plan.map(move |planned| Arrival { at: planned.at, demand: planned.request.demand, class: number as u8 }))
    };
    let plans: Vec<_> = classes.iter().enumerate().map(plan).collect::<Result<_, SpecError>>()?;
    let jobs = usize::try_from(jobs).unwrap_or(usize::MAX);
    single::run(&simulation.queue, Merged::new(plans).take(jobs), control).map_err(wrong)
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

fn traced(simulation: &Simulation, source: &Source, speed: f64, control: &Control<'_>) -> Result<Report, SpecError> {
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
    let report = match source {
        Source::Memory(columns) => single::run(&simulation.queue, columns.pairs().map(&mut arrival), control),
        Source::File(path) => match Pairs::open(path).map_err(wrong)? {
            Some(pairs) => {
                let good = pairs.map_while(|pair| pair.map_err(|error| fault = Some(error)).ok());
                single::run(&simulation.queue, good.map(&mut arrival), control)
            }
            None => {
                let trace = Trace::read(path).map_err(wrong)?;
                let Some(demands) = trace.demands() else {
                    return Err(wrong(format!(
                        "{}: a queue needs the demand of every request: two columns, `gap,demand`, or the records of a run",
                        path.display()
                    )));
                };
                let pairs = trace.gaps().iter().copied().zip(demands.iter().copied());
                single::run(&simulation.queue, pairs.map(&mut arrival), control)
            }
        },
    };
    if let Some(fault) = fault {
        return Err(wrong(fault));
    }
    let mut report = report.map_err(wrong)?;
    if let Source::Memory(columns) = source {
        columns.check_unchanged(jobs, happened, work_s)?;
    }
    report.notes.push("one run of the trace: intervals are from its own sections".into());
    let utilization = work_s * speed / (happened.as_secs_f64() * f64::from(simulation.queue.cores));
    if utilization >= 1.0 && simulation.queue.capacity.is_none() {
        report.notes.push(format!(
            "the trace asks for {utilization:.3} of what the cores can do: the numbers say how long it was, no more"
        ));
    }
    Ok(report)
}
