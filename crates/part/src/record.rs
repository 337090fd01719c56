//! Records of decisions as files.
//!
//! A record begins with how its decider was made, so one of an earlier start cannot go on. It is kept: where there is one of
//! the name already, a start writes into `NAME-2`, `NAME-3` and so on.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

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
    let file = record_file(path).map_err(ServeError::system(cannot()))?;
    let begun = front.record_to(Box::new(file), detail);
    begun.map_err(|error| ServeError::Config(format!("{}: {error}", cannot())))
}

/// The file of a new record at `path`, or with the first number behind its name of which there is none. What is no file, as
/// `/dev/stdout`, is written to as it is.
///
/// # Errors
/// When it cannot be made.
fn record_file(path: &Path) -> io::Result<File> {
    for number in 1_u32.. {
        let path = match number {
            1 => path.to_owned(),
            further => PathBuf::from(format!("{}-{further}", path.display())),
        };
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made,
        }
        let there = path.metadata();
        // A link that leads nowhere is there, and has no file yet.
        if there.map_or(true, |there| !there.is_file() || there.len() == 0) {
            return OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "there are too many records of this name"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn a_record_that_is_there_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.jsonl");
        fs::write(&path, "").unwrap();
        for text in ["first", "second", "third"] {
            record_file(&path).unwrap().write_all(text.as_bytes()).unwrap();
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(["record.jsonl", "record.jsonl-2", "record.jsonl-3"].map(read), ["first", "second", "third"]);
        assert!(record_file(Path::new("/dev/full")).unwrap().write_all(b"x").is_err(), "a device is itself");
        let missing = record_file(&folder.path().join("none/record")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }
}
