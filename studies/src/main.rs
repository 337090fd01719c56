//! Reproduction pages: published studies, run again and compared.
//!
//! Reads the run folders of a published study's experiments and the published numbers, and writes a page that puts them
//! side by side: `sojourn-reproduce zhang-2002 RUNS PUBLISHED PAGE`. The page simulates and measures nothing: every
//! figure on it comes from a run folder or from a table with its source, so the page is as right as they are. The
//! conclusions of a page (a published conclusion holds, or not) are computed from the same figures, never written by
//! hand: a statement is data in the page's template ([`page`]), or a small piece of code.

mod agarwal;
mod answers;
mod bjornstad;
mod finding;
mod fujita;
mod fujita_models;
mod kept;
mod number;
mod page;
mod picture;
mod sweb;
mod verdict;
mod zhang;

use std::path::PathBuf;
use std::process::ExitCode;

use thiserror::Error;

const USAGE: &str = "usage: sojourn-reproduce \
                     agarwal-2001|bjornstad-2006|fujita-2000|fujita-2000-models|sweb-1996|zhang-2002|zhang-2002-live \
                     RUNS PUBLISHED PAGE, sojourn-reproduce sweb-1996-sim EXPERIMENTS RUNS, \
                     sojourn-reproduce agarwal-2001-live RUNS PUBLISHED FOLDER, \
                     sojourn-reproduce sweb-1996-live RUNS FOLDER, \
                     sojourn-reproduce arrangements RUNS PAGE, sojourn-reproduce zhang-2002-fit STRESS-RUN FOLDER, \
                     sojourn-reproduce bjornstad-2006-sim FOLDER [JOBS], \
                     sojourn-reproduce bjornstad-2006-live RUNS FOLDER, or sojourn-reproduce \
                     bjornstad-2006-measure FOLDER SECONDS-PER-CELL [CELLS-PER-TABLE]";

/// Why there is no page.
#[derive(Debug, Error)]
#[error("{0}")]
struct ReproduceError(String);

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let result = match arguments.as_slice() {
        [study, runs, published, page] if study.as_os_str() == "agarwal-2001" => agarwal::write(runs, published, page),
        [study, runs, published, kept] if study.as_os_str() == "agarwal-2001-live" => {
            agarwal::condense(runs, published, kept)
        }
        [study, runs, page] if study.as_os_str() == "arrangements" => agarwal::arrangements::write(runs, page),
        [study, runs, published, page] if study.as_os_str() == "fujita-2000" => fujita::write(runs, published, page),
        [study, runs, published, page] if study.as_os_str() == "fujita-2000-models" => {
            fujita_models::write(runs, published, page)
        }
        [study, runs, published, page] if study.as_os_str() == "sweb-1996" => sweb::write(runs, published, page),
        [study, runs, kept] if study.as_os_str() == "sweb-1996-live" => sweb::condense(runs, kept),
        [study, experiments, runs] if study.as_os_str() == "sweb-1996-sim" => sweb::search::run(experiments, runs),
        [study, runs, published, page] if study.as_os_str() == "zhang-2002" => zhang::write(runs, published, page),
        [study, runs, published, page] if study.as_os_str() == "zhang-2002-live" => {
            zhang::live::write(runs, published, page)
        }
        [study, stress, models] if study.as_os_str() == "zhang-2002-fit" => zhang::live::fit(stress, models),
        [study, runs, published, page] if study.as_os_str() == "bjornstad-2006" => {
            bjornstad::write(runs, published, page)
        }
        [study, folder, jobs @ ..] if study.as_os_str() == "bjornstad-2006-sim" && jobs.len() < 2 => {
            number(jobs.first(), bjornstad::simulated::JOBS).and_then(|jobs| bjornstad::simulated::run(folder, jobs))
        }
        [study, runs, kept] if study.as_os_str() == "bjornstad-2006-live" => bjornstad::live::condense(runs, kept),
        [study, folder, seconds, most @ ..] if study.as_os_str() == "bjornstad-2006-measure" && most.len() < 2 => {
            number(Some(seconds), 0.0)
                .and_then(|seconds| Ok((seconds, number(most.first(), usize::MAX)?)))
                .and_then(|(seconds, most)| bjornstad::live::run(folder, seconds, most))
        }
        [study] if study.as_os_str() == bjornstad::live::NODE => bjornstad::live::node(),
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

/// A number of the command line.
fn number<N: std::str::FromStr>(text: Option<&PathBuf>, otherwise: N) -> Result<N, ReproduceError> {
    let Some(text) = text else { return Ok(otherwise) };
    let wrong = || ReproduceError(format!("`{}` is not a number; {USAGE}", text.display()));
    text.to_str().and_then(|text| text.parse().ok()).ok_or_else(wrong)
}
