//! Access logs: of the formats that common servers write, plain or packed by gzip or zstd.
//!
//! A log is kept as numbers: hosts become clients 0, 1, ..., paths become objects 0, 1, ... and servers likewise, in the order of
//! their first appearance, so that a million requests take 64 MB and what their names take. Referrer and agent are not kept.
//! A time is that of the request's arrival, as exactly as the log has it ([`Log::resolution_s`]); [`Plan`](crate::Plan) spreads
//! requests inside that step. Of a format that has the time of the end ([`Stamped`]) the arrival is that less the response time.
//! The end is somewhere in the step of its stamp. So of whole seconds the arrival is in the second that holds the middle of the
//! stamp's second less the response time: a request of 4 ms came in the second in which it ended, as one of 0 ms did.

mod beyond;
mod calendar;
mod ending;
mod entry;
mod error;
mod fault;
mod format;
mod growth;
mod line;
mod method;
mod paths;
mod read;
mod record;
mod silence;

use std::collections::HashMap;
use std::fmt;

use sojourn_stats::{Span, quantity};

use self::calendar::SECOND_US;
pub use self::calendar::date;
pub use self::entry::Entry;
pub use self::error::LogError;
pub use self::fault::Fault;
pub use self::format::{LogFormat, LogFormatError, Stamped};
pub use self::line::{Line, parse};
pub use self::method::Method;
pub use self::paths::PathClasses;
pub use self::read::TOLERATED_STEP_S;
pub use self::silence::{Silence, Silences};

/// The instant (us since 1970) that a text is, in any form that logs have.
pub(crate) fn instant_us(text: &str) -> Option<i64> {
    calendar::stamp(text.as_bytes()).map(|stamp| stamp.time_us)
}

/// When the step begins that an instant is in (us).
fn start_of_step(time_us: i64, step_us: i64) -> i64 {
    time_us.div_euclid(step_us) * step_us
}

/// Requests that came so long before the first end of a log of ends are worth a warning (us).
const EARLY_US: i64 = 60 * SECOND_US;
/// Bad lines that are shown.
const SHOWN: usize = 5;

/// A log's requests in the order of their instants.
#[derive(Clone, Default)]
pub struct Log {
    entries: Vec<Entry>,
    hosts: Vec<String>,
    paths: Vec<String>,
    servers: Vec<String>,
    zone_s: Option<i32>,
    resolution_us: i64,
    response_step_us: u32,
    /// The step to which durations were cut (us); 0 where they are not known to be cut.
    cut_us: u32,
    formats: Vec<String>,
    lines: u64,
    bad: [u64; Fault::ALL.len()],
    first_bad: Vec<BadLine>,
    unsorted: u64,
    largest_step_back_us: i64,
    stamps: Stamps,
    retried: u64,
    /// Requests whose lines have fields beyond the format.
    beyond: u64,
    /// What is not read, and what would have it read.
    not_read: Vec<String>,
    sampled: Option<u32>,
    /// Requests that reached no server and were left out.
    left_out: u64,
    /// How long before the first end in a log of ends its first request came (us).
    early_us: i64,
    /// From which instant on a log of ends has all that came (us).
    whole_from_us: Option<i64>,
    /// Where it was cut from a longer log: its first and its last step are then whole (us).
    cut: (Option<i64>, Option<i64>),
    /// Whether a silence at its start, and one at its end, counts as a part of the traffic.
    keeps_silence: (bool, bool),
}

