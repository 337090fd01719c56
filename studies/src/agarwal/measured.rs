//! What was measured live, as a file that stands beside the page, so that the page is written again without measuring again.
//!
//! `live.csv` has a row for each number of sim and live, with its interval and the verdict on its run; `site-dies.csv` where
//! requests went while a cluster died. Both are made of run folders ([`condense`]), never by hand; what has no run folder any
//! more stays as it was kept. The price: two more files to keep; the run folders, which have all else, are not kept.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sojourn_lab::{Answers, Engine, VariantAnswers, Verdict};

use super::grid::{self, Load};
use super::{MEAN, NEAREST, POLICY};
use crate::ReproduceError;
use crate::kept::{self, word, write};
use crate::number::Number;

/// The load of an experiment in which a cluster dies.
pub(super) const DIES: &str = "site-dies";

/// The load of an experiment in which one server of a cluster dies; in a row with when it is back, as [`server_dies`] has it.
const SERVER_DIES: &str = "server-dies";

/// When the server that died is back.
const BACK: &str = "fault.0.until";

/// For how long (s) the DNS went on naming the cluster that had died.
pub(super) const NAMED_FOR: &str = "named_for";

/// What is kept of a run.
const METRICS: [&str; 8] = [
    MEAN,
    "response_time_p50",
    "response_time_p90",
    "throughput",
    "error_ratio",
    "abandoned_ratio",
    "utilization",
    NAMED_FOR,
];

/// A line of `live.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    /// As his grid has them; 0 for [`DIES`] and [`SERVER_DIES`].
    processes: u32,
    /// `even`, `uneven`, [`DIES`] or that of [`server_dies`].
    load: String,
    policy: String,
    /// Whether clients that are refused try the next address.
    fails_over: bool,
    engine: String,
    metric: String,
    estimate: f64,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    /// Of live: VALID, SUSPECT or INCOMPLETE.
    verdict: String,
}

/// A line of `site-dies.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PlaceRow {
    policy: String,
    fails_over: bool,
    engine: String,
    pub(super) place: String,
    pub(super) second: f64,
    pub(super) per_second: f64,
}

/// All that was kept.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) rows: Vec<Row>,
    pub(super) places: Vec<PlaceRow>,
}

/// Which rows: a load, and what the DNS and its clients do.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) processes: u32,
    pub(super) load: &'a str,
    pub(super) policy: &'a str,
    pub(super) fails_over: bool,
}

impl Measured {
    /// Reads the files in `folder`; nothing was measured where there are none.
    pub(super) fn read(folder: &Path) -> Result<Measured, ReproduceError> {
        Ok(Measured { rows: kept::read(&folder.join("live.csv"))?, places: kept::read(&folder.join("site-dies.csv"))? })
    }

    /// A number of a case, with its interval and the trust in its run; none where there is none.
    pub(super) fn number(&self, case: Case<'_>, engine: &str, metric: &str) -> Option<Number> {
        let row = self.row(case, engine, metric)?;
        let (low, high) = (row.ci_low?, row.ci_high?);
        Some(Number { value: row.estimate, low, high, is_suspect: row.verdict != word(Verdict::Valid) })
    }

    /// Its value alone.
    pub(super) fn value(&self, case: Case<'_>, engine: &str, metric: &str) -> Option<f64> {
        self.row(case, engine, metric).map(|row| row.estimate)
    }

    /// The verdict on the live run of a case.
    pub(super) fn verdict(&self, case: Case<'_>) -> Option<&str> {
        self.row(case, "live", MEAN).map(|row| row.verdict.as_str())
    }

    /// The loads of his grid that were measured live, in the order of the file.
    pub(super) fn loads(&self) -> Vec<(u32, &str)> {
        let mut loads: Vec<(u32, &str)> = Vec::new();
        for row in self.rows.iter().filter(|row| row.engine == "live" && row.processes > 0) {
            if !loads.contains(&(row.processes, row.load.as_str())) {
                loads.push((row.processes, &row.load));
            }
        }
        loads
    }

    fn row(&self, case: Case<'_>, engine: &str, metric: &str) -> Option<&Row> {
        let Case { processes, load, policy, fails_over } = case;
        self.rows.iter().find(|row| {
            (row.processes, row.fails_over) == (processes, fails_over)
                && (row.load.as_str(), row.policy.as_str()) == (load, policy)
                && (row.engine.as_str(), row.metric.as_str()) == (engine, metric)
        })
    }
}

