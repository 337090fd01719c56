//! `sojourn load URL`.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use sojourn_load::{
    Connections, Counts, Load, LoadError, Pacing, Progress, Report, Schedule, Stop, Targets, Url, Verdict,
};
use sojourn_stats::{Dimension, Law, Span, Stream, quantity};
use sojourn_traffic::{Arrivals, Closed, Demand, Http, Open, Plan, Script, Sessions, Site, Sizes, Visitor, Workload};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::{interrupt, table};

/// Put load on a web server and measure it
///
/// Without --rate, --arrivals or --users, --connections clients ask again as soon as they are answered. Response time
/// counts from the planned instant; the time from when the request was sent stands beside it. With --site, --users
/// browse it as SURGE's do: they ask for pages, then for their embedded files, and times and --requests are of whole
/// pages.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// http://HOST:PORT/PATH
    url: String,
    /// Connections: how many are kept busy, or with --rate or --arrivals how many there may be at most
    #[arg(long, short = 'c', default_value_t = 32)]
    connections: u32,
    /// Threads of the load generator
    #[arg(long, short = 't', default_value_t = 1)]
    threads: usize,
    /// How long, e.g. 30s
    #[arg(long, short = 'd', default_value = "10 s")]
    duration: String,
    /// Stop after this many requests instead
    #[arg(long, short = 'n', value_name = "N")]
    requests: Option<u64>,
    /// Leave out the start, e.g. 2s
    #[arg(long, value_name = "TIME", default_value = "0 s")]
    warm_up: String,
    /// Open load with evenly spaced requests, e.g. '1000 /s'
    #[arg(long, conflicts_with_all = ["arrivals", "users"])]
    rate: Option<String>,
    /// Open load with gaps of this law, e.g. 'exponential(rate = 1000 /s)'
    #[arg(long, value_name = "LAW", conflicts_with = "users")]
    arrivals: Option<String>,
    /// Closed load of this many users, each with a connection, who think between requests
    #[arg(long, value_name = "N")]
    users: Option<u32>,
    /// Law of the users' thinking time [default: 0 s; with --site SURGE's]
    #[arg(long, value_name = "LAW", requires = "users")]
    think: Option<String>,
    /// Users browse the site that this folder's site.csv describes, below URL (`sojourn traffic site` writes one)
    #[arg(long, value_name = "DIR", requires = "users", conflicts_with = "size")]
    site: Option<PathBuf>,
    /// Law of the pages in a session [default: SURGE's]
    #[arg(long, value_name = "LAW", requires = "site")]
    session_length: Option<String>,
    /// Connections of a user who browses
    #[arg(long, value_name = "N", requires = "site")]
    parallel: Option<u32>,
    /// 1.0, a connection per file, or 1.1 [default: 1.1]
    #[arg(long, value_name = "VERSION", requires = "site")]
    http: Option<String>,
    /// How long a user who browses keeps an idle connection [default: 15 s]
    #[arg(long, value_name = "TIME", requires = "site")]
    keep_alive: Option<String>,
    /// Divide thinking times and the keep-alive time by this
    #[arg(long, value_name = "FACTOR", requires = "site")]
    time_scale: Option<f64>,
    /// Ask an emulated node's /work for replies of these sizes, e.g. 'lognormal(mean = 10 kB, cv = 2)'
    #[arg(long, value_name = "LAW")]
    size: Option<String>,
    /// Ask an emulated node's /work for this much work, e.g. 'exponential(mean = 5 ms)'
    #[arg(long, value_name = "LAW")]
    demand: Option<String>,
    /// Clients give up after this time
    #[arg(long, value_name = "LAW")]
    patience: Option<String>,
    /// A request without a whole reply after this time has failed
    #[arg(long, value_name = "TIME", default_value = "10 s")]
    timeout: String,
    /// Spin before each send: microseconds instead of tens of microseconds late, at the price of a core
    #[arg(long)]
    spin: bool,
    /// A header to send, e.g. 'accept: text/html'; may be repeated
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Keep the SOJOURN cookie of each client and send it back
    #[arg(long)]
    cookies: bool,
    /// Seed of the plan
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn load(arguments: &Arguments) -> Result<Exit, Failure> {
    let cancel = interrupt::flag();
    let load = read(arguments)?;
    let bar = bar(arguments.json);
    let result = sojourn_load::run(load, &cancel, &|now: Progress| {
        bar.set_position((now.share * 1000.0) as u64);
        bar.set_message(format!("{} replies, {} failed", now.ok, now.failed));
    });
    bar.finish_and_clear();
    let report = result.map_err(|error| match error {
        LoadError::System(_) => failed(error),
        other => bad_input(other),
    })?;
    print(&report, arguments.json);
    Ok(match report.verdict {
        Verdict::Valid => Exit::Ok,
        Verdict::Suspect(_) => Exit::Missed,
        Verdict::Incomplete(_) => Exit::Interrupted,
    })
}

