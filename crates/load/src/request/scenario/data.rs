//! Variables from a table: a CSV file with a header line, a row for each user or for each pass, again from its top
//! when it is through. Which row it is follows from the number of the user or the pass, not from who comes first.

use std::path::Path;

use sojourn_stats::input;

/// A table of variables.
#[derive(Debug)]
pub(crate) struct Data {
    rows: Vec<Vec<Vec<u8>>>,
    by: By,
}

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// All passes of a user.
    User,
    /// One pass.
    Pass,
}

impl Data {
    /// Reads the table in the file `path`; also the names of its columns.
    ///
    /// # Errors
    /// When it cannot be read, a row has more or fewer values than the header, or there is none.
    pub(crate) fn read(path: &Path, by: By) -> Result<(Data, Vec<String>), String> {
        let wrong = |error: csv::Error| format!("{}: {error}", path.display());
        let bytes = input::bytes(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::Headers).from_reader(input::without_mark(&bytes));
        let names = reader.headers().map_err(wrong)?.iter().map(String::from).collect();
        let mut rows = Vec::new();
        for row in reader.byte_records() {
            rows.push(row.map_err(wrong)?.iter().map(<[u8]>::to_vec).collect());
        }
        if rows.is_empty() {
            return Err(format!("{}: there is no row below the header line", path.display()));
        }
        Ok((Data { rows, by }, names))
    }

    /// The values for pass number `pass` of user number `user`.
    pub(super) fn row(&self, user: u64, pass: u64) -> &[Vec<u8>] {
        let number = if self.by == By::User { user } else { pass };
        &self.rows[(number % self.rows.len() as u64) as usize]
    }
}
