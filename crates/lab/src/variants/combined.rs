//! Combinations of what varies: what each sets, and what it is called.

use std::collections::HashSet;

use toml_edit::{InlineTable, Item, Value};

use super::change::unknown_setting;
use super::{label, long_name, show};
use crate::range;

/// What a combination sets, and what it is called.
#[derive(Clone, Default)]
pub(super) struct Combined {
    pub(super) settings: Vec<(String, Value)>,
    /// Its parts in words, as far as they tell something.
    words: Vec<String>,
    /// Whether one of them is a name that the file gives.
    is_named: bool,
    /// Whether it is a `[[variant]]`.
    is_single: bool,
}

impl Combined {
    /// A `[[variant]]` with this name.
    pub(super) fn called(name: Option<&str>) -> Combined {
        Combined {
            words: name.into_iter().map(str::to_owned).collect(),
            is_named: name.is_some(),
            is_single: true,
            ..Combined::default()
        }
    }

    /// The same with more settings, in these words where there are some, else in those of their values.
    pub(super) fn and(&self, settings: Vec<(String, Value)>, words: Option<&str>) -> Combined {
        let shown: Vec<(&str, String)> = settings.iter().map(|(key, value)| (key.as_str(), show(value))).collect();
        let told = words.map_or_else(|| label(shown.iter().map(|(key, value)| (*key, &**value))), str::to_owned);
        let mut all = self.clone();
        all.words.extend(Some(told).filter(|told| !told.is_empty()));
        all.is_named |= words.is_some_and(|words| !words.is_empty());
        all.settings.extend(settings);
        all
    }

    /// What the file calls the `[[variant]]`.
    pub(super) fn own_name(&self) -> Option<&str> {
        self.words.first().filter(|_| self.is_single && self.is_named).map(String::as_str)
    }

    pub(super) fn name(&self) -> Option<String> {
        self.is_named.then(|| self.words.join(", "))
    }
}

/// One combination of what varies.
pub(crate) struct Combination {
    /// What it is called, as [`super::Variant::label`] has it.
    pub(crate) label: String,
    /// Every key that varies in any of them, with its value here.
    pub(crate) settings: Vec<(String, String)>,
    /// What is set here, in the order in which it is.
    pub(crate) changes: Vec<(String, String)>,
}

/// The keys that combinations set, in their order.
pub(super) fn keys_of(combinations: &[Combined]) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for (key, _) in combinations.iter().flat_map(|of| &of.settings) {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys
}

/// The keys that only a `[[variant]]` with a name sets, where `[vary]` tells all others apart: they have one value in those.
pub(super) fn of_named_alone(combinations: &[Combined]) -> Vec<String> {
    let others = || combinations.iter().filter(|of| !(of.is_single && of.is_named));
    let are_told = others().all(|of| !of.settings.is_empty());
    let is_theirs =
        |key: &String| others().any(|of| of.settings.iter().any(|(set, _)| long_name(set) == long_name(key)));
    keys_of(combinations).into_iter().filter(|key| are_told && !is_theirs(key)).collect()
}

/// The keys that have one value in all of these; each has its value of each key.
pub(super) fn of_one_value<'a>(mut values: impl Iterator<Item = &'a Vec<(String, String)>>) -> Vec<String> {
    let Some(first) = values.next() else { return Vec::new() };
    let others: Vec<_> = values.collect();
    let is_same = |place: usize| others.iter().all(|other| other[place].1 == first[place].1);
    first.iter().enumerate().filter(|(place, _)| is_same(*place)).map(|(_, (key, _))| key.clone()).collect()
}

