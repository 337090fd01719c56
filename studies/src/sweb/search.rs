//! What no experiment file says: the fit of the one reading that is fitted, the rates at which requests begin to fail, and the
//! experiments under each other reading.
//!
//! `fit.csv` has the least number of connections, and the least patience (s), at which four workstations answer all of 11
//! requests per second of 1.5 MB for 30 s; nothing else is looked at. The experiments must say that number, or nothing more is
//! run. `maxima.csv` has the most whole requests per second of which none fails in any replication, each found by doubling and
//! bisection, so that the next rate was seen to fail. Below `readings/` are the run folders of what each reading changes.

use std::path::Path;

use sojourn_lab::folder::write_whole;
use sojourn_lab::spec::{Engine, Question};
use sojourn_lab::{Context, Experiment, Progress};
use sojourn_sim::{Control, WarmUp};
use sojourn_stats::Span;

use super::readings::{self, AS_READ, Reading, together};
use super::{LARGE, MAXIMA, READ_ANEW, SMALL};
use crate::ReproduceError;

/// Numbers that are beyond any experiment here.
const MOST: u32 = 1 << 17;
/// Any number of connections.
const UNLIMITED: &str = "system.server.limits.connections=1000000";
/// What connections are fitted to, in requests per second: section 4.1, four workstations, 30 s.
const FITTED_TO: u32 = 11;

/// Machines, a size of files and a duration, whose most requests per second are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// One of [`MAXIMA`].
    pub(super) file: &'static str,
    pub(super) nodes: u32,
    /// As the experiments write it.
    pub(super) size: &'static str,
    pub(super) seconds: u32,
}

/// Six nodes, or four workstations, with files of 1.5 MB.
pub(super) const KEY_CELLS: [Cell; 4] =
    [meiko(6, LARGE, 30), meiko(6, LARGE, 120), ethernet(LARGE, 30), ethernet(LARGE, 120)];

pub(super) const fn meiko(nodes: u32, size: &'static str, seconds: u32) -> Cell {
    Cell { file: MAXIMA[0], nodes, size, seconds }
}

pub(super) const fn ethernet(size: &'static str, seconds: u32) -> Cell {
    Cell { nodes: 4, ..workstation(size, seconds) }
}

/// One workstation alone.
pub(super) const fn workstation(size: &'static str, seconds: u32) -> Cell {
    Cell { file: MAXIMA[1], nodes: 1, size, seconds }
}

/// What was found.
pub(super) struct Found {
    /// The least connections of a workstation, and the least patience (s) with any number of them.
    pub(super) connections: u32,
    pub(super) patience_s: u32,
    /// The most requests per second of each cell, by the number of the reading.
    maxima: Vec<(String, String, u32)>,
}

impl Found {
    pub(super) fn read(runs: &Path) -> Result<Found, ReproduceError> {
        let fit = rows(&runs.join("fit.csv"))?;
        let number = |text: &str| text.parse().map_err(|_| ReproduceError(format!("`{text}`: a whole number was due")));
        let of = |what: &str| match fit.iter().find(|row| &row[0] == what) {
            Some(row) => number(&row[1]),
            None => Err(ReproduceError(format!("{}: no row `{what}`", runs.join("fit.csv").display()))),
        };
        let maxima = rows(&runs.join("maxima.csv"))?;
        let maxima = maxima.iter().map(|row| Ok((row[0].to_owned(), row[1].to_owned(), number(&row[2])?)));
        Ok(Found {
            connections: of("connections")?,
            patience_s: of("patience_s")?,
            maxima: maxima.collect::<Result<_, _>>()?,
        })
    }

    /// The most requests per second of a cell under a reading; none where the reading does not concern it.
    pub(super) fn most(&self, reading: &str, cell: Cell) -> Option<u32> {
        let is_it = |(of, name, _): &&(String, String, u32)| of == reading && *name == cell.name();
        self.maxima.iter().find(is_it).map(|(_, _, rate)| *rate)
    }

    /// What a made-up world has found.
    #[cfg(test)]
    pub(super) fn made_up(world: impl Fn(&str, Cell) -> Option<u32>) -> Found {
        let numbers = readings::all(300).iter().map(|reading| reading.number).chain([AS_READ.0]).collect::<Vec<_>>();
        let of = |reading: &str| {
            let found = Cell::all().map(|cell| Some((reading.to_owned(), cell.name(), world(reading, cell)?)));
            found.collect::<Vec<_>>()
        };
        Found {
            connections: 77,
            patience_s: 300,
            maxima: numbers.iter().flat_map(|of_it| of(of_it)).flatten().collect(),
        }
    }
}

