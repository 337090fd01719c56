//! A run from its settings to its report.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use sojourn_stats::{Span, Time};
use sojourn_traffic::Http;

use crate::error::LoadError;
use crate::generator::attempts::Attempts;
use crate::generator::clock::Clock;
use crate::generator::host::{Cores, allow_files, files_left, machine};
use crate::generator::load::{AS_NEEDED, Load};
use crate::generator::probe::probe;
use crate::generator::progress::Progress;
use crate::generator::worker::{Gauge, Setting, Start, Work};
use crate::outcome::Counts;
use crate::recorder::division::{Division, Windowing};
use crate::recorder::passes::StepTally;
use crate::recorder::records::write::{Drain, Sink};
use crate::recorder::watch::Recent;
use crate::recorder::{Keep, Recorder};
use crate::report::Report;
use crate::report::measured::{Facts, ShareReport, ThreadFacts};
use crate::request::endpoint::ByClass;
use crate::request::url::Scheme;
use crate::request::{Asked, Renderer, proxy, take_host};
use crate::schedule::{Coming, Deal, Dealt, Schedule, Source, deal};
use crate::setting::{Stop, Version};
use crate::wire::resolve::Names;

/// As many connections as a plan may need: no more than there are ports of one address to connect from.
const NEEDED_MOST: u64 = 28_000;
/// Most connections where no number is asked for, and each has its place made ready before the start.
const READY_MOST: u32 = 1024;
/// What it costs both sides to open a connection, at most, where they share a machine.
const OPENING: Span = Span(200_000);
/// No start waits longer than this for connections that are opened ahead.
const RUN_UP_MOST: Span = Span(500_000_000);

