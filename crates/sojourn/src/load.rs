//! `sojourn load URL`: one run, a search for the highest rate that holds, or a scan over a range.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::UnknownArgumentValueParser as Unknown;
use sojourn_lab::folder::write_whole;
use sojourn_lab::objective::Objective;
use sojourn_lab::report::load as page;
use sojourn_load::Awake;
use sojourn_load::order::{LoadSettings, Order};
use sojourn_part::network::Allow;
use sojourn_stats::{Dimension, quantity};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::value::{file_to_write, svg_to_write};

pub(crate) mod agents;
mod metrics;
pub(crate) mod print;
pub(crate) mod run;
mod scan;
mod search;
pub(crate) mod view;

use agents::Clients;
use metrics::Metrics;
use run::{Runner, refused};

/// Put load on a web server and measure it
///
/// Without --rate, --arrivals or --users, --connections clients ask again as soon as they are answered. Response time
/// counts from the planned instant; the time from when the request was sent stands beside it. With --site, --users
/// browse it as SURGE's do: they ask for pages, then for their embedded files, and times and --requests are of whole
/// pages.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// http://HOST:PORT/PATH or https://...; several are asked in turn. A path may have drawn values in braces, e.g.
    /// '/work?iter={erlang(k = 2, mean = 40000)}'
    #[arg(required_unless_present = "urls", value_name = "URL")]
    url: Vec<String>,
    #[command(flatten)]
    settings: LoadSettings,
    #[command(flatten)]
    clients: Clients,
    /// What must hold, or the exit code is 1, e.g. 'p99 < 50 ms', 'error_ratio < 1%', 'throughput > 900 /s'; may be
    /// repeated. Judged by the unfavourable end of the interval
    #[arg(long = "objective", value_name = "OBJECTIVE", help_heading = "Measurement")]
    objectives: Vec<String>,
    /// Find the highest rate at which this holds, from --rate or --arrivals on, e.g. 'p99 < 50 ms'
    #[arg(long, value_name = "OBJECTIVE", conflicts_with = "scan", help_heading = "Measurement")]
    search: Option<String>,
    /// How narrow the bracket of a search has to become
    #[arg(long, value_name = "SHARE", default_value = "5%", requires = "search", help_heading = "Measurement")]
    within: String,
    /// A run at each step: FROM:TO:STEP of the rate, or connections=FROM:TO:STEP, users=...; xSTEP is a factor
    #[arg(long, value_name = "RANGE", help_heading = "Measurement")]
    scan: Option<String>,
    /// Go on with a scan when most requests fail
    #[arg(long, requires = "scan", help_heading = "Measurement")]
    keep_going: bool,
    /// Draw the scan's curve
    #[arg(long, value_name = "FILE.svg", value_parser = svg_to_write(), requires = "scan", help_heading = "Output")]
    plot: Option<PathBuf>,
    /// Write the run's histograms as an HDR interval log
    #[arg(long, value_name = "FILE", value_parser = file_to_write(), help_heading = "Output")]
    hdr: Option<PathBuf>,
    /// Write the run as a page: what it measured, and its rate, times, errors and lateness second by second
    #[arg(long, value_name = "FILE.html", value_parser = file_to_write(), help_heading = "Output")]
    report: Option<PathBuf>,
    /// Tell the run's numbers while it goes on at http://ADDRESS/metrics, for Prometheus
    #[arg(long, value_name = "ADDRESS", help_heading = "Output")]
    metrics: Option<SocketAddr>,
    /// Which clients get those numbers: `all`, `none`, or ranges of addresses, as 127.0.0.0/8,10.0.0.1
    #[arg(long, value_name = "NETWORKS", default_value = "all", requires = "metrics")]
    metrics_allow_from: Allow,
    /// Show nothing while running
    #[arg(long, short = 'q', help_heading = "Output")]
    quiet: bool,
    /// Print the report as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    _elsewhere: Elsewhere,
}

