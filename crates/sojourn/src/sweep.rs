//! `sojourn sweep FILE`: every combination of `[vary]` by itself, with a store that is taken up again.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use indicatif::{ProgressBar, ProgressStyle};
use sojourn_lab::folder::write_whole;
use sojourn_lab::sweep::{Store, Sweep};
use sojourn_lab::{Engine, Progress, RunError};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::experiment::Flags;
use crate::interrupt;
use crate::table::{errln, outln, wrote};
use crate::value::file_to_write;

/// Ask every combination of [vary] by itself, and keep what is finished
///
/// A point that fails does not end a sweep: it is told with why. With --store a second sweep asks only what is missing,
/// also after Ctrl-C or a crash. Points are known by version, engines, seed, the experiment's text and the files it names.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The experiment, a TOML file
    file: PathBuf,
    #[command(flatten)]
    flags: Flags,
    /// Who answers: theory, sim or both [default: theory,sim]
    #[arg(long, value_name = "ENGINES", default_value = "theory,sim", hide_default_value = true)]
    by: String,
    /// Keep finished points in this file, and take up what is in it; one sweep at a time may have it
    #[arg(long, value_name = "FILE.jsonl", value_parser = file_to_write())]
    store: Option<PathBuf>,
    /// Write the rows to this file [default: standard output]
    #[arg(long, value_name = "FILE.csv", value_parser = file_to_write())]
    out: Option<PathBuf>,
}

pub(crate) fn sweep(arguments: &Arguments) -> Result<Exit, Failure> {
    let cancel = interrupt::flag();
    let experiment = arguments.flags.source(&arguments.file, &[])?;
    let by = Engine::parse_list(&arguments.by).map_err(|e| bad_input(format!("--by: {e}")))?;
    let experiment = arguments.flags.on_threads(experiment);
    let sweep = Sweep::new(&experiment, &by, "").map_err(bad_input)?;
    let mut store = match &arguments.store {
        Some(path) => Store::open(path).map_err(bad_input)?,
        None => Store::memory(),
    };
    let todo: Vec<_> = sweep.points().iter().filter(|point| !store.records().contains_key(&point.key)).collect();
    let bar = bar(sweep.points().len() as u64);
    bar.set_position((sweep.points().len() - todo.len()) as u64);
    for point in todo {
        match point.ask(sweep.by(), &Progress::new(&cancel, &|_| {})) {
            Ok(record) => store.put(record).map_err(failed)?,
            Err(RunError::Interrupted(_)) => break,
            Err(error) => return Err(failed(error)),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let table = sweep.table(store.records()).map_err(failed)?;
    match &arguments.out {
        Some(out) => {
            write_whole(out, &table).map_err(failed)?;
            wrote(out);
        }
        None => outln(String::from_utf8_lossy(&table).trim_end()),
    }
    let failures = sweep.failures(store.records()).len();
    if failures > 0 {
        errln(&format!("{failures} of {} points failed: their rows say why", sweep.points().len()));
    }
    if cancel.load(Ordering::Relaxed) {
        let (known, all) = (store.records().len(), sweep.points().len());
        errln(&format!("interrupted: {known} of {all} points are finished"));
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Ok)
}

/// A bar over the points, where there is a terminal.
fn bar(points: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{pos} of {len} points {wide_bar}").expect("the template is right");
    ProgressBar::new(points).with_style(style)
}
