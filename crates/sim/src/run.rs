//! What can be asked of a system and its clients: the long run, and the run of one plan.

use std::sync::Arc;

use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use sojourn_model::{Server, System};
use sojourn_stats::parts::quantiles_of_series;
use sojourn_stats::{Measure, Span, Time, measure};
use sojourn_traffic::{Arrivals, Closed, Demand, Traced, Workload};

use crate::beginning;
use crate::control::{Control, Progress, Report, SimError, demand_of_classes};
use crate::course::Course;
use crate::engine::{Engine, Fabric};
use crate::fabric::{self, Direct, Routed, is_direct, refuse};
use crate::forgetting;
use crate::load::{Load, demand_mean_s, each_is_alone, load};
use crate::memory::{self, STATION};
use crate::requests::clients::{PlannedRequests, Users};
use crate::requests::outcomes_over_time;
use crate::requests::over_time::Intervals;
use crate::requests::{Played, Requests, engine};
use crate::sessions;
use crate::shortage;
use crate::study::{ALWAYS, Forgets, Make, Replication, Study, Subject, replication_seed, sections};
use crate::summary::{self, Counts, QUANTILES, Row};
use crate::wide::{self, Wide};

/// Refuses, before anything is drawn, a system that makes no sense or has what the simulator does not have yet.
///
/// # Errors
/// One line that names it.
pub fn check(system: &System, workload: &Workload) -> Result<(), SimError> {
    match workload {
        Workload::Sessions(users) => sessions::check(system, users),
        _ if is_direct(system) => fabric::check(system),
        _ => fabric::check(system).and_then(|()| refuse(system, workload)),
    }
}

/// Simulates `workload` at `system`; `progress` is called now and then, from any thread.
///
/// A trace is one sample path, and replications of it would differ by less than other traces of its kind: it is played
/// once, to its end or to the horizon, and its intervals are from the one run ([`run_plan`]). Users who browse need a
/// horizon, since they never end.
///
/// # Errors
/// When system or workload makes no sense, the system has what the simulator does not have yet or, without a horizon,
/// nothing ever settles or ends (a rate that changes, a trace that is repeated, an overload).
pub fn run(
    system: &System,
    workload: &Workload,
    control: &Control,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, SimError> {
    match workload {
        Workload::Sessions(users) => sessions::run(system, users, control, progress),
        Workload::Trace(traced) => {
            fabric::check(system)?;
            replay(system, workload, traced, control)
        }
        _ => {
            fabric::check(system)?;
            let replicated = Replicated { system, workload, control, progress };
            match wide::needs_events(system, workload, control) {
                None => {
                    let make = |seed, course: &Course| Wide::new(system, workload, control, seed, course);
                    replicated.study(Box::new(make), Wide::arrived, Wide::counts)
                }
                Some(_) => with_engine(system, workload, control, replicated),
            }
        }
    }
}

/// Simulates exactly the plan of `control.seed` up to `control.horizon`, and leaves out what is planned before the
/// warm-up: the twin of a live run. Of `control` it also reads the catalogue. Response times are a series in the order of
/// the plan (of the ends, where users browse), judged by batches as a live run's are; everything else is judged by
/// sections of equal time.
///
/// # Errors
/// When system or workload makes no sense, there is no horizon, or nothing is left to measure.
pub fn run_plan(system: &System, workload: &Workload, control: &Control) -> Result<Report, SimError> {
    let seed = control.seed;
    let Some(horizon) = control.horizon else {
        return Err(SimError::Invalid("the run of a plan has a length: give a horizon".into()));
    };
    let warm_up = control.warm_up_of(horizon)?;
    if let Workload::Sessions(users) = workload {
        return sessions::run_plan(system, users, control, horizon, warm_up);
    }
    fabric::check(system)?;
    let stations = system.hosts.len() as u64;
    memory::room(&format!("{stations} servers"), stations, STATION, control.memory)?;
    let Control { memory, over_time, .. } = *control;
    with_engine(system, workload, control, OnePlan { workload, seed, horizon, warm_up, memory, over_time })
}

/// The response time (s) of every request that is planned before `horizon`, in the order of the plan; NaN of one that did
/// not complete.
///
/// # Errors
/// When system or workload makes no sense.
pub fn response_times(system: &System, workload: &Workload, seed: u64, horizon: Span) -> Result<Vec<f64>, SimError> {
    fabric::check(system)?;
    with_engine(system, workload, &Control::default(), ResponseTimes { seed, horizon })
}

/// Something to do with the engine of a system and its clients, whatever its type is.
trait Task<'a> {
    type Answer;
    fn run<E: Played + 'a>(self, make: Box<Make<'a, E>>) -> Result<Self::Answer, SimError>;
}

