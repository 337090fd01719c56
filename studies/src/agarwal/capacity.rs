//! One cluster offered more than it can do: how long those wait that it serves and how many it serves, by sim and live, with a
//! limit on the connections of its servers and without.
//!
//! The criterion stands in `overload.toml`, where it was written before the first live run; here it is judged by whole intervals.
//! Sim's figures come from the run folder, its ratios replication by replication; live's are kept in `overload.csv` beside the
//! page, and its ratio is of separate runs, so that its interval is wide. The price: a live run of a few seconds may leave its
//! ratio open.

use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sojourn_lab::{Engine, Verdict};

use super::Setting;
use crate::ReproduceError;
use crate::answers::Answers;
use crate::finding::{self, Finding};
use crate::kept::{self, word};
use crate::number::{Number, interval, known, quotient, scaled};
use crate::verdict::below;

/// The experiment, as its file and its run folders are called.
pub(super) const NAME: &str = "overload";

const P95: &str = "response_time_p95";
const SERVED: &str = "throughput";

/// What its two servers can do (1/s).
const CAPACITY: f64 = 200.0;

/// How many times longer the 95th percentile may be than at 0.9 of the capacity.
const LONGER: f64 = 2.0;

/// The share of the capacity that is to be served.
const SHARE: f64 = 0.9;

const ARRIVALS: &str = "arrivals";
const LIMIT: &str = "system.tier.front node.limit";
const MOST: &str = "exponential(rate = 180 /s)";
const BEYOND: &str = "exponential(rate = 300 /s)";

/// What is offered, the limit, and both as the experiment has them.
type Case = (&'static str, &'static str, [Setting<'static>; 2]);

/// At 0.9, and at 1.5 without a limit and with it.
const CASES: [Case; 3] = [
    ("0.9", "none", [(ARRIVALS, MOST), (LIMIT, "")]),
    ("1.5", "none", [(ARRIVALS, BEYOND), (LIMIT, "")]),
    ("1.5", "12 connections", [(ARRIVALS, BEYOND), (LIMIT, "{ connections = 12, return = 9 }")]),
];

/// The places of the cases.
const BASE: usize = 0;
const OPEN: usize = 1;
const LIMITED: usize = 2;

/// A line of `overload.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    arrivals: String,
    limit: String,
    metric: String,
    estimate: f64,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    /// VALID, SUSPECT or INCOMPLETE.
    verdict: String,
}

/// What one engine says.
struct Figures {
    engine: &'static str,
    p95: [Option<Number>; 3],
    served: [Option<Number>; 3],
    /// The 95th percentile of each case over that of the first.
    longer: [Option<Number>; 3],
}

/// The section, with sim's run folder and what was kept of live in `kept`.
pub(super) fn text(runs: &Path, kept: &Path) -> Result<String, ReproduceError> {
    let sim = of_sim(&Answers::read(&runs.join(NAME), "sim")?);
    Ok(section(&sim, &kept::read::<Row>(&kept.join("overload.csv"))?))
}

/// Keeps what the run folder `live-overload` in `runs` says; false where there is none.
pub(super) fn condense(runs: &Path, kept: &Path) -> Result<bool, ReproduceError> {
    let path = runs.join(format!("live-{NAME}"));
    if !path.exists() {
        return Ok(false);
    }
    let run = sojourn_lab::Answers::open(&path).map_err(|e| ReproduceError(e.to_string()))?;
    kept::write(&kept.join("overload.csv"), &rows(&run)).map(|()| true)
}

fn rows(run: &sojourn_lab::Answers) -> Vec<Row> {
    let of_variant = |variant: &sojourn_lab::VariantAnswers| {
        let live = variant.trust().map_or(Verdict::Valid, |trust| trust.verdict);
        let verdict = if run.verdict == Verdict::Incomplete { Verdict::Incomplete } else { live };
        let of = |wanted: &str| variant.setting(wanted).unwrap_or_default().to_owned();
        let measures = variant.answer(Engine::Live).into_iter().flat_map(|answer| &answer.measures);
        let kept = measures.filter(|measure| [P95, SERVED].contains(&measure.metric.as_str()));
        let row = |measure: &sojourn_stats::Measure| {
            let (ci_low, ci_high) = measure.estimate.interval().unzip();
            Some(Row {
                arrivals: of(ARRIVALS),
                limit: of(LIMIT),
                metric: measure.metric.clone(),
                estimate: measure.estimate.value()?,
                ci_low,
                ci_high,
                verdict: word(verdict),
            })
        };
        kept.filter_map(row).collect::<Vec<_>>()
    };
    run.variants.iter().flat_map(of_variant).collect()
}

fn of_sim(answers: &Answers) -> Figures {
    let of = |metric: &str| CASES.map(|(_, _, settings)| answers.number(&settings, metric));
    let longer = CASES.map(|(_, _, settings)| answers.ratio(P95, &settings, &CASES[BASE].2));
    Figures { engine: "sim", p95: of(P95), served: of(SERVED), longer }
}

fn of_live(rows: &[Row]) -> Figures {
    let of = |metric: &str| {
        CASES.map(|(_, _, [arrivals, limit])| {
            let row = row(rows, (arrivals.1, limit.1), metric)?;
            let is_suspect = row.verdict != word(Verdict::Valid);
            Some(Number { value: row.estimate, low: row.ci_low?, high: row.ci_high?, is_suspect })
        })
    };
    let p95 = of(P95);
    Figures { engine: "live", p95, served: of(SERVED), longer: p95.map(|case| quotient(case, p95[BASE])) }
}

fn row<'r>(rows: &'r [Row], case: (&str, &str), metric: &str) -> Option<&'r Row> {
    rows.iter().find(|row| (row.arrivals.as_str(), row.limit.as_str()) == case && row.metric == metric)
}

