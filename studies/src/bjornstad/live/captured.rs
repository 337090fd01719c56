//! From the requests that were captured to the tables that are kept: each cell beside replays of the same gaps and demands
//! under every discipline.

use std::path::Path;

use rayon::prelude::*;
use sojourn_stats::parts::quantile_of_series;
use sojourn_stats::{Estimate, Moments, hurst, measure};

use super::calibration::{self, LEVELS, Probe};
use super::rows::{
    BlockRow, CellRow, HurstRow, Kept, LevelRow, LineRow, ReplayRow, ServerRow, TailRow, TimeRow, digits,
};
use super::{SERVERS, SERVICE_S};
use crate::ReproduceError;
use crate::bjornstad::series::{Cell, Series, TARGETS, averages, breakpoint, targets_s};
use crate::bjornstad::simulated::numbers;
use crate::bjornstad::simulated::replay::{self, DISCIPLINES, FCFS};

/// Points of a distribution, and the share where it ends.
const POINTS: usize = 30;
const LEAST: f64 = 2e-3;
/// Averages of Figure 7.7.
const BLOCKS: usize = 100;

/// Writes the tables into `kept` from the files that [`super::run`] left in `folder`.
pub(crate) fn condense(folder: &Path, kept: &Path) -> Result<(), ReproduceError> {
    let machine = text(&folder.join("machine.txt"))?;
    let mut all = Kept::default();
    for name in SERVERS {
        let at = folder.join(name);
        let costs = numbers::<5>(&at, "server.csv")?;
        let [request_s, unit_s, path_s, processor_unit_s, suspect] =
            *costs.first().ok_or_else(|| ReproduceError(format!("{name}/server.csv is empty")))?;
        let (server, machine) = (name.to_owned(), machine.trim().to_owned());
        let suspect = suspect > 0.0;
        all.servers.push(ServerRow { server, machine, request_s, path_s, unit_s, processor_unit_s, suspect });
        calibrated(&at, name, &mut all)?;
        let doubts = text(&at.join("doubts.txt"))?;
        let read = |row: &[f64; 10]| of_cell(&at, name, row, path_s, &doubts);
        let cells: Vec<Kept> = numbers::<10>(&at, "cells.csv")?.par_iter().map(read).collect::<Result<_, _>>()?;
        cells.into_iter().for_each(|cell| all.append(cell));
    }
    std::fs::create_dir_all(kept).map_err(|e| ReproduceError(format!("cannot make {}: {e}", kept.display())))?;
    all.write(kept)
}

fn text(path: &Path) -> Result<String, ReproduceError> {
    std::fs::read_to_string(path).map_err(|e| ReproduceError(format!("cannot read {}: {e}", path.display())))
}

impl Kept {
    fn append(&mut self, of: Kept) {
        self.cells.extend(of.cells);
        self.times.extend(of.times);
        self.replays.extend(of.replays);
        self.tails.extend(of.tails);
        self.hurst.extend(of.hurst);
        self.blocks.extend(of.blocks);
    }
}

/// The levels of the calibration and their lines.
fn calibrated(at: &Path, name: &str, all: &mut Kept) -> Result<(), ReproduceError> {
    let probe = |[levels, level, units, response_s]: [f64; 4]| Probe {
        levels: levels as usize,
        level: level as usize,
        units: units as u64,
        response_s,
    };
    let probes: Vec<Probe> = numbers::<4>(at, "calibration.csv")?.into_iter().map(probe).collect();
    for (levels, title) in LEVELS.iter().enumerate() {
        for level in 1..=calibration::COUNT {
            let of: Vec<Probe> =
                probes.iter().copied().filter(|probe| (probe.levels, probe.level) == (levels, level)).collect();
            let Some(Probe { units, .. }) = of.first() else { continue };
            let responses_s: Vec<f64> = of.iter().map(|probe| probe.response_s).collect();
            let moments: Moments = responses_s.iter().copied().collect();
            let (ci_low, ci_high) = measure::mean_of_series(&responses_s).interval().unzip();
            all.levels.push(LevelRow {
                server: name.to_owned(),
                levels: (*title).to_owned(),
                level,
                units: *units,
                requests: moments.count(),
                mean_s: digits(moments.mean()),
                ci_low: ci_low.map(digits),
                ci_high: ci_high.map(digits),
                std_s: digits(moments.variance().sqrt()),
            });
        }
        let (slope, constant) = calibration::line(&probes, levels)?;
        for (quantity, estimate) in [("unit", slope), ("constant", constant)] {
            let Some(value) = estimate.value() else { continue };
            let (ci_low, ci_high) = estimate.interval().unzip();
            all.lines.push(LineRow {
                server: name.to_owned(),
                levels: (*title).to_owned(),
                quantity: quantity.to_owned(),
                value: digits(value),
                ci_low: ci_low.map(digits),
                ci_high: ci_high.map(digits),
            });
        }
    }
    Ok(())
}