fn read(arguments: &Arguments) -> Result<Load, Failure> {
    let url = Url::parse(&arguments.url).map_err(bad_input)?;
    let target = url.resolve().map_err(bad_input)?;
    let work = arguments.size.is_some() || arguments.demand.is_some();
    let site = arguments.site.as_deref().map(Site::read).transpose().map_err(bad_input)?.map(Arc::new);
    let targets = match &site {
        _ if work => Targets::Work,
        Some(site) => Targets::Paths(below(&url.path, site.paths())),
        None => Targets::Fixed(url.path.clone()),
    };
    let stop = match arguments.requests {
        Some(requests) => Stop::Requests(requests),
        None => Stop::After(span("--duration", &arguments.duration)?),
    };
    let headers = arguments.headers.iter().map(|header| match header.split_once(':') {
        Some((name, value)) => Ok((name.trim().to_string(), value.trim().to_string())),
        None => Err(bad_input(format!("--header {header}: write it as `name: value`"))),
    });
    Ok(Load {
        headers: headers.collect::<Result<_, _>>()?,
        cookies: arguments.cookies,
        connections_max: arguments.connections,
        threads: arguments.threads.max(1),
        pacing: if arguments.spin { Pacing::Spin } else { Pacing::Timer },
        timeout: span("--timeout", &arguments.timeout)?,
        warm_up: span("--warm-up", &arguments.warm_up)?,
        stop,
        ..Load::new(target, url.authority(), schedule(arguments, work, site)?, targets)
    })
}

/// The site's paths where the site is not at the server's root.
fn below(folder: &str, paths: &[String]) -> Vec<String> {
    let folder = folder.trim_end_matches('/');
    paths.iter().map(|path| format!("{folder}{path}")).collect()
}

fn law(flag: &str, text: &str, dimension: Dimension) -> Result<Law, Failure> {
    Law::parse(text, dimension).map_err(|e| bad_input(format!("{flag}: {e}")))
}

fn schedule(arguments: &Arguments, work: bool, site: Option<Arc<Site>>) -> Result<Schedule, Failure> {
    let sizes = match &arguments.size {
        Some(text) => Sizes::parse(text).map_err(|e| bad_input(format!("--size: {e}")))?,
        None => Sizes::Law(Law::constant(0.0)),
    };
    let demand = law("--demand", arguments.demand.as_deref().unwrap_or("0 s"), Dimension::Time)?;
    let demand: Arc<dyn Demand> =
        Arc::new(move |_: u8, _: u64, stream: &mut Stream| Span::from_secs_f64(demand.sample(stream)));
    let patience = arguments.patience.as_deref().map(|text| law("--patience", text, Dimension::Time)).transpose()?;
    if let (Some(users), Some(site)) = (arguments.users, site) {
        let sessions = Sessions { patience, ..sessions(arguments, users, site)? };
        Workload::Sessions(sessions.clone()).check().map_err(bad_input)?;
        let http = sessions.keep_alive().map_or(Http::V10, |keep_alive| Http::V11 { keep_alive });
        let visitors = (0..users).map(|user| Visitor::new(&sessions, user, arguments.seed, Arc::clone(&demand)));
        return Ok(Schedule::sessions(visitors, sessions.parallel, http));
    }
    if let Some(users) = arguments.users {
        let think = law("--think", arguments.think.as_deref().unwrap_or("0 s"), Dimension::Time)?;
        let closed = Closed { users, think, sizes, patience };
        return Ok(Schedule::users(
            (0..users).map(|user| Script::new(&closed, user, arguments.seed, Arc::clone(&demand))),
        ));
    }
    let arrivals = match (&arguments.rate, &arguments.arrivals) {
        (Some(rate), _) => {
            let rate = quantity::parse(rate, Dimension::Rate).map_err(|e| bad_input(format!("--rate: {e}")))?;
            if rate <= 0.0 {
                return Err(bad_input("--rate: a rate is above 0, e.g. '100 /s'"));
            }
            Arrivals::of(Law::constant(1.0 / rate))
        }
        (None, Some(text)) => Arrivals::parse(text).map_err(|e| bad_input(format!("--arrivals: {e}")))?,
        (None, None) if work || patience.is_some() => {
            return Err(bad_input("--size, --demand and --patience need a plan: give --rate, --arrivals or --users"));
        }
        (None, None) => return Ok(Schedule::saturate(arguments.connections)),
    };
    if arrivals.utilization().is_some() {
        return Err(bad_input(
            "--arrivals: what the server can do is not known here; give a rate, e.g. `rate = 100 /s`",
        ));
    }
    let workload = Workload::Open(Open { arrivals, clients: 1000, sizes, patience });
    Plan::new(&workload, arguments.seed, demand).map(Schedule::open).map_err(bad_input)
}

