//! Bjørnstad (2006): web server response times, queueing formulas and self-similar traffic.
//!
//! Three steps each leave files. [`simulate`] does his tables by simulation, a thousand times over. [`live`] measures
//! his 45 cells on two servers of this machine. [`write`] makes the page from these files and his tables. The first two
//! are no experiment files, because a cell is compared with replays of captured requests and not with a model's answer.
//! The price is that this study brings its own runs along.

mod convergence;
mod figures;
mod formula;
mod hypotheses;
mod lindley;
pub(crate) mod live;
mod measured;
mod memory;
mod published;
mod replay;
mod riddle;
mod series;
pub(crate) mod simulate;
mod tables;

use std::fmt::Write;
use std::path::Path;

use sojourn_lab::folder::write_whole;

use self::measured::Live;
use self::published::Published;
use self::simulate::Simulated;
use crate::ReproduceError;
use crate::verdict::LEGEND;

/// Writes the page at `page`, and its figures beside it, from the files of the other steps in `runs`.
pub(crate) fn write(runs: &Path, published: &Path, page: &Path) -> Result<(), ReproduceError> {
    let published = Published::read(published)?;
    let simulated = Simulated::read(&runs.join("sim"))?;
    let live = Live::read(&runs.join("live"))?;
    let folder = page.with_extension("");
    let fail = |e: std::io::Error| ReproduceError(format!("cannot write {}: {e}", page.display()));
    std::fs::create_dir_all(&folder).map_err(fail)?;
    let mut text = format!("{HEAD}{LEGEND}\n");
    let _ = writeln!(text, "Machine of the measurements: {}.\n", live.machine);
    text += &hypotheses::table(&published, &simulated, &live)?;
    text += &riddle::section(&published, &simulated, &live)?;
    text += &formula::section(&published)?;
    text += &convergence::section(&published, &simulated)?;
    text += &tables::responses(&published, &live)?;
    text += &tables::moments(&published, &live)?;
    text += &tables::hurst(&published, &live)?;
    text += &hypotheses::memory_table(&simulated);
    text += FIGURES;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for figure in figures::all(&live) {
        write_whole(&folder.join(format!("{}.svg", figure.file)), figure.svg.as_bytes()).map_err(fail)?;
        let _ = write!(text, "\n![{}]({name}/{}.svg)\n", figure.title, figure.file);
    }
    write_whole(page, text.as_bytes()).map_err(fail)
}

const HEAD: &str = "# Bjørnstad's server, formula and replay, again

Bjørnstad (2006) sent 100,000 requests in each of 45 cells, gaps by one law and demands by another at equal means, to one
Apache with PHP; he compared what he measured with a formula (4.25) and with a first-come-first-served replay. Here the
formula is computed, the replay simulated a thousand times over, and the cells are measured on a node whose threads spin
and on Apache with PHP, one core each, the client on the other, a connection per request.
[How he is read](../../experiments/bjornstad-2006/READINGS.md), and
[his tables](../../experiments/bjornstad-2006/published/README.md). This page is written by `make bjornstad`; no figure and
no verdict on it is typed by hand.

Intervals are of 95 %, inside a run by batch means.

";

const FIGURES: &str = "
## Distributions of response times

The share of requests that take longer, measured (solid) and replayed FCFS (dashed), with the lines of 80 and 90 %, as he
drew them, and of 95 and 99 %.
";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::live::{SERVERS, SERVICE_S, UTILIZATION};
    use super::memory::{HURST, MARGINALS};
    use super::replay::{DISCIPLINES, Kind, responses_s};
    use super::series::Cell;
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
        let mut played = String::from("cell,discipline,set,mean_s,std_s\n");
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
                    let _ = writeln!(played, "{cell},{discipline},{set},{mean},{mean}");
                }
            }
            for marginal in 0..MARGINALS.len() {
                for (hurst, h) in HURST.iter().enumerate() {
                    let mean = 1.0 + hurst as f64 + 0.01 * f64::from(set);
                    let _ = writeln!(memory, "{marginal},{hurst},{set},{h},{mean},{mean},{mean}");
                }
            }
        }
        let (mut long, mut parts) = (String::from("cell,jobs,mean_s\n"), String::from("cell,part,mean_s\n"));
        for cell in 0..25 {
            let _ = writeln!(long, "{cell},100000,2.1\n{cell},1000000000,2");
            for part in 0..10 {
                let _ = writeln!(parts, "{cell},{part},2");
            }
        }
        let sim = [("sets", sets), ("disciplines", played), ("memory", memory), ("long", long), ("parts", parts)];
        sim.into_iter().for_each(|(name, text)| write(format!("sim/{name}.csv"), text));
        write("live/machine.txt".into(), "a machine".into());
        for server in SERVERS {
            let mut cells =
                String::from("cell,requests,failed,factor,utilization,lateness_p99_s,stolen,suspect,elapsed_s\n");
            write(format!("live/{server}/server.csv"), "request_s,unit_s,path_s\n0.0002,1e-9,0\n".into());
            write(format!("live/{server}/doubts.txt"), String::new());
            for (number, cell) in Cell::all().into_iter().enumerate() {
                let (gaps, demands) = cell.draw(600, SERVICE_S / UTILIZATION, SERVICE_S, 3);
                let responses = responses_s(Kind::Ps, SERVICE_S, &gaps, &demands);
                let mut rows = String::from("gap_s,demand_s,response_s\n");
                for ((gap, demand), response) in gaps.iter().zip(&demands).zip(responses) {
                    let _ = writeln!(rows, "{gap},{demand},{response}");
                }
                write(format!("live/{server}/{}.csv", cell.key()), rows);
                let doubted = u8::from(server == suspect);
                let _ = writeln!(cells, "{number},600,0,1,0.8,0.0001,0,{doubted},2");
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
            "(page/apache-php-noise-0.8.svg)",
        ] {
            assert!(text.contains(wanted), "no `{wanted}` in\n{text}");
        }
        assert!(fs::read_to_string(folder.path().join("page/node-exponential.svg")).unwrap().contains("95 % answered"));
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
        super::write(folder.path(), &published, &page).unwrap();
        let text = fs::read_to_string(&page).unwrap();
        let row = |number: u32| text.lines().find(|line| line.starts_with(&format!("| {number} | "))).unwrap();
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
