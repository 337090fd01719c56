//! The run folder: the only thing that the command line, the report and later the dashboard and Python share.
//!
//! | file | what |
//! | --- | --- |
//! | `run.json` | what was run, where, by which command, and how far it can be trusted ([`Answers`]) |
//! | `outcomes.csv` | the answers ([`crate::outcome`]) |
//! | `curves.csv` | response-time distributions: `variant,engine,time_s,fraction` |
//! | `pairs.csv` | variants two by two, with all else equal, in the columns of `outcomes.csv` and more ([`crate::outcome`]) |
//! | `replications.csv` | each replication's value of every metric: `variant,engine,replication,metric,value` |
//! | `seconds.csv` | each second of a live run: `variant,engine,second` and [`Second`]'s fields |
//! | `places.csv` | where requests went over time, where something breaks: `variant,engine,place,second,per_second` |
//! | `timeline.csv` | outcomes over time, where something breaks: `variant,engine,second,metric`, then as in `outcomes.csv` |
//! | `connections.csv` | open connections per server over time: `variant,engine,connections,fraction` (sessions only) |
//! | `events.jsonl` | what happened when, one JSON object a line |
//! | `decisions-N.jsonl` | every decision of variant N's gateway, when asked for |
//! | `report.html` | all of it for people |
//!
//! All of it but the decisions, the pairs and the page is what [`Answers`] holds. Every file is written under another name
//! first and renamed when it is whole.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sojourn_load::Second;
use sojourn_stats::config::of_json;
use sojourn_stats::{Estimate, input};

use crate::answer::{Answer, Answers, Flow, MetricOverTime};
use crate::compare;
use crate::judged;
use crate::outcome;
use crate::spec::{Engine, SpecError};

/// The version of the layout above. Version 1, in which every estimate had an interval, is read too.
pub const SCHEMA: u32 = 2;

/// The next free `runs/NAME-N`.
pub fn free(name: &str) -> PathBuf {
    let candidate = |n: u32| PathBuf::from("runs").join(format!("{}-{n}", slug(name)));
    (1..).map(candidate).find(|path| !path.exists()).expect("some number is free")
}

/// A folder being written.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    events: fs::File,
    /// Folders this run made, innermost first: removed again when nothing came of it.
    made: Vec<PathBuf>,
}

impl Writer {
    /// Makes the folder `out`, or the next free `runs/NAME-N` when none is named.
    ///
    /// # Errors
    /// When it exists already and is not empty, or cannot be written.
    pub fn create(out: Option<&Path>, name: &str) -> Result<Writer, SpecError> {
        let path = match out {
            Some(path) => path.to_path_buf(),
            None => free(name),
        };
        let fail = |e: io::Error| SpecError(format!("cannot write the run folder {}: {e}", path.display()));
        if path.exists() {
            let empty = fs::read_dir(&path).map_err(fail)?.next().is_none();
            if !empty {
                return Err(SpecError(format!(
                    "the run folder {} exists and is not empty: name another with --out, or remove it",
                    path.display()
                )));
            }
        }
        let missing = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
        let made: Vec<PathBuf> = path.ancestors().take_while(missing).map(Path::to_path_buf).collect();
        fs::create_dir_all(&path).map_err(fail)?;
        let events = fs::File::create(path.join("events.jsonl")).map_err(|e| {
            made.iter().for_each(|folder| drop(fs::remove_dir(folder)));
            fail(e)
        })?;
        Ok(Writer { path, events, made })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes an event; a full disk does not stop a measurement, it shows when the outcomes are written.
    pub fn event(&mut self, event: &serde_json::Value) {
        let _ = writeln!(self.events, "{event}");
    }

    /// Removes what was made: the run answered nothing.
    pub fn discard(self) {
        let _ = fs::remove_file(self.path.join("events.jsonl"));
        for folder in self.made {
            // Fails on a folder that holds something else by now, as it should.
            let _ = fs::remove_dir(folder);
        }
    }

    /// Writes everything, and the report.
    ///
    /// # Errors
    /// When the disk is full or the folder went away: what could be written is there all the same.
    pub(crate) fn finish(&self, answers: &Answers) -> Result<(), Unwritten> {
        let all = || answers.all();
        let table = |name, has: bool, csv: fn(&Answers) -> io::Result<Vec<u8>>| has.then(|| (name, csv(answers)));
        let json = serde_json::to_vec_pretty(answers).map_err(io::Error::other);
        let pairs = compare::pairs(answers);
        let files = [
            Some(("run.json", json)),
            table("outcomes.csv", true, outcome::to_csv),
            table("curves.csv", true, curves_to_csv),
            (!pairs.is_empty()).then(|| ("pairs.csv", outcome::pairs::to_csv(answers, &pairs))),
            table("replications.csv", all().any(|answer| !answer.replications.is_empty()), replications_to_csv),
            table("seconds.csv", all().any(|answer| !answer.seconds.is_empty()), seconds_to_csv),
            table("connections.csv", all().any(|answer| !answer.connections.is_empty()), connections_to_csv),
            table("places.csv", all().any(|answer| !answer.flows.is_empty()), flows_to_csv),
            table("timeline.csv", all().any(|answer| !answer.over_time.is_empty()), timeline_to_csv),
            Some(("report.html", Ok(crate::report::render(answers).into_bytes()))),
        ];
        self.write_all(files.into_iter().flatten())
    }

    /// Writes these files, each whole or not at all.
    ///
    /// # Errors
    /// When one of them cannot be written: the others are there all the same.
    pub(crate) fn write_all<'a>(
        &self,
        files: impl IntoIterator<Item = (&'a str, io::Result<Vec<u8>>)>,
    ) -> Result<(), Unwritten> {
        let (mut written, mut lost) = (Vec::new(), Vec::new());
        for (name, bytes) in files {
            match bytes.and_then(|bytes| write_whole(&self.path.join(name), &bytes)) {
                Ok(()) => written.push(name.to_owned()),
                Err(error) => lost.push((name.to_owned(), error)),
            }
        }
        if lost.is_empty() { Ok(()) } else { Err(Unwritten { path: self.path.clone(), written, lost }) }
    }
}

/// What of a run folder could not be written.
#[derive(Debug)]
pub struct Unwritten {
    /// The folder.
    pub path: PathBuf,
    /// The files that are there, whole.
    pub written: Vec<String>,
    /// Those that are not, and why.
    pub lost: Vec<(String, io::Error)>,
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.lost.iter().map(|(name, _)| name.as_str()).collect();
        let written = if self.written.is_empty() { "nothing".into() } else { self.written.join(", ") };
        if let Some((_, why)) = self.lost.first() {
            write!(f, "{why}; ")?;
        }
        write!(f, "the run folder {} has {written}, but not {}", self.path.display(), names.join(", "))
    }
}

