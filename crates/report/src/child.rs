//! A load daemon and a listener as child processes, by the protocol of [`sojourn_part::child`].

use std::collections::HashSet;
use std::io::{Read, Write};

use serde_json::json;
use sojourn_bed::Events;
use sojourn_part::ServeError;
use sojourn_part::child::{stopped, until_stopped};
use sojourn_part::settings::loadd::{ListenSettings, LoaddSettings};

use crate::loadd::Loadd;
use crate::{Dropped, Key, Listener, Told};

/// Runs a load daemon until it is told to stop; otherwise as a node.
///
/// # Errors
/// When the daemon cannot start; nothing has been written then.
pub fn loadd(
    settings: LoaddSettings,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    let events = Events::once_ready(output);
    let (name, receivers) = (settings.name.clone(), settings.to.clone());
    let key = Key::of_file(settings.key_file.as_deref())?;
    let daemon = Loadd::start(settings, key, events.clone())?;
    // It has no port of its own unless it serves ORCA.
    let mut ready = json!({"event": "ready", "kind": "loadd", "port": 0, "name": name, "receivers": receivers});
    if let Some(orca) = daemon.orca_address() {
        (ready["port"], ready["orca"]) = (json!(orca.port()), json!(orca));
    }
    until_stopped(&events, &ready, input, |_| {})?;
    events.emit(&stopped("loadd", &daemon.stop()));
    Ok(())
}

/// Runs a listener until it is told to stop; otherwise as a node. Each front node that is heard is ordered to measure the round
/// trips to the clients of the settings.
///
/// # Errors
/// When the listener cannot start; nothing has been written then.
pub fn listener(
    settings: &ListenSettings,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    let events = Events::once_ready(output);
    let said = events.clone();
    let key = Key::of_file(settings.key_file.as_deref())?;
    let clients: Vec<String> = settings.probe.iter().map(ToString::to_string).collect();
    let mut asked = HashSet::new();
    let mut was_dropped = Dropped::default();
    let listener = Listener::start(settings, key, move |news| {
        if news.dropped != was_dropped {
            was_dropped = news.dropped;
            said.emit(&json!({"event": "dropped", "dropped": news.dropped}));
        }
        let Some(told) = news.told else { return Vec::new() };
        said.emit(&news.event());
        let is_new = matches!(told, Told::Report { .. }) && asked.insert(news.name.unwrap_or_default().to_owned());
        if is_new { clients.clone() } else { Vec::new() }
    })?;
    let address = listener.address();
    let ready = json!({"event": "ready", "kind": "listener", "port": address.port(), "address": address});
    until_stopped(&events, &ready, input, |_| {})?;
    events.emit(&json!({"event": "stopped", "kind": "listener", "dropped": listener.stop()}));
    Ok(())
}
