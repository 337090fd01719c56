//! How variants are made of a file: every combination of what varies is an edit of its text, which is read as if typed by hand.

use std::collections::HashSet;

use toml_edit::{DocumentMut, Item, Table, Value};

use super::change::{drop_disciplines_keys, drop_loads, put};
use super::combined::{Combination, Combined, called, keys_of, of_named_alone, of_one_value, together, values_of};
use super::{AS_GIVEN, Experiment, Setting, Variant, long_name, named, show};
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
        let values: Vec<_> = combinations.iter().map(|one| self.values(&keys, one)).collect();
        let untold = self.untold(&combinations, &values);
        let all = combinations.iter().zip(values);
        all.map(|(one, values)| self.variant(values, one, &untold, &shared)).collect()
    }

    /// What varies, and every combination of it as texts: [`Experiment::changed`] makes experiments of them.
    pub(crate) fn combinations(&self) -> Result<(Vec<String>, Vec<Combination>), SpecError> {
        let combined = self.combined()?;
        let keys = keys_of(&combined);
        let values: Vec<_> = combined.iter().map(|one| self.values(&keys, one)).collect();
        let untold = self.untold(&combined, &values);
        let of = |(one, settings): (&Combined, Vec<(String, String)>)| {
            let label = self.label_of(one, &settings, &untold);
            let changes = one.settings.iter().map(|(key, value)| (key.clone(), show(value))).collect();
            Combination { label, settings, changes }
        };
        let all = combined.iter().zip(values).map(of).collect();
        Ok((keys, all))
    }

    /// Every key that varies, with its value in this combination: as it sets it, or else as the file has it; empty where it has
    /// none.
    fn values(&self, keys: &[String], one: &Combined) -> Vec<(String, String)> {
        let set = |key: &String| one.settings.iter().find(|(of, _)| of == key).map(|(_, value)| show(value));
        keys.iter().map(|key| (key.clone(), set(key).or_else(|| self.written(key)).unwrap_or_default())).collect()
    }

    /// The label of this combination without these settings.
    fn label_of(&self, one: &Combined, values: &[(String, String)], untold: &[String]) -> String {
        let fixed = self.fixed.iter().map(|setting| (&*setting.key, &*setting.value));
        let told = values.iter().filter(|(key, _)| !untold.contains(key)).map(|(key, value)| (&**key, &**value));
        named(one.name().as_deref(), fixed.chain(told))
    }

    /// The keys of settings that labels leave out, since they tell nothing apart: those that have one value in all variants but
    /// those with a name. Where two labels were equal then, or one had nothing left, fewer: those that have one value in all, and
    /// those that only variants with a name set; or these alone.
    fn untold(&self, combined: &[Combined], values: &[Vec<(String, String)>]) -> Vec<String> {
        // What was set by hand stands before what varies, as if it were a name.
        if !self.fixed.is_empty() {
            return Vec::new();
        }
        let labels = |untold: &[String]| -> HashSet<String> {
            combined.iter().zip(values).map(|(one, values)| self.label_of(one, values, untold)).collect()
        };
        let unnamed = combined.iter().zip(values).filter(|(one, _)| one.name().is_none());
        let of_unnamed = of_one_value(unnamed.map(|(_, values)| values));
        if of_unnamed.is_empty() {
            return Vec::new();
        }
        let of_names = of_named_alone(combined);
        let choices = [of_unnamed, [of_one_value(values.iter()), of_names.clone()].concat(), of_names];
        let whole = labels(&[]).len();
        let is_enough = |untold: &Vec<String>| {
            let labels = labels(untold);
            labels.len() == whole && !labels.contains(AS_GIVEN)
        };
        choices.into_iter().filter(|untold| !untold.is_empty()).find(is_enough).unwrap_or_default()
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
                // Beside a name too, one value is told only where a variant without a name has another.
                let is_untold = values.len() == 1 && !self.single().any(|more| is_set_without_name(more, key));
                let words = |value| called(key, value).or(is_untold.then_some(""));
                combinations = combinations
                    .iter()
                    .flat_map(|done| values.iter().map(|value| done.and(together(key, value), words(value))))
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

    /// One combination with its values, read and checked.
    fn variant(
        &self,
        values: Vec<(String, String)>,
        combined: &Combined,
        untold: &[String],
        shared: &Shared,
    ) -> Result<Variant, SpecError> {
        let experiment = self.experiment(&combined.settings, shared, Overload::Refused)?;
        let settings = values.into_iter().map(|(key, value)| Setting { key, value }).collect();
        let (name, fixed, remarks) = (combined.name(), self.fixed.clone(), self.remarks(combined));
        Ok(Variant { settings, name, fixed, untold: untold.to_vec(), remarks, experiment })
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

/// Whether a `[[variant]]` without a name sets this key of `[vary]`.
fn is_set_without_name(more: &Table, key: &str) -> bool {
    !more.contains_key("name") && more.iter().any(|(of, _)| long_name(of) == long_name(key))
}
