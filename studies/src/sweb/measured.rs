//! What was measured live, as a file that stands beside the page: `live.csv`, a row for each mean of sim, live and twin, with the
//! seed of its run and the verdict on it. It is made of run folders ([`condense`]), never by hand.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sojourn_lab::{Answers, Engine, VariantAnswers, Verdict};
use sojourn_stats::{Moments, measure};

use super::{ARRIVALS, MEAN, POLICY};
use crate::ReproduceError;
use crate::kept::{self, word};
use crate::number::Number;

/// The experiments of `live/`, by the name of the run folder.
pub(super) const RUNS: [&str; 4] = ["non-uniform", "skewed", "shared-ethernet", MIX];

/// The dynamic and secure mix of these, and its classes of requests, all together first.
pub(super) const MIX: &str = "secure";
pub(super) const MIX_CLASSES: &[&str] = &["", "static", "dynamic", SECURE];
pub(super) const SECURE: &str = "secure";

/// The engines whose means are kept.
const ENGINES: [&str; 3] = ["sim", "live", "twin"];

/// The file beside the page.
const FILE: &str = "live.csv";

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    experiment: String,
    policy: String,
    /// As the variant has it; empty where the experiment has one only.
    arrivals: String,
    /// Of which requests; empty: all.
    #[serde(default)]
    class: String,
    seed: u64,
    engine: String,
    /// Mean response time (s), and its interval where it has one.
    mean: f64,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    /// Of live: VALID, SUSPECT or INCOMPLETE.
    verdict: String,
}

/// All that was kept.
#[derive(Debug, Default)]
pub(super) struct Measured(pub(super) Vec<Row>);

/// Which rows: an experiment, a strategy, the arrivals where they vary, and the class of requests, empty for all.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) experiment: &'a str,
    pub(super) policy: &'a str,
    pub(super) arrivals: &'a str,
    pub(super) class: &'a str,
}

/// What an engine says of a case over all seeds (s).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) is_suspect: bool,
}

impl Measured {
    /// Reads the file in `folder`; nothing was measured where there is none.
    pub(super) fn read(folder: &Path) -> Result<Measured, ReproduceError> {
        kept::read(&folder.join(FILE)).map(Measured)
    }

    /// The rows of a case, in the order of their seeds.
    fn of(&self, case: Case<'_>, engine: &str) -> Vec<&Row> {
        let is_it = |row: &&Row| {
            (row.experiment.as_str(), row.policy.as_str()) == (case.experiment, case.policy)
                && (row.arrivals.as_str(), row.class.as_str()) == (case.arrivals, case.class)
                && row.engine == engine
        };
        let mut rows: Vec<&Row> = self.0.iter().filter(is_it).collect();
        rows.sort_by_key(|row| row.seed);
        rows
    }

    /// What an engine says of a case over its seeds; none where it was not asked.
    pub(super) fn spread(&self, case: Case<'_>, engine: &str) -> Option<Spread> {
        let rows = self.of(case, engine);
        let mut means: Vec<f64> = rows.iter().map(|row| row.mean).collect();
        means.sort_by(f64::total_cmp);
        let (least, most) = (*means.first()?, *means.last()?);
        let median = (means[(means.len() - 1) / 2] + means[means.len() / 2]) / 2.0;
        Some(Spread { median, least, most, is_suspect: rows.iter().any(|row| row.is_suspect()) })
    }

    /// The mean of one case over that of another, seed by seed, with Student's interval over the seeds; with one seed alone by
    /// the intervals within the two runs.
    pub(super) fn ratio(&self, one: Case<'_>, other: Case<'_>, engine: &str) -> Option<Number> {
        let (ones, others) = (self.of(one, engine), self.of(other, engine));
        let pairs = || ones.iter().filter_map(|a| others.iter().find(|b| b.seed == a.seed).map(|b| (*a, *b)));
        let is_suspect = pairs().any(|(a, b)| a.is_suspect() || b.is_suspect());
        let ratios: Moments = pairs().map(|(a, b)| a.mean / b.mean).collect();
        if let Some(found) = Number::of(&measure::mean_of_samples(&ratios), is_suspect) {
            return Some(found);
        }
        let (a, b) = pairs().next()?;
        let (low, high) = (a.ci_low? / b.ci_high?, a.ci_high? / b.ci_low?);
        Some(Number { value: a.mean / b.mean, low, high, is_suspect })
    }

    /// How many live runs of a case there are, and how many of them are not VALID.
    pub(super) fn runs(&self, case: Case<'_>) -> (usize, usize) {
        let rows = self.of(case, "live");
        (rows.len(), rows.iter().filter(|row| row.is_suspect()).count())
    }

    /// The seeds of live runs.
    pub(super) fn seeds(&self) -> Vec<u64> {
        let mut seeds: Vec<u64> = self.0.iter().filter(|row| row.engine == "live").map(|row| row.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        seeds
    }
}

impl Row {
    fn is_suspect(&self) -> bool {
        self.verdict != word(Verdict::Valid)
    }
}

/// The seeds of which there are run folders `seed-N` in `runs`, in order.
pub(super) fn seeds_in(runs: &Path) -> Result<Vec<u64>, ReproduceError> {
    let cannot = |e: std::io::Error| ReproduceError(format!("cannot read {}: {e}", runs.display()));
    let mut seeds = Vec::new();
    for entry in std::fs::read_dir(runs).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name();
        seeds.extend(name.to_str().and_then(|name| name.strip_prefix("seed-")?.parse::<u64>().ok()));
    }
    seeds.sort_unstable();
    Ok(seeds)
}

