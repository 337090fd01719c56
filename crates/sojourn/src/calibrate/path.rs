//! `sojourn calibrate --path HOST:PORT`

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use sojourn_calibrate::measure_path;

use super::{allowed, tell, with_bar};
use crate::exit::{Exit, Failure};

/// What a path is measured by.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// Measure the delay of a path by TCP connections to HOST:PORT, and fit an Erlang law
    #[arg(
        long,
        value_name = "HOST:PORT",
        conflicts_with_all = [
            "url", "x", "at", "time", "rate_max", "connections_max", "close", "judge", "no_judge", "repeats", "headers",
            "seed"
        ]
    )]
    pub(super) path: Option<String>,
    /// Connections, one after another
    #[arg(
        long,
        value_name = "N",
        requires = "path",
        conflicts_with_all = ["url", "proxy"],
        default_value_t = 1000
    )]
    samples: usize,
}

pub(super) fn calibrate(to: &str, arguments: &super::Arguments, cancel: &Arc<AtomicBool>) -> Result<Exit, Failure> {
    let samples = arguments.path.samples;
    let found = with_bar(|progress| measure_path(to, samples, allowed(arguments), progress, cancel))?;
    let mut told = json!(found);
    told["delay"] = json!(found.erlang.text());
    tell(arguments, &told, &found.to_toml(), &found.summary())
}