impl std::error::Error for Unwritten {}

impl Answers {
    /// Writes them as a run folder at `path`, with its report.
    ///
    /// # Errors
    /// When there is something at `path` already, or it cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), SpecError> {
        let path = path.as_ref();
        let mut writer = Writer::create(Some(path), &self.name)?;
        self.events.iter().for_each(|event| writer.event(event));
        writer.finish(self).map_err(|unwritten| SpecError(unwritten.to_string()))
    }

    /// Opens the run folder at `path`. Objectives that it says are met are judged again by its numbers: the version that wrote it
    /// may have had other rules.
    ///
    /// # Errors
    /// One line: which file is missing or wrong, and how.
    pub fn open(path: impl AsRef<Path>) -> Result<Answers, SpecError> {
        let path = path.as_ref();
        let is_plan = path.join("plan.json").exists() && !path.join("run.json").exists();
        let text = |name: &str| {
            let file = path.join(name);
            input::text(&file).map_err(|e| {
                let why = match is_plan {
                    true => "it is a plan's, with plan.json".to_owned(),
                    false => format!("cannot read {}: {e}", file.display()),
                };
                SpecError(format!("{} is not a run folder ({why})", path.display()))
            })
        };
        // Only runs that have them write these.
        let optional = |name: &str| if path.join(name).exists() { text(name) } else { Ok(String::new()) };
        let inside = |message: String| SpecError(format!("{}: {message}", path.display()));
        let mut answers: Answers =
            serde_json::from_str(&text("run.json")?).map_err(|e| inside(format!("run.json: {}", of_json(e))))?;
        if !(1..=SCHEMA).contains(&answers.schema) {
            return Err(inside(format!("run.json: schema {} is none of the known 1 to {SCHEMA}", answers.schema)));
        }
        outcome::from_csv(&text("outcomes.csv")?, &mut answers).map_err(inside)?;
        let of = |name: &str, read: fn(&str, &mut Answers) -> Result<(), String>, answers: &mut Answers| {
            let text = if name == "curves.csv" { text(name) } else { optional(name) };
            read(&text?, answers).map_err(|e| inside(format!("{name}: {e}")))
        };
        of("curves.csv", curves_from_csv, &mut answers)?;
        of("replications.csv", replications_from_csv, &mut answers)?;
        of("seconds.csv", seconds_from_csv, &mut answers)?;
        of("connections.csv", connections_from_csv, &mut answers)?;
        of("places.csv", flows_from_csv, &mut answers)?;
        of("timeline.csv", timeline_from_csv, &mut answers)?;
        of("events.jsonl", events_from_lines, &mut answers)?;
        judged::again(&mut answers);
        Ok(answers)
    }
}