/// A cell, from its row and the file of its requests.
fn of_cell(at: &Path, name: &str, row: &[f64; 10], path_s: f64, doubts: &str) -> Result<Kept, ReproduceError> {
    let [number, _, failed, factor, utilization, lateness_p99_s, stolen, suspect, attempts, elapsed_s] = *row;
    let cell = *Cell::all()
        .get(number as usize)
        .ok_or_else(|| ReproduceError(format!("{name}/cells.csv: there is no cell {number}")))?;
    let requests = numbers::<3>(at, &format!("{}.csv", cell.key()))?;
    let begins = format!("{}: ", cell.key());
    let doubt: Vec<&str> = doubts.lines().filter_map(|line| line.strip_prefix(&begins)).collect();
    let mut kept = of_requests(name, cell, &requests, path_s)?;
    let measured = kept.cells.pop().expect("there is one");
    kept.cells.push(CellRow {
        failed: failed as u64,
        attempts: attempts as u32,
        suspect: suspect > 0.0,
        doubt: doubt.join("; "),
        factor: digits(factor),
        utilization: digits(utilization),
        lateness_p99_s: digits(lateness_p99_s),
        stolen: digits(stolen),
        elapsed_s: digits(elapsed_s),
        ..measured
    });
    Ok(kept)
}

/// What the gaps, demands and responses of a cell (s; -1 of a request that failed) say; all else of its row is empty.
fn of_requests(name: &str, cell: Cell, rows: &[[f64; 3]], path_s: f64) -> Result<Kept, ReproduceError> {
    let gaps_s: Vec<f64> = rows.iter().map(|row| row[0]).collect();
    let demands_s: Vec<f64> = rows.iter().map(|row| row[1]).collect();
    let responses_s: Vec<f64> = rows.iter().map(|row| row[2]).filter(|response_s| *response_s > 0.0).collect();
    if responses_s.len() < 100 {
        let (key, count) = (cell.key(), responses_s.len());
        return Err(ReproduceError(format!("{name}/{key}.csv: only {count} requests were answered")));
    }
    let (server, gaps, service) = (name.to_owned(), cell.arrivals.key(), cell.service.key());
    let [gap, demand, response] = [&gaps_s, &demands_s, &responses_s].map(|of| of.iter().copied().collect::<Moments>());
    let (breakpoint_s, below) = breakpoint(&demands_s);
    let mut kept = Kept::default();
    kept.cells.push(CellRow {
        server: server.clone(),
        gaps: gaps.clone(),
        service: service.clone(),
        requests: gaps_s.len() as u64,
        gap_mean_s: digits(gap.mean()),
        gap_std_s: digits(gap.variance().sqrt()),
        demand_mean_s: digits(demand.mean()),
        demand_std_s: digits(demand.variance().sqrt()),
        breakpoint_s: digits(breakpoint_s),
        below_breakpoint: digits(below),
        response_std_s: digits(response.variance().sqrt()),
        ..CellRow::default()
    });
    kept.times.push(TimeRow::of(name, cell, "mean", &measure::mean_of_series(&responses_s)));
    for (target, share) in TARGETS {
        kept.times.push(TimeRow::of(name, cell, target, &quantile_of_series(&responses_s, share)));
    }
    let mut point = |measured: bool, responses_s: &[f64]| {
        kept.tails.extend(tail(responses_s).into_iter().map(|(time_s, share)| TailRow {
            server: server.clone(),
            gaps: gaps.clone(),
            service: service.clone(),
            measured,
            share: digits(share),
            time_s: digits(time_s),
        }));
    };
    point(true, &responses_s);
    for (discipline, (title, kind)) in DISCIPLINES.iter().enumerate() {
        let all = replay::responses_s(*kind, SERVICE_S, &gaps_s, &demands_s);
        let answered = all.iter().zip(rows).filter(|(_, row)| row[2] > 0.0);
        let mut replayed_s: Vec<f64> = answered.map(|(response_s, _)| response_s + path_s).collect();
        if discipline == FCFS {
            point(false, &replayed_s);
        }
        let ratio = ratio(&responses_s, &replayed_s);
        let distances: Vec<f64> =
            responses_s.iter().zip(&replayed_s).map(|(measured, replayed)| (measured / replayed).ln().abs()).collect();
        let moments: Moments = replayed_s.iter().copied().collect();
        let [p80_s, p90_s, p95_s, p99_s] = targets_s(&mut replayed_s).map(digits);
        let (ratio_low, ratio_high) = ratio.interval().unzip();
        kept.replays.push(ReplayRow {
            server: server.clone(),
            gaps: gaps.clone(),
            service: service.clone(),
            discipline: (*title).to_owned(),
            mean_s: digits(moments.mean()),
            std_s: digits(moments.variance().sqrt()),
            p80_s,
            p90_s,
            p95_s,
            p99_s,
            ratio: ratio.value().map(digits),
            ratio_low: ratio_low.map(digits),
            ratio_high: ratio_high.map(digits),
            distance: measure::mean_of_series(&distances).value().map(digits),
        });
    }
    if let Cell { arrivals: Series::Noise(hurst), service: Series::Exponential } = cell {
        of_noise(name, hurst, &gaps_s, &mut kept)?;
    }
    Ok(kept)
}

