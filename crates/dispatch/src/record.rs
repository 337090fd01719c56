//! Recording decisions and replaying them.
//!
//! A record is lines of JSON: first how the dispatcher was made, then every call in order with its time, and with each
//! choice its decision. [`replay`] makes the same dispatcher, feeds it the same calls and compares every decision: that
//! live and simulated faces run one policy is not a claim but a test that can be repeated on a production record. With
//! [`Detail::Explained`] each choice also says what every candidate had to offer, for readers; a replay passes it over.
//! The price is a line of 100 to 200 bytes per call, which is why recording is asked for.
//!
//! A record may go on in further files. Each begins with a line that names the one before, so that who replays them in their
//! order replays all; none but the first can be replayed alone.
//!
//! Records have format 2. Those of format 1 are read as well, each line translated to what it would be in format 2.

pub(crate) mod exact;
mod format_1;
mod replay;

use std::io::{self, BufWriter, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sojourn_stats::{Span, Time};
use thiserror::Error;

use crate::{
    BackendId, ClientRules, Command, Decision, DispatchError, Event, Explanation, Hardware, Information, Limit, Origin,
    Remembered, Report, Request, RoundTrip, Signals,
};
pub use replay::{Difference, Replay, replay, replay_with};

/// The format of records that this version writes; it reads this one and those before.
const FORMAT: u32 = 2;

/// How much a record says of each choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The decision.
    #[default]
    Decisions,
    /// The decision, and what the policy compared for every candidate: a look at every backend per choice.
    Explained,
}

/// How the dispatcher of a record was made: its first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Of the record.
    pub format: u32,
    /// Version of this crate that wrote it.
    pub version: String,
    /// The policy's text.
    pub policy: String,
    /// Names and weights.
    pub backends: Vec<RecordedBackend>,
    /// How fresh its counts were.
    pub information: Information,
    /// What its face provided.
    pub signals: Vec<String>,
    /// Of its random stream.
    pub seed: u64,
    /// Of its random stream.
    pub name: String,
}

/// A backend in a record's header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedBackend {
    /// Its name.
    pub name: String,
    /// Its weight.
    #[serde(with = "exact")]
    pub weight: f64,
}

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line<D> {
    Header(Header),
    /// The first line of a further file of a record: what was before stands in this one.
    Continues {
        file: String,
    },
    Choose {
        now: Time,
        request: Request,
        tried: Vec<BackendId>,
        decision: D,
        /// Of what was compared, for readers only.
        #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
        explanation: Option<Explanation>,
    },
    Observe {
        now: Time,
        event: Event,
    },
    Report {
        now: Time,
        backend: BackendId,
        report: Report,
    },
    Clients {
        rules: ClientRules,
    },
    Rate {
        now: Time,
        client: u64,
        #[serde(default, skip_serializing_if = "crate::request::is_default")]
        origin: Origin,
        #[serde(with = "exact")]
        rate: f64,
    },
    RoundTrip {
        now: Time,
        client: u64,
        from: BackendId,
        #[serde(with = "sojourn_stats::nanoseconds")]
        span: Span,
        measured: Time,
        #[serde(default, skip_serializing_if = "crate::request::is_default")]
        answers: u32,
    },
    Recall {
        now: Time,
        client: Remembered,
    },
    Limit {
        limit: Limit,
    },
    LimitOf {
        backend: BackendId,
        limit: Option<Limit>,
    },
    Weight {
        now: Time,
        backend: BackendId,
        #[serde(with = "exact")]
        weight: f64,
    },
    NeedRoom {
        needs: bool,
    },
    Hardware {
        backend: BackendId,
        hardware: Hardware,
    },
    Origin {
        backend: BackendId,
        origin: Origin,
    },
    Owners {
        object: u32,
        owners: Vec<BackendId>,
    },
    Poll {
        now: Time,
        commands: Vec<Command>,
    },
    Join {
        now: Time,
        name: String,
        #[serde(with = "exact")]
        weight: f64,
    },
}