/// Writes `report.html` anew.
///
/// # Errors
/// When it cannot be written.
pub fn write_report(path: &Path, answers: &Answers) -> io::Result<()> {
    write_whole(&path.join("report.html"), crate::report::render(answers).as_bytes())
}

/// Writes a file so that a reader never sees half of it.
///
/// # Errors
/// When it cannot be written; the message names it, and nothing of it is left.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    sojourn_load::whole::write(path, bytes)
}

/// A table with a row of `row` for each of what `of` gives of every answer, behind the answer's variant and engine.
fn table<'a, T: 'a, I: IntoIterator<Item = T>, R: IntoIterator<Item = String>>(
    answers: &'a Answers,
    columns: &[&str],
    of: impl Fn(&'a Answer) -> I,
    row: impl Fn(T) -> R,
) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(["variant", "engine"].iter().chain(columns))?;
    for (number, variant) in answers.variants.iter().enumerate() {
        for answer in &variant.answers {
            for item in of(answer) {
                csv.write_record([number.to_string(), answer.engine.to_string()].into_iter().chain(row(item)))?;
            }
        }
    }
    csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
}

/// The rows of a table.
fn records<R: DeserializeOwned>(text: &str) -> impl Iterator<Item = Result<R, String>> {
    csv::Reader::from_reader(text.as_bytes()).into_deserialize().map(|record| record.map_err(|e| e.to_string()))
}

impl Answers {
    /// The answer that a row of a table belongs to.
    fn of_row(&mut self, variant: usize, engine: &str) -> Result<&mut Answer, String> {
        let engine = Engine::named(engine).ok_or_else(|| format!("`{engine}` is no engine"))?;
        let count = self.variants.len();
        let variant = self.variants.get_mut(variant);
        let variant = variant.ok_or_else(|| format!("run.json has {count} variants, numbered from 0"))?;
        Ok(variant.answer_mut(engine))
    }
}

fn exact(number: &f64) -> String {
    format!("{number:?}")
}

fn curves_to_csv(answers: &Answers) -> io::Result<Vec<u8>> {
    let row = |(time_s, fraction): &(f64, f64)| [exact(time_s), exact(fraction)];
    table(answers, &["time_s", "fraction"], |answer| &answer.curve, row)
}

fn curves_from_csv(text: &str, answers: &mut Answers) -> Result<(), String> {
    for record in records(text) {
        let (variant, engine, time_s, fraction): (usize, String, f64, f64) = record?;
        answers.of_row(variant, &engine)?.curve.push((time_s, fraction));
    }
    Ok(())
}

fn replications_to_csv(answers: &Answers) -> io::Result<Vec<u8>> {
    let values = |answer: &Answer| {
        let of = |(metric, values): &(String, Vec<Option<f64>>)| {
            let row = |(number, value): (usize, &Option<f64>)| (number, metric.clone(), *value);
            values.iter().enumerate().map(row).collect::<Vec<_>>()
        };
        answer.replications.iter().flat_map(of).collect::<Vec<_>>()
    };
    let row = |(number, metric, value): (usize, String, Option<f64>)| {
        [number.to_string(), metric, value.as_ref().map_or(String::new(), exact)]
    };
    table(answers, &["replication", "metric", "value"], values, row)
}

fn replications_from_csv(text: &str, answers: &mut Answers) -> Result<(), String> {
    for record in records(text) {
        let (variant, engine, _, metric, value): (usize, String, usize, String, Option<f64>) = record?;
        let replications = &mut answers.of_row(variant, &engine)?.replications;
        match replications.last_mut() {
            Some((last, values)) if *last == metric => values.push(value),
            _ => replications.push((metric, vec![value])),
        }
    }
    Ok(())
}

/// A line of `seconds.csv`.
#[derive(Serialize, Deserialize)]
struct SecondRow {
    variant: usize,
    engine: String,
    second: usize,
    planned: u64,
    begun: u64,
    ok: u64,
    failed: u64,
    inside: u64,
    response_time_mean_s: f64,
    response_time_p50_s: Option<f64>,
    response_time_p99_s: Option<f64>,
    lateness_p99_s: Option<f64>,
    #[serde(default)]
    lateness_mean_s: Option<f64>,
    #[serde(default)]
    again: u64,
}

fn seconds_to_csv(answers: &Answers) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    for (variant, answer) in
        answers.variants.iter().enumerate().flat_map(|(n, of)| of.answers.iter().map(move |a| (n, a)))
    {
        for (second, of) in answer.seconds.iter().enumerate() {
            csv.serialize(SecondRow {
                variant,
                engine: answer.engine.to_string(),
                second,
                planned: of.planned,
                begun: of.begun,
                ok: of.ok,
                failed: of.failed,
                inside: of.inside,
                response_time_mean_s: of.response_time_mean_s,
                response_time_p50_s: of.response_time_p50_s,
                response_time_p99_s: of.response_time_p99_s,
                lateness_p99_s: of.lateness_p99_s,
                lateness_mean_s: of.lateness_mean_s,
                again: of.again,
            })?;
        }
    }
    csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
}

