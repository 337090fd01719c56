//! Live parts as child processes: each starts, says that it is ready, serves until it is told to stop, and says what it
//! has done. The protocol is that of [`sojourn_bed::supervised`].

use std::collections::HashSet;
use std::io::{Read, Write};
use std::path::PathBuf;

use serde_json::{Value, json};
use sojourn_bed::supervised::Signalled;
use sojourn_bed::{Events, supervised};

use crate::descriptors;
use crate::dns::{Dns, DnsConfig};
use crate::loadd::{Loadd, LoaddConfig};
use crate::report::{Dropped, Listener, ListenerConfig, Told};
use crate::{
    Face, Gateway, GatewayConfig, Node, NodeConfig, ServeError, ServerHalf, ServerHalfConfig, Switch, SwitchConfig,
    UpstreamConfig,
};

/// Runs a node until it is told to stop, with as many file descriptors as the system allows. `input` is the standard
/// input, or none where its end means nothing (a service manager that connects it to `/dev/null`). Over it a node is told
/// what ails it, as JSON: `{"speed": 0.2}`, `{"errors": 0.3}`; 1 and 0 are none. Where its settings are from a file, it reads
/// that anew on SIGHUP, and its oracle's table; where it writes a log, it opens that anew on SIGUSR1.
///
/// # Errors
/// When the node cannot start, and nothing has been written then; or when a record of decisions or a table of what was learned
/// could not be written.
pub fn node(
    config: NodeConfig,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    descriptors::raise_limit();
    let events = Events::once_ready(output);
    let (name, has_file, has_log) = (config.name.clone(), config.source.is_some(), config.log.is_some());
    let has_oracle = config.cluster.as_ref().is_some_and(|cluster| cluster.oracle.is_some());
    let node = Node::start_with(config, events.clone())?;
    let address = node.address();
    let mut ready = json!({"event": "ready", "kind": "node", "port": address.port(), "address": address, "name": name});
    for (key, addresses) in [("http", node.plain_addresses()), ("https", node.tls_addresses())] {
        if !addresses.is_empty() {
            ready[key] = json!(addresses);
        }
    }
    if let Some(reports) = node.reports_address() {
        ready["reports"] = json!(reports);
    }
    if let Some(metrics) = node.metrics_address() {
        ready["metrics"] = json!(metrics);
    }
    let ailment = node.ailment();
    let heard = move |told: &Value| {
        if let Some(speed) = told["speed"].as_f64() {
            ailment.work_at(speed);
        }
        if let Some(share) = told["errors"].as_f64() {
            ailment.fail(share);
        }
    };
    let does = node.told();
    let does = |told: Signalled| match told {
        Signalled::Reload if !has_file && !has_oracle => supervised::nothing_to_do(&events, told),
        Signalled::Reopen if !has_log => supervised::nothing_to_do(&events, told),
        told => does(told),
    };
    supervised::until_told_to_stop_or(&events, &ready, input, heard, does)
        .map_err(ServeError::system("cannot begin to serve"))?;
    let (counts, written) = node.finish();
    events.emit(&stopped("node", &counts));
    written
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
    let events = Events::once_ready(output);
    let (policy, upstream) = (config.policy.clone(), config.upstream.as_ref().map(tells));
    let kind = match config.face {
        Face::Proxy => "gateway",
        Face::Redirector { .. } => "redirect",
    };
    let gateway = Gateway::start(config, events.clone())?;
    let address = gateway.address();
    let mut ready =
        json!({"event": "ready", "kind": kind, "port": address.port(), "address": address, "policy": policy});
    if let Some(reports) = gateway.reports_address() {
        ready["reports"] = json!(reports);
    }
    if let Some(upstream) = upstream {
        ready["tells"] = upstream;
    }
    until_told_to_stop(&events, &ready, input, |_| {})?;
    let counts = gateway.stop();
    events.emit(&stopped(kind, &counts));
    if counts.records_failed > 0 { Err(ServeError::Record) } else { Ok(()) }
}

/// Runs a packet switch until it is told to stop; otherwise as [`node`]. Over its input it is asked what it has done so far:
/// `{"ask": "counts"}`.
///
/// # Errors
/// When the switch cannot start, and nothing has been written then; or when its record could not be written to its end.
pub fn switch(
    config: SwitchConfig,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    let events = Events::once_ready(output);
    let (policy, address, upstream) = (config.policy.clone(), config.service, config.upstream.as_ref().map(tells));
    let switch = Switch::start(config, events.clone())?;
    let inherited = switch.inherited();
    let mut ready = json!({
        "event": "ready", "kind": "switch", "port": address.port(), "address": address, "policy": policy,
        "inherited": inherited,
    });
    if let Some(reports) = switch.reports_address() {
        ready["reports"] = json!(reports);
    }
    if let Some(upstream) = upstream {
        ready["tells"] = upstream;
    }
    let (counter, teller) = (switch.counter(), events.clone());
    let heard = move |asked: &Value| {
        if asked["ask"] == "counts" {
            teller.emit(&event("counts", "switch", &counter()));
        }
    };
    until_told_to_stop(&events, &ready, input, heard)?;
    let counts = switch.stop();
    events.emit(&stopped("switch", &counts));
    if counts.records_failed > 0 { Err(ServeError::Record) } else { Ok(()) }
}

