//! The run folder: the only thing that the command line, the report and later the dashboard and Python share.
//!
//! | file | what |
//! | --- | --- |
//! | `run.json` | what was run, where, by which command, and how far it can be trusted ([`RunFile`]) |
//! | `outcomes.csv` | the answers ([`crate::outcome`]) |
//! | `curves.csv` | response-time distributions: `variant,engine,time_s,fraction` |
//! | `replications.csv` | each replication's value of every metric: `variant,engine,replication,metric,value` |
//! | `seconds.csv` | each second of a live run: `variant,engine,second` and [`Second`]'s fields |
//! | `places.csv` | where requests went over time, where something breaks: `variant,engine,place,second,per_second` |
//! | `connections.csv` | open connections per server over time: `variant,engine,connections,fraction` (sessions only) |
//! | `events.jsonl` | what happened when, one JSON object a line |
//! | `decisions-N.jsonl` | every decision of variant N's gateway, when asked for |
//! | `report.html` | all of it for people |
//!
//! Every file is written under another name first and renamed when it is whole.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sojourn_load::{Limits, Second};

use crate::outcome::{self, Outcome};
use crate::spec::SpecError;
use crate::variants::Setting;

/// The version of the layout above. Version 1, in which every estimate had an interval, is read too.
pub const SCHEMA: u32 = 2;

/// `run.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunFile {
    /// Version of this layout.
    pub schema: u32,
    /// The question.
    pub name: String,
    /// Why one would ask it.
    pub description: Option<String>,
    /// Version of the program.
    pub version: String,
    /// Run seed.
    pub seed: u64,
    /// The experiment as it was run, changes of the command line included.
    pub spec: String,
    /// The command that repeats it.
    pub command: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How long it took.
    pub elapsed_s: f64,
    /// The machine.
    pub host: Vec<(String, String)>,
    /// Keys of the varied settings.
    pub settings: Vec<String>,
    /// The variants in order.
    pub variants: Vec<VariantFile>,
    /// What must hold, and whether it does.
    pub objectives: Vec<ObjectiveFile>,
    /// The worst of the variants' verdicts.
    pub verdict: Verdict,
    /// Why it is not VALID.
    pub reasons: Vec<String>,
}

/// A variant in `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VariantFile {
    /// Its short name.
    pub label: String,
    /// What it sets.
    pub settings: Vec<(String, String)>,
    /// Remarks by engine: why there is no answer, what to beware of.
    pub notes: Vec<(String, String)>,
    /// How far its live run can be trusted; none where live was not asked.
    pub live: Option<LiveFile>,
}

/// What is known of a live run besides its outcomes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LiveFile {
    /// Whether it can be trusted.
    pub verdict: Verdict,
    /// Why not.
    pub reasons: Vec<String>,
    /// Facts as names and texts: lateness of the generator, busy share of each core, retries, causes of failures.
    pub facts: Vec<(String, String)>,
    /// What its verdict was judged by.
    #[serde(default)]
    pub limits: Limits,
    /// What its parts did although nothing asked for it: seconds after the start, and what.
    #[serde(default)]
    pub incidents: Vec<(f64, String)>,
}

/// Whether a run can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Yes.
    #[default]
    Valid,
    /// The measurement may have measured something else.
    Suspect,
    /// It was interrupted; what was measured is kept.
    Incomplete,
}

/// An objective in `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObjectiveFile {
    /// As written, with its metric.
    pub text: String,
    /// Number of the variant.
    pub variant: usize,
    /// The engine that answers.
    pub engine: String,
    /// Whether it holds; none where that engine has no number, or one that does not decide.
    pub met: Option<bool>,
    /// There is a number, and its interval does not decide, or it has none.
    #[serde(default)]
    pub undecided: bool,
}

/// One response-time distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Number of the variant.
    pub variant: usize,
    /// The engine that answers.
    pub engine: String,
    /// (seconds, share of requests that took no longer).
    pub points: Vec<(f64, f64)>,
}

/// A metric of one variant, replication by replication. Replication k of every variant has the same users (common random
/// numbers), so differences are taken pair by pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Replicated {
    /// Number of the variant.
    pub variant: usize,
    /// The engine that answers.
    pub engine: String,
    /// The metric.
    pub metric: String,
    /// Its value in each replication, in the unit that `outcomes.csv` says; none where a replication has none.
    pub values: Vec<Option<f64>>,
}

/// How the open connections at a server were distributed over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Connections {
    /// Number of the variant.
    pub variant: usize,
    /// The engine that answers.
    pub engine: String,
    /// (connections, share of the time of all servers with so many).
    pub points: Vec<(u32, f64)>,
}

/// How many requests a part of the system got over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    /// Number of the variant.
    pub variant: usize,
    /// The engine that answers.
    pub engine: String,
    /// The site, or the server; or [`crate::FAILED`].
    pub place: String,
    /// Beginnings of intervals (s), and requests per second that were planned in them.
    pub points: Vec<(f64, f64)>,
}