/// Flags of other load generators, which clap would take for misspelt ones of ours.
#[derive(clap::Args)]
struct Elsewhere {
    #[arg(long, hide = true, num_args = 0, default_missing_value = "", value_parser = Unknown::suggest(
        "percentiles are always printed; `--report FILE.html` draws the whole distribution"
    ))]
    latency: Option<String>,
    #[arg(long, hide = true, num_args = 0, default_missing_value = "", value_parser = Unknown::suggest(
        "a rate that changes is a profile: `--rate '1000 /s' --profile 'ramp(from = 0.1, to = 1, over = 60 s)'`"
    ))]
    stages: Option<String>,
    #[arg(long, hide = true, num_args = 0, default_missing_value = "", value_parser = Unknown::suggest(
        "users who wait for their replies are `--users N`; `--think` says how long they wait before the next request"
    ))]
    vus: Option<String>,
}

pub(crate) fn load(arguments: &Arguments) -> Result<Exit, Failure> {
    let objectives = arguments.objectives.iter().map(|text| objective("--objective", text));
    let objectives: Vec<Objective> = objectives.collect::<Result<_, _>>()?;
    let several = arguments.search.is_some() || arguments.scan.is_some();
    if several && !objectives.is_empty() {
        let instead = match arguments.scan {
            Some(_) => "a scan is several and judges none; --search finds the highest rate at which one holds",
            None => "a search is several, and judges each by what --search says",
        };
        return Err(bad_input(format!("--objective judges one run; {instead}")));
    }
    let of_one_run = [
        ("--record", arguments.settings.record.is_some()),
        ("--hdr", arguments.hdr.is_some()),
        ("--report", arguments.report.is_some()),
    ];
    if let Some((flag, _)) = of_one_run.iter().find(|(_, is_given)| several && *is_given) {
        return Err(bad_input(format!(
            "{flag} writes one run; a search and a scan are several: `--scan FROM:TO:STEP --plot FILE.svg` draws these, \
             and a run at one of their rates (`--rate`) takes {flag}"
        )));
    }
    let _awake = awake(&arguments.settings.awake)?;
    let order = Order::new(&arguments.url, &arguments.settings).map_err(refused)?;
    order.no_work().iter().for_each(|told| crate::table::errln(&format!("note: {told}")));
    let listen = |address| Metrics::listen(address, arguments.metrics_allow_from.clone());
    let (metrics, _telling) = arguments.metrics.map(listen).transpose()?.unzip();
    let runner = Runner::new(&arguments.clients, arguments.settings.yes_i_may, arguments.quiet)?.with_metrics(metrics);
    if let Some(text) = &arguments.search {
        let within = quantity::parse(&arguments.within, Dimension::Number);
        let within = within.map_err(|e| bad_input(format!("--within: {e}")))?;
        if within <= 0.0 {
            return Err(bad_input("--within: a bracket is some share wide, e.g. 5%"));
        }
        return search::search(&order, &objective("--search", text)?, within, &runner, arguments.json);
    }
    if let Some(text) = &arguments.scan {
        let (range, plot) = (sojourn_lab::scan::Range::parse(text).map_err(bad_input)?, arguments.plot.as_deref());
        return scan::scan(&order, &range, plot, arguments.keep_going, &runner, arguments.json);
    }
    let report = runner.run(&order, "")?;
    order
        .caveats(report.counts.planned)
        .map_err(refused)?
        .iter()
        .for_each(|caveat| crate::table::errln(&format!("note: {caveat}")));
    // A disk that is full loses no numbers: they are told first.
    let exit = print::report(&report, &objectives, &runner.clocks(), arguments.json);
    if let Some(path) = &arguments.hdr {
        write_whole(path, report.hdr_log().as_bytes()).map_err(failed)?;
        crate::table::wrote(path);
    }
    if let Some(path) = &arguments.report {
        let judged: Vec<(String, String)> =
            objectives.iter().map(|o| (o.text.clone(), print::judge_in_words(o, &report))).collect();
        let page = page::render(&report, &order.name(), env!("CARGO_PKG_VERSION"), &judged);
        write_whole(path, page.as_bytes()).map_err(failed)?;
        crate::table::wrote(path);
    }
    Ok(exit)
}

/// Keeps the cores of `--awake` awake until it is dropped.
pub(crate) fn awake(cores: &[usize]) -> Result<Awake, Failure> {
    Awake::keep(cores).map_err(|error| bad_input(format!("--awake: {error}")))
}

fn objective(flag: &str, text: &str) -> Result<Objective, Failure> {
    Objective::parse(text).map_err(|error| bad_input(format!("{flag}: {error}")))
}
