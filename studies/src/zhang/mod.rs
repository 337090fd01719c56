//! Zhang (2002): the page of the reproduction.

mod conclusions;
pub(crate) mod live;
#[cfg(test)]
mod made_up;
mod published;
mod tables;

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use crate::ReproduceError;
use crate::answers::Answers;
use crate::picture::{Series, curves, heat_map};
use crate::verdict::LEGEND;
use published::{Configuration, METRICS, Rows, USERS, borrowed};

/// The experiments; their run folders are read.
const EXPERIMENTS: [&str; 10] = [
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
];

/// All data of the page.
struct Study {
    ours: HashMap<&'static str, Answers>,
    simulation: Rows,
    validation: Rows,
    summary: Rows,
    imbalance: Rows,
    configurations: Vec<Configuration>,
}

impl Study {
    fn read(runs: &Path, published: &Path) -> Result<Study, ReproduceError> {
        let answers = |name| Ok((name, Answers::read(&runs.join(name), "sim")?));
        Study::of(EXPERIMENTS.into_iter().map(answers).collect::<Result<_, ReproduceError>>()?, published)
    }

    /// Ours beside the published numbers in the folder `published`.
    fn of(ours: HashMap<&'static str, Answers>, published: &Path) -> Result<Study, ReproduceError> {
        let simulation = Rows::read(published, "simulation.csv")?;
        Ok(Study {
            ours,
            configurations: Configuration::all(&simulation),
            simulation,
            validation: Rows::read(published, "validation.csv")?,
            summary: Rows::read(published, "summary.csv")?,
            imbalance: Rows::read(published, "imbalance.csv")?,
        })
    }

    /// Our number for a configuration at a load.
    fn our(&self, configuration: &Configuration, users: u32, metric: &str) -> Option<f64> {
        let (experiment, settings) = configuration.at(users);
        self.ours[experiment].value(&borrowed(&settings), metric)
    }

    /// Ours over his, per configuration and load.
    fn ratios(&self, his: &str, ours: &str) -> Vec<Vec<Option<f64>>> {
        let ratio = |of: &Configuration, users: u32| {
            let published = of.published(&self.simulation, users, his, "mean").filter(|his| *his > 0.0)?;
            Some(self.our(of, users, ours)? / published)
        };
        let row = |of: &Configuration| USERS.iter().map(|users| ratio(of, *users)).collect();
        self.configurations.iter().map(row).collect()
    }
}

/// Writes the page at `page`, its pictures and its table of all cells into the folder of the page's name beside it.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    let study = Study::read(runs, published)?;
    let folder = page.with_extension("");
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let fail = |e: std::io::Error| ReproduceError(format!("cannot write {}: {e}", page.display()));
    std::fs::create_dir_all(&folder).map_err(fail)?;
    let save = |file: &str, text: &str| std::fs::write(folder.join(file), text).map_err(fail);

    let rows: Vec<String> = study.configurations.iter().map(Configuration::name).collect();
    let columns = USERS.map(|users| users.to_string());
    let mut cells = Cells::default();
    for (his, ours, title) in METRICS {
        let ratios = study.ratios(his, ours);
        let title = format!("{title}: ours over published, deviation");
        save(&format!("{his}.svg"), &heat_map(&title, &rows, &columns, &ratios))?;
        cells.add(&study, his, ours, ratios);
    }
    save("cells.csv", &cells.csv)?;
    save("policies.svg", &policies(&study))?;
    save("one-server.svg", &one_server(&study))?;
    save("timeouts.svg", &timeouts(&study))?;
    std::fs::write(page, text(&study, &cells, &name)).map_err(fail)
}

