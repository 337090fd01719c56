//! How long a unit of work takes: response times at ten levels, without queueing, and the line through them (Table 7.1,
//! equation 7.1).

use std::fmt::Write;

use sojourn_load::{Outcome, Record};
use sojourn_stats::{Estimate, measure, regression};

use super::{SERVICE_S, Server, failed};
use crate::ReproduceError;
use crate::bjornstad::formula::TURN_S;
use crate::bjornstad::series;

/// The two readings of his levels, the adopted one first.
pub(in crate::bjornstad) const LEVELS: [&str; 2] = ["his times", "his rounds"];
/// Levels, and rounds of his loop from one to the next.
pub(in crate::bjornstad) const COUNT: usize = 10;
pub(in crate::bjornstad) const STEP: u64 = 10_000;
/// Time between requests (s): 1.6 times the longest response, as his.
const GAP_S: f64 = 10e-3;

/// A request of the calibration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Probe {
    /// A place in [`LEVELS`].
    pub(super) levels: usize,
    /// From 1.
    pub(super) level: usize,
    pub(super) units: u64,
    pub(super) response_s: f64,
}

/// Requests at each level in turn, `turns` times, under each reading that makes sense of a server. Whether a run was
/// SUSPECT is the second part. `unit_s` is a first estimate of the time of a unit (s).
pub(super) fn probe(server: &Server, unit_s: f64, turns: usize) -> Result<(Vec<Probe>, bool), ReproduceError> {
    let mut probes = Vec::new();
    let mut is_suspect = false;
    for (levels, name) in LEVELS.iter().enumerate() {
        // A node's unit is a nanosecond: his counts would be microseconds.
        if levels == 1 && matches!(server, Server::Node(_)) {
            continue;
        }
        let units: Vec<u64> = (0..turns).flat_map(|_| (1..=COUNT).map(|level| units(levels, level, unit_s))).collect();
        let report = server.serve(&vec![GAP_S; units.len()], &units)?;
        is_suspect |= !report.verdict.reasons().is_empty();
        let records = report.records.as_deref().unwrap_or_default();
        let lost = units.len() - records.iter().filter(|record| record.outcome == Outcome::Ok).count();
        if lost > 0 {
            return Err(failed(format_args!("{lost} of {} requests of the calibration ({name}) failed", units.len())));
        }
        let response_s = |of: &Record| of.done.saturating_since(of.begun.unwrap_or(of.planned)).as_secs_f64();
        probes.extend(records.iter().zip(&units).enumerate().map(|(place, (record, units))| Probe {
            levels,
            level: 1 + place % COUNT,
            units: *units,
            response_s: response_s(record),
        }));
    }
    Ok((probes, is_suspect))
}

fn units(levels: usize, level: usize, unit_s: f64) -> u64 {
    let rounds = level as u64 * STEP;
    if levels == 1 { rounds } else { (rounds as f64 * TURN_S / series::SERVICE_S * SERVICE_S / unit_s) as u64 }
}

/// The requests as a table.
pub(super) fn table(probes: &[Probe]) -> String {
    let mut text = String::from("levels,level,units,response_s\n");
    for Probe { levels, level, units, response_s } in probes {
        let _ = writeln!(text, "{levels},{level},{units},{response_s}");
    }
    text
}

/// The line through the levels of a reading: time of a unit, and the constant (s). The levels are asked in turn, so each
/// turn has a line, and the line of all requests is the mean of these.
pub(super) fn line(probes: &[Probe], levels: usize) -> Result<(Estimate, Estimate), ReproduceError> {
    let of: Vec<&Probe> = probes.iter().filter(|probe| probe.levels == levels).collect();
    let (mut slopes, mut constants) = (Vec::new(), Vec::new());
    for turn in of.chunks_exact(COUNT) {
        let points: Vec<(f64, f64)> = turn.iter().map(|probe| (probe.units as f64, probe.response_s)).collect();
        let fit = regression::polynomial(&points, 1).map_err(failed)?;
        constants.push(fit.coefficients[0]);
        slopes.push(fit.coefficients[1]);
    }
    Ok((measure::mean_of_series(&slopes), measure::mean_of_series(&constants)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two milliseconds and 10 ns a unit; one turn is 1 ms slower at every level.
    fn probes(turns: usize) -> Vec<Probe> {
        let of = |turn: usize, level: usize| {
            let units = units(0, level, 1e-8);
            let late_s = if turn == 3 { 1e-3 } else { 0.0 };
            Probe { levels: 0, level, units, response_s: 2e-3 + 1e-8 * units as f64 + late_s }
        };
        (0..turns).flat_map(|turn| (1..=COUNT).map(move |level| of(turn, level))).collect()
    }

    #[test]
    fn the_line_is_the_one_that_made_the_times() {
        let (slope, constant) = line(&probes(100), 0).unwrap();
        assert!((slope.value().unwrap() - 1e-8).abs() < 1e-15, "{slope:?}");
        assert!((constant.value().unwrap() - 2.01e-3).abs() < 1e-9, "{constant:?}");
        assert_eq!(line(&probes(100), 1).unwrap().0.value(), None, "this reading was not measured");
    }

    #[test]
    fn the_levels_span_what_his_do() {
        // 186 ms of 90 are 6.2 ms of 3.
        assert_eq!(units(0, COUNT, 1e-9), 6_196_000);
        assert_eq!(units(1, COUNT, 1e-9), 100_000);
    }
}
