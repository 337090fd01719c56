//! The measured half: his 45 cells on real sockets, on a node that spins and on Apache with PHP.
//!
//! [`run`] measures into a folder, [`condense`] makes of it the tables that are kept beside the page ([`rows`]).
//!
//! The server has core 1 to itself and the client core 0. Requests are planned as in his study: open loop, with a
//! connection each. The rows of a cell are *measured*: the gap before each request, its demand and its response time.
//! The demand is the planned work plus a constant per request, all scaled by one factor, so that their sum is the
//! processor time that the kernel counted for the server. So neither a wrong calibration nor a slow minute of the
//! machine is taken for queueing. The price: there is one factor per cell. A cell that was SUSPECT is measured again.

mod calibration;
mod captured;
pub(super) mod measured;
pub(super) mod rows;

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use sojourn_bed::Child;
use sojourn_lab::folder::write_whole;
use sojourn_lab::host;
use sojourn_load::{Awake, Load, Outcome, Pacing, Record, Report, Schedule, Stop, Targets, Template, Version};
use sojourn_part::program::{Kind, Program, Running, Workers};
use sojourn_part::settings::node::NodeSettings;
use sojourn_stats::{Span, Time};
use sojourn_traffic::{Planned, Request};

pub(super) use self::calibration::{COUNT, LEVELS, STEP};
pub(crate) use self::captured::condense;
use super::series::Cell;
use crate::ReproduceError;

/// The subcommand of the spinning node, as a child of [`run`].
pub(crate) const NODE: &str = "bjornstad-2006-node";
/// The servers, by the name of their folder.
pub(super) const SERVERS: [&str; 2] = ["node", "apache-php"];
/// Mean demand (s), including the constant cost of a request.
pub(super) const SERVICE_S: f64 = 3e-3;
/// Utilisation asked for.
pub(super) const UTILIZATION: f64 = 0.8;
/// The generator's core and the server's.
const CORES: [usize; 2] = [0, 1];
/// Most requests inside: more than there ever are.
const WORKERS: usize = 512;
/// Apache's processes; each serves one request at a time.
const PROCESSES: u32 = 256;
/// Requests of a calibration, and the time between them.
const PROBES: usize = 300;
const PROBE_GAP: Span = Span(10_000_000);
/// Rounds of PHP's loop in a probe: some milliseconds.
const PROBE_ROUNDS: u64 = 300_000;
/// Turns of the calibration's levels.
const TURNS: usize = 150;
/// How far the time of a unit by the line may be from its processor time.
const UNITS_APART: f64 = 0.2;
/// How often a cell is measured at most.
const ATTEMPTS: u32 = 3;
/// The plan's seed.
const SEED: u64 = 2006;
/// Longest time for a server to become ready and for a reply to come.
const READY: Duration = Duration::from_secs(20);
const PATIENCE: Span = Span(120_000_000_000);

/// The server of a set.
enum Server {
    Node(Child),
    Php { running: Running, _root: Root },
}

/// Apache's document root: an empty folder that lives as long as a set.
struct Root(PathBuf);

