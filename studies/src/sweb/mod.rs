//! SWEB (Andresen, Yang, Holmedahl, Ibarra 1996): a web server on many nodes whose brokers redirect, simulated and live.
//!
//! The tables of the paper are lost; what its text says of them is compared, each statement turned into comparisons of simulated
//! figures with their intervals ([`findings`]). Rates at which requests begin to fail, and the one reading that is fitted, are
//! searched for before ([`search`]); what each other reading changes ([`readings`]) is told by its [`effects`]. What real nodes
//! did is kept in files ([`measured`], [`live_maxima`], [`overhead`]) and stands beside it ([`live`]).

mod configurations;
mod effects;
mod findings;
mod live;
mod live_maxima;
mod live_secure;
#[cfg(test)]
mod made_up;
mod measured;
mod overhead;
mod readings;
pub(crate) mod search;
mod settings;
mod tables;
mod workstations;

use std::fmt::Write;
use std::path::Path;

use self::measured::Measured;
use self::readings::AS_READ;
use self::search::{Cell, Found};
use crate::ReproduceError;
use crate::answers::Answers;
use crate::finding;
use crate::number::{Number, known};
use crate::verdict::LEGEND;

/// The experiments, by the name of the run folder.
const RUNS: [&str; 12] = [
    "burst",
    "sustained",
    "nodes",
    "nodes-ethernet",
    "non-uniform",
    "skewed",
    "shared-ethernet",
    "far-clients",
    "contents",
    "master-slave",
    "customers",
    "copies",
];
/// Those whose rates are searched for: the Meiko's, and the workstations'.
const MAXIMA: [&str; 2] = ["maxima", "maxima-ethernet"];
/// Those that are run under each other reading too.
const READ_ANEW: [&str; 6] = ["nodes", "skewed", "non-uniform", "burst", "shared-ethernet", "far-clients"];

/// Sizes as the experiments write them.
const SMALL: &str = "constant(1 kB)";
const LARGE: &str = "constant(1.5 MB)";

const MEAN: &str = "response_time_mean";
const POLICY: &str = "system.tier.node.policy";
const ARRIVALS: &str = "workload.arrivals";

/// The strategies of section 4.2: as the paper calls them, on the Meiko and on the Ethernet.
const ROTATION: &str = "stay";
const LOCALITY: &str = "file-locality";
const SWEB: &str = "sweb";
const SWEB_ON_ETHERNET: &str = "sweb(remote_penalty = 0.6)";

/// A setting of a variant.
type Setting<'a> = (&'a str, &'a str);

/// All that the page is made of.
struct Study {
    /// By simulation, of each experiment of [`RUNS`].
    answers: Vec<Answers>,
    /// By formula, of `sustained` and `maxima`.
    bounds: [Answers; 2],
    found: Found,
    /// Runs under each other reading, in the order of [`readings::all`] and of [`READ_ANEW`]; none where nothing changes.
    readings: Vec<Vec<Option<Answers>>>,
    published: Published,
}

/// Printed numbers by key.
struct Published(Vec<(String, f64)>);

impl Published {
    fn read(folder: &Path) -> Result<Published, ReproduceError> {
        let file = folder.join("numbers.csv");
        let fail = |e: csv::Error| ReproduceError(format!("{}: {e}", file.display()));
        let number = |row: csv::StringRecord| {
            let value = row.get(1).and_then(|text| text.parse().ok());
            let value = value.ok_or_else(|| ReproduceError(format!("{}: a number is missing", file.display())))?;
            Ok((row.get(0).unwrap_or_default().to_owned(), value))
        };
        let rows = csv::ReaderBuilder::new().flexible(true).from_path(&file).map_err(fail)?.into_records();
        rows.map(|row| number(row.map_err(fail)?)).collect::<Result<_, _>>().map(Published)
    }

    fn of(&self, key: &str) -> f64 {
        self.0.iter().find(|(known, _)| known == key).expect("a number of the table").1
    }
}

impl Study {
    fn read(runs: &Path, published: &Path) -> Result<Study, ReproduceError> {
        let found = Found::read(runs)?;
        let under = |number: &str, name: &str| {
            let folder = runs.join("readings").join(number).join(name);
            folder.exists().then(|| Answers::read(&folder, "sim")).transpose()
        };
        let mut readings = Vec::new();
        for reading in readings::all(found.patience_s) {
            let runs = READ_ANEW.iter().map(|name| under(reading.number, name));
            readings.push(runs.collect::<Result<_, _>>()?);
        }
        let sim = |name: &&str| Answers::read(&runs.join(name), "sim");
        let theory = |name: &str| Answers::read(&runs.join(name), "theory");
        Ok(Study {
            answers: RUNS.iter().map(sim).collect::<Result<_, _>>()?,
            bounds: [theory("sustained")?, theory("maxima")?],
            found,
            readings,
            published: Published::read(published)?,
        })
    }

