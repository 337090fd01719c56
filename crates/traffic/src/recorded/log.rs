//! Access logs: Common and Combined Log Format, plain or gzip.
//!
//! A log is kept as numbers: hosts become clients 0, 1, ... and paths become objects 0, 1, ... in the order of their
//! first appearance, so that a million requests take 32 MB. Referrer and agent are not kept. Times are whole seconds,
//! as the format has them; [`Plan`](crate::Plan) spreads them inside their second.

mod line;
mod read;

use std::collections::HashMap;
use std::fmt;

use sojourn_stats::Span;
use thiserror::Error;

pub use line::{Fault, Line, Method, date, parse};
pub use read::TOLERATED_STEP_S;

/// A log with fewer whole seconds is taken as it is.
const COVERED_LEAST_S: i64 = 10;
/// How exactly a log has its times (s).
pub const RESOLUTION_S: f64 = 1.0;

/// A log's requests in the order of their instants.
#[derive(Clone, Default)]
pub struct Log {
    entries: Vec<Entry>,
    hosts: Vec<String>,
    paths: Vec<String>,
    zone_s: i32,
    lines: u64,
    bad: [u64; Fault::ALL.len()],
    first_bad: Vec<(u64, Fault)>,
    unsorted: u64,
    largest_step_back_s: i64,
    /// Where it was cut from a longer log: its first and its last second are then whole.
    cut: (Option<i64>, Option<i64>),
}

/// One request of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it began: seconds since 1970-01-01 in UTC.
    pub time_s: i64,
    /// Bytes of the reply's body; 0 where the log has `-`.
    pub bytes: u64,
    /// Who asked: an index into [`Log::hosts`].
    pub client: u32,
    /// What for: an index into [`Log::paths`].
    pub object: u32,
    /// Status of the reply.
    pub status: u16,
    /// What was to be done.
    pub method: Method,
    /// Milliseconds; [`u32::MAX`] where the log does not say.
    response_ms: u32,
}

/// How exactly nginx writes `$request_time` (s): three digits behind the point, whatever they are.
pub const RESPONSE_STEP_S: f64 = 1e-3;

impl Entry {
    /// How long the server took (s), by nginx's `$request_time` at the end of the line: to the last byte sent, in whole
    /// milliseconds.
    pub fn response_s(&self) -> Option<f64> {
        (self.response_ms != u32::MAX).then(|| f64::from(self.response_ms) / 1e3)
    }
}

/// Why a file is not a log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LogError {
    /// It cannot be read.
    #[error("{name}: {fault}")]
    Io {
        /// What was read.
        name: String,
        /// What the system said.
        fault: String,
    },
    /// There is nothing in it.
    #[error("{name}: the log is empty")]
    Empty {
        /// What was read.
        name: String,
    },
    /// There are NUL bytes at its start.
    #[error("{name}: a binary file, not an access log (Common or Combined Log Format, plain or gzip)")]
    Binary {
        /// What was read.
        name: String,
    },
    /// It is packed, but not by gzip.
    #[error("{name}: packed by {by}; unpack it first (plain and gzip are read)")]
    Packed {
        /// What was read.
        name: String,
        /// What packed it.
        by: &'static str,
    },
    /// The gzip file ends too early.
    #[error("{name}: the gzip file is cut off after {good_lines} good lines; fetch it again, or unpack what there is")]
    Truncated {
        /// What was read.
        name: String,
        /// Good lines before its end.
        good_lines: usize,
    },
    /// The gzip file cannot be unpacked.
    #[error("{name}: the gzip file is damaged after {good_lines} good lines: {fault}")]
    Damaged {
        /// What was read.
        name: String,
        /// Good lines before the damage.
        good_lines: usize,
        /// What the unpacker said.
        fault: String,
    },
    /// No line of it is in the format.
    #[error(
        "{name}: none of {bad_lines} lines is in Common or Combined Log Format (nor with `name:port` before it); line {line} \
         has {fault}: `{text}`"
    )]
    NoGoodLine {
        /// What was read.
        name: String,
        /// How many lines were tried.
        bad_lines: u64,
        /// The first of them.
        line: u64,
        /// What is wrong with it.
        fault: Fault,
        /// Its beginning.
        text: String,
    },
    /// It steps back in time by more than a slow request can explain.
    #[error(
        "{name}: line {line} is {:.3} earlier than line {than_line}: not in order of time; sort it, \
         or put its parts together oldest first",
        Span((*.back_s as u64).saturating_mul(1_000_000_000))
    )]
    Unsorted {
        /// What was read.
        name: String,
        /// The first line that steps back so far.
        line: u64,
        /// How far (seconds).
        back_s: i64,
        /// The latest line before it.
        than_line: u64,
    },
}

impl Log {
    /// The requests, in order of their instants (and of the file, within a second).
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many requests there are.
    pub fn requests(&self) -> usize {
        self.entries.len()
    }

