//! What `--set` replaces in a `[[variant]]` that has a name.
//!
//! The command line has the last word, as with other tools: what it sets holds in all variants, also where a `[[variant]]` sets
//! the same. A name stays, and may have become untrue ("four servers"), so it is said. A variant without a name is called by its
//! values.

use toml_edit::{Item, Table, Value};

use super::change::settled;
use super::combined::Combined;
use super::{Experiment, Setting, long_name, show};

/// A value of a variant with a name that `--set` has replaced.
#[derive(Clone, Debug)]
pub(super) struct Replaced {
    /// The key of `--set`.
    by: String,
    /// What the file calls the variant.
    name: String,
    /// What it said.
    was: Setting,
}

impl Experiment {
    /// What `--set` replaces in variants that the file has a name for, a line each.
    pub fn replaced(&self) -> Vec<String> {
        self.replaced.iter().filter_map(|of| self.told(of)).collect()
    }

    /// What `key`, set to `value`, replaces in variants that have a name.
    pub(super) fn replaced_by(&self, key: &str, value: &Value) -> Vec<Replaced> {
        let keys = settled(key, value);
        let is_settled = |of: &str| of != "name" && keys.iter().any(|key| long_name(key) == long_name(of));
        let of_variant = |variant: &Table| -> Vec<Replaced> {
            let Some(name) = variant.get("name").and_then(Item::as_str) else { return Vec::new() };
            let replaced = |(of, item): (&str, &Item)| {
                let was = Setting { key: of.to_owned(), value: show(item.as_value()?) };
                is_settled(of).then(|| Replaced { by: key.to_owned(), name: name.trim().to_owned(), was })
            };
            variant.iter().filter_map(replaced).collect()
        };
        self.single().flat_map(of_variant).collect()
    }

    /// What there is to say of one combination: what `--set` replaces in it, and where it has no effect, since a table that this
    /// one sets as a whole has its key in it.
    pub(super) fn remarks(&self, combined: &Combined) -> Vec<String> {
        let own = self.replaced.iter().filter(|of| combined.own_name() == Some(of.name.as_str()));
        let own = own.filter_map(|of| self.told(of));
        let whole = combined.settings.iter().flat_map(|(key, _)| {
            let inside = format!("{}.", long_name(key));
            let set = self.set.iter().filter(move |(set, _)| long_name(set).starts_with(&inside));
            set.map(move |(set, value)| {
                format!("--set {set} = {} has no effect here: the variant sets {key} as a whole", show(value))
            })
        });
        own.chain(whole).collect()
    }

    /// In a line; none where the variant had the same value, or nothing is set by hand any more. The last word counts.
    fn told(&self, of: &Replaced) -> Option<String> {
        let Replaced { by, name, was: Setting { key, value: was } } = of;
        let value = show(self.set_by_hand(by)?);
        let is_same = long_name(by) == long_name(key) && value == *was;
        (!is_same).then(|| format!("--set {by} = {value} also replaces {key} = {was} of the variant {name}"))
    }
}
