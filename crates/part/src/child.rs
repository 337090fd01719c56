//! A live part as a child process: it starts, says that it is ready, serves until it is told to stop, and says what it has
//! done. The protocol is that of [`sojourn_bed::supervised`].

use std::io::Read;

use serde::Serialize;
use serde_json::{Value, json};
use sojourn_bed::supervised::Signalled;
use sojourn_bed::{Events, supervised};

use crate::ServeError;

/// Says `ready`, then waits until the part is told to stop. Each line of JSON from `input` goes to `message`; none: the end of
/// standard input means nothing, as under a service manager that connects it to `/dev/null`.
///
/// # Errors
/// When the signals cannot be waited for.
pub fn until_stopped(
    events: &Events,
    ready: &Value,
    input: Option<impl Read + Send + 'static>,
    message: impl FnMut(&Value) + Send + 'static,
) -> Result<(), ServeError> {
    supervised::until_told_to_stop(events, ready, input, message).map_err(refused())
}

/// The same for a part that does something on `SIGHUP` or `SIGUSR1`.
///
/// # Errors
/// When the signals cannot be waited for.
pub fn until_stopped_or(
    events: &Events,
    ready: &Value,
    input: Option<impl Read + Send + 'static>,
    message: impl FnMut(&Value) + Send + 'static,
    signal: impl FnMut(Signalled),
) -> Result<(), ServeError> {
    supervised::until_told_to_stop_or(events, ready, input, message, signal).map_err(refused())
}

fn refused() -> impl FnOnce(std::io::Error) -> ServeError {
    ServeError::system("cannot begin to serve")
}

/// The last event of a part of this kind: what it has done.
pub fn stopped(kind: &str, counts: &impl Serialize) -> Value {
    event("stopped", kind, counts)
}

/// An event of a part of this kind, with its counts.
pub fn event(name: &str, kind: &str, counts: &impl Serialize) -> Value {
    let mut event = json!({"event": name, "kind": kind});
    if let (Value::Object(event), Ok(Value::Object(counts))) = (&mut event, serde_json::to_value(counts)) {
        event.extend(counts);
    }
    event
}