/// Why a record cannot be made or replayed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Reading or writing failed.
    #[error("the record: {0}")]
    Io(#[from] io::Error),
    /// The dispatcher had been used already.
    #[error("a record must begin before the dispatcher's first call")]
    Late,
    /// There is not even a header.
    #[error("the record is empty; its first line should say how the dispatcher was made")]
    Empty,
    /// A line is not what it should be.
    #[error("the record's line {line}: {why}")]
    Line {
        /// From 1.
        line: u64,
        /// What is wrong.
        why: String,
    },
    /// The header describes a dispatcher that cannot be made.
    #[error("the record's header: {0}")]
    Dispatch(#[from] DispatchError),
}

impl Header {
    pub(crate) fn new(
        policy: &str,
        backends: &[(String, f64)],
        information: Information,
        signals: Signals,
        seed: u64,
        name: &str,
    ) -> Header {
        let backends = backends.iter().map(|(name, weight)| RecordedBackend { name: name.clone(), weight: *weight });
        Header {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            policy: policy.into(),
            backends: backends.collect(),
            information,
            signals: signals.iter_names().map(|(name, _)| name.to_lowercase()).collect(),
            seed,
            name: name.into(),
        }
    }

    /// What the face provided.
    ///
    /// # Errors
    /// On a signal that this version does not know.
    pub fn signals(&self) -> Result<Signals, DispatchError> {
        self.signals.iter().try_fold(Signals::empty(), |signals, name| {
            let signal = Signals::from_name(&name.to_uppercase());
            signal.map(|signal| signals | signal).ok_or_else(|| {
                DispatchError::MissingSignal(format!("the signal `{name}` is not known to this version"))
            })
        })
    }
}

/// The first line of a file in which a record goes on that was in `file` before.
pub fn continues(file: &str) -> String {
    let line: Line<Decision> = Line::Continues { file: file.into() };
    serde_json::to_string(&line).expect("it is plain JSON") + "\n"
}

/// The file before that a first line names, where the record of the file began in another one.
pub fn continued(line: &[u8]) -> Option<String> {
    match serde_json::from_slice(line) {
        Ok(Line::<Value>::Continues { file }) => Some(file),
        _ => None,
    }
}

/// Lines wait in memory no longer than this (in the time of the calls), so that a crash loses no more, and a full disk is seen.
const WRITTEN_EVERY: Span = Span(1_000_000_000);

/// Writes a record. Errors are kept for [`Recorder::finish`]: a full disk must not stop decisions.
pub struct Recorder<W: Write> {
    out: BufWriter<W>,
    /// When what had come was last written out, or the first call came.
    written: Option<Time>,
    error: Option<io::Error>,
    detail: Detail,
    /// Of the choice that is being made.
    explanation: Option<Explanation>,
}

impl<W: Write> Recorder<W> {
    /// Begins a record.
    ///
    /// # Errors
    /// When the first line cannot be written.
    pub fn new(out: W, header: &Header, detail: Detail) -> io::Result<Recorder<W>> {
        let mut recorder = Recorder { out: BufWriter::new(out), written: None, error: None, detail, explanation: None };
        recorder.write(&Line::Header(header.clone()));
        recorder.out.flush()?;
        match recorder.error.take() {
            Some(error) => Err(error),
            None => Ok(recorder),
        }
    }

    /// A choice was made.
    pub fn choose(&mut self, request: &Request, tried: &[BackendId], decision: &Decision, now: Time) {
        let (tried, explanation) = (tried.to_vec(), self.explanation.take());
        self.write_at(now, &Line::Choose { now, request: *request, tried, decision: *decision, explanation });
    }

    /// A choice is about to be made, which `explain` explains; it is called only if the record is to say so.
    pub fn explain(&mut self, explain: impl FnOnce() -> Explanation) {
        if self.detail == Detail::Explained {
            self.explanation = Some(explain());
        }
    }

    /// An event was told.
    pub fn observe(&mut self, event: &Event, now: Time) {
        self.write_at(now, &Line::Observe { now, event: *event });
    }

    /// A backend reported.
    pub fn report(&mut self, backend: BackendId, report: &Report, now: Time) {
        self.write_at(now, &Line::Report { now, backend, report: report.clone() });
    }

    /// What is kept of clients was told.
    pub fn clients(&mut self, rules: ClientRules) {
        self.write(&Line::Clients { rules });
    }

    /// A client's request rate was told.
    pub fn rate(&mut self, client: u64, origin: Origin, rate: f64, now: Time) {
        self.write_at(now, &Line::Rate { now, client, origin, rate });
    }

    /// A round trip was told.
    pub fn round_trip(&mut self, client: u64, from: BackendId, round_trip: RoundTrip, now: Time) {
        let RoundTrip { span, measured, answers } = round_trip;
        self.write_at(now, &Line::RoundTrip { now, client, from, span, measured, answers });
    }

    /// What was known of a client before a restart was told.
    pub fn recall(&mut self, client: &Remembered, now: Time) {
        self.write_at(now, &Line::Recall { now, client: client.clone() });
    }

    /// The limit of each backend was told.
    pub fn limit(&mut self, limit: Limit) {
        self.write(&Line::Limit { limit });
    }

    /// The limit of a backend was told.
    pub fn limit_of(&mut self, backend: BackendId, limit: Option<Limit>) {
        self.write(&Line::LimitOf { backend, limit });
    }

    /// The weight of a backend was told.
    pub fn weight(&mut self, backend: BackendId, weight: f64, now: Time) {
        self.write_at(now, &Line::Weight { now, backend, weight });
    }

    /// Whether room is needed was told.
    pub fn need_room(&mut self, needs: bool) {
        self.write(&Line::NeedRoom { needs });
    }

    /// A backend's hardware was told.
    pub fn hardware(&mut self, backend: BackendId, hardware: Hardware) {
        self.write(&Line::Hardware { backend, hardware });
    }

    /// A backend's place was told.
    pub fn origin(&mut self, backend: BackendId, origin: Origin) {
        self.write(&Line::Origin { backend, origin });
    }

    /// An object's owners were told.
    pub fn owners(&mut self, object: u32, owners: &[BackendId]) {
        self.write(&Line::Owners { object, owners: owners.to_vec() });
    }

    /// The dispatcher was polled.
    pub fn poll(&mut self, commands: &[Command], now: Time) {
        self.write_at(now, &Line::Poll { now, commands: commands.to_vec() });
    }

    /// A backend joined.
    pub fn join(&mut self, name: &str, weight: f64, now: Time) {
        self.write_at(now, &Line::Join { now, name: name.into(), weight });
    }

    /// The first error since the beginning; nothing is written after it.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Writes out what is buffered.
    ///
    /// # Errors
    /// The first error since the beginning.
    pub fn finish(mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.error.map_or(flushed, Err)
    }

    fn write_at(&mut self, now: Time, line: &Line<Decision>) {
        self.write(line);
        if now.saturating_since(*self.written.get_or_insert(now)) >= WRITTEN_EVERY && self.error.is_none() {
            self.written = Some(now);
            self.error = self.out.flush().err();
        }
    }

    fn write(&mut self, line: &Line<Decision>) {
        if self.error.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut self.out, line).map_err(io::Error::from);
        self.error = written.and_then(|()| self.out.write_all(b"\n")).err();
    }
}
