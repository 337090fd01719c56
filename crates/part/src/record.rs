//! Records of decisions as files.
//!
//! A record begins with how its decider was made, so one of an earlier start cannot go on. It is kept: where there is one of
//! the name already, a start writes into `NAME-2`, `NAME-3` and so on. So does a record that reaches a limit, at the end of a
//! line: the further file says which one it goes on from, and a replay of all of them is one of the whole.
//!
//! What is removed to keep few is the oldest file of the name that begins as records do; others are left alone. The price of a
//! removed file: what follows can be read, and not be replayed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use sojourn_dispatch::Front;
use sojourn_dispatch::record::{Detail, continues};
use sojourn_stats::{Bytes, Time, input};

use crate::settings::RecordLimits;
use crate::{ServeError, clock};

/// How the files of a record begin: with how the decider was made, or with the file before.
const BEGINNINGS: [&[u8]; 2] = [b"{\"header\":", b"{\"continues\":"];

/// Records to this file and further ones, if one is named, what a decider decides, with what each candidate had to offer where it
/// explains.
///
/// # Errors
/// When the file cannot be made or written.
pub fn record(front: &mut Front, path: Option<&Path>, limits: RecordLimits, explain: bool) -> Result<(), ServeError> {
    let Some(path) = path else { return Ok(()) };
    let cannot = || format!("cannot record to {}", path.display());
    let detail = if explain { Detail::Explained } else { Detail::Decisions };
    let files = Files::begin(path, limits, clock::now).map_err(ServeError::system(cannot()))?;
    let begun = front.record_to(Box::new(files), detail);
    begun.map_err(|error| ServeError::Config(format!("{}: {error}", cannot())))
}

/// The files of a record, of which the last is written.
struct Files<C> {
    /// The name of the first.
    path: PathBuf,
    file: File,
    /// Of the file that is written.
    name: PathBuf,
    bytes: u64,
    /// Of which so many say what it goes on from.
    head: u64,
    begun: Time,
    /// All lines that were written are whole.
    is_at_line: bool,
    limits: RecordLimits,
    clock: C,
}

impl<C: Fn() -> Time> Files<C> {
    /// A new record at `path`, or with a number behind its name. What is no file, as `/dev/stdout`, is written to as it is,
    /// without limits.
    fn begin(path: &Path, limits: RecordLimits, clock: C) -> io::Result<Files<C>> {
        let is_other = path.metadata().is_ok_and(|there| !there.is_file());
        let limits = if is_other { RecordLimits::default() } else { limits };
        let (file, name) =
            if is_other { (OpenOptions::new().write(true).open(path)?, path.to_owned()) } else { next(path)? };
        let begun = clock();
        let files =
            Files { path: path.to_owned(), file, name, bytes: 0, head: 0, begun, is_at_line: true, limits, clock };
        files.remove_oldest();
        Ok(files)
    }

    /// Goes on in a further file.
    fn go_on(&mut self) -> io::Result<()> {
        let (mut file, name) = next(&self.path)?;
        let before = self.name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let first = continues(&before);
        file.write_all(first.as_bytes())?;
        (self.file, self.name, self.begun) = (file, name, (self.clock)());
        (self.bytes, self.head) = (first.len() as u64, first.len() as u64);
        self.remove_oldest();
        Ok(())
    }

    /// How many bytes still belong into this file.
    fn room(&self) -> u64 {
        let is_old = self.limits.max_age.is_some_and(|age| (self.clock)().saturating_since(self.begun) >= age);
        match self.limits.max_size {
            _ if is_old => 0,
            Some(Bytes(most)) => most.saturating_sub(self.bytes),
            None => u64::MAX,
        }
    }

