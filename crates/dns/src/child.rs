//! A DNS as a child process, by the protocol of [`sojourn_part::child`].

use std::io::{Read, Write};

use serde_json::{Value, json};
use sojourn_bed::supervised::Signalled;
use sojourn_bed::{Events, supervised};
use sojourn_part::child::{event, stopped, until_stopped_or};
use sojourn_part::settings::Given;
use sojourn_part::settings::dns::DnsSettings;
use sojourn_part::{ServeError, descriptors};

use crate::Dns;

/// Runs a DNS until it is told to stop, and reads its settings anew on SIGHUP; otherwise as
/// a node. Over its input it is asked for its state, `{"ask": "state"}`.
///
/// # Errors
/// When the DNS cannot start, and nothing has been written then; or when a record could not be written to its end.
pub fn dns(
    settings: DnsSettings,
    given: Given<DnsSettings>,
    output: impl Write + Send + 'static,
    input: Option<impl Read + Send + 'static>,
) -> Result<(), ServeError> {
    descriptors::raise_limit();
    let events = Events::once_ready(output);
    let zones: Vec<String> = settings.zones.iter().map(|zone| zone.name.clone()).collect();
    let dns = Dns::start(settings, Some(given), events.clone())?;
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
    let message = move |said: &Value| {
        if said["ask"] == "state" {
            teller.emit(&event("state", "dns", &asked()));
        }
    };
    let reload = dns.reloader();
    let does = |told| match told {
        Signalled::Reload => reload(),
        Signalled::Reopen => supervised::nothing_to_do(&events, told),
    };
    until_stopped_or(&events, &ready, input, message, does)?;
    let (state, is_whole) = dns.stop();
    events.emit(&stopped("dns", &state));
    if is_whole { Ok(()) } else { Err(ServeError::Record) }
}
