//! `--plot FILE.svg`: what a report draws first, in a file of its own.

use std::path::PathBuf;

use sojourn_lab::SpecError;
use sojourn_lab::folder::write_whole;
use sojourn_lab::report::plots::file::{FIRST, Plot, metric};

use crate::exit::{Failure, bad_input, failed};
use crate::table;
use crate::value::svg_to_write;

/// What every verb takes that can draw a run.
#[derive(clap::Args)]
pub(crate) struct Drawing {
    /// Draw a time by every variant and engine, for a slide: curves over the number that takes most values, as a report has
    /// them, or where none takes three a dot for each
    #[arg(long, value_name = "FILE.svg", value_parser = svg_to_write(), value_hint = clap::ValueHint::FilePath)]
    plot: Option<PathBuf>,
    /// The time that is drawn, such as p50, p99 or another by its full name
    #[arg(long, value_name = "TIME", default_value = FIRST, requires = "plot", value_parser = metric)]
    metric: String,
}

impl Drawing {
    /// Whether there is to be a plot.
    pub(crate) fn is_asked(&self) -> bool {
        self.plot.is_some()
    }

    /// Writes the plot that `of` makes of the metric, where there is to be one, and says so.
    pub(crate) fn write(&self, of: impl FnOnce(&str) -> Result<Plot, SpecError>) -> Result<(), Failure> {
        let Some(path) = &self.plot else { return Ok(()) };
        let Plot { svg, left_out } = of(&self.metric).map_err(bad_input)?;
        write_whole(path, svg.as_bytes()).map_err(failed)?;
        if !left_out.is_empty() {
            table::errln(&format!("{}: {left_out}", path.display()));
        }
        table::wrote(path);
        Ok(())
    }
}
