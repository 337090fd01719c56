//! Replications of a cluster, and the twin of a live run.

use std::sync::Arc;

use sojourn_dispatch::Catalogue;
use sojourn_model::{Discipline, Server, System};
use sojourn_stats::parts::quantile_of_series;
use sojourn_stats::{Histogram, Measure, Span, Time, measure};
use sojourn_traffic::{Sessions, Visit};

use super::browsing::Browsing;
use super::check;
use super::connections::{Connected, Connections};
use super::summary::{self as sums, QUANTILES, Sums};
use super::tally::Tally;
use crate::control::{Control, Progress, Report, SimError, demand_of};
use crate::course::Course;
use crate::engine::Engine;
use crate::fabric::{Cluster, OneTier, Routing, Tiers};
use crate::forgetting;
use crate::memory::{self, STATION};
use crate::study::{Outside, growth, merged, play, pool, replication_seed, sections, undecided, widest};
use crate::summary::{self, Row};

/// Looks at the outside world during a replication.
const LOOKS: u64 = 32;

/// Simulates users who browse for `control.horizon`, as often as `control.replications` says (at least twice), and with a
/// precision until every metric asked for is sharp or `control.max_jobs` objects have been simulated. `progress` is
/// called now and then, from any thread.
///
/// # Errors
/// When system or users make no sense, or there is no horizon.
pub(crate) fn run(
    system: &System,
    sessions: &Sessions,
    control: &Control,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, SimError> {
    check(system, sessions)?;
    find_room(system, sessions, control)?;
    match is_direct(system, control) {
        true => replicated::<OneTier>(system, sessions, control, progress),
        false => replicated::<Tiers>(system, sessions, control, progress),
    }
}

/// Refuses what one replication has no room for.
fn find_room(system: &System, sessions: &Sessions, control: &Control) -> Result<(), SimError> {
    let (servers, users) = (system.hosts.len() as u64, u64::from(sessions.users));
    let connections = users * u64::from(sessions.parallel);
    let what = format!("{servers} servers and {users} users with {connections} connections");
    memory::room(&what, servers + users + connections, STATION, control.memory).map(drop)
}

/// Whether one tier is all that is between users and servers.
fn is_direct(system: &System, control: &Control) -> bool {
    system.is_plain() && !control.always_routed
}

fn replicated<R: Routing>(
    system: &System,
    sessions: &Sessions,
    control: &Control,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, SimError> {
    let Some(horizon) = control.horizon else {
        return Err(SimError::Invalid("sessions need a duration, e.g. duration = \"600 s\": users never end".into()));
    };
    let warm_up = control.warm_up_of(horizon)?;
    // An error that every replication would meet is said before any is played.
    let course = Course { keep_series: false, ..Course::of_plan(warm_up, horizon, control.memory) };
    let one = Sessions { users: 1, ..sessions.clone() };
    replication::<R>(system, &one, &control.catalogue, control.seed, &course)?;
    let pool = pool(control)?;
    let mut outside = Outside::new(control, progress);
    let mut notes = sessions.notes();
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut wanted = control.replications.max(2) as usize;
    let mut converged = true;
    loop {
        let each = outcomes.iter().map(|outcome| outcome.ended).sum::<u64>() / outcomes.len().max(1) as u64;
        outside.planned = if each > 0 { each * wanted as u64 } else { expected(sessions, horizon) * wanted as u64 };
        let mut fresh: Vec<(usize, Option<Result<Outcome, SimError>>)> =
            (outcomes.len()..wanted).map(|number| (number, None)).collect();
        play(pool.as_ref(), &mut fresh, |(number, outcome)| {
            let seed = replication_seed(control.seed, *number);
            let replication = replication::<R>(system, sessions, &control.catalogue, seed, &course);
            *outcome = Some(replication.map(|replication| played(replication, (warm_up, horizon), &outside)));
        });
        for (_, outcome) in fresh {
            outcomes.push(outcome.expect("every replication was played")?);
        }
        if outside.cancelled() {
            notes.push("stopped early: the numbers are of what had been simulated".into());
            converged = false;
            break;
        }
        let Some(precision) = control.precision else { break };
        let so_far = rows(&outcomes);
        let widest = widest(&summary::measures(&so_far, control.confidence()), control);
        outside.relative = Some(widest);
        let undecided = undecided(&so_far, control, alike(&so_far, &outcomes));
        if widest <= precision.relative && undecided.is_none() {
            break;
        }
        let ended: u64 = outcomes.iter().map(|outcome| outcome.ended).sum();
        let most = (control.max_jobs.saturating_mul(outcomes.len() as u64) / ended.max(1)) as usize;
        if most <= outcomes.len() {
            notes.push(format!(
                "stopped at {} replications, the limit of {} objects, before every interval was as narrow as asked",
                outcomes.len(),
                control.max_jobs
            ));
            converged = false;
            break;
        }
        let growth = growth(widest, precision.relative).max(undecided.unwrap_or(1.0));
        wanted = ((outcomes.len() as f64 * growth).ceil() as usize).min(most);
    }
    let left_out: u64 = outcomes.iter().map(|outcome| outcome.under_way).sum();
    note_left_out(&mut notes, left_out, outcomes.iter().map(|outcome| outcome.ended).sum());
    let rows = rows(&outcomes);
    let measures = summary::answers(&rows, control.confidence(), alike(&rows, &outcomes));
    let whole = Sums::sum(&parts(&outcomes));
    Ok(Report {
        replications: outcomes.len() as u32,
        converged: converged && measures.iter().any(|measure| measure.estimate.interval().is_some()),
        measures,
        replications_values: summary::values(rows),
        notes,
        ..report(&whole, &histogram(&outcomes, |tally| &tally.objects))
    })
}

/// How long after its end a live run waits for what is under way.
const GRACE: Span = Span(10_000_000_000);

/// The twin of a live run: as [`crate::run_plan`], for users who browse. What is under way at the end may still end within
/// 10 s, as in a live run: leaving it out would leave out the slow.
pub(crate) fn run_plan(
    system: &System,
    sessions: &Sessions,
    control: &Control,
    duration: Span,
    warm_up: Span,
) -> Result<Report, SimError> {
    check(system, sessions)?;
    find_room(system, sessions, control)?;
    match is_direct(system, control) {
        true => one_plan::<OneTier>(system, sessions, control, duration, warm_up),
        false => one_plan::<Tiers>(system, sessions, control, duration, warm_up),
    }
}

fn one_plan<R: Routing>(
    system: &System,
    sessions: &Sessions,
    control: &Control,
    duration: Span,
    warm_up: Span,
) -> Result<Report, SimError> {
    let course = Course::of_plan(warm_up, duration, control.memory);
    let mut replication = replication::<R>(system, sessions, &control.catalogue, control.seed, &course)?;
    let part_at = |at| {
        replication.run_before(at);
        replication.start_measuring(at);
        replication.part(at)
    };
    let (whole, sections) = sections((warm_up, duration), part_at, Sums::since);
    // No user asks any more, but what is under way may still end.
    replication.run_before(Time(duration.0) + GRACE);
    let (ended, left_out) = (replication.ended(), replication.under_way());
    let tally = &replication.cx.tally;
    let series = tally.series.as_ref().expect("the series was asked for");
    let names = ["response_time_", "page_response_time_", "file_response_time_"];
    let mut measures = Vec::new();
    for (prefix, series) in names.iter().zip(series) {
        measures.push(Measure::new(format!("{prefix}mean"), "s", measure::mean_of_series(series)));
        for (_, name, p) in QUANTILES.iter().filter(|(of, ..)| of == prefix) {
            measures.push(Measure::new(format!("{prefix}{name}"), "s", quantile_of_series(series, *p)));
        }
    }
    let means: Vec<Option<f64>> = sections.iter().map(|part| sums::mean_s(part.counts.responses[0])).collect();
    let alike = forgetting::alike_of_parts(&means, &tally.objects);
    measures.extend(summary::answers(&sums::others(&whole, &sections), measure::CONFIDENCE, alike));
    let mut notes = sessions.notes();
    note_left_out(&mut notes, left_out, ended);
    Ok(Report { replications: 1, converged: true, measures, notes, ..report(&whole, &tally.objects) })
}

/// What a report says of all that was counted, and of the response times of objects.
fn report(whole: &Sums, objects: &Histogram) -> Report {
    Report {
        response_time_cdf: summary::cdf(objects),
        connections: sums::shares(&whole.open),
        attached: sums::shares(&whole.attached),
        jobs: whole.counts.responses[0].0,
        ..Report::default()
    }
}

/// The pages that each user asks for in the run of one plan ([`crate::run_plan`]), in order: the emitted stream, for tests
/// of what was asked for against what came.
///
/// # Errors
/// When system or users make no sense.
pub fn visits_of_run(
    system: &System,
    sessions: &Sessions,
    seed: u64,
    duration: Span,
) -> Result<Vec<Vec<Visit>>, SimError> {
    check(system, sessions)?;
    let course = Course::of_plan(Span::ZERO, duration, Control::default().memory);
    let mut replication = replication::<Tiers>(system, sessions, &Catalogue::default(), seed, &course)?;
    replication.clients.visits = Some(vec![Vec::new(); sessions.users as usize]);
    replication.run_before(Time::ZERO + duration);
    Ok(replication.clients.visits.unwrap_or_default())
}

/// What is kept of a replication.
struct Outcome {
    tally: Tally,
    part: Sums,
    ended: u64,
    under_way: u64,
}

/// One replication of users at a system.
type Replication<R> = Engine<Browsing, Cluster<R>>;

fn replication<R: Routing>(
    system: &System,
    sessions: &Sessions,
    catalogue: &Catalogue,
    seed: u64,
    course: &Course,
) -> Result<Replication<R>, SimError> {
    let clients = Browsing::new(sessions, seed, &demand_of(&system.hosts[0].server));
    let fabric = Cluster::new(system, sessions, catalogue, seed)?;
    let jobs = Connections::new(sessions.users, sessions.parallel);
    let tally = Tally::new(system.hosts.len(), course.keep_series);
    Ok(Engine::new(clients, fabric, jobs, tally, course))
}

/// Plays a replication from its warm-up to its horizon.
fn played<R: Routing>(
    mut replication: Replication<R>,
    (warm_up, horizon): (Span, Span),
    outside: &Outside<'_>,
) -> Outcome {
    let start = Time(warm_up.0);
    replication.run_before(start);
    replication.start_measuring(start);
    let mut now = start;
    for look in 1..=LOOKS {
        if outside.cancelled() {
            break;
        }
        let before = replication.ended();
        now = Time(start.0 + ((horizon.0 - start.0) as u128 * u128::from(look) / u128::from(LOOKS)) as u64);
        replication.run_before(now);
        outside.report(replication.ended() - before);
    }
    let (part, ended, under_way) = (replication.part(now), replication.ended(), replication.under_way());
    Outcome { tally: replication.cx.tally, part, ended, under_way }
}

impl<F: Connected> Engine<Browsing, F> {
    /// Objects that have ended since measuring began.
    fn ended(&self) -> u64 {
        self.cx.tally.counts.ended
    }

    /// Objects under way.
    fn under_way(&self) -> u64 {
        self.cx.jobs.asked.iter().flatten().count() as u64
    }

    /// What has been counted since measuring began, up to `now`: an instant between the last event and the next.
    fn part(&self, now: Time) -> Sums {
        let (tally, servers) = (&self.cx.tally, self.fabric.servers());
        let busy = self.fabric.busy(now);
        let busy_s = busy.iter().zip(&tally.busy_before).zip(servers);
        let busy_s = busy_s
            .map(|((after, before), server)| (*after - *before).as_secs_f64() / f64::from(server.cores))
            .sum::<f64>();
        let is_station = |server: &&Server| !matches!(server.discipline, Discipline::DelayCurve(_));
        let stations = servers.iter().filter(is_station).count();
        let (open, attached) = self.fabric.spent(now);
        Sums {
            elapsed_s: (now - tally.since).as_secs_f64(),
            counts: tally.counts.clone(),
            open,
            attached,
            busy_s: (stations > 0).then(|| busy_s / stations as f64),
        }
    }
}

fn rows(outcomes: &[Outcome]) -> Vec<Row> {
    type Of = fn(&Tally) -> &Histogram;
    let kinds: [(&str, Of); 3] = [
        ("response_time_", |tally| &tally.objects),
        ("page_response_time_", |tally| &tally.pages),
        ("file_response_time_", |tally| &tally.files),
    ];
    let mut rows = Vec::new();
    for (prefix, of) in kinds {
        let histograms: Vec<&Histogram> = outcomes.iter().map(|outcome| of(&outcome.tally)).collect();
        let whole = Arc::new(merged(&histograms));
        rows.push(summary::mean(&format!("{prefix}mean"), &whole, &histograms));
        for (_, name, p) in QUANTILES.iter().filter(|(of, ..)| *of == prefix) {
            rows.push(summary::quantile(&format!("{prefix}{name}"), &whole, &histograms, *p));
        }
    }
    let parts = parts(outcomes);
    rows.extend(sums::others(&Sums::sum(&parts), &parts));
    rows
}

/// How many objects tell as much as one; the first of `rows` is the mean response time.
fn alike(rows: &[Row], outcomes: &[Outcome]) -> f64 {
    forgetting::alike_of_parts(&rows[0].parts, &histogram(outcomes, |tally| &tally.objects))
}

fn parts(outcomes: &[Outcome]) -> Vec<Sums> {
    outcomes.iter().map(|outcome| outcome.part.clone()).collect()
}

fn histogram(outcomes: &[Outcome], of: impl Fn(&Tally) -> &Histogram) -> Histogram {
    merged(&outcomes.iter().map(|outcome| of(&outcome.tally)).collect::<Vec<_>>())
}

/// Objects that a replication ends if nothing takes any time: an upper bound, for the progress of the first ones.
fn expected(sessions: &Sessions, horizon: Span) -> u64 {
    let think_s = (sessions.think.mean() / sessions.time_scale).max(1e-3);
    (f64::from(sessions.users) * horizon.as_secs_f64() / think_s) as u64
}

fn note_left_out(notes: &mut Vec<String>, left_out: u64, ended: u64) {
    if left_out > 0 {
        let percent = 100.0 * left_out as f64 / (left_out + ended) as f64;
        notes.push(format!("{left_out} objects ({percent:.2} %) were under way at the end and are left out"));
    }
}
