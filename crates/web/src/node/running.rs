//! A node at work, as its threads share it: what answers, by which rules, and how new settings are taken.
//!
//! New settings are read and got ready whole before any of them is in force; what is wrong leaves everything as it was. Then
//! what answers is replaced in one step: a request that is being answered is answered by what was there before, the next one on
//! the same connection by what is new. Rules of connections hold for those that come in from then on.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use serde_json::json;
use sojourn_bed::Events;
use sojourn_bed::supervised::Signalled;
use sojourn_part::current::Current;
use sojourn_part::listen::Connections;
use sojourn_part::settings::node::NodeSettings;
use sojourn_part::settings::{Given, Wrong};
use sojourn_part::{ServeError, clock};

use super::NodeCounts;
use super::answer::{Before, Handler};
use super::broker::Broker;
use super::metrics::{Numbers, Replies};
use super::model::model_of;
use super::settings::{certificates_of, check, fixed_difference, rules};
use super::tls::{Certificates, Tls};

/// How often it is looked whether a certificate ends soon.
const LOOK: Duration = Duration::from_secs(12 * 3600);

/// A node at work.
pub(super) struct Running {
    pub(super) handler: Arc<Current<Handler>>,
    pub(super) connections: Connections,
    pub(super) tls: Option<Arc<Current<ServerConfig>>>,
    pub(super) replies: Replies,
    of_tls: Tls,
    /// Where programs are told that it listens.
    port: u16,
    certificates: Option<Arc<Current<Certificates>>>,
    /// The settings in force.
    settings: Mutex<NodeSettings>,
    reloads: [AtomicU64; 2],
    events: Events,
}

impl Running {
    /// Gets everything ready but the sockets.
    pub(super) fn new(settings: NodeSettings, address: SocketAddr, events: Events) -> Result<Running, ServeError> {
        let (cluster, model) = (settings.cluster.0.clone(), model_of(&settings)?);
        let broker = |cluster| Broker::new(cluster, &settings, model.as_ref(), address, events.clone());
        let broker = cluster.map(broker).transpose()?.map(Arc::new);
        let of_tls = Tls::new().map_err(ServeError::Config)?;
        let certificates = certificates_of(&settings)?.map(|certificates| Current::new(Arc::new(certificates)));
        let tls = certificates.as_ref().map(|certificates| Current::new(of_tls.settings(certificates.get())));
        let handler = Handler::new(&settings, address.port(), Before::Start(broker, model))?;
        let running = Running {
            handler: Current::new(Arc::new(handler)),
            connections: Connections::new(rules(&settings)?),
            tls,
            replies: Replies::default(),
            of_tls,
            port: address.port(),
            certificates,
            settings: Mutex::new(settings),
            reloads: Default::default(),
            events,
        };
        Ok(running)
    }

    /// What it is told by a signal; `given` reads its file anew, if it has one.
    pub(super) fn told(&self, told: Signalled, given: Option<&Given<NodeSettings>>) {
        match told {
            Signalled::Reload => drop(self.reload(given)),
            Signalled::Reopen => self.reopen(),
        }
    }

    /// Reads the file anew and takes it.
    ///
    /// # Errors
    /// In one line; what was in force stays so.
    pub(super) fn reload(&self, given: Option<&Given<NodeSettings>>) -> Result<(), String> {
        let outcome = self.read_and_take(given);
        match &outcome {
            Ok(()) => {
                self.events.emit(&json!({"event": "reloaded"}));
                self.warn();
            }
            Err(why) => self.events.emit(&json!({"event": "reload_failed", "why": why})),
        }
        self.reloads[usize::from(outcome.is_err())].fetch_add(1, Ordering::Relaxed);
        outcome
    }

    fn read_and_take(&self, given: Option<&Given<NodeSettings>>) -> Result<(), String> {
        // Held to the end, so that two reloads do not mix.
        let mut in_force = self.settings();
        // Without a file there is still the table of an oracle.
        let Some(given) = given.filter(|given| given.file().is_some()) else {
            let has_oracle = in_force.cluster.as_ref().is_some_and(|cluster| cluster.oracle.is_some());
            let why = "there is no file to read anew; it serves on";
            return if has_oracle { self.reload_oracle() } else { Err(why.into()) };
        };
        let mut settings = given.read_and(check)?;
        // What was usual for a child, or for one by hand, stays so.
        settings.grace = settings.grace.or(in_force.grace);
        if let Some(key) = fixed_difference(&settings, &in_force) {
            return Err(given.wrong(&Wrong::new(key, "it cannot change in a running node: start it anew")));
        }
        let certificates = certificates_of(&settings).map_err(|wrong| given.wrong(&wrong))?.map(Arc::new);
        let rules = rules(&settings).map_err(|wrong| given.wrong(&wrong))?;
        let before = self.handler.get();
        let handler = Handler::new(&settings, self.port, Before::Reload(&before)).map_err(|error| error.to_string())?;
        self.reload_oracle()?;
        if let (Some(new), Some(current), Some(tls)) = (certificates, &self.certificates, &self.tls) {
            tls.set(self.of_tls.settings(Arc::clone(&new)));
            current.set(new);
        }
        self.connections.set_rules(rules);
        self.handler.set(Arc::new(handler));
        *in_force = settings;
        Ok(())
    }

    fn reload_oracle(&self) -> Result<(), String> {
        self.handler.get().broker().map_or(Ok(()), |broker| broker.reload())
    }

    /// Opens the log anew, where its path leads now.
    fn reopen(&self) {
        let settings = self.settings();
        match Handler::new(&settings, self.port, Before::Reload(&self.handler.get())) {
            Ok(handler) => {
                self.handler.set(Arc::new(handler));
                self.events.emit(&json!({"event": "reopened"}));
            }
            Err(error) => self.events.emit(&json!({"event": "reopen_failed", "why": error.to_string()})),
        }
    }

    /// Tells of certificates that end soon, now and from time to time.
    pub(super) async fn watch_certificates(&self) {
        loop {
            self.warn();
            tokio::time::sleep(LOOK).await;
        }
    }

    fn warn(&self) {
        let certificates = self.certificates.iter().flat_map(|current| current.get().ending_soon(clock::seconds()));
        certificates.for_each(|event| self.events.emit(&event));
    }

    /// What it has done so far.
    pub(super) fn counts(&self) -> NodeCounts {
        NodeCounts { connections: self.connections.counts(), ..self.handler.get().counts(clock::now()) }
    }

    /// All its numbers, for Prometheus.
    pub(super) fn numbers(&self) -> String {
        let certificates = self.certificates.as_ref().map(|current| current.get());
        let reloads = [0, 1].map(|index: usize| self.reloads[index].load(Ordering::Relaxed));
        self.replies.text(&Numbers {
            counts: self.counts(),
            open: self.connections.open(),
            reloads,
            certificates: certificates.as_deref(),
        })
    }

    fn settings(&self) -> MutexGuard<'_, NodeSettings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
