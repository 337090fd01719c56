//! A sweep: every combination of `[vary]` is a point, asked by itself, and kept in a store that a later sweep takes up.
//!
//! [`run`](crate::run()) refuses an experiment one of whose variants is wrong, and forgets all when it is interrupted: right for
//! ten variants, wrong for a thousand. Here a point that fails is an answer too, which says why. All points have the experiment's
//! seed, so that they are compared under common random numbers.
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

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sojourn_stats::input;

use crate::answer::{Answers, VariantAnswers, Verdict};
use crate::folder::SCHEMA;
use crate::outcome;
use crate::run::{Progress, RunError};
use crate::spec::{Engine, SpecError};
use crate::variants::{Experiment, label};

/// The points of an experiment, and whom to ask.
pub struct Sweep {
    experiment: Experiment,
    by: Vec<Engine>,
    columns: Vec<String>,
    points: Vec<Point>,
}

/// One combination of the varied settings.
#[derive(Clone)]
pub struct Point {
    /// What tells it from the others: the SHA-256 of all that its answers hang on, in hexadecimal.
    pub key: String,
    /// The settings and their values, in the order of the columns.
    pub settings: Vec<(String, String)>,
    /// It by itself, or why there is no such experiment.
    experiment: Result<Experiment, String>,
}

/// What is known of a finished point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`Point::key`].
    pub key: String,
    /// Why it has no answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// What engines say besides, each with its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<(Engine, String)>,
    /// Its rows as `outcomes.csv` has them; empty where it failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rows: String,
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
            Point { key, settings, experiment: alone.map_err(|error| error.to_string()) }
        };
        let points = combinations.into_iter().map(point).collect();
        Ok(Sweep { experiment: experiment.clone(), by: by.to_vec(), columns, points })
    }

    /// The points, in the order of the grid.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Who is asked.
    pub fn by(&self) -> &[Engine] {
        &self.by
    }

    /// The answers of all points of which there is a record, in the order of the grid.
    pub fn answers(&self, records: &BTreeMap<String, Record>) -> Answers {
        let of = |point: &Point| {
            let record = records.get(&point.key)?;
            let label = label(point.settings.iter().map(|(key, value)| (&**key, &**value)));
            let mut variant = VariantAnswers { label: label.clone(), ..VariantAnswers::default() };
            if record.failed.is_none() {
                let mut alone = Answers { variants: vec![variant], ..Answers::default() };
                outcome::from_csv(&record.rows, &mut alone).expect("a record was read before it was taken");
                variant = alone.variants.swap_remove(0);
            }
            record.notes.iter().for_each(|(engine, note)| variant.answer_mut(*engine).notes.push(note.clone()));
            if let (Some(why), Some(first)) = (&record.failed, self.by.first()) {
                variant.answer_mut(*first).notes.push(why.clone());
            }
            variant.answers.iter_mut().for_each(|answer| answer.variant.clone_from(&label));
            Some(VariantAnswers { settings: point.settings.clone(), ..variant })
        };
        let variants: Vec<VariantAnswers> = self.points.iter().filter_map(of).collect();
        let is_whole = variants.len() == self.points.len();
        let missing = format!("{} of {} points have answers", variants.len(), self.points.len());
        Answers {
            schema: SCHEMA,
            name: self.experiment.name().unwrap_or_else(|| "sweep".into()),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: self.experiment.seed(),
            spec: self.experiment.text(),
            command: self.experiment.command(&self.by),
            settings: self.columns.clone(),
            variants,
            verdict: if is_whole { Verdict::Valid } else { Verdict::Incomplete },
            reasons: if is_whole { Vec::new() } else { vec![missing] },
            ..Answers::default()
        }
    }

    /// The rows of all points of which there is a record, as CSV: those of `outcomes.csv`, and of a point that failed one whose
    /// metric is `failed` and whose estimate says why.
    ///
    /// # Errors
    /// When a row cannot be written.
    pub fn table(&self, records: &BTreeMap<String, Record>) -> io::Result<Vec<u8>> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(self.columns.iter().map(String::as_str).chain(outcome::COLUMNS))?;
        for (point, record) in self.points.iter().filter_map(|point| Some((point, records.get(&point.key)?))) {
            let settings: Vec<&str> = point.settings.iter().map(|(_, value)| value.as_str()).collect();
            if let Some(why) = &record.failed {
                csv.write_record(settings.iter().copied().chain(["", "failed", "", why.as_str(), "", "", ""]))?;
                continue;
            }
            for row in csv::Reader::from_reader(record.rows.as_bytes()).records() {
                let row = row?;
                csv.write_record(settings.iter().copied().chain(row.iter()))?;
            }
        }
        csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
    }

    /// The points that failed, by their place among those that have a record, and why.
    pub fn failures(&self, records: &BTreeMap<String, Record>) -> Vec<(usize, String)> {
        let known = self.points.iter().filter_map(|point| records.get(&point.key));
        known.enumerate().filter_map(|(place, record)| Some((place, record.failed.clone()?))).collect()
    }
}