/// Runs `load` until it stops, or until `cancel` is set: what was measured by then is kept and the report marked
/// incomplete. `progress` is called about four times a second.
///
/// # Errors
/// When a setting is impossible, or the target cannot be connected to before the start. What fails later is counted.
///
/// # Panics
/// When an invariant of the generator is broken, in one of its threads.
pub fn run(load: Load, cancel: &Arc<AtomicBool>, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, LoadError> {
    Ok(Report::of_shares(vec![run_share(load, cancel, progress)?]))
}

/// Runs the share of `load` that is this process's, as [`run`] does; [`Report::of_shares`] makes a report of all shares.
///
/// # Errors
/// As [`run`], and when the common start has passed before this share was ready.
///
/// # Panics
/// As [`run`].
pub fn run_share(
    mut load: Load,
    cancel: &Arc<AtomicBool>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<ShareReport, LoadError> {
    load.check()?;
    if let Some(host) = take_host(&mut load.headers)? {
        if load.proxy.is_some() {
            let why = "a proxy goes by the URL and not by this header (RFC 9112, section 3.2.2); leave it out";
            return Err(LoadError::Invalid(format!("header `host`: {why}")));
        }
        load.endpoints.iter_mut().for_each(|endpoint| endpoint.authority.clone_from(&host));
    }
    let saturated = matches!(load.schedule, Schedule::Saturate { .. });
    let version = match load.schedule {
        Schedule::Sessions { http: Http::V10, .. } => Version::Http10,
        _ => load.http,
    };
    let proxy = load.proxy.as_ref().map(|url| proxy::check(url, &load.endpoints, version)).transpose()?;
    let streams = (version == Version::Http2).then_some(load.streams);
    let asked = Asked {
        method: load.method,
        targets: load.targets,
        headers: &load.headers,
        classes: load.classes,
        body: load.body,
        planned: !saturated,
        cookies: load.cookies,
        version,
        is_proxied: proxy.is_some(),
        seed: load.seed,
    };
    let mut renderer = Renderer::new(asked, &load.endpoints)?;
    // A thread has an epoll, a timer and a socket to its name server.
    let others = load.threads as u64 * 3;
    let connections_max = match load.connections_max {
        AS_NEEDED if streams.is_none() && matches!(load.schedule, Schedule::Open(_)) => {
            NEEDED_MOST.min(files_left(others) * u64::from(load.share.of)) as u32
        }
        AS_NEEDED => READY_MOST,
        asked => asked,
    };
    let connections = match &load.schedule {
        Schedule::Open(_) => u64::from(connections_max),
        Schedule::Users(users) => (users.len() as u64).div_ceil(u64::from(streams.unwrap_or(1))),
        Schedule::Sessions { users, .. } if streams.is_some() => users.len() as u64,
        Schedule::Sessions { users, parallel, .. } => users.len() as u64 * u64::from(*parallel),
        Schedule::Scenarios { coming: Coming::Plan(_), .. } => u64::from(connections_max),
        Schedule::Scenarios { coming: Coming::Users(users), .. } => {
            u64::from(*users).div_ceil(u64::from(streams.unwrap_or(1)))
        }
        Schedule::Saturate { connections, .. } => u64::from(*connections),
    };
    // A user's second attempt has a connection of its own.
    let has_hedge = load.attempts.as_ref().is_some_and(Attempts::has_hedge);
    let each = if has_hedge && !matches!(load.schedule, Schedule::Open(_)) { 2 } else { 1 };
    let connections = each * connections.div_ceil(u64::from(load.share.of));
    allow_files(connections + others).map_err(|limit| LoadError::Files { connections, limit })?;
    let names = Arc::new(Names::new(load.resolver, load.timeout));
    let secured = load.redirects > 0 || load.endpoints.iter().any(|endpoint| endpoint.scheme == Scheme::Https);
    let probing = Clock::starting_in(Span::ZERO);
    // What connections are opened to.
    let reached = proxy.as_ref().map_or(load.endpoints.as_slice(), std::slice::from_ref);
    for endpoint in load.endpoints.iter().filter(|_| proxy.is_some()) {
        proxy::may_be_asked_for(endpoint, &names, load.allowed)?;
    }
    for endpoint in reached.iter().filter(|_| load.tries_first) {
        probe(endpoint, &names, load.allowed, (&load.tls, version), load.timeout)?;
    }
    let probed = Span(probing.now().0);
    let has_names = reached.iter().any(|endpoint| endpoint.address.is_none());

    let browsing = matches!(load.schedule, Schedule::Sessions { .. });
    let paced = !matches!(load.schedule, Schedule::Saturate { .. });
    let schedule = match (load.schedule, streams) {
        // As many connections as were asked for, each as full as it may be.
        (Schedule::Saturate { connections, request }, Some(streams)) => {
            Schedule::Saturate { connections: connections * streams, request }
        }
        (schedule, _) => schedule,
    };
    let steps = match &schedule {
        Schedule::Scenarios { scenarios, .. } => StepTally::of(scenarios),
        _ => Vec::new(),
    };
    let dealing = Deal {
        stop: load.stop,
        share: load.share,
        threads: load.threads,
        // A client's cookie, or its answer of the name server, is its thread's.
        by_client: load.cookies || (version == Version::Http10 && has_names),
        places_max: connections_max * streams.unwrap_or(1),
        seed: load.seed,
    };
    let Dealt { shares, dealer, requests, end } = deal(schedule, dealing);
    // Of all shares: how far this one is, is told by its own share.
    let requests = requests.map(|all| all / u64::from(load.share.of));
    let windowing = match (end, load.stop) {
        (Some(end), _) => Windowing::Until(end),
        // An empty plan.
        (None, Stop::After(end)) => Windowing::Until(Time(end.0)),
        (None, Stop::Requests(most)) => Windowing::Requests(most),
    };
    let gauges: Vec<Gauge> = (0..load.threads).map(|_| Gauge::default()).collect();
    let clock = match load.start_at {
        None => Clock::starting_in(run_up(&shares, load.open_ahead, probed)),
        Some(at_ns) => Clock::starting_at(at_ns).map_err(|late| LoadError::Late { late })?,
    };
    // Read once: what servers are told of the start is what the report says.
    let started_at_ns = clock.started_at_ns();
    renderer.starts_at(started_at_ns);
    let setting = Setting {
        endpoints: &load.endpoints,
        proxy: proxy.as_ref(),
        by_class: ByClass::new(&load.secure, &load.endpoints)?,
        rotation: load.rotation,
        renderer: &renderer,
        cookies: load.cookies,
        redirects: load.redirects,
        returns: load.returns,
        local: &load.local,
        allowed: load.allowed,
        names: &names,
        resolves: load.resolves,
        next_address: load.next_address,
        tls: &load.tls,
        saturated,
        streams,
        catch_up: load.catch_up,
        open_ahead: load.open_ahead,
        persistent: version != Version::Http10,
        pacing: load.pacing,
        timeout: load.timeout,
        attempts: load.attempts.as_ref(),
        grace: load.grace,
        clock,
        cancel,
    };
    let (drain, sinks) = match load.record_file {
        Some(file) => Drain::open(file, load.threads).map(|(drain, sinks)| (Some(drain), sinks))?,
        None => (None, Vec::new()),
    };
    let mut sinks: Vec<Option<Sink>> = sinks.into_iter().map(Some).collect();
    sinks.resize_with(load.threads, || None);
    let mut workers = Vec::with_capacity(load.threads);
    for (thread, ((share, gauge), sink)) in shares.into_iter().zip(&gauges).zip(sinks).enumerate() {
        let jobs = share.jobs_planned();
        let keep = Keep {
            emitted: dealer.is_some(),
            records: load.keep_records.then_some(jobs),
            objects: browsing,
            watched: load.watched,
            again: load.attempts.is_some(),
        };
        let recorder = Recorder::new(Division { warm_up: Time(load.warm_up.0), windowing }, keep, sink);
        let recorder = recorder.with_steps(steps.clone());
        let (lane, lanes) = load.share.lane(thread, load.threads);
        let connections_max = dealing.part(thread, connections_max);
        let places_max = connections_max * streams.unwrap_or(1) as usize;
        // A session store of its own for each, so that threads do not wait for one another.
        let tls = if secured { Some(load.tls.config(version)?) } else { None };
        workers.push(Start::new(&setting, (gauge, lane, lanes), share, recorder, places_max, tls)?);
    }

    let cores_before = Cores::read();
    let tell = || {
        let sum = |of: fn(&Gauge) -> u64| gauges.iter().map(of).sum::<u64>();
        let elapsed = clock.now();
        let planned_so_far = sum(|gauge| gauge.planned.load(Ordering::Relaxed));
        let done = match (load.stop, requests) {
            (_, Some(all)) => planned_so_far as f64 / all.max(1) as f64,
            (Stop::After(end), None) => elapsed.as_secs_f64() / end.as_secs_f64(),
            (Stop::Requests(all), None) => planned_so_far as f64 * f64::from(load.share.of) / all as f64,
        };
        let seen = load.watched.then(|| {
            let mut seen = Box::<(Counts, Recent)>::default();
            gauges.iter().for_each(|gauge| gauge.window.take(&mut seen.0, &mut seen.1));
            seen
        });
        progress(Progress {
            elapsed: Span(elapsed.0),
            share: done.min(1.0),
            planned: planned_so_far,
            ok: sum(|gauge| gauge.ok.load(Ordering::Relaxed)),
            failed: sum(|gauge| gauge.failed.load(Ordering::Relaxed)),
            seen,
        });
    };
    let works = run_threads(workers, cancel, &tell)?;
    let cores = Cores::read().since(&cores_before);
    let known = dealer.as_ref().and_then(|dealer| dealer.known());
    let ended = works.iter().map(|work| work.ended).max().unwrap_or_default();
    let wall_s = ended.as_secs_f64().max(1e-9);
    let facts = |work: &Work| ThreadFacts {
        cpu: work.cpu,
        busy: work.cpu.as_secs_f64() / wall_s,
        waiting: work.waited.map(|waited| waited.as_secs_f64() / wall_s),
    };
    Ok(ShareReport {
        share: load.share,
        clock_offset_ns: 0,
        started_at_ns,
        machine: machine(),
        cores,
        asked: load.asked,
        record_file: drain.map(Drain::finish),
        threads: works.iter().map(facts).collect(),
        cancelled: works.iter().any(|work| work.cancelled),
        ended,
        recorder: Recorder::merged(works.into_iter().map(|work| work.recorder).collect()),
        facts: Facts {
            warm_up: load.warm_up,
            end: known.map_or(end, |(_, end)| end),
            open: dealer.is_some(),
            paced,
            pacing: load.pacing,
            timeout: load.timeout,
            connections_max,
            limits: load.limits,
        },
    })
}

/// Time for the threads to be there before the first request is due, and with them what is opened ahead, each connection
/// as fast as the probes were at worst. What does not stand by then stands later.
fn run_up(shares: &[Source], open_ahead: Span, probed: Span) -> Span {
    let most = shares.iter().map(|share| share.due_by(Time(open_ahead.0)).len() as u64).max().unwrap_or(0);
    let opening_ns = if most > 0 { 2 * probed.0 + OPENING.0 * most } else { 0 };
    Span(5_000_000 + 1_000_000 * shares.len() as u64 + opening_ns.min(RUN_UP_MOST.0))
}

fn run_threads(workers: Vec<Start<'_>>, cancel: &Arc<AtomicBool>, tell: &dyn Fn()) -> Result<Vec<Work>, LoadError> {
    let threads = workers.len();
    let (send, receive) = channel();
    std::thread::scope(|scope| {
        let mut handles = Vec::with_capacity(threads);
        for (number, worker) in workers.into_iter().enumerate() {
            let send = send.clone();
            let named = std::thread::Builder::new().name(format!("load-{number}"));
            let spawned = named.spawn_scoped(scope, move || {
                let work = worker.work();
                // The receiver outlives the scope; only a panic elsewhere could have dropped it.
                let _ = send.send(());
                work
            });
            match spawned {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    cancel.store(true, Ordering::Relaxed);
                    return Err(LoadError::System(error));
                }
            }
        }
        drop(send);
        let mut finished = 0;
        while finished < threads {
            match receive.recv_timeout(Duration::from_millis(250)) {
                Ok(()) => finished += 1,
                Err(RecvTimeoutError::Timeout) => tell(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let join = |handle: std::thread::ScopedJoinHandle<'_, Work>| match handle.join() {
            Ok(work) => work,
            // A broken invariant in a thread is one of the run.
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok(handles.into_iter().map(join).collect())
    })
}
