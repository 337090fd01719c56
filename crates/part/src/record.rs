//! Records of decisions as files.

use std::fs::File;
use std::path::Path;

use sojourn_dispatch::Front;
use sojourn_dispatch::record::Detail;

use crate::ServeError;

/// Records to this file, if one is named, what a decider decides, with what each candidate had to offer where it explains.
///
/// # Errors
/// When the file cannot be made or written.
pub fn record(front: &mut Front, path: Option<&Path>, explain: bool) -> Result<(), ServeError> {
    let Some(path) = path else { return Ok(()) };
    let cannot = || format!("cannot record to {}", path.display());
    let detail = if explain { Detail::Explained } else { Detail::Decisions };
    let file = File::create(path).map_err(ServeError::system(cannot()))?;
    let begun = front.record_to(Box::new(file), detail);
    begun.map_err(|error| ServeError::Config(format!("{}: {error}", cannot())))
}
