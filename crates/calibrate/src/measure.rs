//! The calibration from its first connection to its last load.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use sojourn_load::LoadError;
use sojourn_model::{Discipline, Server};
use sojourn_stats::{Span, interval};

use crate::client::Client;
use crate::demand::{self, Against};
use crate::helpers::{self, Hold, Served};
use crate::idle::{self, Idle};
use crate::judge::{self, Point};
use crate::keep_alive::{KeepAlive, keep_alive};
use crate::model;
use crate::settings::{CalibrateError, Interval, Progress, Settings};
use crate::target::{Axis, Target};
use crate::trust;

/// Shares of the time: the idle server, the ramp, the work, the helpers; the loads get the rest.
const SHARES: [f64; 4] = [0.05, 0.08, 0.15, 0.12];
/// Share of the time for idle connections if only the settings bound their number.
const KEEP_ALIVE_SHARE: f64 = 0.03;
/// Utilisation of the load for the choice of the discipline, and its number of runs.
const CHOICE: (f64, u32) = (0.6, 2);
/// The helpers' discipline is kept if its error on that load is at most this.
const GOOD: f64 = 0.05;
/// Another one is taken if in each run its error is less than this share of the error of the helpers' discipline.
const BETTER: f64 = 0.7;
/// Share of each open load's time for the check of the server's speed after it.
const SPEED_SHARE: f64 = 0.2;
/// Largest ratio of path to work: beyond it a network was measured and not a server.
const PATH_MAX: f64 = 1.0;

/// The findings about a server.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// The URL as it was given.
    pub url: String,
    /// Time to connect (s), median.
    pub connect: Interval,
    /// The measurements of each path.
    pub levels: Vec<LevelFound>,
    /// The idle server's median response (s) against x.
    pub idle: Option<Against>,
    /// The work of a request against x.
    pub work: Option<Against>,
    /// Coefficient of variation of the work at one x; 0 if it is too small to be told from that of the clock.
    pub work_cv: f64,
    /// The time of an idle reply beyond its work at the reference level (s), at least 0: the path, and the dispatch. None
    /// where an idle reply took less than its work under load: then it could not be measured.
    pub overhead: Option<Interval>,
    /// The overhead less the time to connect (s), at least 0: the dispatch. None where connecting alone took longer.
    pub dispatch: Option<Interval>,
    /// Cores that are busy at once.
    pub cores: u32,
    /// Throughput against clients at the reference level.
    pub concurrency: Vec<Concurrency>,
    /// Relative change of the work per request with each additional client; if the interval contains 0, the work is
    /// independent of concurrency.
    pub drift: Option<Interval>,
    /// Requests served at once.
    pub served: Served,
    /// The trials behind it.
    pub holds: Vec<Hold>,
    /// The cost of an idle connection that is kept alive; if it could not be seen there is none, and a note says why.
    pub keep_alive: Option<KeepAlive>,
    /// Most replies per second at the reference level.
    pub capacity: Interval,
    /// The idle server's estimate of the work over the saturated one's: of their slopes if there are several levels.
    pub agreement: Interval,
    /// The model.
    #[serde(skip)]
    pub server: Server,
    /// The disciplines that were tried, and the largest relative error of each on the load for the choice.
    pub tried: Vec<(String, f64)>,
    /// Loads that no fit has used.
    pub judged: Vec<Point>,
    /// Why the model is SUSPECT; empty when it is not.
    pub reasons: Vec<String>,
    /// Notes for the reader, one line each.
    pub notes: Vec<String>,
    /// Time of all loads (s).
    pub elapsed_s: f64,
}

/// The measurement of one path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelFound {
    /// The path.
    pub path: String,
    /// Size or iterations.
    pub x: f64,
    /// Median response of the idle server (s).
    pub idle: Interval,
    /// Core time per request of the saturated one (s).
    pub work: Interval,
}

/// Throughput of closed clients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Concurrency {
    /// Clients.
    pub clients: u32,
    /// Replies per second.
    pub throughput: Interval,
}

impl Calibration {
    /// VALID, SUSPECT, or NOT JUDGED.
    pub fn verdict(&self) -> &'static str {
        trust::verdict(&self.reasons, !self.judged.is_empty())
    }
}