impl PlaceRow {
    /// Whether it is of a case and an engine.
    pub(super) fn is_of(&self, policy: &str, fails_over: bool, engine: &str) -> bool {
        (self.policy.as_str(), self.fails_over, self.engine.as_str()) == (policy, fails_over, engine)
    }
}

/// Writes the files in `kept` from the run folders in `runs`, `sim-60-even`, `live-60-even` and so on: of the loads that are
/// there, and of [`DIES`] and [`SERVER_DIES`]; and what [`super::capacity`] keeps. Loads without a run folder keep their rows.
pub(crate) fn condense(runs: &Path, published: &Path, kept: &Path) -> Result<(), ReproduceError> {
    let mut measured = Measured::default();
    let before = Measured::read(kept)?;
    let grid = grid::read(published)?;
    let mut has_run = false;
    let of_load =
        |load: &Load| (format!("{}-{}", load.processes, load.spread), load.number() as u32, load.spread.clone());
    let deaths = [DIES, SERVER_DIES].map(|name| (name.to_owned(), 0, name.to_owned()));
    for (name, processes, load) in grid.iter().map(of_load).chain(deaths) {
        for engine in ["sim", "live"] {
            let path = runs.join(format!("{engine}-{name}"));
            if !path.exists() {
                let is_of = |row: &&Row| {
                    (row.processes, row.engine.as_str()) == (processes, engine) && row.load.starts_with(&load)
                };
                measured.rows.extend(before.rows.iter().filter(is_of).cloned());
                let is_of = |row: &&PlaceRow| load == DIES && row.engine == engine;
                measured.places.extend(before.places.iter().filter(is_of).cloned());
                continue;
            }
            has_run = true;
            let run = Answers::open(&path).map_err(|e| ReproduceError(e.to_string()))?;
            measured.rows.extend(of_run(&run, (processes, &load), engine));
            if load == DIES {
                measured.rows.extend(named_for(&run));
                measured.places.extend(places(&run));
            }
        }
    }
    let has_more = super::capacity::condense(runs, kept)?;
    if !has_run && has_more {
        return Ok(());
    }
    if !has_run {
        return Err(ReproduceError(format!("{} has no run folder of these loads", runs.display())));
    }
    write(&kept.join("live.csv"), &measured.rows)?;
    write(&kept.join("site-dies.csv"), &measured.places)
}

/// The load of a row where a server dies and is back at that instant, e.g. `90 s`.
pub(super) fn server_dies(back: &str) -> String {
    format!("{SERVER_DIES}, back at {back}")
}

/// What a variant sets of policy and clients.
fn settings(variant: &VariantAnswers) -> (String, bool) {
    let policy = variant.setting(POLICY).unwrap_or_default();
    (policy.to_owned(), variant.setting("client.fails_over") == Some("true"))
}

fn of_run(run: &Answers, (processes, load): (u32, &str), engine: &str) -> Vec<Row> {
    let mut found = Vec::new();
    for variant in &run.variants {
        let (mut policy, fails_over) = settings(variant);
        // Its file has his policy alone, which therefore does not vary.
        if load == SERVER_DIES && policy.is_empty() {
            policy = NEAREST.to_owned();
        }
        let load = variant.setting(BACK).filter(|_| load == SERVER_DIES).map_or_else(|| load.to_owned(), server_dies);
        let live = variant.trust().filter(|_| engine == "live").map_or(Verdict::Valid, |trust| trust.verdict);
        let verdict = if run.verdict == Verdict::Incomplete { Verdict::Incomplete } else { live };
        let of_engine = variant.answers.iter().filter(|answer| answer.engine.name() == engine);
        let kept = of_engine.flat_map(|answer| &answer.measures).filter(|of| METRICS.contains(&of.metric.as_str()));
        found.extend(kept.filter_map(|measure| {
            let (ci_low, ci_high) = measure.estimate.interval().unzip();
            Some(Row {
                processes,
                load: load.clone(),
                policy: policy.clone(),
                fails_over,
                engine: engine.into(),
                metric: measure.metric.clone(),
                estimate: measure.estimate.value()?,
                ci_low,
                ci_high,
                verdict: word(verdict),
            })
        }));
    }
    found
}

