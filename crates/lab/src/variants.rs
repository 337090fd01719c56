//! The variants of an experiment: every combination of `[vary]`, and each `[[variant]]`.
//!
//! A variation is an edit of the file, made before it is read, so that anything that can be written can be varied and
//! every value of a variant is checked like one typed by hand. A key is a dotted path (`workload.size`,
//! `system.tier.0.policy`, `station.access-line.rate`: one of a list by its number or its name) or one of a few short names
//! ([`SHORT_NAMES`]). A value of a list may be a table of settings that go together (`site = [{ loner_sigma = 1.143, server =
//! "a.toml" }, ...]`): the list's own name then only says what they have in common. Such a table and a `[[variant]]` may have a
//! `name`, which is then its label in tables, legends and run folders. What has one value in all that have no name tells
//! none apart: it is a column of a run's files, and in no label.

mod blamed;
mod change;
mod combined;
mod made;
mod replaced;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sojourn_dispatch::Catalogue;
use sojourn_stats::config::ConfigFile;
use sojourn_stats::input;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

use self::change::{change_to, drop_axis, join_dotted_keys, number, other_loads, parts, plain};
use self::combined::together;
use self::replaced::Replaced;
use crate::spec::{Engine, Spec, SpecError};

pub(crate) use self::combined::Combination;

/// Short names of what is varied most.
pub const SHORT_NAMES: &[(&str, &str)] = &[
    ("policy", "system.tier.0.policy"),
    ("servers", "system.tier.0.targets.servers"),
    ("weights", "system.tier.0.targets.weights"),
    ("speeds", "system.tier.0.targets.speeds"),
    ("limit", "system.tier.0.limit.connections"),
    ("dispatchers", "system.tier.0.dispatchers"),
    ("information", "system.tier.0.information"),
    ("discipline", "system.server.discipline"),
    ("helpers", "system.server.helpers"),
    ("quantum", "system.server.quantum"),
    ("preemptive", "system.server.preemptive"),
    ("cores", "system.server.cores"),
    ("demand", "system.server.demand"),
    ("arrivals", "workload.arrivals"),
    ("utilization", "workload.utilization"),
    ("rate", "workload.rate"),
    ("users", "workload.users"),
    ("growth", "workload.growth"),
    ("think", "workload.think"),
    ("size", "workload.size"),
    ("patience", "workload.patience"),
    ("rtt", "system.network.rtt"),
    ("server", "system.server"),
    ("face", "system.tier.0.face"),
    ("level", "system.tier.0.level"),
    ("attached", "system.tier.0.attached"),
    ("loner_sigma", "workload.site.loner_sigma"),
    ("http", "workload.http"),
    ("cluster_rate", "system.network.cluster_rate"),
];

/// A value that a variant sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key as the file writes it.
    pub key: String,
    /// The value as text.
    pub value: String,
}

/// One variant, read and checked.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What it sets, one per column of the outcomes; empty where it leaves the file's value.
    pub settings: Vec<Setting>,
    /// What the file calls it, where it has a name for it, with the values of what varies besides.
    pub name: Option<String>,
    /// What `--set` says of settings that the file varies, and that do not vary any more.
    pub fixed: Vec<Setting>,
    /// Keys of settings that its label leaves out: they have one value in all variants but those that have a name of their own.
    pub untold: Vec<String>,
    /// What `--set` does to its own values that its name would not let one expect, a line each.
    pub remarks: Vec<String>,
    /// What it is.
    pub experiment: Spec,
}

impl Variant {
    /// A short name: the one that the file gives it, or the values that it sets or that were fixed by `--set`, numbers with the
    /// setting they are of, or `as given` where nothing varies: the file may have been changed by `--set` otherwise.
    pub fn label(&self) -> String {
        let told = self.settings.iter().filter(|setting| !self.untold.contains(&setting.key));
        let all = self.fixed.iter().chain(told).map(|setting| (&*setting.key, &*setting.value));
        named(self.name.as_deref(), all)
    }
}

/// What a variant is called of which nothing is to be told.
pub(crate) const AS_GIVEN: &str = "as given";

/// A variant's label: what the file calls it, or the values of settings, or [`AS_GIVEN`].
fn named<'a>(name: Option<&str>, settings: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let label = name.map_or_else(|| label(settings), str::to_owned);
    if label.is_empty() { AS_GIVEN.to_owned() } else { label }
}

