//! `sojourn sweep FILE`: every combination of `[vary]` by itself, with a store that is taken up again.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use indicatif::{ProgressBar, ProgressStyle};
use sojourn_lab::folder::write_whole;
use sojourn_lab::report::plots::file;
use sojourn_lab::sweep::{Store, Sweep};
use sojourn_lab::{Answers, Engine, Progress, RunError};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::experiment::Flags;
use crate::interrupt;
use crate::plot::Drawing;
use crate::queue::count;
use crate::table::{self, errln, outln, wrote};
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
    /// Requests that all points together may simulate, such as 1e9, instead of a precision for each: a quarter of it
    /// evenly, then a quarter and a half to those whose intervals are widest, which are simulated anew, for longer
    #[arg(long, value_name = "REQUESTS", value_parser = count)]
    budget: Option<u64>,
    /// Settings along which points shall not have common random numbers; they are then not compared
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    independent: Vec<String>,
    /// Keep finished points in this file, and take up what is in it; one sweep at a time may have it
    #[arg(long, value_name = "FILE.jsonl", value_parser = file_to_write())]
    store: Option<PathBuf>,
    /// Write the rows to this file [default: standard output]
    #[arg(long, value_name = "FILE.csv", value_parser = file_to_write())]
    out: Option<PathBuf>,
    #[command(flatten)]
    drawing: Drawing,
}

pub(crate) fn sweep(arguments: &Arguments) -> Result<Exit, Failure> {
    let cancel = interrupt::flag();
    let experiment = arguments.flags.source(&arguments.file, &[])?;
    let by = Engine::parse_list(&arguments.by).map_err(|e| bad_input(format!("--by: {e}")))?;
    let experiment = arguments.flags.on_threads(experiment);
    let sweep = Sweep::new(&experiment, &by, "").and_then(|sweep| sweep.independent(&arguments.independent));
    let sweep = match arguments.budget {
        Some(budget) => sweep.and_then(|sweep| sweep.within_budget(budget)),
        None => sweep,
    };
    let sweep = sweep.map_err(bad_input)?;
    experiment.replaced().iter().for_each(|line| errln(line));
    let mut store = match &arguments.store {
        Some(path) => Store::open(path).map_err(bad_input)?,
        None => Store::memory(),
    };
    let bar = bar();
    'rounds: loop {
        let due = sweep.due(store.records());
        if due.is_empty() {
            break;
        }
        bar.set_length(if arguments.budget.is_some() { due.len() } else { sweep.points().len() } as u64);
        bar.set_position(bar.length().unwrap_or_default() - due.len() as u64);
        for point in due.into_iter().filter_map(|(number, requests)| sweep.point(number, requests)) {
            match point.ask(sweep.by(), &Progress::new(&cancel, &|_| {})) {
                Ok(record) => store.put(record).map_err(failed)?,
                Err(RunError::Interrupted(_)) => break 'rounds,
                Err(error) => return Err(failed(error)),
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let rows = sweep.table(store.records()).map_err(failed)?;
    match &arguments.out {
        Some(out) => {
            write_whole(out, &rows).map_err(failed)?;
            wrote(out);
        }
        None => outln(String::from_utf8_lossy(&rows).trim_end()),
    }
    let failures = sweep.failures(store.records()).len();
    if failures > 0 {
        errln(&format!("{failures} of {} points failed: their rows say why", sweep.points().len()));
    }
    let answers = sweep.answers(store.records());
    tell_objectives(&answers);
    if !answers.is_empty() {
        arguments.drawing.write(|metric| file::plot(&answers, metric))?;
    }
    if cancel.load(Ordering::Relaxed) {
        errln(&format!("interrupted: {}", answers.reasons.join("; ")));
        return Ok(Exit::Interrupted);
    }
    Ok(table::exit(&answers))
}

/// At how many points each objective is met, by which engine, where all of several are, and which values of a number meet all.
fn tell_objectives(answers: &Answers) {
    let mut told: Vec<(&str, Engine, [usize; 3])> = Vec::new();
    for one in &answers.objectives {
        let place = match one.met {
            Some(true) => 0,
            Some(false) => 1,
            None => 2,
        };
        match told.iter_mut().find(|(text, engine, _)| *text == one.text && *engine == one.engine) {
            Some((_, _, counts)) => counts[place] += 1,
            None => told.push((&one.text, one.engine, std::array::from_fn(|at| usize::from(at == place)))),
        }
    }
    for (text, engine, [met, missed, open]) in told {
        let all = met + missed + open;
        let open = if open > 0 { format!(", {open} undecided") } else { String::new() };
        errln(&format!("{text}: met at {met} of {all} points by {}{open}", engine.name()));
    }
    let meets = sojourn_lab::report::who_meets(answers, usize::MAX, |of| of.label.clone()).into_iter();
    meets.filter(|of| of.objectives > 1).for_each(|of| errln(&of.sentence));
    for values in sojourn_lab::report::values_that_meet(answers) {
        errln(&values.title);
        values.lines.iter().for_each(|line| errln(&format!("  {line}")));
    }
}

/// A bar over the points, where there is a terminal.
fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{pos} of {len} points {wide_bar}").expect("the template is right");
    ProgressBar::new(0).with_style(style)
}
