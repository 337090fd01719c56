//! A file of records read back, to be looked at or replayed.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sojourn_stats::{Span, Time, input};
use thiserror::Error;

use crate::outcome::Outcome;
use crate::recorder::record::Record;

/// The requests of a finished run, in order of their planned instants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// The requests.
    pub records: Vec<Record>,
    /// Names of the backends that their `backend` counts.
    pub backends: Vec<String>,
}

/// Why a file of records cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordsError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is not what it should be.
    #[error("{}: {what}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong and what would be right.
        what: String,
    },
}

/// Reads the records that a run has written, CSV or Parquet. Of the columns only `planned_ns` and `done_ns` have to be
/// there; a request without an outcome counts as good, one without a number is counted in the file's order.
///
/// # Errors
/// One line that says where the file is wrong.
pub fn read(path: &Path) -> Result<Records, RecordsError> {
    let invalid = |what| RecordsError::Invalid { path: path.to_owned(), what };
    let failed = |source| RecordsError::Io { path: path.to_owned(), source };
    let mut magic = [0; 4];
    let parquet = input::open(path).and_then(|mut file| Ok(file.read(&mut magic)? == 4 && &magic == b"PAR1"));
    let mut rows = Reading::default();
    if parquet.map_err(failed)? { by_columns(path, &mut rows) } else { by_lines(path, &mut rows) }.map_err(invalid)?;
    rows.all.records.sort_by_key(|record| (record.planned, record.k));
    Ok(rows.all)
}

impl Records {
    /// What a server was asked to do: the time since the request before and the service demand of each request. The
    /// demand is the planned one; where none was, the service time (from sent to done). Requests with neither (they
    /// failed) are left out, not the time that passed.
    pub fn trace(&self) -> Vec<(Span, Span)> {
        let mut before = Time::ZERO;
        let demand = |record: &Record| match (record.demand, record.sent) {
            (Span::ZERO, Some(sent)) if record.outcome == Outcome::Ok => Some(record.done.saturating_since(sent)),
            (Span::ZERO, _) => None,
            (planned, _) => Some(planned),
        };
        let pair = |record: &Record| {
            let demand = demand(record)?;
            let gap = record.planned.saturating_since(before);
            before = record.planned;
            Some((gap, demand))
        };
        self.records.iter().filter_map(pair).collect()
    }
}

#[derive(Default)]
struct Reading {
    all: Records,
    numbers: HashMap<String, u16>,
}

/// A row, its cells found by the column's name; `Err` of a cell that is no number.
trait Row {
    fn number(&self, column: &'static str) -> Result<Option<u64>, String>;
    fn text(&self, column: &'static str) -> Option<&str>;
}

impl Reading {
    fn take(&mut self, row: &dyn Row) -> Result<(), String> {
        let time = |column| Ok::<_, String>(row.number(column)?.map(Time));
        let needed = |column| row.number(column)?.ok_or_else(|| format!("`{column}` is empty: expected nanoseconds"));
        let small = |column| {
            let value = row.number(column)?.unwrap_or(0);
            u32::try_from(value).map_err(|_| format!("`{column}` is {value}: expected at most {}", u32::MAX))
        };
        let outcome = match row.text("outcome") {
            None | Some("") => Outcome::Ok,
            Some(name) => Outcome::named(name).ok_or_else(|| {
                let names: Vec<&str> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
                format!("`outcome` is `{name}`: expected one of {}", names.join(", "))
            })?,
        };
        let record = Record {
            k: row.number("k")?.unwrap_or(self.all.records.len() as u64),
            client: small("client")?,
            class: small("class")?.min(u32::from(u8::MAX)) as u8,
            outcome,
            status: small("status")?.min(u32::from(u16::MAX)) as u16,
            backend: match row.text("backend") {
                None | Some("") => None,
                Some(name) => self.backend(name),
            },
            endpoint: small("endpoint")?.min(u32::from(u16::MAX)) as u16,
            hops: small("hops")?.min(u32::from(u8::MAX)) as u8,
            // Files of before have no such column: whatever began was asked for once.
            attempts: row.number("attempts")?.map_or(1, |attempts| attempts.min(u64::from(u32::MAX)) as u32),
            planned: Time(needed("planned_ns")?),
            demand: Span(row.number("demand_ns")?.unwrap_or(0)),
            begun: time("begun_ns")?,
            resolved: time("resolved_ns")?,
            connected: time("connected_ns")?,
            secured: time("secured_ns")?,
            sent: time("sent_ns")?,
            first_byte: time("first_byte_ns")?,
            done: Time(needed("done_ns")?),
            bytes: row.number("bytes")?.unwrap_or(0),
        };
        self.all.records.push(record);
        Ok(())
    }

    fn backend(&mut self, name: &str) -> Option<u16> {
        if let Some(&number) = self.numbers.get(name) {
            return Some(number);
        }
        let number = u16::try_from(self.all.backends.len()).ok()?;
        self.all.backends.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        Some(number)
    }
}

struct Line<'a> {
    columns: &'a HashMap<String, usize>,
    cells: csv::StringRecord,
}

impl Row for Line<'_> {
    fn number(&self, column: &'static str) -> Result<Option<u64>, String> {
        match self.text(column) {
            None | Some("") => Ok(None),
            Some(cell) => cell
                .parse()
                .map(Some)
                .map_err(|_| format!("`{column}` is `{cell}`: expected a whole number that is not negative")),
        }
    }

