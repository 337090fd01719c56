//! `sojourn calibrate --hardware FOLDER`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use sojourn_calibrate::measure_hardware;

use super::{tell, with_bar};
use crate::exit::{Exit, Failure};

/// What this machine is measured by.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// Measure this machine instead: a core, the network, and the disk by a file in FOLDER, which is gone afterwards
    #[arg(
        long,
        value_name = "FOLDER",
        conflicts_with_all = [
            "url", "x", "at", "time", "rate_max", "connections_max", "close", "judge", "no_judge", "repeats", "headers",
            "seed", "awake", "yes_i_may", "proxy", "path", "curve"
        ]
    )]
    pub(super) hardware: Option<PathBuf>,
    /// The hardware file of the machine that has speed 1 [default: this one has]
    #[arg(long, value_name = "FILE", requires = "hardware", conflicts_with_all = ["url", "proxy", "path"])]
    like: Option<PathBuf>,
}

pub(super) fn calibrate(
    folder: &Path,
    arguments: &super::Arguments,
    cancel: &Arc<AtomicBool>,
) -> Result<Exit, Failure> {
    let like = arguments.hardware.like.as_deref();
    let found = with_bar(|progress| measure_hardware(folder, like, progress, cancel))?;
    let mut told = json!(found);
    told["speed"] = json!(found.speed());
    tell(arguments, &told, &found.to_toml(), &found.summary())
}
