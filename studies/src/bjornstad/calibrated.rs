//! Table 7.1 and Figure 7.1: the response time against the work, without queueing, and the line through it.

use std::fmt::Write;

use sojourn_stats::regression;

use super::formula::{REQUEST_S, TURN_S};
use super::live::measured::Live;
use super::live::rows::{LevelRow, ServerRow};
use super::live::{COUNT, LEVELS, SERVERS, STEP};
use super::published::Published;
use crate::ReproduceError;
use crate::finding::Finding;
use crate::number::{Number, interval, scaled};
use crate::verdict::near_number;

/// Tolerance of a level's mean about the line.
const WITHIN: f64 = 0.05;

/// A line through levels: time of a unit and constant (s).
#[derive(Clone, Copy, Debug)]
struct Line {
    unit: Number,
    constant: Number,
}

impl Line {
    fn at(&self, units: f64) -> f64 {
        self.unit.value * units + self.constant.value
    }
}

fn levels<'a>(live: &'a Live, server: &'a ServerRow, levels: &'a str) -> impl Iterator<Item = &'a LevelRow> {
    live.levels.iter().filter(move |row| row.server == server.server && row.levels == levels)
}

fn line(live: &Live, server: &ServerRow, levels: &str) -> Option<Line> {
    let of = |quantity: &str| {
        let is_it = |row: &&super::live::rows::LineRow| {
            (row.server.as_str(), row.levels.as_str(), row.quantity.as_str()) == (&server.server, levels, quantity)
        };
        let row = live.lines.iter().find(is_it)?;
        // Without an interval a line is shown, and nothing rests on it.
        let (low, high) = (row.ci_low.unwrap_or(row.value), row.ci_high.unwrap_or(row.value));
        Some(Number { value: row.value, low, high, is_suspect: server.suspect })
    };
    Some(Line { unit: of("unit")?, constant: of("constant")? })
}

/// A level's mean as a number to compare.
fn mean(row: &LevelRow, is_suspect: bool) -> Option<Number> {
    Some(Number { value: row.mean_s, low: row.ci_low?, high: row.ci_high?, is_suspect })
}

/// The largest deviation of a level's mean from the line.
fn deviation(points: impl Iterator<Item = (f64, f64)>, at: impl Fn(f64) -> f64) -> f64 {
    points.map(|(units, mean_s)| (mean_s / at(units) - 1.0).abs()).fold(0.0, f64::max)
}

/// That the response time is a line, as a statement.
pub(super) fn finding(published: &Published, live: &Live) -> Finding {
    let mut comparisons = Vec::new();
    let mut ours = Vec::new();
    for server in &live.servers {
        let Some(line) = line(live, server, LEVELS[0]) else { continue };
        let rows = || levels(live, server, LEVELS[0]);
        comparisons.extend(rows().map(|row| near_number(mean(row, server.suspect), line.at(row.units as f64), WITHIN)));
        let most = deviation(rows().map(|row| (row.units as f64, row.mean_s)), |units| line.at(units));
        ours.push(format!("{} at most {:.1} %", server.server, 100.0 * most));
    }
    let his = deviation(published.calibration.iter().map(|row| (row.0, row.1)), |rounds| REQUEST_S + TURN_S * rounds);
    Finding {
        place: "Table 7.1",
        claim: "Without queueing the response time is a line in the work (ten levels, each mean within 5 % of the line)",
        comparisons,
        ours: format!("{}; his own {:.1} %", ours.join(", "), 100.0 * his),
        why: "a level's mean has the stalls of its few requests in it.",
    }
}

