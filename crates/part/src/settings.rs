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
//! num_args = 0..=1, default_missing_value = "true", require_equals = true` for the same reason. The id of an argument is its key
//! in the file, or the end of it that is unique: `#[arg(id = "reports.listen", long = "reports")]`.

mod backend;
pub mod dns;
pub mod gateway;
mod health;
mod limits;
pub mod loadd;
pub mod node;
mod record;
mod reports;
mod section;
pub mod switch;

use std::ffi::OsStr;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sojourn_stats::config::ConfigFile;
pub use sojourn_stats::config::{Wrong, seed};

pub use backend::{backends, read_backend};
pub use health::Checks;
pub use limits::Limits;
pub use record::RecordLimits;
pub use reports::{CapacityShare, Echoes, REPORTER_MAX, Reports, Upstream, check_reporting};
pub use section::Section;

/// The settings of a part.
pub trait Settings: Args + Serialize + DeserializeOwned + Default {
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
    /// What this file alone says.
    ///
    /// # Panics
    /// When the flags of the settings contradict each other, which is a mistake in their type.
    pub fn from_file(file: &Path) -> Given<T> {
        let line: [&OsStr; 3] = ["settings".as_ref(), "--config".as_ref(), file.as_ref()];
        let matches = Given::<T>::augment_args(Command::new("settings")).try_get_matches_from(line);
        Given::from_arg_matches(&matches.expect("a file is enough")).expect("a file is enough")
    }

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
        self.read_and(|_| Ok(()))
    }

    /// The same; what only the part itself can say of its settings, `check` does.
    ///
    /// # Errors
    /// As [`Given::read`].
    pub fn read_and(&self, check: impl FnOnce(&T) -> Result<(), Wrong>) -> Result<T, String> {
        let file = self.file().map(ConfigFile::open).transpose().map_err(|error| error.0)?;
        let mut settings = match &file {
            Some(file) => {
                let mut settings: T = file.read().map_err(|error| error.0)?;
                settings.below(file.file().parent().unwrap_or(Path::new("")));
                settings
            }
            None => T::default(),
        };
        settings.update_from_arg_matches(&self.flags).map_err(|error| error.to_string())?;
        settings.check().and_then(|()| check(&settings)).map_err(|wrong| self.place(&wrong, file.as_ref()))?;
        Ok(settings)
    }

    /// Says where a wrong setting was made: in one line, the file and its line, or the flag.
    pub fn wrong(&self, wrong: &Wrong) -> String {
        self.place(wrong, self.file().and_then(|file| ConfigFile::open(file).ok()).as_ref())
    }

    fn place(&self, wrong: &Wrong, file: Option<&ConfigFile>) -> String {
        match (self.flag(&wrong.key, file.is_none()), file) {
            (None, Some(file)) => file.error(&wrong.key, &wrong.message).0,
            (flag, _) => format!("--{}: {}", flag.as_ref().unwrap_or(&wrong.key), wrong.message),
        }
    }

    /// The flag of a key, where the command line has it, or where it `must` be a flag since there is nothing else.
    fn flag(&self, key: &str, must: bool) -> Option<String> {
        let command = T::augment_args_for_update(Command::new("flags"));
        let argument = argument_of(&command, key)?;
        let is_given = self.flags.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine);
        (is_given || must).then(|| argument.get_long().map(ToOwned::to_owned)).flatten()
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
        flatten(&command, "", &usual, &mut shown);
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

/// The argument of a key: the one whose id is the longest end of it, else the one that is called as its last word.
fn argument_of<'a>(command: &'a Command, key: &str) -> Option<&'a Arg> {
    let plain = without_indices(key);
    let is_end = |id: &str| plain.strip_suffix(id).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let named = command.get_arguments().filter(|argument| is_end(argument.get_id().as_str()));
    let word = plain.rsplit('.').next().unwrap_or(&plain).replace('_', "-");
    let called = || command.get_arguments().find(|argument| argument.get_long() == Some(&word));
    named.max_by_key(|argument| argument.get_id().as_str().len()).or_else(called)
}

fn without_indices(key: &str) -> String {
    let mut parts = key.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once(']').map_or("", |(_, rest)| rest))
}

/// The flags of a table's plain values, with these.
fn flatten(command: &Command, section: &str, table: &toml::Table, shown: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let key = if section.is_empty() { key.clone() } else { format!("{section}.{key}") };
        let flag = argument_of(command, &key).and_then(Arg::get_long).map(ToOwned::to_owned);
        match (value, flag) {
            (toml::Value::Table(table), _) => flatten(command, &key, table, shown),
            // Nothing is the default of a list, and of a switch that nothing is set.
            (toml::Value::Array(_) | toml::Value::Boolean(false), _) | (_, None) => {}
            (toml::Value::String(text), Some(flag)) => shown.push((flag, text.clone())),
            (other, Some(flag)) => shown.push((flag, other.to_string())),
        }
    }
}
