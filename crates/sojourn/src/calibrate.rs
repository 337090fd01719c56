//! `sojourn calibrate URL`, and of a proxy (`--proxy`), a path (`--path`), this machine (`--hardware`), or from a log (`--log`).

mod curve;
mod hardware;
mod log;
mod path;
mod proxy;

use std::path::PathBuf;

use serde_json::{Value, json};
use sojourn_calibrate::{CalibrateError, Calibration, PREDICTIONS, Progress, Settings, Target};
use sojourn_lab::folder::write_whole;
use sojourn_load::{Allowed, LoadError};
use sojourn_stats::{Dimension, Span, quantity};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::experiment::bar;
use crate::load::awake;
use crate::load::run::refused;
use crate::value::file_to_write;
use crate::{interrupt, table};

/// Measure a real server into a server model
///
/// Finds the work of a request, the cores, the requests served at once, the discipline and the capacity, and says how well
/// the model predicts loads that it was not fitted to. The server must serve no other load meanwhile. With {size} or {x} in
/// the path the work is measured against the reply's size or a number; the helpers can be found only so. A proxy is measured
/// against its hit ratio with --proxy, a path's delay with --path. With --curve a server is
/// measured from outside alone: its delay and the share of requests denied, against the users attached. With --hardware it is
/// this machine that is measured, into a hardware file for the nodes of a cluster. With --log nothing is measured: the
/// model is fitted to what an access log says of it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// http://HOST:PORT/PATH, e.g. 'http://127.0.0.1:8080/work.php?iter={x}'
    #[arg(required_unless_present_any = ["proxy", "path", "hardware", "log"])]
    url: Option<String>,
    /// What {x} or {size} stands for, e.g. 10000,40000,400000; the largest several times the work of the smallest
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    x: Vec<u64>,
    /// The one of them that loads are made of, and that the demand is of with {x} [default: the middle one]
    #[arg(long, value_name = "X")]
    at: Option<u64>,
    /// Write the server model to this file [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE", value_parser = file_to_write())]
    out: Option<PathBuf>,
    /// How long it should take
    #[arg(long, value_name = "TIME", default_value = "2 min")]
    time: String,
    /// Most requests per second
    #[arg(long, value_name = "RATE", default_value = "1000000 /s")]
    rate_max: String,
    /// Most connections at once, and so most helpers that can be found
    #[arg(long, value_name = "N", default_value_t = 128)]
    connections_max: u32,
    /// A connection per request
    #[arg(long)]
    close: bool,
    /// Utilisations at which the model is judged
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [0.3, 0.5, 0.7])]
    judge: Vec<f64>,
    /// Do not judge the model, and choose the discipline by the helpers alone
    #[arg(long, conflicts_with = "judge")]
    no_judge: bool,
    /// Measure each of them so often and take medians
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeats: u32,
    /// A header to send, e.g. 'accept-encoding: gzip'; may be repeated
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Keep these cores of this machine from sleeping, such as the one that the server has to itself: one that wakes up may
    /// be much slower than one that was busy, virtual ones above all. Where the kernel may be asked to, no core sleeps
    #[arg(long, value_name = "CORES", value_delimiter = ',')]
    awake: Vec<usize>,
    /// The target is neither loopback nor private, and I may put load on it
    #[arg(long)]
    yes_i_may: bool,
    /// Seed of the orders and plans
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
    // Last: what follows a heading stands below it.
    #[command(flatten, next_help_heading = "Proxy")]
    proxied: proxy::Arguments,
    #[command(flatten, next_help_heading = "Path")]
    path: path::Arguments,
    #[command(flatten, next_help_heading = "Curve")]
    curve: curve::Arguments,
    #[command(flatten, next_help_heading = "Hardware")]
    hardware: hardware::Arguments,
    #[command(flatten, next_help_heading = "Log")]
    log: log::Arguments,
}

pub(crate) fn calibrate(arguments: &Arguments) -> Result<Exit, Failure> {
    if !arguments.log.log.is_empty() {
        return log::calibrate(&arguments.log.log, arguments);
    }
    let cancel = interrupt::flag();
    let _awake = awake(&arguments.awake)?;
    if let Some(url) = &arguments.proxied.proxy {
        return proxy::calibrate(url, arguments, &cancel);
    }
    if let Some(to) = &arguments.path.path {
        return path::calibrate(to, arguments, &cancel);
    }
    if let Some(folder) = &arguments.hardware.hardware {
        return hardware::calibrate(folder, arguments, &cancel);
    }
    let target = target(arguments)?;
    let settings = settings(arguments)?;
    if !arguments.curve.curve.is_empty() {
        return curve::calibrate(arguments, &target, &settings, &cancel);
    }
    let found = with_bar(|progress| sojourn_calibrate::calibrate(&target, &settings, progress, &cancel))?;
    let mut told = json!(found);
    told["model"] = json!(found.server.to_toml());
    told["verdict"] = json!(found.verdict());
    let mut summary = summary(&found);
    summary.extend(verdict(found.verdict(), &found.reasons));
    tell(arguments, &told, &found.to_toml(), &summary)?;
    Ok(exit(&found.reasons))
}

