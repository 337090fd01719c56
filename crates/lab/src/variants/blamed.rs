//! What is wrong with a variation, said of what its author wrote: the line of the file or the `--set`, and what was meant.

use std::sync::Arc;

use toml_edit::{DocumentMut, Item, Table, Value};

use super::change::{change_to, put};
use super::combined::{is_or_has, together};
use super::{Experiment, SHORT_NAMES, long_name, show};
use crate::spec::{Overload, Shared, Spec, SpecError};

/// Tables in which a key may have been meant that is named without its table.
const TABLES: [&str; 7] = ["run", "workload", "client", "system", "system.server", "system.network", "system.tier.0"];

impl Experiment {
    /// The error as one of the `--set` that causes it; none where the variant is wrong without any.
    pub(super) fn blame(
        &self,
        error: &SpecError,
        settings: &[(String, Value)],
        shared: &Shared,
        overload: Overload,
    ) -> Option<SpecError> {
        if self.set.is_empty() {
            return None;
        }
        let own = match &self.bare {
            Some(bare) => Arc::clone(bare),
            None => Arc::new(self.original.parse().expect("it was read before")),
        };
        let read = |set: &[(String, Value)]| {
            let mut document = (*own).clone();
            let changed = set.iter().try_for_each(|(key, value)| change_to(&mut document, key, value));
            let changed = changed.and_then(|()| {
                settings.iter().try_for_each(|(key, value)| {
                    put(&mut document, key, value.clone())
                        .map(|()| self.drop_others_keys(&mut document, (key, value), settings))
                })
            });
            let text = document.to_string();
            changed.is_ok() && Spec::parse_with(&text, &self.file, shared, overload, &self.catalogue).is_ok()
        };
        if !read(&[]) {
            return None;
        }
        let count = (1..=self.set.len()).find(|&count| !read(&self.set[..count]))?;
        let (before, (key, value)) = (&self.set[..count - 1], &self.set[count - 1]);
        let message = self.without_place(error);
        let meant = TABLES.map(|table| format!("{table}.{key}"));
        let meant = meant.into_iter().find(|meant| read(&[before, &[(meant.clone(), value.clone())]].concat()));
        let meant = meant.or_else(|| meant_by_end(key, message).map(str::to_owned));
        let right = match meant.filter(|_| message.starts_with("unknown key")) {
            Some(meant) => format!("there is no such key; did you mean `{meant}`?"),
            None => message.into(),
        };
        Some(SpecError(format!("--set {key}={}: {right}", show(value))))
    }

    /// Points an error at the line of the file as its author sees it, not as edited.
    pub(super) fn relocate(
        &self,
        error: SpecError,
        edited: &str,
        settings: &[(String, Value)],
        overload: Overload,
    ) -> SpecError {
        let prefix = format!("{}:", self.file.display());
        let parts = error.0.strip_prefix(&prefix).and_then(|rest| rest.split_once(": "));
        let Some((line, message)) = parts.and_then(|(line, message)| Some((line.parse::<usize>().ok()?, message)))
        else {
            return error;
        };
        if let Some((key, short)) = settings.iter().find_map(|(key, _)| Some((key, meant_by_end(key, message)?))) {
            return self
                .at(self.line_of(key, settings), &format!("{key}: there is no such key; did you mean `{short}`?"));
        }
        let Some(text) = edited.lines().nth(line.saturating_sub(1)) else { return error };
        let set: Vec<_> = settings.iter().map(|(key, value)| format!("{key} = {}", show(value))).collect();
        // A line may stand in a file more than once: first where it was found.
        let same_place = Some(line).filter(|line| self.original.lines().nth(line.saturating_sub(1)) == Some(text));
        let place = same_place.or_else(|| Some(1 + self.original.lines().position(|of| of == text)?));
        if let Some(place) = place {
            // Wrong in the file as it stands, or only with what this variant sets.
            let own = self.document.to_string();
            let own = Spec::parse_with(&own, &self.file, &Shared::default(), overload, &self.catalogue);
            let is_own = settings.is_empty() || own.is_err_and(|own| own.0.ends_with(message));
            let with = if is_own { String::new() } else { format!("with {}: ", set.join(", ")) };
            return SpecError(format!("{prefix}{place}: {with}{message}"));
        }
        let edited_key = text.split('=').next().unwrap_or_default().trim();
        let is_edited = |key: &&String| long_name(key).rsplit('.').next() == Some(edited_key);
        let key = settings.iter().map(|(key, _)| key).find(is_edited).or(settings.first().map(|(key, _)| key));
        match key {
            // Wrong as it is in the file too; only the line has been edited.
            None => SpecError(format!("{prefix} `{}`: {message}", text.trim())),
            Some(key) => self.at(self.line_of(key, settings), &format!("with {}: {message}", set.join(", "))),
        }
    }