/// Does `task` with the engine of `system` and `workload`.
fn with_engine<'a, T: Task<'a>>(
    system: &'a System,
    workload: &'a Workload,
    control: &Control,
    task: T,
) -> Result<T::Answer, SimError> {
    let demand = demand_of_classes(&system.hosts[0].server, &workload.classes());
    let demand_mean = Span::from_secs_f64(demand_mean_s(system, workload));
    let (catalogue, again) = (control.catalogue.clone(), control.catalogue.clone());
    let direct = move |seed: u64, course: &Course| {
        Direct::new(system, &catalogue, seed, course.predict.map(|knows| (knows, demand_mean)))
    };
    let routed = move |seed: u64, course: &Course| {
        Routed::new(system, workload, &again, seed, course.predict.map(|knows| (knows, demand_mean)))
    };
    match (workload, is_direct(system) && !control.always_routed) {
        (Workload::Closed(closed), true) => {
            workload.check()?;
            task.run(Box::new(move |seed, course| {
                Ok(users((workload, closed), seed, &demand, course, direct(seed, course)?))
            }))
        }
        (Workload::Closed(closed), false) => {
            workload.check()?;
            task.run(Box::new(move |seed, course| {
                Ok(users((workload, closed), seed, &demand, course, routed(seed, course)?))
            }))
        }
        (_, true) => {
            task.run(Box::new(move |seed, course| planned(workload, seed, &demand, course, direct(seed, course)?)))
        }
        (_, false) => {
            task.run(Box::new(move |seed, course| planned(workload, seed, &demand, course, routed(seed, course)?)))
        }
    }
}

fn planned<F: Fabric<Traffic = Requests>>(
    workload: &Workload,
    seed: u64,
    demand: &Arc<dyn Demand>,
    course: &Course,
    fabric: F,
) -> Result<Engine<PlannedRequests, F>, SimError> {
    let clients = PlannedRequests::new(workload, seed, Arc::clone(demand))?;
    Ok(engine(clients, fabric, course, workload))
}

fn users<F: Fabric<Traffic = Requests>>(
    (workload, closed): (&Workload, &Closed),
    seed: u64,
    demand: &Arc<dyn Demand>,
    course: &Course,
    fabric: F,
) -> Engine<Users, F> {
    engine(Users::new(closed, seed, demand), fabric, course, workload)
}

/// Replications until all is sharp.
struct Replicated<'a> {
    system: &'a System,
    workload: &'a Workload,
    control: &'a Control,
    progress: &'a (dyn Fn(Progress) + Sync),
}

impl<'a> Task<'a> for Replicated<'a> {
    type Answer = Report;

    fn run<E: Played + 'a>(self, make: Box<Make<'a, E>>) -> Result<Report, SimError> {
        self.study(make, E::arrived, |engine| engine.counts_at(engine.now()))
    }
}

