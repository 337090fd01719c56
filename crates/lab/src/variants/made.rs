//! How variants are made of a file: every combination of what varies is an edit of its text, which is read as if typed by hand.

use std::collections::HashSet;

use toml_edit::{DocumentMut, Item, Table, Value};

use super::change::{drop_disciplines_keys, drop_loads, put};
use super::combined::{Combination, Combined, called, keys_of, of_named_alone, together, values_of};
use super::{Experiment, Setting, Variant, long_name, show};
use crate::range;
use crate::spec::{Overload, Shared, Spec, SpecError};

impl Experiment {
    /// Reads and checks every variant: the product of all lists of `[vary]`, then each `[[variant]]`.
    ///
    /// # Errors
    /// The first thing wrong, in one line.
    pub fn variants(&self) -> Result<Vec<Variant>, SpecError> {
        let combinations = self.combined()?;
        let keys = keys_of(&combinations);
        let shared = Shared::default();
        self.check_replaced(&combinations, &shared)?;
        let mut variants =
            combinations.iter().map(|one| self.variant(&keys, one, &shared)).collect::<Result<Vec<_>, _>>()?;
        if self.fixed.is_empty() {
            leave_out(&of_named_alone(&combinations), &mut variants);
        }
        Ok(variants)
    }

    /// What varies, and every combination of it as texts: [`Experiment::changed`] makes experiments of them.
    pub(crate) fn combinations(&self) -> Result<(Vec<String>, Vec<Combination>), SpecError> {
        let combined = self.combined()?;
        let keys = keys_of(&combined);
        let of = |Combined { settings, .. }: Combined| {
            let changes: Vec<_> = settings.iter().map(|(key, value)| (key.clone(), show(value))).collect();
            let set = |key: &String| changes.iter().find(|(of, _)| of == key).map(|(_, value)| value.clone());
            let text = |key: &String| (key.clone(), set(key).or_else(|| self.written(key)).unwrap_or_default());
            Combination { settings: keys.iter().map(text).collect(), changes }
        };
        let all = combined.into_iter().map(of).collect();
        Ok((keys, all))
    }

    /// The combinations: the product of all lists of `[vary]`, then each `[[variant]]`.
    fn combined(&self) -> Result<Vec<Combined>, SpecError> {
        let at = |key: &str, message: String| match self.set_by_hand(key) {
            Some(value) => SpecError(format!("--set {key}={}: {message}", show(value))),
            None => self.at(self.own().line(key), &message),
        };
        // The file as written first: an error in it should not be reported as one of a variant.
        let mut combinations = vec![Combined::default()];
        if let Some(vary) = self.document.get("vary") {
            let vary = vary
                .as_table_like()
                .ok_or_else(|| at("vary", "vary: a table of lists, e.g. `policy = [\"random\"]`".into()))?;
            for (key, item) in vary.iter() {
                let is_it = |(of, _): &(&str, &Item)| *of != key && long_name(of) == long_name(key);
                if let Some((other, _)) = vary.iter().find(is_it) {
                    let twice = format!("vary: `{key}` and `{other}` are one setting: leave one of them out");
                    return Err(at(&format!("vary.{key}"), twice));
                }
                let values = values_of(key, item).map_err(|fault| at(&format!("vary.{key}"), fault))?;
                combinations = combinations
                    .iter()
                    .flat_map(|done| values.iter().map(|value| done.and(together(key, value), called(key, value))))
                    .collect();
            }
        }
        let mut names: Vec<&str> = Vec::new();
        // Of which nothing is left that is not set by hand is no variant of its own.
        let is_left = |more: &Table| !more.is_empty() || self.fixed.is_empty();
        for (number, more) in self.single().enumerate().filter(|(_, more)| is_left(more)) {
            let at =
                |key: &str, wrong: &str| at(&format!("variant[{number}].{key}"), format!("variant: `{key}` {wrong}"));
            let name = match more.get("name").map(|name| name.as_str().map(str::trim)) {
                Some(None | Some("")) => return Err(at("name", "is what it is called in tables: a text in quotes")),
                Some(Some(name)) if names.contains(&name) => return Err(at("name", "is that of another one too")),
                name => name.flatten(),
            };
            names.extend(name);
            let mut all = vec![Combined::called(name)];
            for (key, item) in more.iter().filter(|(key, _)| *key != "name") {
                let value = item.as_value().ok_or_else(|| at(key, "needs a value"))?;
                let range = value.as_str().and_then(range::values).transpose();
                let range = range.map_err(|fault| at(key, &format!("is no range: {fault}")))?;
                // Beside a name only what varies is told.
                let words = if name.is_some() && range.is_none() { Some("") } else { None };
                let values = range.unwrap_or_else(|| vec![value.clone()]);
                let with = |value: &Value| vec![(key.to_owned(), value.clone())];
                all =
                    all.iter().flat_map(|done| values.iter().map(move |value| done.and(with(value), words))).collect();
            }
            combinations.extend(all);
        }
        Ok(combinations)
    }

