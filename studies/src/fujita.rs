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

/// His experiments, by the name of the run folder.
const LIVE: [&str; 7] =
    ["1-daemons", "2-helpers", "3-sizes", "4-mix", "4-distributions", "6-proxy-sizes", "7-hit-ratio"];
const SIMULATED: [&str; 1] = ["5-network"];

/// Writes the page at `page`, and its figures beside it, from the run folders in `runs`.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    let (live, sim) = (page::read(runs, &LIVE, "live")?, page::read(runs, &SIMULATED, "sim")?);
    of(live, sim, published)?.write(TEMPLATE, page)
}

fn of<'a>(live: Runs, sim: Runs, published: &Path) -> Result<Page<'a>, ReproduceError> {
    Page::new().with("live", live).with("sim", sim).with_published(published)
}