/// Keeps a server's half of a switch in force until it is told to stop; otherwise as [`node`].
///
/// # Errors
/// When the system refuses; what was changed has been put back then.
pub fn server_half(
    config: ServerHalfConfig,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    let events = Events::once_ready(output);
    let address = config.service;
    let half = ServerHalf::start(config)?;
    let ready = json!({"event": "ready", "kind": "switch-server", "port": address.port(), "address": address});
    until_told_to_stop(&events, &ready, input, |_| {})?;
    let counts = half.counts();
    drop(half);
    events.emit(&stopped("switch-server", &counts));
    Ok(())
}

/// Runs a load daemon until it is told to stop; otherwise as [`node`].
///
/// # Errors
/// When the daemon cannot start; nothing has been written then.
pub fn loadd(
    config: LoaddConfig,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    let events = Events::once_ready(output);
    let (name, receivers) = (config.name.clone(), config.receivers.clone());
    let daemon = Loadd::start(config, events.clone())?;
    // It has no port of its own unless it serves ORCA.
    let mut ready = json!({"event": "ready", "kind": "loadd", "port": 0, "name": name, "receivers": receivers});
    if let Some(orca) = daemon.orca_address() {
        (ready["port"], ready["orca"]) = (json!(orca.port()), json!(orca));
    }
    until_told_to_stop(&events, &ready, input, |_| {})?;
    events.emit(&stopped("loadd", &daemon.stop()));
    Ok(())
}

/// Runs a DNS until it is told to stop, and reads `file`, where its configuration is from, anew on SIGHUP; otherwise as
/// [`node`]. Over its input it is asked for its state, `{"ask": "state"}`.
///
/// # Errors
/// When the DNS cannot start, and nothing has been written then; or when a record could not be written to its end.
pub fn dns(
    config: DnsConfig,
    file: PathBuf,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    descriptors::raise_limit();
    let events = Events::once_ready(output);
    let zones: Vec<String> = config.zones.iter().map(|zone| zone.name.clone()).collect();
    let dns = Dns::start(config, Some(file), events.clone())?;
    let addresses = dns.addresses();
    let mut ready = json!({
        "event": "ready", "kind": "dns", "port": addresses[0].port(), "address": addresses[0], "addresses": addresses,
        "zones": zones,
    });
    if let Some(reports) = dns.reports_address() {
        ready["reports"] = json!(reports);
    }
    if let Some(metrics) = dns.metrics_address() {
        ready["metrics"] = json!(metrics);
    }
    match dns.recalled() {
        Some(Ok(clients)) => ready["recalled"] = json!(clients),
        Some(Err(why)) => ready["state_ignored"] = json!(why),
        None => {}
    }
    let (asked, teller) = (dns.teller(), events.clone());
    let heard = move |said: &Value| {
        if said["ask"] == "state" {
            teller.emit(&event("state", "dns", &asked()));
        }
    };
    let reload = dns.reloader();
    let does = |told| match told {
        Signalled::Reload => reload(),
        Signalled::Reopen => supervised::nothing_to_do(&events, told),
    };
    supervised::until_told_to_stop_or(&events, &ready, input, heard, does)
        .map_err(ServeError::system("cannot begin to serve"))?;
    let (state, is_whole) = dns.stop();
    events.emit(&stopped("dns", &state));
    if is_whole { Ok(()) } else { Err(ServeError::Record) }
}

/// Runs a listener until it is told to stop, and orders each front node that is heard to measure the round trips to these
/// clients; otherwise as [`node`].
///
/// # Errors
/// When the listener cannot start; nothing has been written then.
pub fn listener(
    config: ListenerConfig,
    clients: Vec<String>,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    let events = Events::once_ready(output);
    let said = events.clone();
    let mut asked = HashSet::new();
    let mut was_dropped = Dropped::default();
    let listener = Listener::start(config, move |news| {
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
    until_told_to_stop(&events, &ready, input, |_| {})?;
    events.emit(&json!({"event": "stopped", "kind": "listener", "dropped": listener.stop()}));
    Ok(())
}

fn until_told_to_stop(
    events: &Events,
    ready: &Value,
    input: Option<impl Read + Send + 'static>,
    heard: impl FnMut(&Value) + Send + 'static,
) -> Result<(), ServeError> {
    supervised::until_told_to_stop(events, ready, input, heard).map_err(ServeError::system("cannot begin to serve"))
}

/// Where a front node tells of its servers, and by which name.
fn tells(upstream: &UpstreamConfig) -> Value {
    json!({"name": upstream.name, "receivers": upstream.receivers})
}

fn stopped(kind: &str, counts: &impl serde::Serialize) -> Value {
    event("stopped", kind, counts)
}

fn event(name: &str, kind: &str, counts: &impl serde::Serialize) -> Value {
    let mut event = json!({"event": name, "kind": kind});
    if let (Value::Object(event), Ok(Value::Object(counts))) = (&mut event, serde_json::to_value(counts)) {
        event.extend(counts);
    }
    event
}
