//! `sojourn loadd`: a load daemon beside a server.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::json;
use sojourn_part::ServeError;
use sojourn_report::loadd::{LoaddConfig, Sources, Times};
use sojourn_report::{Key, child, loadd};
use sojourn_stats::{Dimension, Span, quantity};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::reporting::Echoing;
use crate::table;

/// Tell those in front of a server how it fares: `sojourn loadd --name a --port 80 --to 10.0.0.1:7400 --key FILE`
///
/// What it knows is from /proc, from the server's access log, and from the server itself where that speaks ORCA.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name by which those in front know the server
    #[arg(long, default_value = "server")]
    name: String,
    /// Those to tell, e.g. 10.0.0.1:7400,10.0.0.2:7400
    #[arg(long, value_name = "IP:PORT", value_delimiter = ',', required_unless_present = "once")]
    to: Vec<SocketAddr>,
    /// File with the key that is shared with them, at least 16 bytes
    #[arg(long, value_name = "FILE", required_unless_present = "once")]
    key: Option<PathBuf>,
    /// The server's access log, Common or Combined: requests, bytes, errors, and the rate of each client
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Name of the server's processes, e.g. nginx: how many, and how busy. Without it, how busy the machine is
    #[arg(long, value_name = "NAME")]
    workers: Option<String>,
    /// The server's port: its connections, and whether a program listens
    #[arg(long)]
    port: Option<u16>,
    /// Where the server says its load as ORCA, e.g. http://127.0.0.1:8080/load
    #[arg(long, value_name = "URL")]
    ask: Option<String>,
    /// Serve the load as ORCA to balancers of others (gRPC, out of band) at this address; port 0 takes a free one
    #[arg(long, value_name = "IP:PORT")]
    orca: Option<SocketAddr>,
    /// Time between two looks; all daemons look at multiples of it by the clock
    #[arg(long, value_name = "TIME", default_value = "500 ms")]
    every: String,
    /// Longest time between two reports
    #[arg(long, value_name = "TIME", default_value = "4 s")]
    heartbeat: String,
    /// Time between two reports of the rates of clients
    #[arg(long, value_name = "TIME", default_value = "64 s")]
    client_rates: String,
    /// Time between two looks for an overload, which is told at once
    #[arg(long, value_name = "TIME", default_value = "100 ms")]
    watch: String,
    #[command(flatten)]
    echoing: Echoing,
    /// Print what the server is doing over one tick, and end
    #[arg(long)]
    once: bool,
    /// With --once: as JSON
    #[arg(long, requires = "once")]
    json: bool,
    /// Serve until standard input closes, as a child of a run
    #[arg(long, hide = true)]
    child: bool,
}

pub(crate) fn loadd(arguments: &Arguments) -> Result<Exit, Failure> {
    let ask = arguments.ask.as_deref().map(|url| {
        url.parse().map_err(|_| bad_input(format!("--ask {url}: no URL; write e.g. http://127.0.0.1:8080/load")))
    });
    let sources = Sources {
        log: arguments.log.clone(),
        workers: arguments.workers.clone(),
        port: arguments.port,
        ask: ask.transpose()?,
    };
    let times = Times {
        every: time("--every", &arguments.every)?,
        heartbeat: time("--heartbeat", &arguments.heartbeat)?,
        client_rates: time("--client-rates", &arguments.client_rates)?,
        watch: time("--watch", &arguments.watch)?,
    };
    if arguments.once {
        return once(&sources, times.every, arguments.json);
    }
    let key = arguments.key.as_deref().expect("clap requires it");
    let config = LoaddConfig {
        name: arguments.name.clone(),
        receivers: arguments.to.clone(),
        key: Key::read(key).map_err(bad_input)?,
        sources,
        times,
        probes: arguments.echoing.rules()?,
        orca: arguments.orca,
    };
    let input = arguments.child.then(std::io::stdin);
    child::loadd(config, std::io::stdout(), input).map(|()| Exit::Ok).map_err(failure)
}

fn once(sources: &Sources, window: Span, as_json: bool) -> Result<Exit, Failure> {
    let metrics = loadd::sample(sources, window).map_err(failure)?;
    let metrics = metrics.ok_or_else(|| failed("the server is not there: it does not listen, run or answer"))?;
    if as_json {
        table::outln(&json!(metrics).to_string());
    } else {
        for (metric, value) in metrics.known() {
            table::outln(&format!("{:<16} {value}", metric.name()));
        }
    }
    Ok(Exit::Ok)
}

fn failure(error: ServeError) -> Failure {
    match error {
        ServeError::System { .. } => failed(error),
        other => bad_input(other),
    }
}

/// Reads a time above zero.
fn time(flag: &str, text: &str) -> Result<Span, Failure> {
    let seconds = quantity::parse(text, Dimension::Time).map_err(|error| bad_input(format!("{flag}: {error}")))?;
    Ok(Span::from_secs_f64(seconds))
}