impl Point {
    /// Asks about it. What is wrong with it is in the record.
    ///
    /// # Errors
    /// When it was interrupted: it then has no record.
    pub fn ask(&self, by: &[Engine], progress: &Progress<'_>) -> Result<Record, RunError> {
        let none = Record { key: self.key.clone(), failed: None, notes: Vec::new(), rows: String::new() };
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
        match outcome::to_csv(&answers).map(String::from_utf8) {
            Ok(Ok(rows)) => Ok(Record { notes, rows, ..none }),
            _ => Ok(failed("its rows could not be written".into())),
        }
    }
}

/// A file with the records of finished points. Only one sweep at a time has it.
pub struct Store {
    path: PathBuf,
    file: Option<File>,
    records: BTreeMap<String, Record>,
}

impl Store {
    /// One in memory.
    pub fn memory() -> Store {
        Store { path: PathBuf::new(), file: None, records: BTreeMap::new() }
    }

    /// The one at `path`, which is made where there is none. A last line that is not whole, as where the disk was full or the
    /// program was killed, is taken away.
    ///
    /// # Errors
    /// When another sweep has it, it cannot be read or written, or a line of it is no record.
    pub fn open(path: &Path) -> Result<Store, SpecError> {
        let wrong = |what: String| SpecError(format!("the store {}: {what}", path.display()));
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|e| wrong(e.to_string()))?;
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let mut file = file.map_err(|e| wrong(e.to_string()))?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                wrong("another sweep writes it; wait for its end, or name another store".into())
            }
            TryLockError::Error(error) => wrong(error.to_string()),
        })?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|e| wrong(e.to_string()))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(|e| wrong(e.to_string()))?;
        }
        let mut records = BTreeMap::new();
        for (number, line) in text[..whole].lines().enumerate() {
            let record = read(line).map_err(|error| wrong(format!("line {}: {error}", number + 1)))?;
            records.insert(record.key.clone(), record);
        }
        Ok(Store { path: path.into(), file: Some(file), records })
    }

    /// What is known of finished points, by their keys.
    pub fn records(&self) -> &BTreeMap<String, Record> {
        &self.records
    }

    /// Keeps a record.
    ///
    /// # Errors
    /// When it cannot be written: those before it are kept.
    pub fn put(&mut self, record: Record) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            let mut line = serde_json::to_string(&record).map_err(io::Error::other)?;
            line.push('\n');
            let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
            written.map_err(|e| io::Error::new(e.kind(), format!("cannot write {}: {e}", self.path.display())))?;
        }
        self.records.insert(record.key.clone(), record);
        Ok(())
    }

    /// Keeps a record that another process made.
    ///
    /// # Errors
    /// When it is none, or cannot be written.
    pub fn put_text(&mut self, line: &str) -> Result<(), SpecError> {
        let record = read(line).map_err(|error| SpecError(format!("a record of a point: {error}")))?;
        self.put(record).map_err(|error| SpecError(error.to_string()))
    }
}

/// A record of which the rows can be read, too.
fn read(line: &str) -> Result<Record, String> {
    let record: Record = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if record.failed.is_none() {
        let mut alone = Answers { variants: vec![VariantAnswers::default()], ..Answers::default() };
        outcome::from_csv(&record.rows, &mut alone)?;
    }
    Ok(record)
}

/// The key of a point.
fn key(experiment: &Experiment, settings: &[(String, String)], by: &[Engine], beside: &str) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(concat!("sojourn sweep 1 ", env!("CARGO_PKG_VERSION")).as_bytes());
    by.iter().for_each(|engine| part(engine.name().as_bytes()));
    settings.iter().for_each(|(key, value)| part(format!("{key} = {value}").as_bytes()));
    let text = experiment.text();
    part(text.as_bytes());
    part(beside.as_bytes());
    let folder = experiment.file.parent().unwrap_or(Path::new("")).to_path_buf();
    // A file that is named may name others, as that of a server's model does.
    let (mut known, mut next) = (BTreeSet::new(), vec![(text, folder)]);
    while let Some((text, folder)) = next.pop() {
        for path in named_files(&text, &folder).into_iter().filter(|path| known.insert(path.clone())) {
            if path.extension().is_some_and(|end| end == "toml") {
                let inside = input::text(&path).unwrap_or_default();
                next.push((inside, path.parent().unwrap_or(Path::new("")).to_path_buf()));
            }
        }
    }
    for path in known {
        part(path.as_os_str().as_encoded_bytes());
        // What cannot be read is refused when it is asked about, which says why.
        part(&digest(&path).unwrap_or_default());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files that texts in an experiment name, alone or inside of a law: `log = "a.log"`, `empirical(file = "gaps.txt")`. A word
/// that is no name, and is that of a file all the same, only makes the key hang on more than it must.
fn named_files(text: &str, folder: &Path) -> Vec<PathBuf> {
    // A text inside of a text has quotes after backslashes.
    let quoted = || text.split(['"', '\'', '\\', '\n']);
    let words =
        quoted().flat_map(|part| part.split([',', '(', ')', '[', ']', '{', '}', '='])).chain(quoted()).map(str::trim);
    let named = words.filter(|word| !word.is_empty() && word.len() < 4096).map(|word| folder.join(word));
    // A site is named by its folder.
    let files = named.map(|path| if path.is_dir() { path.join("site.csv") } else { path });
    files.filter(|path| path.is_file()).collect()
}

fn digest(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, mut hash) = (input::open(path)?, Sha256::new());
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hash.finalize().to_vec()),
            read => hash.update(&block[..read]),
        }
    }
}
