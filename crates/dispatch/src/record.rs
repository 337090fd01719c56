//! Recording decisions and replaying them.
//!
//! A record is lines of JSON: first how the dispatcher was made, then every call in order with its time, and with each
//! choice its decision. [`replay`] makes the same dispatcher, feeds it the same calls and compares every decision: that
//! live and simulated faces run one policy is not a claim but a test that can be repeated on a production record. With
//! [`Detail::Explained`] each choice also says what every candidate had to offer, for readers; a replay passes it over.
//! The price is a line of 100 to 200 bytes per call, which is why recording is asked for.
//!
//! Records have format 2. Those of format 1 are read as well, each line translated to what it would be in format 2.

mod format_1;

use std::io::{self, BufRead, BufWriter, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sojourn_stats::{Span, Time};
use thiserror::Error;

use crate::{
    BackendId, Catalogue, Command, Decision, DispatchError, Dispatcher, Event, Explanation, Hardware, Information,
    Report, Request, RoundTrip, Signals,
};

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
    Rate {
        now: Time,
        client: u64,
        #[serde(with = "exact")]
        rate: f64,
    },
    RoundTrip {
        now: Time,
        client: u64,
        from: BackendId,
        span: Span,
        measured: Time,
    },
    Hardware {
        backend: BackendId,
        hardware: Hardware,
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
        Ok(Line::Header(header)) if (1..=FORMAT).contains(&header.format) => header,
        Ok(Line::Header(header)) => {
            return Err(wrong(1, format!("format {}; this version reads formats 1 to {FORMAT}", header.format)));
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
        let read = if header.format == 1 { format_1::read(&text) } else { serde_json::from_slice(&text) };
        let line = match read {
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
        Line::Choose { now, request, tried, decision, .. } => {
            let replayed = dispatcher.choose(&request, &tried, now);
            Ok(differs(now, decision, reread(&replayed)))
        }
        Line::Observe { now, event } => match dispatcher.table().contradicts(&event) {
            Some(why) => Err(why),
            None => {
                dispatcher.observe(event, now);
                Ok(None)
            }
        },
        Line::Report { now, backend, report } => known(dispatcher, &[backend]).map(|()| {
            dispatcher.report(backend, &report, now);
            None
        }),
        Line::Rate { now, client, rate } => {
            dispatcher.tell_rate(client, rate, now);
            Ok(None)
        }
        Line::RoundTrip { now, client, from, span, measured } => known(dispatcher, &[from]).map(|()| {
            dispatcher.tell_round_trip(client, from, RoundTrip { span, measured }, now);
            None
        }),
        Line::Hardware { backend, hardware } => known(dispatcher, &[backend]).map(|()| {
            dispatcher.set_hardware(backend, hardware);
            None
        }),
        Line::Owners { object, owners } => known(dispatcher, &owners).map(|()| {
            dispatcher.set_owners(object, &owners);
            None
        }),
        Line::Poll { now, commands } => {
            let replayed = dispatcher.poll(now);
            Ok(differs(now, reread(&commands), reread(&replayed)))
        }
        Line::Join { now, name, weight } => {
            dispatcher.join(&name, weight, now).map(|_| None).map_err(|error| error.to_string())
        }
    }
}

/// Refuses numbers that no backend of the record has.
fn known(dispatcher: &Dispatcher, backends: &[BackendId]) -> Result<(), String> {
    match backends.iter().find(|id| !dispatcher.table().knows(**id)) {
        Some(id) => Err(format!("there is no backend {}", id.0)),
        None => Ok(()),
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

    /// Makes the dispatcher that the header describes, with a built-in policy.
    ///
    /// # Errors
    /// As [`Dispatcher::new`], and on a signal that this version does not know.
    pub fn dispatcher(&self) -> Result<Dispatcher, DispatchError> {
        self.dispatcher_from(&Catalogue::default())
    }

    /// The same with a policy of `catalogue`.
    ///
    /// # Errors
    /// As [`Header::dispatcher`].
    pub fn dispatcher_from(&self, catalogue: &Catalogue) -> Result<Dispatcher, DispatchError> {
        let backends: Vec<_> = self.backends.iter().map(|backend| (backend.name.clone(), backend.weight)).collect();
        let (seed, name) = (self.seed, &self.name);
        Dispatcher::from_catalogue(catalogue, &self.policy, &backends, self.information, self.signals()?, seed, name)
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
        let mut recorder = Recorder { out: BufWriter::new(out), error: None, detail, explanation: None };
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
        self.write(&Line::Choose { now, request: *request, tried, decision: *decision, explanation });
    }

    /// A choice is about to be made, which `explain` explains; it is called only if the record is to say so.
    pub fn explain(&mut self, explain: impl FnOnce() -> Explanation) {
        if self.detail == Detail::Explained {
            self.explanation = Some(explain());
        }
    }

    /// An event was told.
    pub fn observe(&mut self, event: &Event, now: Time) {
        self.write(&Line::Observe { now, event: *event });
    }

    /// A backend reported.
    pub fn report(&mut self, backend: BackendId, report: &Report, now: Time) {
        self.write(&Line::Report { now, backend, report: report.clone() });
    }

    /// A client's request rate was told.
    pub fn rate(&mut self, client: u64, rate: f64, now: Time) {
        self.write(&Line::Rate { now, client, rate });
    }

    /// A round trip was told.
    pub fn round_trip(&mut self, client: u64, from: BackendId, round_trip: RoundTrip, now: Time) {
        let RoundTrip { span, measured } = round_trip;
        self.write(&Line::RoundTrip { now, client, from, span, measured });
    }

    /// A backend's hardware was told.
    pub fn hardware(&mut self, backend: BackendId, hardware: Hardware) {
        self.write(&Line::Hardware { backend, hardware });
    }

    /// An object's owners were told.
    pub fn owners(&mut self, object: u32, owners: &[BackendId]) {
        self.write(&Line::Owners { object, owners: owners.to_vec() });
    }

    /// The dispatcher was polled.
    pub fn poll(&mut self, commands: &[Command], now: Time) {
        self.write(&Line::Poll { now, commands: commands.to_vec() });
    }

    /// A backend joined.
    pub fn join(&mut self, name: &str, weight: f64, now: Time) {
        self.write(&Line::Join { now, name: name.into(), weight });
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

    fn write(&mut self, line: &Line<Decision>) {
        if self.error.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut self.out, line).map_err(io::Error::from);
        self.error = written.and_then(|()| self.out.write_all(b"\n")).err();
    }
}

/// A float as its shortest text that reads back to the same bits: JSON readers may be a bit off in the last place.
pub(crate) mod exact {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The same for a float that may be missing.
pub(crate) mod exact_option {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse()).transpose().map_err(D::Error::custom)
    }
}

/// The same for floats by name.
pub(crate) mod exact_map {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(map: &BTreeMap<String, f64>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(map.iter().map(|(name, value)| (name, value.to_string())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, f64>, D::Error> {
        let map = BTreeMap::<String, String>::deserialize(deserializer)?;
        let parsed = map.into_iter().map(|(name, text)| text.parse().map(|value| (name, value)));
        parsed.collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}