impl Drop for Root {
    fn drop(&mut self) {
        // A folder that stays in the system's temporary folder is not worth a failure.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Costs of a request at a server.
struct Cost {
    /// Processor time of a request without work (s).
    request_s: f64,
    /// Processor time of a unit of work (s): a nanosecond of a node's, a round of PHP's loop, from one level of work.
    unit_s: f64,
    /// Time of an idle reply beyond its processor time (s): the path, both ways.
    path_s: f64,
}

fn failed(error: impl std::fmt::Display) -> ReproduceError {
    ReproduceError(error.to_string())
}

/// The spinning node, as a child of [`run`], on the server's core.
pub(crate) fn node() -> Result<(), ReproduceError> {
    pin(CORES[1])?;
    let settings = NodeSettings { workers: WORKERS, ..NodeSettings::new("node") };
    sojourn_web::child::node(settings, None, std::io::stdout(), Some(std::io::stdin())).map_err(failed)
}

/// Measures every cell on both servers into `folder`, for `seconds` each; with `most`, only that many cells of a table.
pub(crate) fn run(folder: &Path, seconds: f64, most: usize) -> Result<(), ReproduceError> {
    let requests = (seconds * UTILIZATION / SERVICE_S) as usize;
    if requests < 500 {
        return Err(ReproduceError(format!("{seconds} s a cell: that is {requests} requests; take 2 s or more")));
    }
    let facts: Vec<String> = host::facts().iter().map(|(name, value)| format!("{name}: {value}")).collect();
    std::fs::create_dir_all(folder).map_err(|e| ReproduceError(format!("cannot make {}: {e}", folder.display())))?;
    write(&folder.join("machine.txt"), &facts.join("; "))?;
    pin(CORES[0])?;
    let _awake = Awake::keep(&CORES[1..]).map_err(failed)?;
    let tables = [Cell::renewal(), Cell::self_similar()].map(|cells| cells.into_iter().take(most));
    let cells: Vec<Cell> = tables.into_iter().flatten().collect();
    for name in SERVERS {
        let at = folder.join(name);
        std::fs::create_dir_all(&at).map_err(|e| ReproduceError(format!("cannot make {}: {e}", at.display())))?;
        measure(name, &at, &cells, requests)?;
    }
    Ok(())
}

/// The time of a unit of work (s) by which demands are planned; the levels are left in a file. They are asked again while
/// their run is SUSPECT.
fn calibrate(server: &Server, at: &Path, cost: &Cost, requests: usize) -> Result<f64, ReproduceError> {
    let mut attempts = 1;
    let (probes, is_suspect) = loop {
        let (probes, is_suspect) = calibration::probe(server, cost.unit_s, TURNS.min(requests / 20))?;
        if !is_suspect || attempts == ATTEMPTS {
            break (probes, is_suspect);
        }
        attempts += 1;
    };
    write(&at.join("calibration.csv"), &calibration::table(&probes))?;
    let slope_s = calibration::line(&probes, 0)?.0.value();
    let unit_s = match server {
        Server::Node(_) => cost.unit_s,
        Server::Php { .. } => planned_unit_s(slope_s, cost.unit_s),
    };
    let Cost { request_s, unit_s: processor_unit_s, path_s } = cost;
    let row = format!("{request_s},{unit_s},{path_s},{processor_unit_s},{}", u8::from(is_suspect));
    write(&at.join("server.csv"), &format!("request_s,unit_s,path_s,processor_unit_s,suspect\n{row}\n"))?;
    Ok(unit_s)
}

/// The slope of the line through the levels, or the processor time of a unit where the two are far apart: on a disturbed
/// machine requests of the calibration wait, and demands that are planned by their times are nowhere near those asked for.
fn planned_unit_s(slope_s: Option<f64>, processor_unit_s: f64) -> f64 {
    let near = |slope_s: &f64| (slope_s / processor_unit_s - 1.0).abs() <= UNITS_APART;
    slope_s.filter(near).unwrap_or(processor_unit_s)
}

fn measure(name: &str, at: &Path, cells: &[Cell], requests: usize) -> Result<(), ReproduceError> {
    let server = Server::start(name)?;
    let cost = server.cost()?;
    let unit_s = calibrate(&server, at, &cost, requests)?;
    let mut text =
        String::from("cell,requests,failed,factor,utilization,lateness_p99_s,stolen,suspect,attempts,elapsed_s\n");
    let mut doubts = String::new();
    for cell in cells {
        let number = Cell::all().iter().position(|of| of == cell).expect("it is one of them");
        let (gaps_s, demands_s) = cell.draw(requests, SERVICE_S / UTILIZATION, SERVICE_S, SEED);
        let units = |demand_s: &f64| ((demand_s - cost.request_s).max(0.0) / unit_s) as u64;
        let units: Vec<u64> = demands_s.iter().map(units).collect();
        let (report, worked_s, attempts) = serve_until_trusted(&server, &gaps_s, &units)?;
        let records = report.records.as_deref().unwrap_or_default();
        let planned_s: Vec<f64> = units.iter().map(|units| cost.request_s + *units as f64 * unit_s).collect();
        let factor = worked_s / planned_s.iter().sum::<f64>();
        let (rows, span_s, lost) = rows(records, gaps_s[0], &planned_s, factor);
        write(&at.join(format!("{}.csv", cell.key())), &rows)?;
        let lateness_s = report.lateness.quantile(0.99).unwrap_or(0) as f64 * 1e-9;
        let stolen = report.cores_stolen.iter().copied().fold(0.0, f64::max);
        let reasons = report.verdict.reasons();
        let (utilization, elapsed_s) = (worked_s / span_s, report.elapsed_s);
        let suspect = u8::from(!reasons.is_empty());
        let _ = writeln!(
            text,
            "{number},{},{lost},{factor},{utilization},{lateness_s},{stolen},{suspect},{attempts},{elapsed_s}",
            records.len()
        );
        for reason in &reasons {
            let _ = writeln!(doubts, "{}: {reason}", cell.key());
        }
        eprintln!("{name}, {}: utilisation {utilization:.3}, factor {factor:.3}, {lost} failed", cell.key());
        // After every cell, so that a run that is interrupted keeps what it has measured.
        write(&at.join("doubts.txt"), &doubts)?;
        write(&at.join("cells.csv"), &text)?;
    }
    Ok(())
}

/// Serves the requests, again while the generator says SUSPECT: the report, the server's processor time (s), and how
/// often they were served. What counts is the generator's own doubt, never the response times.
fn serve_until_trusted(server: &Server, gaps_s: &[f64], units: &[u64]) -> Result<(Report, f64, u32), ReproduceError> {
    let mut attempts = 1;
    loop {
        let before_s = server.processor_time_s()?;
        let report = server.serve(gaps_s, units)?;
        let worked_s = server.processor_time_s()? - before_s;
        if report.verdict.reasons().is_empty() || attempts == ATTEMPTS {
            return Ok((report, worked_s, attempts));
        }
        attempts += 1;
    }
}

/// The requests as `gap_s,demand_s,response_s`, the time over which they came (s), and the number that failed (a
/// response of -1).
fn rows(records: &[Record], first_gap_s: f64, planned_s: &[f64], factor: f64) -> (String, f64, usize) {
    let mut text = String::from("gap_s,demand_s,response_s\n");
    let (mut before, mut span_s, mut lost) = (None, 0.0, 0);
    for (record, planned_s) in records.iter().zip(planned_s) {
        let begun = record.begun.unwrap_or(record.planned);
        let gap_s = before.map_or(first_gap_s, |before: Time| begun.saturating_since(before).as_secs_f64());
        before = Some(begun);
        span_s += gap_s;
        let good = record.outcome == Outcome::Ok;
        lost += usize::from(!good);
        let response_s = if good { record.done.saturating_since(begun).as_secs_f64() } else { -1.0 };
        let _ = writeln!(text, "{gap_s},{},{response_s}", factor * planned_s);
    }
    (text, span_s, lost)
}

impl Server {
    fn start(name: &str) -> Result<Server, ReproduceError> {
        if name == SERVERS[0] {
            let program = std::env::current_exe().map_err(failed)?;
            return Child::spawn(&program, [NODE], READY).map(Server::Node).map_err(failed);
        }
        let root = Root(std::env::temp_dir().join(format!("sojourn-bjornstad-{}", std::process::id())));
        std::fs::create_dir_all(&root.0).map_err(failed)?;
        let mut program = Program::new(Kind::ApachePhp(Workers::fixed(PROCESSES)), &root.0);
        (program.cores, program.keep_alive) = (vec![CORES[1]], Span::ZERO);
        Ok(Server::Php { running: program.start().map_err(failed)?, _root: root })
    }

    fn address(&self) -> SocketAddr {
        match self {
            Server::Node(child) => SocketAddr::from(([127, 0, 0, 1], child.port())),
            Server::Php { running, .. } => running.address(),
        }
    }

    /// Processor time of all its processes so far (s).
    fn processor_time_s(&self) -> Result<f64, ReproduceError> {
        let processes = match self {
            Server::Node(child) => vec![child.pid()],
            Server::Php { running, .. } => running.pids(),
        };
        let mut sum_s = 0.0;
        for id in processes {
            let clock = clock_getcpuclockid(Pid::from_raw(id as i32)).map_err(failed)?;
            let time = clock_gettime(clock).map_err(failed)?;
            sum_s += time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9;
        }
        Ok(sum_s)
    }

    /// Sends a request after each gap (s), each with its units of work.
    fn serve(&self, gaps_s: &[f64], units: &[u64]) -> Result<Report, ReproduceError> {
        let mut at = Time::ZERO;
        let plan: Vec<Planned> = gaps_s
            .iter()
            .zip(units)
            .map(|(gap_s, units)| {
                at += Span::from_secs_f64(*gap_s);
                let demand = Span(*units);
                let request = Request { client: 0, class: 0, object: 0, size: 0, demand, patience: Span::FOREVER };
                Planned { at, request }
            })
            .collect();
        let targets = match self {
            Server::Node(_) => Targets::Work,
            // The plan's demand is a number of rounds here.
            Server::Php { .. } => {
                Targets::Weighted(vec![(1.0, Template::parse("/work.php?iter={demand}").map_err(failed)?)])
            }
        };
        let target = self.address();
        let load = Load {
            pacing: Pacing::Spin,
            http: Version::Http10,
            stop: Stop::Requests(plan.len() as u64),
            timeout: PATIENCE,
            grace: PATIENCE,
            connections_max: 4096,
            keep_records: true,
            ..Load::new(target, target.to_string(), Schedule::open(plan.into_iter()), targets)
        };
        sojourn_load::run(load, &Arc::new(AtomicBool::new(false)), &|_| {}).map_err(failed)
    }

    /// Costs of a request, from spaced requests with and without work.
    fn cost(&self) -> Result<Cost, ReproduceError> {
        let probe = |units: u64| {
            let before_s = self.processor_time_s()?;
            let report = self.serve(&[PROBE_GAP.as_secs_f64(); PROBES], &[units; PROBES])?;
            let spent_s = (self.processor_time_s()? - before_s) / PROBES as f64;
            let records = report.records.as_deref().unwrap_or_default();
            let response = |record: &Record| record.done.saturating_since(record.begun.unwrap_or(record.planned));
            let mut responses: Vec<Span> = records.iter().map(response).collect();
            responses.sort_unstable();
            let median_s = responses.get(PROBES / 2).map_or(0.0, |median| median.as_secs_f64());
            Ok::<(f64, f64), ReproduceError>((spent_s, median_s))
        };
        // The first requests meet new processes.
        probe(0)?;
        let (request_s, idle_s) = probe(0)?;
        let unit_s = match self {
            Server::Node(_) => 1e-9,
            Server::Php { .. } => (probe(PROBE_ROUNDS)?.0 - request_s) / PROBE_ROUNDS as f64,
        };
        Ok(Cost { request_s, unit_s, path_s: (idle_s - request_s).max(0.0) })
    }
}

fn pin(core: usize) -> Result<(), ReproduceError> {
    let refused = || ReproduceError(format!("core {core}: this needs a machine of two cores, one for the server"));
    let mut cores = CpuSet::new();
    cores.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &cores)).map_err(|_| refused())
}

fn write(path: &Path, text: &str) -> Result<(), ReproduceError> {
    write_whole(path, text.as_bytes()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_are_planned_by_the_line_unless_it_is_nowhere_near() {
        assert_eq!(planned_unit_s(Some(7.9e-9), 7.2e-9), 7.9e-9);
        assert_eq!(planned_unit_s(Some(6.4e-9), 7.2e-9), 6.4e-9);
        for far in [Some(1.4e-6), Some(-1e-9), Some(0.0), None] {
            assert_eq!(planned_unit_s(far, 7.2e-9), 7.2e-9, "{far:?}");
        }
    }
}