/// H of captured noise, and its averages.
fn of_noise(name: &str, hurst: f64, gaps_s: &[f64], kept: &mut Kept) -> Result<(), ReproduceError> {
    let found = hurst::estimate(gaps_s).map_err(|e| ReproduceError(format!("{name}, H = {hurst}: {e}")))?;
    kept.hurst.extend(found.readings().iter().map(|(estimator, reading)| HurstRow {
        server: name.to_owned(),
        hurst,
        samples: gaps_s.len(),
        estimator: (*estimator).to_owned(),
        estimate: digits(reading.h),
        ci_low: reading.ci_low.map(digits),
        ci_high: reading.ci_high.map(digits),
        verdict: found.verdict.clone(),
    }));
    let size = (gaps_s.len() / BLOCKS).max(1);
    kept.blocks.extend(averages(gaps_s, size).into_iter().map(|mean_gap_s| BlockRow {
        server: name.to_owned(),
        hurst,
        size,
        mean_gap_s: digits(mean_gap_s),
    }));
    Ok(())
}

/// The share of requests that take longer than each time (s), down to [`LEAST`], in even steps of its logarithm.
fn tail(responses_s: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = responses_s.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let least = LEAST.max(1.0 / sorted.len() as f64);
    let point = |step: usize| {
        let share = least.powf(step as f64 / (POINTS - 1) as f64);
        let at = ((1.0 - share) * sorted.len() as f64) as usize;
        (sorted[at.min(sorted.len() - 1)], share)
    };
    (0..POINTS).map(point).collect()
}

/// The mean of `a` over that of `b`, two paired series: the interval is that of the mean of a - r b, by batch means,
/// over the mean of b.
fn ratio(a: &[f64], b: &[f64]) -> Estimate {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let value = mean_a / mean_b;
    let rests: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a - value * b) / mean_b).collect();
    match measure::mean_of_series(&rests).interval() {
        Some((low, high)) => {
            let half = 0.5 * (high - low);
            Estimate::Sampled { value, ci_low: value - half, ci_high: value + half, samples: a.len() as u64 }
        }
        None => Estimate::TooFew { samples: a.len() as u64 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bjornstad::simulated::replay::{Kind, LAS, PS};

    /// A server that shares as `kind` does, measured without error.
    fn simulated(kind: Kind) -> Kept {
        let cell = Cell { arrivals: Series::Exponential, service: Series::Pareto(2.2) };
        let (gaps, demands) = cell.draw(4000, SERVICE_S / 0.8, SERVICE_S, 7);
        let responses = replay::responses_s(kind, SERVICE_S, &gaps, &demands);
        let rows: Vec<[f64; 3]> = gaps
            .iter()
            .zip(&demands)
            .zip(&responses)
            .map(|((gap, demand), response)| [*gap, *demand, *response])
            .collect();
        of_requests("node", cell, &rows, 0.0).unwrap()
    }

    #[test]
    fn a_discipline_is_found_by_its_own_replay() {
        for (kind, place) in [(Kind::Fcfs, FCFS), (Kind::Ps, PS), (Kind::LeastAttained, LAS)] {
            let measured = simulated(kind);
            for (other, replay) in measured.replays.iter().enumerate() {
                let distance = replay.distance.unwrap();
                assert_eq!(distance < 1e-6, other == place, "{kind:?} as {}: {distance}", replay.discipline);
            }
            let own = &measured.replays[place];
            assert!((own.ratio.unwrap() - 1.0).abs() < 1e-5);
            // Its targets are the measured ones.
            let p90 = measured.times.iter().find(|row| row.quantity == "p90").unwrap();
            assert!((p90.estimate.unwrap() / own.p90_s - 1.0).abs() < 0.02, "{p90:?} {own:?}");
        }
    }

    #[test]
    fn requests_that_failed_are_in_the_input_and_not_in_the_times() {
        let rows: Vec<[f64; 3]> = (0..200).map(|k| [0.01, 0.002, if k == 3 { -1.0 } else { 0.002 }]).collect();
        let cell = Cell { arrivals: Series::Exponential, service: Series::Exponential };
        let kept = of_requests("node", cell, &rows, 0.0).unwrap();
        assert_eq!((kept.cells[0].requests, kept.times[0].samples), (200, 199));
        let few = of_requests("node", cell, &rows[..90], 0.0).unwrap_err().to_string();
        assert!(few.contains("only 89 requests"), "{few}");
    }

    #[test]
    fn a_ratio_of_pairs_is_sharper_than_its_parts() {
        let b: Vec<f64> = (0..2000).map(|k| 1.0 + f64::from(k % 97)).collect();
        let a: Vec<f64> = b.iter().map(|b| 1.5 * b).collect();
        let (low, high) = ratio(&a, &b).interval().unwrap();
        assert!(high - low < 1e-9 && (low - 1.5).abs() < 1e-9);
    }

    #[test]
    fn a_tail_falls_from_all_to_few() {
        let points = tail(&(1..=1000).map(f64::from).collect::<Vec<_>>());
        assert_eq!(points[0], (1.0, 1.0));
        assert!((points[POINTS - 1].1 - LEAST).abs() < 1e-12 && points[POINTS - 1].0 > 997.0);
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 > pair[1].1));
    }
}
