//! `sojourn calibrate --proxy URL --hit PATH,... --miss PATH,...`

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use sojourn_calibrate::{HitRatios, Proxy, calibrate_proxy};
use sojourn_stats::{Dimension, quantity};

use super::{settings, tell, with_bar};
use crate::exit::{Exit, Failure, bad_input};
use sojourn_load::order::headers;

use crate::load::run::refused;

/// What a proxy is measured by.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// Measure a proxy against its hit ratio: http://HOST:PORT, with --hit and --miss
    #[arg(
        long,
        value_name = "URL",
        requires = "hit",
        requires = "miss",
        conflicts_with_all = ["url", "path", "at", "judge", "no_judge", "repeats", "connections_max"]
    )]
    pub(super) proxy: Option<String>,
    #[command(flatten)]
    mix: Mix,
}

/// What only a proxy is asked.
#[derive(clap::Args)]
#[group(id = "mix", requires = "proxy", conflicts_with_all = ["url", "path"])]
struct Mix {
    /// Paths of documents that it keeps, e.g. /small,/large, or '/{size}' with --x 1000,100000
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    hit: Vec<String>,
    /// Paths of the same documents, in the same order, where it never keeps them, e.g. '/miss/{size}'
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    miss: Vec<String>,
    /// How often each document is asked for in a mix, in proportion [default: all alike]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    weights: Vec<f64>,
    /// Shares of hits
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [0.0, 0.25, 0.5, 0.75, 1.0])]
    ratios: Vec<f64>,
    /// A share that is measured and kept out of every fit
    #[arg(long, value_name = "RATIO", default_value_t = 0.6)]
    held_out: f64,
    /// Clients that ask without a pause
    #[arg(long, value_name = "N", default_value_t = 16)]
    clients: u32,
    /// Documents below this have coefficients of their own
    #[arg(long, value_name = "SIZE", default_value = "20 kB")]
    size_break: String,
    /// Measure everything so often; intervals are over these
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: u32,
}

pub(super) fn calibrate(url: &str, arguments: &super::Arguments, cancel: &Arc<AtomicBool>) -> Result<Exit, Failure> {
    let of = &arguments.proxied.mix;
    let mut proxy = Proxy::parse(url, &of.hit, &of.miss, &arguments.x, &of.weights).map_err(bad_input)?;
    proxy.headers = headers(&arguments.headers).map_err(refused)?;
    let size_break = quantity::parse(&of.size_break, Dimension::Size);
    let mixes = HitRatios {
        ratios: of.ratios.clone(),
        kept_out: of.held_out,
        clients: of.clients,
        size_break: size_break.map_err(|error| bad_input(format!("--size-break: {error}")))?,
        rounds: of.rounds,
    };
    let settings = settings(arguments)?;
    let found = with_bar(|progress| calibrate_proxy(&proxy, &mixes, &settings, progress, cancel))?;
    let mut told = json!(found);
    told["model"] = json!(found.server.to_toml());
    tell(arguments, &told, &found.to_toml(), &found.summary())
}
