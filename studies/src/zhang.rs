//! Zhang (2002): the page of the reproduction.
//!
//! A conclusion is judged on all that it says, by the same comparisons on both sides: ours replication by replication, his with
//! the intervals of Table 5.1 where it has the number. His other tables have no intervals, so there only his figures are
//! compared. The price is that what he calls close together may be open by his own intervals.

mod appendix_e;
pub(crate) mod live;
#[cfg(test)]
mod made_up;
mod published;

use std::path::Path;
use std::sync::Arc;

use minijinja::Value;

use crate::ReproduceError;
use crate::answers::Answers;
use crate::page::{self, Cell, Page, Published, Runs};
use crate::picture::percent;
use appendix_e::AppendixE;
use published::{Configuration, USERS};

const TEMPLATE: &str = include_str!("../templates/zhang-2002.md");

/// The experiments; their run folders are read.
const EXPERIMENTS: [&str; 13] = [
    "1-one-server",
    "2-policies",
    "3-servers",
    "4-windows",
    "5-bryhni",
    "6-uplink",
    "7-order",
    "8-balancer",
    "9-causes",
    "9-readings",
    appendix_e::RUN,
    "11-polling",
    "12-decided",
];

/// What `9-causes.toml` says of lost packets: the share of replies that wait, and how long (s).
const TIMEOUTS: f64 = 0.067;
const TIMEOUT_S: u32 = 3;

/// Writes the page at `page`, its pictures and its table of all cells into the folder of the page's name beside it.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    of(page::read(runs, &EXPERIMENTS, "sim")?, published)?.write(TEMPLATE, page)
}

fn of<'a>(runs: Runs, published: &Path) -> Result<Page<'a>, ReproduceError> {
    let simulation = Arc::new(Published::read(&published.join("simulation.csv"))?);
    let configurations = Arc::new(Configuration::all(&simulation));
    let appendix = ["2-policies", "3-servers", "4-windows", "5-bryhni"];
    let files_per_s: f64 = appendix.iter().map(|name| runs[*name].sum("file_throughput")).sum();
    let names: Value = configurations.iter().map(|of| Value::from(of.name())).collect();
    let (all, of_runs) = (configurations.clone(), runs.clone());
    let plots = Published::read(&published.join("latency-distributions.csv"))?;
    let appendix_e =
        AppendixE::new(&plots, runs[appendix_e::RUN].clone()).map_err(|e| ReproduceError(e.to_string()))?;
    let (his_e, of_ranks) = (Arc::new(appendix_e), runs["7-order"].clone());
    let appendix_e = his_e.clone();
    let page = Page::new()
        .with("sim", runs)
        .with_published(published)?
        .given("USERS", USERS.map(|users| users.to_string()).to_vec())
        .given("CONFIGURATIONS", names)
        .given("TIMEOUTS", TIMEOUTS)
        .given("TIMEOUT_S", TIMEOUT_S)
        .given("files_per_s", files_per_s)
        .given("nearest", Value::from_function(|readings: Vec<Value>| nearest(&readings)))
        // The share of the objects of a policy that took a time of a band, as `4 to 6`: his in Appendix E, and ours.
        .computed("his_times", &["policy"], move |band, wanted| his_e.his(band, &wanted[0].1))
        .computed("our_times", &["pages", "waits", "policy"], move |band, wanted| {
            let settings = [("workload.site", &*wanted[0].1), ("system.network.timeouts", &*wanted[1].1)];
            appendix_e.ours(band, &settings, &wanted[2].1)
        })
        // Open connections of a server behind a gateway and the share of the time up to so many.
        .given("ranked", Value::from_function(move |settings: Value| ranked(&of_ranks, &settings)))
        // His number of a configuration with so many users, of all servers (`mean`) or of one.
        .computed("his", &["configuration", "users", "column"], move |metric, wanted| {
            let of = Configuration::named(&configurations, &wanted[0].1)?;
            Ok(Cell::exact(of.published(&simulation, &wanted[1].1, metric, &wanted[2].1)?))
        })
        .computed("ours", &["configuration", "users"], move |metric, wanted| {
            let (experiment, settings) = Configuration::named(&all, &wanted[0].1)?.at(&wanted[1].1);
            let settings: Vec<(&str, &str)> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
            Ok(Cell::measured(&of_runs[experiment], &settings, metric))
        });
    Ok(page)
}

/// Numbers of open connections of a server, and the share of the time with no more.
fn ranked(run: &Answers, settings: &Value) -> Result<Vec<Vec<f64>>, minijinja::Error> {
    let of = |key: Value| Ok((key.to_string(), settings.get_item(&key)?.to_string()));
    let settings = settings.try_iter()?.map(of).collect::<Result<Vec<(String, String)>, minijinja::Error>>()?;
    let lent = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let wanted: Vec<(&str, &str)> = lent.chain([("face", "gateway")]).collect();
    let mut sum = 0.0;
    let cumulated = run.connections(&wanted).unwrap_or_default().iter().map(|(connections, share)| {
        sum += share;
        (f64::from(*connections), sum)
    });
    let (numbers, shares) = cumulated.unzip();
    Ok(vec![numbers, shares])
}

/// Of each system the reading whose p90 is nearest to his, of rows of system, reading, and the adopted and the changed p90 over
/// his.
fn nearest(readings: &[Value]) -> Result<String, minijinja::Error> {
    let mut nearest: Vec<(String, String, f64, f64)> = Vec::new();
    for row in readings {
        let item = |place: usize| row.get_item_by_index(place);
        let ratio = |place: usize| {
            Ok::<_, minijinja::Error>(item(place)?.downcast_object_ref::<Cell>().and_then(|of| of.value))
        };
        let (system, name) = (item(0)?.to_string(), item(1)?.to_string());
        let (Some(adopted), Some(changed)) = (ratio(2)?, ratio(3)?) else { continue };
        match nearest.iter_mut().find(|of| of.0 == system) {
            Some(known) if changed.ln().abs() < known.3.ln().abs() => *known = (system, name, adopted, changed),
            Some(_) => {}
            None => nearest.push((system, name, adopted, changed)),
        }
    }
    let sentence = |(_, name, adopted, changed): &(String, String, f64, f64)| {
        format!("{name} ({}, as adopted {})", percent(*changed), percent(*adopted))
    };
    Ok(nearest.iter().map(sentence).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_system_the_nearest_reading_is_named() {
        let row = |(system, name, changed): (&str, &str, f64)| -> Value {
            let cell = |value| Value::from_object(Cell::exact(Some(value)));
            vec![system.into(), name.into(), cell(1.0), cell(changed)].into()
        };
        let rows = [("a", "far below", 0.5), ("a", "near above", 1.2), ("a", "above", 1.5), ("b", "b", 3.0)].map(row);
        assert_eq!(nearest(&rows).unwrap(), "near above (+20 %, as adopted +0 %); b (+200 %, as adopted +0 %)");
    }
}
