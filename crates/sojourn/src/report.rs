//! `sojourn report DIR...`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::json;
use sojourn_lab::folder::write_whole;
use sojourn_lab::report::{Report, render, runs};
use sojourn_lab::{Folder, folder};

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
    let all = arguments.dirs.iter().map(|dir| Ok((dir.as_path(), Folder::read(dir).map_err(bad_input)?)));
    let all: Vec<(&Path, Folder)> = all.collect::<Result<_, Failure>>()?;
    match (&all[..], &arguments.out) {
        ([(dir, folder)], None) => folder::write_report(dir, folder).map_err(failed)?,
        ([(_, folder)], Some(out)) => write(out, &render(&Report::new(folder)))?,
        (several, Some(out)) => write(out, &beside(several)?)?,
        (_, None) => {
            return Err(bad_input("report: several runs make one page; name it, e.g. --out runs.html"));
        }
    }
    if let [(dir, folder)] = &all[..] {
        return table::print(folder, dir, arguments.json);
    }
    if arguments.json {
        let rows = all.iter().flat_map(|(dir, folder)| folder.outcomes.iter().map(move |row| (dir, row)));
        let rows = rows.map(|(dir, row)| {
            let mut row = row.to_json();
            row["run"] = json!(dir);
            row
        });
        let rows: Vec<_> = rows.collect();
        table::outln(&serde_json::to_string_pretty(&rows).expect("outcome rows are plain JSON"));
    } else {
        all.iter().for_each(|(dir, folder)| table::outln(&table::line(folder, dir)));
    }
    Ok(all.iter().map(|(_, folder)| table::exit(folder)).max().unwrap_or(Exit::Ok))
}

fn write(out: &Path, page: &str) -> Result<(), Failure> {
    write_whole(out, page.as_bytes()).map_err(failed)?;
    table::wrote(out);
    Ok(())
}

/// The page of several runs, each named by its folder.
fn beside(all: &[(&Path, Folder)]) -> Result<String, Failure> {
    let mut names = HashSet::new();
    for (dir, _) in all {
        if !names.insert(dir) {
            return Err(bad_input(format!("report: {} is named twice; name each run once", dir.display())));
        }
    }
    let named: Vec<(String, Report)> =
        all.iter().map(|(dir, folder)| (dir.display().to_string(), Report::new(folder))).collect();
    Ok(runs::render(&named, env!("CARGO_PKG_VERSION")))
}
