//! Fujita (2000), chapters 2 and 3: which findings about a web server and a proxy of 1998 hold for those of today.
//!
//! His figures are pictures without data. So his statements are compared, each turned into comparisons of measured
//! figures with their intervals (`findings`), and the few numbers of his text. A server of today is hundreds of times
//! as fast as his, so shapes are compared, never seconds.

mod figures;
mod findings;
#[cfg(test)]
mod made_up;

use std::fmt::Write;
use std::path::Path;

use crate::ReproduceError;
use crate::answers::Answers;
use crate::number::{Number, scaled, shown};
use crate::verdict::LEGEND;

/// His experiments, by the name of the run folder, and the engine that answers.
const RUNS: [(&str, &str); 8] = [
    ("1-daemons", "live"),
    ("2-helpers", "live"),
    ("3-sizes", "live"),
    ("4-mix", "live"),
    ("4-distributions", "live"),
    ("5-network", "sim"),
    ("6-proxy-sizes", "live"),
    ("7-hit-ratio", "live"),
];

/// The answers of all experiments.
struct Runs(Vec<Answers>);

/// A setting of a variant, e.g. `("users", "4")`.
type Setting<'a> = (&'a str, &'a str);

impl Runs {
    fn read(folder: &Path) -> Result<Runs, ReproduceError> {
        RUNS.iter().map(|(name, engine)| Answers::read(&folder.join(name), engine)).collect::<Result<_, _>>().map(Runs)
    }

    fn of(&self, name: &str) -> &Answers {
        let place = RUNS.iter().position(|(known, _)| *known == name);
        &self.0[place.expect("an experiment of the list")]
    }

    /// The measurement there; none if there was none, or too few samples.
    fn measured(&self, run: &str, wanted: &[Setting<'_>], metric: &str) -> Option<Number> {
        self.of(run).number(wanted, metric)
    }
}

/// Writes the page at `page`, and its figures beside it, from the run folders in `runs`.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    let runs = Runs::read(runs)?;
    let folder = page.with_extension("");
    let fail = |e: std::io::Error| ReproduceError(format!("cannot write {}: {e}", page.display()));
    std::fs::create_dir_all(&folder).map_err(fail)?;
    let mut text = format!("{HEAD}{LEGEND}\n");
    let machine: Vec<String> =
        runs.of("1-daemons").host.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let _ = writeln!(text, "Machine: {}.\n", machine.join("; "));
    text += "| experiment | run | took |\n|---|---|---|\n";
    for (name, engine) in RUNS {
        let run = runs.of(name);
        let file = format!("[{name}](../../experiments/fujita-2000/{name}.toml)");
        let _ = writeln!(text, "| {file} | {engine}, {}{} | {:.0} s |", run.verdict, run.reasons(), run.elapsed_s);
    }
    text += "\n## Which of his findings hold here\n\n";
    text += &findings::table(&runs);
    text += "\n## His numbers and ours\n\n";
    text += &numbers(&runs, published)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    text += "\n## Figures\n";
    for figure in figures::all(&runs) {
        std::fs::write(folder.join(format!("{}.svg", figure.file)), &figure.svg).map_err(fail)?;
        let _ = write!(text, "\n![{}]({name}/{}.svg)\n", figure.title, figure.file);
    }
    std::fs::write(page, text).map_err(fail)
}

/// The numbers of his text beside ours.
fn numbers(runs: &Runs, published: &Path) -> Result<String, ReproduceError> {
    let file = published.join("numbers.csv");
    let fail = |e: csv::Error| ReproduceError(format!("{}: {e}", file.display()));
    let mix = |size: &str, users: &str| runs.measured("4-mix", &[("size", size), ("users", users)], MEAN);
    let [all, half, none] = [findings::MIXES[0], findings::MIXES[2], findings::MIXES[4]];
    // A client's share of the response time is the work demand, by his method.
    let shared = |number: Option<Number>, by: f64| scaled(number, 1.0 / by);
    let rate = |network: &str| {
        let wanted = [("cluster_rate", network), ("size", "constant(500 kB)")];
        scaled(runs.measured("5-network", &wanted, "throughput"), 500e3 * 8.0 / 1e6)
    };
    let ours = |key: &str| match key {
        "response_32_clients_50k" => Some(mix(all, "32")),
        "response_32_clients_500k" => Some(mix(none, "32")),
        "response_32_clients_half" => Some(mix(half, "32")),
        "demand_50k" => Some(shared(mix(all, "16"), 16.0)),
        "demand_500k" => Some(shared(mix(none, "16"), 16.0)),
        "saturation_10_mbit" => Some(rate("10 Mbit/s")),
        "saturation_atm" => Some(rate("1 Gbit/s")),
        _ => None,
    };
    let mut text = "| number | his | ours | where |\n|---|---|---|---|\n".to_owned();
    for row in csv::Reader::from_path(&file).map_err(fail)?.records() {
        let row = row.map_err(fail)?;
        let [key, value, unit, place] = [0, 1, 2, 3].map(|column| row.get(column).unwrap_or_default());
        if let Some(number) = ours(key) {
            let ours = shown(number, unit);
            let _ = writeln!(text, "| {} | {value} {unit} | {ours} | {place} |", key.replace('_', " "));
        }
    }
    Ok(text)
}

const MEAN: &str = "response_time_mean";

const HEAD: &str = "\
# Fujita's measurements, on today's servers

Chapters 2 and 3 of Y. Fujita (2000) again: WebStone clients, a connection per document, on real servers of this machine
over loopback ([how they are started](../../docs/real-servers.md)). He had Apache 1.2.4 and Squid 1.1.20 on workstations of 75
and 250 MHz, a machine each for clients, server and proxy; here they share one, the server pinned to a core of its own.
Points take seconds instead of his ten minutes, and every figure has an interval (95 %, from batch means inside the
run). **His fork and inetd** were ways to start Apache, which knows them no more: another server (busybox httpd) stands
for both, so between it and Apache more differs than the way a process is made. **His slow network** waits for links
with a rate: here it is the simulator's, with his own work demand. **His proxy** was asked for full addresses, ours as
if it were the web server.

This page is written by `make fujita`; no figure and no verdict on it is typed by hand, what may lie behind a verdict
is.

";
