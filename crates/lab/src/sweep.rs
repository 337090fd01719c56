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
//! than Parquet. Of a point a sweep keeps what tells it from the others, and makes its document when it is asked
//! ([`Sweep::point`]): documents of all points would take a hundred times as much memory as the points.
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
use std::sync::{Mutex, OnceLock, PoisonError};

use sojourn_dispatch::Catalogue;
use sojourn_stats::Stream;

use self::key::{Files, key};
use self::rounds::Run;
pub use self::store::{Record, Store};
use crate::answer::{Answers, NAME, ObjectiveAnswer, VariantAnswers, Verdict};
use crate::folder::SCHEMA;
use crate::outcome;
use crate::run::{Progress, RunError};
use crate::spec::{Engine, SpecError};
use crate::variants::{Combination, Experiment};

/// The points of an experiment, and which engines to ask.
pub struct Sweep {
    experiment: Experiment,
    /// The same with nothing that varies.
    bare: Experiment,
    by: Vec<Engine>,
    beside: String,
    columns: Vec<String>,
    combinations: Vec<Combination>,
    /// Axes along which points do not share their seed.
    independent: Vec<String>,
    /// Requests that all points together may simulate.
    budget: Option<u64>,
    files: Mutex<Files>,
    /// The keys of all points; a process that is asked for some of them needs no others.
    keys: OnceLock<Vec<String>>,
}

/// One combination of the varied settings, ready to be asked.
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

/// The number of a point to ask, and how many requests it is to simulate; none: what its experiment says.
pub type Due = (usize, Option<u64>);

