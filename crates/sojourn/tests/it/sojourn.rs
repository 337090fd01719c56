//! Running the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_sojourn");

/// The project's root folder.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// An experiment of the project.
pub(crate) fn experiment(name: &str) -> PathBuf {
    root().join("experiments").join(name)
}

/// The program with these arguments, on a terminal so wide that nothing it says is wrapped or left out.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env("COLUMNS", "1000");
    command
}

/// Runs it to its end.
pub(crate) fn sojourn(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program can be run")
}

/// What it printed.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it complained of.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file in `folder` with this text.
pub(crate) fn file(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a temporary file can be written");
    path.display().to_string()
}

/// A column of a run folder's outcomes: the estimate of `metric` by `engine`, one per variant, in order.
pub(crate) fn estimates(folder: &Path, engine: &str, metric: &str) -> Vec<f64> {
    let answers = sojourn_lab::Answers::open(folder).expect("it is a run folder");
    let rows = answers.rows().filter(|(_, answer, row)| answer.engine.name() == engine && row.metric == metric);
    rows.filter_map(|(_, _, row)| row.estimate.value()).collect()
}

/// Waits until `holds`, as long as a slow machine may need.
#[allow(clippy::disallowed_methods, reason = "a test that waits for a process gives up some day")]
pub(crate) fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "never came: {what}");
        std::thread::yield_now();
    }
}
