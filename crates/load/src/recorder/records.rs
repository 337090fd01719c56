//! Every request of a run in a file, in flat memory, and such a file read back.
//!
//! A thread fills blocks of 4096 records from a small pool of its own and hands each full one to the one thread that
//! writes: one message per block, nothing per request. When the writer cannot follow, a thread that finds its pool
//! empty loses the block and counts it, rather than let the load wait for a disk; the verdict then says so. The file
//! has another name until it is whole ([`crate::whole`]). When it cannot be written (no space left) it is removed, the
//! run goes on and its report says why there is no file. The rows stand in the order in which blocks came, not sorted
//! by anything.
//!
//! Columns, in CSV and Parquet alike: `k`, `client`, `class`, `outcome`, `status`, `backend`, then the instants
//! `planned_ns`, `begun_ns`, `resolved_ns`, `connected_ns`, `secured_ns`, `sent_ns`, `first_byte_ns`, `done_ns` since the
//! run's start (empty where there was none), `demand_ns` as planned (0 where none was), `bytes` of the reply's body, the
//! `endpoint` that the request was dealt to (from 0), the `hops` of its redirects and its `attempts`.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;
mod read;
pub(crate) mod write;

use std::fs::File;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::recorder::record::Record;
pub use read::{Records, RecordsError, read};

/// Records in a block.
const BLOCK: usize = 4096;
/// Blocks of a thread: at 60,000 requests/s for a second in which the disk does nothing. 10 MB.
const BLOCKS: usize = 16;

/// Where to write records, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordFile {
    /// Its name when it is whole.
    pub path: PathBuf,
    /// CSV or Parquet.
    pub format: Format,
}

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Text, one line a request.
    Csv,
    /// Apache Parquet, by columns; about a third of the bytes.
    Parquet,
}

impl RecordFile {
    /// The file at `path`; Parquet where the name ends in `.parquet`, and CSV otherwise.
    pub fn new(path: impl Into<PathBuf>) -> RecordFile {
        let path = path.into();
        let parquet = path.extension().is_some_and(|extension| extension == "parquet");
        RecordFile { path, format: if parquet { Format::Parquet } else { Format::Csv } }
    }
}

/// What became of a file of records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Where it is, or was to be.
    pub path: PathBuf,
    /// Records in it.
    pub written: u64,
    /// Records that are not in it, as the writer could not follow.
    pub lost: u64,
    /// Why there is no file, where there is none.
    pub error: Option<String>,
}

/// A column that holds numbers.
struct Column {
    name: &'static str,
    required: bool,
    of: fn(&Record) -> Option<u64>,
}

/// The columns before `outcome`, between it and `backend`, and after that.
const COLUMNS: ([Column; 3], [Column; 1], [Column; 13]) = (
    [
        Column { name: "k", required: true, of: |record| Some(record.k) },
        Column { name: "client", required: true, of: |record| Some(record.client.into()) },
        Column { name: "class", required: true, of: |record| Some(record.class.into()) },
    ],
    [Column { name: "status", required: true, of: |record| Some(record.status.into()) }],
    [
        Column { name: "planned_ns", required: true, of: |record| Some(record.planned.0) },
        Column { name: "begun_ns", required: false, of: |record| record.begun.map(|at| at.0) },
        Column { name: "resolved_ns", required: false, of: |record| record.resolved.map(|at| at.0) },
        Column { name: "connected_ns", required: false, of: |record| record.connected.map(|at| at.0) },
        Column { name: "secured_ns", required: false, of: |record| record.secured.map(|at| at.0) },
        Column { name: "sent_ns", required: false, of: |record| record.sent.map(|at| at.0) },
        Column { name: "first_byte_ns", required: false, of: |record| record.first_byte.map(|at| at.0) },
        Column { name: "done_ns", required: true, of: |record| Some(record.done.0) },
        Column { name: "demand_ns", required: true, of: |record| Some(record.demand.0) },
        Column { name: "bytes", required: true, of: |record| Some(record.bytes) },
        Column { name: "endpoint", required: true, of: |record| Some(record.endpoint.into()) },
        Column { name: "hops", required: true, of: |record| Some(record.hops.into()) },
        Column { name: "attempts", required: true, of: |record| Some(record.attempts.into()) },
    ],
);

/// Something that takes rows of a file.
trait Rows: Send {
    fn write(&mut self, records: &[Record], backends: &[String]) -> Result<(), String>;

    /// Writes what is still to be written, and the end.
    fn finish(self: Box<Self>) -> Result<(), String>;
}

fn create(format: Format, at: File) -> Result<Box<dyn Rows>, String> {
    match format {
        Format::Csv => csv::create(at),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::create(at),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err("this build writes no Parquet: name a `.csv` file".to_owned()),
    }
}
