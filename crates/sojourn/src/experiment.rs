//! An experiment on the command line: what is changed in its file, on how many threads it is answered, what is shown
//! meanwhile, and how it ends where it does not end well.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use sojourn_lab::{Context, Experiment, Progress, RunError};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::value::count;

/// What every verb takes that answers an experiment.
#[derive(clap::Args)]
pub(crate) struct Flags {
    /// Change a value of the file, e.g. `--set workload.log=access.log`; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Run seed, instead of the file's
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Threads of the simulator [default: one per core]
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    jobs: Option<usize>,
}

impl Flags {
    /// The file with these changes, and `more` of the same kind.
    pub(crate) fn source(&self, file: &Path, more: &[String]) -> Result<Experiment, Failure> {
        let mut set = self.set.clone();
        set.extend(self.seed.map(|seed| format!("seed={seed}")));
        set.extend_from_slice(more);
        Experiment::read_with(file, &set).map_err(bad_input)
    }

    /// The experiment on as many threads as are asked for.
    pub(crate) fn on_threads(&self, experiment: Experiment) -> Experiment {
        match self.jobs {
            Some(threads) => experiment.on_threads(threads),
            None => experiment,
        }
    }

    /// How it is answered; `command` is what repeats it.
    pub(crate) fn context<'a>(
        &self,
        out: Option<PathBuf>,
        command: String,
        progress: &'a Progress<'a>,
    ) -> Result<Context<'a>, Failure> {
        Ok(Context {
            program: std::env::current_exe().map_err(failed)?,
            out,
            threads: self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
            command,
            progress,
        })
    }
}

/// Why there is no answer.
pub(crate) fn failure(error: RunError, cancel: &AtomicBool) -> Failure {
    match error {
        RunError::Spec(error) => bad_input(error),
        other if cancel.load(Ordering::Relaxed) => Failure { exit: Exit::Interrupted, message: other.to_string() },
        other => failed(other),
    }
}

/// A bar of 1000 parts, on a terminal only, with a short prefix and a message that is cut where the line ends.
pub(crate) fn bar(quiet: bool) -> ProgressBar {
    let bar = match !quiet && std::io::stderr().is_terminal() {
        true => ProgressBar::new(1000),
        false => ProgressBar::hidden(),
    };
    let style = ProgressStyle::with_template("[{bar:20}] {elapsed} {prefix:.bold} {wide_msg}");
    bar.set_style(style.expect("the template is valid").progress_chars("=> "));
    bar
}