    /// Removes the oldest records of the name, if there are too many. One that cannot be removed stays.
    fn remove_oldest(&self) {
        let Some(keep) = self.limits.keep else { return };
        let others = numbered(&self.path).into_iter().map(|(_, path)| path).filter(|path| *path != self.name);
        let ours: Vec<PathBuf> = others.filter(|path| is_record(path)).collect();
        let too_many = (ours.len() + 1).saturating_sub(keep);
        ours.iter().take(too_many).for_each(|path| drop(fs::remove_file(path)));
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        self.is_at_line = written.checked_sub(1).map_or(self.is_at_line, |last| bytes[last] == b'\n');
        Ok(written)
    }
}

impl<C: Fn() -> Time> Write for Files<C> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.room();
        if bytes.len() as u64 <= room {
            return self.put(bytes);
        }
        // To the end of the last line that has room, or else of the one that was begun.
        let fits = &bytes[..room.min(bytes.len() as u64) as usize];
        let first = || bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        match fits.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => self.put(&bytes[..=end]),
            None if self.is_at_line && self.bytes > self.head => {
                self.go_on()?;
                self.write(bytes)
            }
            None => self.put(&bytes[..first()]),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The file of this name, where there is none or it is empty; else a new one with a number behind it, above all that there are.
///
/// # Errors
/// When it cannot be made.
fn next(path: &Path) -> io::Result<(File, PathBuf)> {
    loop {
        let number = numbered(path).last().map_or(1, |(number, _)| number + 1);
        let name = if number == 1 { path.to_owned() } else { PathBuf::from(format!("{}-{number}", path.display())) };
        match OpenOptions::new().write(true).create_new(true).open(&name) {
            // A link that leads nowhere is there, and has no file yet; or another has just made it.
            Err(error)
                if error.kind() == ErrorKind::AlreadyExists && name.metadata().map_or(true, |it| it.len() == 0) =>
            {
                return Ok((OpenOptions::new().write(true).create(true).truncate(false).open(&name)?, name));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (file, name)),
        }
    }
}

/// What there is of a record's name, empty files left out, by its numbers.
fn numbered(path: &Path) -> Vec<(u64, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let number_of = |other: &str| match other.strip_prefix(&name)? {
        "" => Some(1),
        rest => rest.strip_prefix('-')?.parse().ok().filter(|number| *number > 1),
    };
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let filled =
        entries.filter(|entry| fs::metadata(entry.path()).is_ok_and(|there| !there.is_file() || there.len() > 0));
    let numbers = filled.filter_map(|entry| number_of(&entry.file_name().to_string_lossy()));
    let named =
        |number| if number == 1 { path.to_owned() } else { PathBuf::from(format!("{}-{number}", path.display())) };
    let mut all: Vec<(u64, PathBuf)> = numbers.map(|number| (number, named(number))).collect();
    all.sort();
    all
}