fn section(sim: &Figures, rows: &[Row]) -> String {
    let live = of_live(rows);
    let mut text = format!(
        "{HEAD}| offered | limit | p95, sim (ms) | p95, live (ms) | served, sim (/s) | served, live (/s) | \
                            live run |\n|---|---|---|---|---|---|---|\n"
    );
    for (place, (offered, limit, [arrivals, of_limit])) in CASES.into_iter().enumerate() {
        let kept = |metric| row(rows, (arrivals.1, of_limit.1), metric);
        // What grows for as long as a run lasts has no interval, and is shown all the same.
        let shown = |number: Option<Number>, metric, factor: f64, digits| match (number, kept(metric)) {
            (None, Some(row)) => format!("{:.digits$}", row.estimate * factor),
            (number, _) => interval(scaled(number, factor), digits),
        };
        let cells = [
            interval(scaled(sim.p95[place], 1e3), 0),
            shown(live.p95[place], P95, 1e3, 0),
            interval(sim.served[place], 1),
            shown(live.served[place], SERVED, 1.0, 1),
        ];
        let verdict = kept(P95).map_or("-", |row| row.verdict.as_str());
        let _ = writeln!(text, "| {offered} | {limit} | {} | {verdict} |", cells.join(" | "));
    }
    text.push('\n');
    if rows.is_empty() {
        text += "Live has not been measured yet: `make agarwal` does it.\n\n";
    }
    let both: Vec<Finding> =
        [sim, &live].into_iter().filter(|of| of.engine == "sim" || !rows.is_empty()).flat_map(findings).collect();
    text + &finding::table(&both, "stated before") + "\n"
}

/// The criterion of the experiment's file, judged.
fn findings(of: &Figures) -> Vec<Finding> {
    let shown = |number| interval(number, 2);
    vec![
        Finding {
            place: of.engine,
            claim: "With the limit the 95th percentile of those that are served is at most twice that at 0.9",
            comparisons: vec![below(of.longer[LIMITED], known(LONGER))],
            ours: format!("{} times", shown(of.longer[LIMITED])),
            why: "twelve connections are a longer queue than most requests meet at 0.9.",
        },
        Finding {
            place: of.engine,
            claim: "With the limit at least 0.9 of the capacity is served",
            comparisons: vec![below(known(SHARE * CAPACITY), of.served[LIMITED])],
            ours: format!("{} of it", shown(scaled(of.served[LIMITED], 1.0 / CAPACITY))),
            why: "a server that refuses while it has nothing to do has too low a limit, or takes clients back too late.",
        },
        Finding {
            place: of.engine,
            claim: "Without the limit the 95th percentile is more than twice that at 0.9",
            comparisons: vec![below(known(LONGER), of.longer[OPEN])],
            ours: format!("{} times", shown(of.longer[OPEN])),
            why: "something else than the limit refuses or loses requests.",
        },
    ]
}

const HEAD: &str = "\
## A cluster beyond its capacity

