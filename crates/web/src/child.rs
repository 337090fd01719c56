//! Nodes, gateways and redirectors as child processes, by the protocol of [`sojourn_part::child`].

use std::io::{Read, Write};

use serde_json::{Value, json};
use sojourn_bed::supervised::Signalled;
use sojourn_bed::{Events, supervised};
use sojourn_part::child::{stopped, until_stopped_or};
use sojourn_part::settings::Given;
use sojourn_part::settings::gateway::{Face, InFront};
use sojourn_part::settings::node::NodeSettings;
use sojourn_part::{ServeError, descriptors};
use sojourn_stats::Span;

use crate::{Gateway, Node};

/// Runs a node until it is told to stop, with as many file descriptors as the system allows. `input` is the standard
/// input, or none where its end means nothing (a service manager that connects it to `/dev/null`). Over it a node is told
/// what ails it, as JSON: `{"speed": 0.2}`, `{"errors": 0.3}`; 1 and 0 are none. Told `{"frozen": true}` it says `frozen` and
/// stops itself (SIGSTOP): the emulated server then goes on where it stood, as if no time had passed, once it gets SIGCONT.
/// Where its settings are from a file, `given`
/// reads that anew on SIGHUP, and its oracle's table; where it writes a log, it opens that anew on SIGUSR1. A run waits for its
/// children, and has asked all that it wants to know before it stops them: a child of one gives requests in flight a second,
/// unless settings say otherwise.
///
/// # Errors
/// When the node cannot start, and nothing has been written then; or when a record of decisions or a table of what was learned
/// could not be written.
pub fn node(
    mut settings: NodeSettings,
    given: Option<Given<NodeSettings>>,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    descriptors::raise_limit();
    let events = Events::once_ready(output);
    if input.is_some() {
        settings.grace.get_or_insert(GRACE_OF_CHILDREN);
    }
    let has_file = given.as_ref().is_some_and(|given| given.file().is_some());
    let (name, has_log) = (settings.name.clone(), settings.log.is_some());
    let has_oracle = settings.cluster.as_ref().is_some_and(|cluster| cluster.oracle.is_some());
    let node = Node::start_with(settings, events.clone())?;
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
    let (ailment, standing, told) = (node.ailment(), node.standing(), events.clone());
    let message = move |line: &Value| {
        if let Some(speed) = line["speed"].as_f64() {
            ailment.work_at(speed);
        }
        if let Some(share) = line["errors"].as_f64() {
            ailment.fail(share);
        }
        if line["frozen"] == true {
            standing.during(|| {
                told.emit(&json!({"event": "frozen"}));
                supervised::stand_still();
            });
        }
    };
    let does = node.told(given);
    let does = |told: Signalled| match told {
        Signalled::Reload if !has_file && !has_oracle => supervised::nothing_to_do(&events, told),
        Signalled::Reopen if !has_log => supervised::nothing_to_do(&events, told),
        told => does(told),
    };
    until_stopped_or(&events, &ready, input, message, does)?;
    let (counts, written) = node.finish();
    events.emit(&stopped("node", &counts));
    written
}

/// Runs a gateway or a redirector until it is told to stop; otherwise as a node. Where its settings are from a file, `given`
/// reads that anew on SIGHUP.
///
/// # Errors
/// When the gateway cannot start, and nothing has been written then; or when its record could not be written to its end.
pub fn gateway<F: Face>(
    mut settings: InFront<F>,
    given: Option<Given<InFront<F>>>,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    descriptors::raise_limit();
    let events = Events::once_ready(output);
    if input.is_some() {
        settings.grace.get_or_insert(GRACE_OF_CHILDREN);
    }
    let (policy, tells) = (settings.policy().to_owned(), settings.upstream.clone());
    let gateway = Gateway::start(settings, events.clone())?;
    let address = gateway.address();
    let mut ready =
        json!({"event": "ready", "kind": F::NAME, "port": address.port(), "address": address, "policy": policy});
    if let Some(reports) = gateway.reports_address() {
        ready["reports"] = json!(reports);
    }
    if let Some(name) = tells.name {
        ready["tells"] = json!({"name": name, "receivers": tells.to});
    }
    let reload = given.filter(|given| given.file().is_some()).map(|given| gateway.reload(given));
    let does = |told| match (told, &reload) {
        (Signalled::Reload, Some(reload)) => reload(),
        _ => supervised::nothing_to_do(&events, told),
    };
    until_stopped_or(&events, &ready, input, |_| {}, does)?;
    let counts = gateway.stop();
    events.emit(&stopped(F::NAME, &counts));
    if counts.records_failed > 0 { Err(ServeError::Record) } else { Ok(()) }
}

/// How long requests in flight may take where a run stops a child.
const GRACE_OF_CHILDREN: Span = Span(1_000_000_000);
