//! `sojourn run FILE`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use clap::builder::UnknownArgumentValueParser as Unknown;
use indicatif::ProgressBar;
use serde_json::json;
use sojourn_lab::folder::Unwritten;
use sojourn_lab::report::plots::file;
use sojourn_lab::{Answers, Engine, Progress, RunError, Step};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::experiment::{self, Flags, failure};
use crate::plot::Drawing;
use crate::{bed, interrupt, table};

/// Answer an experiment, or every experiment of a folder
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The experiment, a TOML file; or a folder of them
    file: PathBuf,
    /// Engines to ask instead of the file's: theory, sim, live
    #[arg(long, value_name = "ENGINES")]
    by: Option<String>,
    #[command(flatten)]
    flags: Flags,
    /// Folder to write [default: runs/NAME-N]; of a folder of experiments, one folder for each in it
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    drawing: Drawing,
    /// Print the outcome rows as JSON
    #[arg(long)]
    json: bool,
    /// Say how each variant was simulated
    #[arg(short, long)]
    verbose: bool,
    /// Say whether the file is right, and end
    #[arg(long)]
    check: bool,
    /// Print the configuration with which each product that decides in a live run is started (`program = "haproxy"`), and end
    #[arg(long)]
    show_config: bool,
    /// Be inside a bed already
    #[arg(long, hide = true)]
    in_bed: bool,
    #[command(flatten)]
    _elsewhere: Elsewhere,
}

/// Flags of other verbs, which clap would take for misspelt ones of this.
#[derive(clap::Args)]
struct Elsewhere {
    #[arg(long, hide = true, num_args = 0, default_missing_value = "", value_parser = Unknown::suggest(
        "each run writes its page into its folder: `--out DIR` makes it DIR/report.html"
    ))]
    report: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.check {
        return check(arguments);
    }
    if arguments.show_config {
        return show_config(arguments);
    }
    if arguments.drawing.is_asked() && arguments.file.is_dir() {
        return Err(bad_input(
            "--plot draws one run, and this is a folder of experiments: `sojourn report DIR --plot FILE.svg` draws the run \
             folder of each",
        ));
    }
    // Before there is a second thread: who waits for Ctrl-C is one.
    if !arguments.in_bed && needs_bed(arguments)? {
        return bed::again_inside("--in-bed");
    }
    let cancel = interrupt::flag();
    if arguments.file.is_dir() {
        return run_all(arguments, &cancel);
    }
    let Ran { path, answers, unwritten } = run_one(arguments, &arguments.file, arguments.out.clone(), &cancel)?;
    let printed = table::print(&answers, &path, arguments.json);
    // After the table, which a plot that cannot be drawn does not lose; of what answered nothing the table says why.
    let drawn = match answers.is_empty() {
        true => Ok(()),
        false => arguments.drawing.write(|metric| file::plot(&answers, metric)),
    };
    match unwritten {
        Some(unwritten) => Err(failed(unwritten)),
        None => printed.and_then(|exit| drawn.map(|()| exit)),
    }
}

/// A run that is over.
pub(crate) struct Ran {
    pub(crate) path: PathBuf,
    pub(crate) answers: Answers,
    /// What of its folder could not be written.
    pub(crate) unwritten: Option<Unwritten>,
}

impl Ran {
    /// Of a run that is over, though not all of its folder may be written.
    pub(crate) fn of(result: Result<(PathBuf, Answers), RunError>, cancel: &AtomicBool) -> Result<Ran, Failure> {
        match result {
            Ok((path, answers)) => Ok(Ran { path, answers, unwritten: None }),
            Err(RunError::Unwritten { unwritten, answers }) => {
                Ok(Ran { path: unwritten.path.clone(), answers: *answers, unwritten: Some(unwritten) })
            }
            Err(error) => Err(failure(error, cancel)),
        }
    }
}

/// Says of each experiment whether its file is right.
fn check(arguments: &Arguments) -> Result<Exit, Failure> {
    arguments.by.as_deref().map(Engine::parse_list).transpose().map_err(bad_input)?;
    let files = if arguments.file.is_dir() { files(&arguments.file)? } else { vec![arguments.file.clone()] };
    for file in files {
        let variants = arguments.flags.source(&file, &[])?.variants().map_err(bad_input)?.len();
        table::outln(&format!("{}: ok; {variants} variant{}", file.display(), if variants == 1 { "" } else { "s" }));
    }
    Ok(Exit::Ok)
}

/// The configurations of the products that decide, each once.
fn show_config(arguments: &Arguments) -> Result<Exit, Failure> {
    let variants = arguments.flags.source(&arguments.file, &[])?.variants().map_err(bad_input)?;
    let systems = variants.iter().filter_map(|variant| variant.experiment.system());
    let mut shown: Vec<String> = Vec::new();
    for (tier, configuration) in systems.flat_map(|asked| asked.configurations()) {
        if !shown.contains(&configuration) {
            table::outln(&format!("# {tier}\n{configuration}"));
            shown.push(configuration);
        }
    }
    match shown.is_empty() {
        false => Ok(Exit::Ok),
        true => {
            Err(bad_input("no tier has a product that decides, e.g. `program = \"haproxy\"`: there is nothing to show"))
        }
    }
}