fn seconds_from_csv(text: &str, answers: &mut Answers) -> Result<(), String> {
    for row in records(text) {
        let row: SecondRow = row?;
        answers.of_row(row.variant, &row.engine)?.seconds.push(Second {
            planned: row.planned,
            begun: row.begun,
            ok: row.ok,
            failed: row.failed,
            inside: row.inside,
            response_time_mean_s: row.response_time_mean_s,
            response_time_p50_s: row.response_time_p50_s,
            response_time_p99_s: row.response_time_p99_s,
            lateness_p99_s: row.lateness_p99_s,
            lateness_mean_s: row.lateness_mean_s,
            again: row.again,
        });
    }
    Ok(())
}

fn connections_to_csv(answers: &Answers) -> io::Result<Vec<u8>> {
    let row = |(connections, fraction): &(u32, f64)| [connections.to_string(), exact(fraction)];
    table(answers, &["connections", "fraction"], |answer| &answer.connections, row)
}

fn connections_from_csv(text: &str, answers: &mut Answers) -> Result<(), String> {
    for record in records(text) {
        let (variant, engine, connections, fraction): (usize, String, u32, f64) = record?;
        answers.of_row(variant, &engine)?.connections.push((connections, fraction));
    }
    Ok(())
}

fn flows_to_csv(answers: &Answers) -> io::Result<Vec<u8>> {
    let points = |answer: &'_ Answer| {
        let of = |flow: &Flow| flow.points.iter().map(|point| (flow.to.clone(), *point)).collect::<Vec<_>>();
        answer.flows.iter().flat_map(of).collect::<Vec<_>>()
    };
    let row = |(to, (second, rate)): (String, (f64, f64))| [to, exact(&second), exact(&rate)];
    table(answers, &["place", "second", "per_second"], points, row)
}

fn flows_from_csv(text: &str, answers: &mut Answers) -> Result<(), String> {
    for record in records(text) {
        let (variant, engine, to, second, rate): (usize, String, String, f64, f64) = record?;
        let flows = &mut answers.of_row(variant, &engine)?.flows;
        match flows.last_mut() {
            Some(last) if last.to == to => last.points.push((second, rate)),
            _ => flows.push(Flow { to, points: vec![(second, rate)] }),
        }
    }
    Ok(())
}

fn timeline_to_csv(answers: &Answers) -> io::Result<Vec<u8>> {
    let points = |answer: &'_ Answer| {
        let of = |over_time: &MetricOverTime| {
            let MetricOverTime { metric, unit, points } = over_time;
            points
                .iter()
                .map(|(at, estimate)| (*at, metric.clone(), unit.clone(), estimate.clone()))
                .collect::<Vec<_>>()
        };
        answer.over_time.iter().flat_map(of).collect::<Vec<_>>()
    };
    let row = |(second, metric, unit, estimate): (f64, String, String, Estimate)| {
        let [value, low, high, samples] = outcome::cells(&estimate);
        [exact(&second), metric, unit, value, low, high, samples]
    };
    table(answers, &["second", "metric", "unit", "estimate", "ci_low", "ci_high", "samples"], points, row)
}

fn timeline_from_csv(text: &str, answers: &mut Answers) -> Result<(), String> {
    for record in records(text) {
        type Row = (usize, String, f64, String, String, String, String, String, String);
        let (variant, engine, second, metric, unit, value, low, high, samples): Row = record?;
        let estimate = outcome::estimate_of([&value, &low, &high, &samples])?;
        let over_time = &mut answers.of_row(variant, &engine)?.over_time;
        match over_time.last_mut() {
            Some(last) if last.metric == metric => last.points.push((second, estimate)),
            _ => over_time.push(MetricOverTime { metric, unit, points: vec![(second, estimate)] }),
        }
    }
    Ok(())
}

fn events_from_lines(text: &str, answers: &mut Answers) -> Result<(), String> {
    let lines = text.lines().enumerate();
    let event = |(number, line)| serde_json::from_str(line).map_err(|e| format!("line {}: {}", number + 1, of_json(e)));
    answers.events = lines.map(event).collect::<Result<_, String>>()?;
    Ok(())
}

/// A name as a folder's name: `Which dispatcher?` becomes `which-dispatcher`.
fn slug(name: &str) -> String {
    let words: Vec<String> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(6)
        .map(str::to_ascii_lowercase)
        .collect();
    if words.is_empty() { "run".into() } else { words.join("-") }
}
