//! Measured cells, beside replays of the same gaps and demands under every discipline.

use std::path::Path;

use rayon::prelude::*;
use sojourn_stats::{Estimate, Moments, measure};

use super::live::{SERVERS, SERVICE_S};
use super::replay::{self, DISCIPLINES};
use super::series::Cell;
use super::simulate::numbers;
use crate::ReproduceError;
use crate::number::Number;

/// A cell on a server.
pub(super) struct Measured {
    /// Its place in [`SERVERS`].
    pub(super) server: usize,
    pub(super) cell: Cell,
    pub(super) gaps_s: Vec<f64>,
    pub(super) demands_s: Vec<f64>,
    /// Response times of the answered requests (s).
    pub(super) responses_s: Vec<f64>,
    /// Replays of the same requests, by discipline, with the path to an idle server.
    pub(super) replays: Vec<Replay>,
    pub(super) failed: u64,
    pub(super) suspect: bool,
    /// The factor on the planned demands.
    pub(super) factor: f64,
    pub(super) utilization: f64,
    pub(super) elapsed_s: f64,
}

/// The same input under one discipline.
pub(super) struct Replay {
    pub(super) responses_s: Vec<f64>,
    /// The measured mean over this one.
    pub(super) ratio: Estimate,
    /// Distance of the measured times from this replay: the mean of |ln(measured / replayed)|.
    pub(super) distance: Estimate,
}

/// All measured cells.
pub(super) struct Live {
    pub(super) cells: Vec<Measured>,
    /// The machine.
    pub(super) machine: String,
    /// Doubts of the load generators, server by server, a line each.
    pub(super) doubts: Vec<String>,
    /// Path to an idle server, and processor time of a request without work (s), by server.
    pub(super) path_s: Vec<f64>,
    pub(super) request_s: Vec<f64>,
}

impl Live {
    /// Reads the files that [`super::live::run`] wrote into `folder`.
    pub(super) fn read(folder: &Path) -> Result<Live, ReproduceError> {
        let text = |path: &Path| {
            std::fs::read_to_string(path).map_err(|e| ReproduceError(format!("cannot read {}: {e}", path.display())))
        };
        let mut live = Live {
            cells: Vec::new(),
            machine: text(&folder.join("machine.txt"))?,
            doubts: Vec::new(),
            path_s: Vec::new(),
            request_s: Vec::new(),
        };
        for (server, name) in SERVERS.iter().enumerate() {
            let at = folder.join(name);
            let costs = numbers::<3>(&at, "server.csv")?;
            let [request_s, _, path_s] =
                *costs.first().ok_or_else(|| ReproduceError(format!("{name}/server.csv is empty")))?;
            live.path_s.push(path_s);
            live.request_s.push(request_s);
            live.doubts.push(text(&at.join("doubts.txt"))?);
            let all = Cell::all();
            let read = |row: &[f64; 9]| -> Result<Measured, ReproduceError> {
                let [number, _, failed, factor, utilization, _, _, suspect, elapsed_s] = *row;
                let cell = *all
                    .get(number as usize)
                    .ok_or_else(|| ReproduceError(format!("{name}/cells.csv: there is no cell {number}")))?;
                let rows = numbers::<3>(&at, &format!("{}.csv", cell.key()))?;
                let measured = Measured::of(server, cell, &rows, path_s)?;
                Ok(Measured {
                    failed: failed as u64,
                    suspect: suspect > 0.0,
                    factor,
                    utilization,
                    elapsed_s,
                    ..measured
                })
            };
            let cells: Vec<Measured> =
                numbers::<9>(&at, "cells.csv")?.par_iter().map(read).collect::<Result<_, ReproduceError>>()?;
            live.cells.extend(cells);
        }
        Ok(live)
    }

    /// The cell on this server.
    pub(super) fn cell(&self, server: usize, cell: Cell) -> Option<&Measured> {
        self.cells.iter().find(|of| of.server == server && of.cell == cell)
    }
}