/// Of how many requests the log had the time of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stamps {
    /// Of the end, and the response time, so that the arrival is known.
    ends: u64,
    /// Of the end, without a response time.
    ends_untimed: u64,
    /// Of something that the format does not say.
    unknown: u64,
    /// Requests that end earlier than one before them in the log, by more than the log's exactness, and the most (us).
    ends_back: u64,
    ends_back_us: i64,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The file.
    pub file: String,
    /// Its line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub fault: Fault,
    /// How it begins.
    pub text: String,
    /// The format that it is in, where it is another.
    pub other: Option<String>,
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

    /// The servers by their numbers, where the log names them.
    pub fn servers(&self) -> &[String] {
        &self.servers
    }

    /// The formats of its files, as [`LogFormat::name`] has them.
    pub fn formats(&self) -> &[String] {
        &self.formats
    }

    /// How exactly it says when requests came (s).
    pub fn resolution_s(&self) -> f64 {
        self.resolution_us.max(1) as f64 / 1e6
    }

    /// How exactly it says how long they took (s).
    pub fn response_step_s(&self) -> f64 {
        f64::from(self.response_step_us.max(1)) / 1e6
    }

    /// The requests that reached a server, where the log names servers: what a balancer answered itself is no load of theirs.
    #[must_use]
    pub fn at_servers(mut self) -> Log {
        let before = self.entries.len();
        if !self.servers.is_empty() {
            self.entries.retain(|entry| entry.server().is_some());
        }
        self.left_out += (before - self.entries.len()) as u64;
        self
    }

    /// Requests that [`Log::at_servers`] has left out.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// How much longer durations are in the mean than the log has them (s): half of a step where what wrote it cuts them to
    /// the step, else 0.
    pub fn cut_off_s(&self) -> f64 {
        f64::from(self.cut_us) / 2e6
    }

    /// One in how many requests was logged.
    pub fn sampled(&self) -> u32 {
        self.sampled.unwrap_or(1)
    }

    /// The same log, of which it is known that one in `every` requests was logged.
    #[must_use]
    pub fn with_sampling(self, every: u32) -> Log {
        Log { sampled: Some(every), ..self }
    }

    /// The hosts by client number.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The paths by object number.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// From the first request's step to the end of the last one's: of whole seconds, from the start of a second to the end of
    /// one.
    pub fn span(&self) -> Span {
        match (self.entries.first(), self.entries.last()) {
            (Some(first), Some(last)) => {
                Span(((last.time_us - first.time_us + self.resolution_us.max(1)) as u64).saturating_mul(1_000))
            }
            _ => Span::ZERO,
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

    /// The first few bad lines.
    pub fn first_bad(&self) -> &[BadLine] {
        &self.first_bad
    }

    /// Requests that were logged after one with a later time, and the largest step back (s).
    pub fn unsorted(&self) -> (u64, f64) {
        (self.unsorted, self.largest_step_back_us as f64 / 1e6)
    }

    /// Requests whose lines have fields behind those of the format, which are not read.
    pub fn with_more_fields(&self) -> u64 {
        self.beyond
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
        let zone_s = self.zone();
        let period = |entry: &Entry| (entry.time_s() + zone_s).div_euclid(length_s);
        let mut busiest: Option<(i64, usize)> = None;
        for chunk in self.entries.chunk_by(|a, b| period(a) == period(b)) {
            if busiest.is_none_or(|(_, most)| chunk.len() > most) {
                busiest = Some((period(&chunk[0]) * length_s - zone_s, chunk.len()));
            }
        }
        busiest
    }

    /// Seconds that the zone of the log's first line is ahead of UTC; 0 where none is named.
    fn zone(&self) -> i64 {
        i64::from(self.zone_s.unwrap_or(0))
    }

    /// An instant (seconds since 1970 in UTC) as date and time in the zone of the log's first line:
    /// `1995-08-01 02:00:00 -0400`; without one where the log names none.
    pub fn local_time(&self, time_s: i64) -> String {
        let local_s = time_s + self.zone();
        let (days, second) = (local_s.div_euclid(86_400), local_s.rem_euclid(86_400));
        let (year, month, day) = calendar::civil_from_days(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let clock = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
        let Some(zone_s) = self.zone_s else { return clock };
        let (sign, zone) = (if zone_s < 0 { '-' } else { '+' }, zone_s.unsigned_abs() / 60);
        format!("{clock} {sign}{:02}{:02}", zone / 60, zone % 60)
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
            Some(date) => calendar::day(date.as_bytes())?,
            None => (first.time_s() + self.zone()).div_euclid(86_400),
        };
        let parts: Option<Vec<i64>> = clock.split(':').map(|part| part.parse().ok()).collect();
        let (hour, minute, second) = match parts?[..] {
            [hour, minute] => (hour, minute, 0),
            [hour, minute, second] => (hour, minute, second),
            _ => return None,
        };
        let is_clock = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
        is_clock.then(|| ((day * 24 + hour) * 60 + minute) * 60 + second - self.zone())
    }

    /// The requests from one instant up to another (seconds since 1970 in UTC), as a log; hosts, paths and servers are those that
    /// occur. What is known of bad lines stays that of the whole log.
    #[must_use]
    pub fn between(&self, from_s: i64, to_s: i64) -> Log {
        let (from_us, to_us) = (from_s.saturating_mul(SECOND_US), to_s.saturating_mul(SECOND_US));
        let start = self.entries.partition_point(|entry| entry.time_us < from_us);
        let end = self.entries.partition_point(|entry| entry.time_us < to_us).max(start);
        let cut = (
            if start > 0 { Some(from_us) } else { self.cut.0 },
            if end < self.entries.len() { Some(to_us) } else { self.cut.1 },
        );
        let mut entries = self.entries[start..end].to_vec();
        let hosts = occurring(&self.hosts, entries.iter_mut().map(|entry| &mut entry.client));
        let paths = occurring(&self.paths, entries.iter_mut().map(|entry| &mut entry.object));
        let named = entries.iter_mut().filter(|entry| entry.server().is_some());
        let servers = occurring(&self.servers, named.map(|entry| &mut entry.server));
        let (formats, first_bad) = (self.formats.clone(), self.first_bad.clone());
        Log { entries, hosts, paths, servers, formats, first_bad, cut, not_read: self.not_read.clone(), ..*self }
    }

    /// Seconds from midnight to an instant (seconds since 1970 in UTC), in the zone of the log's first line.
    pub fn second_of_day(&self, time_s: i64) -> i64 {
        (time_s + self.zone()).rem_euclid(86_400)
    }

    /// The requests of several logs as one, in the order of time. It is as exact as the least exact of them.
    #[must_use]
    pub fn joined(logs: impl IntoIterator<Item = Log>) -> Log {
        let mut all = Log::default();
        let (mut hosts, mut paths, mut servers) = (HashMap::new(), HashMap::new(), HashMap::new());
        // The first of them is whole from there on, and has what came before the others.
        let mut whole_from_us: Option<i64> = None;
        for mut log in logs {
            if all.entries.is_empty() {
                all.zone_s = log.zone_s;
            }
            if let Some(first) = log.entries.first() {
                let from_us = log.whole_from_us.unwrap_or(first.time_us + log.resolution_us.max(1));
                whole_from_us = Some(whole_from_us.map_or(from_us, |other| other.min(from_us)));
            }
            let clients = numbered(std::mem::take(&mut log.hosts), &mut hosts, &mut all.hosts);
            let objects = numbered(std::mem::take(&mut log.paths), &mut paths, &mut all.paths);
            let named = numbered(std::mem::take(&mut log.servers), &mut servers, &mut all.servers);
            all.entries.extend(log.entries.iter().map(|entry| Entry {
                client: clients[entry.client as usize],
                object: objects[entry.object as usize],
                server: entry.server().map_or(entry.server, |server| named[server as usize]),
                ..*entry
            }));
            all.add(log);
        }
        let step_us = all.resolution_us;
        if step_us >= SECOND_US {
            // What finer clocks tell is known to the step of the others, so that none of it is in a part of a step.
            all.entries.iter_mut().for_each(|entry| entry.time_us = start_of_step(entry.time_us, step_us));
            whole_from_us = whole_from_us.map(|from_us| -start_of_step(-from_us, step_us));
        }
        all.entries.sort_by_key(|entry| entry.time_us);
        all.whole_from_us = whole_from_us;
        all
    }

    /// Adds what is known of another log, but for its requests and names.
    fn add(&mut self, log: Log) {
        self.resolution_us = self.resolution_us.max(log.resolution_us);
        self.response_step_us = self.response_step_us.max(log.response_step_us);
        self.cut_us = self.cut_us.max(log.cut_us);
        let new = |known: &[String], one: &String| !known.contains(one);
        let formats: Vec<_> = log.formats.into_iter().filter(|name| new(&self.formats, name)).collect();
        self.formats.extend(formats);
        let not_read: Vec<_> = log.not_read.into_iter().filter(|what| new(&self.not_read, what)).collect();
        self.not_read.extend(not_read);
        self.lines += log.lines;
        self.bad.iter_mut().zip(log.bad).for_each(|(all, bad)| *all += bad);
        self.first_bad.extend(log.first_bad);
        self.first_bad.truncate(SHOWN);
        self.unsorted += log.unsorted;
        self.largest_step_back_us = self.largest_step_back_us.max(log.largest_step_back_us);
        self.retried += log.retried;
        self.beyond += log.beyond;
        self.sampled = self.sampled.or(log.sampled);
        self.early_us = self.early_us.max(log.early_us);
        let (all, more) = (&mut self.stamps, log.stamps);
        all.ends += more.ends;
        all.ends_untimed += more.ends_untimed;
        all.unknown += more.unknown;
        all.ends_back += more.ends_back;
        all.ends_back_us = all.ends_back_us.max(more.ends_back_us);
    }

    /// What the time of a request is taken from, in words.
    pub fn arrivals_in_words(&self) -> String {
        let Stamps { ends, ends_untimed, unknown, .. } = self.stamps;
        let begins = self.entries.len() as u64 - (ends + ends_untimed + unknown).min(self.entries.len() as u64);
        let mut words = Vec::new();
        let of = |count: u64| {
            if count == self.entries.len() as u64 { String::new() } else { format!("of {count} requests ") }
        };
        if begins > 0 {
            words.push(format!("{}as the log has it", of(begins)));
        }
        if ends > 0 {
            words.push(format!("{}the end, which the log has, less the response time", of(ends)));
        }
        if ends_untimed > 0 {
            words.push(format!("{}the end, since the log has no response time of them", of(ends_untimed)));
        }
        if unknown > 0 {
            words.push(format!(
                "{}the log's time, which may be the beginning or the end: the format does not say",
                of(unknown)
            ));
        }
        words.join("; ")
    }

    /// What the user should know before trusting the log, one line each: bad lines, lines out of order, what was not read.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.bad_lines() > 0 {
            let reasons: Vec<String> =
                self.bad_by_reason().map(|(fault, count)| format!("{count} with {fault}")).collect();
            warnings.push(format!(
                "{} of {} lines are bad and left out ({}){}",
                self.bad_lines(),
                self.lines,
                reasons.join(", "),
                if self.first_bad.is_empty() { "" } else { ":" },
            ));
            warnings.extend(self.first_bad.iter().map(|BadLine { file, line, fault, text, other }| {
                let other = other.as_ref().map_or(String::new(), |name| format!(", and is in the format {name}"));
                format!("{file}:{line} has {fault}{other}: `{text}`")
            }));
        }
        let seconds = |us: i64| quantity::format(us as f64 / 1e6, sojourn_stats::Dimension::Time);
        if self.unsorted > 0 {
            warnings.push(format!(
                "{} of {} requests were logged after a later one (by up to {}) and sorted",
                self.unsorted,
                self.entries.len(),
                seconds(self.largest_step_back_us),
            ));
        }
        if self.stamps.ends_back > 0 {
            warnings.push(format!(
                "{} requests end before one that was logged earlier, by up to {}: a clock was set back, or several writers with \
                 clocks or buffers of their own share the log; loads and rates over less than that are not to be trusted",
                self.stamps.ends_back,
                seconds(self.stamps.ends_back_us),
            ));
        }
        if self.early_us > EARLY_US && self.cut.0.is_none() {
            warnings.push(format!(
                "the log has the ends of requests, and one of them came {} before the first end: of that time it has only what \
                 took long, so rates and loads are without it; --from leaves it out",
                seconds(self.early_us)
            ));
        }
        if self.retried > 0 {
            warnings.push(format!(
                "{} requests were tried at several servers: only the last of them, and its time, is counted",
                self.retried
            ));
        }
        if self.zone_s.is_none() && !self.entries.is_empty() {
            warnings.push(
                "the log names no zone: its clock is taken as it is, and as UTC beside logs that name one".into(),
            );
        }
        warnings.extend(self.not_read.iter().cloned());
        warnings
    }
}

/// Numbers `used` anew by first appearance, and gives the names by their new numbers.
fn occurring<'a>(names: &[String], used: impl Iterator<Item = &'a mut u32>) -> Vec<String> {
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
