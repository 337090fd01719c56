//! Live parts as child processes: each starts, says that it is ready, serves until it is told to stop, and says what it
//! has done. The protocol is that of [`sojourn_bed::supervised`].

use std::io::{Read, Write};

use serde_json::{Value, json};
use sojourn_bed::{Events, supervised};

use crate::descriptors;
use crate::{Face, Gateway, GatewayConfig, Node, NodeConfig, ServeError};

/// Runs a node until it is told to stop, with as many file descriptors as the system allows. `input` is the standard
/// input, or none where its end means nothing (a service manager that connects it to `/dev/null`).
///
/// # Errors
/// When the node cannot start; nothing has been written then.
pub fn node(
    config: NodeConfig,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    descriptors::raise_limit();
    let events = Events::to(output);
    let name = config.name.clone();
    let node = Node::start(config)?;
    let address = node.address();
    let ready = json!({"event": "ready", "kind": "node", "port": address.port(), "address": address, "name": name});
    until_told_to_stop(&events, &ready, input)?;
    events.emit(&stopped("node", &node.stop()));
    Ok(())
}

/// Runs a gateway or a redirector until it is told to stop; otherwise as [`node`].
///
/// # Errors
/// When the gateway cannot start, and nothing has been written then; or when its record could not be written to its end.
pub fn gateway(
    config: GatewayConfig,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    descriptors::raise_limit();
    let events = Events::to(output);
    let policy = config.policy.clone();
    let kind = match config.face {
        Face::Proxy => "gateway",
        Face::Redirector { .. } => "redirect",
    };
    let gateway = Gateway::start(config, events.clone())?;
    let address = gateway.address();
    let ready = json!({"event": "ready", "kind": kind, "port": address.port(), "address": address, "policy": policy});
    until_told_to_stop(&events, &ready, input)?;
    let counts = gateway.stop();
    events.emit(&stopped(kind, &counts));
    if counts.records_failed > 0 { Err(ServeError::Record) } else { Ok(()) }
}

fn until_told_to_stop(
    events: &Events,
    ready: &Value,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    supervised::until_told_to_stop(events, ready, input).map_err(ServeError::system("cannot begin to serve"))
}

fn stopped(kind: &str, counts: &impl serde::Serialize) -> Value {
    let mut event = json!({"event": "stopped", "kind": kind});
    if let (Value::Object(event), Ok(Value::Object(counts))) = (&mut event, serde_json::to_value(counts)) {
        event.extend(counts);
    }
    event
}
