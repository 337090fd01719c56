//! Bjørnstad (2006): web server response times, queueing formulas and self-similar traffic.
//!
//! [`simulated`] does his tables by simulation, a thousand times over. [`live`] measures his 45 cells on two servers of this
//! machine, and condenses them to tables that are kept beside the page. [`write`] makes the page from both and from his tables.
//! The runs are no experiment files, because a cell is compared with replays of captured requests and not with a model's
//! answer. The price is that this study brings its own runs along.

mod beside;
mod calibrated;
mod convergence;
mod figures;
mod formula;
mod hypotheses;
mod jobs;
mod levels;
pub(crate) mod live;
mod published;
mod riddle;
mod self_similar;
mod series;
pub(crate) mod simulated;
mod tables;

use std::fmt::Write;
use std::path::Path;

use sojourn_lab::folder::write_whole;

use self::live::measured::Live;
use self::published::Published;
use self::simulated::Simulated;
use crate::ReproduceError;
use crate::finding::{rows, summary};
use crate::verdict::LEGEND;

/// The folder beside the page with what was measured live.
const KEPT: &str = "live";

/// Writes the page at `page`, and its figures and long tables beside it, from the simulations in `runs` and from what was
/// measured live, which is kept beside the page.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    let folder = page.with_extension("");
    let published = Published::read(published)?;
    let simulated = Simulated::read(&runs.join("sim"))?;
    let live = Live::read(&folder.join(KEPT))?;
    let fail = |e: std::io::Error| ReproduceError(format!("cannot write {}: {e}", page.display()));

    let (table_7_4, simulated_fcfs, trust) = convergence::section(&published, &simulated)?;
    let (riddle, simulated_cells) = riddle::section(&published, &simulated, &live)?;
    let (levels, targets) = levels::section(&simulated, &live);
    let (responses, measured_cells) = tables::responses(&published, &live)?;
    let mut findings = hypotheses::findings(&published, &simulated, &live)?;
    findings.push(riddle::finding(&live));
    findings.extend(levels::findings(&simulated, &live));
    findings.extend(formula::findings(&published)?);
    findings.push(trust);
    findings.push(calibrated::finding(&published, &live));
    findings.extend(jobs::findings(&published, &simulated)?);
    findings.push(self_similar::finding(&simulated));
    findings.push(tables::hurst_finding(&live));

    let mut text = format!("{HEAD}{}{}{LEGEND}{INTERVALS}", summary(&findings), RUN);
    let _ = writeln!(text, "Machine of the measurements: {}.\n\n## His statements\n", live.servers[0].machine);
    text += &rows(&findings, "statement");
    text += &riddle;
    text += &levels;
    text += &formula::section(&published)?;
    text += &table_7_4;
    text += &calibrated::section(&published, &live)?;
    let (work, averages) = (figures::work(&published, &live), figures::averages(&simulated));
    text += &shown(&work);
    text += &responses;
    text += &tables::moments(&published, &live)?;
    text += &jobs::section(&published, &simulated, &live)?;
    text += &self_similar::averages_table(&simulated, &live);
    text += &shown(&averages);
    text += &tables::hurst(&published, &live);
    text += &self_similar::memory_table(&simulated);
    text += FIGURES;
    let tails = figures::tails(&live);
    tails.iter().for_each(|figure| text += &shown(figure));

    std::fs::create_dir_all(&folder).map_err(fail)?;
    for figure in tails.iter().chain([&work, &averages]) {
        write_whole(&folder.join(format!("{}.svg", figure.file)), figure.svg.as_bytes()).map_err(fail)?;
    }
    for csv in [simulated_fcfs, simulated_cells, targets, measured_cells] {
        write_whole(&folder.join(format!("{}.csv", csv.name)), &csv.bytes()?).map_err(fail)?;
    }
    write_whole(page, text.as_bytes()).map_err(fail)
}

/// A figure where it stands on the page.
fn shown(figure: &figures::Figure) -> String {
    format!("\n![{}](bjornstad-2006/{}.svg)\n", figure.title, figure.file)
}

const HEAD: &str = "# Bjørnstad's server, formula and replay, again

Bjørnstad (2006) sent 100,000 requests in each of 45 cells, gaps by one law and demands by another at equal means, to one
Apache with PHP; he compared what he measured with a formula (4.25) and with a first-come-first-served replay. Here the
formula is computed, the replay simulated a thousand times over, and the cells are measured on a node whose threads spin
and on Apache with PHP, one core each, the client on the other, a connection per request. What he leaves open was
[read](../../experiments/bjornstad-2006/READINGS.md) before the first comparison;
[his tables](../../experiments/bjornstad-2006/published/README.md).

";

const RUN: &str = "## How it was run, and what the verdicts mean

The live part is measured by `make bjornstad-live` and kept beside the page, the rest and the page are made by `make
bjornstad-sim`; `make bjornstad` does both. No figure and no verdict here is typed by hand, what may lie behind a verdict is. A
run that was SUSPECT was measured again, at most twice.