/// Writes the file in `kept` from the run folders `seed-1/non-uniform` and so on in `runs`; false where there is none.
pub(super) fn condense(runs: &Path, seeds: &[u64], kept: &Path) -> Result<bool, ReproduceError> {
    let mut rows = Vec::new();
    for seed in seeds {
        for experiment in RUNS {
            let path = runs.join(format!("seed-{seed}")).join(experiment);
            if path.exists() {
                let answers = Answers::open(&path).map_err(|e| ReproduceError(e.to_string()))?;
                rows.extend(of_run(&answers, experiment, *seed));
            }
        }
    }
    if rows.is_empty() { Ok(false) } else { kept::write(&kept.join(FILE), &rows).map(|()| true) }
}

fn of_run(answers: &Answers, experiment: &str, seed: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    for variant in &answers.variants {
        let classes = if experiment == MIX { MIX_CLASSES } else { &[""] };
        for (engine, class) in ENGINES.iter().flat_map(|engine| classes.iter().map(|class| (*engine, *class))) {
            let metric = if class.is_empty() { MEAN.to_owned() } else { format!("{MEAN}_{class}") };
            let estimate = Engine::named(engine).and_then(|engine| variant.estimate(engine, &metric));
            let Some((mean, estimate)) = estimate.and_then(|estimate| Some((estimate.value()?, estimate))) else {
                continue;
            };
            let (ci_low, ci_high) = estimate.interval().unzip();
            rows.push(Row {
                experiment: experiment.into(),
                policy: setting(variant, POLICY),
                arrivals: setting(variant, ARRIVALS),
                class: class.into(),
                seed,
                engine: engine.into(),
                mean,
                ci_low,
                ci_high,
                verdict: word(trust(answers, variant, engine)),
            });
        }
    }
    rows
}

/// What an engine's answers of a variant are worth.
pub(super) fn trust(answers: &Answers, variant: &VariantAnswers, engine: &str) -> Verdict {
    // The twin of a doubtful run is as good as the requests that it had.
    let live = variant.trust().filter(|_| engine != "sim").map_or(Verdict::Valid, |trust| trust.verdict);
    if answers.verdict == Verdict::Incomplete { Verdict::Incomplete } else { live }
}

pub(super) fn setting(variant: &VariantAnswers, wanted: &str) -> String {
    variant.setting(wanted).unwrap_or_default().to_owned()
}

#[cfg(test)]
impl Row {
    /// A row of a made-up world, a percent wide on either side.
    pub(super) fn made_up(case: Case<'_>, seed: u64, engine: &str, mean: f64, verdict: &str) -> Row {
        Row {
            experiment: case.experiment.into(),
            policy: case.policy.into(),
            arrivals: case.arrivals.into(),
            class: case.class.into(),
            seed,
            engine: engine.into(),
            mean,
            ci_low: Some(0.99 * mean),
            ci_high: Some(1.01 * mean),
            verdict: verdict.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Case<'_> = Case { experiment: "skewed", policy: "sweb", arrivals: "", class: "" };
    const OTHER: Case<'_> = Case { experiment: "skewed", policy: "stay", arrivals: "", class: "" };

    #[test]
    fn seeds_are_paired_and_a_doubtful_one_doubts_all() {
        let rows = |doubted: &str| {
            let of = |seed: u64| {
                let verdict = if seed == 2 { doubted } else { "VALID" };
                let mean = [3.0, 1.0, 2.0][seed as usize - 1];
                [
                    Row::made_up(ONE, seed, "live", mean, verdict),
                    Row::made_up(OTHER, seed, "live", 2.0 * mean, "VALID"),
                    Row::made_up(ONE, seed, "sim", 9.0, "VALID"),
                ]
            };
            Measured((1..=3).flat_map(of).collect())
        };
        let sound = rows("VALID");
        let spread = sound.spread(ONE, "live").unwrap();
        assert_eq!((spread.median, spread.least, spread.most, spread.is_suspect), (2.0, 1.0, 3.0, false));
        let ratio = sound.ratio(ONE, OTHER, "live").unwrap();
        assert!((ratio.value - 0.5).abs() < 1e-12 && (ratio.high - ratio.low).abs() < 1e-9 && !ratio.is_suspect);
        assert_eq!((sound.runs(ONE), sound.seeds()), ((3, 0), vec![1, 2, 3]));
        let doubted = rows("SUSPECT");
        assert!(doubted.spread(ONE, "live").unwrap().is_suspect && !doubted.spread(ONE, "sim").unwrap().is_suspect);
        assert!(doubted.ratio(ONE, OTHER, "live").unwrap().is_suspect);
        assert_eq!(doubted.runs(ONE), (3, 1));
        assert_eq!(sound.spread(Case { arrivals: "other", ..ONE }, "live"), None);
    }

    #[test]
    fn one_seed_alone_has_the_intervals_of_its_runs() {
        let rows = [Row::made_up(ONE, 1, "live", 1.0, "VALID"), Row::made_up(OTHER, 1, "live", 2.0, "VALID")];
        let ratio = Measured(rows.to_vec()).ratio(ONE, OTHER, "live").unwrap();
        assert!((ratio.low - 0.99 / 2.02).abs() < 1e-9 && (ratio.high - 1.01 / 1.98).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let rows = vec![
            Row::made_up(ONE, 1, "live", 1.0, "SUSPECT"),
            Row { ci_low: None, ci_high: None, ..Row::made_up(OTHER, 2, "sim", 2.0, "VALID") },
        ];
        kept::write(&folder.path().join(FILE), &rows).unwrap();
        assert_eq!(Measured::read(folder.path()).unwrap().0, rows);
        assert!(Measured::read(&folder.path().join("none")).unwrap().0.is_empty());
        let nothing = super::super::condense(folder.path(), folder.path()).unwrap_err().to_string();
        assert!(nothing.contains("no run folder such as seed-1/non-uniform"), "{nothing}");
    }
}
