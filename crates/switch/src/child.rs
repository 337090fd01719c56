//! A switch, and a server's half of one, as child processes, by the protocol of [`sojourn_part::child`].

use std::io::{Read, Write};

use serde_json::{Value, json};
use sojourn_bed::Events;
use sojourn_part::ServeError;
use sojourn_part::child::{event, stopped, until_stopped};
use sojourn_part::settings::switch::{SwitchServerSettings, SwitchSettings};

use crate::{ServerHalf, Switch};

/// Runs a packet switch until it is told to stop; otherwise as a node. Over its input it is asked what it has done so far,
/// `{"ask": "counts"}`, and told to end the connections that it has and take no new ones, or to take them again:
/// `{"drained": true}`.
///
/// # Errors
/// When the switch cannot start, and nothing has been written then; or when its record could not be written to its end.
pub fn switch(
    settings: SwitchSettings,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    let events = Events::once_ready(output);
    let settings = settings.whole();
    let (policy, address, upstream) = (settings.decider.policy.clone(), settings.service, settings.upstream.clone());
    let switch = Switch::start(settings, events.clone())?;
    let inherited = switch.inherited();
    let mut ready = json!({
        "event": "ready", "kind": "switch", "port": address.port(), "address": address, "policy": policy,
        "inherited": inherited,
    });
    if let Some(reports) = switch.reports_address() {
        ready["reports"] = json!(reports);
    }
    if let Some(name) = upstream.name {
        ready["tells"] = json!({"name": name, "receivers": upstream.to});
    }
    let (counter, drain, teller) = (switch.counter(), switch.drain(), events.clone());
    let message = move |asked: &Value| {
        if asked["ask"] == "counts" {
            teller.emit(&event("counts", "switch", &counter()));
        }
        asked["drained"].as_bool().into_iter().for_each(&drain);
    };
    until_stopped(&events, &ready, input, message)?;
    let counts = switch.stop();
    events.emit(&stopped("switch", &counts));
    if counts.records_failed > 0 { Err(ServeError::Record) } else { Ok(()) }
}

/// Keeps a server's half of a switch in force until it is told to stop; otherwise as a node.
///
/// # Errors
/// When the system refuses; what was changed has been put back then.
pub fn server_half(
    settings: SwitchServerSettings,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    let events = Events::once_ready(output);
    let address = settings.service;
    let half = ServerHalf::start(settings)?;
    let ready = json!({"event": "ready", "kind": "switch-server", "port": address.port(), "address": address});
    until_stopped(&events, &ready, input, |_| {})?;
    let counts = half.counts();
    drop(half);
    events.emit(&stopped("switch-server", &counts));
    Ok(())
}