/// Whether a part of it is live over emulated paths. What cannot be read is refused later, as always.
fn needs_bed(arguments: &Arguments) -> Result<bool, Failure> {
    let engines = arguments.by.as_deref().map(Engine::parse_list).transpose().map_err(bad_input)?;
    let files = match arguments.file.is_dir() {
        false => vec![arguments.file.clone()],
        true => files(&arguments.file)?,
    };
    let needs = |file: &PathBuf| {
        let source = arguments.flags.source(file, &[]).ok();
        source.is_some_and(|source| sojourn_lab::needs_bed(&source, engines.as_deref()).unwrap_or(false))
    };
    Ok(files.iter().any(needs))
}

/// The experiments of a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(folder).map_err(|e| bad_input(format!("cannot read {}: {e}", folder.display())))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}

/// Runs every experiment of a folder, in the order of their names, and says a line of each. All are read before the
/// first is run, so that a mistake in the last is not found an hour later. One that lacks what only the command line can
/// name is left out.
fn run_all(arguments: &Arguments, cancel: &Arc<AtomicBool>) -> Result<Exit, Failure> {
    let folder = &arguments.file;
    let mut files = files(folder)?;
    if files.is_empty() {
        return Err(bad_input(format!("{}: no experiment in this folder (*.toml)", folder.display())));
    }
    let mut wrong = Vec::new();
    let mut left_out = Vec::new();
    for file in &files {
        let source = arguments.flags.source(file, &[])?;
        match source.lacks() {
            Some(key) => left_out.push((file.clone(), key)),
            None => wrong.extend(source.variants().err().map(|error| error.to_string())),
        }
    }
    if !wrong.is_empty() {
        return Err(bad_input(wrong.join("\n")));
    }
    files.retain(|file| left_out.iter().all(|(of, _)| of != file));
    for (file, key) in &left_out {
        table::errln(&format!("{}: left out, for it needs a log: name one with --set {key}=FILE", file.display()));
    }
    if files.is_empty() {
        return Err(bad_input("no experiment is left"));
    }
    let out = arguments.out.clone().unwrap_or_else(|| {
        let name = folder.canonicalize().ok();
        let name = name.as_deref().and_then(Path::file_name).unwrap_or_default();
        sojourn_lab::folder::free(&name.to_string_lossy())
    });
    let mut worst = Exit::Ok;
    let mut rows = Vec::new();
    for file in &files {
        let stem = file.file_stem().unwrap_or_default();
        let Ran { path, answers, unwritten } = run_one(arguments, file, Some(out.join(stem)), cancel)?;
        if arguments.json {
            let name = stem.to_string_lossy();
            rows.extend(table::rows(&answers).into_iter().map(|mut row| {
                row["experiment"] = json!(name);
                row
            }));
        } else {
            table::outln(&table::line(&answers, &path));
        }
        worst = worst.max(table::exit(&answers));
        if let Some(unwritten) = unwritten {
            // The next one would fare no better.
            return Err(failed(unwritten));
        }
        if cancel.load(Ordering::Relaxed) {
            break;
        }
    }
    if arguments.json {
        table::outln(&serde_json::to_string_pretty(&rows).expect("outcome rows are plain JSON"));
    } else {
        table::outln(&format!("\nEverything is in {}", out.display()));
    }
    Ok(worst)
}

fn run_one(arguments: &Arguments, file: &Path, out: Option<PathBuf>, cancel: &Arc<AtomicBool>) -> Result<Ran, Failure> {
    let source = arguments.flags.source(file, &[])?;
    let engines = arguments.by.as_deref().map(Engine::parse_list).transpose().map_err(bad_input)?;
    let bar = Bar::new(arguments.json);
    let show = |step: Step<'_>| bar.show(step);
    let progress = Progress::new(cancel, &show);
    let context = arguments.flags.context(out, command(arguments, file), &progress)?;
    let result = sojourn_lab::run(&source, engines.as_deref(), &context);
    bar.clear();
    let ran = Ran::of(result, cancel)?;
    if arguments.verbose {
        ran.answers.how_simulated().iter().for_each(|line| table::errln(line));
    }
    Ok(ran)
}

/// The command that repeats this run.
fn command(arguments: &Arguments, file: &Path) -> String {
    let mut words = vec!["sojourn run".to_string(), file.display().to_string()];
    words.extend(arguments.by.iter().map(|by| format!("--by {by}")));
    words.extend(arguments.flags.set.iter().map(|set| format!("--set '{set}'")));
    words.extend(arguments.flags.seed.iter().map(|seed| format!("--seed {seed}")));
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
        Bar { bar: experiment::bar(quiet), shown: Mutex::new(None) }
    }

    fn show(&self, step: Step<'_>) {
        let now = (step.variant.0, step.engine);
        let mut shown = self.shown.lock().expect("no thread panics while holding it");
        if *shown != Some(now) {
            *shown = Some(now);
            self.bar.reset_elapsed();
        }
        let (index, of) = step.variant;
        self.bar.set_prefix(format!("{}/{of} {}", index + 1, step.engine));
        self.bar.set_position((step.done * 1000.0) as u64);
        self.bar.set_message(format!("{} {}", step.label, step.remark));
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