/// A live run second by second.
#[derive(Clone, Debug, PartialEq)]
pub struct Seconds {
    /// Number of the variant.
    pub variant: usize,
    /// The engine that answers.
    pub engine: String,
    /// From its beginning, warm-up included.
    pub seconds: Vec<Second>,
}

/// Everything in a run folder, in memory.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    /// `run.json`.
    pub run: RunFile,
    /// `outcomes.csv`.
    pub outcomes: Vec<Outcome>,
    /// `curves.csv`.
    pub curves: Vec<Curve>,
    /// `replications.csv`.
    pub replications: Vec<Replicated>,
    /// `seconds.csv`.
    pub seconds: Vec<Seconds>,
    /// `connections.csv`.
    pub connections: Vec<Connections>,
    /// `places.csv`.
    pub places: Vec<Places>,
}

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
    /// When the disk is full or the folder went away.
    pub fn finish(&self, folder: &Folder) -> io::Result<()> {
        let json = serde_json::to_string_pretty(&folder.run).map_err(io::Error::other)?;
        write_whole(&self.path.join("run.json"), json.as_bytes())?;
        let mut csv = Vec::new();
        outcome::write_csv(&folder.outcomes, &folder.run.settings, &mut csv)?;
        write_whole(&self.path.join("outcomes.csv"), &csv)?;
        write_whole(&self.path.join("curves.csv"), &curves_to_csv(&folder.curves)?)?;
        if !folder.replications.is_empty() {
            write_whole(&self.path.join("replications.csv"), &replications_to_csv(&folder.replications)?)?;
        }
        if !folder.seconds.is_empty() {
            write_whole(&self.path.join("seconds.csv"), &seconds_to_csv(&folder.seconds)?)?;
        }
        if !folder.connections.is_empty() {
            write_whole(&self.path.join("connections.csv"), &connections_to_csv(&folder.connections)?)?;
        }
        if !folder.places.is_empty() {
            write_whole(&self.path.join("places.csv"), &places_to_csv(&folder.places)?)?;
        }
        write_report(&self.path, folder)
    }
}

impl Folder {
    /// Reads the run folder at `path`.
    ///
    /// # Errors
    /// One line: which file is missing or wrong, and how.
    pub fn read(path: &Path) -> Result<Folder, SpecError> {
        let text = |name: &str| {
            let file = path.join(name);
            fs::read_to_string(&file).map_err(|e| {
                SpecError(format!("{} is not a run folder (cannot read {}: {e})", path.display(), file.display()))
            })
        };
        let inside = |message: String| SpecError(format!("{}: {message}", path.display()));
        let run: RunFile = serde_json::from_str(&text("run.json")?).map_err(|e| inside(format!("run.json: {e}")))?;
        if !(1..=SCHEMA).contains(&run.schema) {
            return Err(inside(format!("run.json: schema {} is none of the known 1 to {SCHEMA}", run.schema)));
        }
        let (_, outcomes) = outcome::read_csv(&text("outcomes.csv")?).map_err(inside)?;
        let curves = curves_from_csv(&text("curves.csv")?).map_err(inside)?;
        // Only runs that have them write these.
        let optional = |name: &str| if path.join(name).exists() { text(name) } else { Ok(String::new()) };
        let replications = replications_from_csv(&optional("replications.csv")?).map_err(inside)?;
        let seconds = seconds_from_csv(&optional("seconds.csv")?).map_err(inside)?;
        let connections = connections_from_csv(&optional("connections.csv")?).map_err(inside)?;
        let places = places_from_csv(&optional("places.csv")?).map_err(inside)?;
        Ok(Folder { run, outcomes, curves, replications, seconds, connections, places })
    }

    /// The rows of variant number `variant` by `engine`.
    pub fn rows(&self, variant: usize, engine: &str) -> impl Iterator<Item = &Outcome> {
        let settings: &[(String, String)] = &self.run.variants[variant].settings;
        let same = move |s: &[Setting]| s.iter().map(|s| (&s.key, &s.value)).eq(settings.iter().map(|(k, v)| (k, v)));
        self.outcomes.iter().filter(move |row| row.engine == engine && same(&row.settings))
    }
}

/// Writes `report.html` anew.
///
/// # Errors
/// When it cannot be written.
pub fn write_report(path: &Path, folder: &Folder) -> io::Result<()> {
    write_whole(&path.join("report.html"), crate::report::render(&crate::report::Report::new(folder)).as_bytes())
}

/// Writes a file so that a reader never sees half of it.
///
/// # Errors
/// When it cannot be written; the message names it, and nothing of it is left.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    sojourn_load::whole::write(path, bytes)
}