impl Measured {
    /// From rows of gap, demand and response (s; -1 of a request that failed).
    fn of(server: usize, cell: Cell, rows: &[[f64; 3]], path_s: f64) -> Result<Measured, ReproduceError> {
        let gaps_s: Vec<f64> = rows.iter().map(|row| row[0]).collect();
        let demands_s: Vec<f64> = rows.iter().map(|row| row[1]).collect();
        let responses_s: Vec<f64> = rows.iter().map(|row| row[2]).filter(|response_s| *response_s > 0.0).collect();
        if responses_s.len() < 100 {
            let (name, key, count) = (SERVERS[server], cell.key(), responses_s.len());
            return Err(ReproduceError(format!("{name}/{key}.csv: only {count} requests were answered")));
        }
        let replays = DISCIPLINES.iter().map(|(_, kind)| {
            let all = replay::responses_s(*kind, SERVICE_S, &gaps_s, &demands_s);
            let answered = all.iter().zip(rows).filter(|(_, row)| row[2] > 0.0);
            Replay::of(&responses_s, answered.map(|(response_s, _)| response_s + path_s).collect())
        });
        let replays = replays.collect();
        let (failed, suspect, factor, utilization, elapsed_s) = (0, false, f64::NAN, f64::NAN, f64::NAN);
        Ok(Measured {
            server,
            cell,
            gaps_s,
            demands_s,
            responses_s,
            replays,
            failed,
            suspect,
            factor,
            utilization,
            elapsed_s,
        })
    }

    /// The mean response time (s).
    pub(super) fn mean(&self) -> Estimate {
        measure::mean_of_series(&self.responses_s)
    }

    /// The same as a number to compare.
    pub(super) fn mean_number(&self) -> Option<Number> {
        Number::of(&self.mean(), self.suspect)
    }

    /// A quantile of the response time (s).
    pub(super) fn quantile(&self, p: f64) -> Estimate {
        measure::quantile_of_series(&self.responses_s, p)
    }
}

impl Replay {
    fn of(measured_s: &[f64], responses_s: Vec<f64>) -> Replay {
        let ratio = ratio(measured_s, &responses_s);
        let distances: Vec<f64> =
            measured_s.iter().zip(&responses_s).map(|(measured, replayed)| (measured / replayed).ln().abs()).collect();
        Replay { ratio, distance: measure::mean_of_series(&distances), responses_s }
    }
}

/// The mean of `a` over that of `b`, two paired series: the interval is that of the mean of a - r b, by batch means,
/// over the mean of b.
fn ratio(a: &[f64], b: &[f64]) -> Estimate {
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

/// The mean of some numbers.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean and standard deviation.
pub(super) fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let moments: Moments = values.iter().copied().collect();
    (moments.mean(), moments.variance().sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::replay::{FCFS, Kind, LAS, PS};
    use super::super::series::Series;
    use super::*;

    /// A server that shares as `kind` does, measured without error.
    fn simulated(kind: Kind) -> Measured {
        let cell = Cell { arrivals: Series::Exponential, service: Series::Pareto(2.2) };
        let (gaps, demands) = cell.draw(4000, SERVICE_S / 0.8, SERVICE_S, 7);
        let responses = replay::responses_s(kind, SERVICE_S, &gaps, &demands);
        let rows: Vec<[f64; 3]> = gaps
            .iter()
            .zip(&demands)
            .zip(&responses)
            .map(|((gap, demand), response)| [*gap, *demand, *response])
            .collect();
        Measured::of(0, cell, &rows, 0.0).unwrap()
    }

    #[test]
    fn a_discipline_is_found_by_its_own_replay() {
        for (kind, place) in [(Kind::Fcfs, FCFS), (Kind::Ps, PS), (Kind::LeastAttained, LAS)] {
            let measured = simulated(kind);
            for (other, replay) in measured.replays.iter().enumerate() {
                let distance = replay.distance.value().unwrap();
                assert_eq!(distance < 1e-6, other == place, "{kind:?} as {}: {distance}", DISCIPLINES[other].0);
            }
            let own = &measured.replays[place].ratio;
            assert!((own.value().unwrap() - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn requests_that_failed_are_in_the_input_and_not_in_the_times() {
        let rows: Vec<[f64; 3]> = (0..200).map(|k| [0.01, 0.002, if k == 3 { -1.0 } else { 0.002 }]).collect();
        let measured =
            Measured::of(0, Cell { arrivals: Series::Exponential, service: Series::Exponential }, &rows, 0.0).unwrap();
        assert_eq!((measured.gaps_s.len(), measured.responses_s.len()), (200, 199));
        assert_eq!(measured.replays[FCFS].responses_s.len(), 199);
    }

    #[test]
    fn a_ratio_of_pairs_is_sharper_than_its_parts() {
        let b: Vec<f64> = (0..2000).map(|k| 1.0 + f64::from(k % 97)).collect();
        let a: Vec<f64> = b.iter().map(|b| 1.5 * b).collect();
        let (low, high) = ratio(&a, &b).interval().unwrap();
        assert!(high - low < 1e-9 && (low - 1.5).abs() < 1e-9);
    }
}
