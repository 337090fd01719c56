//! `sojourn calibrate --log FILE...`: a server model from an access log, without a request to the server.

use std::path::PathBuf;

use serde_json::json;
use sojourn_calibrate::{LoadBin, calibrate_log};
use sojourn_traffic::Input;
use sojourn_traffic::log::LogFormat;

use super::{Arguments as Calibrate, exit, failure, tell, verdict};
use crate::exit::{Exit, Failure, bad_input};
use crate::table::{self, errln};
use crate::traffic::name;

#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// Fit the model to these access logs, which are read as one, `-` is standard input: to the first half of the requests, and
    /// judge it by the others
    #[arg(long, value_name = "FILE", num_args = 1.., value_hint = clap::ValueHint::FilePath,
        conflicts_with_all = ["url", "proxy", "path", "curve", "hardware"])]
    pub(super) log: Vec<PathBuf>,
    /// Their format, by name or as the server's own format string [default: told from the first lines]
    #[arg(long, value_name = "FORMAT", requires = "log", value_parser = |text: &str| LogFormat::parse(text))]
    format: Option<LogFormat>,
}

pub(super) fn calibrate(files: &[PathBuf], arguments: &Calibrate) -> Result<Exit, Failure> {
    let name = name(files);
    let read = Input::read_all(files, None, arguments.log.format.as_ref()).map_err(bad_input)?;
    let Input::Log(log) = read else { return Err(bad_input(format!("--log: {name} is no access log"))) };
    for warning in log.warnings() {
        errln(&format!("warning: {warning}"));
    }
    let found = calibrate_log(&log, arguments.seed).map_err(failure)?;
    let mut told = json!(found);
    told["model"] = told["server"].take();
    told["verdict"] = json!(found.verdict());
    let mut summary = found.summary();
    summary.extend(judged(&found.judged));
    summary.extend(verdict(found.verdict(), &found.reasons));
    tell(arguments, &told, &found.to_toml(&name), &summary)?;
    Ok(exit(&found.reasons))
}

/// What the model makes of the half that it was not fitted to.
fn judged(bins: &[LoadBin]) -> [String; 2] {
    let title = "\nThe half of the log that the model was not fitted to: mean and 90th percentile of the time at the server, \
                 as logged and as the model has them, and by how much these are off. Chance alone moves them by the number \
                 behind the +-.";
    let mut rows = table::Grid::new(&["requests", "count", "logged", "model", "off"]);
    for bin in bins {
        let two = |mean: f64, p90: f64| format!("{}, {}", table::quantity(mean, "s"), table::quantity(p90, "s"));
        let [mean, p90] = bin.errors().map(|error| 100.0 * error);
        let chance = [bin.deviation.mean_s / bin.seen.mean_s, bin.deviation.p90_s / bin.seen.p90_s];
        let [mean_chance, p90_chance] = chance.map(|deviation| 200.0 * deviation);
        rows.add_row(vec![
            bin.name(),
            bin.requests.to_string(),
            two(bin.seen.mean_s, bin.seen.p90_s),
            two(bin.predicted.mean_s, bin.predicted.p90_s),
            format!("{mean:+.1} % +-{mean_chance:.0}, {p90:+.1} % +-{p90_chance:.0}"),
        ]);
    }
    [title.into(), rows.to_string()]
}
