//! Appendix E: how long the objects of one run took under each policy, his stem-and-leaf plots beside our distributions.

use std::sync::Arc;

use minijinja::Error;

use crate::answers::Answers;
use crate::page::{Cell, Published, wrong};

/// The run folder of the structures of a page that compete.
pub(super) const RUN: &str = "10-pages";
/// What each policy is called in his tables and in ours.
const POLICIES: [(&str, &str); 5] = [
    ("rr", "round-robin"),
    ("xsize", "transmitted-size"),
    ("conn", "least-connections"),
    ("rt", "round-trip"),
    ("ran", "random"),
];

/// Objects of one policy that took up to so long, of all.
#[derive(Debug)]
struct Plot {
    policy: String,
    /// Ends of rows (s) and the share of all objects up to there.
    ends: Vec<(f64, f64)>,
}

/// His plots, and our runs.
#[derive(Debug)]
pub(super) struct AppendixE {
    plots: Vec<Plot>,
    runs: Arc<Answers>,
}

impl AppendixE {
    /// From `latency-distributions.csv`, whose rows are in the order of their times.
    pub(super) fn new(table: &Published, runs: Arc<Answers>) -> Result<AppendixE, Error> {
        let columns = ["policy", "to_s", "objects", "status"].map(|name| table.column(name));
        let [policy, to_s, objects, status] = columns;
        let (policy, to_s, objects, status) = (policy?, to_s?, objects?, status?);
        let of = |name: &str| -> Result<Plot, Error> {
            let mut sum = 0.0;
            let mut ends = Vec::new();
            for row in table.rows.iter().filter(|row| row[policy] == name) {
                sum += row[objects].parse::<f64>().map_err(|_| wrong("Appendix E: a number of objects is missing"))?;
                if let (Ok(end), false) = (row[to_s].parse(), row[status].contains("extremes")) {
                    ends.push((end, sum));
                }
            }
            let ends = ends.into_iter().map(|(end, objects)| (end, objects / sum)).collect();
            Ok(Plot { policy: name.to_owned(), ends })
        };
        Ok(AppendixE { plots: POLICIES.iter().map(|(name, _)| of(name)).collect::<Result<_, _>>()?, runs })
    }

    fn plot(&self, policy: &str) -> Result<&Plot, Error> {
        self.plots.iter().find(|plot| plot.policy == policy).ok_or_else(|| wrong(format!("no plot of `{policy}`")))
    }

    /// His share of the objects of a policy between two ends of rows, as `4 to 6`; `8 to` has no upper end.
    pub(super) fn his(&self, band: &str, policy: &str) -> Result<Cell, Error> {
        let plot = self.plot(policy)?;
        let at = |end: f64| match end {
            end if end <= 0.0 => Some(0.0),
            end if end.is_infinite() => Some(1.0),
            end => plot.ends.iter().find(|(known, _)| *known == end).map(|(_, share)| *share),
        };
        let (from, to) = ends(band)?;
        Ok(Cell::exact(at(to).zip(at(from)).map(|(high, low)| high - low)))
    }

    /// Ours, of a structure of a page and a wait; as `distance` the largest difference of the cumulated shares at the ends of his
    /// rows.
    pub(super) fn ours(&self, band: &str, settings: &[(&str, &str)], policy: &str) -> Result<Cell, Error> {
        let plot = self.plot(policy)?;
        let ours = POLICIES.iter().find(|(his, _)| *his == policy).expect("it has a plot").1;
        let wanted = [settings, &[("policy", ours)]].concat();
        let share = |time_s: f64| self.runs.share_within(&wanted, time_s);
        if band == "distance" {
            let apart = plot.ends.iter().map(|(end, his)| Some((share(*end)? - his).abs()));
            let apart: Option<Vec<f64>> = apart.collect();
            return Ok(Cell::exact(apart.map(|all| all.into_iter().fold(0.0, f64::max))));
        }
        let (from, to) = ends(band)?;
        Ok(Cell::exact(share(to).zip(share(from)).map(|(high, low)| high - low)))
    }
}

/// The two ends of a band (s).
fn ends(band: &str) -> Result<(f64, f64), Error> {
    let fail = || wrong(format!("`{band}` is no band such as `4 to 6`"));
    let (from, to) = band.split_once(" to").ok_or_else(fail)?;
    let to = if to.is_empty() { f64::INFINITY } else { to.trim().parse().map_err(|_| fail())? };
    Ok((from.trim().parse().map_err(|_| fail())?, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::{published, sampled};

    fn appendix() -> AppendixE {
        let table = Published::read(&published("zhang-2002").join("latency-distributions.csv")).unwrap();
        let runs = Answers::made_up("zhang-2002/10-pages.toml", &|_| Vec::new(), sampled);
        AppendixE::new(&table, Arc::new(runs)).unwrap()
    }

    /// Their objects are the throughputs of D.32, D.35, D.38, D.41 and D.44 in 600 s, to every digit.
    #[test]
    fn each_plot_is_of_one_run() {
        let file = published("zhang-2002");
        let plots = Published::read(&file.join("latency-distributions.csv")).unwrap();
        let tables = Published::read(&file.join("simulation.csv")).unwrap();
        let place = |table: &Published, name| table.column(name).unwrap();
        for (policy, table) in [("rr", "D.32"), ("xsize", "D.35"), ("conn", "D.38"), ("rt", "D.41"), ("ran", "D.44")] {
            let rows = plots.rows.iter().filter(|row| row[place(&plots, "policy")] == policy);
            let objects: f64 = rows.map(|row| row[place(&plots, "objects")].parse::<f64>().unwrap()).sum();
            let is_it =
                |row: &&Vec<String>| row[place(&tables, "table")] == table && row[place(&tables, "users")] == "640";
            let printed = &tables.rows.iter().find(is_it).unwrap()[place(&tables, "mean")];
            assert_eq!(&format!("{:.3}", objects / 600.0), printed, "{policy}");
        }
    }

    #[test]
    fn shares_and_distances_are_of_the_same_ends() {
        let appendix = appendix();
        let his = |band| appendix.his(band, "conn").unwrap().value.unwrap();
        assert!((his("0 to 4") - 0.686).abs() < 5e-4 && (his("8 to") - 0.0872).abs() < 5e-4);
        assert!((his("0 to 4") + his("4 to 6") + his("6 to 8") + his("8 to") - 1.0).abs() < 1e-12);
        assert_eq!(appendix.his("0 to 9", "conn").unwrap().value, None, "beyond his extremes he tells no share");
        // Made up: equally often between 1 and 5 s.
        let ours = |band| appendix.ours(band, &[], "conn").unwrap().value.unwrap();
        assert!((ours("0 to 4") - 0.75).abs() < 1e-12 && ours("6 to 8") == 0.0);
        // Furthest apart at 2 s: 0.25 of ours, and 4,591 of his 51,831 objects.
        let due =
            appendix.plot("conn").unwrap().ends.iter().map(|(end, his)| ((end - 1.0) / 4.0).clamp(0.0, 1.0) - his);
        assert!((ours("distance") - due.fold(0.0, |most: f64, apart| most.max(apart.abs()))).abs() < 1e-12);
        assert!(appendix.his("4", "conn").is_err() && appendix.his("0 to 4", "none").is_err());
    }
}
