//! A run from its settings to its report.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use sojourn_stats::{Law, Span, Time};
use sojourn_traffic::Http;

use crate::generator::clock::Clock;
use crate::generator::host::{Cores, allow_files, machine};
use crate::generator::worker::{Gauge, Setting, Start, Work};
use crate::outcome::Counts;
use crate::part::{Facts, Part, PartReport, ThreadFacts};
use crate::recorder::records::{Drain, RecordFile, Sink};
use crate::recorder::watch::Recent;
use crate::recorder::{Division, Keep, Recorder, Windowing};
use crate::report::Report;
use crate::request::endpoint::Endpoint;
use crate::request::url::{Scheme, Url};
use crate::request::{Asked, Body, Method, Renderer, Targets};
use crate::schedule::sessions::PARALLEL_MAX;
use crate::schedule::{Dealt, Schedule, deal};
use crate::setting::{LoadError, Pacing, Progress, Stop, Version};
use crate::wire::allowed::Allowed;
use crate::wire::resolve::{Names, Unresolved};
use crate::wire::tls::{self, Tls};

/// Most streams of an HTTP/2 connection.
const MAX_STREAMS: u32 = 1024;

/// The load to put on a server, and what to keep of it.
#[derive(Debug)]
pub struct Load {
    /// Where the requests go: dealt in turn, by the request's number where connections are anybody's, else by user.
    pub endpoints: Vec<Endpoint>,
    /// Who asks when.
    pub schedule: Schedule,
    /// What is asked for.
    pub targets: Targets,
    /// The requests' method.
    pub method: Method,
    /// Headers that every request carries besides `host`, as name and value; a value is a [`crate::Template`].
    pub headers: Vec<(String, String)>,
    /// The requests' body; its length is said.
    pub body: Body,
    /// The HTTP that they are sent in. Users who browse by HTTP/1.0 have that.
    pub http: Version,
    /// Most streams of an HTTP/2 connection. Neighbouring users share one; of users who browse each has one.
    pub streams: u32,
    /// How a server proves who it is.
    pub tls: Tls,
    /// The name server to ask; none: the system's.
    pub resolver: Option<SocketAddr>,
    /// How many redirects are followed within one response time; beyond that a request has failed. 0: a redirect is
    /// a reply like others.
    pub redirects: u32,
    /// Local addresses to connect from, in turn by client, or by connection where those are anybody's; none: the
    /// system chooses.
    pub local: Vec<IpAddr>,
    /// A planned request that is noticed later than this is not sent, and counted as missed.
    pub catch_up: Span,
    /// What templates are drawn from.
    pub seed: u64,
    /// Whether each client sends back the `SOJOURN=...` cookie that it was given last. A plan is then dealt to
    /// threads by client.
    pub cookies: bool,
    /// Most connections of an open schedule; closed users have one each, and users who browse say how many.
    pub connections_max: u32,
    /// Threads; more than the machine's cores never help.
    pub threads: usize,
    /// How a thread waits for the next planned instant.
    pub pacing: Pacing,
    /// A request without a whole reply this long after it began has failed.
    pub timeout: Span,
    /// Requests planned before this are sent, but left out of the samples; a file counts with its object.
    pub warm_up: Span,
    /// When no more requests are planned.
    pub stop: Stop,
    /// How long requests under way may take after that; then they count as unfinished.
    pub grace: Span,
    /// Whom it may be put on, redirects and names included.
    pub allowed: Allowed,
    /// Whether progress also tells response times and lateness as they come.
    pub watched: bool,
    /// Whether to keep a [`crate::Record`] of every request (152 bytes each).
    pub keep_records: bool,
    /// The law (s) of the gaps of an open schedule, where it is a renewal process: what was sent is then held to it.
    pub asked: Option<Law>,
    /// Where to write a record of every request, in flat memory; see [`crate::recorder::records`].
    pub record_file: Option<RecordFile>,
    /// Which share of the schedule this process runs. The numbers of connections, requests and users are those of all
    /// parts together.
    pub part: Part,
    /// What `CLOCK_REALTIME` says (ns since 1970) when the schedule's time is zero; as soon as possible where nothing is
    /// said. For parts that are to start as one.
    pub start_at: Option<u64>,
}

