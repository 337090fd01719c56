//! A sweep: every combination of `[vary]` is a point, asked by itself, and kept in a store that a later sweep takes up.
//!
//! [`run`](crate::run()) refuses an experiment one of whose variants is wrong, and forgets all when it is interrupted: right for
//! ten variants, wrong for a thousand. Here a point that fails is an answer too, which says why. All points have the experiment's
//! seed, so that they are compared under common random numbers, with the differences as rows ([`pairs`]); axes that are named
//! independent have seeds of their own. With a budget the points are asked in [`rounds`].
//!
//! A point's key is the SHA-256 of all that its answers hang on: version, engines, the text of its experiment, and what is in
//! the files which that text names. Its [`Record`] has the rows as text whose numbers read back to the same bits, and answers
//! are always put together from records in the order of the grid. So they are the same bytes whoever asked the points, in
//! whatever order, resumed or not. A store is one file with a line of JSON for each finished point, since lines can be appended
//! whole: a frame file such as Parquet would be written anew for every point. The price: a store is read as a whole, and larger
//! than Parquet.
//!
//! ```
//! use sojourn_lab::prelude::*;
//! use sojourn_lab::sweep::{Store, Sweep};
//!
//! let text = r#"
//! name = "two servers"
//! [workload]
//! kind = "open"
//! arrivals = "exponential(utilization = 0.7)"
//! [[system.tier]]
//! face = "gateway"
//! policy = "random"
//! targets = { servers = 2 }
//! [system.server]
//! discipline = "ps"
//! demand = "exponential(mean = 10 ms)"
//! [vary]
//! utilization = [0.5, 1.5]
//! "#;
//! let experiment = Experiment::new("two.toml".as_ref(), text.into(), &[])?;
//! let sweep = Sweep::new(&experiment, &[Engine::Theory], "")?;
//! let folder = tempfile::tempdir()?;
//! let mut store = Store::open(&folder.path().join("points.jsonl"))?;
//! for point in sweep.points() {
//!     store.put(point.ask(sweep.by(), &Progress::none())?)?;
//! }
//! let answers = sweep.answers(store.records());
//! assert_eq!(answers.variants[0].answers[0].metric(Metric::RESPONSE_TIME_MEAN)?.value(), 0.02);
//! assert!(sweep.failures(store.records())[0].1.contains("utilization 1.5"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod key;
mod pairs;
mod rounds;
mod store;

use std::collections::BTreeMap;
use std::io;

use sojourn_dispatch::Catalogue;
use sojourn_stats::Stream;

use self::key::key;
use self::rounds::Run;
pub use self::store::{Record, Store};
use crate::answer::{Answers, ObjectiveAnswer, VariantAnswers, Verdict};
use crate::folder::SCHEMA;
use crate::outcome;
use crate::run::{Progress, RunError};
use crate::spec::{Engine, SpecError};
use crate::variants::{Experiment, label};

/// The points of an experiment, and which engines to ask.
pub struct Sweep {
    experiment: Experiment,
    by: Vec<Engine>,
    beside: String,
    columns: Vec<String>,
    points: Vec<Point>,
    /// Axes along which points do not share their seed.
    independent: Vec<String>,
    /// Requests that all points together may simulate.
    budget: Option<u64>,
}

/// One combination of the varied settings.
#[derive(Clone)]
pub struct Point {
    /// What tells it from the others: the SHA-256 of all that its answers hang on, in hexadecimal.
    pub key: String,
    /// The settings and their values, in the order of the columns.
    pub settings: Vec<(String, String)>,
    /// How many requests it is to simulate; none: what its experiment says.
    pub requests: Option<u64>,
    /// It by itself, or why there is no such experiment.
    experiment: Result<Experiment, String>,
}

/// What the records of a sweep come to.
struct Known<'a> {
    /// Of each point the record of the last round that has one.
    latest: Vec<Option<&'a Record>>,
    /// What the present round lacks, with the number of the point.
    due: Vec<(usize, Point)>,
}

