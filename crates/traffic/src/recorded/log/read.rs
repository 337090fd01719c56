//! From a file to a [`Log`]: unpacking, telling the format, lines, names as numbers, order.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use memchr::memchr;
use sojourn_stats::input;

use super::beyond;
use super::calendar::SECOND_US;
use super::entry::{Entry, NO_SERVER, UNKNOWN};
use super::error::LogError;
use super::fault::Fault;
use super::format::{LogFormat, Stamped};
use super::record::{Record, Taken};
use super::{BadLine, Log, SHOWN, Stamps, start_of_step};
use crate::text::{GZIP, ZSTD};
use crate::words;

/// The longest step back in time that is taken for a slow request (a line is written when its request ends, but
/// bears the instant at which it began) and not for files that were put together in the wrong order.
pub const TOLERATED_STEP_S: i64 = 3600;

/// An end that is so much earlier than that of a line before is no matter of the log's exactness, nor of two threads (us).
const ENDS_BACK_LEAST_US: i64 = 1_000_000;

/// A longer line is bad. Apache itself allows requests of 8 kB.
const LONGEST_LINE: usize = 1 << 18;

/// A NUL byte in so many first bytes makes a file binary; later ones only make their line bad.
const HEAD: usize = 8192;

/// So many first bytes tell the format.
const FIRST_BYTES: usize = 1 << 16;

/// Characters of a bad line that are shown.
const TEXT: usize = 80;

impl Log {
    /// Reads the log at `path` in the format that its first lines tell, plain, gzip or zstd (told apart by content, not by
    /// name; packed files that were put together are read to the end of the last).
    ///
    /// Bad lines are counted by [`Fault`]; a log with at least one good line is a log. Lines slightly out of order are
    /// usual, because a line is written when its request ends: they are sorted (stably) and counted.
    ///
    /// # Errors
    /// When the file cannot be read, is empty, binary, packed by something else than gzip and zstd, cut off or damaged inside
    /// what is packed, has no good line, or steps back in time by more than [`TOLERATED_STEP_S`].
    pub fn read(path: &Path) -> Result<Log, LogError> {
        Log::read_as(path, None)
    }

    /// The same in `format`, or in the one that its first lines tell.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn read_as(path: &Path, format: Option<&LogFormat>) -> Result<Log, LogError> {
        let name = path.display().to_string();
        let file = input::open(path).map_err(|error| LogError::Io { name: name.clone(), fault: error.to_string() })?;
        Log::read_from(file, &name, format)
    }

    /// Reads a log from `source`, in `format` or in the one that its first lines tell; `name` is what messages call it.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn read_from(source: impl Read, name: &str, format: Option<&LogFormat>) -> Result<Log, LogError> {
        let mut source = BufReader::with_capacity(1 << 16, source);
        let mut magic = Vec::new();
        let io = |error: io::Error| LogError::Io { name: name.into(), fault: error.to_string() };
        source.by_ref().take(6).read_to_end(&mut magic).map_err(io)?;
        let packed = [(&b"\xfd7zXZ\0"[..], "xz"), (b"BZh", "bzip2"), (b"PK\x03\x04", "zip")];
        if let Some((_, by)) = packed.iter().find(|(start, _)| magic.starts_with(start)) {
            return Err(LogError::Packed { name: name.into(), by });
        }
        let packer = packer(&magic);
        let source = io::Cursor::new(magic).chain(source);
        let mut text: Box<dyn Read + '_> = match packer {
            Some(Packer::Gzip) => Box::new(MultiGzDecoder::new(source)),
            Some(Packer::Zstd) => Box::new(zstd::Decoder::with_buffer(source).map_err(io)?),
            None => Box::new(source),
        };
        let (head, fault) = first_bytes(&mut text);
        let mut reading = Reading::new(name, format.cloned().or_else(|| LogFormat::detect(&head)));
        let text = input::unmarked(Resumed { head: io::Cursor::new(head), fault, rest: text }).map_err(Stop::Io);
        let end = text.and_then(|text| for_each_line(text, &mut |line| reading.line(line)));
        match (end, packer) {
            (Ok(()), _) => reading.finish(),
            (Err(Stop::Io(error)), Some(packer)) => Err(reading.packed_fault(&error, packer)),
            (Err(stop), _) => Err(reading.fault(stop)),
        }
    }
}

