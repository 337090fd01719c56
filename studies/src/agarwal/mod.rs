//! Agarwal (2001): clusters in several regions, one of which the DNS names to each client.
//!
//! His bed is simulated under the readings that were written down before (`experiments/agarwal-2001/READINGS.md`). His
//! figures are pictures without data, so the ranges of his text and his findings are compared, each turned into
//! comparisons of simulated figures with their intervals ([`findings`]); what else could be read is run beside it, and
//! then what his machines could not do ([`capacity`], [`beyond`]). What real packets say is kept in files ([`measured`]) and
//! stands beside it ([`live`]). [`arrangements`] is a page of its own: every way to distribute requests that he surveys, over
//! the same cases, and what decides within one ([`studies`]).

pub(crate) mod arrangements;
mod beyond;
mod capacity;
mod findings;
mod grid;
mod live;
#[cfg(test)]
mod made_up;
mod measured;
mod overload;
mod studies;

use std::fmt::Write;
use std::path::Path;

use self::grid::Load;
use self::measured::Measured;
use crate::ReproduceError;
use crate::answers::Answers;
use crate::finding;
use crate::picture::{Figure, Series, curves};
use crate::verdict::LEGEND;
pub(crate) use measured::condense;

/// His experiments, by the name of the run folder.
const RUNS: [&str; 9] = [
    "1-grid",
    "2-readings",
    "3-network",
    "4-loaded",
    "5-resolvers",
    "6-site-fails",
    "7-server-fails",
    "8-capacity",
    "9-passed-on",
];

/// His four policies of the DNS, as he calls them and as the experiments do.
const POLICIES: [(&str, &str); 4] = [
    ("random", "random"),
    ("round robin", "round-robin"),
    ("weighted", "weighted(by = free-capacity)"),
    ("nearest", NEAREST),
];

/// His own: nearest with room.
const NEAREST: &str = "nearest-with-room";

const POLICY: &str = "system.tier.dns.policy";
const MEAN: &str = "response_time_mean";

/// A setting of a variant, e.g. `("system.tier.dns.policy", "random")`.
type Setting<'a> = (&'a str, &'a str);

/// The answers of all experiments, and the loads of the grid.
struct Runs {
    answers: Vec<Answers>,
    grid: Vec<Load>,
}

impl Runs {
    fn read(folder: &Path, published: &Path) -> Result<Runs, ReproduceError> {
        let answers = RUNS.iter().map(|name| Answers::read(&folder.join(name), "sim")).collect::<Result<_, _>>()?;
        Ok(Runs { answers, grid: grid::read(published)? })
    }

    fn of(&self, name: &str) -> &Answers {
        let place = RUNS.iter().position(|known| *known == name);
        &self.answers[place.expect("an experiment of the list")]
    }
}

/// Writes the page at `page`, and its figures beside it, from the run folders in `runs` and what was measured live, which is
/// kept beside it too.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    let (run_folders, runs) = (runs, Runs::read(runs, published)?);
    let folder = page.with_extension("");
    let fail = |e: std::io::Error| ReproduceError(format!("cannot write {}: {e}", page.display()));
    std::fs::create_dir_all(&folder).map_err(fail)?;
    let findings = findings::findings(&runs);
    let mut text = format!(
        "{HEAD}{}## How it was run, and what the verdicts mean\n\n{METHOD}{LEGEND}\n| experiment | run | took |\n|---|---|---|\n",
        finding::summary(&findings)
    );
    for name in RUNS {
        let run = runs.of(name);
        let file = format!("[{name}](../../experiments/agarwal-2001/{name}.toml)");
        let _ = writeln!(text, "| {file} | sim, {}{} | {:.0} s |", run.verdict, run.reasons(), run.elapsed_s);
    }
    text += "\n## Each finding with its figures\n\n";
    text += &finding::rows(&findings, "he found");
    text += "\n## The grid\n\n";
    text += &grid::tables(&runs);
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for figure in figures(&runs) {
        std::fs::write(folder.join(format!("{}.svg", figure.file)), &figure.svg).map_err(fail)?;
        let _ = write!(text, "![{}]({name}/{}.svg)\n\n", figure.title, figure.file);
    }
    let measured = Measured::read(&folder)?;
    text += &live::text(&measured);
    for figure in live::figures(&measured) {
        std::fs::write(folder.join(format!("{}.svg", figure.file)), &figure.svg).map_err(fail)?;
        let _ = write!(text, "![{}]({name}/{}.svg)\n\n", figure.title, figure.file);
    }
    text += &live::server(&measured);
    text += &capacity::text(run_folders, &folder)?;
    text += &beyond::text(&runs);
    std::fs::write(page, text).map_err(fail)
}

/// Figures 5.5 and 5.6: mean response times over the number of processes.
fn figures(runs: &Runs) -> Vec<Figure> {
    let of = |spread: &str, file, title| {
        let series = POLICIES.iter().enumerate().map(|(colour, (name, policy))| {
            let loads = runs.grid.iter().filter(|load| load.spread == spread);
            let point = |load: &Load| Some((load.number(), runs.of("1-grid").number(&load.under(policy), MEAN)?.value));
            Series { name: (*name).into(), published: false, colour, points: loads.filter_map(point).collect() }
        });
        let series: Vec<Series> = series.collect();
        Figure { file, title, svg: curves(title, "client processes", "seconds", &series) }
    };
    vec![
        of("even", "even", "Mean response time under even load (his figure 5.5)"),
        of("uneven", "uneven", "Mean response time under uneven load (5.6)"),
    ]
}

const HEAD: &str = "\
# Agarwal's clusters in several regions, simulated and live

P. Agarwal (2001) built a test bed of three clusters, each a front node with two servers, and of clients in four
regions behind links that Nistnet delays and impairs. A modified BIND names a cluster to each client: by turns, at
random, by free capacity, or his own way, the nearest one with room. Here his bed is simulated: resolvers and their
answers, front nodes that packets pass on their way in, reports and probes that take time, WebStone's processes, and
TCP of 2001 over lossy paths. [Further down](#live) it runs with real packets. What he leaves open was
[read](../../experiments/agarwal-2001/READINGS.md) before the
first comparison, and with it when a finding counts as reproduced.

";

const METHOD: &str = "\
This page is written by `make agarwal`; no figure and no verdict on it is typed by hand, what may lie behind a verdict
is. All intervals are 95 %, over ten replications; ratios are taken replication by replication, with the same clients,
documents and delays under each policy.

";
