//! The simulated half: the simulations, and the files that the page is written from.
//!
//! `sets.csv` (Table 7.4, a thousand sets of 10^5 requests), `long.csv` and `parts.csv` (one path of 10^9),
//! `disciplines.csv` (every cell under every discipline, at his utilisation), `memory.csv` (response time against H).

use std::fmt::Write;
use std::path::Path;

use rayon::prelude::*;
use sojourn_lab::folder::write_whole;

use super::lindley::{self, Long, PARTS};
use super::memory;
use super::replay::{self, DISCIPLINES};
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
}

/// The files of the simulated half, as the page reads them.
pub(super) struct Simulated {
    /// Set by set: mean and standard deviation (s) of each cell.
    pub(super) sets: Vec<Vec<(f64, f64)>>,
    pub(super) long: Vec<Long>,
    pub(super) played: Vec<Played>,
    pub(super) memory: Vec<memory::Outcome>,
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
    let mut text = String::from("cell,discipline,set,mean_s,std_s\n");
    for Played { cell, discipline, set, mean_s, std_s } in played() {
        let _ = writeln!(text, "{cell},{discipline},{set},{mean_s},{std_s}");
    }
    write("disciplines.csv", text)?;
    let mut text = String::from("marginal,hurst,set,measured_h,fcfs_s,ps_s,las_s\n");
    for memory::Outcome { marginal, hurst, set, measured_h, means_s: [fcfs, ps, las] } in memory::outcomes()? {
        let _ = writeln!(text, "{marginal},{hurst},{set},{measured_h},{fcfs},{ps},{las}");
    }
    write("memory.csv", text)?;
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
            let (mean_s, std_s) = replay::moments(*kind, SERVICE_S, &gaps_s, &demands_s);
            Played { cell, discipline, set, mean_s, std_s }
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
        let played =
            numbers::<5>(folder, "disciplines.csv")?.into_iter().map(|[cell, discipline, set, mean_s, std_s]| Played {
                cell: cell as usize,
                discipline: discipline as usize,
                set: set as u64,
                mean_s,
                std_s,
            });
        let memory = numbers::<7>(folder, "memory.csv")?.into_iter().map(|row| {
            let [marginal, hurst, set, measured_h, means_s @ ..] = row;
            let (marginal, hurst, set) = (marginal as usize, hurst as usize, set as u64);
            memory::Outcome { marginal, hurst, set, measured_h, means_s }
        });
        Ok(Simulated { sets, long, played: played.collect(), memory: memory.collect() })
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
