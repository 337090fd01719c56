//! What servers got, and what happened over time, as tables for a terminal and a page.

use super::super::{Value, below};
use super::{Period, Served, ServerLoad, TimesTaken};

/// A table: its header, and what stands in its rows, with units; the first column is names.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The columns' names.
    pub header: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A value with its SI unit, where there is one.
type Cell = Option<(Value, &'static str)>;

impl Served {
    /// A row for each server, the one with the most requests first.
    pub fn by_server(&self) -> Listing {
        let header = [
            "server",
            "requests",
            "share",
            "server errors",
            "given up",
            "load",
            "load share",
            "at server",
            "p99 there",
            "response",
            "p99",
            "queue",
        ];
        let are_abandoned = self.servers.iter().any(|one| one.abandoned > 0);
        let row = |one: &ServerLoad| {
            vec![
                text(&one.server),
                count(one.requests),
                number(Some(one.share), "1"),
                count(one.errors),
                few(one.abandoned, are_abandoned),
                number(one.load, "1"),
                number(one.load_share, "1"),
                self.time(one.at_server.map(|times| times.mean_s)),
                self.time(p99(one.at_server)),
                self.time(one.response.map(|times| times.mean_s)),
                self.time(p99(one.response)),
                number(one.queue_mean_s, "s"),
            ]
        };
        Listing::new(header.map(str::to_owned).to_vec(), self.servers.iter().map(row).collect())
    }

    /// A row for each period, with the load of each of the first servers.
    pub fn over_time(&self) -> Listing {
        let header =
            ["from", "requests", "rate", "server errors", "given up", "response", "p99", "load"].map(str::to_owned);
        let servers = self.periods.first().map_or(0, |first| first.load_by_server.len());
        let named = self.servers[..servers].iter().map(|one| format!("load of {}", one.server));
        let are_abandoned = self.periods.iter().any(|one| one.abandoned > 0);
        let row = |one: &Period| {
            let first = vec![
                text(&one.start),
                count(one.requests),
                number(Some(one.rate), "/s"),
                count(one.errors),
                few(one.abandoned, are_abandoned),
                self.time(one.response.map(|times| times.mean_s)),
                self.time(p99(one.response)),
                number(one.load, "1"),
            ];
            first.into_iter().chain(one.load_by_server.iter().map(|load| number(Some(*load), "1"))).collect()
        };
        Listing::new(header.into_iter().chain(named).collect(), self.periods.iter().map(row).collect())
    }
}

impl Served {
    /// A time by the log's clock (s).
    fn time(&self, time_s: Option<f64>) -> Cell {
        match time_s {
            Some(0.0) => text(&below(self.step_s)),
            time_s => number(time_s, "s"),
        }
    }
}

impl Listing {
    /// Without the columns in which nothing stands.
    fn new(header: Vec<String>, rows: Vec<Vec<Cell>>) -> Listing {
        let is_kept = |column: &usize| rows.iter().any(|row| row[*column].is_some());
        let kept: Vec<usize> = (0..header.len()).filter(is_kept).collect();
        Listing {
            header: kept.iter().map(|column| header[*column].clone()).collect(),
            rows: rows.iter().map(|row| kept.iter().map(|column| row[*column].clone()).collect()).collect(),
        }
    }
}

fn p99(times: Option<TimesTaken>) -> Option<f64> {
    times.and_then(|times| times.p99_s)
}

fn text(text: &str) -> Cell {
    Some((Value::Text(text.to_owned()), ""))
}

fn count(count: u64) -> Cell {
    Some((Value::Count(count), ""))
}

/// A count of what mostly does not happen: no column where none did.
fn few(number: u64, are_any: bool) -> Cell {
    if are_any { count(number) } else { None }
}

fn number(number: Option<f64>, unit: &'static str) -> Cell {
    number.map(|number| (Value::Number(number), unit))
}