    /// Checks the policies that the file itself names where they vary: every variant replaces them, so that nothing else
    /// would read them.
    fn check_replaced(&self, combinations: &[Combined], shared: &Shared) -> Result<(), SpecError> {
        let first = combinations.first().map_or(&[][..], |of| &of.settings[..]);
        let is_replaced = |key: &str| long_name(key).ends_with(".policy") && self.written(key).is_some();
        for (key, _) in first.iter().filter(|(key, _)| is_replaced(key)) {
            let others: Vec<_> = first.iter().filter(|(of, _)| of != key).cloned().collect();
            self.experiment(&others, shared, Overload::Taken)?;
        }
        Ok(())
    }

    /// The experiment with these settings, whatever varies besides; one that is overloaded is none the worse for it.
    pub(crate) fn candidate(&self, settings: &[(String, Value)]) -> Result<Spec, SpecError> {
        self.experiment(settings, &Shared::default(), Overload::Taken)
    }

    /// The same with another edit after them; an error is a message without a place.
    pub(crate) fn candidate_with(
        &self,
        settings: &[(String, Value)],
        edit: &dyn Fn(&mut DocumentMut),
    ) -> Result<Spec, String> {
        let mut document = self.document.clone();
        for (key, value) in settings {
            put(&mut document, key, value.clone())?;
            self.drop_others_keys(&mut document, (key, value), settings);
        }
        edit(&mut document);
        let parsed =
            Spec::parse_with(&document.to_string(), &self.file, &Shared::default(), Overload::Taken, &self.catalogue);
        parsed.map_err(|error| self.without_place(&error).to_owned())
    }

    /// One combination, read and checked.
    fn variant(&self, keys: &[String], combined: &Combined, shared: &Shared) -> Result<Variant, SpecError> {
        let settings = &combined.settings;
        let experiment = self.experiment(settings, shared, Overload::Refused)?;
        let settings = keys
            .iter()
            .map(|key| {
                let set = settings.iter().find(|(of, _)| of == key).map(|(_, value)| show(value));
                let value = set.or_else(|| self.written(key)).unwrap_or_default();
                Setting { key: key.clone(), value }
            })
            .collect();
        let (name, fixed, remarks) = (combined.name(), self.fixed.clone(), self.remarks(combined));
        Ok(Variant { settings, name, fixed, untold: Vec::new(), remarks, experiment })
    }

    /// The experiment with these settings; what is wrong with it is said of what its author wrote.
    fn experiment(&self, settings: &[(String, Value)], shared: &Shared, overload: Overload) -> Result<Spec, SpecError> {
        let mut document = self.document.clone();
        for (key, value) in settings {
            let wrong = |message: String| self.at(self.line_of(key, settings), &message);
            put(&mut document, key, value.clone()).map_err(wrong)?;
            self.drop_others_keys(&mut document, (key, value), settings);
        }
        let text = document.to_string();
        Spec::parse_with(&text, &self.file, shared, overload, &self.catalogue).map_err(|e| {
            let blamed = self.blame(&e, settings, shared, overload);
            blamed.unwrap_or_else(|| one_value(self.relocate(e, &text, settings, overload), settings))
        })
    }

    /// Leaves out what a variation makes void: keys of another discipline, and what else says how fast requests come, unless
    /// that is of these settings or was set by hand.
    pub(super) fn drop_others_keys(
        &self,
        document: &mut DocumentMut,
        (key, value): (&str, &Value),
        settings: &[(String, Value)],
    ) {
        let is_set = |of: &str| settings.iter().any(|(set, _)| long_name(set) == long_name(of));
        drop_loads(document, (key, value), |other| is_set(other) || self.set_by_hand(other).is_some());
        if let Some(discipline) = value.as_str().filter(|_| long_name(key) == "system.server.discipline") {
            drop_disciplines_keys(document, discipline);
        }
    }
}

/// The error, where a variant has a list that is none of its setting's own, with how several values are written.
fn one_value(error: SpecError, settings: &[(String, Value)]) -> SpecError {
    let has_list = settings.iter().any(|(_, value)| value.is_array());
    if !has_list || !error.0.contains("invalid type: a list in `") {
        return error;
    }
    // A range has quotes.
    let told = error.0.replace(", without quotes", "");
    SpecError(format!(
        "{told}; a variant takes one value: several are a range in quotes, as `\"0.5..0.9 step 0.1\"`, or a list of \
         `[vary]`"
    ))
}

/// Leaves these settings out of the labels of all variants, unless two labels were equal then.
fn leave_out(keys: &[String], variants: &mut [Variant]) {
    let count = |variants: &[Variant]| variants.iter().map(Variant::label).collect::<HashSet<String>>().len();
    if keys.is_empty() {
        return;
    }
    let told = count(variants);
    variants.iter_mut().for_each(|variant| variant.untold = keys.to_vec());
    if count(variants) < told {
        variants.iter_mut().for_each(|variant| variant.untold.clear());
    }
}