/// What the records of a sweep come to.
struct Known<'a> {
    /// Of each point the record of the last round that has one.
    latest: Vec<Option<&'a Record>>,
    /// What the present round lacks.
    due: Vec<Due>,
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
        Ok(Sweep {
            experiment: experiment.clone(),
            bare: experiment.without_axes(),
            by: by.to_vec(),
            beside: beside.to_owned(),
            columns,
            combinations,
            independent: Vec::new(),
            budget: None,
            files: Mutex::default(),
            keys: OnceLock::new(),
        })
    }

    /// The same with other random numbers for each value of these settings, which are compared no more.
    ///
    /// # Errors
    /// When one of them does not vary.
    pub fn independent(self, axes: &[String]) -> Result<Sweep, SpecError> {
        if let Some(unknown) = axes.iter().find(|axis| !self.columns.contains(axis)) {
            let columns = self.columns.join(", ");
            return Err(SpecError(format!("independent: `{unknown}` does not vary; what does is {columns}")));
        }
        Ok(Sweep { independent: axes.to_vec(), keys: OnceLock::new(), ..self })
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
        if requests < self.combinations.len() as u64 {
            return wrong(&format!(
                "{requests} requests for {} points: give at least some thousands each",
                self.combinations.len()
            ));
        }
        self.budget = Some(requests);
        Ok(self)
    }

    /// The points, in the order of the grid, each made when it is reached.
    pub fn points(&self) -> impl ExactSizeIterator<Item = Point> + '_ {
        (0..self.combinations.len()).map(|number| self.made(number, None))
    }

    /// Who is asked.
    pub fn by(&self) -> &[Engine] {
        &self.by
    }

    /// The point of this number with so many requests to simulate.
    pub fn point(&self, number: usize, requests: Option<u64>) -> Option<Point> {
        (number < self.combinations.len()).then(|| self.made(number, requests))
    }

    /// The point of this number, with its document. Documents are large, so none outlives its point.
    fn made(&self, number: usize, requests: Option<u64>) -> Point {
        let settings = &self.combinations[number].settings;
        let experiment = self.alone(number, requests);
        let asked = experiment.as_ref().unwrap_or(&self.experiment);
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(&mut files, asked, settings, &self.by, &self.beside);
        let experiment = experiment.map_err(|error| error.to_string());
        Point { key, settings: settings.clone(), requests, experiment }
    }

    /// The experiment of a point by itself, in which nothing varies; it is not checked yet.
    fn alone(&self, number: usize, requests: Option<u64>) -> Result<Experiment, SpecError> {
        let Combination { settings, changes, .. } = &self.combinations[number];
        let changes: Vec<(&str, &str)> = changes.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let mut alone = self.bare.changed(&changes)?;
        if !self.independent.is_empty() {
            let named = settings.iter().filter(|(key, _)| self.independent.contains(key));
            let name: Vec<String> = named.map(|(key, value)| format!("{key} = {value}")).collect();
            // A whole number that a file can have.
            let seed = Stream::new(alone.seed(), "independent", &name.join(", ")).below(1 << 52);
            alone = alone.changed(&[("seed", &seed.to_string())])?;
        }
        match requests {
            None => Ok(alone),
            Some(count) => alone.changed(&[("run.max_jobs", &count.to_string()), ("run.precision", "none")]),
        }
    }

    /// The keys of all points.
    fn keys(&self) -> &[String] {
        self.keys.get_or_init(|| self.points().map(|point| point.key).collect())
    }

    /// What is to be asked now: the points without a record; with a budget those of the present round, after which the next one
    /// is due. Empty at the end.
    pub fn due(&self, records: &BTreeMap<String, Record>) -> Vec<Due> {
        self.known(records).due
    }

    fn known<'a>(&self, records: &'a BTreeMap<String, Record>) -> Known<'a> {
        let count = self.combinations.len();
        let mut known = Known { latest: vec![None; count], due: Vec::new() };
        let Some(budget) = self.budget else {
            self.keys().iter().enumerate().for_each(|(number, key)| known.take(records, key, (number, None)));
            return known;
        };
        let mut runs: Vec<Option<Run>> = vec![None; count];
        let mut assigned = vec![Some(rounds::first(budget, count)); count];
        let mut spent = 0.0;
        for share in rounds::SHARES.into_iter().skip(1).chain([0.0]) {
            // Number, requests, and whether there is such an experiment.
            let mut asked: Vec<(usize, u64, bool)> = Vec::new();
            for (number, requests) in assigned.iter().enumerate() {
                let Some(requests) = *requests else { continue };
                let point = self.made(number, Some(requests));
                known.take(records, &point.key, (number, Some(requests)));
                asked.push((number, requests, point.experiment.is_ok()));
            }
            if !known.due.is_empty() {
                break;
            }
            for (number, requests, is_one) in asked {
                let answered = known.latest[number].map(Record::answers).unwrap_or_default();
                let simulated = answered.answer(Engine::Sim).map_or(&[][..], |answer| &answer.measures);
                spent += if simulated.is_empty() { 0.0 } else { requests as f64 };
                runs[number] = is_one.then(|| Run { requests, width: rounds::width(simulated) });
            }
            assigned = rounds::next(&runs, (budget as f64 * share - spent).max(0.0));
        }
        known
    }

    /// The answers of all points of which there is a record, in the order of the grid.
    pub fn answers(&self, records: &BTreeMap<String, Record>) -> Answers {
        let Known { latest, due } = self.known(records);
        let known = self.combinations.iter().zip(latest).filter_map(|(point, record)| Some((point, record?)));
        let mut variants = Vec::new();
        let mut objectives: Vec<ObjectiveAnswer> = Vec::new();
        for (number, (point, record)) in known.enumerate() {
            let label = point.label.clone();
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
        let (answered, all) = (variants.len(), self.combinations.len());
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

    /// The rows of all points of which there is a record, as CSV: those of `outcomes.csv`, then the differences; of a point
    /// that failed one whose metric is `failed` and whose estimate says why.
    ///
    /// # Errors
    /// When a row cannot be written.
    pub fn table(&self, records: &BTreeMap<String, Record>) -> io::Result<Vec<u8>> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        let failures: BTreeMap<usize, String> = self.failures(records).into_iter().collect();
        let answers = self.answers(records);
        let is_named = outcome::has_names(&answers);
        let heading = is_named.then_some(NAME);
        csv.write_record(self.columns.iter().map(String::as_str).chain(heading).chain(outcome::COLUMNS))?;
        for (number, variant) in answers.variants.iter().enumerate() {
            let name = is_named.then(|| variant.name_alone().unwrap_or_default());
            let settings = variant.settings.iter().map(|(_, value)| value.as_str());
            let settings: Vec<&str> = settings.chain(name.as_deref()).collect();
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
    /// Takes the record of what was asked, whose key this is; where there is none it is due.
    fn take(&mut self, records: &'a BTreeMap<String, Record>, key: &str, asked: Due) {
        match records.get(key) {
            Some(record) => self.latest[asked.0] = Some(record),
            None => self.due.push(asked),
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
