//! The most requests per second, live: what share of them fails a little below the rate at which the simulator begins to fail
//! some, and a little above it.
//!
//! Figures come from `live-maxima.csv` beside the page, a row for each engine's share in each run. A share that is nothing is
//! judged as it is: a run either fails a request or does not.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sojourn_lab::{Answers, Engine};
use sojourn_stats::Estimate;

use super::ARRIVALS;
use super::measured::{setting, trust};
use super::readings::together;
use crate::ReproduceError;
use crate::finding::{self, Finding};
use crate::kept::{self, word};
use crate::verdict::Comparison;

/// The experiment, as its file and its run folders are called.
pub(super) const NAME: &str = "maxima";

/// The file beside the page.
const FILE: &str = "live-maxima.csv";

const FAILED: &str = "error_ratio";
const SERVERS: &str = "system.tier.node.targets.servers";

/// How many nodes, and requests per second below the simulator's most and above it.
const CASES: [(&str, &str, [u32; 2]); 2] = [("six nodes", "6", [41, 51]), ("one node", "1", [10, 14])];

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    servers: String,
    arrivals: String,
    seed: u64,
    engine: String,
    /// Share of the requests.
    failed: f64,
    /// Of live: VALID, SUSPECT or INCOMPLETE.
    verdict: String,
}

/// Keeps in `kept` what the run folders `seed-N/maxima` of these seeds in `runs` say; false where there is none.
pub(super) fn condense(runs: &Path, seeds: &[u64], kept: &Path) -> Result<bool, ReproduceError> {
    let mut rows = Vec::new();
    for seed in seeds {
        let path = runs.join(format!("seed-{seed}")).join(NAME);
        if path.exists() {
            rows.extend(of_run(&Answers::open(&path).map_err(|e| ReproduceError(e.to_string()))?, *seed));
        }
    }
    if rows.is_empty() { Ok(false) } else { kept::write(&kept.join(FILE), &rows).map(|()| true) }
}

fn of_run(answers: &Answers, seed: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    for variant in &answers.variants {
        for engine in [Engine::Sim, Engine::Live] {
            rows.extend(variant.estimate(engine, FAILED).and_then(Estimate::value).map(|failed| Row {
                servers: setting(variant, SERVERS),
                arrivals: setting(variant, ARRIVALS),
                seed,
                engine: engine.to_string(),
                failed,
                verdict: word(trust(answers, variant, engine.name())),
            }));
        }
    }
    rows
}

/// The section, of what was kept beside the page; nothing where nothing was.
pub(super) fn text(kept: &Path) -> Result<String, ReproduceError> {
    let rows: Vec<Row> = kept::read(&kept.join(FILE))?;
    Ok(if rows.is_empty() { String::new() } else { section(&rows) })
}

fn section(rows: &[Row]) -> String {
    let seeds: BTreeSet<String> = rows.iter().map(|row| row.seed.to_string()).collect();
    let mut text = format!("{HEAD}Seeds: {}.\n\n", seeds.into_iter().collect::<Vec<_>>().join(", "));
    text += "| nodes | requests/s | failed, sim | failed, live | runs, not VALID |\n|---|---|---|---|---|\n";
    for (name, servers, rates) in CASES {
        for rate in rates {
            let [sim, live] = ["sim", "live"].map(|engine| of(rows, servers, rate, engine));
            let doubted = live.iter().filter(|row| row.is_suspect()).count();
            let (sim, count, live) = (shown(&sim), live.len(), shown(&live));
            let _ = writeln!(text, "| {name} | {rate} | {sim} | {live} | {count}, {doubted} |");
        }
    }
    text.push('\n');
    text + &finding::table(&findings(rows), "they found")
}

fn of<'a>(rows: &'a [Row], servers: &str, rate: u32, engine: &str) -> Vec<&'a Row> {
    let arrivals = together(rate);
    let is_it = |row: &&Row| row.servers == servers && row.arrivals == arrivals && row.engine == engine;
    rows.iter().filter(is_it).collect()
}

/// The least and the most of shares.
fn shown(rows: &[&Row]) -> String {
    let shares = || rows.iter().map(|row| 100.0 * row.failed);
    let (least, most) = (shares().fold(f64::MAX, f64::min), shares().fold(0.0, f64::max));
    match () {
        () if rows.is_empty() => "-".into(),
        () if most == 0.0 => "none".into(),
        () if least == most => format!("{most:.2} %"),
        () => format!("{least:.2} to {most:.2} %"),
    }
}