impl<'a> Replicated<'a> {
    fn study<E: Replication + 'a>(
        self,
        make: Box<Make<'a, E>>,
        arrived: fn(&E) -> u64,
        counts: fn(&E) -> Counts,
    ) -> Result<Report, SimError> {
        let Replicated { system, workload, control, progress } = self;
        let has_end = matches!(workload, Workload::Replay(_));
        let finite = control.horizon.is_some() || has_end;
        let changes_with_time = matches!(workload, Workload::Open(open) if open.arrivals.profile().is_some());
        if changes_with_time && !finite {
            return Err(SimError::Invalid("a rate that changes with time never settles: give a duration".into()));
        }
        let mut notes = Vec::new();
        let load = load(system, workload, &control.catalogue);
        let may_grow = finite || sheds_load(system, workload);
        let at_peak = if changes_with_time { " at its peak" } else { "" };
        if let Some(load) = load.as_ref().filter(|load| load.utilization() >= 1.0) {
            let (utilization, rate, stable) = (load.utilization(), load.rate, load.stable);
            match may_grow {
                false => return Err(SimError::Unstable { utilization, rate, stable }),
                true => notes.push(format!(
                    "offered load is {utilization:.3} of the capacity{at_peak} (stable below {stable:.4} /s): what is shown \
                     is of an overloaded system"
                )),
            }
        } else if let Some(fullest) = load.as_ref().and_then(Load::overloaded) {
            match may_grow {
                false => return Err(SimError::ServerUnstable(fullest.clone())),
                true => {
                    notes.push(format!("{}{at_peak}: what is shown is of an overloaded server", fullest.in_words()))
                }
            }
        }
        let seed = control.seed;
        // Of a rate that changes with time it is not known what comes during a fault.
        let is_told = !changes_with_time && !sheds_load(system, workload);
        let end = control.horizon.map(|horizon| Time::ZERO + horizon);
        notes.extend(shortage::mixed(system, control.warm_up, end));
        let rate = load.as_ref().filter(|_| system.faults.is_empty() && !changes_with_time).map(|load| load.rate);
        notes.extend(rate.and_then(|rate| beginning::begins_empty(control, rate)));
        if let Some(load) = load.filter(|_| is_told) {
            notes.extend(shortage::note(system, seed, load.rate, load.stable, end));
        }
        let closing = Box::new(move |replications: &[E], pool: Option<&ThreadPool>| {
            let Workload::Open(open) = workload else { return Ok((Vec::new(), Vec::new())) };
            if !may_grow && let Some((server, requests)) = never_idle(system, replications.iter().map(counts)) {
                return Err(SimError::NeverIdle { server: system.hosts[server].name.clone(), requests });
            }
            let arrived: Vec<u64> = replications.iter().map(arrived).collect();
            let hurst = arrivals_hurst(&open.arrivals, seed, &arrived, pool);
            let longest = arrived.into_iter().max().unwrap_or(0);
            Ok((hurst.into_iter().collect(), open.arrivals.caveats("the longest replication", longest)))
        });
        let always = ALWAYS.map(String::from).to_vec();
        let servers = system.hosts.len();
        let users = match workload {
            Workload::Closed(closed) => u64::from(closed.users),
            _ => 0,
        };
        let forgets = match servers {
            1 => Forgets::AsOnePart,
            _ if each_is_alone(system, &control.catalogue) => Forgets::EachAlone,
            _ => Forgets::Together,
        };
        let subject = Subject { make, has_end, servers, users, rate, forgets, always, notes, closing };
        Study::new(subject, control, progress)?.run()
    }
}

/// The one run of a trace.
fn replay(system: &System, workload: &Workload, traced: &Traced, control: &Control) -> Result<Report, SimError> {
    let end = match control.horizon {
        Some(horizon) => horizon,
        None if traced.repeat => {
            return Err(SimError::Invalid("a trace that is repeated has no end: give a duration".into()));
        }
        // The last request, and it, are before the end.
        None => traced.span() + Span(2),
    };
    let plan = Control { horizon: Some(end), ..control.clone() };
    let mut report = run_plan(system, workload, &plan)?;
    report.notes.push("one run of the trace: intervals are from its own batches, and no precision is aimed at".into());
    let left_out = traced.trace.left_out();
    if left_out > 0 {
        let path = traced.path.display();
        report.notes.push(format!("{path}: {left_out} requests are left out, of whose work nothing is known"));
    }
    Ok(report)
}

/// The run of one plan.
struct OnePlan<'a> {
    workload: &'a Workload,
    seed: u64,
    horizon: Span,
    warm_up: Span,
    memory: u64,
    over_time: Option<Span>,
}

