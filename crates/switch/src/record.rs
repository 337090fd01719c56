//! Records of decisions: those for servers, and beside them those for other sites.

use std::fs::File;
use std::path::Path;

use sojourn_dispatch::Dispatcher;
use sojourn_dispatch::record::Detail;
use sojourn_part::ServeError;

/// Records what a dispatcher decides to a file.
pub(super) fn record(dispatcher: &mut Dispatcher, path: &Path, explain: bool) -> Result<(), ServeError> {
    let cannot = || format!("cannot record to {}", path.display());
    let detail = if explain { Detail::Explained } else { Detail::Decisions };
    let file = File::create(path).map_err(ServeError::system(cannot()))?;
    let begun = dispatcher.record_to(Box::new(file), detail);
    begun.map_err(|error| ServeError::Config(format!("{}: {error}", cannot())))
}
