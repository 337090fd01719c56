//! A section of settings that may be left out.

use std::ops::{Deref, DerefMut};

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde::{Deserialize, Serialize};

/// A section that may be left out; a flag of it puts it there, as it is usual.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Section<T>(pub Option<T>);

impl<T> From<T> for Section<T> {
    fn from(section: T) -> Section<T> {
        Section(Some(section))
    }
}

impl<T> Deref for Section<T> {
    type Target = Option<T>;

    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

impl<T> DerefMut for Section<T> {
    fn deref_mut(&mut self) -> &mut Option<T> {
        &mut self.0
    }
}

impl<T: Args + Default> Args for Section<T> {
    fn augment_args(command: Command) -> Command {
        T::augment_args_for_update(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

impl<T: Args + Default> FromArgMatches for Section<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Section<T>, clap::Error> {
        let mut section = Section(None);
        section.update_from_arg_matches(matches).map(|()| section)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let command = T::augment_args_for_update(Command::new("section"));
        let mut ids = command.get_arguments().map(|argument| argument.get_id().as_str());
        match ids.any(|id| matches.value_source(id) == Some(ValueSource::CommandLine)) {
            true => self.get_or_insert_default().update_from_arg_matches(matches),
            false => Ok(()),
        }
    }
}
