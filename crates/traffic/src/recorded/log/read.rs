//! From a file to a [`Log`]: unpacking, lines, interning, order.

use std::collections::HashMap;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use memchr::memchr;
use sojourn_stats::input;

use super::line::{self, Fault, Line};
use super::{Entry, Log, LogError};

/// The longest step back in time that is taken for a slow request (a line is written when its request ends, but
/// bears the instant at which it began) and not for files that were put together in the wrong order.
pub const TOLERATED_STEP_S: i64 = 3600;

/// How many bad lines are remembered with their numbers.
const FIRST_BAD: usize = 5;

/// A longer line is bad. Apache itself allows requests of 8 kB.
const LONGEST_LINE: usize = 1 << 18;

/// A NUL byte in so many first bytes makes a file binary; later ones only make their line bad.
const HEAD: usize = 8192;

impl Log {
    /// Reads the log at `path`: Common or Combined Log Format, plain or gzip (told apart by content, not by name;
    /// gzip files that were put together are read to the end of the last).
    ///
    /// Bad lines are counted by [`Fault`]; a log with at least one good line is a log. Lines slightly out of order are
    /// usual, because a line is written when its request ends: they are sorted (stably) and counted.
    ///
    /// # Errors
    /// When the file cannot be read, is empty, binary, packed by something else than gzip, cut off or damaged inside a
    /// gzip member, has no good line, or steps back in time by more than [`TOLERATED_STEP_S`].
    pub fn read(path: &Path) -> Result<Log, LogError> {
        let name = path.display().to_string();
        let file = input::open(path).map_err(|error| LogError::Io { name: name.clone(), fault: error.to_string() })?;
        Log::read_from(file, &name)
    }

    /// Reads a log from `source`; `name` is what messages call it.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn read_from(source: impl Read, name: &str) -> Result<Log, LogError> {
        let mut source = BufReader::with_capacity(1 << 16, source);
        let mut magic = Vec::new();
        let io = |error: io::Error| LogError::Io { name: name.into(), fault: error.to_string() };
        source.by_ref().take(6).read_to_end(&mut magic).map_err(io)?;
        let packed =
            [(&b"\xfd7zXZ\0"[..], "xz"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bzip2"), (b"PK\x03\x04", "zip")];
        if let Some((_, by)) = packed.iter().find(|(start, _)| magic.starts_with(start)) {
            return Err(LogError::Packed { name: name.into(), by });
        }
        let gzip = magic.starts_with(b"\x1f\x8b");
        let source = io::Cursor::new(magic).chain(source);
        let mut reading = Reading::new(name);
        let end = if gzip {
            let text = input::unmarked(MultiGzDecoder::new(source)).map_err(Stop::Io);
            let end = text.and_then(|text| for_each_line(text, &mut |line| reading.line(line)));
            end.map_err(|stop| match stop {
                Stop::Io(error) => reading.gzip_fault(&error),
                other => reading.fault(other),
            })
        } else {
            let text = input::unmarked(source).map_err(io)?;
            for_each_line(text, &mut |line| reading.line(line)).map_err(|stop| reading.fault(stop))
        };
        end.and_then(|()| reading.finish())
    }
}

/// What has been read so far.
struct Reading<'a> {
    name: &'a str,
    log: Log,
    hosts: HashMap<Box<[u8]>, u32>,
    paths: HashMap<Box<[u8]>, u32>,
    first_line: String,
    /// The latest instant so far, and its line.
    latest: (i64, u64),
}

/// Why reading stopped before the end.
enum Stop {
    Io(io::Error),
    Binary,
    Unsorted { back_s: i64 },
}