/// The section of the page.
pub(super) fn section(published: &Published, live: &Live) -> Result<String, ReproduceError> {
    let points: Vec<(f64, f64)> = published.calibration.iter().map(|row| (row.0, row.1)).collect();
    let fit = regression::polynomial(&points, 1).map_err(|e| ReproduceError(format!("calibration.csv: {e}")))?;
    let his = deviation(points.iter().copied(), |rounds| REQUEST_S + TURN_S * rounds);
    let mut text = format!(
        "\n## Table 7.1 and Figure 7.1: the time of a round\n\nResponse times at {COUNT} levels of work without queueing, and \
         the line through their means: its slope is the time of a round of PHP's loop, by which the demands of the cells are \
         planned. His levels are read in two ways: as long as his against the mean demand (adopted), and his very counts, \
         {STEP} to {} rounds. A node's unit of work is a nanosecond, so its line says whether it spins as long as it should. \
         The constant has the path and the client in it; the processor's part of a request without work is smaller. A level \
         each: [levels.csv](bjornstad-2006/live/levels.csv).\n\n| server | levels | time of a unit (ns) | by processor time, \
         one level (ns) | constant (ms) | its processor time (ms) | largest deviation of a level |\n\
         |---|---|---|---|---|---|---|\n| his | printed (7.1) | {:.1} | - | {:.3} | - | {:.1} % |\n| his | least squares \
         through his means | {:.1} | - | {:.3} | - | {:.1} % |\n",
        STEP * COUNT as u64,
        1e9 * TURN_S,
        1e3 * REQUEST_S,
        100.0 * his,
        1e9 * fit.coefficients[1],
        1e3 * fit.coefficients[0],
        100.0 * deviation(points.iter().copied(), |rounds| fit.at(rounds)),
    );
    let mut notes = String::new();
    for server in &live.servers {
        for name in LEVELS {
            let Some(line) = line(live, server, name) else { continue };
            let of = levels(live, server, name).map(|row| (row.units as f64, row.mean_s));
            let most = deviation(of, |units| line.at(units));
            let suspect = if server.suspect { " (SUSPECT run)" } else { "" };
            if (name, server.server.as_str()) == (LEVELS[0], SERVERS[1]) && server.unit_s == server.processor_unit_s {
                notes = format!(
                    "\nOn {} the line is so far from the processor time that the demands were planned by the latter.\n",
                    server.server
                );
            }
            let _ = writeln!(
                text,
                "| {}{suspect} | {name} | {} | {:.3} | {} | {:.3} | {:.1} % |",
                server.server,
                interval(scaled(Some(line.unit), 1e9), 3),
                1e9 * server.processor_unit_s,
                interval(scaled(Some(line.constant), 1e3), 3),
                1e3 * server.request_s,
                100.0 * most
            );
        }
    }
    Ok(text + &notes)
}

/// The points of Figure 7.1 by name, relative to the largest level (%): his and ours.
pub(super) fn curves(published: &Published, live: &Live) -> Vec<(String, Vec<(f64, f64)>)> {
    let relative = |points: Vec<(f64, f64)>, scale_s: f64| -> Vec<(f64, f64)> {
        let last = points.last().map_or(1.0, |point| point.0);
        points.into_iter().map(|(units, mean_s)| (100.0 * units / last, mean_s / scale_s)).collect()
    };
    let his: Vec<(f64, f64)> = published.calibration.iter().map(|row| (row.0, row.1)).collect();
    let most = |of: &dyn Fn(f64) -> f64, points: &[(f64, f64)]| points.last().map_or(1.0, |point| of(point.0));
    let scale_s = most(&|rounds| REQUEST_S + TURN_S * rounds, &his);
    let mut all = vec![("his".to_owned(), relative(his, scale_s))];
    for (place, name) in SERVERS.iter().enumerate() {
        let server = &live.servers[place];
        let Some(line) = line(live, server, LEVELS[0]) else { continue };
        let points: Vec<(f64, f64)> =
            levels(live, server, LEVELS[0]).map(|row| (row.units as f64, row.mean_s)).collect();
        let scale_s = most(&|units| line.at(units), &points);
        all.push(((*name).to_owned(), relative(points, scale_s)));
    }
    all
}