    /// The hosts by client number.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The paths by object number.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// From the start of the first request's second to the end of the last one's.
    pub fn span(&self) -> Span {
        match (self.entries.first(), self.entries.last()) {
            (Some(first), Some(last)) => Span(((last.time_s - first.time_s) as u64 + 1).saturating_mul(1_000_000_000)),
            _ => Span::ZERO,
        }
    }

    /// From which second up to which other (seconds since 1970 in UTC) the log has all that came. Of its first and its last
    /// second it may have a part, so they are not of these, but where it was cut from a longer log, or is too short to miss
    /// them.
    pub fn covered(&self) -> (i64, i64) {
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else { return (0, 0) };
        let inside = (self.cut.0.unwrap_or(first.time_s + 1), self.cut.1.unwrap_or(last.time_s));
        match inside.1 - inside.0 >= COVERED_LEAST_S {
            true => inside,
            false => (self.cut.0.unwrap_or(first.time_s), self.cut.1.unwrap_or(last.time_s + 1)),
        }
    }

    /// Lines read, bad and blank ones included.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Lines that are not in the format.
    pub fn bad_lines(&self) -> u64 {
        self.bad.iter().sum()
    }

    /// Bad lines by reason, those that occurred.
    pub fn bad_by_reason(&self) -> impl Iterator<Item = (Fault, u64)> + '_ {
        Fault::ALL.into_iter().map(|fault| (fault, self.bad[fault as usize])).filter(|(_, count)| *count > 0)
    }

    /// The first few bad lines: line number and reason.
    pub fn first_bad(&self) -> &[(u64, Fault)] {
        &self.first_bad
    }

    /// Requests that were logged after a later one, and the largest step back (seconds).
    pub fn unsorted(&self) -> (u64, i64) {
        (self.unsorted, self.largest_step_back_s)
    }

    /// Bytes of all replies.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }

    /// Mean and variance of the size of a reply (bytes, bytes^2).
    pub fn moments(&self) -> (f64, f64) {
        let n = self.entries.len().max(1) as f64;
        let mean = self.entries.iter().map(|entry| entry.bytes as f64).sum::<f64>() / n;
        let variance = self.entries.iter().map(|entry| (entry.bytes as f64 - mean).powi(2)).sum::<f64>() / n;
        (mean, variance)
    }

    /// Requests by the first digit of their status: index 2 holds those of 200 to 299.
    pub fn status_classes(&self) -> [u64; 10] {
        let mut classes = [0; 10];
        for entry in &self.entries {
            classes[usize::from(entry.status / 100)] += 1;
        }
        classes
    }

    /// The period of `length_s` seconds with the most requests (the first of equals), aligned to the clock of the log's
    /// zone: its start (seconds since 1970 in UTC) and its requests. `None` when the log is empty.
    ///
    /// # Panics
    /// When `length_s` is not positive.
    pub fn busiest(&self, length_s: i64) -> Option<(i64, usize)> {
        assert!(length_s > 0, "a period has a length");
        let zone_s = i64::from(self.zone_s);
        let period = |entry: &Entry| (entry.time_s + zone_s).div_euclid(length_s);
        let mut busiest: Option<(i64, usize)> = None;
        for chunk in self.entries.chunk_by(|a, b| period(a) == period(b)) {
            if busiest.is_none_or(|(_, most)| chunk.len() > most) {
                busiest = Some((period(&chunk[0]) * length_s - zone_s, chunk.len()));
            }
        }
        busiest
    }

    /// An instant (seconds since 1970 in UTC) as date and time in the zone of the log's first line:
    /// `1995-08-01 02:00:00 -0400`.
    pub fn local_time(&self, time_s: i64) -> String {
        let local_s = time_s + i64::from(self.zone_s);
        let (days, second) = (local_s.div_euclid(86_400), local_s.rem_euclid(86_400));
        let (year, month, day) = line::civil_from_days(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let (sign, zone) = (if self.zone_s < 0 { '-' } else { '+' }, self.zone_s.unsigned_abs() / 60);
        let (zone_hours, zone_minutes) = (zone / 60, zone % 60);
        format!(
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} {sign}{zone_hours:02}{zone_minutes:02}"
        )
    }

    /// The instant (seconds since 1970 in UTC) that `text` means on the clock of the log's zone: `12:30`, `12:30:15`, on the day
    /// of its first request, or after a date, `1995-08-01 12:30`. None of anything else, and of an empty log.
    pub fn instant(&self, text: &str) -> Option<i64> {
        let first = self.entries.first()?;
        let (date, clock) = match text.trim().split_once(' ') {
            Some((date, clock)) => (Some(date), clock.trim()),
            None => (None, text.trim()),
        };
        let day = match date {
            Some(date) => line::day(date)?,
            None => (first.time_s + i64::from(self.zone_s)).div_euclid(86_400),
        };
        let parts: Option<Vec<i64>> = clock.split(':').map(|part| part.parse().ok()).collect();
        let (hour, minute, second) = match parts?[..] {
            [hour, minute] => (hour, minute, 0),
            [hour, minute, second] => (hour, minute, second),
            _ => return None,
        };
        let is_clock = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
        is_clock.then(|| ((day * 24 + hour) * 60 + minute) * 60 + second - i64::from(self.zone_s))
    }

    /// The requests from one instant up to another (seconds since 1970 in UTC), as a log; hosts and paths are those that occur.
    /// What is known of bad lines stays that of the whole log.
    #[must_use]
    pub fn between(&self, from_s: i64, to_s: i64) -> Log {
        let start = self.entries.partition_point(|entry| entry.time_s < from_s);
        let end = self.entries.partition_point(|entry| entry.time_s < to_s).max(start);
        let (hosts, paths, first_bad) = (Vec::new(), Vec::new(), self.first_bad.clone());
        let cut = (
            if start > 0 { Some(from_s) } else { self.cut.0 },
            if end < self.entries.len() { Some(to_s) } else { self.cut.1 },
        );
        let mut part = Log { entries: self.entries[start..end].to_vec(), hosts, paths, first_bad, cut, ..*self };
        let (clients, objects) = part.entries.iter_mut().map(|entry| (&mut entry.client, &mut entry.object)).unzip();
        part.hosts = occurring(&self.hosts, clients);
        part.paths = occurring(&self.paths, objects);
        part
    }

    /// Seconds from midnight to an instant (seconds since 1970 in UTC), in the zone of the log's first line.
    pub fn second_of_day(&self, time_s: i64) -> i64 {
        (time_s + i64::from(self.zone_s)).rem_euclid(86_400)
    }

    /// The requests of several logs as one, in the order of time. Of its bad lines there are the numbers only.
    #[must_use]
    pub fn joined(logs: impl IntoIterator<Item = Log>) -> Log {
        let mut all = Log::default();
        let (mut hosts, mut paths) = (HashMap::new(), HashMap::new());
        for mut log in logs {
            if all.entries.is_empty() {
                all.zone_s = log.zone_s;
            }
            let clients = numbered(std::mem::take(&mut log.hosts), &mut hosts, &mut all.hosts);
            let objects = numbered(std::mem::take(&mut log.paths), &mut paths, &mut all.paths);
            all.entries.extend(log.entries.iter().map(|entry| Entry {
                client: clients[entry.client as usize],
                object: objects[entry.object as usize],
                ..*entry
            }));
            all.lines += log.lines;
            all.bad.iter_mut().zip(log.bad).for_each(|(all, bad)| *all += bad);
            all.unsorted += log.unsorted;
            all.largest_step_back_s = all.largest_step_back_s.max(log.largest_step_back_s);
        }
        all.entries.sort_by_key(|entry| entry.time_s);
        all
    }

    /// What the user should know before trusting the log: bad lines and lines out of order, one line each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.bad_lines() > 0 {
            let reasons: Vec<String> =
                self.bad_by_reason().map(|(fault, count)| format!("{count} with {fault}")).collect();
            let numbers: Vec<String> = self.first_bad.iter().map(|(line, _)| line.to_string()).collect();
            let more = if self.bad_lines() > self.first_bad.len() as u64 { ", ..." } else { "" };
            warnings.push(format!(
                "{} of {} lines are bad and left out ({}){}",
                self.bad_lines(),
                self.lines,
                reasons.join(", "),
                if numbers.is_empty() { String::new() } else { format!(": line {}{more}", numbers.join(", ")) },
            ));
        }
        if self.unsorted > 0 {
            warnings.push(format!(
                "{} of {} requests were logged after a later one (by up to {} s) and sorted",
                self.unsorted,
                self.entries.len(),
                self.largest_step_back_s,
            ));
        }
        warnings
    }
}

/// Numbers `used` anew by first appearance, and gives the names by their new numbers.
fn occurring(names: &[String], used: Vec<&mut u32>) -> Vec<String> {
    let mut numbers: Vec<Option<u32>> = vec![None; names.len()];
    let mut kept = Vec::new();
    for number in used {
        let old = *number as usize;
        *number = *numbers[old].get_or_insert_with(|| {
            kept.push(names[old].clone());
            kept.len() as u32 - 1
        });
    }
    kept
}

/// A summary: a log of millions of requests may stand in a workload that is printed.
impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("requests", &self.entries.len())
            .field("hosts", &self.hosts.len())
            .field("paths", &self.paths.len())
            .field("span", &self.span())
            .field("bad_lines", &self.bad_lines())
            .field("unsorted", &self.unsorted)
            .finish()
    }
}

/// The numbers of these names among `all`, to which the new ones are added.
fn numbered(names: Vec<String>, numbers: &mut HashMap<String, u32>, all: &mut Vec<String>) -> Vec<u32> {
    let number = |name: String| {
        *numbers.entry(name).or_insert_with_key(|name| {
            all.push(name.clone());
            all.len() as u32 - 1
        })
    };
    names.into_iter().map(number).collect()
}
