//! Recording decisions and replaying them.
//!
//! A record is lines of JSON: first how the dispatcher was made, then every call in order with its time, and with each
//! choice its decision. [`replay`] makes the same dispatcher, feeds it the same calls and compares every decision: that
//! live and simulated faces run one policy is not a claim but a test anyone can repeat on a production record. The price
//! is a line of 100 to 200 bytes per call, which is why recording is asked for.

use std::io::{self, BufRead, BufWriter, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sojourn_stats::Time;
use thiserror::Error;

use crate::{BackendId, Command, Decision, DispatchError, Dispatcher, Event, Information, Request, Signals};

/// The format of records that this version writes and reads.
const FORMAT: u32 = 1;

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
    Choose {
        now: Time,
        request: Request,
        exclude: Vec<BackendId>,
        decision: D,
    },
    Observe {
        now: Time,
        event: Event,
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

/// What a replay found.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// How many choices were replayed; the replay stops at the first difference.
    pub choices: u64,
    /// Where the replay first answered otherwise than the record.
    pub first_difference: Option<Difference>,
    /// The number of the last line, where it breaks off in the middle (the recorder was killed); it was left out.
    pub truncated_line: Option<u64>,
}

/// A call that was answered otherwise than in the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its line in the record, from 1.
    pub line: u64,
    /// When it was.
    pub time: Time,
    /// The answer in the record, as JSON.
    pub recorded: String,
    /// The answer in the replay, as JSON.
    pub replayed: String,
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

/// Replays a record of a policy that is known by name.
///
/// # Errors
/// When reading fails, or a line is no record's, except for a last line that breaks off: see [`Replay::truncated_line`].
pub fn replay(record: impl BufRead) -> Result<Replay, RecordError> {
    replay_with(record, Header::dispatcher)
}

/// Replays a record through the dispatcher that `make` makes of its header: for policies of your own, or to ask what
/// another policy would have chosen first otherwise.
///
/// # Errors
/// As [`replay`].
pub fn replay_with(
    mut record: impl BufRead,
    make: impl FnOnce(&Header) -> Result<Dispatcher, DispatchError>,
) -> Result<Replay, RecordError> {
    let mut text = Vec::new();
    if record.read_until(b'\n', &mut text)? == 0 {
        return Err(RecordError::Empty);
    }
    let wrong = |line: u64, why: String| RecordError::Line { line, why };
    let header = match serde_json::from_slice::<Line<Value>>(&text) {
        Ok(Line::Header(header)) if header.format == FORMAT => header,
        Ok(Line::Header(header)) => {
            return Err(wrong(1, format!("format {}; this version reads format {FORMAT}", header.format)));
        }
        Ok(_) => return Err(wrong(1, "it should say how the dispatcher was made".into())),
        Err(error) => return Err(wrong(1, format!("it is no record of decisions ({error})"))),
    };
    let mut dispatcher = make(&header)?;
    let mut replay = Replay { choices: 0, first_difference: None, truncated_line: None };
    for number in 2.. {
        text.clear();
        if record.read_until(b'\n', &mut text)? == 0 {
            break;
        }
        let line = match serde_json::from_slice::<Line<Value>>(&text) {
            Ok(line) => line,
            Err(_) if !text.ends_with(b"\n") => {
                replay.truncated_line = Some(number);
                break;
            }
            Err(error) => return Err(wrong(number, error.to_string())),
        };
        replay.choices += u64::from(matches!(line, Line::Choose { .. }));
        let difference = step(&mut dispatcher, line).map_err(|why| wrong(number, why))?;
        if let Some((time, recorded, replayed)) = difference {
            let (recorded, replayed) = (recorded.to_string(), replayed.to_string());
            replay.first_difference = Some(Difference { line: number, time, recorded, replayed });
            break; // from here on the record tells of another system
        }
    }
    Ok(replay)
}

/// Makes one recorded call; answers with what differs: when, the recorded and the replayed answer.
fn step(dispatcher: &mut Dispatcher, line: Line<Value>) -> Result<Option<(Time, Value, Value)>, String> {
    let differs = |now, recorded: Value, replayed: Value| (recorded != replayed).then_some((now, recorded, replayed));
    match line {
        Line::Header(_) => Err("a second header".into()),
        Line::Choose { now, request, exclude, decision } => {
            let replayed = dispatcher.choose(&request, &exclude, now);
            Ok(differs(now, decision, reread(&replayed)))
        }
        Line::Observe { now, event } => match dispatcher.table().contradicts(&event) {
            Some(why) => Err(why),
            None => {
                dispatcher.observe(event, now);
                Ok(None)
            }
        },
        Line::Poll { now, commands } => {
            let replayed = dispatcher.poll(now);
            Ok(differs(now, reread(&commands), reread(&replayed)))
        }
        Line::Join { now, name, weight } => {
            dispatcher.join(&name, weight, now).map(|_| None).map_err(|error| error.to_string())
        }
    }
}

/// What a reader of the record would see: numbers go through the same text.
fn reread(answer: &impl Serialize) -> Value {
    let text = serde_json::to_string(answer).expect("answers have a JSON form");
    serde_json::from_str(&text).expect("what was written can be read")
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

    /// Makes the dispatcher that the header describes.
    ///
    /// # Errors
    /// As [`Dispatcher::new`], and on a signal that this version does not know.
    pub fn dispatcher(&self) -> Result<Dispatcher, DispatchError> {
        let backends: Vec<_> = self.backends.iter().map(|backend| (backend.name.clone(), backend.weight)).collect();
        Dispatcher::new(&self.policy, &backends, self.information, self.signals()?, self.seed, &self.name)
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

/// Writes a record. Errors are kept for [`Recorder::finish`]: a full disk must not stop decisions.
pub struct Recorder<W: Write> {
    out: BufWriter<W>,
    error: Option<io::Error>,
}

impl<W: Write> Recorder<W> {
    /// Begins a record.
    ///
    /// # Errors
    /// When the first line cannot be written.
    pub fn new(out: W, header: &Header) -> io::Result<Recorder<W>> {
        let mut recorder = Recorder { out: BufWriter::new(out), error: None };
        recorder.write(&Line::Header(header.clone()));
        recorder.out.flush()?;
        match recorder.error.take() {
            Some(error) => Err(error),
            None => Ok(recorder),
        }
    }

    /// A choice was made.
    pub fn choose(&mut self, request: &Request, exclude: &[BackendId], decision: &Decision, now: Time) {
        self.write(&Line::Choose { now, request: *request, exclude: exclude.to_vec(), decision: *decision });
    }

    /// An event was told.
    pub fn observe(&mut self, event: &Event, now: Time) {
        self.write(&Line::Observe { now, event: *event });
    }

    /// The dispatcher was polled.
    pub fn poll(&mut self, commands: &[Command], now: Time) {
        self.write(&Line::Poll { now, commands: commands.to_vec() });
    }

    /// A backend joined.
    pub fn join(&mut self, name: &str, weight: f64, now: Time) {
        self.write(&Line::Join { now, name: name.into(), weight });
    }

    /// Writes out what is buffered.
    ///
    /// # Errors
    /// The first error since the beginning.
    pub fn finish(mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.error.map_or(flushed, Err)
    }

    fn write(&mut self, line: &Line<Decision>) {
        if self.error.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut self.out, line).map_err(io::Error::from);
        self.error = written.and_then(|()| self.out.write_all(b"\n")).err();
    }
}

/// A double as its shortest text that reads back to the same bits: JSON readers may be a bit off in the last place.
mod exact {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
