//! Live: real sockets, a real dispatcher, and servers that are what the experiment says they are.
//!
//! Every server and every decider of a tier is a child process of the same binary ([`parts`]); the load generator runs in
//! this one. A server is emulated on a virtual processor, so that many fit on a small machine.

pub(crate) mod bed;
mod breaking;
mod choices;
mod dns;
mod faults;
mod incidents;
mod nodes;
mod over_time;
mod part;
mod parts;
mod path;
mod product;
mod refusals;
mod report_traffic;
mod reports;
mod run_queue;
mod switch;
#[cfg(test)]
mod tests;
mod tls;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use sojourn_bed::{Ground, Host as Place, Loopback, Namespaces, clock};
use sojourn_dispatch::Catalogue;
use sojourn_load::{
    AS_NEEDED, Allowed, Attempts, Cause, Load, Pacing, Proof, Resolves, Schedule, Stop, Targets, Url, Version,
};
use sojourn_model::system::{Abandoned, Host, Tier, server_name};
use sojourn_part::program::{self as serve, Running};
use sojourn_part::settings::node::{LogSettings, NodeSettings};
use sojourn_part::settings::{self, Section};
use sojourn_sim::capability::{self, Combination};
use sojourn_stats::{Estimate, Measure, Span, Time, measure};
use sojourn_traffic::{Closed, Http, Open, Plan, Script, Site, Sizes, Visitor, Workload};

use self::incidents::Incident;
use self::part::Part;
use self::parts::{Entrances, Parts, Told};
use self::report_traffic::Traffic;
use super::Conditions;
use crate::answer::{Answer, Traces, Trust, Verdict};
use crate::objective::wide_of_few;
use crate::spec::{Engine, Program, Spec, SystemQuestion};
use crate::topology::{ClientHosts, as_host, origin_of};

/// Redirections that a request follows at most: one for each tier that a sane system has, and some.
const REDIRECTS: u32 = 8;

/// What requests under way at the end of a run have, at least and at most.
const GRACE_LEAST: Span = Span(10_000_000_000);
const GRACE_MOST: Span = Span(30_000_000_000);

/// Refuses, before anything starts, what live cannot do.
pub(super) fn check(experiment: &Spec, asked: &SystemQuestion) -> Result<(), String> {
    check_policies(asked)?;
    let combination = combination(experiment, asked);
    capability::check(&combination, capability::Engine::Live)
        .map_err(|what| format!("not there yet: live has no {what}; leave `live` out of `by`"))?;
    bed::check(asked)?;
    nodes::check(asked)?;
    faults::check(asked, experiment.run.live.duration)
}

/// Refuses policies of one's own: a live part is another program, which knows the built-in ones.
fn check_policies(asked: &SystemQuestion) -> Result<(), String> {
    let known = Catalogue::default();
    let mut policies = asked.system.tiers.iter().flat_map(|tier| {
        std::iter::once(tier.policy.as_str()).chain(tier.pools.iter().map(|pool| pool.policy.as_str()))
    });
    match policies.find(|policy| !known.knows(policy)) {
        None => Ok(()),
        Some(own) => Err(format!(
            "live parts are other programs, which do not know your policy `{own}`: ask theory and sim of it, or write it in \
             Rust (CONTRIBUTING.md, how to add a policy)"
        )),
    }
}

/// What live is asked for, as the table of what it has reads it.
fn combination<'a>(experiment: &Spec, asked: &'a SystemQuestion) -> Combination<'a> {
    let live = &experiment.run.live;
    let live = capability::Live {
        duration: live.duration,
        is_program: asked.program.is_some(),
        is_modelled: asked.is_modelled,
        is_in_bed: bed::is_needed(asked),
        kernel_tcp: live.kernel_tcp,
        has_own_limits: asked.deciders.iter().flatten().next().is_some(),
        one_request_per_connection: live.one_request_per_connection,
    };
    Combination { system: &asked.system, workload: &asked.workload, live }
}