impl Sweep {
    /// The points of `experiment`, which `by` is asked about. `beside`: what else the answers hang on, such as the code of
    /// policies of one's own.
    ///
    /// # Errors
    /// When what varies is not right, or for live, whose runs are measurements: each is another one.
    pub fn new(experiment: &Experiment, by: &[Engine], beside: &str) -> Result<Sweep, SpecError> {
        if by.iter().any(|engine| !matches!(engine, Engine::Theory | Engine::Sim)) {
            let why =
                "a sweep asks theory and sim; a live run is another measurement each time: ask it with `sojourn run`";
            return Err(SpecError(format!("{}: {why}", experiment.file.display())));
        }
        let (columns, combinations) = experiment.combinations()?;
        let point = |(settings, alone): (Vec<(String, String)>, Result<Experiment, SpecError>)| {
            let key = key(alone.as_ref().ok().unwrap_or(experiment), &settings, by, beside);
            Point { key, settings, requests: None, experiment: alone.map_err(|error| error.to_string()) }
        };
        let points = combinations.into_iter().map(point).collect();
        Ok(Sweep {
            experiment: experiment.clone(),
            by: by.to_vec(),
            beside: beside.to_owned(),
            columns,
            points,
            independent: Vec::new(),
            budget: None,
        })
    }

    /// The same with other random numbers for each value of these settings, which are compared no more.
    ///
    /// # Errors
    /// When one of them does not vary.
    pub fn independent(mut self, axes: &[String]) -> Result<Sweep, SpecError> {
        if let Some(unknown) = axes.iter().find(|axis| !self.columns.contains(axis)) {
            let columns = self.columns.join(", ");
            return Err(SpecError(format!("independent: `{unknown}` does not vary; what does is {columns}")));
        }
        if axes.is_empty() {
            return Ok(self);
        }
        let own = |point: &Point| {
            let named = point.settings.iter().filter(|(key, _)| axes.contains(key));
            let name: Vec<String> = named.map(|(key, value)| format!("{key} = {value}")).collect();
            let alone = point.experiment.clone()?;
            // A whole number that a file can have.
            let seed = Stream::new(alone.seed(), "independent", &name.join(", ")).below(1 << 52);
            alone.set("seed", &seed.to_string()).map_err(|error| error.to_string())
        };
        self.points = self.points.iter().map(|point| self.again(point, own(point), None)).collect();
        self.independent = axes.to_vec();
        Ok(self)
    }

    /// The same within a budget of simulated requests for all points together, spent in rounds.
    ///
    /// # Errors
    /// Where nothing is simulated, or the experiment says how long a replication is, which leaves nothing to assign.
    pub fn within_budget(mut self, requests: u64) -> Result<Sweep, SpecError> {
        let wrong = |why: &str| Err(SpecError(format!("{}: budget: {why}", self.experiment.file.display())));
        if !self.by.contains(&Engine::Sim) {
            return wrong("it is of simulated requests, and nothing is simulated: ask sim");
        }
        if self.experiment.has("run", "duration") {
            return wrong("`duration` says how long each replication is: leave one of both out");
        }
        if requests < self.points.len() as u64 {
            return wrong(&format!(
                "{requests} requests for {} points: give at least some thousands each",
                self.points.len()
            ));
        }
        self.budget = Some(requests);
        Ok(self)
    }

    /// The points, in the order of the grid.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Who is asked.
    pub fn by(&self) -> &[Engine] {
        &self.by
    }

    /// The point of this number with so many requests to simulate.
    pub fn point(&self, number: usize, requests: Option<u64>) -> Option<Point> {
        let point = self.points.get(number)?;
        let Some(count) = requests else { return Some(point.clone()) };
        let longer = |alone: Experiment| {
            let alone = alone.set("run.max_jobs", &count.to_string())?;
            alone.set("run.precision", "none")
        };
        let experiment = point.experiment.clone().and_then(|alone| longer(alone).map_err(|error| error.to_string()));
        Some(self.again(point, experiment, requests))
    }

    fn again(&self, point: &Point, experiment: Result<Experiment, String>, requests: Option<u64>) -> Point {
        let settings = point.settings.clone();
        let key = key(experiment.as_ref().ok().unwrap_or(&self.experiment), &settings, &self.by, &self.beside);
        Point { key, settings, requests, experiment }
    }

