//! `sojourn report DIR`.

use std::path::PathBuf;

use sojourn_lab::{Folder, folder};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table;

/// Write the report of a run folder anew
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The run folder
    dir: PathBuf,
    /// Print the outcome rows as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn report(arguments: &Arguments) -> Result<Exit, Failure> {
    let folder = Folder::read(&arguments.dir).map_err(bad_input)?;
    folder::write_report(&arguments.dir, &folder).map_err(failed)?;
    table::print(&folder, &arguments.dir, arguments.json)
}
