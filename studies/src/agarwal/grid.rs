//! The loads of chapter 5, and what each policy gives under each of them.

use std::fmt::Write;
use std::path::Path;

use super::{MEAN, NEAREST, POLICIES, POLICY, Runs, Setting};
use crate::ReproduceError;
use crate::number::{Number, interval, range, scaled};

/// A number of client processes, and where they are.
pub(super) struct Load {
    pub(super) processes: String,
    /// `even` or `uneven`.
    pub(super) spread: String,
    /// The processes of each region, as the variant names them.
    settings: Vec<(String, String)>,
}

impl Load {
    /// The settings of the variant with this load under `policy`.
    pub(super) fn under<'a>(&'a self, policy: &'a str) -> Vec<Setting<'a>> {
        let own = self.settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        own.chain([(POLICY, policy)]).collect()
    }

    pub(super) fn number(&self) -> f64 {
        self.processes.parse().expect("a number of processes")
    }
}

/// The loads in `grid.csv` of the published numbers.
pub(super) fn read(published: &Path) -> Result<Vec<Load>, ReproduceError> {
    let file = published.join("grid.csv");
    let fail = |e: csv::Error| ReproduceError(format!("{}: {e}", file.display()));
    let load = |row: csv::StringRecord| {
        let of = |column: usize| row.get(column).unwrap_or_default().to_owned();
        let settings = (0..row.len().saturating_sub(2))
            .map(|region| (format!("workload.clients.{region}.processes"), of(region + 2)));
        Load { processes: of(0), spread: of(1), settings: settings.collect() }
    };
    csv::Reader::from_path(&file).map_err(fail)?.records().map(|row| Ok(load(row.map_err(fail)?))).collect()
}

/// A quantity of WebStone's report: the metric, its heading, a factor to the unit of the heading, and digits.
const QUANTITIES: [(&str, &str, f64, usize); 8] = [
    (MEAN, "Mean response time (s); his: 1.5 to 1.8 s, nearest 0.92 to 0.96 s", 1.0, 2),
    ("response_time_max", "Maximum response time (s, mean over replications)", 1.0, 1),
    ("connect_time_mean", "Mean connect time (s), of documents that were given up later too", 1.0, 3),
    ("error_ratio", "Errors (% of the documents asked for)", 100.0, 3),
    ("abandoned_ratio", "Unfinished at the end of a minute (% of the documents asked for)", 100.0, 2),
    ("connection_rate", "Connection rate (documents/s)", 1.0, 1),
    ("byte_throughput", "Throughput (Mbit/s)", 8e-6, 2),
    ("littles_load_factor", "Little's load factor", 1.0, 1),
];

/// A table for each quantity.
pub(super) fn tables(runs: &Runs) -> String {
    let answers = runs.of("1-grid");
    let names: Vec<&str> = POLICIES.iter().map(|(name, _)| *name).collect();
    let mut text = String::new();
    for (metric, heading, factor, digits) in QUANTITIES {
        let _ = writeln!(text, "**{heading}**\n\n| processes | load | {} | nearest / others |", names.join(" | "));
        text += "|---|---|---|---|---|---|---|\n";
        for load in &runs.grid {
            let of = |policy: &str| scaled(answers.number(&load.under(policy), metric), factor);
            let cells: Vec<String> = POLICIES.iter().map(|(_, policy)| interval(of(policy), digits)).collect();
            let ratios = ratios(runs, load, metric);
            let Load { processes, spread, .. } = load;
            let _ = writeln!(text, "| {processes} | {spread} | {} | {} |", cells.join(" | "), range(&ratios));
        }
        text.push('\n');
    }
    text
}

/// `metric` under nearest over that under each other policy.
pub(super) fn ratios(runs: &Runs, load: &Load, metric: &str) -> Vec<Option<Number>> {
    let answers = runs.of("1-grid");
    let over = |policy: &str| answers.ratio(metric, &load.under(NEAREST), &load.under(policy));
    POLICIES[..3].iter().map(|(_, policy)| over(policy)).collect()
}
