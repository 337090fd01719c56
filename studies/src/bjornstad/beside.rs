//! Long tables as files that stand beside the page.

use crate::ReproduceError;

/// A table as it grows.
pub(super) struct Csv {
    /// The file's name, without its end.
    pub(super) name: &'static str,
    width: usize,
    records: Vec<Vec<String>>,
}

impl Csv {
    pub(super) fn new(name: &'static str, columns: &[&str]) -> Csv {
        Csv { name, width: columns.len(), records: vec![columns.iter().map(|of| (*of).to_owned()).collect()] }
    }

    /// One more row.
    ///
    /// # Panics
    /// When it has not as many cells as there are columns.
    pub(super) fn row<const N: usize>(&mut self, cells: [String; N]) {
        assert_eq!(N, self.width, "{}: a row has the columns of its table", self.name);
        self.records.push(cells.into());
    }

    pub(super) fn bytes(&self) -> Result<Vec<u8>, ReproduceError> {
        let fail = |e: &dyn std::fmt::Display| ReproduceError(format!("{}.csv: {e}", self.name));
        let mut csv = csv::Writer::from_writer(Vec::new());
        self.records.iter().try_for_each(|record| csv.write_record(record)).map_err(|e| fail(&e))?;
        csv.into_inner().map_err(|e| fail(&e))
    }
}