/// The values of settings, as key and value, in a line. A number says nothing alone, so its setting goes before it.
pub(crate) fn label<'a>(settings: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let named = settings.filter(|(_, value)| !value.is_empty()).map(|(key, value)| {
        let speaks = value.parse::<f64>().is_err() && value.parse::<bool>().is_err();
        let name = key.rsplit('.').next().unwrap_or(key);
        if speaks { value.to_owned() } else { format!("{name} {value}") }
    });
    named.collect::<Vec<_>>().join(", ")
}

/// An experiment file with the command line's changes in it.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Where it came from.
    pub file: PathBuf,
    /// The file's own text.
    original: Arc<str>,
    /// The same read, without what varies, where many are made of it: a long list takes long to read.
    bare: Option<Arc<DocumentMut>>,
    /// Its text with the changes made.
    document: DocumentMut,
    /// The changes.
    set: Vec<(String, Value)>,
    /// Those of what the file varies.
    fixed: Vec<Setting>,
    /// What they replace in variants that have a name.
    replaced: Vec<Replaced>,
    /// Where names of policies are looked up.
    catalogue: Catalogue,
    /// Threads that the simulator may take; none: one for each core.
    threads: Option<usize>,
}

impl Experiment {
    /// Reads the experiment at `path`.
    ///
    /// # Errors
    /// When the file cannot be read or is not TOML.
    pub fn read(path: impl AsRef<Path>) -> Result<Experiment, SpecError> {
        Experiment::read_with(path.as_ref(), &[])
    }

    /// Reads `file` and makes the changes of `--set key=value`.
    ///
    /// # Errors
    /// When the file cannot be read or is not TOML, or a change is not `key=value` or has nowhere to go.
    pub fn read_with(file: &Path, set: &[String]) -> Result<Experiment, SpecError> {
        let original =
            input::text(file).map_err(|e| SpecError(format!("cannot read the experiment {}: {e}", file.display())))?;
        Experiment::new(file, original, set)
    }

    /// As [`Experiment::read_with`], of a text in hand.
    ///
    /// # Errors
    /// As [`Experiment::read_with`].
    pub fn new(file: &Path, original: String, set: &[String]) -> Result<Experiment, SpecError> {
        let mut document: DocumentMut = original.parse().map_err(|error: toml_edit::TomlError| {
            let line =
                error.span().map_or(1, |span| original[..span.start.min(original.len())].matches('\n').count() + 1);
            let message = error.message().lines().next().unwrap_or("not TOML").to_string();
            let message = original.lines().nth(line - 1).and_then(crate::spec::unquoted).unwrap_or(message);
            SpecError(format!("{}:{line}: {message}", file.display()))
        })?;
        join_dotted_keys(&mut document);
        let mut experiment = Experiment {
            file: file.into(),
            original: original.into(),
            bare: None,
            document,
            set: Vec::new(),
            fixed: Vec::new(),
            replaced: Vec::new(),
            catalogue: Catalogue::default(),
            threads: None,
        };
        for change in set {
            let Some((key, value)) = change.split_once('=') else {
                return Err(SpecError(format!(
                    "--set {change}: write it as key=value, e.g. `--set workload.log=access.log`"
                )));
            };
            experiment = experiment.set(key, value)?;
        }
        Ok(experiment)
    }

    /// The same with another value at `key`, as by `--set key=value`: a dotted path or one of [`SHORT_NAMES`], and a value
    /// as the file writes it, where a text needs no quotes. What is set is not varied any more.
    ///
    /// # Errors
    /// When the change has nowhere to go. Whether the value makes sense there is seen when the variants are read.
    pub fn set(mut self, key: &str, value: &str) -> Result<Experiment, SpecError> {
        let key = plain(key.trim());
        let (key, value) = (key.as_str(), value.trim());
        let read = match (key, read_value(value)) {
            // As `--by` takes it.
            ("run.by", Value::String(engines)) => engines.value().split(',').map(str::trim).collect::<Array>().into(),
            (_, read) => read,
        };
        let vary = self.document.get("vary").and_then(Item::as_table_like);
        let was_fixed = |setting: &Setting| long_name(&setting.key) == long_name(key);
        self.not_of_a_table("--set", key)?;
        let is_it = |of: &str| of != "name" && long_name(of) == long_name(key);
        let is_varied = vary.is_some_and(|vary| vary.iter().any(|(of, _)| is_it(of)))
            || self.single().any(|variant| variant.iter().any(|(of, _)| is_it(of)));
        if is_varied || self.fixed.iter().any(was_fixed) {
            self.fixed.retain(|setting| !was_fixed(setting));
            self.fixed.push(Setting { key: key.to_owned(), value: show(&read) });
        }
        let wrong = |e: String| {
            let e = self
                .meant_in_a_table(key, &read, !e.ends_with('?'))
                .map_or(e, |meant| format!("there is no such setting; did you mean `{meant}`?"));
            SpecError(format!("--set {key}={value}: {e}"))
        };
        let mut document = self.document.clone();
        change_to(&mut document, key, &read).map_err(wrong)?;
        let replaced = self.replaced_by(key, &read);
        self.replaced.extend(replaced);
        self.document = document;
        self.set.push((key.to_owned(), read));
        Ok(self)
    }

