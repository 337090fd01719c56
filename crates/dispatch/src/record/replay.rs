//! A record replayed: the same dispatcher, the same calls, and every decision compared.

use std::io::BufRead;

use serde::Serialize;
use serde_json::Value;
use sojourn_stats::config::of_json;
use sojourn_stats::{Time, input};

use super::{FORMAT, Header, Line, RecordError, format_1};
use crate::{BackendId, Catalogue, DispatchError, Dispatcher, RoundTrip};

/// What a replay found.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// How many choices were replayed; the replay stops at the first difference.
    pub choices: u64,
    /// How many of them were the same as in the record.
    pub same: u64,
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
    if !input::next_line(&mut record, &mut text)? {
        return Err(RecordError::Empty);
    }
    let header = match serde_json::from_slice::<Line<Value>>(input::without_mark(&text)) {
        Ok(Line::Header(header)) if (1..=FORMAT).contains(&header.format) => header,
        Ok(Line::Header(header)) => {
            return Err(wrong(1, format!("format {}; this version reads formats 1 to {FORMAT}", header.format)));
        }
        Ok(Line::Continues { file }) => {
            return Err(wrong(1, format!("it goes on from `{file}`; name the record's files from the first on")));
        }
        Ok(_) => return Err(wrong(1, "it should say how the dispatcher was made".into())),
        Err(error) => return Err(wrong(1, format!("it is no record of decisions: {}", of_json(error)))),
    };
    play(make(&header)?, header.format, &mut record)
}

/// Replays what follows a header. Not generic, so that it is compiled here, once and optimised.
fn play(mut dispatcher: Dispatcher, format: u32, record: &mut dyn BufRead) -> Result<Replay, RecordError> {
    let mut text = Vec::new();
    let mut replay = Replay { choices: 0, same: 0, first_difference: None, truncated_line: None };
    for number in 2.. {
        if !input::next_line(record, &mut text)? {
            break;
        }
        let read = if format == 1 { format_1::read(&text) } else { serde_json::from_slice(&text) };
        let line = match read {
            Ok(line) => line,
            Err(_) if !text.ends_with(b"\n") => {
                replay.truncated_line = Some(number);
                break;
            }
            Err(error) => return Err(wrong(number, of_json(error))),
        };
        let is_choice = u64::from(matches!(line, Line::Choose { .. }));
        replay.choices += is_choice;
        let difference = step(&mut dispatcher, line).map_err(|why| wrong(number, why))?;
        if let Some((time, recorded, replayed)) = difference {
            let (recorded, replayed) = (recorded.to_string(), replayed.to_string());
            replay.first_difference = Some(Difference { line: number, time, recorded, replayed });
            break; // from here on the record tells of another system
        }
        replay.same += is_choice;
    }
    Ok(replay)
}

fn wrong(line: u64, why: String) -> RecordError {
    RecordError::Line { line, why }
}

/// Makes one recorded call; answers with what differs: when, the recorded and the replayed answer.
fn step(dispatcher: &mut Dispatcher, line: Line<Value>) -> Result<Option<(Time, Value, Value)>, String> {
    let differs = |now, recorded: Value, replayed: Value| (recorded != replayed).then_some((now, recorded, replayed));
    match line {
        Line::Header(_) => Err("a second header".into()),
        Line::Continues { .. } => Ok(None),
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
        Line::Clients { rules } => {
            dispatcher.keep_clients(rules);
            Ok(None)
        }
        Line::Rate { now, client, origin, rate } => {
            dispatcher.tell_rate(client, origin, rate, now);
            Ok(None)
        }
        Line::RoundTrip { now, client, from, span, measured, answers } => known(dispatcher, &[from]).map(|()| {
            dispatcher.tell_round_trip(client, from, RoundTrip { span, measured, answers }, now);
            None
        }),
        Line::Recall { now, client } => {
            let from: Vec<BackendId> = client.round_trips.iter().map(|trip| trip.from).collect();
            known(dispatcher, &from).map(|()| {
                dispatcher.recall(&client, now);
                None
            })
        }
        Line::Limit { limit } => dispatcher.limit(limit).map(|()| None).map_err(|error| error.to_string()),
        Line::LimitOf { backend, limit } => known(dispatcher, &[backend])
            .and_then(|()| dispatcher.limit_of(backend, limit).map(|()| None).map_err(|error| error.to_string())),
        Line::Weight { now, backend, weight } => known(dispatcher, &[backend]).map(|()| {
            dispatcher.set_weight(backend, weight, now);
            None
        }),
        Line::NeedRoom { needs } => {
            dispatcher.need_room(needs);
            Ok(None)
        }
        Line::Hardware { backend, hardware } => known(dispatcher, &[backend]).map(|()| {
            dispatcher.set_hardware(backend, hardware);
            None
        }),
        Line::Origin { backend, origin } => known(dispatcher, &[backend]).map(|()| {
            dispatcher.set_origin(backend, origin);
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
}