impl Cell {
    /// All that table 1 may have had.
    pub(super) fn all() -> impl Iterator<Item = Cell> {
        let of_meiko = |size, seconds| (1..=6).map(move |nodes| meiko(nodes, size, seconds));
        let both = [(SMALL, 30), (SMALL, 120), (LARGE, 30), (LARGE, 120)];
        let of_ethernet = |size, seconds| [workstation(size, seconds), ethernet(size, seconds)];
        both.into_iter().flat_map(move |(size, seconds)| of_meiko(size, seconds).chain(of_ethernet(size, seconds)))
    }

    /// In a line of `maxima.csv`.
    fn name(self) -> String {
        let Cell { file, nodes, size, seconds } = self;
        format!("{file}; {nodes} nodes; {size}; {seconds} s")
    }

    /// Its experiment, without what varies in the file.
    fn text(self, text: &str) -> String {
        let Cell { nodes, size, seconds, .. } = self;
        let (before, rest) = text.split_once("\n[vary]").unwrap_or((text, ""));
        let run = rest.split_once("\n[run]").map_or(String::new(), |(_, run)| format!("\n[run]{run}"));
        let servers = format!("targets = {{ servers = {nodes} }}");
        format!("{before}{run}")
            .replace("constant(1.5 MB)", size)
            .replace("targets = { servers = 6 }", &servers)
            .replace("targets = { servers = 4 }", &servers)
            .replace("duration = \"30.5 s\"", &format!("duration = \"{seconds}.5 s\""))
    }
}

/// Fits, searches, and runs the experiments under each other reading, from the folder `experiments` into `runs`.
pub(crate) fn run(experiments: &Path, runs: &Path) -> Result<(), ReproduceError> {
    std::fs::create_dir_all(runs).map_err(|e| ReproduceError(format!("cannot make {}: {e}", runs.display())))?;
    let [of_meiko, of_ethernet] = MAXIMA.map(|name| read(experiments, name));
    let (of_meiko, of_ethernet) = (of_meiko?, of_ethernet?);
    let text = |cell: Cell| cell.text(if cell.file == MAXIMA[0] { &of_meiko } else { &of_ethernet });
    let burst = text(ethernet(LARGE, 30));
    let arrivals = format!("workload.arrivals={}", together(FITTED_TO));
    let connections = least(|number| {
        fails(&burst, &[arrivals.clone(), format!("system.server.limits.connections={number}")]).map(|fails| !fails)
    })?;
    let patience_s = least(|seconds| {
        let patience = format!("workload.patience=constant({seconds} s)");
        fails(&burst, &[arrivals.clone(), patience, UNLIMITED.into()]).map(|fails| !fails)
    })?;
    write(runs, "fit.csv", format!("what,least\nconnections,{connections}\npatience_s,{patience_s}\n"))?;
    for (name, text, due) in [(MAXIMA[0], &of_meiko, 2 * connections), (MAXIMA[1], &of_ethernet, connections)] {
        if !text.contains(&format!("limits = {{ connections = {due} }}")) {
            let file = experiments.join(format!("{name}.toml"));
            let right = format!("the fit says limits = {{ connections = {due} }}, the file another number");
            return Err(ReproduceError(format!("{}: {right}", file.display())));
        }
    }
    let others = readings::all(patience_s);
    let mut maxima = String::from("reading,cell,requests_per_s\n");
    for cell in Cell::all() {
        let rate = highest(&text(cell), together)?;
        maxima += &format!("{},{},{rate}\n", AS_READ.0, cell.name());
    }
    for reading in &others {
        for cell in KEY_CELLS {
            let Some(changed) = reading.of(&text(cell)) else { continue };
            let rate = highest(&changed, |rate| reading.arrivals(rate))?;
            maxima += &format!("{},{},{rate}\n", reading.number, cell.name());
        }
    }
    write(runs, "maxima.csv", maxima)?;
    others.iter().try_for_each(|reading| run_under(reading, experiments, runs))
}

/// Runs each experiment that a reading changes and the page reads.
fn run_under(reading: &Reading, experiments: &Path, runs: &Path) -> Result<(), ReproduceError> {
    for name in READ_ANEW {
        let Some(text) = reading.of(&read(experiments, name)?) else { continue };
        let failed = |what: String| ReproduceError(format!("reading {}: {what}", reading.number));
        let source = Experiment::new(&experiments.join(format!("{name}.toml")), text, &[]);
        let source = source.map_err(|e| failed(e.to_string()))?;
        let out = runs.join("readings").join(reading.number).join(name);
        let context = Context {
            program: std::env::current_exe().map_err(|e| failed(e.to_string()))?,
            out: Some(out),
            threads: threads(),
            command: format!("sojourn-reproduce sweb-1996-sim {} {}", experiments.display(), runs.display()),
            progress: &Progress::none(),
        };
        sojourn_lab::run(&source, Some(&[Engine::Sim]), &context).map_err(|e| failed(e.to_string()))?;
    }
    Ok(())
}