/// SURGE's users, but for what the arguments say.
fn sessions(arguments: &Arguments, users: u32, site: Arc<Site>) -> Result<Sessions, Failure> {
    let mut sessions = Sessions::surge(users, site);
    if let Some(think) = &arguments.think {
        sessions.think = law("--think", think, Dimension::Time)?;
    }
    if let Some(length) = &arguments.session_length {
        sessions.length = law("--session-length", length, Dimension::Number)?;
    }
    if let Some(keep_alive) = &arguments.keep_alive {
        sessions.http = Http::V11 { keep_alive: span("--keep-alive", keep_alive)? };
    }
    match arguments.http.as_deref() {
        None | Some("1.1") => {}
        Some("1.0") if arguments.keep_alive.is_some() => {
            return Err(bad_input("--keep-alive: HTTP/1.0 keeps no connection; leave it out, or use --http 1.1"));
        }
        Some("1.0") => sessions.http = Http::V10,
        Some(other) => return Err(bad_input(format!("--http {other}: expected 1.0 or 1.1"))),
    }
    sessions.parallel = arguments.parallel.unwrap_or(sessions.parallel);
    sessions.time_scale = arguments.time_scale.unwrap_or(sessions.time_scale);
    Ok(sessions)
}

fn span(flag: &str, text: &str) -> Result<Span, Failure> {
    let seconds = quantity::parse(text, Dimension::Time).map_err(|e| bad_input(format!("{flag}: {e}")))?;
    Ok(Span::from_secs_f64(seconds))
}

fn print(report: &Report, as_json: bool) {
    let (verdict, reasons) = match &report.verdict {
        Verdict::Valid => ("VALID", Vec::new()),
        Verdict::Suspect(reasons) => ("SUSPECT", reasons.clone()),
        Verdict::Incomplete(reason) => ("INCOMPLETE", vec![reason.clone()]),
    };
    if as_json {
        let rows: Vec<_> = report.measures.iter().map(sojourn_lab::outcome::measure_to_json).collect();
        let facts: serde_json::Map<_, _> =
            sojourn_lab::load_facts(report).into_iter().map(|(k, v)| (k, json!(v))).collect();
        let mut told = json!({
            "verdict": verdict,
            "reasons": reasons,
            "outcomes": rows,
            "facts": facts,
            "counts": report.counts,
            "connections": report.connections,
            "bytes": report.bytes,
        });
        if let Some(objects) = &report.objects {
            told["objects"] = json!(objects.counts);
        }
        table::outln(&serde_json::to_string_pretty(&told).expect("a report is plain JSON"));
        return;
    }
    table::print_measures(&report.measures, &[], false);
    for (name, value) in sojourn_lab::load_facts(report) {
        table::outln(&format!("  {name}: {value}"));
    }
    if let Some(objects) = &report.objects {
        let Counts { planned, ok, unfinished, .. } = objects.counts;
        let failed = planned - ok - unfinished;
        table::outln(&format!("  pages with all their files: {planned} ({failed} failed, {unfinished} unfinished)"));
        let Connections { opened, reused, closed_by_server, .. } = report.connections;
        table::outln(&format!(
            "  connections: {opened} opened, reused {reused} times, {closed_by_server} closed by the server"
        ));
    }
    table::outln(&format!("\n{verdict}"));
    for reason in reasons {
        table::outln(&format!("  {reason}"));
    }
}

fn bar(quiet: bool) -> ProgressBar {
    let bar = match !quiet && std::io::stderr().is_terminal() {
        true => ProgressBar::new(1000),
        false => ProgressBar::hidden(),
    };
    let style = ProgressStyle::with_template("[{bar:30}] {msg} ({elapsed})").expect("the template is valid");
    bar.set_style(style.progress_chars("=> "));
    bar
}
