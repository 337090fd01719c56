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
mod clock;
mod ending;
mod entry;
mod error;
mod extract;
mod fault;
mod format;
mod growth;
mod line;
mod method;
mod paths;
mod read;
mod record;
mod silence;
mod union;
mod warnings;

use std::fmt;

use sojourn_stats::Span;

pub use self::calendar::date;
pub use self::entry::Entry;
pub use self::error::LogError;
pub use self::fault::Fault;
pub use self::format::{LogFormat, LogFormatError, Stamped};
pub use self::line::{Line, parse};
pub use self::method::Method;
pub use self::paths::PathClasses;
pub use self::read::TOLERATED_STEP_S;
pub use self::silence::{EndStep, Silence, Silences};

/// The instant (us since 1970) that a text is, in any form that logs have.
pub(crate) fn instant_us(text: &str) -> Option<i64> {
    calendar::stamp(text.as_bytes()).map(|stamp| stamp.time_us)
}

/// When the step begins that an instant is in (us).
fn start_of_step(time_us: i64, step_us: i64) -> i64 {
    time_us.div_euclid(step_us) * step_us
}

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