/// The verdict and its reasons, in lines.
fn verdict(word: &str, reasons: &[String]) -> Vec<String> {
    let reasons = reasons.iter().map(|reason| table::paragraph("  ", reason));
    std::iter::once(format!("\n{word}")).chain(reasons).collect()
}

/// How the program should end after a measurement with these reasons against it.
fn exit(reasons: &[String]) -> Exit {
    if reasons.is_empty() { Exit::Ok } else { Exit::Missed }
}

fn target(arguments: &Arguments) -> Result<Target, Failure> {
    let url = arguments.url.as_deref().expect("there is a URL where there is no proxy and no path");
    let mut target = Target::parse(url, &arguments.x, arguments.at).map_err(bad_input)?;
    target.headers = sojourn_load::order::headers(&arguments.headers).map_err(refused)?;
    Ok(target)
}

fn settings(arguments: &Arguments) -> Result<Settings, Failure> {
    let read = |flag: &str, text: &str, dimension| {
        quantity::parse(text, dimension).map_err(|e| bad_input(format!("{flag}: {e}")))
    };
    Ok(Settings {
        time: Span::from_secs_f64(read("--time", &arguments.time, Dimension::Time)?.max(0.0)),
        rate_max: read("--rate-max", &arguments.rate_max, Dimension::Rate)?,
        connections_max: arguments.connections_max,
        connection_per_request: arguments.close,
        judged: if arguments.no_judge { Vec::new() } else { arguments.judge.clone() },
        repeats: arguments.repeats,
        seed: arguments.seed,
        allowed: allowed(arguments),
    })
}

fn allowed(arguments: &Arguments) -> Allowed {
    if arguments.yes_i_may { Allowed::Anywhere } else { Allowed::Private }
}

fn failure(error: CalibrateError) -> Failure {
    match error {
        CalibrateError::Load(LoadError::System(_)) | CalibrateError::Refused(_) | CalibrateError::Sim(_) => {
            failed(error)
        }
        CalibrateError::Load(LoadError::NotAllowed { .. }) => bad_input(format!("{error}; say --yes-i-may if you may")),
        CalibrateError::Interrupted => Failure { exit: Exit::Interrupted, message: error.to_string() },
        other => bad_input(other),
    }
}

/// Writes the file, where one is asked for, and prints what was found: as JSON, or in lines beside the file, or as the
/// file itself.
fn tell(arguments: &Arguments, json: &Value, text: &str, summary: &[String]) -> Result<Exit, Failure> {
    let written = arguments.out.as_ref().map(|out| write_whole(out, text.as_bytes()).map(|()| out.display()));
    if arguments.json {
        table::outln(&serde_json::to_string_pretty(json).expect("what is found is plain JSON"));
    } else if let Some(Ok(out)) = &written {
        summary.iter().for_each(|line| table::outln(&fitted(line)));
        table::outln(&format!("\nwritten: {out}"));
    } else {
        // What took minutes to measure is not lost because its file cannot be written.
        table::outln(text.trim_end());
    }
    written.transpose().map_err(failed)?;
    Ok(Exit::Ok)
}

/// A line of a summary on lines that fit; a table fits already, and an empty line before it stays.
fn fitted(line: &str) -> String {
    if line.lines().count() > 1 && !line.starts_with('\n') || line.chars().count() <= table::width() {
        return line.to_owned();
    }
    let text = line.trim_start();
    let before = &line[..line.len() - text.len()];
    table::hanging(before, &format!("{}  ", before.trim_start_matches('\n')), text)
}

fn summary(found: &Calibration) -> Vec<String> {
    let mut lines = found.summary();
    if !found.judged.is_empty() {
        lines.push(
            "\nLoads that the model was not fitted to: mean and 90th percentile of the response time, and by how much \
             the predictions are off. Speed: the server's at that time, over that when the model was made, with which \
             all but the last predict."
                .into(),
        );
        let header = ["utilisation", "speed", "measured", "theory", "sim", "sim, same plans", "sim, as made"];
        let mut rows = table::Grid::new(&header);
        for point in &found.judged {
            let measured = point.measured();
            let mut row = vec![
                point.utilization.to_string(),
                format!("{:.2}", point.speed()),
                format!("{}, {}", table::quantity(measured.mean_s, "s"), table::quantity(measured.p90_s, "s")),
            ];
            row.extend(PREDICTIONS.map(|(_, of)| match point.error(of) {
                None => "-".into(),
                Some((mean, _)) if mean.is_nan() => "-".into(),
                // Theory has no percentile of every law.
                Some((mean, p90)) if p90.is_nan() => format!("{:+.1} %, -", mean * 100.0),
                Some((mean, p90)) => format!("{:+.1} %, {:+.1} %", mean * 100.0, p90 * 100.0),
            }));
            rows.add_row(row);
        }
        lines.push(rows.to_string());
    }
    lines
}

/// What `measure` finds, with a bar while it measures.
fn with_bar<T>(
    measure: impl FnOnce(&(dyn Fn(Progress<'_>) + Sync)) -> Result<T, CalibrateError>,
) -> Result<T, Failure> {
    let bar = bar(false);
    let result = measure(&|now: Progress<'_>| {
        bar.set_position((now.share * 1000.0) as u64);
        bar.set_message(now.stage.to_owned());
    });
    bar.finish_and_clear();
    result.map_err(failure)
}