fn curves_to_csv(curves: &[Curve]) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(["variant", "engine", "time_s", "fraction"])?;
    for curve in curves {
        for (time_s, fraction) in &curve.points {
            csv.write_record([
                &curve.variant.to_string(),
                &curve.engine,
                &format!("{time_s:?}"),
                &format!("{fraction:?}"),
            ])?;
        }
    }
    csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
}

fn curves_from_csv(text: &str) -> Result<Vec<Curve>, String> {
    let mut curves: Vec<Curve> = Vec::new();
    for record in csv::Reader::from_reader(text.as_bytes()).deserialize() {
        let (variant, engine, time_s, fraction): (usize, String, f64, f64) =
            record.map_err(|e| format!("curves.csv: {e}"))?;
        match curves.last_mut() {
            Some(last) if last.variant == variant && last.engine == engine => last.points.push((time_s, fraction)),
            _ => curves.push(Curve { variant, engine, points: vec![(time_s, fraction)] }),
        }
    }
    Ok(curves)
}

fn replications_to_csv(all: &[Replicated]) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(["variant", "engine", "replication", "metric", "value"])?;
    for Replicated { variant, engine, metric, values } in all {
        for (number, value) in values.iter().enumerate() {
            let value = value.map_or(String::new(), |value| format!("{value:?}"));
            csv.write_record([&variant.to_string(), engine, &number.to_string(), metric, &value])?;
        }
    }
    csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
}

fn replications_from_csv(text: &str) -> Result<Vec<Replicated>, String> {
    let mut all: Vec<Replicated> = Vec::new();
    for record in csv::Reader::from_reader(text.as_bytes()).deserialize() {
        let (variant, engine, _, metric, value): (usize, String, usize, String, Option<f64>) =
            record.map_err(|e| format!("replications.csv: {e}"))?;
        match all.last_mut() {
            Some(last) if last.variant == variant && last.engine == engine && last.metric == metric => {
                last.values.push(value);
            }
            _ => all.push(Replicated { variant, engine, metric, values: vec![value] }),
        }
    }
    Ok(all)
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
}

fn seconds_to_csv(all: &[Seconds]) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    for Seconds { variant, engine, seconds } in all {
        for (second, of) in seconds.iter().enumerate() {
            csv.serialize(SecondRow {
                variant: *variant,
                engine: engine.clone(),
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
            })?;
        }
    }
    csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
}

fn seconds_from_csv(text: &str) -> Result<Vec<Seconds>, String> {
    let mut all: Vec<Seconds> = Vec::new();
    for row in csv::Reader::from_reader(text.as_bytes()).deserialize() {
        let row: SecondRow = row.map_err(|e| format!("seconds.csv: {e}"))?;
        let second = Second {
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
        };
        match all.last_mut() {
            Some(last) if last.variant == row.variant && last.engine == row.engine => last.seconds.push(second),
            _ => all.push(Seconds { variant: row.variant, engine: row.engine, seconds: vec![second] }),
        }
    }
    Ok(all)
}

fn connections_to_csv(all: &[Connections]) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(["variant", "engine", "connections", "fraction"])?;
    for Connections { variant, engine, points } in all {
        for (connections, fraction) in points {
            csv.write_record([&variant.to_string(), engine, &connections.to_string(), &format!("{fraction:?}")])?;
        }
    }
    csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
}

fn connections_from_csv(text: &str) -> Result<Vec<Connections>, String> {
    let mut all: Vec<Connections> = Vec::new();
    for record in csv::Reader::from_reader(text.as_bytes()).deserialize() {
        let (variant, engine, connections, fraction): (usize, String, u32, f64) =
            record.map_err(|e| format!("connections.csv: {e}"))?;
        match all.last_mut() {
            Some(last) if last.variant == variant && last.engine == engine => last.points.push((connections, fraction)),
            _ => all.push(Connections { variant, engine, points: vec![(connections, fraction)] }),
        }
    }
    Ok(all)
}

fn places_to_csv(all: &[Places]) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(["variant", "engine", "place", "second", "per_second"])?;
    for Places { variant, engine, place, points } in all {
        for (second, rate) in points {
            csv.write_record([&variant.to_string(), engine, place, &format!("{second:?}"), &format!("{rate:?}")])?;
        }
    }
    csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
}

fn places_from_csv(text: &str) -> Result<Vec<Places>, String> {
    let mut all: Vec<Places> = Vec::new();
    for record in csv::Reader::from_reader(text.as_bytes()).deserialize() {
        let (variant, engine, place, second, rate): (usize, String, String, f64, f64) =
            record.map_err(|e| format!("places.csv: {e}"))?;
        match all.last_mut() {
            Some(last) if last.variant == variant && last.engine == engine && last.place == place => {
                last.points.push((second, rate));
            }
            _ => all.push(Places { variant, engine, place, points: vec![(second, rate)] }),
        }
    }
    Ok(all)
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
