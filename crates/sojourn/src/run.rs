//! `sojourn run FILE`.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};
use sojourn_lab::{Context, Engine, Progress, RunError, Source};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::{interrupt, table};

/// Answer an experiment
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The experiment, a TOML file
    file: PathBuf,
    /// Engines to ask instead of the file's: theory, sim, live
    #[arg(long, value_name = "ENGINES")]
    by: Option<String>,
    /// Change a value of the file, e.g. `--set workload.log=access.log`; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Run seed, instead of the file's
    #[arg(long)]
    seed: Option<u64>,
    /// Threads of the simulator [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Folder to write [default: runs/NAME-N]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the outcome rows as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let cancel = interrupt::flag();
    let mut set = arguments.set.clone();
    set.extend(arguments.seed.map(|seed| format!("seed={seed}")));
    let source = Source::read(&arguments.file, &set).map_err(bad_input)?;
    let engines = arguments.by.as_deref().map(Engine::parse_list).transpose().map_err(bad_input)?;
    let bar = Bar::new(arguments.json);
    let context = Context {
        program: std::env::current_exe().map_err(failed)?,
        out: arguments.out.clone(),
        threads: arguments.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1),
        cancel,
        command: command(arguments),
        progress: &|progress| bar.show(progress),
    };
    let result = sojourn_lab::run(&source, engines.as_deref(), &context);
    bar.clear();
    let (path, folder) = result.map_err(|error| match error {
        RunError::Spec(error) => bad_input(error),
        other if context.cancel.load(std::sync::atomic::Ordering::Relaxed) => {
            Failure { exit: Exit::Interrupted, message: other.to_string() }
        }
        other => failed(other),
    })?;
    table::print(&folder, &path, arguments.json)
}

/// The command that repeats this run.
fn command(arguments: &Arguments) -> String {
    let mut words = vec!["sojourn run".to_string(), arguments.file.display().to_string()];
    words.extend(arguments.by.iter().map(|by| format!("--by {by}")));
    words.extend(arguments.set.iter().map(|set| format!("--set '{set}'")));
    words.extend(arguments.seed.iter().map(|seed| format!("--seed {seed}")));
    words.join(" ")
}

/// One bar for the whole run, on a terminal only.
struct Bar {
    bar: ProgressBar,
    /// The variant and engine last shown, so that their bar begins anew.
    shown: Mutex<Option<(usize, Engine)>>,
}

impl Bar {
    fn new(quiet: bool) -> Bar {
        let bar = match !quiet && std::io::stderr().is_terminal() {
            true => ProgressBar::new(1000),
            false => ProgressBar::hidden(),
        };
        let style = "{prefix:.bold} [{bar:30}] {msg} ({elapsed})";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is valid").progress_chars("=> "));
        Bar { bar, shown: Mutex::new(None) }
    }

    fn show(&self, progress: Progress<'_>) {
        let now = (progress.variant.0, progress.engine);
        let mut shown = self.shown.lock().expect("nobody panics while holding it");
        if *shown != Some(now) {
            *shown = Some(now);
            self.bar.reset_elapsed();
        }
        let (index, of) = progress.variant;
        self.bar.set_prefix(format!("{}/{of} {} {}", index + 1, progress.label, progress.engine.name()));
        self.bar.set_position((progress.done * 1000.0) as u64);
        self.bar.set_message(progress.remark.to_string());
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