/// Every published cell beside ours.
#[derive(Default)]
struct Cells {
    csv: String,
    by_metric: Vec<(&'static str, Vec<Vec<Option<f64>>>)>,
}

impl Cells {
    fn add(&mut self, study: &Study, his: &'static str, ours: &str, ratios: Vec<Vec<Option<f64>>>) {
        if self.csv.is_empty() {
            self.csv = "configuration,users,metric,published,ours,deviation_percent\n".into();
        }
        for (configuration, row) in study.configurations.iter().zip(&ratios) {
            for (users, ratio) in USERS.iter().zip(row) {
                let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
                let published = configuration.published(&study.simulation, *users, his, "mean");
                let deviation = ratio.map_or(String::new(), |ratio| format!("{:.1}", (ratio - 1.0) * 100.0));
                let _ = writeln!(
                    self.csv,
                    "\"{}\",{users},{his},{},{},{deviation}",
                    configuration.name(),
                    number(published),
                    number(study.our(configuration, *users, ours)),
                );
            }
        }
        self.by_metric.push((his, ratios));
    }
}

/// The five policies behind a gateway: his curves and ours.
fn policies(study: &Study) -> String {
    let names = ["RR-G", "XSIZE-G", "CONN-G", "RT-G", "RAN-G"];
    let mut series = Vec::new();
    for (colour, name) in names.into_iter().enumerate() {
        let wanted = format!("{name}, s = 1.143");
        let Some(of) = study.configurations.iter().find(|of| of.name() == wanted) else { continue };
        let his = USERS
            .iter()
            .filter_map(|u| Some((f64::from(*u), of.published(&study.simulation, *u, "latency_s", "mean")?)));
        let ours = USERS.iter().filter_map(|u| Some((f64::from(*u), study.our(of, *u, "response_time_mean")?)));
        series.push(Series { name: format!("{name}, ours"), published: false, colour, points: ours.collect() });
        let points: Vec<_> = his.collect();
        if !points.is_empty() {
            series.push(Series { name: format!("{name}, published"), published: true, colour, points });
        }
    }
    curves("Mean latency of an object, four servers, s = 1.143", "users", "seconds", &series)
}

/// One server at 10 and 100 Mbit/s: measured, his simulation and ours.
fn one_server(study: &Study) -> String {
    let mut series = Vec::new();
    let published = |table: &str, column: &str| -> Vec<(f64, f64)> {
        let of = |users: &u32| {
            let users_text = users.to_string();
            let value = study.validation.number(&[("table", table), ("users", &users_text)], column)?;
            Some((f64::from(*users), value))
        };
        USERS.iter().filter_map(of).collect()
    };
    let ours = |rate: &str| -> Vec<(f64, f64)> {
        let of = |users: &u32| {
            let users_text = users.to_string();
            let wanted = [("loner_sigma", "1.143"), ("cluster_rate", rate), ("users", users_text.as_str())];
            Some((f64::from(*users), study.ours["1-one-server"].value(&wanted, "response_time_mean")?))
        };
        USERS.iter().filter_map(of).collect()
    };
    let mut add = |name: &str, published: bool, colour: usize, points: Vec<(f64, f64)>| {
        series.push(Series { name: name.into(), published, colour, points });
    };
    add("Apache, measured (C.1)", true, 0, published("C.1", "reference"));
    add("10 Mbit/s, his (C.1)", true, 1, published("C.1", "mean"));
    add("10 Mbit/s, ours", false, 1, ours("10 Mbit/s"));
    add("100 Mbit/s, his (C.10)", true, 2, published("C.10", "mean"));
    add("100 Mbit/s, ours", false, 2, ours("100 Mbit/s"));
    curves("One server, mean latency of an object, s = 1.143", "users", "seconds", &series)
}

/// Round robin over all loads: his, ours, and ours with replies that wait for a lost packet.
fn timeouts(study: &Study) -> String {
    let name = "RR-G, s = 1.143";
    let Some(of) = study.configurations.iter().find(|of| of.name() == name) else { return String::new() };
    let his = |u: &u32| Some((f64::from(*u), of.published(&study.simulation, *u, "latency_s", "mean")?));
    let ours = |u: &u32| Some((f64::from(*u), study.our(of, *u, "response_time_mean")?));
    let waiting = |u: &u32| {
        let users = u.to_string();
        let wanted = [("policy", "round-robin"), ("users", users.as_str())];
        Some((f64::from(*u), study.ours["9-causes"].value(&wanted, "response_time_mean")?))
    };
    let one = |name: &str, published: bool, colour: usize, points: Vec<(f64, f64)>| Series {
        name: name.into(),
        published,
        colour,
        points,
    };
    let series = [
        one("published (D.1)", true, 0, USERS.iter().filter_map(his).collect()),
        one("ours", false, 1, USERS.iter().filter_map(ours).collect()),
        one("ours, with timeouts", false, 2, USERS.iter().filter_map(waiting).collect()),
    ];
    curves("RR-G, four servers, s = 1.143", "users", "seconds", &series)
}

fn text(study: &Study, cells: &Cells, folder: &str) -> String {
    let mut page = format!("{HEAD}{LEGEND}\n");
    let _ = writeln!(page, "**In short.** {} {}\n", conclusions::in_short(study), tables::in_short(cells));
    let _ = writeln!(page, "{}", tables::cost(study));
    let _ = writeln!(page, "## How near\n\n{}", tables::nearness(cells));
    for (his, ..) in METRICS {
        let _ = writeln!(page, "![{his}: deviation of every cell]({folder}/{his}.svg)\n");
    }
    let _ = writeln!(page, "All cells as numbers: [cells.csv]({folder}/cells.csv). Grey: his row is not usable.\n");
    let _ = writeln!(page, "![latency of five policies]({folder}/policies.svg)\n");
    let _ = writeln!(page, "![latency of one server]({folder}/one-server.svg)\n");
    let _ = writeln!(page, "## 640 users: Tables 5.1 to 5.7\n\n{}", tables::at_640(study));
    let _ = writeln!(page, "## The order of the policies\n\n{}", tables::order(study));
    let _ = writeln!(page, "## His conclusions\n\n{}", conclusions::table(study));
    let _ = writeln!(page, "## What each reading does\n\n{}", tables::readings(study));
    let _ = writeln!(page, "## Why the numbers still differ\n\n{}", tables::causes(study));
    let _ = writeln!(page, "![with and without timeouts]({folder}/timeouts.svg)\n");
    let _ = writeln!(page, "## Where a balancer is the limit\n\n{}", tables::balancer(study));
    let _ = writeln!(page, "## Every deviation in numbers\n\n{}", tables::deviations(study, cells));
    page
}

const HEAD: &str = "\
# Zhang (2002), reproduced

L. Zhang, *The performance of clustering techniques for scalable web servers*, M.Sc. thesis, 2002: one server measured and
fitted, then clusters of it simulated with two architectures and five policies. This page is written by
`make reproductions` from the runs of [`experiments/zhang-2002`](../../experiments/zhang-2002); no figure and no
verdict in its tables is typed by hand. How the thesis was read where it is ambiguous was frozen before the first comparison:
[READINGS.md](../../experiments/zhang-2002/READINGS.md). Some readings were changed after it, each for a reason in his own
numbers (who counts as attached to a server, how many files a page shows, HTTP/1.0). The tables below are of the changed
readings; \"What each reading does\" shows the frozen ones beside them, which were much further off.

His names: RR round robin, XSIZE transmitted size, CONN least connections, RT round trip, RAN random; -G behind a gateway,
-S behind a switch; s is the log-sigma of the large files. An object is a page with all its embedded files; a user is
*attached* to a server while it counts there; imbalance is 1 + (p90 - p10) / (2 mean) of the users attached. C.n and D.n are
tables of his appendices.

";