/// From the events of a run: how long after the fault began the DNS said that the site was down.
fn named_for(run: &Answers) -> Vec<Row> {
    let (mut found, mut since) = (Vec::new(), Vec::new());
    for event in &run.events {
        // What happened in a run stands before the line that says that it was answered.
        if event["event"] != "answered" {
            since.push(event.clone());
            continue;
        }
        let events = std::mem::take(&mut since);
        let number = event["variant"].as_u64().filter(|_| event["engine"] == "live");
        let Some(variant) = number.and_then(|number| run.variants.get(number as usize)) else { continue };
        let (policy, fails_over) = settings(variant);
        found.extend(until_down(&events).map(|after| Row {
            processes: 0,
            load: DIES.into(),
            policy,
            fails_over,
            engine: "live".into(),
            metric: NAMED_FOR.into(),
            estimate: after,
            ci_low: None,
            ci_high: None,
            verdict: word(variant.trust().map_or(Verdict::Valid, |trust| trust.verdict)),
        }));
    }
    found
}

/// The time (s) from the beginning of the first fault until the DNS saw a site down.
fn until_down(events: &[Value]) -> Option<f64> {
    let all = |is: &'static str| events.iter().filter(move |event| event["event"] == is);
    let began = all("fault").find(|event| event["is"] == "begun")?["at_s"].as_f64()?;
    let down = all("site_down").filter_map(|event| event["at_s"].as_f64()).filter(|at| *at >= began);
    down.min_by(f64::total_cmp).map(|at| at - began)
}

fn places(run: &Answers) -> Vec<PlaceRow> {
    let mut rows = Vec::new();
    for (variant, answer) in run.variants.iter().flat_map(|of| of.answers.iter().map(move |answer| (of, answer))) {
        let (policy, fails_over) = settings(variant);
        let flows = answer.flows.iter().filter(|_| answer.engine != Engine::Twin);
        for (flow, (second, per_second)) in flows.flat_map(|flow| flow.points.iter().map(move |point| (flow, point))) {
            rows.push(PlaceRow {
                policy: policy.clone(),
                fails_over,
                engine: answer.engine.to_string(),
                place: flow.to.clone(),
                second: *second,
                // Drawn, not computed with.
                per_second: (per_second * 100.0).round() / 100.0,
            });
        }
    }
    rows
}