    /// What is to be asked now, with the numbers of the points: those without a record; with a budget those of the present round,
    /// after which the next one is due. Empty at the end.
    pub fn due(&self, records: &BTreeMap<String, Record>) -> Vec<(usize, Point)> {
        self.known(records).due
    }

    fn known<'a>(&self, records: &'a BTreeMap<String, Record>) -> Known<'a> {
        let mut known = Known { latest: vec![None; self.points.len()], due: Vec::new() };
        let Some(budget) = self.budget else {
            known.take(records, self.points.iter().cloned().enumerate());
            return known;
        };
        let mut runs: Vec<Option<Run>> = vec![None; self.points.len()];
        let mut assigned = vec![Some(rounds::first(budget, self.points.len())); self.points.len()];
        let mut spent = 0.0;
        for share in rounds::SHARES.into_iter().skip(1).chain([0.0]) {
            let asked = assigned.iter().enumerate();
            let asked: Vec<(usize, Point)> = asked
                .filter_map(|(number, requests)| Some((number, self.point(number, Some((*requests)?))?)))
                .collect();
            known.take(records, asked.iter().cloned());
            if !known.due.is_empty() {
                break;
            }
            for (number, point) in asked {
                let requests = point.requests.unwrap_or_default();
                let answered = known.latest[number].map(Record::answers).unwrap_or_default();
                let simulated = answered.answer(Engine::Sim).map_or(&[][..], |answer| &answer.measures);
                spent += if simulated.is_empty() { 0.0 } else { requests as f64 };
                runs[number] = point.experiment.is_ok().then(|| Run { requests, width: rounds::width(simulated) });
            }
            assigned = rounds::next(&runs, (budget as f64 * share - spent).max(0.0));
        }
        known
    }

    /// The answers of all points of which there is a record, in the order of the grid.
    pub fn answers(&self, records: &BTreeMap<String, Record>) -> Answers {
        let Known { latest, due } = self.known(records);
        let known = self.points.iter().zip(latest).filter_map(|(point, record)| Some((point, record?)));
        let mut variants = Vec::new();
        let mut objectives: Vec<ObjectiveAnswer> = Vec::new();
        for (number, (point, record)) in known.enumerate() {
            let label = label(point.settings.iter().map(|(key, value)| (&**key, &**value)));
            let mut variant = record.answers();
            record.notes.iter().for_each(|(engine, note)| variant.answer_mut(*engine).notes.push(note.clone()));
            if let (Some(why), Some(first)) = (&record.failed, self.by.first()) {
                variant.answer_mut(*first).notes.push(why.clone());
            }
            if !record.replications.is_empty() {
                let values = record.replications.iter().map(|text| text.parse().ok()).collect();
                variant.answer_mut(Engine::Sim).replications = vec![(pairs::METRIC.into(), values)];
            }
            variant.answers.iter_mut().for_each(|answer| answer.variant.clone_from(&label));
            objectives.extend(record.objectives.iter().map(|of| ObjectiveAnswer { variant: number, ..of.clone() }));
            variants.push(VariantAnswers { label, settings: point.settings.clone(), ..variant });
        }
        let (answered, all) = (variants.len(), self.points.len());
        let reasons = match (due.is_empty(), answered == all) {
            (true, _) => Vec::new(),
            (false, true) => vec![format!("the budget is not spent: {} points are due in this round", due.len())],
            (false, false) => vec![format!("{answered} of {all} points have answers")],
        };
        let mut answers = Answers {
            schema: SCHEMA,
            name: self.experiment.name().unwrap_or_else(|| "sweep".into()),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: self.experiment.seed(),
            spec: self.experiment.text(),
            command: self.experiment.command(&self.by),
            settings: self.columns.clone(),
            variants,
            objectives,
            verdict: if reasons.is_empty() { Verdict::Valid } else { Verdict::Incomplete },
            reasons,
            ..Answers::default()
        };
        pairs::add(&mut answers, &self.independent);
        answers
    }

    /// The rows of all points of which there is a record, as CSV: those of `outcomes.csv`, then the differences; and of a
    /// point that failed one whose metric is `failed` and whose estimate says why.
    ///
    /// # Errors
    /// When a row cannot be written.
    pub fn table(&self, records: &BTreeMap<String, Record>) -> io::Result<Vec<u8>> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(self.columns.iter().map(String::as_str).chain(outcome::COLUMNS))?;
        let failures: BTreeMap<usize, String> = self.failures(records).into_iter().collect();
        for (number, variant) in self.answers(records).variants.iter().enumerate() {
            let settings: Vec<&str> = variant.settings.iter().map(|(_, value)| value.as_str()).collect();
            if let Some(why) = failures.get(&number) {
                csv.write_record(settings.iter().copied().chain(["", "failed", "", why.as_str(), "", "", ""]))?;
                continue;
            }
            for answer in &variant.answers {
                for measure in &answer.measures {
                    let numbers = outcome::cells(&measure.estimate);
                    let named = [answer.engine.name(), measure.metric.as_str(), measure.unit.as_str()];
                    let numbers = numbers.iter().map(String::as_str);
                    csv.write_record(settings.iter().copied().chain(named).chain(numbers))?;
                }
            }
        }
        csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
    }

    /// The points that failed, by their place among those that have a record, and why.
    pub fn failures(&self, records: &BTreeMap<String, Record>) -> Vec<(usize, String)> {
        let known = self.known(records).latest.into_iter().flatten();
        known.enumerate().filter_map(|(place, record)| Some((place, record.failed.clone()?))).collect()
    }
}