/// What has packed a file.
#[derive(Clone, Copy)]
enum Packer {
    Gzip,
    Zstd,
}

fn packer(magic: &[u8]) -> Option<Packer> {
    match () {
        () if magic.starts_with(&GZIP) => Some(Packer::Gzip),
        () if magic.starts_with(&ZSTD) => Some(Packer::Zstd),
        () => None,
    }
}

/// The first bytes of a text, and what ended them too early.
fn first_bytes(text: &mut dyn Read) -> (Vec<u8>, Option<io::Error>) {
    let mut head = Vec::new();
    let fault = text.take(FIRST_BYTES as u64).read_to_end(&mut head).err();
    (head, fault)
}

/// A text of which the first bytes were read already.
struct Resumed<R> {
    head: io::Cursor<Vec<u8>>,
    fault: Option<io::Error>,
    rest: R,
}

impl<R: Read> Read for Resumed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.head.read(buffer)? {
            0 => self.fault.take().map_or_else(|| self.rest.read(buffer), Err),
            read => Ok(read),
        }
    }
}

/// What has been read so far.
struct Reading<'a> {
    name: &'a str,
    /// None where no first line was of any.
    format: Option<LogFormat>,
    log: Log,
    hosts: Numbers,
    paths: Numbers,
    servers: Numbers,
    first_line: String,
    /// The earliest instant so far (us).
    first_us: i64,
    /// The latest instant so far (us), and its line.
    latest: (i64, u64),
    /// The latest end so far (us).
    latest_end_us: i64,
    is_sorted: bool,
    /// The first line with fields beyond its format: those that were not read, and the format string that would read them.
    first_beyond: Option<(String, String)>,
}

/// Why reading stopped before the end.
enum Stop {
    Io(io::Error),
    Binary,
    Unsorted { back_us: i64 },
}