pub(super) fn answer(
    experiment: &Spec,
    asked: &SystemQuestion,
    conditions: &Conditions<'_>,
) -> Result<(Answer, Traces), String> {
    let in_bed = bed::is_needed(asked);
    let mut ground: Box<dyn Ground> = match in_bed {
        true => {
            let topology = asked.topology(experiment.seed)?;
            Box::new(Namespaces::new(topology, experiment.seed).map_err(|e| e.to_string())?)
        }
        false => Box::new(Loopback::new()),
    };
    let ground = ground.as_mut();
    let servers = start_servers(experiment, asked, ground, conditions)?;
    // The paths of a bed are known, and the twin has them already; a program without a model has no twin.
    let path =
        if in_bed || !asked.is_modelled { None } else { Some(path::measure(experiment, asked, &servers, conditions)?) };
    let mut system = Parts::start(experiment, asked, servers, ground, conditions)?;
    let mut loads = Vec::new();
    // One budget is of all clients, wherever they are.
    let attempts = faults::attempts(&asked.system).then(|| Attempts::new(&asked.system.rules, experiment.seed));
    if in_bed {
        for (index, host) in bed::client_hosts(ground, &asked.system)? {
            loads.push((Some(host), load(experiment, asked, &system.entrances, Some(index), &attempts)?));
        }
    } else {
        loads.push((None, load(experiment, asked, &system.entrances, None, &attempts)?));
    }
    nodes::meet(&asked.system, &system.servers)?;
    let waited_before = run_queue::waited(&system, ground);
    let (report, happened) = faults::run(experiment, asked, &mut system, ground, |start_at| {
        let start_at = start_at.or_else(|| nodes::start_at_ns(&asked.system, loads.len()));
        bed::run_all(ground, loads, start_at, conditions)
    })?;
    let waited = run_queue::waited(&system, ground);
    let told = system.stop(&asked.system.hosts, ground);
    let start = clock::since_boot_at(report.started_at_ns);
    let mut live = trust(&report, &told, start);
    live.doubt(path.as_ref().and_then(|path| path.doubt(report.response.mean())), false);
    let errors = faults::limits(asked, experiment.run.live.limits).errors;
    live.doubt(refusals::doubt(&asked.system, &report, &told, errors), true);
    live.facts.extend(told.choices.iter().map(choices::Choices::fact));
    live.doubt(choices::doubt(&told.choices, &report.backends), false);
    let held_up = run_queue::per_request(waited_before, waited, &report);
    live.facts.push(("wait of the parts for a core, per request".into(), format!("{held_up:.3}")));
    live.doubt(run_queue::doubt(held_up, report.response.mean(), &report.limits), false);
    let path = path.map(|path| path.delay);
    let shares = shares(&report, asked.system.hosts.len());
    let report_traffic = report_traffic::of(&told);
    live.facts.extend(report_traffic.iter().map(Traffic::fact));
    let report_traffic = report_traffic.and_then(|traffic| traffic.measure(&report));
    let by_file = report.as_far_as_settled(file_means(experiment, asked, &report));
    let by_class = report.as_far_as_settled(class_means(experiment, asked, &report));
    let flows = over_time::of(experiment, asked, &report);
    let (over_time, outcomes, recoveries) = over_time::outcomes(experiment, asked, &report, &happened.faults);
    let events = told.incidents.iter().map(|of| of.event(start)).chain(said(&told.events, start));
    let (hurst, mut notes) = match &asked.workload {
        Workload::Open(Open { arrivals, .. }) => {
            let planned = report.counts.planned;
            (arrivals.hurst_of(experiment.seed, planned), arrivals.caveats("this run", planned))
        }
        _ => (None, Vec::new()),
    };
    notes.extend(report.unsettled.map(|unsettled| unsettled.to_string()));
    notes.extend(super::over_time::aftermath(&asked.system, &over_time, &outcomes, &recoveries));
    let recovery_untold = super::over_time::untold(&asked.system, &over_time, &outcomes, &recoveries);
    notes.extend(told.notes);
    if experiment.run.live.kernel_tcp {
        live.facts.push(("TCP, of live and its twin".into(), "this kernel's, whatever the file says of it".into()));
    }
    if let Some(path) = &path {
        live.facts.push(("path delay, client to gateway and back".into(), format!("{:.3}", path.client)));
        live.facts.push(("path delay, gateway to server and back".into(), format!("{:.3}", path.cluster)));
    }
    let events = happened.events.into_iter().chain(events).collect();
    let traces = Traces { events, path, faults: Some(happened.faults) };
    let answer = Answer {
        measures: report
            .measures
            .into_iter()
            .chain(shares)
            .chain(by_file)
            .chain(by_class)
            .chain(report_traffic)
            .chain(hurst)
            .chain(outcomes)
            .collect(),
        curve: report.response_time_cdf,
        seconds: report.seconds,
        flows,
        over_time,
        recovery_untold,
        trust: Some(live),
        notes,
        ..Answer::new(Engine::Live)
    };
    Ok((answer, traces))
}

