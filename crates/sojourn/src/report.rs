//! `sojourn report DIR...`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::json;
use sojourn_lab::folder::write_whole;
use sojourn_lab::report::{render, runs};
use sojourn_lab::{Answers, folder};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table;
use crate::value::file_to_write;

/// Write the report of a run folder anew, or of several runs beside each other
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The run folder; of several, each is a series of every figure
    #[arg(required = true, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dirs: Vec<PathBuf>,
    /// The page to write; needed for several runs [default: report.html in the run folder]
    #[arg(long, value_name = "FILE.html", value_parser = file_to_write(), value_hint = clap::ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Print the outcome rows as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn report(arguments: &Arguments) -> Result<Exit, Failure> {
    let all = arguments.dirs.iter().map(|dir| Ok((dir.as_path(), Answers::open(dir).map_err(bad_input)?)));
    let all: Vec<(&Path, Answers)> = all.collect::<Result<_, Failure>>()?;
    match (&all[..], &arguments.out) {
        ([(dir, answers)], None) => folder::write_report(dir, answers).map_err(failed)?,
        ([(_, answers)], Some(out)) => write(out, &render(answers))?,
        (_, Some(out)) => write(out, &beside(&all)?)?,
        (_, None) => {
            return Err(bad_input("report: several runs make one page; name it, e.g. --out runs.html"));
        }
    }
    if let [(dir, answers)] = &all[..] {
        return table::print(answers, dir, arguments.json);
    }
    if arguments.json {
        let rows = all.iter().flat_map(|(dir, answers)| answers.to_json().into_iter().map(move |row| (dir, row)));
        let rows = rows.map(|(dir, mut row)| {
            row["run"] = json!(dir);
            row
        });
        let rows: Vec<_> = rows.collect();
        table::outln(&serde_json::to_string_pretty(&rows).expect("outcome rows are plain JSON"));
    } else {
        all.iter().for_each(|(dir, answers)| table::outln(&table::line(answers, dir)));
    }
    Ok(all.iter().map(|(_, answers)| table::exit(answers)).max().unwrap_or(Exit::Ok))
}

fn write(out: &Path, page: &str) -> Result<(), Failure> {
    write_whole(out, page.as_bytes()).map_err(failed)?;
    table::wrote(out);
    Ok(())
}

/// The page of several runs, each named by its folder.
fn beside(all: &[(&Path, Answers)]) -> Result<String, Failure> {
    let mut names = HashSet::new();
    for (dir, _) in all {
        if !names.insert(dir) {
            return Err(bad_input(format!("report: {} is named twice; name each run once", dir.display())));
        }
    }
    // A folder's own name says enough, unless two have the same.
    let short = |dir: &Path| dir.file_name().map(|name| name.to_string_lossy().into_owned());
    let are_told_apart = all.iter().filter_map(|(dir, _)| short(dir)).collect::<HashSet<_>>().len() == all.len();
    let name = |dir: &Path| short(dir).filter(|_| are_told_apart).unwrap_or_else(|| dir.display().to_string());
    let named: Vec<(String, &Answers)> = all.iter().map(|(dir, answers)| (name(dir), answers)).collect();
    Ok(runs::render(&named, env!("CARGO_PKG_VERSION")))
}
