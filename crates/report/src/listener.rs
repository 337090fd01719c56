//! A receiver by itself, which chooses nothing: it tells what comes, and orders probes.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use sojourn_dispatch::{BackendId, Report};
use sojourn_part::ServeError;
use sojourn_part::settings::loadd::ListenSettings;
use sojourn_part::threads::{Threads, Work};
use sojourn_stats::{Span, Time};

use super::{Dropped, Ears, Inbox, Key, Probed, ReportsConfig, Told};

/// What has come.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    /// What is told; nothing where a datagram was not believed.
    pub told: Option<&'a Told>,
    /// Whose report told it; rates of clients are sums over all.
    pub name: Option<&'a str>,
    /// When it came.
    pub at: Time,
    /// How many datagrams were not believed so far.
    pub dropped: Dropped,
}

/// A running listener; dropping it stops it.
pub struct Listener {
    address: SocketAddr,
    ears: Ears,
    threads: Threads,
}

impl News<'_> {
    /// It as an event; an empty object where nothing is told.
    pub fn event(&self) -> Value {
        let Some(told) = self.told else { return json!({}) };
        let mut event = match told {
            Told::Report { report, is_overloaded, .. } => of_report(report, *is_overloaded, self.at),
            Told::Rate { client, rate } => json!({"event": "rate", "client": client, "requests_per_s": rate}),
            Told::Echoes { order, client, probed, .. } => {
                let mut event = json!({"event": "echoes", "order": order, "client": client});
                match probed {
                    Probed::Measured { outcome, round_trip } => {
                        (event["by"], event["answers"]) = (json!(outcome.name()), json!(round_trip.answers));
                        if round_trip.answers > 0 {
                            event["round_trip_s"] = json!(round_trip.span.as_secs_f64());
                        }
                    }
                    Probed::Refused(why) => event["refused"] = json!(why.name()),
                }
                event
            }
            Told::Lost { .. } | Told::Found { .. } => json!({"event": told.news().map(|(event, _)| event)}),
        };
        if let Some(name) = self.name {
            event["name"] = json!(name);
        }
        event
    }
}

/// What is not known is absent.
fn of_report(report: &Report, is_overloaded: bool, at: Time) -> Value {
    let mut event = json!({
        "event": "report",
        "age_s": at.saturating_since(report.measured).as_secs_f64(),
        "in_flight": report.in_flight,
        "cpu": report.cpu,
        "disk": report.disk,
        "requests": report.requests,
        "bytes": report.bytes,
        "is_overloaded": is_overloaded,
    });
    if report.capacity > 0.0 {
        (event["capacity_per_s"], event["room_per_s"]) = (json!(report.capacity), json!(report.room));
    }
    if let Some(latency) = report.latency {
        event["latency_s"] = json!(latency.as_secs_f64());
    }
    for (name, value) in &report.extras {
        event[name.as_str()] = json!(value);
    }
    event
}

impl Listener {
    /// Starts a listener to reports that are signed with `key`; `hear` is given what comes, on a thread of its own, and gives the
    /// addresses of clients to which the sender shall measure the round trip.
    ///
    /// # Errors
    /// When the address is in use, or the system refuses a thread.
    pub fn start(
        settings: &ListenSettings,
        key: Key,
        hear: impl FnMut(News<'_>) -> Vec<String> + Send + 'static,
    ) -> Result<Listener, ServeError> {
        let on = settings.on.ok_or_else(|| ServeError::Config("a listener needs an address".into()))?;
        let names = Some(settings.names.as_slice()).filter(|names| !names.is_empty());
        let inbox = Inbox::open(&ReportsConfig::new(on, key), names)?;
        let (address, ears) = (inbox.address()?, inbox.ears());
        let parts = Mutex::new(Some((inbox, hear)));
        let threads = Threads::start("listener", vec![()], 1, Span::ZERO, move |_, (), mut stop| {
            let parts = parts.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (inbox, mut hear) = parts.expect("there is one thread");
            let ears = inbox.ears();
            Ok(Box::pin(async move {
                let take = |told: &[Told], dropped, at| {
                    if told.is_empty() {
                        hear(News { told: None, name: None, at, dropped });
                    }
                    for told in told {
                        let backend = told.backend();
                        let name = backend.map(|backend| ears.name(backend));
                        let clients = hear(News { told: Some(told), name: name.as_deref(), at, dropped });
                        for (backend, client) in
                            backend.into_iter().flat_map(|id| clients.iter().map(move |of| (id, of)))
                        {
                            ears.order(backend, client);
                        }
                    }
                };
                tokio::select! {
                    _ = inbox.hear(take) => {}
                    _ = stop.changed() => {}
                }
            }) as Work)
        })?;
        Ok(Listener { address, ears, threads })
    }

    /// Where reports come.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Orders a sender to measure the round trip to a client, by its address; gives the number of the order, or nothing where
    /// the sender has not been heard.
    pub fn order(&self, backend: BackendId, client: &str) -> Option<u64> {
        self.ears.order(backend, client)
    }

    /// How many datagrams were not believed so far, and why.
    pub fn dropped(&self) -> Dropped {
        self.ears.dropped()
    }

    /// Stops it and says how many datagrams were not believed.
    pub fn stop(mut self) -> Dropped {
        self.threads.stop();
        self.dropped()
    }
}
