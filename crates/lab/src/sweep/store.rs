//! Records of finished points, in a file that one sweep at a time has.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process;

use serde::{Deserialize, Serialize};
use sojourn_stats::config::of_json;

use crate::answer::{Answers, ObjectiveAnswer, VariantAnswers};
use crate::outcome;
use crate::spec::{Engine, SpecError};

/// What is known of a finished point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`Point::key`](super::Point::key).
    pub key: String,
    /// Why it has no answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// What engines say besides, each with its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<(Engine, String)>,
    /// Whether it meets the objectives of its experiment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<ObjectiveAnswer>,
    /// The mean response time of each replication (s), as text that reads back to the same bits; empty where one has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replications: Vec<String>,
    /// Its rows as `outcomes.csv` has them; empty where it failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rows: String,
}

impl Record {
    /// Its rows as answers.
    pub(super) fn answers(&self) -> VariantAnswers {
        let mut alone = Answers { variants: vec![VariantAnswers::default()], ..Answers::default() };
        if self.failed.is_none() {
            outcome::from_csv(&self.rows, &mut alone).expect("a record was read before it was taken");
        }
        alone.variants.swap_remove(0)
    }
}

/// A file with the records of finished points. Only one sweep at a time has it.
pub struct Store {
    path: PathBuf,
    file: Option<Locked>,
    records: BTreeMap<String, Record>,
}

impl Store {
    /// One in memory.
    pub fn memory() -> Store {
        Store { path: PathBuf::new(), file: None, records: BTreeMap::new() }
    }

    /// The one at `path`, which is made where there is none. A last line that is not whole, as where the disk was full or the
    /// program was killed, is taken away.
    ///
    /// # Errors
    /// When another sweep has it, it cannot be read or written, or a line of it is no record.
    pub fn open(path: &Path) -> Result<Store, SpecError> {
        let wrong = |what: String| SpecError(format!("the store {}: {what}", path.display()));
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|e| wrong(e.to_string()))?;
        }
        let mut file = Locked::open(path).map_err(|error| match error {
            TryLockError::WouldBlock => {
                wrong("another sweep writes it; wait for its end, or name another store".into())
            }
            TryLockError::Error(error) => wrong(error.to_string()),
        })?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|e| wrong(e.to_string()))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(|e| wrong(e.to_string()))?;
        }
        let mut records = BTreeMap::new();
        for (number, line) in text[..whole].lines().enumerate() {
            let record = read(line).map_err(|error| wrong(format!("line {}: {error}", number + 1)))?;
            records.insert(record.key.clone(), record);
        }
        Ok(Store { path: path.into(), file: Some(file), records })
    }

    /// What is known of finished points, by their keys.
    pub fn records(&self) -> &BTreeMap<String, Record> {
        &self.records
    }

    /// Keeps a record.
    ///
    /// # Errors
    /// When it cannot be written: those before it are kept.
    pub fn put(&mut self, record: Record) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            let mut line = serde_json::to_string(&record).map_err(io::Error::other)?;
            line.push('\n');
            let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
            written.map_err(|e| io::Error::new(e.kind(), format!("cannot write {}: {e}", self.path.display())))?;
        }
        self.records.insert(record.key.clone(), record);
        Ok(())
    }

    /// Keeps a record that another process made.
    ///
    /// # Errors
    /// When it is none, or cannot be written.
    pub fn put_text(&mut self, line: &str) -> Result<(), SpecError> {
        let record = read(line).map_err(|error| SpecError(format!("a record of a point: {error}")))?;
        self.put(record).map_err(|error| SpecError(error.to_string()))
    }
}

/// A file that no other process, and no other place of this one, has locked.
struct Locked {
    file: File,
    /// The process that locked it.
    process: u32,
}

impl Locked {
    fn open(path: &Path) -> Result<Locked, TryLockError> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(TryLockError::Error)?;
        file.try_lock()?;
        Ok(Locked { file, process: process::id() })
    }
}

impl Drop for Locked {
    /// A program that is being started while the file is closed has it too, until it is itself: closing alone would leave the
    /// lock to it for that time. A copy of this process has it for longer, and its end is not that of the sweep.
    fn drop(&mut self) {
        if self.process == process::id() {
            let _ = self.file.unlock(); // closing follows, which nothing can refuse
        }
    }
}

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.file
    }
}

/// A record of which the rows can be read, too.
fn read(line: &str) -> Result<Record, String> {
    let record: Record = serde_json::from_str(line).map_err(of_json)?;
    if let Some(wrong) = record.replications.iter().find(|text| !text.is_empty() && text.parse::<f64>().is_err()) {
        return Err(format!("`{wrong}` is no number"));
    }
    if record.failed.is_none() {
        let mut alone = Answers { variants: vec![VariantAnswers::default()], ..Answers::default() };
        outcome::from_csv(&record.rows, &mut alone)?;
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second descriptor of the same opened file, as a program has that is being started.
    #[test]
    fn a_store_that_was_closed_is_free_though_a_program_is_being_started() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        let store = Store::open(&path).unwrap();
        let inherited = store.file.as_ref().unwrap().try_clone().unwrap();
        drop(store);
        Store::open(&path).unwrap();
        drop(inherited);
        // Nor does one that could not be read keep it.
        std::fs::write(&path, "no record\n").unwrap();
        (0..2).for_each(|_| assert!(Store::open(&path).err().unwrap().0.contains("line 1")));
    }
}
