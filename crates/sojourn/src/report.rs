//! `sojourn report DIR...`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::json;
use sojourn_lab::folder::write_whole;
use sojourn_lab::report::{plots, render, runs};
use sojourn_lab::{Answers, folder};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::plot::Drawing;
use crate::table;
use crate::value::file_to_write;

/// Write the report of a run folder anew, or of several runs beside each other
///
/// With --plot and without --out a plot is all that is written, and all that is told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The run folder; of several, each is a series of every figure
    #[arg(required = true, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dirs: Vec<PathBuf>,
    /// The page to write; needed for several runs [default: report.html in the run folder]
    #[arg(long, value_name = "FILE.html", value_parser = file_to_write(), value_hint = clap::ValueHint::FilePath)]
    out: Option<PathBuf>,
    #[command(flatten)]
    drawing: Drawing,
    /// Print the outcome rows as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn report(arguments: &Arguments) -> Result<Exit, Failure> {
    let all = arguments.dirs.iter().map(|dir| Ok((dir.as_path(), Answers::open(dir).map_err(bad_input)?)));
    let all: Vec<(&Path, Answers)> = all.collect::<Result<_, Failure>>()?;
    let series = named(&all)?;
    let version = env!("CARGO_PKG_VERSION");
    // First what may be refused.
    match &all[..] {
        [(_, answers)] => arguments.drawing.write(|metric| plots::file::plot(answers, metric))?,
        _ => arguments.drawing.write(|metric| runs::plot(&series, version, metric))?,
    }
    match (&all[..], &arguments.out) {
        (_, None) if arguments.drawing.is_asked() => {}
        ([(dir, answers)], None) => folder::write_report(dir, answers).map_err(failed)?,
        ([(_, answers)], Some(out)) => write(out, &render(answers))?,
        (_, Some(out)) => write(out, &runs::render(&series, version))?,
        (_, None) => {
            return Err(bad_input("report: several runs make one page; name it, e.g. --out runs.html"));
        }
    }
    if arguments.drawing.is_asked() && arguments.out.is_none() && !arguments.json {
        // Whoever draws several plots of a run has read its table; why the exit code is not 0 is a line.
        let bad = all.iter().filter(|(_, answers)| table::exit(answers) != Exit::Ok);
        bad.for_each(|(dir, answers)| table::errln(&table::line(answers, dir)));
        return Ok(worst(&all));
    }
    if let [(dir, answers)] = &all[..] {
        return table::print(answers, dir, arguments.json);
    }
    if arguments.json {
        let rows = all.iter().flat_map(|(dir, answers)| table::rows(answers).into_iter().map(move |row| (dir, row)));
        let rows = rows.map(|(dir, mut row)| {
            row["run"] = json!(dir);
            row
        });
        let rows: Vec<_> = rows.collect();
        table::outln(&serde_json::to_string_pretty(&rows).expect("outcome rows are plain JSON"));
    } else {
        all.iter().for_each(|(dir, answers)| table::outln(&table::line(answers, dir)));
    }
    Ok(worst(&all))
}

/// How the program ends after these runs.
fn worst(all: &[(&Path, Answers)]) -> Exit {
    all.iter().map(|(_, answers)| table::exit(answers)).max().unwrap_or(Exit::Ok)
}

fn write(out: &Path, page: &str) -> Result<(), Failure> {
    write_whole(out, page.as_bytes()).map_err(failed)?;
    table::wrote(out);
    Ok(())
}

/// The runs, each named by its folder.
fn named<'a>(all: &'a [(&Path, Answers)]) -> Result<Vec<(String, &'a Answers)>, Failure> {
    let mut names = HashSet::new();
    for (dir, _) in all {
        if !names.insert(dir) {
            return Err(bad_input(format!("report: {} is named twice; name each run once", dir.display())));
        }
    }
    let dirs: Vec<&Path> = all.iter().map(|(dir, _)| *dir).collect();
    Ok(names_of(&dirs).into_iter().zip(all).map(|(name, (_, answers))| (name, answers)).collect())
}

/// What each folder is called: its own name, which says enough, unless others have the same: then also as many folders before it
/// as tell it from these.
fn names_of(dirs: &[&Path]) -> Vec<String> {
    let tail = |dir: &Path, length: usize| -> PathBuf {
        let parts: Vec<_> = dir.components().collect();
        parts[parts.len().saturating_sub(length)..].iter().collect()
    };
    let name = |dir: &&Path| {
        let others = || dirs.iter().filter(|other| *other != dir);
        let is_told = |length: &usize| others().all(|other| tail(other, *length) != tail(dir, *length));
        let told = (1..=dir.components().count()).find(is_told).map(|length| tail(dir, length));
        told.unwrap_or_else(|| dir.to_path_buf()).display().to_string()
    };
    dirs.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_called_by_the_shortest_ends_of_their_paths_that_differ() {
        let names = |dirs: &[&str]| names_of(&dirs.iter().map(Path::new).collect::<Vec<&Path>>());
        assert_eq!(names(&["runs/one-1", "runs/two-1"]), ["one-1", "two-1"]);
        assert_eq!(names(&["runs/a/x", "runs/b/x/", "runs/b/y"]), ["a/x", "b/x", "y"], "those alone that clash");
        assert_eq!(names(&["a/q/x", "b/q/x", "a/r/x"]), ["a/q/x", "b/q/x", "r/x"]);
        assert_eq!(names(&["x", "runs/x", "/x"]), ["x", "runs/x", "/x"], "one is the end of another");
    }
}