/// Whether a file begins as records do.
fn is_record(path: &Path) -> bool {
    let mut begin = Vec::new();
    let mut read = || input::open(path).and_then(|file| file.take(16).read_to_end(&mut begin));
    path.is_file() && read().is_ok() && BEGINNINGS.iter().any(|beginning| begin.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use sojourn_stats::Span;

    use super::*;

    const NONE: RecordLimits = RecordLimits { max_size: None, max_age: None, keep: None };

    fn begin(path: &Path) -> io::Result<Files<fn() -> Time>> {
        Files::begin(path, NONE, || Time(0))
    }

    /// The files of a folder and what stands in them, in the order of their names.
    fn files(folder: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let read = |entry: fs::DirEntry| {
            (entry.file_name().to_string_lossy().into_owned(), fs::read_to_string(entry.path()).unwrap())
        };
        let mut all: Vec<_> = entries.map(read).collect();
        all.sort();
        all
    }

    #[test]
    fn a_record_that_is_there_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.jsonl");
        fs::write(&path, "").unwrap();
        for text in ["first", "second", "third"] {
            begin(&path).unwrap().write_all(text.as_bytes()).unwrap();
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(["record.jsonl", "record.jsonl-2", "record.jsonl-3"].map(read), ["first", "second", "third"]);
        fs::create_dir(folder.path().join("record.jsonl-4")).unwrap();
        assert_eq!(begin(&path).unwrap().name, folder.path().join("record.jsonl-5"), "what is no file stays too");
        assert!(begin(Path::new("/dev/full")).unwrap().write_all(b"x").is_err(), "a device is itself");
        let missing = begin(&folder.path().join("none/record")).err().unwrap();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }

    /// Files end with whole lines, hold no more than they may and the rest of a line, and say which one they go on from; nothing
    /// is lost between.
    #[test]
    fn a_record_goes_on_in_a_further_file_when_one_is_full() {
        let line = |number: usize| format!("{{\"number\":{number:04},\"filler\":\"{}\"}}\n", "x".repeat(number % 90));
        let text: String = std::iter::once("{\"header\":{}}\n".to_owned()).chain((0..200).map(line)).collect();
        // However it comes: whole, in pieces of lines, or of several lines.
        for piece in [1, 7, 300, 1000, 100_000] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("r");
            let limits = RecordLimits { max_size: Some(Bytes(2000)), ..NONE };
            let mut record = Files::begin(&path, limits, || Time(0)).unwrap();
            text.as_bytes().chunks(piece).for_each(|piece| record.write_all(piece).unwrap());
            let all = numbered(&path);
            assert!(all.len() >= text.len() / 2120, "{piece}");
            let (mut whole, mut before) = (String::new(), None::<String>);
            for (number, path) in all {
                let mut said = fs::read_to_string(&path).unwrap();
                // A line that was begun is ended.
                assert!(said.len() <= 2000 + 120 && said.ends_with('\n'), "{piece}: {number}");
                if let Some(before) = &before {
                    said = said.strip_prefix(&continues(before)).expect("it says what it goes on from").to_owned();
                }
                before = Some(path.file_name().unwrap().to_string_lossy().into_owned());
                whole += &said;
            }
            assert_eq!(whole, text, "{piece}");
        }
    }

    #[test]
    fn a_record_goes_on_in_a_further_file_when_one_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let (path, now) = (folder.path().join("r"), Cell::new(Time(5)));
        let limits = RecordLimits { max_age: Some(Span(10)), ..NONE };
        let mut record = Files::begin(&path, limits, || now.get()).unwrap();
        for (at, text) in [(5, "a\n"), (14, "b"), (15, "b\n"), (16, "c\n"), (25, "d\n"), (26, "e\n")] {
            now.set(Time(at));
            record.write_all(text.as_bytes()).unwrap();
        }
        let said = [("r", "a\nbb\n".to_owned()), ("r-2", continues("r") + "c\nd\n"), ("r-3", continues("r-2") + "e\n")];
        assert_eq!(files(folder.path()), said.map(|(name, text)| (name.to_owned(), text)));
    }

    /// The oldest go, earlier starts' included; what only has such a name stays, and numbers are never used again.
    #[test]
    fn few_files_are_kept_and_no_one_elses_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        let limits = RecordLimits { max_size: Some(Bytes(100)), keep: Some(3), ..NONE };
        fs::write(&path, "{\"header\":{}}\n").unwrap();
        let theirs = ["r-2", "r-x", "r.1", "other"];
        theirs.iter().for_each(|name| fs::write(folder.path().join(name), "precious").unwrap());
        let mut record = Files::begin(&path, limits, || Time(0)).unwrap();
        record.write_all(b"{\"header\":{}}\n").unwrap();
        for _ in 0..20 {
            record.write_all(format!("{}\n", "x".repeat(60)).as_bytes()).unwrap();
        }
        let names: Vec<String> = files(folder.path()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["other", "r-2", "r-20", "r-21", "r-22", "r-x", "r.1"]);
        drop(record);
        Files::begin(&path, limits, || Time(0)).unwrap().write_all(b"{\"header\":{}}\n").unwrap();
        let names: Vec<String> = files(folder.path()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["other", "r-2", "r-21", "r-22", "r-23", "r-x", "r.1"]);
    }
}
