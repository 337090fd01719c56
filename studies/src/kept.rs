//! Tables of what was measured live, which stand beside a page so that it is written again without measuring again.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sojourn_lab::{Verdict, folder};

use crate::ReproduceError;

/// The rows of a table; none where there is no file.
pub(crate) fn read<R: for<'a> Deserialize<'a>>(file: &Path) -> Result<Vec<R>, ReproduceError> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let fail = |e: csv::Error| ReproduceError(format!("{}: {e}", file.display()));
    csv::Reader::from_path(file).map_err(fail)?.deserialize().collect::<Result<_, _>>().map_err(fail)
}

/// Writes a table, whole or not at all.
pub(crate) fn write<R: Serialize>(file: &Path, rows: &[R]) -> Result<(), ReproduceError> {
    let fail = |what: String| ReproduceError(format!("cannot write {}: {what}", file.display()));
    let mut csv = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| csv.serialize(row)).map_err(|e| fail(e.to_string()))?;
    let bytes = csv.into_inner().map_err(|e| fail(e.to_string()))?;
    folder::write_whole(file, &bytes).map_err(|e| fail(e.to_string()))
}

/// A verdict as tables and pages have it.
pub(crate) fn word(verdict: Verdict) -> String {
    verdict.word().to_owned()
}
