//! The simulated half: the simulations, and the files that the page is written from.
//!
//! `sets.csv` (Table 7.4, a thousand sets of 10^5 requests), `long.csv` and `parts.csv` (one path of 10^9),
//! `disciplines.csv` (every cell under every discipline, at his utilisation), `memory.csv` (response time against H),
//! `breakpoints.csv` (jobs that sharing favours), `averages.csv` and `points.csv` (local averages of self-similar gaps).

pub(super) mod averages;
pub(super) mod breakpoint;
pub(super) mod lindley;
pub(super) mod memory;
pub(super) mod replay;

use std::fmt::Write;
use std::path::Path;

use rayon::prelude::*;
use sojourn_lab::folder::write_whole;

use self::averages::Averages;
use self::breakpoint::Jobs;
use self::lindley::{Long, PARTS};
use self::replay::DISCIPLINES;
use super::series::{Cell, REQUESTS, SERVICE_S, UTILIZATION};
use crate::ReproduceError;

/// Default number of jobs of the long run.
pub(crate) const JOBS: u64 = 1_000_000_000;
/// Sets of [`REQUESTS`] requests that every discipline plays.
const SETS: u64 = 20;

/// One set of a cell under a discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Played {
    /// Places in [`Cell::all`] and [`DISCIPLINES`].
    pub(super) cell: usize,
    pub(super) discipline: usize,
    pub(super) set: u64,
    /// Of the response time (s).
    pub(super) mean_s: f64,
    pub(super) std_s: f64,
    /// The times of [`TARGETS`](super::series::TARGETS) (s).
    pub(super) targets_s: [f64; 4],
}

/// The files of the simulated half, as the page reads them.
pub(super) struct Simulated {
    /// Set by set: mean and standard deviation (s) of each cell.
    pub(super) sets: Vec<Vec<(f64, f64)>>,
    pub(super) long: Vec<Long>,
    pub(super) played: Vec<Played>,
    pub(super) memory: Vec<memory::Outcome>,
    pub(super) jobs: Vec<Jobs>,
    pub(super) averages: Vec<Averages>,
    /// The points of Figure 7.7, by H.
    pub(super) points: Vec<Vec<f64>>,
}

/// Simulates everything into `folder`, with `jobs` jobs in the long run.
pub(crate) fn run(folder: &Path, jobs: u64) -> Result<(), ReproduceError> {
    if jobs < 10_000 || !jobs.is_multiple_of(PARTS as u64) {
        return Err(ReproduceError(format!("{jobs} jobs: the long run has 10000 or more, a multiple of {PARTS}")));
    }
    std::fs::create_dir_all(folder).map_err(|e| ReproduceError(format!("cannot make {}: {e}", folder.display())))?;
    let write = |name: &str, text: String| {
        write_whole(&folder.join(name), text.as_bytes()).map_err(|e| ReproduceError(e.to_string()))
    };
    let mut text = String::from("set,cell,mean_s,std_s\n");
    for (number, set) in lindley::sets().iter().enumerate() {
        for (cell, (mean_s, std_s)) in set.iter().enumerate() {
            let _ = writeln!(text, "{number},{cell},{mean_s},{std_s}");
        }
    }
    write("sets.csv", text)?;
    let mut text = String::from("cell,discipline,set,mean_s,std_s,p80_s,p90_s,p95_s,p99_s\n");
    for Played { cell, discipline, set, mean_s, std_s, targets_s: [p80, p90, p95, p99] } in played() {
        let _ = writeln!(text, "{cell},{discipline},{set},{mean_s},{std_s},{p80},{p90},{p95},{p99}");
    }
    write("disciplines.csv", text)?;
    let mut text = String::from("marginal,hurst,set,measured_h,fcfs_s,ps_s,las_s\n");
    for memory::Outcome { marginal, hurst, set, measured_h, means_s: [fcfs, ps, las] } in memory::outcomes()? {
        let _ = writeln!(text, "{marginal},{hurst},{set},{measured_h},{fcfs},{ps},{las}");
    }
    write("memory.csv", text)?;
    let mut text = String::from("law,set,breakpoint_s,below,ps_over_fcfs,of_those_below,of_those_above\n");
    for Jobs { law, set, breakpoint_s, below, ps_over_fcfs: [all, small, large] } in breakpoint::jobs() {
        let _ = writeln!(text, "{law},{set},{breakpoint_s},{below},{all},{small},{large}");
    }
    write("breakpoints.csv", text)?;
    let mut text = String::from("hurst,set,gaps_cv,averages_cv\n");
    for Averages { hurst, set, gaps_cv, averages_cv } in averages::all() {
        let _ = writeln!(text, "{hurst},{set},{gaps_cv},{averages_cv}");
    }
    write("averages.csv", text)?;
    let mut text = String::from("hurst,average\n");
    for (hurst, points) in averages::first().iter().enumerate() {
        points.iter().for_each(|average| text += &format!("{hurst},{average}\n"));
    }
    write("points.csv", text)?;
    let (mut growth, mut parts) = (String::from("cell,jobs,mean_s\n"), String::from("cell,part,mean_s\n"));
    for (cell, long) in lindley::long(jobs).iter().enumerate() {
        for (jobs, mean_s) in &long.growth {
            let _ = writeln!(growth, "{cell},{jobs},{mean_s}");
        }
        for (part, mean_s) in long.parts_s.iter().enumerate() {
            let _ = writeln!(parts, "{cell},{part},{mean_s}");
        }
    }
    write("long.csv", growth)?;
    write("parts.csv", parts)
}