/// The most requests per second of which none fails; `arrivals` writes so many.
fn highest(text: &str, arrivals: impl Fn(u32) -> String) -> Result<u32, ReproduceError> {
    Ok(least(|rate| fails(text, &[format!("workload.arrivals={}", arrivals(rate))]))? - 1)
}

/// The least number above 0 that is enough, where all above it are too.
fn least(mut is_enough: impl FnMut(u32) -> Result<bool, ReproduceError>) -> Result<u32, ReproduceError> {
    let mut high = 1;
    while !is_enough(high)? {
        if high >= MOST {
            return Err(ReproduceError(format!("not even {high} is enough")));
        }
        high *= 2;
    }
    let mut low = high / 2;
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if is_enough(middle)? { high = middle } else { low = middle }
    }
    Ok(high)
}

/// Whether a request of the experiment fails, or is given up, in any replication.
fn fails(text: &str, set: &[String]) -> Result<bool, ReproduceError> {
    let failed = |what: String| ReproduceError(format!("{}: {what}", set.join(", ")));
    let source = Experiment::new(Path::new("maxima.toml"), text.to_owned(), set).map_err(|e| failed(e.to_string()))?;
    let variants = source.variants().map_err(|e| failed(e.to_string()))?;
    let experiment = &variants[0].experiment;
    let Question::System(asked) = &experiment.question else { return Err(failed("no system of servers".into())) };
    let control = Control {
        seed: experiment.seed,
        warm_up: WarmUp::Fixed(Span::ZERO),
        horizon: experiment.run.duration,
        precision: None,
        max_jobs: experiment.run.max_jobs,
        replications: experiment.run.replications,
        threads: threads(),
        ..Control::default()
    };
    let report =
        sojourn_sim::run(&asked.system, &asked.workload, &control, &|_| {}).map_err(|e| failed(e.to_string()))?;
    let share = |metric: &str| {
        let found = report.measures.iter().find(|measure| measure.metric == metric);
        found.and_then(|measure| measure.estimate.value()).ok_or_else(|| failed(format!("no {metric}")))
    };
    Ok(share("error_ratio")? + share("abandoned_ratio")? > 0.0)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn read(experiments: &Path, name: &str) -> Result<String, ReproduceError> {
    let file = experiments.join(format!("{name}.toml"));
    std::fs::read_to_string(&file).map_err(|e| ReproduceError(format!("cannot read {}: {e}", file.display())))
}

fn write(runs: &Path, name: &str, text: String) -> Result<(), ReproduceError> {
    write_whole(&runs.join(name), text.as_bytes()).map_err(|e| ReproduceError(e.to_string()))
}

fn rows(file: &Path) -> Result<Vec<csv::StringRecord>, ReproduceError> {
    let fail = |e: csv::Error| ReproduceError(format!("{}: {e}", file.display()));
    csv::Reader::from_path(file).map_err(fail)?.records().map(|row| row.map_err(fail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_that_is_enough_is_found_from_any_side() {
        for due in [1, 2, 3, 4, 77, 128, 1000] {
            assert_eq!(least(|number| Ok(number >= due)).unwrap(), due);
        }
        assert!(least(|_| Ok(false)).is_err());
    }

    /// The fit that the experiments carry: one connection fewer and a request of the burst fails, by the simulator.
    #[test]
    fn the_experiments_carry_the_fitted_connections() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/sweb-1996");
        let text = ethernet(LARGE, 30).text(&read(&folder, "maxima-ethernet").unwrap());
        let set = [format!("workload.arrivals={}", together(FITTED_TO))];
        assert!(!fails(&text, &set).unwrap());
        let said =
            text.split("connections = ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok()).unwrap();
        let fewer = format!("system.server.limits.connections={}", said - 1);
        assert!(fails(&text, &[set[0].clone(), fewer]).unwrap());
        let of_meiko = read(&folder, "maxima").unwrap();
        assert!(of_meiko.contains(&format!("connections = {} }}", 2 * said)), "as many per MB of memory");
    }

    #[test]
    fn a_cell_is_one_variant_of_its_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/sweb-1996");
        for cell in Cell::all() {
            let text = cell.text(&read(&folder, cell.file).unwrap());
            let variants = Experiment::new(Path::new("x.toml"), text, &[]).unwrap().variants().unwrap();
            assert_eq!(variants.len(), 1);
            let Question::System(asked) = &variants[0].experiment.question else { panic!("a system") };
            assert_eq!(asked.system.hosts.len(), cell.nodes as usize);
            let due = if cell.size == SMALL { 1e3 } else { 1.5e6 };
            assert!((asked.workload.size_moments().0 / due - 1.0).abs() < 1e-9);
            assert_eq!(variants[0].experiment.run.duration, Some(Span::from_secs_f64(f64::from(cell.seconds) + 0.5)));
        }
    }
}