    fn text(&self, column: &'static str) -> Option<&str> {
        self.cells.get(*self.columns.get(column)?).map(str::trim)
    }
}

fn by_lines(path: &Path, rows: &mut Reading) -> Result<(), String> {
    let opened = input::open(path).and_then(input::unmarked).map_err(|error| error.to_string())?;
    let mut file = csv::ReaderBuilder::new().from_reader(opened);
    let header = file.headers().map_err(|error| error.to_string())?;
    let columns: HashMap<String, usize> =
        header.iter().enumerate().map(|(at, name)| (name.trim().to_owned(), at)).collect();
    present(|name| columns.contains_key(name))?;
    for cells in file.records() {
        let cells = cells.map_err(|error| error.to_string())?;
        let line = cells.position().map_or(0, csv::Position::line);
        rows.take(&Line { columns: &columns, cells }).map_err(|what| format!("line {line}: {what}"))?;
    }
    Ok(())
}

/// The columns without which there is nothing to replay.
fn present(has: impl Fn(&str) -> bool) -> Result<(), String> {
    match ["planned_ns", "done_ns"].into_iter().find(|name| !has(name)) {
        Some(name) => Err(format!("no column `{name}`: expected the records of a run, as `--record` writes them")),
        None => Ok(()),
    }
}

#[cfg(feature = "parquet")]
fn by_columns(path: &Path, rows: &mut Reading) -> Result<(), String> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, Row as ParquetRow};

    struct Cells<'a>(HashMap<&'a str, &'a Field>);

    impl Row for Cells<'_> {
        fn number(&self, column: &'static str) -> Result<Option<u64>, String> {
            match self.0.get(column) {
                None | Some(Field::Null) => Ok(None),
                Some(Field::Long(value)) if *value >= 0 => Ok(Some(*value as u64)),
                Some(Field::ULong(value)) => Ok(Some(*value)),
                Some(Field::Int(value)) if *value >= 0 => Ok(Some(*value as u64)),
                Some(other) => Err(format!("`{column}` is `{other}`: expected a whole number that is not negative")),
            }
        }

        fn text(&self, column: &'static str) -> Option<&str> {
            match self.0.get(column)? {
                Field::Str(text) => Some(text),
                _ => None,
            }
        }
    }

    let file = input::open(path).map_err(|error| error.to_string())?;
    let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
    let schema = reader.metadata().file_metadata().schema();
    present(|name| schema.get_fields().iter().any(|field| field.name() == name))?;
    for (number, row) in reader.get_row_iter(None).map_err(|error| error.to_string())?.enumerate() {
        let row: ParquetRow = row.map_err(|error| error.to_string())?;
        let cells = Cells(row.get_column_iter().map(|(name, field)| (name.as_str(), field)).collect());
        rows.take(&cells).map_err(|what| format!("row {}: {what}", number + 1))?;
    }
    Ok(())
}

#[cfg(not(feature = "parquet"))]
fn by_columns(_: &Path, _: &mut Reading) -> Result<(), String> {
    Err("this build reads no Parquet: expected CSV".to_owned())
}