/// What deciders said from the start of a run on, beside that they began and ended, as lines of the run folder's events.
fn said(events: &[(String, Time, Value)], start: Time) -> impl Iterator<Item = Value> {
    let is_news = |event: &Value| !matches!(event["event"].as_str(), Some("ready" | "stopped" | "counts" | "state"));
    events.iter().filter(move |(_, at, event)| *at >= start && is_news(event)).map(move |(part, at, event)| {
        let mut event = event.clone();
        event["part"] = part.as_str().into();
        event["at_s"] = (*at - start).as_secs_f64().into();
        event
    })
}

/// A server of a live run.
enum Serving {
    /// A child of ours that emulates the model.
    Node(Box<Part>),
    /// A real server.
    Program(Box<Real>),
}

/// A real server; its parts go in this order.
struct Real {
    /// Where it is, in a bed.
    place: Option<Place>,
    running: Running,
    /// What it is a proxy of.
    origin: Option<Running>,
    /// Where that is, in a bed.
    behind: Option<Place>,
    /// Clients ask it for that server's whole URLs.
    is_forward_proxy: bool,
    /// What it serves, held until the last server has stopped.
    _files: Arc<Served>,
}

impl Serving {
    fn address(&self) -> SocketAddr {
        match self {
            Serving::Node(part) => part.address(),
            Serving::Program(real) => real.running.address(),
        }
    }

    /// How clients reach it.
    fn entrance(&self) -> Entrances {
        let origin = match self {
            Serving::Program(real) if real.is_forward_proxy => real.origin.as_ref(),
            _ => None,
        };
        match origin {
            Some(origin) => Entrances::Proxy { proxy: self.address(), origin: origin.address() },
            None => Entrances::One(self.address()),
        }
    }
}

impl Real {
    /// What happened to it, and whether it still answers.
    fn incidents(&self, name: &str, ground: &dyn Ground) -> Vec<Incident> {
        let behind = self.origin.as_ref().map(|origin| (format!("the web server behind {name}"), origin, self.behind));
        let parts = [Some((name.to_owned(), &self.running, self.place)), behind];
        let of = |(part, running, place): (String, &Running, Option<Place>)| {
            let mut found = incidents::of(&part, running.child(), |_| false);
            // After an overload its backlog may take a while.
            if found.is_empty() && !on(ground, place, || (0..5).any(|_| running.answers())).unwrap_or(false) {
                found.push(incidents::silence(&part));
            }
            found
        };
        parts.into_iter().flatten().flat_map(of).collect()
    }
}

/// A site on disk for the time of a run.
struct Served(PathBuf);