[One cluster](../../experiments/agarwal-2001/overload.toml) of two servers that can do 200 requests per second is offered 0.9 and
1.5 of that. At 1.5 it runs without a limit, where every request waits longer than the one before, and with at most twelve
connections at a server: a client that finds both full is refused at once. The criterion was written into the file before the
first live run. What grows for as long as a live run lasts has no interval, and nothing is concluded from it.

";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::made_up as number;
    use crate::verdict::Verdict as Word;

    /// Live rows of a world with these 95th percentiles (s) and so many served, each so many parts of itself wide.
    fn rows_of(p95: [f64; 3], served: [f64; 3], wide: f64, verdict: &str) -> Vec<Row> {
        let of = |metric: &str, values: [f64; 3]| {
            let row = |((_, _, [arrivals, limit]), value): (Case, f64)| Row {
                arrivals: arrivals.1.into(),
                limit: limit.1.into(),
                metric: metric.into(),
                estimate: value,
                ci_low: Some(value * (1.0 - wide)),
                ci_high: Some(value * (1.0 + wide)),
                verdict: verdict.into(),
            };
            CASES.into_iter().zip(values).map(row).collect::<Vec<_>>()
        };
        [of(P95, p95), of(SERVED, served)].concat()
    }

    fn verdicts(rows: &[Row]) -> Vec<Word> {
        findings(&of_live(rows)).iter().map(Finding::verdict).collect()
    }

    #[test]
    fn the_criterion_is_judged_in_both_directions_and_by_whole_intervals() {
        let of = |p95, served| verdicts(&rows_of(p95, served, 0.02, "VALID"));
        assert_eq!(of([0.19, 20.0, 0.30], [180.0, 200.0, 199.0]), [Word::Holds; 3]);
        assert_eq!(of([0.19, 20.0, 0.45], [180.0, 200.0, 199.0]), [Word::Fails, Word::Holds, Word::Holds]);
        assert_eq!(of([0.19, 20.0, 0.30], [180.0, 200.0, 150.0]), [Word::Holds, Word::Fails, Word::Holds]);
        assert_eq!(of([0.19, 0.25, 0.30], [180.0, 200.0, 199.0]), [Word::Holds, Word::Holds, Word::Fails]);
        let near = rows_of([0.19, 20.0, 0.36], [180.0, 200.0, 182.0], 0.1, "VALID");
        assert_eq!(
            verdicts(&near),
            [Word::Undecidable, Word::Undecidable, Word::Holds],
            "1.89 times and 0.91, or more"
        );
        assert_eq!(verdicts(&rows_of([0.19, 20.0, 0.30], [180.0, 200.0, 199.0], 0.02, "SUSPECT")), [Word::Unjudged; 3]);
        assert_eq!(verdicts(&[]), [Word::Undecidable; 3]);
    }

    #[test]
    fn what_has_no_interval_is_shown_and_not_judged() {
        let mut rows = rows_of([0.154, 19.126, 0.295], [181.4, 203.8, 203.7], 0.02, "VALID");
        let grows =
            rows.iter_mut().find(|row| row.metric == P95 && row.arrivals == BEYOND && row.limit.is_empty()).unwrap();
        (grows.ci_low, grows.ci_high) = (None, None);
        assert_eq!(verdicts(&rows), [Word::Holds, Word::Holds, Word::Undecidable]);
        let p95 = [number(0.16, 0.22), number(19.0, 20.3), number(0.29, 0.30)];
        let served = [number(178.0, 182.0), number(199.0, 203.0), number(198.0, 203.0)];
        let longer = [known(1.0), number(100.0, 120.0), number(1.4, 1.8)];
        let sim = Figures { engine: "sim", p95, served, longer };
        let text = section(&sim, &rows);
        assert!(
            text.contains("| 1.5 | none | 19650 (19000 to 20300) | 19126 | 201.0 (199.0 to 203.0) | 203.8 "),
            "{text}"
        );
        let limited = "| sim | With the limit the 95th percentile of those that are served is at most twice that at 0.9 | \
                       1.60 (1.40 to 1.80) times | **holds** |";
        assert!(text.contains(limited) && text.matches("| live | ").count() == 3, "{text}");
        let unmeasured = section(&sim, &[]);
        assert!(
            unmeasured.contains("Live has not been measured yet") && !unmeasured.contains("| live | "),
            "{unmeasured}"
        );
    }
}
