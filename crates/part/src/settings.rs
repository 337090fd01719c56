//! The settings of a part: plain data that a file holds, flags fill and `--check` shows.
//!
//! A part has one struct for its settings, which serde reads from a file (TOML) and clap from the command line. Flags win over
//! the file, and both over the defaults: the file is read first, then [`clap::FromArgMatches`] updates what the command line
//! names, then [`Settings::check`] judges the whole. So a mistake has one line that names the place where it was made: a flag,
//! or a line of the file. [`Given`] does all that, once when the part starts and again whenever it is told to read its file
//! anew; a run starts a child with the same struct, written by [`to_toml`].
//!
//! For this, an argument must have no default of clap's (`default_value`), which would win over the file, but one of the
//! struct's `Default`, which the help shows. A switch is `action = ArgAction::Set,
//! num_args = 0..=1, default_missing_value = "true", require_equals = true` for the same reason.

use std::fs;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use crate::place::Place;

/// The settings of a part.
pub trait Settings: Args + Serialize + DeserializeOwned + Default {
    /// Flags that are not called as their key is: the key, as in `reports.listen`, and the flag without its dashes. The flag of
    /// any other key is the key's last word, with dashes.
    const FLAGS: &'static [(&'static str, &'static str)] = &[];

    /// Takes relative paths from `folder`, where the file is.
    fn below(&mut self, folder: &Path) {
        let _ = folder;
    }

    /// Whether they can be right, together too; files that they name are looked at.
    ///
    /// # Errors
    /// The first that cannot.
    fn check(&self) -> Result<(), Wrong>;

    /// What a part of these settings would do, in one line.
    fn summary(&self) -> String;
}

/// A setting that cannot be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Its key in the file, as in `backend[2].weight`; the first of a list is 0.
    pub key: String,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl Wrong {
    /// What is wrong with the setting of this key.
    pub fn new(key: impl Into<String>, what: impl ToString) -> Wrong {
        Wrong { key: key.into(), what: what.to_string() }
    }

    /// The same in the settings of which `section` is a part.
    #[must_use]
    pub fn within(self, section: &str) -> Wrong {
        Wrong { key: format!("{section}.{}", self.key), ..self }
    }
}

/// What the command line says of a part: a file, flags that win over it, and what is to be done with both.
#[derive(Clone, Debug)]
pub struct Given<T> {
    common: Common,
    flags: ArgMatches,
    settings: PhantomData<fn() -> T>,
}

/// Settings
#[derive(Args, Clone, Debug)]
struct Common {
    /// Settings from this file, TOML; flags win over it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Say whether the settings are right and what would be done, print them as a file, and end
    #[arg(long)]
    check: bool,
    /// Serve until standard input closes, as a child of a run
    #[arg(long, hide = true)]
    child: bool,
}

impl<T: Settings> Given<T> {
    /// The file, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.common.config.as_deref()
    }

    /// Whether nothing more is wanted than to know whether the settings are right.
    pub fn only_checks(&self) -> bool {
        self.common.check
    }

    /// Whether it is a child of a run, which stops when its standard input closes.
    pub fn is_child(&self) -> bool {
        self.common.child
    }

    /// Reads the file, if there is one, and then the flags.
    ///
    /// # Errors
    /// One line: the file and its line, or the flag; the key; and what would be right.
    pub fn read(&self) -> Result<T, String> {
        let file = self.common.config.as_deref();
        let text = match file {
            Some(file) => fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?,
            None => String::new(),
        };
        let mut settings = match file {
            Some(file) => {
                let mut settings: T = Place { text: &text, file }.read()?;
                settings.below(file.parent().unwrap_or(Path::new("")));
                settings
            }
            None => T::default(),
        };
        settings.update_from_arg_matches(&self.flags).map_err(|error| error.to_string())?;
        settings.check().map_err(|wrong| match self.flag(&wrong.key, file.is_none()) {
            Some(flag) => format!("--{flag}: {}", wrong.what),
            None => {
                let (file, line) = (file.expect("what no flag says, a file does").display(), line(&text, &wrong.key));
                format!("{file}:{line}: {}: {}", wrong.key, wrong.what)
            }
        })?;
        Ok(settings)
    }

    /// The flag of a key, where the command line has it, or where it `must` be a flag since there is nothing else.
    fn flag(&self, key: &str, must: bool) -> Option<String> {
        let flag = flag_of::<T>(key);
        let command = T::augment_args_for_update(Command::new("flags"));
        let argument = command.get_arguments().find(|argument| argument.get_long() == Some(&flag));
        let is_given = argument.is_some_and(|argument| {
            self.flags.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
        });
        (is_given || must).then_some(flag)
    }
}