#[cfg(test)]
impl Row {
    /// A row of a made-up world, a percent wide on either side.
    pub(super) fn made_up(case: Case<'_>, engine: &str, metric: &str, value: f64, verdict: &str) -> Row {
        Row {
            processes: case.processes,
            load: case.load.into(),
            policy: case.policy.into(),
            fails_over: case.fails_over,
            engine: engine.into(),
            metric: metric.into(),
            estimate: value,
            ci_low: Some(0.99 * value),
            ci_high: Some(1.01 * value),
            verdict: verdict.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sojourn_lab::{Answer, Flow, Trust};
    use sojourn_stats::Measure;

    use super::*;
    use crate::answers::sampled;

    #[test]
    fn how_long_a_dead_site_is_named_is_from_the_fault_on() {
        let fault = |is: &str, at: f64| json!({"event": "fault", "is": is, "at_s": at});
        let site = |event: &str, at: f64| json!({"event": event, "site": "c1", "at_s": at});
        // Events of the parts come after those of the faults, and one was down before.
        let events = [fault("begun", 40.1), fault("over", 90.0), site("site_down", 2.0), site("site_up", 4.0)];
        assert_eq!(until_down(&events), None);
        let events = [&events[..], &[site("site_down", 48.6), site("site_down", 60.0)]].concat();
        assert!((until_down(&events).unwrap() - 8.5).abs() < 1e-9);
        assert_eq!(until_down(&events[1..]), None);
    }

    #[test]
    fn what_is_measured_again_replaces_its_own_rows_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [runs, kept] = ["runs", "kept"].map(|name| folder.path().join(name));
        std::fs::create_dir_all(&kept).unwrap();
        let case = |processes, load| Case { processes, load, policy: "random", fails_over: false };
        let row = |case, engine| Row::made_up(case, engine, MEAN, 0.5, "VALID");
        let cases = [case(20, "even"), case(30, "uneven"), case(0, DIES)];
        let rows = cases.map(|case| ["sim", "live"].map(|engine| row(case, engine))).concat();
        write(&kept.join("live.csv"), &rows).unwrap();
        let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/agarwal-2001/published");
        // An answer of 30-uneven alone, of sim: a run folder, as `run` writes it.
        let measures = vec![Measure::new(MEAN, "s", sampled(0.7))];
        let answers = vec![Answer { measures, ..Answer::new(Engine::Sim) }];
        let settings = vec![(POLICY.to_owned(), "random".to_owned())];
        let variant = VariantAnswers { label: "random".into(), settings, answers };
        assert!(condense(&runs, &published, &kept).is_err(), "there is no run folder at all");
        let run = Answers { schema: 2, settings: vec![POLICY.into()], variants: vec![variant], ..Answers::default() };
        run.write(runs.join("sim-30-uneven")).unwrap();
        condense(&runs, &published, &kept).unwrap();
        let read = Measured::read(&kept).unwrap();
        let mean = |case, engine| read.value(case, engine, MEAN);
        assert_eq!(mean(case(30, "uneven"), "sim"), Some(0.7));
        assert_eq!(cases.map(|case| mean(case, "live")), [Some(0.5); 3]);
        assert_eq!(read.rows.len(), 6);
    }

    #[test]
    fn a_server_that_dies_does_so_under_his_policy() {
        let answers =
            vec![Answer { measures: vec![Measure::new(MEAN, "s", sampled(0.2))], ..Answer::new(Engine::Live) }];
        let settings = vec![(BACK.to_owned(), "60 s".to_owned())];
        let variants = vec![VariantAnswers { label: "60 s".into(), settings, answers }];
        let rows = of_run(&Answers { variants, ..Answers::default() }, (0, SERVER_DIES), "live");
        let case = Case { processes: 0, load: &server_dies("60 s"), policy: NEAREST, fails_over: false };
        assert_eq!(Measured { rows, places: Vec::new() }.verdict(case), Some("VALID"));
    }

    #[test]
    fn what_is_kept_is_read_again_with_its_trust() {
        let settings = [(POLICY, "random"), ("client.fails_over", "true")];
        let own = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let answer = |engine, metrics: &[&str], rate: f64| Answer {
            measures: metrics.iter().map(|metric| Measure::new(*metric, "s", sampled(0.5))).collect(),
            flows: vec![Flow { to: "c1".into(), points: vec![(0.0, rate)] }],
            ..Answer::new(engine)
        };
        let trust = Some(Trust { verdict: Verdict::Suspect, ..Trust::default() });
        let sim = Answer { flows: Vec::new(), ..answer(Engine::Sim, &[MEAN], 0.0) };
        let live = Answer { trust, ..answer(Engine::Live, &[MEAN, "share_1"], 1.234) };
        let answers = vec![sim, live, answer(Engine::Twin, &[], 2.0)];
        let variant = VariantAnswers { label: "random".into(), settings: settings.map(own).to_vec(), answers };
        let run = Answers { variants: vec![variant], ..Answers::default() };
        let kept = tempfile::tempdir().unwrap();
        let found = ["sim", "live"].map(|engine| of_run(&run, (60, "even"), engine)).concat();
        write(&kept.path().join("live.csv"), &found).unwrap();
        write(&kept.path().join("site-dies.csv"), &self::places(&run)).unwrap();
        let read = Measured::read(kept.path()).unwrap();
        assert_eq!((read.rows.len(), read.places.len()), (2, 1), "shares and the twin are left out");
        let case = Case { processes: 60, load: "even", policy: "random", fails_over: true };
        assert!(
            read.number(case, "live", MEAN).unwrap().is_suspect && !read.number(case, "sim", MEAN).unwrap().is_suspect
        );
        assert_eq!((read.verdict(case), read.loads()), (Some("SUSPECT"), vec![(60, "even")]));
        assert_eq!(read.number(Case { fails_over: false, ..case }, "live", MEAN), None);
        assert!(read.places[0].is_of("random", true, "live") && read.places[0].per_second == 1.23);
        assert!(Measured::read(&kept.path().join("none")).unwrap().rows.is_empty());
    }
}