impl Load {
    /// A load with the defaults of everything that has one: one thread, 1024 connections, timer pacing, 10 s timeout
    /// and grace, no warm-up, for 10 s.
    pub fn new(target: SocketAddr, host: impl Into<String>, schedule: Schedule, targets: Targets) -> Load {
        Load::of(vec![Endpoint::at(target, host)], schedule, targets)
    }

    /// The same for the endpoints of these addresses.
    pub fn to(urls: &[Url], schedule: Schedule, targets: Targets) -> Load {
        Load::of(urls.iter().map(Endpoint::from).collect(), schedule, targets)
    }

    fn of(endpoints: Vec<Endpoint>, schedule: Schedule, targets: Targets) -> Load {
        Load {
            endpoints,
            schedule,
            targets,
            method: Method::Get,
            headers: Vec::new(),
            body: Body::None,
            http: Version::Http11,
            streams: 1,
            tls: Tls::default(),
            resolver: None,
            redirects: 0,
            local: Vec::new(),
            catch_up: Span(1_000_000_000),
            seed: 1,
            cookies: false,
            connections_max: 1024,
            threads: 1,
            pacing: Pacing::Timer,
            timeout: Span(10_000_000_000),
            warm_up: Span::ZERO,
            stop: Stop::After(Span(10_000_000_000)),
            grace: Span(10_000_000_000),
            allowed: Allowed::Private,
            watched: false,
            keep_records: false,
            asked: None,
            record_file: None,
            part: Part::WHOLE,
            start_at: None,
        }
    }
}