impl<T: Settings> Args for Given<T> {
    fn augment_args(command: Command) -> Command {
        let usual = toml::Table::try_from(T::default()).unwrap_or_default();
        let (about, long_about) = (command.get_about().cloned(), command.get_long_about().cloned());
        let command = T::augment_args_for_update(Common::augment_args(command));
        // What is said of a section of the settings is not said of the whole.
        let command = command.about(Resettable::from(about)).long_about(Resettable::from(long_about));
        let mut shown = Vec::new();
        flatten::<T>("", &usual, &mut shown);
        command.mut_args(|argument| {
            let is_switch = argument.get_num_args().is_some_and(|number| number.min_values() == 0);
            let argument = if is_switch { argument.hide_possible_values(true) } else { argument };
            let usual = shown.iter().find(|(flag, _)| argument.get_long() == Some(flag));
            match (usual, argument.get_help().cloned()) {
                (Some((_, value)), Some(help)) => argument.help(format!("{help} [default: {value}]")),
                _ => argument,
            }
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Given::<T>::augment_args(command)
    }
}

impl<T: Settings> FromArgMatches for Given<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given<T>, clap::Error> {
        Ok(Given { common: Common::from_arg_matches(matches)?, flags: matches.clone(), settings: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Given::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Settings as a file has them.
///
/// # Panics
/// When they cannot be said in TOML, which is a mistake in their type.
pub fn to_toml<T: Settings>(settings: &T) -> String {
    toml::to_string(settings).expect("settings are TOML")
}

/// A seed in a file. TOML has whole numbers up to 2^63 - 1 only; a larger seed is a text of digits.
pub mod seed {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Seed {
        Number(u64),
        Text(String),
    }

    /// Writes it.
    pub fn serialize<S: Serializer>(seed: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(*seed) {
            Ok(number) => serializer.serialize_i64(number),
            Err(_) => serializer.serialize_str(&seed.to_string()),
        }
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let wrong = || D::Error::custom("a seed is a whole number of at least 0");
        match Seed::deserialize(deserializer).map_err(|_| wrong())? {
            Seed::Number(number) => Ok(number),
            Seed::Text(text) => text.parse().map_err(|_| wrong()),
        }
    }
}

/// The name of the flag of a key.
fn flag_of<T: Settings>(key: &str) -> String {
    let plain: String = without_indices(key);
    match T::FLAGS.iter().find(|(known, _)| *known == plain) {
        Some((_, flag)) => (*flag).to_owned(),
        None => plain.rsplit('.').next().unwrap_or(&plain).replace('_', "-"),
    }
}

fn without_indices(key: &str) -> String {
    let mut parts = key.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once(']').map_or("", |(_, rest)| rest))
}

/// The flags of a table's plain values, with these.
fn flatten<T: Settings>(section: &str, table: &toml::Table, shown: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let key = if section.is_empty() { key.clone() } else { format!("{section}.{key}") };
        match value {
            toml::Value::Table(table) => flatten::<T>(&key, table, shown),
            // Nothing is the default of a list, and of a switch that nothing is set.
            toml::Value::Array(_) | toml::Value::Boolean(false) => {}
            toml::Value::String(text) => shown.push((flag_of::<T>(&key), text.clone())),
            other => shown.push((flag_of::<T>(&key), other.to_string())),
        }
    }
}

/// The line of a key in a file, or of the innermost section of it that is there; the first line is 1.
fn line(text: &str, key: &str) -> usize {
    let Ok(table) = DeTable::parse(text) else { return 1 };
    let mut at = None;
    let mut value: Option<&DeValue<'_>> = None;
    for part in key.split('.') {
        let (name, indices) = part.split_once('[').map_or((part, ""), |(name, rest)| (name, rest));
        let inside = match value {
            None => Some(table.get_ref()),
            Some(DeValue::Table(table)) => Some(table),
            Some(_) => None,
        };
        let Some((word, found)) = inside.and_then(|table| table.iter().find(|(word, _)| word.get_ref() == name)) else {
            break;
        };
        (at, value) = (Some(word.span().start), Some(found.get_ref()));
        for index in indices.split('[').filter_map(|index| index.trim_end_matches(']').parse::<usize>().ok()) {
            let Some(found) = value.and_then(|value| value.as_array()?.get(index)) else { break };
            (at, value) = (Some(found.span().start), Some(found.get_ref()));
        }
    }
    at.map_or(1, |at| text[..at].matches('\n').count() + 1)
}
