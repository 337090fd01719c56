//! Fujita (2000), chapters 2 and 3: which findings about a web server and a proxy of 1998 hold for those of today.
//!
//! His figures are pictures without data. So his statements are compared, each turned into comparisons of measured
//! figures with their intervals, and the few numbers of his text. A server of today is hundreds of times as fast as his, so
//! shapes are compared, never seconds.

#[cfg(test)]
mod made_up;

use std::path::Path;

use crate::ReproduceError;
use crate::page::{self, Page, Runs};

const TEMPLATE: &str = include_str!("../templates/fujita-2000.md");

/// His experiments, by the name of the run folder in each block.
const LIVE: [&str; 9] = [
    "1-daemons",
    "2-helpers",
    "3-sizes",
    "4-mix",
    "4-distributions",
    "6-proxy-sizes",
    "7-hit-ratio",
    "8-direct",
    "8-misses",
];
/// What is measured in one piece, because its documents take a second each.
const LIVE_WHOLE: [&str; 1] = ["5-network-live"];
const SIMULATED: [&str; 2] = ["5-network", "5-network-live"];

/// Writes the page at `page`, and its figures beside it, from the run folders in `runs`.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    let mut live = page::read_in_blocks(runs, &LIVE, "live")?;
    live.extend(page::read(runs, &LIVE_WHOLE, "live")?);
    of(live, page::read(runs, &SIMULATED, "sim")?, published)?.write(TEMPLATE, page)
}

fn of<'a>(live: Runs, sim: Runs, published: &Path) -> Result<Page<'a>, ReproduceError> {
    let figures = figures(&live)?;
    Page::new().with("live", live).with("sim", sim).given("FIGURES", figures).with_published(published)
}

/// Every measured figure as a row of a CSV file.
fn figures(live: &Runs) -> Result<String, ReproduceError> {
    let fail = |e: csv::Error| ReproduceError(format!("figures.csv: {e}"));
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(["experiment", "settings", "metric", "mean", "ci_low", "ci_high", "blocks", "is_suspect"])
        .map_err(fail)?;
    for (name, answers) in live {
        for figure in answers.figures(&["response_time_mean", "throughput"]) {
            csv.write_record(std::iter::once(name.clone()).chain(figure)).map_err(fail)?;
        }
    }
    let bytes = csv.into_inner().map_err(|e| ReproduceError(format!("figures.csv: {e}")))?;
    Ok(String::from_utf8(bytes).expect("made of texts"))
}