impl<'a> Task<'a> for OnePlan<'a> {
    type Answer = Report;

    fn run<E: Played + 'a>(self, make: Box<Make<'a, E>>) -> Result<Report, SimError> {
        let OnePlan { workload, seed, horizon, warm_up, memory, over_time } = self;
        let mut engine = make(seed, &Course { over_time, ..Course::of_plan(warm_up, horizon, memory) })?;
        let part_at = |at| {
            engine.run_before(at);
            engine.start_measuring(at);
            engine.counts_at(at)
        };
        let (_, sections) = sections((warm_up, horizon), part_at, Counts::since);
        while !engine.run_until(u64::MAX) {}
        if let Some(inside) = engine.overflowed() {
            return Err(memory::full(inside, 1, memory));
        }
        let whole = engine.counts_at(engine.now());
        let (arrived, jobs) = (engine.arrived(), engine.measured());
        let tally = engine.tally();
        let series: Vec<f64> = tally.series.iter().flatten().copied().filter(|value| !value.is_nan()).collect();
        let mut measures = vec![Measure::new("response_time_mean", "s", measure::mean_of_series(&series))];
        let quantiles = quantiles_of_series(&series, &QUANTILES.map(|(_, p)| p));
        measures.extend(QUANTILES.iter().zip(quantiles).map(|((metric, _), of)| Measure::new(*metric, "s", of)));
        let alike = forgetting::alike([&tally.remembered], tally.response.variance());
        measures.extend(summary::answers(&summary::others(&whole, &sections), measure::CONFIDENCE, alike));
        let over_time = outcomes_over_time(&[&*tally]);
        measures.extend(summary::answers(&over_time, measure::CONFIDENCE, alike));
        if let Workload::Open(open) = workload {
            measures.extend(open.arrivals.hurst_of(seed, arrived));
        }
        Ok(Report {
            measures,
            over_time: Intervals::mean(tally.over_time.iter(), tally.since, alike),
            response_time_cdf: summary::cdf(&tally.response),
            jobs,
            replications: 1,
            converged: true,
            ..Report::default()
        })
    }
}

/// Every response time of the run of one plan.
struct ResponseTimes {
    seed: u64,
    horizon: Span,
}

impl<'a> Task<'a> for ResponseTimes {
    type Answer = Vec<f64>;

    fn run<E: Played + 'a>(self, make: Box<Make<'a, E>>) -> Result<Vec<f64>, SimError> {
        let memory = Control::default().memory;
        let mut engine = make(self.seed, &Course::of_plan(Span::ZERO, self.horizon, memory))?;
        while !engine.run_until(u64::MAX) {}
        if let Some(inside) = engine.overflowed() {
            return Err(memory::full(inside, 1, memory));
        }
        Ok(engine.tally().series.take().unwrap_or_default())
    }
}

/// Whether an overload is shed, so that even a load of 1 and more settles: every server denies, or clients give up.
pub fn sheds_load(system: &System, workload: &Workload) -> bool {
    !matches!(workload, Workload::Open(_))
        || workload.patience().is_some()
        || system.has_limits()
        || system.servers().all(|server| server.capacity.is_some())
}

/// A busy share from which on a server counts as never idle, where it got so many requests.
const NEVER_IDLE: (f64, u64) = (0.9995, 10_000);

/// The server that was busy all the time, and how many requests it got, in replications that counted so much; none of those
/// that deny what is too much.
fn never_idle(system: &System, counts: impl Iterator<Item = Counts>) -> Option<(usize, u64)> {
    let whole = Counts::sum(&counts.collect::<Vec<_>>());
    let is_busy = |(server, (busy_s, sent)): (&Server, (&f64, &u64))| {
        let most = f64::from(server.usable_cores()) / f64::from(server.cores);
        let share = busy_s / (most * whole.elapsed_s);
        server.capacity.is_none() && share >= NEVER_IDLE.0 && *sent >= NEVER_IDLE.1
    };
    let server = system.servers().zip(whole.busy.iter().zip(&whole.sent)).position(is_busy)?;
    Some((server, whole.sent[server]))
}

/// The Hurst parameter that came out of arrivals with long memory, warm-up included.
fn arrivals_hurst(arrivals: &Arrivals, seed: u64, arrived: &[u64], pool: Option<&ThreadPool>) -> Option<Row> {
    arrivals.hurst()?;
    let of = |(number, arrived): (usize, &u64)| {
        arrivals.hurst_of(replication_seed(seed, number), *arrived)?.estimate.value()
    };
    let parts: Vec<Option<f64>> = match pool {
        None => arrived.iter().enumerate().map(of).collect(),
        Some(pool) => pool.install(|| arrived.par_iter().enumerate().map(of).collect()),
    };
    let known: Vec<f64> = parts.iter().flatten().copied().collect();
    let whole = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    let samples = arrived.iter().sum();
    Some(Row { metric: "arrivals_hurst".into(), unit: "1", whole, parts, samples, ..Row::default() })
}