impl Drop for Served {
    fn drop(&mut self) {
        // A folder that stays behind in the system's temporary folder is not worth a failure.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start_servers(
    experiment: &Spec,
    asked: &SystemQuestion,
    ground: &mut dyn Ground,
    conditions: &Conditions<'_>,
) -> Result<Vec<Serving>, String> {
    match &asked.program {
        Some(program) => start_programs(asked, program, ground),
        None => start_nodes(experiment, asked, ground, conditions),
    }
}

/// Every server serves the same folder; of a proxy, the web server behind it does.
fn start_programs(asked: &SystemQuestion, program: &Program, ground: &mut dyn Ground) -> Result<Vec<Serving>, String> {
    let name = format!("sojourn-site-{}-{}", std::process::id(), SITES.fetch_add(1, Ordering::Relaxed));
    let served = Arc::new(Served(std::env::temp_dir().join(name)));
    let unwritten = |e| format!("cannot write the files to {}: {e}", served.0.display());
    site(asked).write(&served.0).map_err(unwritten)?;
    let mut server = serve::Program { root: served.0.clone(), ..program.server.clone() };
    if let (Workload::Sessions(sessions), false) = (&asked.workload, program.has_keep_alive) {
        server.keep_alive = sessions.keep_alive().unwrap_or(Span::ZERO);
    }
    let serve_one = |host: &Host| {
        let place = match bed::is_needed(asked) {
            true => Some(ground.host(&host.name).map_err(|e| e.to_string())?),
            false => None,
        };
        // The web server behind a proxy has a host of its own there.
        let behind = match (place, &program.origin) {
            (Some(_), Some(_)) => Some(ground.host(&origin_of(&host.name)).map_err(|e| e.to_string())?),
            _ => None,
        };
        let start = |server: &serve::Program, place: Option<Place>| {
            let listen = place.map_or(server.listen, |place| SocketAddr::new(ground.address(place), 0));
            let server = serve::Program { listen, ..server.clone() };
            on(ground, place, || server.start().map_err(|e| e.to_string()))?
        };
        let origin = match &program.origin {
            Some(origin) => Some(start(&serve::Program { root: served.0.clone(), ..origin.clone() }, behind)?),
            None => None,
        };
        let mut server = server.clone();
        if let (Some(behind), serve::Kind::Squid { origin: Some(origin), .. }) = (&origin, &mut server.kind) {
            *origin = behind.address();
        }
        let (is_forward_proxy, _files) = (program.is_forward_proxy(), Arc::clone(&served));
        let running = start(&server, place)?;
        Ok(Serving::Program(Box::new(Real { place, running, origin, behind, is_forward_proxy, _files })))
    };
    asked.system.hosts.iter().map(serve_one).collect()
}

/// What `body` gives where a part of the run is: on a host of a bed, or here.
fn on<T: Send>(ground: &dyn Ground, place: Option<Place>, body: impl FnOnce() -> T + Send) -> Result<T, String> {
    match place {
        Some(place) => bed::within(ground, place, body),
        None => Ok(body()),
    }
}

/// The files of a workload that has some: every one that a real program is to serve has.
fn site(asked: &SystemQuestion) -> Arc<Site> {
    match &asked.workload {
        Workload::Sessions(sessions) => Arc::clone(&sessions.site),
        Workload::Open(Open { sizes, .. }) | Workload::Closed(Closed { sizes, .. }) => files_of(sizes),
        Workload::Trace(traced) => files_of(&traced.sizes),
        Workload::Replay(_) => unreachable!("the experiment was checked when it was read"),
    }
}

fn files_of(sizes: &Sizes) -> Arc<Site> {
    Arc::new(sizes.site().expect("the experiment was checked when it was read"))
}

/// Sites written so far: their folders have different names.
static SITES: AtomicU32 = AtomicU32::new(0);

fn start_nodes(
    experiment: &Spec,
    asked: &SystemQuestion,
    ground: &mut dyn Ground,
    conditions: &Conditions<'_>,
) -> Result<Vec<Serving>, String> {
    let (system, program) = (&asked.system, conditions.program);
    if tls::is_asked_for(system) {
        tls::make(ground, system, nodes::SERVICE)?;
    }
    let node = |(index, host): (usize, &Host)| {
        let settings = NodeSettings {
            model: Some(host.server.to_toml()),
            seed: experiment.seed,
            classes: asked.workload.classes().into_iter().map(Into::into).collect(),
            grace: parts::grace(&asked.system),
            abandoned: match system.rules.abandoned {
                Abandoned::Cancelled => settings::node::Abandoned::Cancelled,
                Abandoned::Served => settings::node::Abandoned::Served,
            },
            log: Section(switch::access_log(&asked.system, index).map(LogSettings::new)),
            ..NodeSettings::new(&host.name)
        };
        let is_on_it = |tier: &&Tier| tier.seats.iter().any(|seat| seat.host == Some(index));
        match (nodes::tier_of(system).filter(is_on_it), switch::entrance(ground, &host.name)) {
            (Some(tier), _) => {
                let record = experiment.run.live.record.then(|| parts::record_of(conditions, &as_host(&host.name)));
                nodes::Node { program, system, tier, host: index, record }.start(ground, settings)
            }
            (None, Some(_)) => switch::server(ground, program, settings),
            (None, None) => Part::start(ground, program, &host.name, "node", &settings),
        }
        .map(|part| Serving::Node(Box::new(part)))
    };
    asked.system.hosts.iter().enumerate().map(node).collect()
}

/// What to ask of a server that is to have no work: nothing of a node, the smallest file of a program.
fn probe_targets(asked: &SystemQuestion) -> Targets {
    if asked.program.is_none() {
        return Targets::Work;
    }
    let site = site(asked);
    let smallest = site.files().iter().zip(site.paths()).min_by_key(|(file, _)| file.size);
    Targets::Fixed(smallest.map_or_else(|| "/".into(), |(_, path)| path.clone()))
}

/// The load of the clients of one host, by its number among those of clients, or of all.
fn load(
    experiment: &Spec,
    asked: &SystemQuestion,
    entrances: &Entrances,
    host: Option<usize>,
    attempts: &Option<Attempts>,
) -> Result<Load, String> {
    let live = &experiment.run.live;
    let ClientHosts { homes, .. } = ClientHosts::of(&asked.system);
    let is_here = move |client: u32| host.is_none() || homes.get(client as usize).copied().or(Some(0)) == host;
    let demand = asked.demand();
    let schedule = match &asked.workload {
        Workload::Closed(closed) => {
            let script = |user| Script::new(closed, user, experiment.seed, Arc::clone(&demand));
            Schedule::users((0..closed.users).filter(|user| is_here(*user)).map(script))
        }
        Workload::Sessions(sessions) => {
            let visitor = |user| Visitor::new(sessions, user, experiment.seed, Arc::clone(&demand));
            // The keep-alive timeout as scaled, like the users' own times.
            let http = sessions.keep_alive().map_or(Http::V10, |keep_alive| Http::V11 { keep_alive });
            Schedule::sessions((0..sessions.users).map(visitor), sessions.parallel, http)
        }
        open => {
            let plan = Plan::new(open, experiment.seed, demand).map_err(|e| e.to_string())?;
            Schedule::open(plan.filter(move |planned| is_here(planned.request.client)))
        }
    };
    let gaps = match &asked.workload {
        Workload::Open(open) => open.arrivals.law().cloned(),
        _ => None,
    };
    let timeout = asked.system.rules.timeout.map_or(live.timeout, |timeout| timeout.min(live.timeout));
    let load = Load {
        classes: named_classes(&asked.workload),
        threads: live.load_threads as usize,
        asked: gaps,
        pacing: pacing(experiment),
        http: if live.one_request_per_connection { Version::Http10 } else { Version::Http11 },
        warm_up: live.warm_up,
        timeout,
        attempts: attempts.clone(),
        stop: Stop::After(live.duration),
        // Whatever a server may still answer, it has the time to, and clients have theirs.
        grace: live.timeout.max(grace(&asked.workload)),
        connections_max: live.connections.unwrap_or(AS_NEEDED),
        limits: refusals::limits(&asked.system, faults::limits(asked, live.limits)),
        redirects: REDIRECTS,
        keep_records: counted_files(asked).is_some() || !counted_classes(asked).is_empty() || over_time::is_kept(asked),
        // The addresses of a bed lead nowhere else, whatever they are elsewhere.
        allowed: if host.is_some() { Allowed::Anywhere } else { Allowed::default() },
        cookies: asked.system.tiers.iter().any(|tier| tier.policy.starts_with("cookie")),
        ..match entrances {
            Entrances::One(to) => Load::new(*to, to.to_string(), schedule, targets(asked)),
            Entrances::Proxy { proxy, origin } => through(*proxy, *origin, schedule, targets(asked)),
            Entrances::Rotated(all, rotation) if nodes::tier_of(&asked.system).is_some() => {
                let load = Load::to(&[nodes::url()], schedule, targets(asked)).rotated(all, *rotation);
                tls::secured(load, &asked.system, nodes::SERVICE, (all, *rotation))
            }
            Entrances::Rotated(all, rotation) => {
                Load::new(all[0], all[0].to_string(), schedule, targets(asked)).rotated(all, *rotation)
            }
            Entrances::Named(dns) => Load {
                resolver: Some(*dns),
                // A client goes elsewhere when it is refused, not when its way is long.
                next_address: timeout,
                resolves: resolves(asked.system.rules.resolves),
                ..Load::to(&[Url::parse(&dns::url()).expect("it is one")], schedule, targets(asked))
            },
        }
    };
    Ok(match entrances {
        // A try would be a question to the DNS.
        Entrances::Named(_) => Load { tries_first: false, ..load },
        // Where packets are lost it would prove nothing.
        _ if asked.system.paths.iter().any(|path| path.loses()) => Load { tries_first: false, ..load },
        _ => load,
    })
}

/// A load on a web server through the forward proxy in front of it.
fn through(proxy: SocketAddr, origin: SocketAddr, schedule: Schedule, targets: Targets) -> Load {
    let url = Url::parse(&format!("http://{proxy}/")).expect("it is one");
    Load { proxy: Some(url), ..Load::new(origin, origin.to_string(), schedule, targets) }
}

/// How long what is under way at the end may take: what is cut off there is slow, so this is longer where clients wait for long.
fn grace(workload: &Workload) -> Span {
    let patience = match workload {
        Workload::Open(Open { patience, .. }) | Workload::Closed(Closed { patience, .. }) => patience.as_ref(),
        _ => None,
    };
    let wait = patience.map_or(Span::ZERO, |law| Span::from_secs_f64(law.mean()));
    wait.clamp(GRACE_LEAST, GRACE_MOST)
}

/// When clients ask the DNS again: each request has a connection of its own.
fn resolves(rule: sojourn_model::system::Resolves) -> Resolves {
    match rule {
        sojourn_model::system::Resolves::Ttl => Resolves::Ttl,
        sojourn_model::system::Resolves::Every(span) => Resolves::Every(span),
        sojourn_model::system::Resolves::EachRequest => Resolves::EachConnection,
    }
}

/// The classes that requests name: of a workload without classes they name none.
fn named_classes(workload: &Workload) -> Vec<String> {
    match workload.classes() {
        classes if classes.len() > 1 => classes.into_iter().map(String::from).collect(),
        _ => Vec::new(),
    }
}

/// What is asked for: files of a real program, emulated work of a node.
fn targets(asked: &SystemQuestion) -> Targets {
    match asked.program {
        Some(_) => Targets::Paths(asked.workload.objects().to_vec()),
        None => Targets::Work,
    }
}

fn pacing(experiment: &Spec) -> Pacing {
    if experiment.run.live.spin { Pacing::Spin } else { Pacing::Timer }
}

/// How far the run can be trusted, and on what that rests.
fn trust(report: &sojourn_load::Report, told: &Told, start: Time) -> Trust {
    let (verdict, is_of_failures) = match &report.verdict {
        Proof::Valid => (Verdict::Valid, false),
        Proof::Suspect(doubts) => (Verdict::Suspect, doubts.iter().all(|doubt| doubt.cause == Cause::Errors)),
        Proof::Incomplete(_) => (Verdict::Incomplete, false),
    };
    let mut facts = facts(report);
    for (name, gateway) in &told.deciders {
        for key in [
            "retried",
            "connect_failed",
            "broken",
            "truncated",
            "timed_out",
            "refused",
            "over_limit",
            "overflowed",
            "accepted",
        ] {
            match gateway[key].as_u64() {
                Some(0) | None => {}
                Some(count) => facts.push((format!("{name}, {}", key.replace('_', " ")), count.to_string())),
            }
        }
    }
    for (index, node) in told.nodes.iter().enumerate() {
        if let (Some(busy_s), Some(elapsed_s)) = (node["busy_s"].as_f64(), node["elapsed_s"].as_f64()) {
            facts.push((format!("{}, busy", server_name(index)), format!("{:.1} s of {elapsed_s:.1} s", busy_s)));
        }
        for key in ["decisions", "redirected", "fetched"] {
            if let Some(count) = node["cluster"][key].as_u64().filter(|count| *count > 0) {
                facts.push((format!("{}, {key}", server_name(index)), count.to_string()));
            }
        }
    }
    let incidents = told.incidents.iter().map(|incident| incident.told(start)).collect();
    let reasons = report.verdict.reasons();
    let mut trust = Trust { verdict, reasons, is_of_failures, facts, limits: report.limits, incidents };
    told.incidents.iter().for_each(|incident| trust.doubt(Some(incident.reason(start)), false));
    trust
}

/// What a reader needs to judge a measurement, as names and texts.
pub fn facts(report: &sojourn_load::Report) -> Vec<(String, String)> {
    let percent =
        |shares: &[f64]| shares.iter().map(|share| format!("{:.0} %", share * 100.0)).collect::<Vec<_>>().join(", ");
    let lateness = |metric: &str| match report.measures.iter().find(|measure| measure.metric == metric) {
        Some(Measure { estimate, .. }) => {
            estimate.value().map_or("too few samples".into(), |s| format!("{:.3}", Span::from_secs_f64(s)))
        }
        None => "not paced".into(),
    };
    let mean = match report.lateness.mean() {
        Some(late_ns) => format!("{:.3}", Span::from_secs_f64(late_ns * 1e-9)),
        None => "not paced".into(),
    };
    let pacing = match report.pacing {
        Pacing::Timer => "timer",
        Pacing::Spin => "spin",
    };
    let mut facts = vec![
        ("generator lateness, median".into(), lateness("lateness_p50")),
        ("generator lateness, p99".into(), lateness("lateness_p99")),
        ("generator lateness, mean".into(), mean),
        ("generator pacing".into(), pacing.into()),
        ("rate, offered and achieved".into(), format!("{:.1} /s, {:.1} /s", report.pace.offered, report.pace.achieved)),
        ("generator threads busy".into(), percent(&report.client_busy)),
        ("cores busy".into(), percent(&report.cores_busy)),
        ("requests".into(), report.counts.planned.to_string()),
    ];
    facts.extend(wide_of_few(&report.measures, 1).into_iter().map(|(metric, why)| (metric.into(), why)));
    let counts = &report.counts;
    let sojourn_load::Connections { resolutions, failed_over, secured, resumed, .. } = report.connections;
    let names = [
        ("questions to the DNS", resolutions),
        ("connections at a further address", failed_over),
        ("handshakes of TLS, whole", secured),
        ("handshakes of TLS, resumed", resumed),
    ];
    facts.extend(
        names.into_iter().filter(|(_, count)| *count > 0).map(|(what, count)| (what.into(), count.to_string())),
    );
    let more = [
        ("abandoned", counts.abandoned),
        ("unfinished", counts.unfinished),
        ("tried again, hedges among them", counts.tried_again),
        ("sent again", counts.retried),
        ("sent again, since the server had not processed them", counts.not_processed),
        ("redirected", counts.redirected),
    ];
    let told = counts.causes().into_iter().chain(more.into_iter().filter(|(_, count)| *count > 0));
    facts.extend(told.map(|(cause, count)| (format!("requests, {cause}"), count.to_string())));
    facts
}

/// The part of the requests that each server answered; of objects, by their page, where users browse.
fn shares(report: &sojourn_load::Report, servers: usize) -> Vec<Measure> {
    if let Some(objects) = &report.objects {
        return object_shares(report, objects, servers);
    }
    let total: u64 = report.backends.iter().map(|(_, count)| count).sum();
    if !(2..=16).contains(&servers) || total == 0 {
        return Vec::new();
    }
    let share = |index: usize| {
        let name = server_name(index);
        let count = report.backends.iter().find(|(of, _)| *of == name).map_or(0, |(_, count)| *count);
        Measure::new(format!("share_{}", index + 1), "1", measure::ratio(count, total))
    };
    (0..servers).map(share).collect()
}

fn object_shares(report: &sojourn_load::Report, objects: &sojourn_load::Objects, servers: usize) -> Vec<Measure> {
    let total: u64 = objects.backends.iter().map(|backend| backend.count).sum();
    if !(2..=16).contains(&servers) || total == 0 {
        return Vec::new();
    }
    let place = |index: usize| report.backends.iter().position(|(of, _)| *of == server_name(index));
    let mut measures = Vec::new();
    for index in 0..servers {
        let backend = place(index).and_then(|place| objects.backends.get(place));
        let share = measure::ratio(backend.map_or(0, |backend| backend.count), total);
        measures.push(Measure::new(format!("share_{}", index + 1), "1", share));
        if let Some(backend) = backend {
            let mean = backend.response_time_mean.clone();
            measures.push(Measure::new(format!("response_time_mean_{}", index + 1), "s", mean));
        }
    }
    measures
}

/// The sizes of the files, where there are few enough to tell their response times apart.
fn counted_files(asked: &SystemQuestion) -> Option<Vec<u64>> {
    let is_plain = !matches!(asked.workload, Workload::Sessions(_));
    let files = (asked.program.is_some() && is_plain).then(|| site(asked))?;
    let sizes: Vec<u64> = files.files().iter().map(|file| file.size).collect();
    (2..=16).contains(&sizes.len()).then_some(sizes)
}

/// The mean response time of each file, in the order of the file list.
fn file_means(experiment: &Spec, asked: &SystemQuestion, report: &sojourn_load::Report) -> Vec<Measure> {
    let Some(sizes) = counted_files(asked) else { return Vec::new() };
    let mean = |(index, size): (usize, &u64)| {
        let mean = mean_of(experiment, report, |record| record.bytes == *size)?;
        Some(Measure::new(format!("response_time_mean_file_{}", index + 1), "s", mean))
    };
    sizes.iter().enumerate().filter_map(mean).collect()
}

/// The classes of requests whose response times are told apart.
fn counted_classes(asked: &SystemQuestion) -> Vec<String> {
    if matches!(asked.workload, Workload::Sessions(_)) { Vec::new() } else { named_classes(&asked.workload) }
}

/// The mean response time of each class of requests, where there are several.
fn class_means(experiment: &Spec, asked: &SystemQuestion, report: &sojourn_load::Report) -> Vec<Measure> {
    let mean = |(number, name): (usize, &String)| {
        let mean = mean_of(experiment, report, |record| usize::from(record.class) == number)?;
        Some(Measure::new(format!("response_time_mean_{name}"), "s", mean))
    };
    counted_classes(asked).iter().enumerate().filter_map(mean).collect()
}

/// The mean response time (s) of those requests that `are_meant`; none where no record was kept.
fn mean_of(
    experiment: &Spec,
    report: &sojourn_load::Report,
    are_meant: impl Fn(&sojourn_load::Record) -> bool,
) -> Option<Estimate> {
    let warm_up = Time::ZERO + experiment.run.live.warm_up;
    let counts = |record: &&sojourn_load::Record| {
        record.planned >= warm_up && record.outcome == sojourn_load::Outcome::Ok && are_meant(record)
    };
    let found = report.records.as_ref()?.iter().filter(counts);
    let times: Vec<f64> = found.map(|record| (record.done - record.planned).as_secs_f64()).collect();
    Some(measure::mean_of_series(&times))
}