    /// The line that gives `key` its value in the variant of these settings: of a `[[variant]]`, or of `[vary]`, where the key
    /// may stand in a table of settings that go together.
    pub(super) fn line_of(&self, key: &str, settings: &[(String, Value)]) -> Option<usize> {
        let says = |table: &Table| {
            let own: Vec<(&str, &Item)> = table.iter().filter(|(key, _)| *key != "name").collect();
            let is_one = |(key, item): (&str, &Item)| {
                let has = |value: &Value| settings.iter().any(|(of, set)| of == key && is_or_has(value, set));
                item.as_value().is_some_and(has)
            };
            own.len() == settings.len() && own.into_iter().all(is_one)
        };
        let own = self.own();
        if let Some(number) = self.single().position(says) {
            return own.line(&format!("variant[{number}].{key}"));
        }
        let vary = self.document.get("vary").and_then(Item::as_table_like)?;
        if vary.contains_key(key) {
            return own.line(&format!("vary.{key}"));
        }
        let of_several = |(name, item): (&str, &Item)| {
            let is_it = |value: &Value| {
                together(name, value)
                    .iter()
                    .all(|one| settings.iter().any(|of| of.0 == one.0 && show(&of.1) == show(&one.1)))
            };
            let has_key = |value: &Value| value.as_inline_table().is_some_and(|table| table.contains_key(key));
            let place = item.as_array()?.iter().position(|value| has_key(value) && is_it(value))?;
            own.line(&format!("vary.{name}[{place}].{key}"))
        };
        vary.iter().find_map(of_several).or_else(|| own.line("vary"))
    }

    /// The key of a table of the file that `key`, which has no such path, was probably meant to be: `run.precision`; where
    /// `or_near`, also one that is called otherwise: `run.max_jobs` of `jobs`.
    pub(super) fn meant_in_a_table(&self, key: &str, value: &Value, or_near: bool) -> Option<String> {
        if key.contains('.') || key.is_empty() || long_name(key) != key {
            return None;
        }
        let read = |document: &DocumentMut| {
            let text = document.to_string();
            Spec::parse_with(&text, &self.file, &Shared::default(), Overload::Taken, &self.catalogue)
        };
        read(&self.document).ok()?;
        // What is said of the file with it.
        let told = |meant: &str| {
            let mut document = self.document.clone();
            put(&mut document, meant, value.clone()).ok()?;
            Some(read(&document).err().map_or(String::new(), |error| error.0))
        };
        let has = |table: &&&str| self.document.contains_key(table.split('.').next().unwrap_or_default());
        let is_there = |table: &&&str| **table == "run" || has(table) || **table == "client" && has(&&"workload");
        let tables: Vec<&str> = TABLES.iter().filter(is_there).copied().collect();
        let unknown = format!("unknown key `{key}`");
        // The key is known there, whatever is said of its value.
        let is_key = |meant: &String| told(meant).is_some_and(|told| !told.contains(&unknown));
        let near = |table: &&str| {
            let told = told(&format!("{table}.{key}"))?;
            let meant = told.split_once(&format!("{unknown}; did you mean `"))?.1.strip_suffix("`?")?;
            Some(format!("{table}.{meant}"))
        };
        let exact = tables.iter().map(|table| format!("{table}.{key}")).find(is_key);
        exact.or_else(|| tables.iter().filter(|_| or_near).find_map(near))
    }

    /// The message of an error about a text that the user has not seen.
    pub(super) fn without_place<'e>(&self, error: &'e SpecError) -> &'e str {
        let message = error.0.strip_prefix(&format!("{}:", self.file.display()));
        message.and_then(|rest| Some(rest.split_once(": ")?.1)).unwrap_or(&error.0)
    }
}

/// The short name that a key ends with which there is not, according to `message`: `policy` of `system.policy`.
fn meant_by_end<'a>(key: &'a str, message: &str) -> Option<&'a str> {
    let (_, end) = key.rsplit_once('.')?;
    let is_short = SHORT_NAMES.iter().any(|(short, long)| *short == end && *long != key);
    (is_short && message.starts_with(&format!("unknown key `{end}`"))).then_some(end)
}
