//! Lines of format 1, read as what they would be in format 2.
//!
//! Format 1 called the backends already tried `exclude`, held a decision by a `lease` instead of a hold, gave a list of
//! addresses within the decision, and told reports as events.

use serde::Deserialize;
use serde_json::{Value, json};
use sojourn_stats::Time;

use super::Line;
use crate::{BackendId, Event, Report, Request};

/// Reads one line.
pub(super) fn read(text: &[u8]) -> serde_json::Result<Line<Value>> {
    let mut value: Value = serde_json::from_slice(text)?;
    if let Some(choose) = value.get_mut("choose") {
        let Choose { now, request, exclude, decision } = Choose::deserialize(choose.take())?;
        return Ok(Line::Choose { now, request, tried: exclude, decision: decision.translated(), explanation: None });
    }
    if let Some(observe) = value.get_mut("observe") {
        let Observe { now, mut event } = Observe::deserialize(observe.take())?;
        return Ok(match event.get_mut("reported") {
            Some(reported) => {
                let Reported { backend, in_flight, measured } = Reported::deserialize(reported.take())?;
                Line::Report { now, backend, report: Report::of_in_flight(in_flight, measured) }
            }
            None => Line::Observe { now, event: Event::deserialize(event)? },
        });
    }
    Line::deserialize(value)
}

#[derive(Deserialize)]
struct Choose {
    now: Time,
    request: Request,
    exclude: Vec<BackendId>,
    decision: Decision,
}

#[derive(Deserialize)]
struct Decision {
    action: Value,
    reason: Value,
    lease: Option<Time>,
}

#[derive(Deserialize)]
struct Observe {
    now: Time,
    event: Value,
}

#[derive(Deserialize)]
struct Reported {
    backend: BackendId,
    in_flight: u32,
    measured: Time,
}

impl Decision {
    /// As JSON of format 2.
    fn translated(self) -> Value {
        let Decision { mut action, reason, lease } = self;
        if let Some(first) = action.pointer("/answer/backends/0") {
            action = json!({ "answer": first });
        }
        let hold = lease.map_or_else(|| json!("until_told"), |until| json!({ "until": until }));
        json!({ "action": action, "reason": reason, "hold": hold })
    }
}
