//! The child's side of the protocol between a live part and whoever started it.
//!
//! One JSON object per line on the output: first `{"event":"ready","port":41234,"kind":"node",...}`, then what happens,
//! last `{"event":"stopped",...}` with the counts. The child stops when its input ends, or on SIGTERM or SIGINT. A
//! parent that is killed or panics closes that pipe, whatever else it fails to do, so nothing survives it.
//! PR_SET_PDEATHSIG is not used: it fires when the *thread* that spawned the child ends.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::{Gateway, GatewayConfig, Node, NodeConfig, ServeError};

/// Where a child's events go: one JSON object per line.
#[derive(Clone)]
pub struct Events(Arc<Mutex<dyn Write + Send>>);

impl Events {
    /// Events written to `output`, each line at once.
    pub fn to(output: impl Write + Send + 'static) -> Events {
        Events(Arc::new(Mutex::new(output)))
    }

    /// Events that nobody reads.
    pub fn nowhere() -> Events {
        Events::to(io::sink())
    }

    /// Writes one event.
    pub fn emit(&self, event: &Value) {
        // A parent that no longer reads is about to close the input, which stops the child in order.
        if let Ok(mut output) = self.0.lock() {
            let _ = writeln!(output, "{event}").and_then(|()| output.flush());
        }
    }
}

/// Runs a node until it is told to stop. `input` is the standard input, or none where its end means nothing (a service
/// manager that connects it to `/dev/null`).
///
/// # Errors
/// When the node cannot start; nothing has been written then.
pub fn node(
    config: NodeConfig,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    let events = Events::to(output);
    let name = config.name.clone();
    let node = Node::start(config)?;
    let address = node.address();
    let ready = json!({"event": "ready", "kind": "node", "port": address.port(), "address": address, "name": name});
    live(&events, ready, input)?;
    events.emit(&stopped("node", &node.stop()));
    Ok(())
}

/// Runs a gateway until it is told to stop; otherwise as [`node`].
///
/// # Errors
/// When the gateway cannot start; nothing has been written then.
pub fn gateway(
    config: GatewayConfig,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    let events = Events::to(output);
    let policy = config.policy.clone();
    let gateway = Gateway::start(config, events.clone())?;
    let address = gateway.address();
    let ready =
        json!({"event": "ready", "kind": "gateway", "port": address.port(), "address": address, "policy": policy});
    live(&events, ready, input)?;
    events.emit(&stopped("gateway", &gateway.stop()));
    Ok(())
}

fn live(events: &Events, ready: Value, input: Option<impl Read + Send + 'static>) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(ServeError::system("cannot start a runtime"))?;
    runtime.block_on(async {
        // Listened to before the ready line, so that a parent may stop the child as soon as it has read it.
        let signals = ServeError::system("cannot listen to signals");
        let (mut terminate, mut interrupt) = match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
            (Ok(terminate), Ok(interrupt)) => (terminate, interrupt),
            (Err(error), _) | (_, Err(error)) => return Err(signals(error)),
        };
        events.emit(&ready);
        let (ended, mut end) = mpsc::channel::<()>(1);
        let kept = match input {
            Some(input) => {
                // Its own thread, left behind when a signal comes first: a read of standard input cannot be called off.
                std::thread::Builder::new()
                    .name("input".into())
                    .spawn(move || {
                        exhaust(input);
                        drop(ended);
                    })
                    .map_err(ServeError::system("cannot start a thread"))?;
                None
            }
            None => Some(ended),
        };
        tokio::select! {
            _ = end.recv() => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        drop(kept);
        Ok(())
    })
}

fn exhaust(mut input: impl Read) {
    let mut buffer = [0; 256];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
            _ => {}
        }
    }
}

fn stopped(kind: &str, counts: &impl serde::Serialize) -> Value {
    let mut event = json!({"event": "stopped", "kind": kind});
    if let (Value::Object(event), Ok(Value::Object(counts))) = (&mut event, serde_json::to_value(counts)) {
        event.extend(counts);
    }
    event
}