impl<'a> Reading<'a> {
    fn new(name: &'a str, format: Option<LogFormat>) -> Reading<'a> {
        Reading {
            name,
            format,
            log: Log { resolution_us: i64::MAX, response_step_us: u32::MAX, ..Log::default() },
            hosts: Numbers::default(),
            paths: Numbers::default(),
            servers: Numbers::default(),
            first_line: String::new(),
            first_us: i64::MAX,
            latest: (i64::MIN, 0),
            latest_end_us: i64::MIN,
            is_sorted: true,
            first_beyond: None,
        }
    }

    /// Takes the next line; `None` stands for one that is too long.
    #[inline]
    fn line(&mut self, line: Option<&[u8]>) -> Result<(), Stop> {
        self.log.lines += 1;
        // Of files that were put together, each may begin with its mark.
        let line = line.map(|line| input::without_mark(line).trim_ascii());
        if line.is_some_and(<[u8]>::is_empty) {
            return Ok(());
        }
        if self.first_line.is_empty() {
            self.first_line = beginning(line.unwrap_or_default());
        }
        // What is in no format is told what it lacks to be in the oldest.
        let mut format = self.format.take().unwrap_or_else(LogFormat::common);
        let read = line.ok_or(Fault::Long).and_then(|line| format.read(line));
        let result = match read {
            Ok(Some(record)) => {
                if !record.beyond.is_empty() {
                    self.beyond(line.unwrap_or_default(), record.beyond);
                }
                self.good(record, format.stamped())
            }
            Ok(None) => Ok(()),
            Err(fault) => {
                self.bad(fault, line.unwrap_or_default());
                Ok(())
            }
        };
        self.format = Some(format);
        result
    }

    #[cold]
    fn bad(&mut self, fault: Fault, line: &[u8]) {
        self.log.bad[fault as usize] += 1;
        if self.log.first_bad.len() < SHOWN {
            let other = LogFormat::detect(line).map(|format| format.name().to_owned());
            self.log.first_bad.push(BadLine {
                file: self.name.into(),
                line: self.log.lines,
                fault,
                text: beginning(line),
                other,
            });
        }
    }

    fn beyond(&mut self, line: &[u8], beyond: &[u8]) {
        self.log.beyond += 1;
        if self.first_beyond.is_none() {
            self.first_beyond =
                LogFormat::format_string(line, beyond).map(|string| (beginning(&beyond::not_read(beyond)), string));
        }
    }

    #[inline]
    fn good(&mut self, record: Record<'_>, stamped: Stamped) -> Result<(), Stop> {
        let Record { client, stamp, method, path, status, bytes, response, server, .. } = record;
        let Record { at_server_us, to_header_us, queue_us, is_retried, is_abandoned, .. } = record;
        self.first_us = self.first_us.min(stamp.time_us);
        if stamp.time_us >= self.latest.0 {
            self.latest = (stamp.time_us, self.log.lines);
        } else {
            let back_us = self.latest.0 - stamp.time_us;
            if back_us > TOLERATED_STEP_S * SECOND_US {
                return Err(Stop::Unsorted { back_us });
            }
            self.log.unsorted += 1;
            self.log.largest_step_back_us = self.log.largest_step_back_us.max(back_us);
        }
        let log = &mut self.log;
        if log.entries.is_empty() {
            log.zone_s = stamp.zone_s;
        }
        log.retried += u64::from(is_retried);
        log.resolution_us = log.resolution_us.min(i64::from(stamp.step_us));
        let response_us = response.map_or(UNKNOWN, |Taken { us, step_us }| {
            log.response_step_us = log.response_step_us.min(step_us);
            us
        });
        let at_end = match (stamped, response) {
            (Stamped::End, _) | (Stamped::EndIfTimed, Some(_)) => true,
            (Stamped::Begin, _) => false,
            (Stamped::EndIfTimed | Stamped::Unknown, _) => {
                log.stamps.unknown += 1;
                false
            }
        };
        let taken_us = response.map_or(0, |taken| i64::try_from(taken.us).unwrap_or(i64::MAX / 2));
        let time_us = if at_end { stamp.time_us.saturating_sub(taken_us) } else { stamp.time_us };
        match (at_end, response) {
            (true, Some(_)) => log.stamps.ends += 1,
            (true, None) => log.stamps.ends_untimed += 1,
            (false, _) => {}
        }
        // Lines are written in the order of their ends.
        if let (false, Stamped::Begin, Some(_)) = (at_end, stamped, response) {
            let end_us = time_us.saturating_add(taken_us);
            let back_us = self.latest_end_us.saturating_sub(end_us).saturating_sub(i64::from(stamp.step_us));
            if back_us > ENDS_BACK_LEAST_US {
                log.stamps.ends_back += 1;
                log.stamps.ends_back_us = log.stamps.ends_back_us.max(back_us);
            }
            self.latest_end_us = self.latest_end_us.max(end_us);
        }
        self.is_sorted &= log.entries.last().is_none_or(|last| last.time_us <= time_us);
        log.entries.push(Entry {
            time_us,
            bytes,
            response_us,
            at_server_us: at_server_us.unwrap_or(UNKNOWN),
            to_header_us: to_header_us.unwrap_or(UNKNOWN),
            queue_us: queue_us.unwrap_or(UNKNOWN),
            client: self.hosts.number(&client, &mut log.hosts),
            object: self.paths.number(&path, &mut log.paths),
            server: server.map_or(NO_SERVER, |server| self.servers.number(&server, &mut log.servers)),
            status,
            method,
            is_abandoned,
        });
        Ok(())
    }

    fn fault(&self, stop: Stop) -> LogError {
        let name = self.name.to_owned();
        match stop {
            Stop::Io(error) => LogError::Io { name, fault: error.to_string() },
            Stop::Binary => LogError::Binary { name },
            Stop::Unsorted { back_us } => {
                let back_s = back_us.unsigned_abs().div_ceil(SECOND_US as u64) as i64;
                LogError::Unsorted { name, line: self.log.lines, back_s, than_line: self.latest.1 }
            }
        }
    }

    fn packed_fault(&self, error: &io::Error, packer: Packer) -> LogError {
        let (name, good_lines) = (self.name.to_owned(), self.log.entries.len());
        let by = match packer {
            Packer::Gzip => "gzip",
            Packer::Zstd => "zstd",
        };
        match (error.kind(), packer) {
            (ErrorKind::UnexpectedEof, _) => LogError::Truncated { name, by, good_lines },
            (ErrorKind::InvalidData | ErrorKind::InvalidInput, _) | (_, Packer::Zstd) => {
                LogError::Damaged { name, by, good_lines, fault: error.to_string() }
            }
            _ => LogError::Io { name, fault: error.to_string() },
        }
    }

    fn finish(mut self) -> Result<Log, LogError> {
        let name = self.name.to_owned();
        if self.log.entries.is_empty() {
            return Err(match self.log.first_bad.first() {
                None => LogError::Empty { name },
                Some(&BadLine { line, fault, .. }) => LogError::NoGoodLine {
                    name,
                    bad_lines: self.log.bad_lines(),
                    line,
                    fault,
                    text: self.first_line,
                    format: self.format.map_or(String::new(), |format| format.name().to_owned()),
                },
            });
        }
        let Stamps { ends, ends_untimed, .. } = self.log.stamps;
        let step_us = self.log.resolution_us;
        if ends > 0 && step_us >= SECOND_US {
            // An end is somewhere in the step of its stamp. The arrival is taken to be in the step where it is if the end is in
            // the middle: what took little time stays in its step, and what took long is as often too late as too early. Finer
            // steps are less than the second by which requests are counted, and stay as exact as they are.
            let in_step = |time_us: i64| start_of_step(time_us.saturating_add(step_us / 2), step_us);
            self.log.entries.iter_mut().for_each(|entry| entry.time_us = in_step(entry.time_us));
            self.is_sorted = self.log.entries.is_sorted_by_key(|entry| entry.time_us);
        }
        if !self.is_sorted {
            self.log.entries.sort_by_key(|entry| entry.time_us);
        }
        if ends + ends_untimed > 0 {
            // Of what came before the first end the log has only what took long.
            let whole_from_us = self.first_us.saturating_add(self.log.resolution_us);
            let first_us = self.log.entries.first().map_or(0, |first| first.time_us);
            self.log.early_us = self.first_us.saturating_sub(first_us).max(0);
            self.log.whole_from_us = Some(whole_from_us);
        }
        if self.log.response_step_us == u32::MAX {
            self.log.response_step_us = 0;
        }
        self.log.entries.shrink_to_fit();
        let format = self.format.expect("good lines are of a format");
        self.log.not_read.extend(format.without_unit().map(|what| format!("{name}: {what}")));
        if let Some((fields, string)) = self.first_beyond {
            self.log.not_read.push(format!(
                "{name}: {} of {} {} fields behind the format {} that are not read, as `{fields}`: say what they \
                 are by --format (in an experiment `format`), as '{string}', with names of nginx ($request_time, $upstream_addr, \
                 $upstream_response_time, $msec) in place of $skip, or by Apache's format string",
                self.log.beyond,
                words::count(self.log.entries.len(), "request"),
                words::verb(&self.log.beyond, "has", "have"),
                format.name().split(' ').next().unwrap_or_default(),
            ));
        }
        self.log.cut_us = if format.cuts() { self.log.response_step_us } else { 0 };
        self.log.formats = vec![format.name().to_owned()];
        Ok(self.log)
    }
}

/// How a line begins.
fn beginning(line: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&line[..line.len().min(4 * TEXT)]);
    let more = if shown.chars().count() > TEXT { "\u{2026}" } else { "" };
    shown.chars().take(TEXT).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect::<String>() + more
}

/// Numbers of names, by the order of their first appearance. The names themselves are kept once, by those who ask.
#[derive(Default)]
struct Numbers {
    table: HashTable<u32>,
    /// Those that are no text: two of them may be the same where they are shown.
    others: std::collections::HashMap<Box<[u8]>, u32>,
}

impl Numbers {
    /// The number of `name`, which is added to `names` where it is new.
    #[inline]
    fn number(&mut self, name: &[u8], names: &mut Vec<String>) -> u32 {
        let hash = |name: &[u8]| FixedState::default().hash_one(name);
        let of_name = hash(name);
        if let Some(&number) = self.table.find(of_name, |number| names[*number as usize].as_bytes() == name) {
            return number;
        }
        let number = u32::try_from(names.len()).expect("four thousand million names do not fit in memory");
        match String::from_utf8_lossy(name) {
            Cow::Borrowed(name) => {
                self.table.insert_unique(of_name, number, |number| hash(names[*number as usize].as_bytes()));
                names.push(name.to_owned());
            }
            Cow::Owned(shown) => {
                if let Some(&known) = self.others.get(name) {
                    return known;
                }
                self.others.insert(name.into(), number);
                names.push(shown);
            }
        }
        number
    }
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