/// The values of a key of `[vary]`: a list, in which a text may be a range, or a range alone.
pub(super) fn values_of(key: &str, item: &Item) -> Result<Vec<Value>, String> {
    // What there is not needs no values. A name of tables is no setting, and need not be one.
    let has_tables = item.as_array().is_some_and(|list| list.iter().any(Value::is_inline_table));
    let first = item.as_array().map_or(item.as_value(), |list| list.get(0)).cloned().unwrap_or_else(|| Value::from(""));
    if item.is_value()
        && !has_tables
        && let Some(unknown) = unknown_setting(key, &first)
    {
        return Err(unknown);
    }
    let one = |value: &Value| match value.as_str().and_then(range::values) {
        Some(values) => values.map_err(|fault| format!("vary: `{key}`: {fault}")),
        None => Ok(vec![value.clone()]),
    };
    let list = match item.as_array() {
        Some(list) => list.iter().map(one).collect::<Result<Vec<_>, _>>()?.concat(),
        None if item.as_str().and_then(range::values).is_some() => one(item.as_value().expect("it is a text"))?,
        None => Vec::new(),
    };
    if list.is_empty() {
        return Err(no_list(key, item));
    }
    let mut seen = HashSet::new();
    match list.iter().map(show).find(|value| !seen.insert(value.clone())) {
        Some(twice) => Err(format!("vary: `{key}` has `{twice}` twice")),
        None => Ok(list),
    }
}

/// What is wrong with `item`, which is neither a list with values nor a range, and the list that was probably meant: a shell
/// takes away the quotes of `[random, least-connections]`.
fn no_list(key: &str, item: &Item) -> String {
    let text = item.as_value().map(show).unwrap_or_default();
    let inside = inside_of(&text);
    let values = quoted_parts(inside.unwrap_or(&text));
    // A table, an empty list and a range that is none are not to be guessed.
    let is_told = !values.is_empty() && !text.contains('{') && !text.contains("..");
    let list = if is_told { format!("[{values}]") } else { "[...]".into() };
    match inside {
        Some(_) if is_told => format!(
            "vary: `{key}`: a text in a list stands in quotes, and a shell leaves them only where all is in single quotes: \
             'vary.{key}={list}'"
        ),
        _ => format!("vary: `{key}` needs a list of values, e.g. `{key} = {list}`, or a range: {}", range::FORM),
    }
}

/// What stands between the brackets of a list.
fn inside_of(text: &str) -> Option<&str> {
    text.strip_prefix('[')?.strip_suffix(']')
}

/// The parts between commas outside of parentheses, as a file writes them: a text in quotes, numbers and lists as they are.
fn quoted_parts(text: &str) -> String {
    let mut depth = 0;
    let parts = text.split(|c: char| {
        depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        c == ',' && depth == 0
    });
    let quoted = |part: &str| match (part.parse::<Value>(), inside_of(part)) {
        (Ok(value), _) => value.to_string().trim().to_owned(),
        (Err(_), Some(inside)) => format!("[{}]", quoted_parts(inside)),
        (Err(_), None) => Value::from(part).to_string().trim().to_owned(),
    };
    parts.map(str::trim).filter(|part| !part.is_empty()).map(quoted).collect::<Vec<_>>().join(", ")
}

/// What one value of a list of `[vary]` sets: `key`, or, where `key` is no setting but a name, every key of a table but its own
/// `name`.
pub(super) fn together(key: &str, value: &Value) -> Vec<(String, Value)> {
    match table_of(key, value) {
        Some(table) => {
            let settings = table.iter().filter(|(key, value)| *key != "name" || !value.is_str());
            settings.map(|(key, value)| (key.to_string(), value.clone())).collect()
        }
        None => vec![(key.to_string(), value.clone())],
    }
}

/// What such a table is called.
pub(super) fn called<'a>(key: &str, value: &'a Value) -> Option<&'a str> {
    table_of(key, value)?.get("name")?.as_str().filter(|name| !name.is_empty())
}

/// The table of settings that a value of a list of `[vary]` is, where its key is no setting.
pub(super) fn table_of<'a>(key: &str, value: &'a Value) -> Option<&'a InlineTable> {
    let is_setting = key.contains('.') || long_name(key) != key;
    value.as_inline_table().filter(|_| !is_setting)
}

/// Whether a value of a `[[variant]]` is this one, or a range that has it.
pub(super) fn is_or_has(value: &Value, set: &Value) -> bool {
    let has = |values: Vec<Value>| values.iter().any(|one| show(one) == show(set));
    show(value) == show(set) || value.as_str().and_then(range::values).and_then(Result::ok).is_some_and(has)
}