/// Measures `target` into a server model. The server must have no other load meanwhile.
///
/// # Errors
/// When a setting is impossible, the target does not answer, could not have been measured from here or answers with
/// errors, when no model predicts it, or when `cancel` is set.
pub fn calibrate(
    target: &Target,
    settings: &Settings,
    progress: &(dyn Fn(Progress<'_>) + Sync),
    cancel: &Arc<AtomicBool>,
) -> Result<Calibration, CalibrateError> {
    check(settings)?;
    if !settings.allowed.allows(target.address.ip()) {
        return Err(LoadError::NotAllowed { target: target.address }.into());
    }
    let client = Client::new(target, settings, progress, cancel);
    let share = |index: usize| SHARES[index] * settings.time.as_secs_f64();
    let connect = connect(&client)?;
    let idle = idle::measure(&client, share(0))?;
    let ramp = demand::ramp(&client, &idle, share(1))?;
    let work = demand::work(&client, &idle, ramp.cores, share(2))?;
    let reference = target.reference;
    let overhead = model::overhead(&idle.response_s[reference], &work.levels[reference]);
    refuse_path(&overhead, &work.levels[reference])?;
    let found = helpers::measure(&client, &work, ramp.cores, share(3))?;
    let (law, work_cv) = model::demand(target, &idle, &work)?;
    let mut server = model::server(&law, ramp.cores, found.served);
    let mut notes = notes(target, found.served);
    let kept = idle_connections(&client, &idle, found.served, &mut notes)?;
    let (told_overhead, dispatch) = model::times_of_the_path(&overhead, &connect);
    let overhead_s = told_overhead.map_or(0.0, |told| told.value);
    let capacity = work.levels[reference].under(f64::from(ramp.cores));
    let alone_s = idle.response_s[reference].value;
    let loads = Loads {
        client: &client,
        alone_s,
        work_s: server.demand("").moments(target.levels[reference].x, 0.0).0,
        cores: ramp.cores,
        overhead_s,
        before_s: Cell::new(None),
    };
    let (mut tried, mut judged) = (Vec::new(), Vec::new());
    if !settings.judged.is_empty() {
        tried = loads.choose(&mut server, found.served, &mut notes)?;
        judged = loads.judge(&server)?;
    }
    let reasons = trust::reasons(&overhead, &judged)?;
    if client.spent_s.get() > 1.2 * settings.time.as_secs_f64() {
        let asked = settings.time;
        notes.push(format!("took {:.0} s of load instead of {asked}: the requests are long", client.spent_s.get()));
    }
    let levels = target.levels.iter().zip(idle.response_s.iter().zip(&work.levels));
    Ok(Calibration {
        url: target.url.clone(),
        connect,
        levels: levels
            .map(|(level, (idle, work))| LevelFound { path: level.path.clone(), x: level.x, idle: *idle, work: *work })
            .collect(),
        idle: idle.line.as_ref().map(Against::of),
        work: work.line.as_ref().map(Against::of),
        work_cv,
        overhead: told_overhead,
        dispatch,
        cores: ramp.cores,
        concurrency: ramp.curve.into_iter().map(|(clients, throughput)| Concurrency { clients, throughput }).collect(),
        drift: ramp.drift,
        served: found.served,
        holds: found.holds,
        keep_alive: kept,
        capacity,
        agreement: model::agreement(&idle, &work, reference),
        server,
        tried,
        judged,
        reasons,
        notes,
        elapsed_s: client.spent_s.get(),
    })
}

pub(crate) fn check(settings: &Settings) -> Result<(), CalibrateError> {
    let invalid = |what: String| Err(CalibrateError::Invalid(what));
    if settings.time < Span(5_000_000_000) {
        return invalid(format!("--time: {} is too short to measure anything; give at least 5 s", settings.time));
    }
    if settings.connections_max < 2 {
        return invalid("--connections-max: at least 2".into());
    }
    if let Some(wrong) = settings.judged.iter().find(|u| !(**u > 0.0 && **u < 0.95)) {
        return invalid(format!("--judge: {wrong} is no utilisation between 0 and 0.95"));
    }
    if settings.repeats == 0 {
        return invalid("--repeats: at least 1".into());
    }
    Ok(())
}

fn connect(client: &Client<'_>) -> Result<Interval, CalibrateError> {
    client.say("time to connect");
    let mut taken: Vec<f64> = sojourn_load::connect_times(client.target.address, 21, Span(1_000_000_000))?
        .iter()
        .map(|span| span.as_secs_f64())
        .collect();
    taken.sort_by(f64::total_cmp);
    let (low, high) = interval::quantile_ranks(taken.len() as u64, 0.5, 0.95).expect("21 are enough for a median");
    Ok(Interval { value: taken[taken.len() / 2], low: taken[low as usize], high: taken[high as usize] })
}

fn refuse_path(overhead: &Interval, work: &Interval) -> Result<(), CalibrateError> {
    if overhead.low > PATH_MAX * work.value {
        return Err(CalibrateError::Refused(format!(
            "the network is the limit: of the idle server's reply {} are the path and only {} work; ask for more work \
             per request, or measure from nearer",
            model::time_text(overhead.value),
            model::time_text(work.value)
        )));
    }
    Ok(())
}

fn idle_connections(
    client: &Client<'_>,
    idle: &Idle,
    served: Served,
    notes: &mut Vec<String>,
) -> Result<Option<KeepAlive>, CalibrateError> {
    client.say("connections that are idle");
    let (settings, replies) = (client.settings, &idle.response_s);
    let cheapest = (0..replies.len()).min_by(|a, b| replies[*a].value.total_cmp(&replies[*b].value));
    let level = cheapest.expect("there is a level");
    let idle_s = replies[level].value;
    let affordable = (KEEP_ALIVE_SHARE * settings.time.as_secs_f64() / idle_s) as u32;
    let most = match served {
        Served::Limited(helpers) => helpers + 1,
        Served::AtLeast(_) | Served::Unknown => affordable.clamp(8, settings.connections_max.max(8)),
    };
    let found = match keep_alive(client.target, settings, level, Span::from_secs_f64(idle_s), most, client.cancel) {
        Ok(found) => found,
        Err(CalibrateError::Refused(why)) => {
            notes.push(format!("keep-alive: not measured: {why}"));
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    match (found, served) {
        (KeepAlive::Free(open), Served::Limited(helpers)) if open < helpers => {
            notes.push(format!("keep-alive: not measured: the server kept {open} connections of {most}"));
            return Ok(None);
        }
        (KeepAlive::HoldsHelper(all), _) if !settings.connection_per_request => notes.push(format!(
            "keep-alive: {all} idle connections leave no helper for another one, so that users wait for each other's \
             connections; with --close they do not"
        )),
        _ => {}
    }
    Ok(Some(found))
}

fn notes(target: &Target, served: Served) -> Vec<String> {
    let mut notes = Vec::new();
    if target.axis != Axis::Size && target.levels.len() > 1 {
        let level = &target.levels[target.reference];
        notes.push(format!("demand: of x = {}; the regression for other x is in [measured]", level.x));
    }
    match served {
        Served::Unknown => notes.push(
            "helpers: not measured, which takes a request that is several times as long as another; give {x} or {size} \
             and --x"
                .into(),
        ),
        Served::AtLeast(tried) => notes.push(format!("helpers: none found up to {tried} requests at once")),
        Served::Limited(_) => {}
    }
    notes
}

/// Open loads, and the speed of the server between them. The speed of a machine drifts, above all of a virtual one, and
/// a model must be judged by its predictions and not by this drift.
struct Loads<'a> {
    client: &'a Client<'a>,
    /// Reply time of the idle server (s).
    alone_s: f64,
    /// The model's work of a request at the reference level (s). The line through all levels may give another value
    /// than the measurement of that level.
    work_s: f64,
    cores: u32,
    overhead_s: f64,
    /// The work of a request after the last load (s).
    before_s: Cell<Option<f64>>,
}

impl Loads<'_> {
    /// Time for each load and for the check of the speed after it (s).
    fn each_s(&self) -> f64 {
        let settings = self.client.settings;
        let runs = settings.judged.len() as u32 * settings.repeats + CHOICE.1;
        (1.0 - SHARES.iter().sum::<f64>()) * settings.time.as_secs_f64() / f64::from(runs)
    }

    /// The work of a request now (s).
    fn work_now(&self) -> Result<f64, CalibrateError> {
        demand::now(self.client, self.alone_s, self.cores, SPEED_SHARE * self.each_s())
    }

    /// A load of that utilisation at the server's present speed, and the speed during the load over that of the model.
    fn run(&self, server: &Server, utilization: f64, number: u32) -> Result<(judge::Run, f64), CalibrateError> {
        let before_s = match self.before_s.get() {
            Some(before_s) => before_s,
            None => self.work_now()?,
        };
        let rate = utilization * f64::from(self.cores) / before_s;
        if rate > self.client.settings.rate_max {
            let most = self.client.settings.rate_max;
            return Err(CalibrateError::Refused(format!(
                "a utilisation of {utilization} takes {rate:.0} requests/s, above the {most:.0} allowed: raise --rate-max"
            )));
        }
        let seed = self.client.settings.seed.wrapping_mul(1000).wrapping_add(u64::from(number));
        let run = judge::measure(self.client, server, rate, (1.0 - SPEED_SHARE) * self.each_s(), seed)?;
        let after_s = self.work_now()?;
        self.before_s.set(Some(after_s));
        Ok((run, self.work_s / (0.5 * (before_s + after_s))))
    }

    /// Takes the discipline that predicts best, or that of the helpers if it is good.
    fn choose(
        &self,
        server: &mut Server,
        served: Served,
        notes: &mut Vec<String>,
    ) -> Result<Vec<(String, f64)>, CalibrateError> {
        let mut runs = Vec::new();
        for number in 0..CHOICE.1 {
            self.client.say("an open load to choose the discipline by");
            runs.push(self.run(server, CHOICE.0, number)?);
        }
        let own = server.discipline.clone();
        let mut tried = Vec::new();
        for discipline in model::candidates(server.cores, served) {
            let candidate = Server { discipline: discipline.clone(), ..server.clone() };
            let mut errors = Vec::new();
            for (run, speed) in &runs {
                let replayed = run.replayed(&judge::at(&candidate, *speed), self.overhead_s)?;
                errors.push(replayed.distance(&run.measured));
            }
            tried.push((discipline, errors));
        }
        let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
        let own_errors = tried.iter().find(|(tried, _)| *tried == own).map(|(_, errors)| errors.clone());
        let own_error = own_errors.as_deref().map_or(f64::INFINITY, mean);
        // In each run: a single disturbed run is no reason to leave the measured number.
        let is_better = |errors: &[f64]| {
            let own = own_errors.as_deref().unwrap_or_default();
            own.iter().zip(errors).all(|(own, error)| *error < BETTER * own)
        };
        let better = tried.iter().filter(|(_, errors)| is_better(errors));
        let best = better.min_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
        if let Some((best, errors)) = best
            && (own_error > GOOD || served == Served::Unknown)
        {
            let error = mean(errors);
            let why = match best {
                Discipline::TimeSlices { .. } => {
                    "the kernel shares the core in slices, newcomers first, and theory, which has no formula for that, \
                     is asked of the latter"
                }
                _ => "requests this short are over before the kernel shares the core",
            };
            if served != Served::Unknown {
                notes.push(format!(
                    "discipline: {} predicts the load curve better than {} (largest error {:.1} % instead of {:.1} %), \
                     which is what is served at once: {why}",
                    name(best),
                    name(&own),
                    100.0 * error,
                    100.0 * own_error
                ));
            }
            server.discipline = best.clone();
        }
        Ok(tried.iter().map(|(discipline, errors)| (name(discipline), mean(errors))).collect())
    }

    fn judge(&self, server: &Server) -> Result<Vec<Point>, CalibrateError> {
        let settings = self.client.settings;
        let mut points: Vec<Point> = settings.judged.iter().copied().map(Point::new).collect();
        let mut number = 100;
        // Interleaved, so that a slow minute of the machine affects all of them.
        for repeat in 1..=settings.repeats {
            for point in &mut points {
                let (utilization, of) = (point.utilization, settings.repeats);
                self.client.say(&format!("judged at utilisation {utilization}, run {repeat} of {of}"));
                let (run, speed) = self.run(server, utilization, number)?;
                point.runs.push(run.judged(server, speed, self.overhead_s).map_err(|error| match error {
                    CalibrateError::Sim(_) => CalibrateError::Refused(format!(
                        "at utilisation {utilization} the server had {:.0} % of the speed that it was measured with, too \
                         little for this load; see that nothing else uses its machine, and measure again",
                        100.0 * speed
                    )),
                    other => other,
                })?);
                point.disturbed(run);
                number += 1;
            }
        }
        Ok(points)
    }
}

/// The name of a discipline in notes.
pub(crate) fn name(discipline: &Discipline) -> String {
    match discipline {
        Discipline::LimitedPs { helpers } => format!("limited-ps({helpers})"),
        Discipline::TimeSlices { quantum, .. } => format!("time-slices({})", model::time_text(quantum.as_secs_f64())),
        other => other.name().into(),
    }
}