/// Runs `load` until it stops, or until `cancel` is set: what was measured by then is kept and the report marked
/// incomplete. `progress` is called about four times a second.
///
/// # Errors
/// When a setting is impossible, or the target cannot be connected to before the start. What fails later is counted.
///
/// # Panics
/// When an invariant of the generator is broken, in one of its threads.
pub fn run(load: Load, cancel: &Arc<AtomicBool>, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, LoadError> {
    Ok(Report::of_parts(vec![run_part(load, cancel, progress)?]))
}

/// Runs the part of `load` that is this process's, as [`run`] does; [`Report::of_parts`] makes a report of all parts.
///
/// # Errors
/// As [`run`], and when the common start has passed before this part was ready.
///
/// # Panics
/// As [`run`].
pub fn run_part(
    load: Load,
    cancel: &Arc<AtomicBool>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<PartReport, LoadError> {
    validate(&load)?;
    let saturated = matches!(load.schedule, Schedule::Saturate { .. });
    let version = match load.schedule {
        Schedule::Sessions { http: Http::V10, .. } => Version::Http10,
        _ => load.http,
    };
    let streams = (version == Version::Http2).then_some(load.streams);
    let asked = Asked {
        method: load.method,
        targets: load.targets,
        headers: &load.headers,
        body: load.body,
        planned: !saturated,
        cookies: load.cookies,
        version,
        seed: load.seed,
    };
    let renderer = Renderer::new(asked, &load.endpoints)?;
    let connections = match &load.schedule {
        Schedule::Open(_) => u64::from(load.connections_max),
        Schedule::Users(users) => (users.len() as u64).div_ceil(u64::from(streams.unwrap_or(1))),
        Schedule::Sessions { users, .. } if streams.is_some() => users.len() as u64,
        Schedule::Sessions { users, parallel, .. } => users.len() as u64 * u64::from(*parallel),
        Schedule::Saturate { connections, .. } => u64::from(*connections),
    };
    let connections = connections.div_ceil(u64::from(load.part.of));
    // A thread has an epoll, a timer and a socket to its name server.
    allow_files(connections + load.threads as u64 * 3).map_err(|limit| LoadError::Files { connections, limit })?;
    let names = Arc::new(Names::new(load.resolver, load.timeout));
    let secured = load.redirects > 0 || load.endpoints.iter().any(|endpoint| endpoint.scheme == Scheme::Https);
    for endpoint in &load.endpoints {
        probe(endpoint, &names, load.allowed, (&load.tls, version), load.timeout)?;
    }

    let browsing = matches!(load.schedule, Schedule::Sessions { .. });
    let paced = !matches!(load.schedule, Schedule::Saturate { .. });
    let schedule = match (load.schedule, streams) {
        // As many connections as were asked for, each as full as it may be.
        (Schedule::Saturate { connections, request }, Some(streams)) => {
            Schedule::Saturate { connections: connections * streams, request }
        }
        (schedule, _) => schedule,
    };
    let Dealt { shares, dealer, requests, end } = deal(schedule, load.stop, load.part, load.threads, load.cookies);
    // Of all parts: how far this one is, is told by its own share.
    let requests = requests.map(|all| all / u64::from(load.part.of));
    let windowing = match (end, load.stop) {
        (Some(end), _) => Windowing::Until(end),
        // An empty plan.
        (None, Stop::After(end)) => Windowing::Until(Time(end.0)),
        (None, Stop::Requests(most)) => Windowing::Requests(most),
    };
    let gauges: Vec<Gauge> = (0..load.threads).map(|_| Gauge::default()).collect();
    // Time for the threads to be there before the first request is due.
    let clock = match load.start_at {
        None => Clock::starting_in(Span(5_000_000 + 1_000_000 * load.threads as u64)),
        Some(at_ns) => Clock::starting_at(at_ns).map_err(|late| LoadError::Late { late })?,
    };
    let setting = Setting {
        endpoints: &load.endpoints,
        renderer: &renderer,
        cookies: load.cookies,
        redirects: load.redirects,
        local: &load.local,
        allowed: load.allowed,
        names: &names,
        tls: &load.tls,
        saturated,
        streams,
        catch_up: load.catch_up,
        persistent: version != Version::Http10,
        pacing: load.pacing,
        timeout: load.timeout,
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
        };
        let recorder = Recorder::new(Division { warm_up: Time(load.warm_up.0), windowing }, keep, sink);
        // Shares differ by at most one connection and add up.
        let (lane, lanes) = load.part.lane(thread, load.threads);
        let connections_max = ((u64::from(load.connections_max) + lanes - 1 - lane) / lanes) as usize;
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
        let share = match (load.stop, requests) {
            (_, Some(all)) => planned_so_far as f64 / all.max(1) as f64,
            (Stop::After(end), None) => elapsed.as_secs_f64() / end.as_secs_f64(),
            (Stop::Requests(all), None) => planned_so_far as f64 * f64::from(load.part.of) / all as f64,
        };
        let seen = load.watched.then(|| {
            let mut seen = Box::<(Counts, Recent)>::default();
            gauges.iter().for_each(|gauge| gauge.window.take(&mut seen.0, &mut seen.1));
            seen
        });
        progress(Progress {
            elapsed: Span(elapsed.0),
            share: share.min(1.0),
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
    Ok(PartReport {
        part: load.part,
        clock_offset_ns: 0,
        started_at_ns: clock.started_at_ns(),
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
            connections_max: load.connections_max,
        },
    })
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

fn validate(load: &Load) -> Result<(), LoadError> {
    let invalid = |what: &str| Err(LoadError::Invalid(what.to_owned()));
    if load.threads == 0 {
        return invalid("threads: at least 1");
    }
    for &local in &load.local {
        if let Err(error) = TcpListener::bind(SocketAddr::new(local, 0)) {
            return Err(LoadError::Invalid(format!("local address {local}: {error}; it has to be one of this host")));
        }
    }
    if load.endpoints.is_empty() {
        return invalid("endpoints: at least one");
    }
    if load.http == Version::Http2 && !(1..=MAX_STREAMS).contains(&load.streams) {
        return Err(LoadError::Invalid(format!(
            "streams = {}: an HTTP/2 connection has 1 to {MAX_STREAMS} of them here",
            load.streams
        )));
    }
    if load.http == Version::Http2 && matches!(load.schedule, Schedule::Sessions { http: Http::V10, .. }) {
        return invalid("http: users who browse by HTTP/1.0 do not speak HTTP/2");
    }
    if load.timeout == Span::ZERO {
        return invalid("timeout: longer than 0, e.g. `10 s`");
    }
    match load.stop {
        Stop::After(end) if end <= load.warm_up => {
            return Err(LoadError::Invalid(format!(
                "duration: {end} is all warm-up ({}); it has to be longer",
                load.warm_up
            )));
        }
        Stop::Requests(0) => return invalid("requests: at least 1"),
        _ => {}
    }
    let Part { index, of } = load.part;
    if index >= of {
        return Err(LoadError::Invalid(format!("part {index} of {of}: parts are numbered from 0")));
    }
    let threads = load.threads as u64 * u64::from(of);
    match &load.schedule {
        Schedule::Open(_) if u64::from(load.connections_max) < threads => {
            invalid("connections: at least one per thread of every part")
        }
        Schedule::Users(users) if (users.len() as u64) < threads => {
            invalid("users: at least one per thread of every part")
        }
        Schedule::Sessions { users, .. } if (users.len() as u64) < threads => {
            invalid("users: at least one per thread of every part")
        }
        Schedule::Sessions { parallel, .. } if !(1..=PARALLEL_MAX).contains(parallel) => {
            Err(LoadError::Invalid(format!("parallel = {parallel}: a user has 1 to {PARALLEL_MAX} connections")))
        }
        Schedule::Saturate { connections, .. } if u64::from(*connections) < threads => {
            invalid("connections: at least one per thread of every part")
        }
        _ => Ok(()),
    }
}

/// Connects once, so that a target that is not there, not allowed or not who it should be is said before the run and
/// not counted in it.
fn probe(
    endpoint: &Endpoint,
    names: &Names,
    allowed: Allowed,
    tls: (&Tls, Version),
    timeout: Span,
) -> Result<(), LoadError> {
    let within = timeout.min(Span(5_000_000_000));
    let targets: Vec<SocketAddr> = match endpoint.address {
        Some(address) => vec![address],
        None => {
            let addresses = names.wait_for(&endpoint.host).map_err(|why| LoadError::NotResolved {
                host: endpoint.host.clone(),
                reason: match why {
                    Unresolved::NoAnswer => format!("the name server at {} does not answer", names.server),
                    other => other.to_string(),
                },
            })?;
            addresses.into_iter().map(|ip| SocketAddr::new(ip, endpoint.port)).collect()
        }
    };
    if let Some(&target) = targets.iter().find(|target| !allowed.allows(target.ip())) {
        return Err(LoadError::NotAllowed { target });
    }
    let mut failure = LoadError::NotResolved { host: endpoint.host.clone(), reason: "there is none".to_owned() };
    for target in targets {
        match TcpStream::connect_timeout(&target, within.as_std()) {
            Ok(stream) if endpoint.scheme == Scheme::Https => return tls::probe(endpoint, target, stream, tls, within),
            Ok(_) => return Ok(()),
            Err(error) => {
                failure = match error.kind() {
                    io::ErrorKind::ConnectionRefused => LoadError::Refused { target },
                    io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => LoadError::NoAnswer { target, within },
                    _ => LoadError::Unreachable { target, source: error },
                }
            }
        }
    }
    Err(failure)
}
