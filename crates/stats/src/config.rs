//! Files of settings in TOML, and where a mistake in one is: `FILE:LINE: key: what is wrong and would be right`.
//!
//! Settings are plain data (no `Spanned`): they are read ([`ConfigFile::read`]), merged with flags, and checked afterwards.
//! A check returns a [`Wrong`], which names a key as a path, `backends[2].weight`. Where that stands is found then, in the
//! text ([`ConfigFile::line`]). The price is a second look at the text, which only a mistake pays.

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::input;
use crate::nearest::unknown;

/// A file in TOML that a user wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    file: PathBuf,
    text: String,
}

/// One line that says where, what is wrong and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

/// What is wrong with a setting, wherever it was written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {message}")]
pub struct Wrong {
    /// The path of its key: `limits.body`, `backends[2].weight` (the third).
    pub key: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl Wrong {
    /// What is wrong with `key`.
    pub fn new(key: impl Into<String>, message: impl Display) -> Wrong {
        Wrong { key: key.into(), message: message.to_string() }
    }

    /// The same as a setting of the table `table`, such as `limits` or `backends[2]`.
    #[must_use]
    pub fn inside(self, table: impl Display) -> Wrong {
        Wrong { key: format!("{table}.{}", self.key), ..self }
    }

    /// The line that tells a user. A setting that was given by a flag, or that no file has, is told as that flag.
    ///
    /// `flags`: those of the command line that were given, as `max-body`. A setting's flag is the path of its key with `-`
    /// for what is no letter and no digit, or the last part of that path.
    pub fn explain(&self, file: Option<&ConfigFile>, flags: &[&str]) -> ConfigError {
        let kebab = |key: &str| key.replace(|c: char| !c.is_alphanumeric(), "-").replace("--", "-");
        let (all, last) = (kebab(&self.key), kebab(self.key.rsplit('.').next().unwrap_or_default()));
        let flag = [&all, &last].into_iter().find(|flag| flags.contains(&flag.as_str()));
        match (flag, file) {
            (None, Some(file)) => file.error(&self.key, &self.message),
            (flag, _) => ConfigError(one_line(&format!("--{}: {}", flag.unwrap_or(&all), self.message))),
        }
    }
}

impl ConfigFile {
    /// The file's text, not yet looked at.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(file: &Path) -> Result<ConfigFile, ConfigError> {
        match input::text(file) {
            Ok(text) => Ok(ConfigFile::new(file, text)),
            Err(error) => Err(ConfigError(format!("cannot read {}: {error}", file.display()))),
        }
    }

    /// A text that came from elsewhere; messages name `file`.
    pub fn new(file: impl Into<PathBuf>, text: impl Into<String>) -> ConfigFile {
        ConfigFile { file: file.into(), text: text.into() }
    }

    /// The settings that it says.
    ///
    /// # Errors
    /// On what is no TOML, a key that `T` does not know, a value of the wrong type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        toml::from_str(&self.text).map_err(|error| self.not_toml(&error))
    }

    /// A mistake in the value of `key`, with its line, or that of the innermost table around it that the file has.
    pub fn error(&self, key: &str, message: &str) -> ConfigError {
        let line = self.offset(key).map_or(String::new(), |at| format!(":{}", self.line_at(at)));
        ConfigError(one_line(&format!("{}{line}: {key}: {message}", self.file.display())))
    }

    /// The line of `key`, as `backends[2].weight`, counted from 1. Where the file does not say that key, the line of the
    /// innermost table around it; `None` where there is none but the file itself.
    pub fn line(&self, key: &str) -> Option<usize> {
        self.offset(key).map(|at| self.line_at(at))
    }

    /// A path that the file says: seen from the folder of the file.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.file.parent().map_or_else(|| path.to_owned(), |folder| folder.join(path))
    }

    /// Where the file is.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn line_at(&self, offset: usize) -> usize {
        self.text[..offset.min(self.text.len())].matches('\n').count() + 1
    }

    fn offset(&self, key: &str) -> Option<usize> {
        let document = DeTable::parse(&self.text).ok()?;
        find(document.get_ref(), key)
    }

    fn not_toml(&self, error: &toml::de::Error) -> ConfigError {
        let at = error.span().unwrap_or(0..0);
        let key = DeTable::parse(&self.text).ok().and_then(|document| key_around(document.get_ref(), &at));
        let message = error.message().lines().next().unwrap_or("it is not TOML");
        let is_key = message.starts_with("unknown field");
        let message = match key.filter(|_| !is_key) {
            Some(key) => format!("{key}: {}", with_remedy(message)),
            None => with_remedy(message),
        };
        ConfigError(one_line(&format!("{}:{}: {message}", self.file.display(), self.line_at(at.start))))
    }
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

