//! The settings of a part on the command line: a file, flags that win over it, and `--check`.

use sojourn_part::settings::{Given, Settings, Wrong, to_toml};

use crate::exit::{Failure, bad_input};
use crate::table::outln;

/// The settings; where no more is wanted than to know whether they are right, that is said, and there are none. What only the
/// part itself can say of them, `check` does.
pub(crate) fn settings<T: Settings>(
    given: &Given<T>,
    check: impl FnOnce(&T) -> Result<(), Wrong>,
) -> Result<Option<T>, Failure> {
    settings_with(given, check, |_| Vec::new())
}

/// The same; `notes` says what else is to be known of settings that are right.
pub(crate) fn settings_with<T: Settings>(
    given: &Given<T>,
    check: impl FnOnce(&T) -> Result<(), Wrong>,
    notes: impl FnOnce(&T) -> Vec<String>,
) -> Result<Option<T>, Failure> {
    let settings = given.read_and(check).map_err(bad_input)?;
    if !given.only_checks() {
        return Ok(Some(settings));
    }
    let file = given.file().map_or("settings".into(), |file| file.display().to_string());
    let said = [vec![settings.summary()], notes(&settings)].concat().join("; ");
    outln(&format!("{file}: ok; {said}\n\n{}", to_toml(&settings).trim_end()));
    Ok(None)
}