    fn of(&self, name: &str) -> &Answers {
        let place = RUNS.iter().position(|known| *known == name);
        &self.answers[place.expect("an experiment of the list")]
    }

    /// The most requests per second of a cell, as read.
    fn most(&self, cell: Cell) -> Option<Number> {
        self.found.most(AS_READ.0, cell).and_then(|rate| known(f64::from(rate)))
    }

    fn mean(&self, name: &str, settings: &[Setting<'_>]) -> Option<Number> {
        self.of(name).number(settings, MEAN)
    }
}

/// Writes the files in `kept` from the run folders in `runs`, `seed-1/non-uniform` and so on; of a kind of which there are none
/// the file stays as it is.
pub(crate) fn condense(runs: &Path, kept: &Path) -> Result<(), ReproduceError> {
    let seeds = measured::seeds_in(runs)?;
    let found = [measured::condense(runs, &seeds, kept)?, live_maxima::condense(runs, &seeds, kept)?];
    if found.contains(&true) {
        return Ok(());
    }
    Err(ReproduceError(format!("cannot read {}: it has no run folder such as seed-1/non-uniform", runs.display())))
}

/// Writes the page at `page`, and its figures beside it, from the run folders in `runs` and what was measured live, which is
/// kept beside it too.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    let study = Study::read(runs, published)?;
    let folder = page.with_extension("");
    let fail = |e: std::io::Error| ReproduceError(format!("cannot write {}: {e}", page.display()));
    std::fs::create_dir_all(&folder).map_err(fail)?;
    let findings = findings::all(&study);
    let mut text = format!(
        "{HEAD}{}## How it was run, and what the verdicts mean\n\n{METHOD}{LEGEND}\n| experiment | run | took |\n|---|---|---|\n",
        finding::summary(&findings)
    );
    for name in RUNS {
        let run = study.of(name);
        let file = format!("[{name}](../../experiments/sweb-1996/{name}.toml)");
        let _ = writeln!(text, "| {file} | sim, {}{} | {:.1} s |", run.verdict, run.reasons(), run.elapsed_s);
    }
    text += "\n## Each statement with its figures\n\n";
    text += &finding::rows(&findings, "they found");
    text += &tables::text(&study);
    let measured = Measured::read(&folder)?;
    text += &live::text(&measured, &study.published);
    text += &live_secure::text(&measured);
    text += &live_maxima::text(&folder)?;
    text += &overhead::text(&folder, &study.published)?;
    text += &effects::text(&study);
    text += &configurations::text(&study);
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for figure in tables::figures(&study, live::series(&measured)) {
        std::fs::write(folder.join(format!("{}.svg", figure.file)), &figure.svg).map_err(fail)?;
        text = text.replace(
            &format!("[{}]", tables::place_of(figure.file)),
            &format!("![{}]({name}/{}.svg)", figure.title, figure.file),
        );
    }
    std::fs::write(page, text).map_err(fail)
}

const HEAD: &str = "\
# SWEB: a web server on many nodes, simulated and live

Andresen, Yang, Holmedahl and Ibarra (1996) built a web server of several nodes. A rotating DNS spreads requests over
them; then the node that has a request estimates how long each node would take for it, and serves it or redirects the
client once. They measured it on a Meiko CS-2 of six nodes and on four workstations that share an Ethernet. Here these
machines are simulated: processors, disks, memory that caches files, files that other nodes own, the network, and
reports of load that are up to two seconds old. [Further down](#live) real nodes serve real requests. Their text
breaks off in section 4.3 and their tables are lost, so what is compared is what the text says
([numbers](../../experiments/sweb-1996/published/README.md)). What it leaves open was
[read](../../experiments/sweb-1996/READINGS.md) before the first comparison.

";

const METHOD: &str = "\
This page is written by `make sweb`, and its live part measured by `make sweb-live`; no figure and no verdict on it is
typed by hand, what may lie behind a verdict is. All intervals are 95 %, over ten replications; ratios are taken
replication by replication, with the same requests under each strategy. Their \"round robin\" is the rotation alone: a
node serves what comes to it (policy `stay`).

";