/// A message in one line, whatever of the user's text it repeats.
pub fn one_line(message: &str) -> String {
    message.replace(['\n', '\r'], " ")
}

/// A text as a terminal may show it: what would move its cursor or change its colours is written out, as `\u{1b}`. Ends of
/// lines and tabs stay.
pub fn shown(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| if acts(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// What serde says of a value of a JSON text, without the names of types in Rust: `invalid type: a list, expected an object
/// (column 2)`. Of a text of several lines it says the line, too.
pub fn of_json(error: impl Display) -> String {
    let told = error.to_string();
    let (what, place) =
        match told.rsplit_once(" at line ").and_then(|(what, at)| Some((what, at.split_once(" column ")?))) {
            Some((what, ("1", column))) => (what, format!(" (column {column})")),
            Some((what, (line, column))) => (what, format!(" (line {line}, column {column})")),
            None => (told.as_str(), String::new()),
        };
    if let Some(unknown) = unknown_name(what) {
        return format!("{unknown}{place}");
    }
    let Some((wrong, expected)) = what.rsplit_once(", expected ").filter(|_| what.starts_with("invalid")) else {
        return format!("{what}{place}");
    };
    let wrong = if wrong == "invalid type: map" { "invalid type: an object".into() } else { in_words(wrong) };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "an object",
        of_ours if is_a_type_of_ours(of_ours) => "an object",
        other => other,
    };
    format!("{wrong}, expected {expected}{place}")
}

/// What serde says of a value of a TOML text, in the words of who writes files.
pub fn with_remedy(message: &str) -> String {
    match message {
        "invalid socket address syntax" => {
            return format!("{message}: it is an address and a port, e.g. 127.0.0.1:8080");
        }
        "invalid IP address syntax" => return format!("{message}: it is an address, e.g. 127.0.0.1"),
        _ => {}
    }
    if let Some(unknown) = unknown_name(message) {
        return unknown;
    }
    let Some((wrong, right)) = wrong_and_right(message) else { return message.into() };
    format!("{wrong}: {right}")
}

/// What serde says of a name that it does not know, a key or a word for a value, with the one that was probably meant. None of
/// anything else that it says.
pub fn unknown_name(message: &str) -> Option<String> {
    let what = match message {
        field if field.starts_with("unknown field") => "key",
        variant if variant.starts_with("unknown variant") => "value",
        _ => return None,
    };
    let mut ticked = message.split('`').skip(1).step_by(2);
    Some(unknown(what, ticked.next()?, ticked))
}

/// What is wrong with a value of the wrong type, and what would be right, of what serde says of it: `invalid type: map,
/// expected a string`. None of anything else that it says.
pub fn wrong_and_right(message: &str) -> Option<(String, String)> {
    let (wrong, expected) = message.rsplit_once(", expected ").filter(|_| message.starts_with("invalid"))?;
    // TOML's own whole numbers end with the last of these.
    let most = match expected {
        "u8" => Some(u8::MAX.into()),
        "u16" => Some(u16::MAX.into()),
        "u32" => Some(u32::MAX.into()),
        "u64" | "usize" => Some(i64::MAX),
        _ => None,
    };
    if let Some(most) = most {
        return Some(wrong_count(wrong, most));
    }
    let right = match expected {
        "a string" => "it is a text in quotes, with its unit where it has one, e.g. \"1.6 ms\"",
        "f64" => {
            let share = given(wrong)
                .and_then(|text| text.trim_matches('"').trim().strip_suffix('%')?.trim().parse::<f64>().ok());
            let such_as = share.map_or(String::new(), |percent| format!(", such as {}", short(percent / 100.0)));
            return Some((in_words(wrong), format!("it is a number, without quotes{such_as}")));
        }
        "a boolean" => "it is `true` or `false`, without quotes",
        "a sequence" => {
            return Some((in_words(wrong), format!("it is a list, e.g. `[{}]`", given(wrong).unwrap_or("1, 2"))));
        }
        "a map" => "it is a table, e.g. `{ key = 1 }`",
        // The name of a type of ours says nothing.
        of_ours if is_a_type_of_ours(of_ours) => "it is a table, e.g. `{ key = 1 }`",
        other => return Some((in_words(wrong), format!("it is {other}"))),
    };
    Some((in_words(wrong), right.into()))
}

/// Whether serde expected what only has the name of a type: `struct Settings`.
fn is_a_type_of_ours(expected: &str) -> bool {
    expected.starts_with("struct ") || expected.starts_with("tuple struct ") || expected.contains("enum ")
}

/// The same of a count, of which `most` is the largest.
fn wrong_count(wrong: &str, most: i64) -> (String, String) {
    let too_large = || format!("it is too large: at most {most}");
    let float = given(wrong).filter(|_| wrong.contains("floating point")).and_then(|text| text.parse::<f64>().ok());
    let right = match float.filter(|number| number.fract() == 0.0) {
        Some(number) if number < 0.0 => "it is not negative".into(),
        // Its digits would be many.
        Some(number) if number > most as f64 => return (format!("invalid value: `{number:e}`"), too_large()),
        Some(number) => format!("it is a whole number, without a point or an exponent: {number}"),
        None if wrong.contains("integer `-") => "it is not negative".into(),
        None if wrong.contains("integer `") => too_large(),
        None => "it is a whole number, without quotes".into(),
    };
    (in_words(wrong), right)
}

/// A number without what floating point adds to it.
fn short(number: f64) -> f64 {
    format!("{number:.12}").parse().unwrap_or(number)
}

/// The value that was given, as a file writes it, where serde repeats it: `invalid type: string "sim"`.
fn given(wrong: &str) -> Option<&str> {
    let text = wrong.split_once('"').map(|(before, _)| &wrong[before.len()..]);
    text.or_else(|| wrong.split('`').nth(1)).filter(|value| !value.is_empty())
}

/// `invalid type: map` in the words of who writes files.
fn in_words(wrong: &str) -> String {
    match wrong {
        "invalid type: map" => "invalid type: a table".into(),
        "invalid type: sequence" => "invalid type: a list".into(),
        other => other.into(),
    }
}

/// Where the value of `path` begins, or the innermost that holds it. A key may have dots of its own.
fn find(table: &DeTable<'_>, path: &str) -> Option<usize> {
    let inside = |key: &str| {
        let rest = path.strip_prefix(key)?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
    };
    let found = table.iter().filter_map(|(key, value)| Some((key, value, inside(key.get_ref())?)));
    let (key, value, rest) = found.max_by_key(|(key, ..)| key.get_ref().len())?;
    Some(find_in(value, rest).unwrap_or(key.span().start))
}

fn find_in(value: &Spanned<DeValue<'_>>, rest: &str) -> Option<usize> {
    match value.get_ref() {
        DeValue::Table(table) => find(table, rest.strip_prefix('.')?),
        DeValue::Array(list) => {
            let (index, rest) = rest.strip_prefix('[')?.split_once(']')?;
            let item = list.get(index.parse::<usize>().ok()?)?;
            Some(find_in(item, rest).unwrap_or(item.span().start))
        }
        _ => None,
    }
}

/// The path of the innermost key whose value has `at` inside.
fn key_around(table: &DeTable<'_>, at: &Range<usize>) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let rest = path_around(value, at)?;
        Some(format!("{}{rest}", key.get_ref()))
    })
}

fn path_around(value: &Spanned<DeValue<'_>>, at: &Range<usize>) -> Option<String> {
    let deeper = match value.get_ref() {
        DeValue::Table(table) => key_around(table, at).map(|rest| format!(".{rest}")),
        DeValue::Array(list) => {
            list.iter().enumerate().find_map(|(index, item)| Some(format!("[{index}]{}", path_around(item, at)?)))
        }
        _ => None,
    };
    let span = value.span();
    deeper.or_else(|| (span.start <= at.start && at.end <= span.end && !at.is_empty()).then(String::new))
}
