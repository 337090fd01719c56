//! `sojourn loadd`: a load daemon beside a server.

use serde_json::json;
use sojourn_part::settings::Given;
use sojourn_part::settings::loadd::LoaddSettings;
use sojourn_report::{child, loadd};

use crate::child::failure;
use crate::exit::{Exit, Failure, bad_input, failed};
use crate::settings::settings;
use crate::table;

/// Tell those in front of a server how it fares: `sojourn loadd --name a --port 80 --to 10.0.0.1:7400 --key FILE`
///
/// What it knows is from /proc, from the server's access log, and from the server itself where that speaks ORCA.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    given: Given<LoaddSettings>,
    /// Print what the server is doing over one tick, and end
    #[arg(long)]
    once: bool,
    /// With --once: as JSON
    #[arg(long, requires = "once")]
    json: bool,
}

pub(crate) fn loadd(arguments: &Arguments) -> Result<Exit, Failure> {
    let given = &arguments.given;
    if arguments.once {
        return once(&given.read().map_err(bad_input)?, arguments.json);
    }
    let Some(settings) = settings(given, loadd::check)? else { return Ok(Exit::Ok) };
    let input = given.is_child().then(std::io::stdin);
    child::loadd(settings, std::io::stdout(), input).map(|()| Exit::Ok).map_err(failure)
}

fn once(settings: &LoaddSettings, as_json: bool) -> Result<Exit, Failure> {
    let metrics = loadd::sample(settings).map_err(failure)?;
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