fn findings(rows: &[Row]) -> Vec<Finding> {
    let claims = [
        "Six nodes live: no request fails at nine tenths of sim's most, and some at eleven tenths",
        "One node live: the same",
    ];
    let of_case = |(claim, (_, servers, [below, above])): (&'static str, (&str, &str, [u32; 2]))| {
        let [below, above] = [below, above].map(|rate| of(rows, servers, rate, "live"));
        let judged = |row: &Row, is_to_fail: bool| Comparison {
            holds: Some((row.failed > 0.0) == is_to_fail),
            is_suspect: row.is_suspect(),
        };
        let ours = format!("below: {}; above: {}", shown(&below), shown(&above));
        let comparisons = below.iter().map(|row| judged(row, false)).chain(above.iter().map(|row| judged(row, true)));
        Finding { place: "4.1, live", claim, comparisons: comparisons.collect(), ours, why: WHY }
    };
    claims.into_iter().zip(CASES).map(of_case).collect()
}

const WHY: &str = "a node's connections count until the kernel has the last byte of a reply, and how long that takes is a matter \
                   of single packets.";

impl Row {
    fn is_suspect(&self) -> bool {
        self.verdict != "VALID"
    }
}

const HEAD: &str = "
### The most requests per second, live

Files of 1.5 MB for 30 s, in the [live system](../../experiments/sweb-1996/live/maxima.toml) with its network that queues: the
simulator answers 46 requests per second on six nodes and 12 on one without a failure. A node that has as many connections as it
takes refuses one more.

";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    /// Five seeds in which these shares fail below the most and above it.
    fn world(below: [f64; 5], above: [f64; 5], verdict: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        for (_, servers, rates) in CASES {
            for (rate, shares) in rates.into_iter().zip([below, above]) {
                for (seed, failed) in (1..).zip(shares) {
                    let row = |engine: &str, verdict: &str| Row {
                        servers: servers.into(),
                        arrivals: together(rate),
                        seed,
                        engine: engine.into(),
                        failed,
                        verdict: verdict.into(),
                    };
                    rows.extend([row("sim", "VALID"), row("live", verdict)]);
                }
            }
        }
        rows
    }

    #[test]
    fn both_sides_of_the_most_are_judged() {
        use Verdict::{Fails, Holds, InPart, Undecidable, Unjudged};
        let verdicts = |rows: &[Row]| findings(rows).iter().map(Finding::verdict).collect::<Vec<_>>();
        let some = [0.01, 0.02, 0.03, 0.02, 0.01];
        assert_eq!(verdicts(&world([0.0; 5], some, "VALID")), [Holds; 2]);
        assert_eq!(verdicts(&world([0.0, 0.0, 0.0, 0.0, 0.01], some, "VALID")), [InPart; 2]);
        assert_eq!(verdicts(&world([0.0; 5], [0.0, 0.01, 0.01, 0.01, 0.01], "VALID")), [InPart; 2]);
        assert_eq!(verdicts(&world(some, [0.0; 5], "VALID")), [Fails; 2]);
        assert_eq!(verdicts(&world([0.0; 5], some, "SUSPECT")), [Unjudged; 2]);
        assert_eq!(verdicts(&[]), [Undecidable; 2]);
    }

    #[test]
    fn the_section_shows_each_rate_with_its_doubts() {
        let text = section(&world([0.0; 5], [0.01, 0.02, 0.03, 0.02, 0.01], "SUSPECT"));
        assert!(text.contains("| six nodes | 41 | none | none | 5, 5 |"), "{text}");
        assert!(text.contains("| one node | 14 | 1.00 to 3.00 % | 1.00 to 3.00 % | 5, 5 |"), "{text}");
        assert!(text.contains("Seeds: 1, 2, 3, 4, 5."), "{text}");
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(super::text(folder.path()).unwrap(), "");
        kept::write(&folder.path().join(FILE), &world([0.0; 5], [0.0; 5], "VALID")).unwrap();
        assert!(super::text(folder.path()).unwrap().contains("| six nodes | 51 | none | none | 5, 0 |"));
    }
}
