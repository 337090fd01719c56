//! Is it as published?
//!
//! Reads the run folders of a published study's experiments and the published numbers, and writes a page that puts
//! them side by side: `sojourn-reproduce zhang-2002 RUNS PUBLISHED PAGE`. It simulates and measures nothing: every figure
//! on the page comes from a run folder or from a table that names its source, so that the page can only be as right as
//! they are. What a page concludes (a published conclusion holds, or not) is computed from the same figures, never
//! written by hand; the price is that each conclusion is a small piece of code.

mod answers;
mod fujita;
mod picture;
mod zhang;

use std::path::PathBuf;
use std::process::ExitCode;

use thiserror::Error;

const USAGE: &str = "usage: sojourn-reproduce fujita-2000|zhang-2002|zhang-2002-live RUNS PUBLISHED PAGE, or \
                     sojourn-reproduce zhang-2002-fit STRESS-RUN FOLDER";

/// Why there is no page.
#[derive(Debug, Error)]
#[error("{0}")]
struct ReproduceError(String);

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let result = match arguments.as_slice() {
        [study, runs, published, page] if study.as_os_str() == "fujita-2000" => fujita::write(runs, published, page),
        [study, runs, published, page] if study.as_os_str() == "zhang-2002" => zhang::write(runs, published, page),
        [study, runs, published, page] if study.as_os_str() == "zhang-2002-live" => {
            zhang::live::write(runs, published, page)
        }
        [study, stress, models] if study.as_os_str() == "zhang-2002-fit" => zhang::live::fit(stress, models),
        _ => Err(ReproduceError(USAGE.into())),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