    /// The same with names of policies looked up in `catalogue`, where policies of your own may be. Theory and simulation
    /// run them as they run the built-in ones; live parts are other programs, which know only these.
    #[must_use]
    pub fn with_policies(self, catalogue: &Catalogue) -> Experiment {
        Experiment { catalogue: catalogue.clone(), ..self }
    }

    /// The same asked on so many threads at most, instead of one for each core; the answers do not depend on it.
    #[must_use]
    pub fn on_threads(self, threads: usize) -> Experiment {
        Experiment { threads: Some(threads.max(1)), ..self }
    }

    /// Threads that the simulator may take.
    pub(crate) fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// The same with `key` varied over `values`, as a list of `[vary]` in the file: each is a value as the file writes it,
    /// where a text needs no quotes. What was set at `key` before, or varied, is so no more.
    ///
    /// # Errors
    /// When there is no value. Whether a value makes sense is seen when the variants are read.
    pub fn vary(mut self, key: &str, values: &[&str]) -> Result<Experiment, SpecError> {
        let key = key.trim();
        if values.is_empty() {
            return Err(SpecError(format!("vary {key}: it takes at least one value")));
        }
        self.not_of_a_table("vary", key)?;
        drop_axis(&mut self.document, key);
        let is_other = |set: &str| long_name(set) != long_name(key);
        self.set.retain(|(set, _)| is_other(set));
        self.fixed.retain(|setting| is_other(&setting.key));
        let list: Array = values.iter().map(|text| read_value(text)).collect();
        let vary = self.document.entry("vary").or_insert_with(|| Item::Table(Table::new()));
        let Some(vary) = vary.as_table_like_mut() else {
            return Err(self.at(self.own().line("vary"), "vary: a table of lists, e.g. `policy = [\"random\"]`"));
        };
        vary.insert(key, Item::Value(list.into()));
        Ok(self)
    }

    /// Refuses a key that a table of `[vary]` sets: it would be set again, and nothing say so.
    fn not_of_a_table(&self, by: &str, key: &str) -> Result<(), SpecError> {
        let sets = |(name, item): &(&str, &Item)| {
            let of_table = |value: &Value| {
                together(name, value).iter().any(|(of, _)| of != name && long_name(of) == long_name(key))
            };
            item.as_array().is_some_and(|values| values.iter().any(of_table))
        };
        let vary = self.document.get("vary").and_then(Item::as_table_like);
        let Some((of, _)) = vary.and_then(|vary| vary.iter().find(sets)) else { return Ok(()) };
        let message = format!("{by} {key}: the tables of `{of}` in [vary] set it too: change it there");
        Err(self.at(self.own().line(&format!("vary.{of}")), &message))
    }

    /// The command that asks `by` about it.
    pub(crate) fn command(&self, by: &[Engine]) -> String {
        let by: Vec<&str> = by.iter().map(|engine| engine.name()).collect();
        let set = self.set.iter().map(|(key, value)| format!(" --set '{key}={}'", show(value)));
        format!("sojourn run {} --by {}{}", self.file.display(), by.join(","), set.collect::<String>())
    }