";

const INTERVALS: &str = "
Intervals are of 95 %, inside a run by batch means, over simulated sets by Student's t.

";

const FIGURES: &str = "
## Figure 7.5: distributions of response times

The share of requests that take longer, measured (solid) and replayed FCFS (dashed), with the lines of 80 and 90 %, as he
drew them, and of 95 and 99 %.
";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::live::{COUNT, SERVERS, SERVICE_S, UTILIZATION, condense};
    use super::series::{Cell, LAWS};
    use super::simulated::memory::{HURST, MARGINALS};
    use super::simulated::replay::{DISCIPLINES, Kind, responses_s};
    use super::*;

    /// Files as the other steps leave them: a few sets, and servers that share their processor as PS does, of which the
    /// one named in `suspect` was disturbed.
    fn runs(folder: &Path, suspect: &str) {
        let write = |name: String, text: String| {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let mut sets = String::from("set,cell,mean_s,std_s\n");
        let mut played = String::from("cell,discipline,set,mean_s,std_s,p80_s,p90_s,p95_s,p99_s\n");
        let mut memory = String::from("marginal,hurst,set,measured_h,fcfs_s,ps_s,las_s\n");
        for set in 0..40 {
            for cell in 0..25 {
                let _ = writeln!(sets, "{set},{cell},{},{}", 1.5 + 0.05 * f64::from(set), 2.0);
            }
        }
        for set in 0..5 {
            for cell in 0..Cell::all().len() {
                for discipline in 0..DISCIPLINES.len() {
                    let mean = 2.0 - 0.1 * discipline as f64 + 0.01 * f64::from(set);
                    // Targets as his rule has them: the worst case first, FCFS of both above all, then noise of 0.8.
                    let rank = match cell {
                        5 => 1.5,
                        6 if discipline == 0 => 4.0,
                        40 => 8.0,
                        _ => 1.0,
                    };
                    let p80 = rank * mean;
                    let _ = writeln!(played, "{cell},{discipline},{set},{mean},{mean},{p80},{p80},{p80},{p80}");
                }
            }
            for marginal in 0..MARGINALS.len() {
                for (hurst, h) in HURST.iter().enumerate() {
                    let mean = 1.0 + hurst as f64 + 0.01 * f64::from(set);
                    let _ = writeln!(memory, "{marginal},{hurst},{set},{h},{mean},{mean},{mean}");
                }
            }
        }
        let mut breakpoints = String::from("law,set,breakpoint_s,below,ps_over_fcfs,of_those_below,of_those_above\n");
        let mut averages = String::from("hurst,set,gaps_cv,averages_cv\n");
        let mut points = String::from("hurst,average\n");
        for set in 0..5 {
            for law in 0..LAWS.len() {
                let jitter = 1e-3 * f64::from(set);
                let _ = writeln!(breakpoints, "{law},{set},0.09,{},{},1,1", 0.6 + jitter, 1.2 + jitter);
            }
            for hurst in 0..HURST.len() {
                let _ = writeln!(averages, "{hurst},{set},0.2,{}", 0.01 * (1 + hurst) as f64 + 1e-4 * f64::from(set));
                let _ = writeln!(points, "{hurst},1.0{set}");
            }
        }
        let (mut long, mut parts) = (String::from("cell,jobs,mean_s\n"), String::from("cell,part,mean_s\n"));
        for cell in 0..25 {
            let _ = writeln!(long, "{cell},100000,2.1\n{cell},1000000000,2");
            for part in 0..10 {
                let _ = writeln!(parts, "{cell},{part},2");
            }
        }
        let sim = [
            ("sets", sets),
            ("disciplines", played),
            ("memory", memory),
            ("long", long),
            ("parts", parts),
            ("breakpoints", breakpoints),
            ("averages", averages),
            ("points", points),
        ];
        sim.into_iter().for_each(|(name, text)| write(format!("sim/{name}.csv"), text));
        write("live/machine.txt".into(), "a machine".into());
        for server in SERVERS {
            let mut cells = String::from(
                "cell,requests,failed,factor,utilization,lateness_p99_s,stolen,suspect,attempts,elapsed_s\n",
            );
            let costs = "request_s,unit_s,path_s,processor_unit_s,suspect\n0.0002,1e-9,0,1e-9,0\n";
            write(format!("live/{server}/server.csv"), costs.into());
            write(format!("live/{server}/doubts.txt"), "exponential_exponential: late\n".into());
            let mut probes = String::from("levels,level,units,response_s\n");
            for turn in 0..100 {
                for level in 1..=COUNT {
                    let units = 600_000 * level;
                    let response_s = 3e-4 + 1e-9 * units as f64 + 1e-7 * f64::from(turn % 7);
                    let _ = writeln!(probes, "0,{level},{units},{response_s}");
                }
            }
            write(format!("live/{server}/calibration.csv"), probes);
            for (number, cell) in Cell::all().into_iter().enumerate() {
                let (gaps, demands) = cell.draw(600, SERVICE_S / UTILIZATION, SERVICE_S, 3);
                let responses = responses_s(Kind::Ps, SERVICE_S, &gaps, &demands);
                let mut rows = String::from("gap_s,demand_s,response_s\n");
                for ((gap, demand), response) in gaps.iter().zip(&demands).zip(responses) {
                    let _ = writeln!(rows, "{gap},{demand},{response}");
                }
                write(format!("live/{server}/{}.csv", cell.key()), rows);
                let doubted = u8::from(server == suspect);
                let _ = writeln!(cells, "{number},600,0,1,0.8,0.0001,0,{doubted},1,2");
            }
            write(format!("live/{server}/cells.csv"), cells);
        }
    }

    #[test]
    fn the_page_concludes_from_the_files() {
        let folder = tempfile::tempdir().unwrap();
        runs(folder.path(), "");
        let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/bjornstad-2006/published");
        let page = folder.path().join("page.md");
        condense(&folder.path().join("live"), &folder.path().join("page").join(KEPT)).unwrap();
        super::write(folder.path(), &published, &page).unwrap();
        let text = fs::read_to_string(&page).unwrap();
        for wanted in [
            "gives 25 of 25 cells of Table 7.2 as printed",
            "24 of 25 cells come out as printed",
            // The measurement is PS: its own replay is without error, and the server is recognised.
            "- node: PS is clearly nearest, a factor of 1.00",
            "- apache-php: PS is clearly nearest, a factor of 1.00",
            // H rises in these files at every step.
            "| **holds** | 18, 0, 0 |",
            // What was measured of it has a verdict of its own.
            "H = 0.8 is clearly above 0.5 in 0 of 10 pairs, and clearly below in 0 | **cannot be decided** | 0, 0, 10 |",
            "in 0 of 10 pairs, and clearly below in 0\n",
            // His rule: 24 other cells, two targets, three disciplines; then 25 under FCFS; then noise above both.
            "PS: Pareto 2.01 gaps with exponential services; LAS: Pareto 2.01 gaps with exponential services; \
             slices, 1.1 E[S]: Pareto 2.01 gaps with exponential services | **holds** | 144, 0, 0 |",
            "| **holds** | 150, 0, 0 |",
            "| **holds** | 12, 0, 0 |",
            "Simulated, at 99 %: his worst case is the largest of the 25 under PS; LAS; slices, 1.1 E[S]. The plan for FCFS \
             is clearly exceeded by one of them under none. H = 0.8 clearly exceeds both under PS; LAS; slices, 1.1 E[S].",
            // A line of 1 ns a unit, and ten levels on it.
            "| node | his times | 1.000 |",
            "| **holds** | 20, 0, 0 |",
            "| **does not hold** | 0, 5, 0 |",
            "## What was found\n",
            "(bjornstad-2006/apache-php-noise-0.8.svg)",
        ] {
            assert!(text.contains(wanted), "no `{wanted}` in\n{text}");
        }
        assert!(fs::read_to_string(folder.path().join("page/node-exponential.svg")).unwrap().contains("95 % answered"));
        let beside = |file: &str| fs::read_to_string(folder.path().join("page").join(file)).unwrap();
        for (file, rows) in [("table-7.3.csv", 90), ("table-7.4.csv", 25), ("simulated.csv", 540), ("targets.csv", 96)]
        {
            assert_eq!(beside(file).lines().count(), 1 + rows, "{file}");
        }
        fs::remove_file(folder.path().join("sim/parts.csv")).unwrap();
        let error = super::write(folder.path(), &published, &page).unwrap_err().to_string();
        assert!(error.contains("parts.csv") && !error.contains('\n'), "{error}");
    }
    #[test]
    fn what_was_measured_in_a_suspect_run_is_not_judged() {
        let folder = tempfile::tempdir().unwrap();
        runs(folder.path(), "apache-php");
        let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/bjornstad-2006/published");
        let page = folder.path().join("page.md");
        condense(&folder.path().join("live"), &folder.path().join("page").join(KEPT)).unwrap();
        super::write(folder.path(), &published, &page).unwrap();
        let text = fs::read_to_string(&page).unwrap();
        let row =
            |number: u32| text.lines().find(|line| line.starts_with(&format!("| hypothesis {number} | "))).unwrap();
        // So few requests have no 99 %, so hypothesis 4 compares nothing.
        for measured in [2, 3] {
            assert!(row(measured).contains("| **not judged: SUSPECT run** |"), "{}", row(measured));
        }
        assert!(row(3).contains("(45 SUSPECT)"), "{}", row(3));
        for simulated in [1, 5] {
            assert!(!row(simulated).contains("SUSPECT"), "{}", row(simulated));
        }
        assert!(text.contains("- node: PS is clearly nearest"));
        assert!(text.contains("- apache-php: PS is nearest, not judged because 45 of 45 runs were SUSPECT"));
    }
}