impl<'a> Known<'a> {
    /// Takes the records of what was asked; what has none is due.
    fn take(&mut self, records: &'a BTreeMap<String, Record>, asked: impl Iterator<Item = (usize, Point)>) {
        for (number, point) in asked {
            match records.get(&point.key) {
                Some(record) => self.latest[number] = Some(record),
                None => self.due.push((number, point)),
            }
        }
    }
}

impl Point {
    /// The same asked with names of policies looked up in `catalogue`, on so many threads at most. Its key is that of the code
    /// which [`Sweep::new`] was told of.
    #[must_use]
    pub fn with(self, catalogue: &Catalogue, threads: usize) -> Point {
        let experiment = self.experiment.map(|alone| alone.with_policies(catalogue).on_threads(threads));
        Point { experiment, ..self }
    }

    /// Asks about it. What is wrong with it is in the record.
    ///
    /// # Errors
    /// When it was interrupted: it then has no record.
    pub fn ask(&self, by: &[Engine], progress: &Progress<'_>) -> Result<Record, RunError> {
        let none = Record { key: self.key.clone(), ..Record::default() };
        let failed = |why: String| Record { failed: Some(why), ..none.clone() };
        let experiment = match &self.experiment {
            Ok(experiment) => experiment,
            Err(why) => return Ok(failed(why.clone())),
        };
        let answers = match experiment.ask(by, progress) {
            Ok(answers) => answers,
            Err(interrupted @ RunError::Interrupted(_)) => return Err(interrupted),
            Err(_) if progress.is_cancelled() => return Err(RunError::Interrupted(String::new())),
            Err(error) => return Ok(failed(error.to_string())),
        };
        if answers.verdict == Verdict::Incomplete {
            return Err(RunError::Interrupted(answers.name));
        }
        let said = || answers.all().flat_map(|of| of.notes.iter().map(|note| (of.engine, note.clone())));
        if answers.is_empty() {
            let why: Vec<String> = said().map(|(engine, note)| format!("{engine}: {note}")).collect();
            return Ok(failed(why.join("; ")));
        }
        let notes = said().collect();
        let simulated = answers.variants.first().and_then(|variant| variant.answer(Engine::Sim));
        let replications = simulated.and_then(|answer| answer.replications(pairs::METRIC)).unwrap_or_default();
        let replications = replications.iter().map(|value| value.map_or(String::new(), |of| format!("{of:?}")));
        let (replications, objectives) = (replications.collect(), answers.objectives.clone());
        match outcome::to_csv(&answers).map(String::from_utf8) {
            Ok(Ok(rows)) => Ok(Record { notes, objectives, replications, rows, ..none }),
            _ => Ok(failed("its rows could not be written".into())),
        }
    }
}