    /// What only the command line can name, where the file leaves it empty and nothing has named it: the key.
    pub fn lacks(&self) -> Option<&'static str> {
        let log = self.document.get("workload").and_then(|workload| workload.get("log")).and_then(Item::as_str);
        log.filter(|log| log.is_empty()).map(|_| "workload.log")
    }

    /// What `--set` says of `key`, by whichever of its names; the last word counts.
    pub(crate) fn set_by_hand(&self, key: &str) -> Option<&Value> {
        self.set.iter().rev().find(|(set, _)| long_name(set) == long_name(key)).map(|(_, value)| value)
    }

    /// The text that is run.
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    /// The experiment in which nothing varies: those of all combinations are made of it.
    pub(crate) fn without_axes(&self) -> Experiment {
        let strip = |document: &mut DocumentMut| {
            document.remove("vary");
            document.remove("variant");
        };
        let mut bare: DocumentMut = self.original.parse().expect("it was read before");
        strip(&mut bare);
        let mut without = Experiment { bare: Some(Arc::new(bare)), fixed: Vec::new(), ..self.clone() };
        strip(&mut without.document);
        without
    }

    /// The same with these changes one after another, as by [`Experiment::set`], where nothing varies.
    ///
    /// # Errors
    /// Those of `set`, which knows what was meant where a change has nowhere to go.
    pub(crate) fn changed(&self, changes: &[(&str, &str)]) -> Result<Experiment, SpecError> {
        let mut changed = self.clone();
        for (key, value) in changes {
            let (key, value) = (key.trim(), read_value(value));
            if change_to(&mut changed.document, key, &value).is_err() {
                return changes.iter().try_fold(self.clone(), |changed, (key, value)| changed.set(key, value));
            }
            changed.set.push((key.to_owned(), value));
        }
        Ok(changed)
    }

    /// Whether the file has this key in this table.
    pub(crate) fn has(&self, table: &str, key: &str) -> bool {
        self.document.get(table).is_some_and(|table| table.get(key).is_some())
    }

    /// What the file calls the question.
    pub(crate) fn name(&self) -> Option<String> {
        self.document.get("name").and_then(Item::as_str).map(str::to_owned)
    }

    /// The seed that the file says. Where it says none that could be one, that is refused when it is asked.
    pub(crate) fn seed(&self) -> u64 {
        self.document.get("seed").and_then(Item::as_integer).and_then(|seed| u64::try_from(seed).ok()).unwrap_or(1)
    }

    /// What the file itself says at `key`.
    fn written(&self, key: &str) -> Option<String> {
        written_in(&self.document, key)
    }

    pub(crate) fn at(&self, line: Option<usize>, message: &str) -> SpecError {
        let line = line.map_or(String::new(), |line| format!(":{line}"));
        SpecError(format!("{}{line}: {message}", self.file.display()))
    }

    /// The file as its author sees it.
    fn own(&self) -> ConfigFile {
        ConfigFile::new(&self.file, &*self.original)
    }

    /// Each `[[variant]]`.
    fn single(&self) -> impl Iterator<Item = &Table> {
        self.document.get("variant").and_then(Item::as_array_of_tables).into_iter().flatten()
    }
}

/// What a file says at `key`.
pub(crate) fn written_in(document: &DocumentMut, key: &str) -> Option<String> {
    let mut item = document.as_item();
    for part in parts(long_name(key)) {
        item = match number(item, part) {
            Some(index) => item.get(index)?,
            None => item.get(part)?,
        };
    }
    item.as_value().map(show)
}

/// Whether a variation of these settings leaves out what a file says at `key`: what else says how fast requests come.
pub(crate) fn is_replaced(key: &str, settings: &[(String, String)]) -> bool {
    let replaces = |(by, value): &(String, String)| {
        let others = other_loads(by, &Value::from(value.as_str())).iter();
        !value.is_empty() && others.map(|other| format!("workload.{other}")).any(|other| other == long_name(key))
    };
    settings.iter().any(replaces)
}

/// A value as it is typed: what reads as a number, a list or a table is one; the rest is text and needs no quotes on a shell.
fn read_value(text: &str) -> Value {
    let text = text.trim();
    let value = text.parse().unwrap_or_else(|_| Value::from(text));
    // A count may be written so: 1e6 requests.
    let whole = value.as_float().filter(|number| number.fract() == 0.0 && number.abs() < 1e15 && !text.contains('.'));
    whole.map_or(value, |number| Value::from(number as i64))
}

pub(crate) fn show(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_string(),
        None => value.to_string().trim().to_string(),
    }
}

pub(crate) fn long_name(key: &str) -> &str {
    SHORT_NAMES.iter().find(|(short, _)| *short == key).map_or(key, |(_, long)| long)
}