impl<'a> Reading<'a> {
    fn new(name: &'a str) -> Reading<'a> {
        Reading {
            name,
            log: Log::default(),
            hosts: HashMap::new(),
            paths: HashMap::new(),
            first_line: String::new(),
            latest: (i64::MIN, 0),
        }
    }

    /// Takes the next line; `None` stands for one that is too long.
    #[inline]
    fn line(&mut self, line: Option<&[u8]>) -> Result<(), Stop> {
        self.log.lines += 1;
        // Of files that were put together, each may begin with its mark.
        let parsed = match line.map(|line| input::without_mark(line).trim_ascii()) {
            Some([]) => return Ok(()),
            Some(line) => {
                if self.first_line.is_empty() {
                    self.first_line = String::from_utf8_lossy(line).chars().take(60).collect();
                }
                line::parse(line)
            }
            None => Err(Fault::Long),
        };
        match parsed {
            Ok(line) => self.good(line),
            Err(fault) => {
                self.log.bad[fault as usize] += 1;
                if self.log.first_bad.len() < FIRST_BAD {
                    self.log.first_bad.push((self.log.lines, fault));
                }
                Ok(())
            }
        }
    }

    #[inline]
    fn good(&mut self, line: Line<'_>) -> Result<(), Stop> {
        if line.time_s >= self.latest.0 {
            self.latest = (line.time_s, self.log.lines);
        } else {
            let back_s = self.latest.0 - line.time_s;
            if back_s > TOLERATED_STEP_S {
                return Err(Stop::Unsorted { back_s });
            }
            self.log.unsorted += 1;
            self.log.largest_step_back_s = self.log.largest_step_back_s.max(back_s);
        }
        if self.log.entries.is_empty() {
            self.log.zone_s = line.zone_s;
        }
        let client = number(&mut self.hosts, &mut self.log.hosts, line.host);
        let object = number(&mut self.paths, &mut self.log.paths, line.path);
        let Line { time_s, method, status, bytes, response_ms, .. } = line;
        let response_ms = response_ms.unwrap_or(u32::MAX);
        self.log.entries.push(Entry { time_s, bytes, client, object, status, method, response_ms });
        Ok(())
    }

    fn fault(&self, stop: Stop) -> LogError {
        let name = self.name.to_owned();
        match stop {
            Stop::Io(error) => LogError::Io { name, fault: error.to_string() },
            Stop::Binary => LogError::Binary { name },
            Stop::Unsorted { back_s } => {
                LogError::Unsorted { name, line: self.log.lines, back_s, than_line: self.latest.1 }
            }
        }
    }

    fn gzip_fault(&self, error: &io::Error) -> LogError {
        let (name, good_lines) = (self.name.to_owned(), self.log.entries.len());
        match error.kind() {
            ErrorKind::UnexpectedEof => LogError::Truncated { name, good_lines },
            ErrorKind::InvalidData | ErrorKind::InvalidInput => {
                LogError::Damaged { name, good_lines, fault: error.to_string() }
            }
            _ => LogError::Io { name, fault: error.to_string() },
        }
    }

    fn finish(mut self) -> Result<Log, LogError> {
        if self.log.entries.is_empty() {
            let name = self.name.to_owned();
            return Err(match self.log.first_bad.first() {
                None => LogError::Empty { name },
                Some(&(line, fault)) => {
                    LogError::NoGoodLine { name, bad_lines: self.log.bad_lines(), line, fault, text: self.first_line }
                }
            });
        }
        if self.log.unsorted > 0 {
            self.log.entries.sort_by_key(|entry| entry.time_s);
        }
        Ok(self.log)
    }
}

/// The number of `key`, by order of first appearance.
#[inline]
fn number(numbers: &mut HashMap<Box<[u8]>, u32>, names: &mut Vec<String>, key: &[u8]) -> u32 {
    if let Some(&number) = numbers.get(key) {
        return number;
    }
    let number = u32::try_from(names.len()).expect("four thousand million names do not fit in memory");
    numbers.insert(key.into(), number);
    names.push(String::from_utf8_lossy(key).into_owned());
    number
}

/// Hands every line of `source` to `line`, `None` for one that is longer than [`LONGEST_LINE`]. Lines stay in one
/// buffer: nothing is allocated or copied per line.
fn for_each_line(mut source: impl Read, line: &mut impl FnMut(Option<&[u8]>) -> Result<(), Stop>) -> Result<(), Stop> {
    let mut buffer = vec![0; LONGEST_LINE];
    let (mut end, mut total, mut too_long) = (0, 0, false);
    loop {
        let read = match source.read(&mut buffer[end..]) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Stop::Io(error)),
        };
        if total < HEAD && memchr(0, &buffer[end..end + read.min(HEAD - total)]).is_some() {
            return Err(Stop::Binary);
        }
        total += read;
        let mut searched = end;
        end += read;
        let mut start = 0;
        while let Some(length) = memchr(b'\n', &buffer[searched..end]) {
            let stop = searched + length;
            if std::mem::take(&mut too_long) {
                line(None)?;
            } else {
                line(Some(&buffer[start..stop]))?;
            }
            start = stop + 1;
            searched = start;
        }
        if read == 0 {
            return if too_long {
                line(None)
            } else if start < end {
                line(Some(&buffer[start..end]))
            } else {
                Ok(())
            };
        }
        buffer.copy_within(start..end, 0);
        end -= start;
        if end == buffer.len() {
            (too_long, end) = (true, 0);
        }
    }
}