/// Every cell under every discipline.
fn played() -> Vec<Played> {
    let cells = Cell::all();
    let of = |number: usize| {
        let (cell, set) = (number % cells.len(), (number / cells.len()) as u64);
        let (gaps_s, demands_s) = cells[cell].draw(REQUESTS, SERVICE_S / UTILIZATION, SERVICE_S, 1 + set);
        let of = move |(discipline, (_, kind)): (usize, &(&str, replay::Kind))| {
            let (mean_s, std_s, targets_s) = replay::summary(*kind, SERVICE_S, &gaps_s, &demands_s);
            Played { cell, discipline, set, mean_s, std_s, targets_s }
        };
        DISCIPLINES.iter().enumerate().map(of).collect::<Vec<_>>()
    };
    (0..cells.len() * SETS as usize).into_par_iter().flat_map_iter(of).collect()
}

impl Simulated {
    /// Reads the files that [`run`] wrote.
    pub(super) fn read(folder: &Path) -> Result<Simulated, ReproduceError> {
        let mut sets: Vec<Vec<(f64, f64)>> = Vec::new();
        for [set, cell, mean_s, std_s] in numbers::<4>(folder, "sets.csv")? {
            if cell == 0.0 {
                sets.push(Vec::new());
            }
            let last = sets.last_mut().filter(|last| last.len() as f64 == cell);
            last.ok_or_else(|| ReproduceError(format!("sets.csv: set {set} is not whole")))?.push((mean_s, std_s));
        }
        let cells = Cell::renewal();
        let empty = |cell: &Cell| Long { cell: *cell, growth: Vec::new(), parts_s: Vec::new() };
        let mut long: Vec<Long> = cells.iter().map(empty).collect();
        for [cell, jobs, mean_s] in numbers::<3>(folder, "long.csv")? {
            long[cell as usize % cells.len()].growth.push((jobs as u64, mean_s));
        }
        for [cell, _, mean_s] in numbers::<3>(folder, "parts.csv")? {
            long[cell as usize % cells.len()].parts_s.push(mean_s);
        }
        let played = numbers::<9>(folder, "disciplines.csv")?.into_iter().map(|row| {
            let [cell, discipline, set, mean_s, std_s, targets_s @ ..] = row;
            let (cell, discipline, set) = (cell as usize, discipline as usize, set as u64);
            Played { cell, discipline, set, mean_s, std_s, targets_s }
        });
        let memory = numbers::<7>(folder, "memory.csv")?.into_iter().map(|row| {
            let [marginal, hurst, set, measured_h, means_s @ ..] = row;
            let (marginal, hurst, set) = (marginal as usize, hurst as usize, set as u64);
            memory::Outcome { marginal, hurst, set, measured_h, means_s }
        });
        let jobs = numbers::<7>(folder, "breakpoints.csv")?.into_iter().map(|row| {
            let [law, set, breakpoint_s, below, ps_over_fcfs @ ..] = row;
            Jobs { law: law as usize, set: set as u64, breakpoint_s, below, ps_over_fcfs }
        });
        let of_file = |[hurst, set, gaps_cv, averages_cv]: [f64; 4]| Averages {
            hurst: hurst as usize,
            set: set as u64,
            gaps_cv,
            averages_cv,
        };
        let averages = numbers::<4>(folder, "averages.csv")?.into_iter().map(of_file).collect();
        let mut points = vec![Vec::new(); memory::HURST.len()];
        for [hurst, average] in numbers::<2>(folder, "points.csv")? {
            points[hurst as usize % memory::HURST.len()].push(average);
        }
        Ok(Simulated {
            sets,
            long,
            played: played.collect(),
            memory: memory.collect(),
            jobs: jobs.collect(),
            averages,
            points,
        })
    }
}

/// A CSV file of numbers, with N columns.
pub(super) fn numbers<const N: usize>(folder: &Path, name: &str) -> Result<Vec<[f64; N]>, ReproduceError> {
    let file = folder.join(name);
    let fail = |why: &dyn std::fmt::Display| ReproduceError(format!("{}: {why}", file.display()));
    let mut csv = csv::Reader::from_path(&file).map_err(|e| fail(&e))?;
    let row = |row: Result<csv::StringRecord, csv::Error>| -> Result<[f64; N], ReproduceError> {
        let row = row.map_err(|e| fail(&e))?;
        let values = row.iter().map(|field| field.parse().map_err(|_| fail(&format!("`{field}` is not a number"))));
        let values: Vec<f64> = values.collect::<Result<_, _>>()?;
        <[f64; N]>::try_from(values).map_err(|of| fail(&format!("a row has {} columns, not {N}", of.len())))
    };
    csv.records().map(row).collect()
}
